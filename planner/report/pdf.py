"""From a page of HTML to the bytes of a PDF: what it may load, its tags, its standard, and its attachments."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import logging
import os
import re
import sys
import warnings
from importlib import resources as packaged
from typing import TYPE_CHECKING, Any, Final

from planner.collecting import without_gc
from planner.files import PDF_MARK
from planner.issues import PlannerError
from planner.report.model import Beside
from planner.units import BYTES_PER_MB

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

log = logging.getLogger(__name__)

FONT_URL: Final = "planner:inter.ttf"
LOGO_URL: Final = "planner:logo.png"

_CURES: Final = {
    "linux": "apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0",
    "darwin": "brew install pango",
    "win32": "install MSYS2's mingw-w64-ucrt-x86_64-pango and let WEASYPRINT_DLL_DIRECTORIES name its bin folder",
}


class PdfUnavailableError(PlannerError):
    """No PDF can be made here, for want of WeasyPrint or of the Pango library that it draws with."""


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


def make_pdf(html: str, *, variant: str, made: dt.datetime, attachments: Sequence[Any], logo: bytes | None) -> bytes:
    """A page of HTML as a PDF of a standard, with tags; it may load the packaged font and the logo, nothing else."""
    weasyprint = load_weasyprint()
    served = {FONT_URL: (_font(), "font/ttf")}
    if logo is not None:
        served[LOGO_URL] = (logo, "image/png")
    fetcher = _fetcher(served)

    def page(text: str) -> Any:
        return weasyprint.HTML(string=text, base_url="planner:", url_fetcher=fetcher)

    with without_gc(), _glyphs_missed(), _dated(made), warnings.catch_warnings():
        # WeasyPrint leaves the file of its colour profile to be closed by chance.
        warnings.simplefilter("ignore", ResourceWarning)
        document = page(_fitted(html, page))
        data = document.write_pdf(attachments=attachments or None, pdf_variant=variant, pdf_tags=True, finisher=_finish)
    return _marked(data)


def _fitted(html: str, page: Callable[[str], Any]) -> str:
    """A page of HTML whose cover is set as close as it must be to take one page; the closest where none does."""
    before, _, after = html.partition(COVER)
    content, end, _ = after.partition(_COVER_END)
    for density in _DENSITIES:
        opening = COVER.replace('cover"', f'cover {density}"')
        # Its links lead to sections that this part has not.
        alone = _LINK.sub("<a>", content)
        if len(page(f"{before}{opening}{alone}{end}</body></html>").render().pages) == 1:
            return f"{before}{opening}{after}"
    return f"{before}{opening}{after}"


COVER: Final = '<section class="cover">'
_COVER_END: Final = "</section>"
_DENSITIES: Final = ("", "close", "close closest")
_LINK: Final = re.compile(r'<a href="#[\w-]+">')


def _marked(data: bytes) -> bytes:
    """A PDF with the line by which planner knows its own; before its end, behind which nothing may follow."""
    head, word, tail = data.rpartition(b"startxref")
    return head + PDF_MARK + word + tail


_PRINT: Final = 4


def _finish(_document: Any, pdf: Any) -> None:
    """What WeasyPrint leaves out: which way a table's heads point, what runs on each page, what attachments are."""
    pydyf = importlib.import_module("pydyf")
    objects: list[Any] = [item for item in pdf.objects if isinstance(item, dict)]
    elements = {item.reference: item for item in objects if item.get("Type") == "/StructElem"}
    for element in elements.values():
        if element["S"] == "/TH":
            row = elements[element["P"]]
            in_head = elements[row["P"]]["S"] == "/THead"
            element["A"]["Scope"] = "/Column" if in_head else "/Row"
    for item in objects:
        if item.get("Type") == "/Annot":
            # What is to be seen on the screen is to be printed as well.
            item["F"] = _PRINT
    _let_run(pdf, elements)
    files = [item for item in objects if item.get("Type") == "/Filespec"]
    for file in files:
        file["AFRelationship"] = "/Data"
    if files:
        pdf.catalog["AF"] = pydyf.Array([file.reference for file in files])


_RUNNING: Final = "<</Type /Pagination>>"


def _let_run(pdf: Any, elements: Mapping[bytes, Any]) -> None:
    """Running heads and feet as artifacts, which no reader reads aloud on each page.

    WeasyPrint tags their texts and hangs the tags nowhere: their elements name the document as their parent, which
    does not name them.
    """
    by_reference = {item.reference: item for item in pdf.objects}
    root = by_reference[pdf.catalog["StructTreeRoot"]]
    document = elements[root["K"][0]]
    held = set(document["K"])
    loose = [item for item in elements.values() if item["P"] == document.reference and item.reference not in held]
    running: dict[bytes, set[int]] = {}
    while loose:
        element = loose.pop()
        for kid in element["K"]:
            if isinstance(kid, int):
                running.setdefault(element["Pg"], set()).add(kid)
            elif kid in elements:
                loose.append(elements[kid])
        element.clear()
    numbers = by_reference[root["ParentTree"]]["Nums"]
    parents = dict(zip(numbers[::2], numbers[1::2], strict=True))
    for reference, marks in running.items():
        page = by_reference[reference]
        for mark in marks:
            parents[page["StructParents"]][mark] = "null"
        stream = by_reference[page["Contents"]].stream
        for place, item in enumerate(stream):
            if isinstance(item, dict) and item.get("MCID") in marks:
                stream[place - 1 : place + 1] = ["/Artifact", _RUNNING]


def _fetcher(served: Mapping[str, tuple[bytes, str]]) -> Any:
    """A fetcher that serves these addresses and refuses every other, of files and the network alike."""
    urls = importlib.import_module("weasyprint.urls")

    class Packaged(urls.URLFetcher):  # type: ignore[misc, name-defined]
        """Serves what travels with planner, and what planner made itself."""

        def fetch(self, url: str, headers: Any = None) -> Any:
            """A served file; raises for any other address, which stops the rendering."""
            del headers
            if url not in served:
                raise urls.FatalURLFetchingError(f"planner's report loads no {url}")
            data, kind = served[url]
            return urls.URLFetcherResponse(url, data, {"Content-Type": kind})

    return Packaged()


def _font() -> bytes:
    """Inter, upright, all weights in one file."""
    files = packaged.files("fontpkg_inter") / "files"
    return next(file.read_bytes() for file in files.iterdir() if file.name.startswith("Inter["))


# Mail servers refuse more; the results of a hundred thousand scenarios have ten times as much.
_MOST_ATTACHED: Final = 20 * BYTES_PER_MB


def is_attachable(path: Path) -> bool:
    """Whether a results workbook is small enough to be attached."""
    return path.stat().st_size <= _MOST_ATTACHED


def attached(path: Path | None, made: dt.datetime) -> tuple[list[Any], Beside | None]:
    """A results workbook as an attachment, or what to say of one that is too large for that.

    Raises PlannerError where it cannot be read.
    """
    if path is None:
        return [], None
    weasyprint = load_weasyprint()
    try:
        if not is_attachable(path):
            with path.open("rb") as file:
                return [], Beside(path.name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
        data = path.read_bytes()
    except OSError as error:
        raise PlannerError(f"Cannot attach {path}: {error.strerror or error}.") from error
    return [
        weasyprint.Attachment(
            file_obj=io.BytesIO(data),
            name=path.name,
            description="The results workbook, with live formulas",
            created=made,
            modified=made,
            relationship="Data",
        )
    ], None


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
