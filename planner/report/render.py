"""From a study to a PDF file: the report's texts through the templates to pages, written in one step."""

from __future__ import annotations

import contextlib
import datetime as dt
import gc
import importlib
import io
import logging
import os
import re
import sys
import warnings
from importlib import resources as packaged
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner import resources
from planner.files import PDF_MARK, is_our_pdf, refuse_target, replacing
from planner.issues import PlannerError
from planner.plan.limits import BATCH_WARNED_ABOVE, READING_PACE_TOKENS_PER_SEC
from planner.report import charts, stacks
from planner.report.heat import LEGEND
from planner.report.model import About, Report, report_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from planner.plan.study import Study

log = logging.getLogger(__name__)

PAPERS: Final = {"a4": "A4", "letter": "Letter"}
TEMPLATE: Final = "report.html.j2"
STYLE: Final = "report.css"
FONT_URL: Final = "planner:inter.ttf"

_CURES: Final = {
    "linux": "apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0",
    "darwin": "brew install pango",
    "win32": "install MSYS2's mingw-w64-ucrt-x86_64-pango and let WEASYPRINT_DLL_DIRECTORIES name its bin folder",
}


class PdfUnavailableError(PlannerError):
    """No PDF can be made here, for want of WeasyPrint or of the Pango library that it draws with."""


