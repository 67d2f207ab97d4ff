"""The report as a file: what it may load, its tags and standards, what is attached, and that its bytes come again."""

import datetime as dt
import hashlib
import html.parser
import io
import logging
import re
import shlex
import subprocess
import sys
from pathlib import Path

import openpyxl
import pikepdf
import pypdf
import pytest
from click.testing import CliRunner
from PIL import Image

from planner.cli import main
from planner.files import is_our_pdf
from planner.plan.scenario import Scenario
from planner.plan.study import Options, study_of
from planner.recompute import read_as_of
from planner.report import render
from planner.report.model import About, report_of
from planner.report.render import render_report
from planner.settings import Decision, Settings
from planner.workbook.starter import SAMPLE, write_starter

MADE = dt.datetime(2026, 11, 29, 9, 0, tzinfo=dt.UTC)
ATTACHED = b"PK" + bytes(range(256)) * 40
CANARY = "canary-of-the-report"
NASTY = (
    "<script>alert(1)</script>",
    "{{ 7 * 7 }} {% include 'x' %} {# no #}",
    "]]> </style></title></svg> <!-- ",
    f"<img src='file:///tmp/{CANARY}'> <link rel=attachment href=file:///tmp/{CANARY}>",
    f"url(http://127.0.0.1:9/{CANARY}) @import 'data:text/css,p{{}}'",
    "&lt;b&gt; &amp; \" onload='x' `a`",
    "容量計画 一覧 日本語の名前",
    "خطة السعة لخدمة النماذج",
    "\u202eturned\u202c \u0000\u0007\ufeff\ud800",
    "x" * 300,
    "two words " * 30,
)


def scenario(name, **more):
    return Scenario(
        name=name,
        **{
            "params_b": 70,
            "precision": "FP16",
            "bandwidth_gb_s": 3350,
            "efficiency": 0.85,
            "batch": 8,
            "prompt_tokens": 2000,
            "output_tokens": 500,
            "prefill_tokens_per_sec": 9000,
        }
        | more,
    )


