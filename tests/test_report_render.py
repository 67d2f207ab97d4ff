"""The report as a PDF: what its pages say and hold, that it is the same each time, and what stops it."""

import datetime as dt
import functools
import hashlib
import io
import logging
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pypdf
import pytest
import weasyprint

from planner.files import PDF_MARK
from planner.issues import Issue, PlannerError, Severity
from planner.plan.scenario import Scenario
from planner.plan.study import Options, Origin, Skipped, Source, Study, study_of
from planner.report import pdf, render
from planner.report.model import About, report_of
from planner.report.parts import say
from planner.report.render import PdfUnavailableError, render_report
from planner.settings import Settings

MADE = dt.datetime(2026, 11, 29, 9, 0, tzinfo=dt.UTC)
WORKED = {
    "params_b": 70,
    "precision": "FP16",
    "bandwidth_gb_s": 3350,
    "efficiency": 0.85,
    "batch": 8,
    "prompt_tokens": 2000,
    "output_tokens": 500,
    "prefill_tokens_per_sec": 9000,
}
HEADERS = ("Aggregate", "Response", "Requests")
A4 = (595.28, 841.89)
LETTER = (612, 792)


def scenario(name="worked example", **changes):
    return Scenario(name=name, **(WORKED | changes))


def many(number):
    """Scenarios of many kinds, the same each time."""
    pick = random.Random(3).choice
    return study_of(
        scenario(
            f"Case {n} with a name of usual length",
            params_b=pick([7, 8, 13, 32, 70, 405]),
            precision=pick(["FP16", "INT8", "INT4", "Q4_K_M"]),
            bandwidth_gb_s=None,
            device_bandwidth_gb_s=pick([864, 1008, 2039, 3350, 4800]),
            devices=pick([1, 2, 4, 8]),
            device_memory_gb=pick([24, 48, 80, 141]),
            efficiency=pick([0.85, 0.7, None]),
            batch=pick([1, 8, 16, 64]),
        )
        for n in range(1, number + 1)
    )


AWKWARD = study_of(
    [
        scenario("x" * 220, model="m" * 300, notes="n" * 1000),
        scenario("<script>alert('x')</script> & <img src='file:///etc/passwd'>", batch=64),
        scenario("\x00control\x07 \u202eright to left"),
        scenario("Tiny", params_b=0.01, batch=1024),
        scenario("Huge", params_b=20_000, bandwidth_gb_s=20),
        scenario("W" * 200, params_b=7),
    ]
)


class Kept(logging.Handler):
    """Keeps what WeasyPrint says, of fixtures and tests alike."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


KEPT = Kept()


@pytest.fixture(autouse=True, scope="module")
def keep_what_weasyprint_says():
    logger = logging.getLogger("weasyprint")
    logger.addHandler(KEPT)
    yield
    logger.removeHandler(KEPT)


@pytest.fixture(autouse=True)
def no_weasyprint_warning():
    yield
    said, KEPT.said = KEPT.said, []
    assert said == []


def make(study, folder, **options):
    path = folder / "report.pdf"
    render_report(study, path, made=MADE, **options)
    return path


@functools.cache
def pages_of(path):
    """The texts of a report's pages; a file is read once, since no test writes its report a second time."""
    return [page.extract_text() for page in pypdf.PdfReader(path).pages]


