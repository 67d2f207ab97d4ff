"""From a study to a PDF file: the report's texts through the templates to pages, written in one step."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner import resources
from planner.columns import BadValueError
from planner.command import version
from planner.files import is_our_pdf, refuse_target, replacing
from planner.issues import PlannerError
from planner.logo import Logo, read_logo
from planner.plan.limits import BATCH_WARNED_ABOVE, READING_PACE_TOKENS_PER_SEC
from planner.report import charts, money_charts, stacks
from planner.report.heat import LEGEND
from planner.report.model import About, Report, report_of
from planner.report.numbers import rounded, written_as
from planner.report.pdf import FONT_URL, LOGO_URL, PdfUnavailableError, attached, load_weasyprint, make_pdf
from planner.settings import Settings, overridden

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planner.plan.study import Study
    from planner.report.answer import Bars
    from planner.report.money_figures import CurveChart

__all__ = ["PdfUnavailableError", "load_weasyprint", "render_report", "to_html"]

TEMPLATE: Final = "report.html.j2"
STYLE: Final = "report.css"


def render_report(
    study: Study,
    path: Path | str,
    *,
    settings: Settings | None = None,
    paper: str = "",
    made: dt.datetime | None = None,
    command: str = "",
    title: str = "",
    attachment: Path | None = None,
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a study's report to a PDF file; the same study and ``made`` give the same bytes.

    ``settings`` are the study's own unless given; ``paper`` and ``title`` win over them. ``made`` without a time zone
    is taken as UTC. ``attachment`` is a results workbook to embed, or to name where it is too large for that;
    ``command`` is what makes the report again.
    Raises PdfUnavailableError where WeasyPrint cannot be loaded, and PlannerError where a setting is not accepted,
    the attachment or the logo cannot be read, the file cannot be written, or a file that is no report of planner's
    stands there and ``force`` is not given.
    """
    path = Path(path)
    refuse_target(path, ".pdf", is_our_pdf, force=force)
    settled = overridden(settings or study.settings, {"paper": paper, "title": title})
    weasyprint = load_weasyprint()
    now = _as_utc(made or dt.datetime.now(dt.UTC))
    attachments, beside = attached(attachment, now)
    logo = _logo(settled)
    engine = f"WeasyPrint {weasyprint.__version__}"
    about = About(
        now,
        settled,
        command,
        attachment=attachment if attachments else None,
        beside=beside,
        program=f"planner {version()}",
        engine=engine,
        logo=logo,
    )
    progress("texts")
    with written_as(settled.locale):
        html = to_html(report_of(study, about))
    progress("pages")
    data = make_pdf(
        html, variant=settled.pdf_variant, made=now, attachments=attachments, logo=logo.png if logo else None
    )
    progress("file")
    _put(path, data)


def render_pages(
    template: str, path: Path, *, settings: Settings, made: dt.datetime, force: bool = False, **values: object
) -> None:
    """Write the pages of another template than the report's to a PDF file, in the report's style.

    Raises PdfUnavailableError and PlannerError as :func:`render_report` does.
    """
    refuse_target(path, ".pdf", is_our_pdf, force=force)
    engine, logo = f"WeasyPrint {load_weasyprint().__version__}", _logo(settings)
    program = f"planner {version()}"
    html = _filled(template, paper=settings.paper, logo=logo, program=program, engine=engine, **values)
    data = make_pdf(
        html, variant=settings.pdf_variant, made=_as_utc(made), attachments=[], logo=logo.png if logo else None
    )
    _put(path, data)


def _put(path: Path, data: bytes) -> None:
    with replacing(path) as new:
        new.temporary.write_bytes(data)


def _logo(settings: Settings) -> Logo | None:
    if not settings.logo:
        return None
    try:
        return read_logo(Path(settings.logo))
    except BadValueError as bad:
        raise PlannerError(f"{bad.problem}; expected {bad.accepted}.") from bad


def to_html(report: Report) -> str:
    """The report as one HTML page, with its charts drawn and its style within."""
    return _filled(TEMPLATE, report=report, legend=LEGEND, charts=_charts(report))


def _filled(template: str, **values: object) -> str:
    """A template filled in, with the style within."""
    # Loaded here, so that importing planner does not load it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=FileSystemLoader(resources.folder("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["whole_units"] = _whole_units
    environment.filters["whole_words"] = _whole_words
    return environment.get_template(template).render(style=STYLE, font_url=FONT_URL, logo_url=LOGO_URL, **values)


def _whole_units(text: str) -> str:
    """A text whose units do not break over lines at their slash, as HTML."""
    from markupsafe import Markup, escape  # noqa: PLC0415  comes with jinja2

    return Markup(_UNITS.sub(r'<span class="whole">\1</span>', str(escape(text))))  # noqa: S704  escaped just now