def everywhere(text):
    """Settings with a text wherever one goes."""
    short = text[:300]
    return Settings(
        **dict.fromkeys(
            (
                "title",
                "subtitle",
                "organisation",
                "prepared_for",
                "prepared_by",
                "reviewed_by",
                "approved_by",
                "period",
                "version",
                "contact",
            ),
            short,
        ),
        introduction=(text,),
        notes=(text,),
        decisions=(Decision(short, short, dt.date(2026, 12, 12)),),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pdf")
    (folder / "results.xlsx").write_bytes(ATTACHED)
    picture = Image.new("RGBA", (120, 40), (0, 0, 0, 0))
    picture.paste((20, 40, 90, 255), (10, 10, 110, 30))
    picture.save(folder / "logo.png")
    return folder


# Fewer variants are fewer pages, and the pages are of the same kinds.
FEW = Options(precisions=("FP16",), batches=(1, 8))


class Watch:
    """What this process opens and whom it calls, while it is on."""

    def __init__(self):
        self.on = False
        self.seen = []

    def __call__(self, event, args):
        if not self.on:
            return
        if event in {"socket.connect", "socket.getaddrinfo", "urllib.Request"} or (
            event == "open" and CANARY in str(args[0])
        ):
            self.seen.append(f"{event} {args}")


WATCH = Watch()


@pytest.fixture(scope="module")
def watched():
    sys.addaudithook(WATCH)
    return WATCH


class Kept(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


@pytest.fixture(scope="module")
def made(folder, watched):
    """A report of each standard, with nasty texts and all that it may hold; what was opened; what was warned of."""
    kept = Kept()
    loggers = [logging.getLogger(name) for name in ("weasyprint", "fontTools", "planner")]
    for logger in loggers:
        logger.addHandler(kept)
    watched.seen.clear()
    watched.on = True
    try:
        for number, (variant, locale, paper) in enumerate([("pdf/ua-1", "en", "A4"), ("pdf/a-3b", "de-DE", "Letter")]):
            texts = NASTY[number * 6 : number * 6 + 6]
            study = study_of((scenario(text, notes=text) for text in texts), FEW)
            texts = everywhere(" ".join(NASTY[4 * number : 4 * number + 4]))
            settings = Settings(
                **{name: getattr(texts, name) for name in ("title", "organisation", "introduction", "decisions")},
                notes=texts.notes,
                contact=texts.contact,
                status="final",
                version="v3",
                prepared_for=NASTY[6],
                locale=locale,
                paper=paper,
                logo=str(folder / "logo.png"),
                pdf_variant=variant,
            )
            path = folder / f"{variant.replace('/', '-')}.pdf"
            render_report(study, path, settings=settings, made=MADE, attachment=folder / "results.xlsx")
    finally:
        watched.on = False
        for logger in loggers:
            logger.removeHandler(kept)
    return folder, tuple(watched.seen), kept.said


VARIANTS = ("pdf-ua-1", "pdf-a-3b")


@pytest.fixture(scope="module", params=VARIANTS)
def file(request, made):
    return made[0] / f"{request.param}.pdf"


# Sealed


def test_nothing_is_opened_or_called_that_a_text_names(made):
    assert made[1] == ()


def test_the_watch_would_have_seen_it(watched, tmp_path):
    watched.seen.clear()
    watched.on = True
    try:
        with pytest.raises(FileNotFoundError):
            open(tmp_path / CANARY)  # noqa: PTH123, SIM115  what the watch is for
    finally:
        watched.on = False
    assert len(watched.seen) == 1


def test_nothing_is_warned_of(made):
    # A missing glyph is not the report's fault, and said in a line of its own.
    assert [said for said in made[2] if not said.startswith("No font here has")] == []


class Tags(html.parser.HTMLParser):
    """Every tag with the names of its attributes."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, tuple(sorted(name for name, _ in attrs))))
        self.addresses += [value for name, value in attrs if name in {"href", "src", "xlink:href"}]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)


def tags_of(texts):
    study = study_of(scenario(text, notes=text, model=text) for text in texts)
    settings = everywhere(" ".join(texts)[:2000])
    parser = Tags()
    parser.feed(render.to_html(report_of(study, About(MADE, settings, command=texts[0]))))
    return parser


def test_a_users_text_becomes_no_markup():
    texts = NASTY[:6]
    nasty, plain = tags_of(texts), tags_of(["n" * len(text) for text in texts])
    kinds = {tag for tag, _ in plain.seen}
    assert {tag for tag, _ in nasty.seen} == kinds
    assert "script" not in kinds
    assert set(nasty.seen) == set(plain.seen)
    assert all(address.startswith("#") for address in nasty.addresses)


def test_a_users_text_is_printed_as_it_is(made):
    text = "".join(page.extract_text() for page in pypdf.PdfReader(made[0] / "pdf-ua-1.pdf").pages)
    tight = re.sub(r"\s", "", text)
    for part in ("<script>alert(1)</script>", "{{7*7}}", "]]></style></title></svg><!--"):
        assert part in tight


def test_the_answer_keeps_to_one_page_whatever_the_texts(file):
    first, second = (" ".join(page.extract_text().split()) for page in pypdf.PdfReader(file).pages[:2])
    assert "Upper bound." in first
    assert "Introduction" in second


def test_names_in_other_scripts_are_printed(made):
    text = "".join(page.extract_text() for page in pypdf.PdfReader(made[0] / "pdf-a-3b.pdf").pages)
    assert "容量計画" in text


# The file


def test_a_file_is_sound(file):
    with pikepdf.open(file) as pdf:
        assert pdf.check_pdf_syntax() == []
    assert is_our_pdf(file.read_bytes())
    assert file.read_bytes().rstrip().endswith(b"%%EOF")


def test_each_file_says_its_standard(made, tmp_path):
    render_report(study_of([]), tmp_path / "a.pdf", made=MADE, settings=Settings(pdf_variant="pdf/a-3a"))
    said = []
    for path in (*(made[0] / f"{name}.pdf" for name in VARIANTS), tmp_path / "a.pdf"):
        with pikepdf.open(path) as pdf, pdf.open_metadata() as meta:
            said.append((meta.get("pdfuaid:part"), meta.get("pdfaid:part"), meta.get("pdfaid:conformance")))
            assert ("/OutputIntents" in pdf.Root) is (said[-1][1] == "3")
    assert said == [("1", None, None), (None, "3", "B"), (None, "3", "A")]


def test_the_attached_workbook_is_equal_byte_for_byte(file):
    with pikepdf.open(file) as pdf:
        assert list(pdf.attachments) == ["results.xlsx"]
        assert pdf.attachments["results.xlsx"].get_file().read_bytes() == ATTACHED
        (held,) = pdf.Root.AF
        assert held.AFRelationship == "/Data"


def elements_of(pdf):
    def walk(element):
        yield element
        kids = element.get("/K", [])
        for kid in kids if isinstance(kids, pikepdf.Array) else [kids]:
            if isinstance(kid, pikepdf.Dictionary) and "/S" in kid:
                yield from walk(kid)

    for root in pdf.Root.StructTreeRoot.K:
        yield from walk(root)


def test_a_file_is_tagged_named_and_in_english(file):
    with pikepdf.open(file) as pdf:
        assert bool(pdf.Root.MarkInfo.Marked)
        assert bool(pdf.Root.ViewerPreferences.DisplayDocTitle)
        assert str(pdf.Root.Lang) == "en"
        assert str(pdf.docinfo["/Title"])
        elements = list(elements_of(pdf))
        kinds = {str(element.S) for element in elements}
        assert {"/H1", "/H2", "/P", "/Table", "/TH", "/TD", "/Figure", "/Link", "/L"} <= kinds
        figures = [element for element in elements if element.S == "/Figure"]
        assert all(str(element.get("/Alt", "")) for element in figures)
        assert all(str(element.A.Scope) in {"/Column", "/Row"} for element in elements if element.S == "/TH")
        with pdf.open_outline() as outline:
            assert [item.title for item in outline.root][-1].endswith("Provenance")


def test_each_text_is_in_the_structure_or_an_artifact(file):
    """Each mark of a page belongs to an element that the document holds; what runs on each page belongs to none."""
    with pikepdf.open(file) as pdf:
        held = {element.objgen for element in elements_of(pdf)}
        numbers = pdf.Root.StructTreeRoot.ParentTree.Nums
        parents = {int(numbers[i]): numbers[i + 1] for i in range(0, len(numbers), 2)}
        for page in pdf.pages:
            marks, running, depth = [], 0, 0
            owners = parents[int(page.StructParents)]
            for operands, operator in pikepdf.parse_content_stream(page):
                if str(operator) in {"BDC", "BMC"}:
                    depth += 1
                    if str(operands[0]) == "/Artifact":
                        running += len(operands) > 1 and operands[1].get("/Type") == "/Pagination"
                    else:
                        marks.append(int(operands[1].MCID))
                elif str(operator) == "EMC":
                    depth -= 1
                elif str(operator) in {"Tj", "TJ"}:
                    assert depth > 0
            assert depth == 0
            assert running >= 2
            assert marks
            assert all(owners[mark].objgen in held for mark in marks)


def test_links_are_links_to_a_reader(file):
    with pikepdf.open(file) as pdf:
        held = {
            kid.Obj.objgen
            for element in elements_of(pdf)
            if element.S == "/Link"
            for kid in element.K
            if isinstance(kid, pikepdf.Dictionary) and kid.get("/Type") == "/OBJR"
        }
        links = [note.objgen for page in pdf.pages for note in page.get("/Annots", []) if note.Subtype == "/Link"]
        assert links
        assert set(links) == held


def test_every_font_is_within(file):
    with pikepdf.open(file) as pdf:
        found = [item for item in pdf.objects if isinstance(item, pikepdf.Dictionary) and "/FontName" in item]
        assert found
        assert all({"/FontFile", "/FontFile2", "/FontFile3"} & set(font.keys()) for font in found)


def test_nothing_acts_or_calls(file):
    with pikepdf.open(file) as pdf:
        for item in pdf.objects:
            if isinstance(item, pikepdf.Dictionary | pikepdf.Stream):
                assert not {"/JS", "/JavaScript", "/Launch", "/URI", "/OpenAction", "/AA"} & set(item.keys())


def test_pdfua_finds_nothing(made):
    pytest.importorskip("pdfua", reason="pdfua is not installed; pip install pdfua runs this")
    path = made[0] / "pdf-ua-1.pdf"
    done = subprocess.run([sys.executable, "-m", "pdfua", "check", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_outloud_finds_nothing(made):
    pytest.importorskip("outloud", reason="outloud is not installed, since it needs PyMuPDF; pip install outloud")
    path = made[0] / "pdf-ua-1.pdf"
    words = [
        Path(sys.executable).with_name("outloud"),
        "--layer",
        "conformance",
        "--skip",
        "TAG-002",
        path,
    ]  # it takes running heads for prose
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


# The same again


def test_the_printed_command_makes_the_same_bytes(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_starter(tmp_path / "my plan.xlsx", SAMPLE[:1])
    (tmp_path / "logo.png").write_bytes((folder / "logo.png").read_bytes())
    words = ["--title", "It's a plan", "--locale", "fr-FR", "--logo", "logo.png", "--decision", "Go | me | 2026-12-12"]
    words += ["--batches", "1,8", "--precisions", "fp16", "--paper", "letter", "--status", "final", "-o", "out.xlsx"]
    done = CliRunner().invoke(main, ["run", "my plan.xlsx", *words])
    assert done.exit_code == 0, done.output
    first = (tmp_path / "my plan.report.pdf").read_bytes()
    text = " ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(first)).pages)
    # The running head of the page follows what its last table says.
    command = re.search(r"Recompute (planner run .*?) Capacity report", " ".join(text.split()))[1]
    again = shlex.split(command)
    assert again[:3] == ["planner", "run", "my plan.xlsx"]
    done = CliRunner().invoke(main, again[1:])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "my plan.report.pdf").read_bytes() == first
    source = hashlib.sha256((tmp_path / "my plan.xlsx").read_bytes()).hexdigest()
    assert source in re.sub(r"\s", "", text)
    with pikepdf.open(io.BytesIO(first)) as pdf:
        assert pdf.attachments["out.xlsx"].get_file().read_bytes() == (tmp_path / "out.xlsx").read_bytes()
    assert openpyxl.load_workbook(tmp_path / "out.xlsx").sheetnames


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-29", dt.datetime(2026, 11, 29, tzinfo=dt.UTC)),
        ("2026-11-29T09:30:05Z", dt.datetime(2026, 11, 29, 9, 30, 5, tzinfo=dt.UTC)),
        ("2026-11-29T09:30:05.7+02:00", dt.datetime(2026, 11, 29, 7, 30, 5, tzinfo=dt.UTC)),
    ],
)
def test_a_moment_is_read(text, moment):
    assert read_as_of(text) == moment