def plain(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def attached(tmp_path_factory):
    workbook = tmp_path_factory.mktemp("attached") / "Ergebnisse für 2026.xlsx"
    workbook.write_bytes(b"PK not really a workbook")
    return workbook


@pytest.fixture(scope="module")
def worked(attached, tmp_path_factory):
    folder = tmp_path_factory.mktemp("worked")
    return make(study_of([scenario()]), folder, command="planner run scenarios.xlsx", attachment=attached)


@pytest.fixture(scope="module")
def blank():
    """WeasyPrint's pages for a study without scenarios."""
    made = []
    write = weasyprint.HTML.write_pdf

    def keep(*args, **options):
        made.append(write(*args, **options))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(weasyprint.HTML, "write_pdf", keep)
        make(study_of([]), Path(folder))
    return made[0]


@pytest.fixture
def made_before(blank, monkeypatch):
    """Pages laid out before stand in for new ones: for tests of the file, whatever its pages hold."""
    monkeypatch.setattr(weasyprint.HTML, "write_pdf", lambda *args, **options: blank)


@pytest.fixture(scope="module")
def forty(tmp_path_factory):
    study = many(40)
    return study, make(study, tmp_path_factory.mktemp("forty"))


# What the pages say


def test_the_first_page_answers(worked):
    first = plain(pages_of(worked)[0])
    for text in (
        "LLM serving capacity",
        "S01 serves 1,161 requests an hour per device",
        "one stream at 20.34 tok/s at efficiency 85%",
        "eight streams together at 162.7 tok/s",
        "24.81 s",
        "It keeps reading pace (10 tok/s)",
        "The scenario keeps reading pace",
        "Upper bound.",
        "Page 1 of",
    ):
        assert text in first, text


def test_the_worked_example_has_its_figures(worked):
    text = plain(" ".join(pages_of(worked)))
    for figure in ("20.34", "23.93", "49.17", "162.7", "0.222", "24.58", "24.81", "1,161", "40.68", "12.51"):
        assert figure in text, figure
    assert "3,350 × 0.85 ÷ 140 = 20.33929 tok/s, shown as 20.34" in text
    assert "8 × 3,600 ÷ 24.80519 = 1,161.047 per hour, shown as 1,161" in text


def test_every_part_is_there_in_order(worked):
    text = plain(" ".join(pages_of(worked)))
    parts = (
        "Contents",
        "Flags of the results",
        "1 Results",
        "2 Precision variants",
        "3 Batch variants",
        "4 Speed table",
        "5 Assumptions",
        "6 Scenario sheets",
        "7 Checks",
        "8 Formulas and a worked check",
        "9 Glossary",
        "10 Provenance",
    )
    last = 0
    for part in parts:
        last = text.find(part, last)
        assert last >= 0, part
    assert "planner run scenarios.xlsx" in text


def test_bases_are_named(worked):
    text = plain(" ".join(pages_of(worked)))
    assert "its weights alone must take at most 90%" in text
    assert "GB is 1,000,000,000 bytes" in text
    assert "Aggregate is the sum over the batch" in text
    assert "Per-stream ceiling (tok/s), efficiency 100%" in text


def test_every_printed_result_is_as_shown(forty):
    study, path = forty
    text = plain(" ".join(pages_of(path)))
    for case in study.cases:
        line = " ".join(
            say(name, getattr(case.result, name))
            for name in (
                "tokens_per_sec",
                "ceiling_tokens_per_sec",
                "inter_token_latency_ms",
                "aggregate_tokens_per_sec",
                "time_to_first_token_s",
                "response_time_s",
                "requests_per_hour",
                "requests_per_device_per_hour",
            )
        )
        assert line in text, case.label


def test_headings_make_the_outline_and_the_contents(worked):
    reader = pypdf.PdfReader(worked)
    titles = [plain(item.title) for item in reader.outline if not isinstance(item, list)]
    assert titles[:3] == ["Contents", "1 Results", "2 Precision variants"]
    contents = plain(reader.pages[1].extract_text())
    for item in reader.outline:
        if isinstance(item, list) or item.title == "Contents":
            continue
        number = reader.get_destination_page_number(item) + 1
        title = plain(item.title).split(" ", 1)[1]
        assert re.search(rf"{re.escape(title)}[ .]+{number}\b", contents), item.title


def test_metadata(worked):
    reader = pypdf.PdfReader(worked)
    assert reader.metadata.title == "LLM serving capacity"
    assert reader.metadata.author == "planner"
    assert reader.metadata.creation_date == MADE
    assert reader.trailer["/Root"]["/Lang"] == "en"


def test_only_packaged_fonts_are_embedded_for_latin_text(worked):
    reader = pypdf.PdfReader(worked)
    names = {
        font.get_object()["/BaseFont"]
        for page in reader.pages
        for font in page["/Resources"].get_object()["/Font"].get_object().values()
    }
    assert names
    assert all("Inter" in name for name in names)


# Pages


@pytest.fixture(scope="module", params=[A4, LETTER], ids=["A4", "letter"])
def sized(request, forty, tmp_path_factory):
    """A report of each size of paper, of many scenarios and of one."""
    if request.param == A4:
        return forty[1], A4
    few = Options(precisions=("FP16", "INT4"), batches=(1, 8))
    return make(study_of([scenario()], few), tmp_path_factory.mktemp("letter"), paper="letter"), LETTER


def test_both_sizes_are_numbered_through(sized):
    path, size = sized
    reader = pypdf.PdfReader(path)
    assert {tuple(round(float(x), 2) for x in page.mediabox[2:]) for page in reader.pages} == {size}
    pages = pages_of(path)
    for number, text in enumerate(pages, 1):
        assert f"Page {number} of {len(pages)}" in plain(text)
    assert plain(pages[1]).startswith(("Capacity report", "Contents"))


def test_page_counts(worked, forty):
    assert len(pypdf.PdfReader(worked).pages) in {7, 8}
    assert 17 <= len(pypdf.PdfReader(forty[1]).pages) <= 23


def fetcher():
    return pdf._fetcher({pdf.FONT_URL: (pdf._font(), "font/ttf")})


def laid_out(study, paper="A4", start="<body>", end="</body>", title="", **about):
    """The pages of a report, or of the part of it between two marks, as WeasyPrint lays them out."""
    html = render.to_html(report_of(study, About(MADE, Settings(paper=paper, title=title), **about)))
    head, _, body = html.partition("<body>")
    body = f"<body>{body}"
    part = body[body.index(start) : body.index(end)].removeprefix("<body>")
    if start != "<body>":
        # A part alone has links to nowhere.
        part = re.sub(r' href="#\w+"', "", part)
    page = f"{head}<body>{part}</body></html>"
    return weasyprint.HTML(string=page, base_url="planner:", url_fetcher=fetcher()).render()


def texts_of(document):
    written = io.BytesIO(document.write_pdf())
    return [plain(page.extract_text()) for page in pypdf.PdfReader(written).pages]


@pytest.mark.parametrize("study", [many(40), many(7), AWKWARD], ids=["forty", "seven", "awkward"])
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_answer_keeps_to_one_page(study, paper):
    document = laid_out(study, paper, '<section class="cover">', '<section class="page contents">')
    (first,) = texts_of(document)
    assert "Upper bound." in first


def test_a_long_table_has_its_header_on_every_page_and_no_split_row():
    study = many(120)
    # Only the section of results, so that the test need not lay out the others.
    pages = texts_of(laid_out(study, start='<h1 id="results">', end='<h1 id="memory">'))
    assert len(pages) >= 3
    labels = []
    for page in pages:
        assert all(head in page for head in HEADERS)
        labels += re.findall(r"\bS\d\d+\b", page)
    assert labels == [case.label for case in study.cases]
    # A row that was split would leave the second half of its name at the top of the next page.
    heads = [page.rpartition("Flags ")[2][:3] for page in pages[1:]]
    assert all(head.startswith("S") for head in heads)


def boxes(box):
    yield box
    for child in getattr(box, "children", ()):
        yield from boxes(child)


@pytest.fixture(scope="module", params=["A4", "Letter"])
def awkward(request):
    return laid_out(AWKWARD, request.param, title="T" * 300, command="c" * 2000)


def test_nothing_runs_over_the_margins_whatever_the_names(awkward):
    margin = 18 / 25.4 * 96
    for page in awkward.pages:
        for box in boxes(page._page_box):
            if type(box).__name__ == "TextBox":
                assert box.position_x >= margin - 1, box.text
                assert box.position_x + box.width <= page.width - margin + 1, box.text
                assert box.position_y + box.height <= page.height, box.text


def test_texts_of_a_table_stay_in_their_cells(awkward):
    for page in awkward.pages:
        for cell in boxes(page._page_box):
            if type(cell).__name__ != "TableCellBox":
                continue
            right = cell.position_x + cell.padding_left + cell.width + cell.padding_right + 1
            for box in boxes(cell):
                if type(box).__name__ == "TextBox":
                    assert box.position_x + box.width <= right, box.text


# Markup and addresses


def test_markup_in_names_is_text(awkward):
    html = render.to_html(report_of(AWKWARD, About(MADE)))
    assert "<script" not in html
    assert "<img" not in html
    # Of the laid-out boxes, so that no file need be made; a name may be broken anywhere.
    texts = (box.text for page in awkward.pages for box in boxes(page._page_box) if type(box).__name__ == "TextBox")
    assert "<script>alert('x')</script>" in re.sub(r"\s", "", "".join(texts))


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "https://example.org/a.png", "data:text/plain,x", "planner:other"]
)
def test_no_address_but_the_font_is_fetched(url):
    sealed = fetcher()
    with pytest.raises(weasyprint.urls.FatalURLFetchingError):
        sealed.fetch(url)
    page = weasyprint.HTML(string=f'<img src="{url}">', base_url="planner:", url_fetcher=sealed)
    with pytest.raises(weasyprint.urls.FatalURLFetchingError):
        page.write_pdf()


