"""Document control: whose report it is, its status and dates, the decisions that it asks for, and the sign-off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.report.numbers import date, in_text, plain
from planner.report.parts import Cell, Head, Row, Table, cut, tidy, width_of
from planner.report.wording import BASES, MONEY_BASES
from planner.settings import LOCALE

if TYPE_CHECKING:
    import datetime as dt

    from planner.settings import Settings

_LONGEST_FACT: Final = 44
_LONGEST_NAME: Final = 120
MOST_FACTS: Final = 5


@dataclass(frozen=True, slots=True)
class Control:
    """What a report says of itself as a document, ready to be set."""

    status: str
    eyebrow: str
    logo_alt: str
    introduction: tuple[str, ...]
    decisions: Table | None
    facts: tuple[tuple[tuple[str, str], ...], ...]
    signatures: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def control(settings: Settings, made: dt.datetime, what: str = "Capacity report") -> Control:
    """The document control of a report, or what else it is, made at a moment."""
    organisation = cut(settings.organisation, 60)
    facts = (
        ("Organisation", settings.organisation),
        ("Prepared for", settings.prepared_for),
        ("Period", settings.period),
        ("Version", settings.version),
        ("Status", settings.status.upper()),
        ("Issued", date(made)),
        ("Currency", settings.currency),
        ("Contact", settings.contact),
    )
    return Control(
        status=settings.status.upper(),
        eyebrow=f"{organisation} · {what}" if organisation else what,
        logo_alt=f"Logo of {organisation}" if organisation else "Logo",
        introduction=tuple(map(tidy, settings.introduction)),
        decisions=_decisions(settings),
        facts=_halves([(label, cut(value, _LONGEST_NAME)) for label, value in facts if value]),
        signatures=tuple(
            (role, cut(name, _LONGEST_NAME))
            for role, name in (
                ("Prepared", settings.prepared_by),
                ("Reviewed", settings.reviewed_by),
                ("Approved", settings.approved_by),
            )
        ),
        notes=tuple(map(tidy, settings.notes)),
    )


def is_controlled(settings: Settings) -> bool:
    """Whether anything is said that only document control and sign-off have room for."""
    named = (
        "organisation",
        "prepared_for",
        "prepared_by",
        "reviewed_by",
        "approved_by",
        "period",
        "version",
        "contact",
    )
    return any(getattr(settings, name) for name in (*named, "introduction", "notes", "decisions"))


def title_size(title: str) -> str:
    """The class of a title's size, so that it keeps to three lines."""
    return next((size for most, size in _TITLE_SIZES if width_of(title) <= most), "longest")


# Letters that a title of each size bears in three lines.
_TITLE_SIZES: Final = ((80, ""), (150, "long"))


def running(settings: Settings, otherwise: str) -> str:
    """What the head of each page says: whose report it is and its version, or what else it is known by."""
    parts = [cut(settings.organisation or otherwise, 60), cut(settings.version, 24)]
    return " · ".join(part for part in parts if part)


def bases(settings: Settings, *, priced: bool) -> tuple[tuple[str, str], ...]:
    """What holds for every figure, and how numbers are written where that is not as in the workbook."""
    stated = (*MONEY_BASES, *BASES) if priced else BASES
    found = tuple((label, in_text(text)) for label, text in stated)
    if settings.locale == LOCALE:
        return found
    said = (
        f"Numbers and dates are written as in {settings.locale}: {plain(12345.5)}. Findings, cells and commands stand "
        "as planner's messages write them."
    )
    return (*found, ("Number format", said))


def _halves(facts: list[tuple[str, str]]) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Facts in two columns, the first as long as the second or by one longer."""
    middle = -(-len(facts) // 2)
    return tuple(facts[:middle]), tuple(facts[middle:])


def band_facts(settings: Settings, made: dt.datetime) -> tuple[tuple[str, str], ...]:
    """What the cover says of the document; nothing where nobody is named, no period and no version."""
    named = (
        ("Prepared for", settings.prepared_for),
        ("Prepared by", settings.prepared_by),
        ("Period", settings.period),
        ("Version", settings.version),
    )
    if not any(value for _, value in named):
        return ()
    facts = [(label, cut(value, _LONGEST_FACT)) for label, value in named if value]
    facts.insert(min(len(facts), 3), ("Issued", date(made)))
    return tuple(facts)


_HEADS: Final = (Head("Decision", text=6), Head("Owner", text=3), Head("By", text=2, end=True))


def _decisions(settings: Settings) -> Table | None:
    """The decisions that are asked for; none where none are."""
    rows = tuple(
        Row(
            (
                Cell(tidy(each.decision)),
                Cell(cut(each.owner, _LONGEST_NAME)),
                Cell(date(each.by) if each.by else "", marks="end"),
            )
        )
        for each in settings.decisions
    )
    return Table(_HEADS, rows) if rows else None
