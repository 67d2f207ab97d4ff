"""The settings of a report: for whom it is, its texts, its currency, its locale, said once for every surface.

The same declaration reads the sheet `Report`, makes the options of `planner run`, fills the starter workbook's sheet
and writes the README's table.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import difflib
import re
import typing
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final

from planner.columns import BadValueError, Column, Typed, echo, read_value
from planner.currencies import CODES
from planner.issues import PlannerError
from planner.rules import CURRENCY, day_in
from planner.units import BARE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Letters of a text, paragraphs of an introduction, decisions: beyond these a report is no report.
LONGEST_TEXT: Final = 300
LONGEST_PARAGRAPH: Final = 2_000
MOST_PARAGRAPHS: Final = 8
MOST_DECISIONS: Final = 12

DRAFT, FINAL = "draft", "final"
STATUSES: Final = (DRAFT, FINAL)
PAPERS: Final = ("A4", "Letter")
VARIANTS: Final = ("pdf/ua-1", "pdf/a-3b", "pdf/a-3a")
LOCALE: Final = "en"

_A_DATE: Final = "a date such as 2026-12-12"
_CLOSE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that a report asks for: what, of whom, and by when."""

    decision: str
    owner: str = ""
    by: dt.date | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key, how a value is read, what is accepted, help, and the other names people give it.

    ``several`` says that it takes several rows of the sheet, ``words`` the few values that it takes.
    """

    label: str
    read: Callable[[str, Any], Any]
    accepted: str
    help: str
    aliases: tuple[str, ...] = ()
    several: bool = False
    words: tuple[str, ...] = ()
    example: str = ""


def _plain(label: str, value: Any) -> str:
    """A value as text on one line, whatever its kind."""
    text: str = read_value("name", Column(label), Typed(value)).value
    return text


def _text(label: str, value: Any) -> str:
    """A text on one line."""
    text = _plain(label, value)
    if len(text) > LONGEST_TEXT:
        raise BadValueError(f"{label} has {len(text):,} characters", f"at most {LONGEST_TEXT}")
    return text


def _path(label: str, value: Any) -> str:
    """A file's path, blanks within it kept."""
    return _plain(label, str(value).strip())


def _paragraphs(label: str, value: Any) -> tuple[str, ...]:
    """A text's lines as paragraphs."""
    values = value if isinstance(value, list | tuple) else (value,)
    lines = [_plain(label, line) for each in values for line in str(each).splitlines()]
    kept = tuple(line for line in lines if line)
    longest = max(map(len, kept), default=0)
    if longest > LONGEST_PARAGRAPH:
        raise BadValueError(f"{label} has a paragraph of {longest:,} characters", f"at most {LONGEST_PARAGRAPH:,}")
    if len(kept) > MOST_PARAGRAPHS:
        raise BadValueError(f"{label} has {len(kept)} paragraphs", f"at most {MOST_PARAGRAPHS}")
    return kept


def _one_of(words: tuple[str, ...]) -> Callable[[str, Any], str]:
    def read(label: str, value: Any) -> str:
        text = _text(label, value)
        found = next((word for word in words if word.casefold() == text.casefold()), None)
        if found is None:
            raise BadValueError(f"{label} is {echo(text)}", f"one of {', '.join(words)}")
        return found

    return read


def _status(label: str, value: Any) -> str:
    return _one_of(STATUSES)(label, value)


def _locale(label: str, value: Any) -> str:
    """A locale's tag as BCP 47 writes it, one that Babel knows."""
    text = _text(label, value)
    if text.casefold() == LOCALE:
        return LOCALE
    # Loaded here, since a run of the usual locale needs none of it.
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415

    try:
        return str(Locale.parse(text.replace("_", "-"), sep="-")).replace("_", "-")
    except (ValueError, UnknownLocaleError, TypeError):
        raise BadValueError(f"{label} is {echo(text)}", "a language and country such as en-US, de-DE, fr-FR") from None