def test_the_font_is_fetched():
    assert fetcher().fetch(pdf.FONT_URL).read(4) == b"\x00\x01\x00\x00"


# The file


def test_the_same_study_and_attachment_give_the_same_bytes(worked, attached, tmp_path):
    again = make(study_of([scenario()]), tmp_path, command="planner run scenarios.xlsx", attachment=attached)
    assert again.read_bytes() == worked.read_bytes()


def test_a_workbook_too_large_to_attach_is_named_with_its_hash(attached, tmp_path, monkeypatch):
    monkeypatch.setattr("planner.report.pdf._MOST_ATTACHED", 20)
    made = make(study_of([scenario()]), tmp_path, attachment=attached)
    read = pypdf.PdfReader(made)
    assert not read.attachments
    text = " ".join(" ".join(page.extract_text() for page in read.pages).split())
    assert f"{attached.name}, of 0 MB, too large to be attached" in text
    assert hashlib.sha256(attached.read_bytes()).hexdigest() in text.replace(" ", "")


def test_an_attachment_is_embedded(worked, attached):
    assert pypdf.PdfReader(worked).attachments[attached.name] == [b"PK not really a workbook"]
    assert attached.name in plain(" ".join(pages_of(worked)))


def test_what_cannot_be_attached_stops_the_report(tmp_path):
    with pytest.raises(PlannerError, match="Cannot attach"):
        make(study_of([]), tmp_path, attachment=tmp_path / "missing.xlsx")


