"""The summary report of a batch: the best scenario of all, the ranking, the workbooks, and what came to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.batch.ledger import Status
from planner.batch.summary import why
from planner.plan.basis import has_range, planning_rate
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.plan.study import Options, Source, Study
from planner.report import charts
from planner.report.front import Verdict, tiles, verdict
from planner.report.pace import bars, pace_figure
from planner.report.parts import LONGEST_TITLE, Cell, Head, Row, Table, count, cut, say, sentence, without_empty
from planner.report.tables import ranked
from planner.report.wording import BASES, PACE
from planner.units import unit_of

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from planner.batch.ledger import Done
    from planner.batch.rows import Line
    from planner.report.front import Tile
    from planner.report.shapes import Figure
    from planner.settings import Settings

TEMPLATE: Final = "batch.html.j2"
DEFAULT_TITLE: Final = "LLM serving capacity, all workbooks"
# Three tables of these are the most that is printed; a row costs 8 ms.
MOST_ROWS: Final = 100
_LONGEST_PATH: Final = 60
_LONGEST_WHY: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The summary report as ready texts and numbers."""

    title: str
    subtitle: str
    stamp: str
    facts: tuple[tuple[str, str], ...]
    verdict: Verdict
    tiles: tuple[Tile, ...]
    pace: Figure
    bars: str
    bad: Table
    ranking: Table
    workbooks: Table
    bases: tuple[tuple[str, str], ...]
    made_iso: str


def pages_of(workbooks: Sequence[Done], found: Sequence[Line], settings: Settings, made: dt.datetime) -> Pages:
    """What the summary report of a batch says."""
    study = Study(tuple(line.case for line in found), (), (), Source(), Options(), settings)
    drawn = bars(study)
    pace = pace_figure(study)
    day = f"{made:%Y-%m-%d}"
    return Pages(
        title=cut(settings.title or DEFAULT_TITLE, LONGEST_TITLE),
        subtitle=f"What {count(len(found), 'scenario')} in {count(len(workbooks), 'workbook')} can serve",
        stamp=f"{count(len(workbooks), 'workbook')} · {day} · core rates are upper bounds (dense models)",
        facts=_facts(workbooks, found, day),
        verdict=_verdict(study, found),
        tiles=tiles(study),
        pace=pace,
        bars=charts.bar_chart(drawn, READING_PACE_TOKENS_PER_SEC, f"reading pace, {PACE}", pace.alt) if drawn else "",
        bad=_bad(workbooks),
        ranking=_ranking(study, found),
        workbooks=_workbooks(workbooks),
        bases=BASES,
        made_iso=f"{made:%Y-%m-%dT%H:%M:%SZ}",
    )


def _facts(workbooks: Sequence[Done], found: Sequence[Line], day: str) -> tuple[tuple[str, str], ...]:
    done = sum(one.status is Status.DONE for one in workbooks)
    lost = sum(one.status in {Status.REFUSED, Status.FAILED} for one in workbooks)
    skipped = sum(one.skipped_rows for one in workbooks)
    return (
        ("Workbooks", f"{done:,} done{f', {lost:,} came to nothing' if lost else ''}"),
        ("Scenarios", f"{len(found):,}{f', {skipped:,} rows left out' if skipped else ''}"),
        ("Warnings", f"{sum(one.warnings for one in workbooks):,}"),
        ("Made", day),
    )


def _verdict(study: Study, found: Sequence[Line]) -> Verdict:
    """The answer over all workbooks, and where the best scenario stands."""
    said, best = verdict(study), study.recommendation.best
    if not found:
        return Verdict("bad", "No recommendation", "No workbook has a scenario that could be evaluated", ())
    if best is None:
        return said
    line = found[study.case_of(best).number - 1]
    where = (
        f"{line.case.label} stands in {cut(line.done.name, _LONGEST_PATH)}, {line.done.sheet}!{line.values['cell']}."
    )
    return Verdict(said.kind, said.head, said.title, (*said.body, where), said.caution)


def _bad(workbooks: Sequence[Done]) -> Table:
    """The workbooks that came to nothing, or of which something is missing, with the reason."""
    lost = [one for one in workbooks if why(one) and one.status is not Status.PASSED]
    rows = tuple(
        Row((Cell(cut(one.name, _LONGEST_PATH)), Cell(str(one.status)), Cell(cut(why(one), _LONGEST_WHY))))
        for one in lost[:MOST_ROWS]
    )
    heads = (Head("Workbook", text=4), Head("Outcome", text=2), Head("Why", text=9))
    return Table(heads, rows, note=_more(len(lost), "workbook", "Workbooks"))


def _ranking(study: Study, found: Sequence[Line]) -> Table:
    """The best scenarios of all workbooks, best first, on the basis on which they were compared."""
    best, figure = study.recommendation.best, study.recommendation.figure
    rows = []
    for case in ranked(study)[:MOST_ROWS]:
        result, line = case.result, found[case.number - 1]
        value = study.recommendation.value(result)
        cells = (
            Cell(cut(case.name, _LONGEST_PATH), case.label),
            Cell(cut(line.done.name, _LONGEST_PATH)),
            Cell(line.values["cell"]),
            Cell(say("tokens_per_sec", planning_rate(result))),
            Cell("estimate" if has_range(result) else "upper bound"),
            Cell(say(figure, value)),
            Cell({True: "yes", False: "no", None: ""}[line.values["fits"]]),
        )
        rows.append(Row(cells, "best" if result is best else ""))
    heads = (
        Head("Scenario", text=4),
        Head("Workbook", text=4),
        Head("Cell"),
        Head("Per stream", "tok/s"),
        Head("Basis", text=2),
        Head(_measure(study), unit_of(figure).symbol if not study.recommendation.by_cost else "M output tokens"),
        Head("Fits", text=1),
    )
    return without_empty(Table(heads, tuple(rows), note=_more(len(found), "scenario", "Scenarios")))


def _measure(study: Study) -> str:
    """What the scenarios were ranked by, with the currency where it is money."""
    said = _MEASURES[study.recommendation.figure]
    return f"{said} in {study.purse.code or 'money'}" if study.recommendation.by_cost else f"{said} per device"


_MEASURES: Final = {
    "cost_per_m_tokens": "Cost",
    "requests_per_device_per_hour": "Requests",
    "aggregate_tokens_per_sec": "Aggregate",
    "estimated_requests_per_hour": "Estimated requests",
    "estimated_aggregate_tokens_per_sec": "Estimated aggregate",
}


def _workbooks(workbooks: Sequence[Done]) -> Table:
    rows = tuple(
        Row(
            (
                Cell(cut(one.name, _LONGEST_PATH)),
                Cell(f"{len(one.rows):,}"),
                Cell(f"{one.skipped_rows:,}"),
                Cell(f"{one.warnings:,}"),
                Cell(cut(one.best or "none fits and keeps reading pace", _LONGEST_PATH)),
            )
        )
        for one in [one for one in workbooks if one.status is Status.DONE][:MOST_ROWS]
    )
    heads = (
        Head("Workbook", text=5),
        Head("Scenarios"),
        Head("Rows left out"),
        Head("Warnings"),
        Head("Best scenario", text=5),
    )
    done = sum(one.status is Status.DONE for one in workbooks)
    return Table(heads, rows, note=_more(done, "workbook", "Workbooks"))


def _more(total: int, what: str, sheet: str) -> str:
    """What a table does not print, and where it is."""
    more = total - MOST_ROWS
    return f"{sentence(count(more, f'more {what}'))} on the {sheet} sheet of summary.xlsx." if more > 0 else ""