def _whole_words(text: str) -> str:
    """A text that breaks over lines at blanks alone, so that a command can be copied, as HTML; long words do break."""
    from markupsafe import Markup, escape  # noqa: PLC0415  as above

    words = (
        escape(word) if len(word) > _LONGEST_WORD else f'<span class="whole">{escape(word)}</span>'
        for word in text.split(" ")
    )
    return Markup(" ".join(map(str, words)))  # noqa: S704  escaped just now


_LONGEST_WORD: Final = 60
_UNITS: Final = re.compile(r"((?:[\d,.]+ )?(?:tok/s|GB/s))")


def _charts(report: Report) -> Mapping[str, str]:
    """The report's charts as SVG, by name; an empty text where there is nothing to draw."""
    names = ("front", "bars", "dots", "per_stream", "aggregate", "steps", "ranges", "memory")
    drawn = dict.fromkeys((*names, "estimate_0", "estimate_1"), "") | _money_charts(report)
    drawn["front"] = bars_svg(report.front)
    # Where the first page has them, no other page draws them again.
    if report.bars and report.money and report.money.bars:
        drawn["bars"] = charts.bar_chart(report.bars, READING_PACE_TOKENS_PER_SEC, report.pace_text, report.pace.alt)
    if report.dots:
        drawn["dots"] = charts.dot_chart(
            report.dots.rows,
            report.dots.names,
            READING_PACE_TOKENS_PER_SEC,
            report.pace_text,
            report.dots.figure.alt,
        )
    if report.estimates:
        steps, ranges = report.estimates.steps, report.estimates.ranges
        drawn["steps"] = stacks.stack_chart(steps.rows, steps.names, None, "", steps.figure.alt)
        drawn["ranges"] = stacks.range_chart(
            ranges.rows, READING_PACE_TOKENS_PER_SEC, report.pace_text, ranges.figure.alt
        )
    if report.memory:
        held = report.memory.chart
        drawn["memory"] = stacks.stack_chart(held.rows, held.names, 1.0, "usable memory", held.figure.alt)
    if report.charts:
        shared: dict[str, Any] = {
            "across": "batch (log scale)",
            "shaded_above": BATCH_WARNED_ABOVE,
            "shaded_text": "overstates most",
        }
        both = report.charts
        drawn["per_stream"] = charts.line_chart(
            both.lines_per_stream,
            both.positions,
            both.per_stream.alt,
            unit="tok/s per stream",
            mark=READING_PACE_TOKENS_PER_SEC,
            mark_text="reading pace",
            **shared,
        )
        drawn["aggregate"] = charts.line_chart(
            both.lines_aggregate, both.positions, both.aggregate.alt, unit="tok/s, all streams", **shared
        )
        if both.estimate_figures:
            first, second = both.estimate_figures
            drawn["estimate_0"] = charts.line_chart(
                both.estimate_per_stream,
                both.positions,
                first.alt,
                unit="tok/s per stream",
                across=shared["across"],
                mark=READING_PACE_TOKENS_PER_SEC,
                mark_text="reading pace",
            )
            drawn["estimate_1"] = charts.line_chart(
                both.estimate_aggregate, both.positions, second.alt, unit="tok/s, all streams", across=shared["across"]
            )
    return drawn


def bars_svg(bars: Bars | None) -> str:
    """The bars of a first page as SVG; an empty text where there is nothing to draw."""
    return "" if bars is None else charts.bar_chart(bars.bars, bars.mark, bars.mark_text, bars.figure.alt)


def _money_charts(report: Report) -> dict[str, str]:
    """The charts of money, by name; an empty text where there is nothing to draw."""
    names = ("utilisation", "volume", "idle", "by_line", "tornado")
    drawn = dict.fromkeys(names, "")
    if report.money is None:
        return drawn
    pages = report.money
    for name, curves in (("utilisation", pages.cost.utilisation), ("volume", pages.cost.volume)):
        if curves is not None:
            drawn[name] = _curves(curves)
    for name, stacked in (("idle", pages.cost.idle), ("by_line", pages.cost.by_line)):
        if stacked is not None:
            drawn[name] = stacks.stack_chart(stacked.rows, stacked.names, None, "", stacked.figure.alt)
    if pages.sensitivity is not None:
        moved = pages.sensitivity.tornado
        drawn["tornado"] = money_charts.tornado(
            moved.rows, moved.base, moved.base_text, lambda value: rounded(value, moved.decimals), moved.figure.alt
        )
    for number, plan in enumerate(pages.demand.plans if pages.demand else ()):
        months = plan.devices
        drawn[f"devices_{number}"] = money_charts.month_bars(
            months.values, months.names, months.marked, months.figure.alt, unit="devices"
        )
        drawn[f"months_{number}"] = "" if plan.cost is None else _curves(plan.cost)
    return drawn


def _curves(chart: CurveChart) -> str:
    return money_charts.curve_chart(
        chart.curves,
        chart.spots,
        chart.figure.alt,
        unit=chart.unit,
        across=chart.across,
        ends=(chart.least_x, chart.most_x),
        most_y=chart.most_y,
        x_ticks=chart.x_ticks,
    )


def _as_utc(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