def test_an_unknown_paper_stops_the_report(tmp_path):
    with pytest.raises(PlannerError, match="Paper is 'A5'; expected one of A4, Letter"):
        make(study_of([]), tmp_path, paper="A5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("made_before")
def test_a_missing_folder_stops_the_report(tmp_path):
    with pytest.raises(PlannerError, match="Cannot write"):
        make(study_of([]), tmp_path / "no such folder")


@pytest.mark.usefixtures("made_before")
def test_the_old_report_stays_where_the_new_one_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "report.pdf"
    old = b"%PDF-1.7 old" + PDF_MARK
    path.write_bytes(old)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "replace", full)
    with pytest.raises(PlannerError, match="No space left on device"):
        render_report(study_of([]), path, made=MADE)
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == ["report.pdf"]


@pytest.mark.usefixtures("made_before")
def test_a_pdf_of_somebody_elses_is_not_written_over_unasked(tmp_path):
    path = tmp_path / "thesis.pdf"
    path.write_bytes(b"%PDF-1.7 thesis")
    with pytest.raises(PlannerError, match="no work of planner's; --force"):
        render_report(study_of([]), path, made=MADE)
    with pytest.raises(PlannerError, match="another ending"):
        render_report(study_of([]), tmp_path / "report.txt", made=MADE)
    assert path.read_bytes() == b"%PDF-1.7 thesis"
    render_report(study_of([]), str(path), made=MADE, force=True)
    render_report(study_of([]), path, made=MADE)
    assert pypdf.PdfReader(path).pages


