"""The command that makes a report again, byte for byte, from the same workbook."""

from __future__ import annotations

import contextlib
import datetime as dt
from typing import TYPE_CHECKING, Any

from planner.command import quoted
from planner.issues import PlannerError
from planner.plan.study import Options
from planner.rules import day_in
from planner.settings import Decision, option_of, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def command_of(
    source: Path, pdf: Path, made: dt.datetime, *, options: Options, given: Mapping[str, Any], further: Iterable[str]
) -> str:
    """The command of a report: its workbook, file and moment, and each option that is not the usual one.

    It is the same for the run that it tells of and for the one that it starts. ``given`` are the settings that won
    over the sheet's, ``further`` the other options of the run.
    """
    words = ["planner", "run", str(source), "--pdf", str(pdf), "--as-of", as_of(made), *further]
    usual = Options()
    if options.precisions != usual.precisions:
        words += ["--precisions", ",".join(options.precisions)]
    if options.batches != usual.batches:
        words += ["--batches", ",".join(map(str, options.batches))]
    if options.table_limit != usual.table_limit:
        words += ["--table-limit", str(options.table_limit)]
    for name, setting in settings().items():
        value = given.get(name)
        if not value:
            continue
        values = value if setting.several and not isinstance(value, str) else (value,)
        for each in values:
            words += [option_of(name), _text(each)]
    return quoted(words)


def _text(value: Any) -> str:
    if not isinstance(value, Decision):
        return str(value)
    return " | ".join([value.decision, value.owner, value.by.isoformat() if value.by else ""]).rstrip(" |")


def as_of(moment: dt.datetime) -> str:
    """A moment as the option takes it: the date where that is all, with the time where it is not midnight.

    >>> as_of(dt.datetime(2026, 11, 29)), as_of(dt.datetime(2026, 11, 29, 9, 30, 5))
    ('2026-11-29', '2026-11-29T09:30:05Z')
    """
    at_midnight = (moment.hour, moment.minute, moment.second) == (0, 0, 0)
    return f"{moment:%Y-%m-%d}" if at_midnight else f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def read_as_of(text: str) -> dt.datetime:
    """The moment that :func:`as_of` writes, in UTC; raises PlannerError for another text."""
    day, _, time = text.strip().partition("T")
    moment = None
    if day_in(day):
        with contextlib.suppress(ValueError):
            moment = dt.datetime.fromisoformat(f"{day}T{time}" if time else day)
    if moment is None:
        said = f"--as-of is '{text}'; expected a date such as 2026-11-29, or with its time, 2026-11-29T09:30:00Z."
        raise PlannerError(said)
    moment = moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
    return moment.replace(microsecond=0)