def render_report(
    study: Study,
    path: Path | str,
    *,
    paper: str = "A4",
    made: dt.datetime | None = None,
    command: str = "",
    title: str = "",
    attachment: Path | None = None,
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a study's report to a PDF file; the same study and ``made`` give the same bytes.

    ``made`` without a time zone is taken as UTC. ``attachment`` is a results workbook to embed.
    Raises PdfUnavailableError where WeasyPrint cannot be loaded, and PlannerError where the paper is
    unknown, the attachment cannot be read, the file cannot be written, or a file that is no report of
    planner's stands there and ``force`` is not given.
    """
    path = Path(path)
    refuse_target(path, ".pdf", is_our_pdf, force=force)
    size = paper_size(paper)
    weasyprint = load_weasyprint()
    now = _as_utc(made or dt.datetime.now(dt.UTC))
    attached = _attachments(weasyprint, attachment, now)
    about = About(now, size, command, title, attachment, _program(), f"WeasyPrint {weasyprint.__version__}")
    progress("texts")
    html = to_html(report_of(study, about), size)
    progress("pages")
    data = _pages(weasyprint, html, now, attached)
    progress("file")
    _put(path, data)


def render_pages(
    template: str, path: Path, *, paper: str, made: dt.datetime, force: bool = False, **values: object
) -> None:
    """Write the pages of another template than the report's to a PDF file, in the report's style.

    Raises PdfUnavailableError and PlannerError as :func:`render_report` does.
    """
    refuse_target(path, ".pdf", is_our_pdf, force=force)
    weasyprint = load_weasyprint()
    values |= {"program": _program(), "engine": f"WeasyPrint {weasyprint.__version__}"}
    _put(path, _pages(weasyprint, _filled(template, paper_size(paper), **values), _as_utc(made), []))


def paper_size(paper: str) -> str:
    """A paper's name as pages take it. Raises PlannerError for another than A4 and Letter."""
    size = PAPERS.get(paper.strip().casefold())
    if size is None:
        raise PlannerError(f"Paper is '{paper}'; expected {' or '.join(PAPERS.values())}.")
    return size


def _pages(weasyprint: Any, html: str, made: dt.datetime, attached: list[Any]) -> bytes:
    with _without_gc(), _glyphs_missed(), _dated(made):
        document = weasyprint.HTML(string=html, base_url="planner:", url_fetcher=_fetcher())
        data: bytes = document.write_pdf(attachments=attached, pdf_tags=True)
    return data


def _put(path: Path, data: bytes) -> None:
    with replacing(path) as new:
        new.temporary.write_bytes(data.rstrip(b"\n") + b"\n" + PDF_MARK)


def to_html(report: Report, paper: str = "A4") -> str:
    """The report as one HTML page, with its charts drawn and its style within."""
    return _filled(TEMPLATE, paper, report=report, legend=LEGEND, charts=_charts(report))


def _filled(template: str, paper: str, **values: object) -> str:
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
    return environment.get_template(template).render(paper=paper, style=STYLE, font_url=FONT_URL, **values)


def _whole_units(text: str) -> str:
    """A text whose units do not break over lines at their slash, as HTML."""
    from markupsafe import Markup, escape  # noqa: PLC0415  comes with jinja2

    return Markup(_UNITS.sub(r'<span class="whole">\1</span>', str(escape(text))))  # noqa: S704  escaped just now


_UNITS: Final = re.compile(r"((?:[\d,.]+ )?(?:tok/s|GB/s))")


def _charts(report: Report) -> Mapping[str, str]:
    """The report's charts as SVG, by name; an empty text where there is nothing to draw."""
    names = ("bars", "dots", "per_stream", "aggregate", "steps", "ranges", "memory", "estimate_0", "estimate_1")
    drawn = dict.fromkeys(names, "")
    if report.bars:
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


def load_weasyprint() -> Any:
    """WeasyPrint, loaded on first use; its own banner about missing libraries is kept from the terminal.

    Raises PdfUnavailableError, with the cure for this platform, where it cannot be loaded.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            # An old HarfBuzz is WeasyPrint's to speak of, and no user of a report can act on it.
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module("weasyprint")
    except (OSError, ImportError) as error:
        missing = "WeasyPrint" if isinstance(error, ImportError) else "the Pango library"
        cure = _CURES.get(sys.platform, _CURES["linux"])
        if isinstance(error, ImportError):
            cure = f"pip install weasyprint, then {cure}"
        raise PdfUnavailableError(f"No PDF: {missing} cannot be loaded here. Cure: {cure}.") from error


def _fetcher() -> Any:
    """A fetcher that serves the packaged font and refuses every other address, of files and the network alike."""
    urls = importlib.import_module("weasyprint.urls")
    served = {FONT_URL: _font}

    class Packaged(urls.URLFetcher):  # type: ignore[misc, name-defined]
        """Serves what travels with planner."""

        def fetch(self, url: str, headers: Any = None) -> Any:
            """A packaged file; raises for any other address, which stops the rendering."""
            del headers
            if url not in served:
                raise urls.FatalURLFetchingError(f"planner's report loads no {url}")
            return urls.URLFetcherResponse(url, served[url](), {"Content-Type": "font/ttf"})

    return Packaged()


def _font() -> bytes:
    """Inter, upright, all weights in one file."""
    files = packaged.files("fontpkg_inter") / "files"
    return next(file.read_bytes() for file in files.iterdir() if file.name.startswith("Inter["))


def _attachments(weasyprint: Any, attachment: Path | None, made: dt.datetime) -> list[Any]:
    if attachment is None:
        return []
    try:
        data = attachment.read_bytes()
    except OSError as error:
        raise PlannerError(f"Cannot attach {attachment}: {error.strerror or error}.") from error
    return [
        weasyprint.Attachment(
            file_obj=io.BytesIO(data),
            name=attachment.name,
            description="The results workbook, with live formulas",
            created=made,
            modified=made,
            relationship="Data",
        )
    ]


def _program() -> str:
    """The program with its version; looked up and not imported, since the package's front names every floor above."""
    return f"planner {importlib.import_module('planner').__version__}"


def _as_utc(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)


@contextlib.contextmanager
def _dated(moment: dt.datetime) -> Iterator[None]:
    """The date that fontTools stamps into the fonts it cuts, which it takes from the environment or the clock."""
    before = os.environ.get(_EPOCH)
    os.environ[_EPOCH] = str(int(moment.timestamp()))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_EPOCH, None)
        else:
            os.environ[_EPOCH] = before


_EPOCH: Final = "SOURCE_DATE_EPOCH"
_NO_GLYPH: Final = ".notdef glyph"


@contextlib.contextmanager
def _glyphs_missed() -> Iterator[None]:
    """One line for all characters that no font here can show, where WeasyPrint writes one for each that it meets."""
    missed: dict[str, None] = {}

    def other(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if not text.startswith(_NO_GLYPH):
            return True
        missed[text.rpartition("(")[2].rstrip(")")] = None
        return False

    logger = logging.getLogger("weasyprint")
    logger.addFilter(other)
    try:
        yield
    finally:
        logger.removeFilter(other)
    if missed:
        log.warning("No font here has %s; the report shows boxes in their place.", ", ".join(missed))


@contextlib.contextmanager
def _without_gc() -> Iterator[None]:
    """No collecting of garbage meanwhile: pages make many objects and hardly any to throw away."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