@pytest.mark.usefixtures("made_before")
def test_progress_is_told(tmp_path):
    told = []
    make(study_of([]), tmp_path, progress=told.append)
    assert told == ["texts", "pages", "file"]


def test_without_a_date_the_report_is_of_today(tmp_path):
    path = tmp_path / "report.pdf"
    render_report(study_of([]), path)
    today = dt.datetime.now(dt.UTC)
    assert abs(pypdf.PdfReader(path).metadata.creation_date - today) < dt.timedelta(minutes=5)


# No scenarios


def test_rows_that_are_all_bad_are_listed_with_their_cells(tmp_path):
    issue = Issue(
        severity=Severity.ERROR,
        code="value",
        field="precision",
        problem="Precision is 'FP7', an unknown precision",
        accepted="a precision such as FP16",
        sheet="Scenarios",
        cell="D5",
        row=5,
    )
    study = Study((), (Skipped("bad row", Origin("Scenarios", 5)),), (issue,), Source("a.xlsx", "ab" * 32, "Scenarios"))
    pages = pages_of(make(study, tmp_path))
    assert "One row read, none could be evaluated" in plain(pages[0])
    assert "D5: Precision is 'FP7', an unknown precision" in plain(pages[0])
    assert "Scenarios!D5" in plain(" ".join(pages))
    assert "Expected a precision such as FP16" in plain(" ".join(pages))


# Without WeasyPrint


def test_want_of_pango_is_said_in_one_line(tmp_path, monkeypatch, capsys):
    def load(_):
        print("-----\nWeasyPrint could not import some external libraries.\n-----")
        raise OSError("cannot load library 'libpango-1.0-0'")

    monkeypatch.setattr(pdf.importlib, "import_module", load)
    with pytest.raises(PdfUnavailableError) as caught:
        make(study_of([]), tmp_path)
    said = str(caught.value)
    assert said.startswith("No PDF: the Pango library cannot be loaded here. Cure: ")
    assert "\n" not in said
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == []


def test_want_of_weasyprint_is_said_too(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(PdfUnavailableError, match="WeasyPrint cannot be loaded here"):
        make(study_of([]), tmp_path)


@pytest.mark.parametrize(
    ("platform", "cure"),
    [
        ("linux", "apt-get install libpango-1.0-0"),
        ("darwin", "brew install pango"),
        ("win32", "WEASYPRINT_DLL_DIRECTORIES"),
    ],
)
def test_the_cure_is_that_of_the_platform(platform, cure, monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    monkeypatch.setattr(pdf.sys, "platform", platform)
    with pytest.raises(PdfUnavailableError, match=re.escape(cure)):
        pdf.load_weasyprint()


def test_importing_the_report_loads_neither_weasyprint_nor_jinja2():
    code = "import sys, planner.report.render; print({'weasyprint', 'jinja2'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"


def test_characters_without_a_glyph_are_said_once(tmp_path, caplog):
    # A character of a private use area, which no font is made for.
    make(study_of([scenario("logo \ue8a7\U000f1234")]), tmp_path)
    said = [record.getMessage() for record in caplog.records if record.name == "planner.report.pdf"]
    assert len(said) == 1
    assert "U+F1234" in said[0]