def _currency(label: str, value: Any) -> str:
    """A currency by its code, or by a sign that means no other."""
    text = _text(label, value)
    try:
        code: str = CURRENCY.read(Column(label, CURRENCY), BARE, Typed(text)).value
    except BadValueError as bad:
        meant = _meant(text)
        raise BadValueError(bad.problem + (f" (did you mean {meant}?)" if meant else ""), bad.accepted) from None
    return code


_CODE: Final = re.compile(r"[A-Z]{3}")


def _meant(text: str) -> str:
    """The currency that an English name or a slip of the finger may mean; nothing where it may be several."""
    named = {name.casefold(): code for code, name in _names().items()}
    meant = named.get(text.casefold(), "")
    if meant or not _CODE.fullmatch(text):
        return meant
    return next(iter(difflib.get_close_matches(text, sorted(CODES), n=1, cutoff=_CLOSE)), "")


@cache
def _names() -> Mapping[str, str]:
    """The English names of the currencies, by their codes."""
    from babel import Locale  # noqa: PLC0415  as above

    known = Locale(LOCALE).currencies
    return MappingProxyType({code: known[code] for code in sorted(CODES & set(known))})


def _decisions(label: str, value: Any) -> tuple[Decision, ...]:
    """Decisions: each as it is, as its parts, or as a text with '|' between decision, owner and date."""
    values = value if isinstance(value, list | tuple) else (value,)
    found = tuple(each if isinstance(each, Decision) else _decision(label, each) for each in values)
    if len(found) > MOST_DECISIONS:
        raise BadValueError(f"{label} stands {len(found)} times", f"at most {MOST_DECISIONS}")
    return found


def _decision(label: str, value: Any) -> Decision:
    parts = [part.strip() for part in str(value).split("|")]
    if len(parts) > len(dataclasses.fields(Decision)):
        raise BadValueError(f"{label} has {len(parts)} parts", "decision | owner | date")
    what, owner, by = (*parts, "", "")[:3]
    return Decision(_text(label, what), _text("Owner", owner), read_date("By", by) if by else None)


def read_date(label: str, value: Any) -> dt.date:
    """A date of a cell, or one written as year-month-day; raises BadValueError for others, which could mean two."""
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    day = day_in(str(value))
    if day is None:
        raise BadValueError(f"{label} is {echo(str(value).strip())}", _A_DATE)
    return day


def _named(label: str, help_: str, *aliases: str) -> Setting:
    return Setting(label, _text, "text", help_, aliases)


def _choice(label: str, words: tuple[str, ...], help_: str, *aliases: str) -> Setting:
    return Setting(label, _one_of(words), f"one of {', '.join(words)}", help_, aliases, words=words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a report; a value is read as the sheet's would be.

    Raises PlannerError, with every bad value in its text.
    """

    title: Annotated[str, _named("Title", "The report's title.", "report title")] = ""
    subtitle: Annotated[str, _named("Subtitle", "The line below the title.", "sub title")] = ""
    organisation: Annotated[str, _named("Organisation", "Whose report it is.", "organization", "company", "org")] = ""
    prepared_for: Annotated[str, _named("Prepared for", "Who is to read it.", "for", "audience", "client")] = ""
    prepared_by: Annotated[str, _named("Prepared by", "Who made it.", "author", "by", "prepared")] = ""
    reviewed_by: Annotated[str, _named("Reviewed by", "Who checked it.", "reviewer", "reviewed", "checked by")] = ""
    approved_by: Annotated[str, _named("Approved by", "Who approves it.", "approver", "approved", "sponsor")] = ""
    period: Annotated[str, _named("Period", "The time that it plans for.", "planning period", "horizon")] = ""
    version: Annotated[str, _named("Version", "The version of the document.", "revision", "document version")] = ""
    status: Annotated[
        str,
        Setting(
            "Status",
            _status,
            f"one of {', '.join(STATUSES)}",
            "Whether it is a draft or final; stamped on the cover and in the footer.",
            ("document status", "state"),
            words=STATUSES,
        ),
    ] = DRAFT
    contact: Annotated[str, _named("Contact", "Whom to ask.", "contact person", "questions to", "email")] = ""
    introduction: Annotated[
        tuple[str, ...],
        Setting(
            "Introduction",
            _paragraphs,
            "text",
            "What stands before the contents; a row or line each paragraph.",
            ("intro", "purpose", "scope"),
            several=True,
        ),
    ] = ()
    notes: Annotated[
        tuple[str, ...],
        Setting(
            "Notes",
            _paragraphs,
            "text",
            "What stands with the sign-off; a row or line each paragraph.",
            ("note", "remarks", "comments"),
            several=True,
        ),
    ] = ()
    decisions: Annotated[
        tuple[Decision, ...],
        Setting(
            "Decision",
            _decisions,
            "text, with the owner in column C and the date in column D",
            "A decision asked of the reader; a row each. On the command line: 'decision | owner | date'.",
            ("decisions", "decision asked", "decision needed", "ask"),
            several=True,
        ),
    ] = ()
    currency: Annotated[
        str,
        Setting(
            "Currency",
            _currency,
            CURRENCY.accepted,
            "The currency in which amounts are compared. Blank: the first that a priced row names.",
            ("report currency", "currency code"),
            example="USD",
        ),
    ] = ""
    locale: Annotated[
        str,
        Setting(
            "Locale",
            _locale,
            "a language and country such as en-US, de-DE, fr-FR",
            "How numbers, dates and money are written. Texts stay English.",
            ("number format", "language", "region"),
            example=LOCALE,
        ),
    ] = LOCALE
    paper: Annotated[str, _choice("Paper", PAPERS, "The paper's size.", "paper size", "page size", "format")] = "A4"
    logo: Annotated[
        str,
        Setting(
            "Logo",
            _path,
            "a PNG, JPEG, WebP or GIF file",
            "A picture for the cover, by its path from the workbook's folder; as an option, from here.",
            ("logo file", "logo path", "picture"),
            example="logo.png",
        ),
    ] = ""
    pdf_variant: Annotated[
        str,
        _choice(
            "PDF variant",
            VARIANTS,
            "The standard that the PDF keeps: accessible, or for archives; either attaches the workbook.",
            "pdf standard",
            "variant",
        ),
    ] = "pdf/ua-1"

    def __post_init__(self) -> None:
        """Every value as the sheet would have it."""
        bad = []
        for name, setting in settings().items():
            value = getattr(self, name)
            if not value:
                continue
            try:
                object.__setattr__(self, name, setting.read(setting.label, value))
            except BadValueError as error:
                bad.append(f"{error.problem}; expected {error.accepted}")
        if bad:
            raise PlannerError(f"{'. '.join(bad)}.")


@cache
def settings() -> Mapping[str, Setting]:
    """Every setting by its name."""
    hints = typing.get_type_hints(Settings, include_extras=True)
    return MappingProxyType({name: hint.__metadata__[0] for name, hint in hints.items()})


def option_of(name: str) -> str:
    """A setting's option on the command line.

    >>> option_of("prepared_for"), option_of("decisions"), option_of("version")
    ('--prepared-for', '--decision', '--document-version')
    """
    return f"--{_OPTIONS.get(name, name.replace('_', '-'))}"


# One decision an option; and a program's --version is the program's own.
_OPTIONS: Final = MappingProxyType({"decisions": "decision", "version": "document-version"})


def overridden(base: Settings, over: Mapping[str, Any]) -> Settings:
    """Settings with those that are given in place of the others.

    Raises PlannerError where one is not accepted.

    >>> overridden(Settings(title="Plan"), {"status": "FINAL", "title": ""}).status
    'final'
    """
    return dataclasses.replace(base, **{name: value for name, value in over.items() if value})
