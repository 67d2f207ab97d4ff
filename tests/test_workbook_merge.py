"""Result sheets go into the user's own workbook, and nothing else in it changes."""

from __future__ import annotations

import re
import shutil
import zipfile

import ironcalc
import openpyxl
import pytest
import richbook
import xlsxwriter

from planner import PlannerError
from planner.files import beside_name
from planner.issues import quoted_sheet
from planner.job import ExitCode, Job, default_output, run
from planner.workbook.layout import MARK
from planner.workbook.merge import COPY_MARK
from planner.workbook.package import open_package
from planner.workbook.results_sheet import COLUMN_OF, Functions
from planner.workbook.sheets import SHEET_NAMES
from planner.workbook.xml_part import XmlPart

# openpyxl, by which the tests look into the results, says so of what it does not know.
pytestmark = pytest.mark.filterwarnings("ignore:.*not supported and will be removed:UserWarning")

EXTENDED = {"[Content_Types].xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/styles.xml"}
OWN = ["Scenarios", "Data & more", "A chart alone", "Lists"]
# Where the result sheets stand, from 0; chart sheets have parts of another kind, so theirs begin at the same number.
OURS = range(len(OWN), len(OWN) + len(SHEET_NAMES))


@pytest.fixture
def book(tmp_path):
    return richbook.rich_workbook(tmp_path / "book.xlsx")


def in_place(path, **more):
    return run(Job(source=path, output=path, pdf=None, **more))


def foreign(before, after):
    """The parts of a workbook that another one lacks or holds otherwise."""
    return {name for name, data in before.items() if after.get(name) != data} - EXTENDED


def rate(path, sheet="Results"):
    return openpyxl.load_workbook(path, data_only=True)[sheet].cell(2, COLUMN_OF["tokens_per_sec"] + 1).value


def test_every_foreign_part_is_identical_after_one_and_after_three_runs(book, validate_or_none):
    before = richbook.parts_of(book)
    in_place(book)
    first = book.read_bytes()
    assert foreign(before, richbook.parts_of(book)) == set()
    assert validate_or_none(book) == []
    in_place(book)
    in_place(book)
    assert book.read_bytes() == first
    assert foreign(before, richbook.parts_of(book)) == set()
    workbook = openpyxl.load_workbook(book)
    assert workbook.sheetnames == [*OWN, *SHEET_NAMES]
    assert rate(book) == pytest.approx(20.339286, abs=5e-7)


# What a library that writes test files cannot make, as it lies in a package: linked from the user's own sheet.
FURTHER = {
    "xl/threadedComments/threadedComment1.xml": (
        "http://schemas.microsoft.com/office/2017/10/relationships/threadedComment",
        "application/vnd.ms-excel.threadedcomments+xml",
        b'<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"/>',
    ),
    "xl/slicers/slicer1.xml": (
        "http://schemas.microsoft.com/office/2007/relationships/slicer",
        "application/vnd.ms-excel.slicer+xml",
        b'<slicers xmlns="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"/>',
    ),
    "xl/pivotTables/pivotTable1.xml": (
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/pivotTable",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.pivotTable+xml",
        b'<pivotTableDefinition xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
    ),
    "xl/ctrlProps/ctrlProp1.xml": (
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/ctrlProp",
        "application/vnd.ms-excel.controlproperties+xml",
        b'<formControlPr xmlns="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main" objectType="Button"/>',
    ),
}
WORKBOOK_FURTHER = {
    "xl/persons/person.xml": (
        "http://schemas.microsoft.com/office/2017/10/relationships/person",
        "application/vnd.ms-excel.person+xml",
        b'<personList xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"/>',
    ),
    "xl/externalLinks/externalLink1.xml": (
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/externalLink",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.externalLink+xml",
        b'<externalLink xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
    ),
    "xl/pivotCache/pivotCacheDefinition1.xml": (
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/pivotCacheDefinition",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.pivotCacheDefinition+xml",
        b'<pivotCacheDefinition xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
    ),
    "xl/slicerCaches/slicerCache1.xml": (
        "http://schemas.microsoft.com/office/2007/relationships/slicerCache",
        "application/vnd.ms-excel.slicerCache+xml",
        b'<slicerCacheDefinition xmlns="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"/>',
    ),
    "customXml/item1.xml": (
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/customXml",
        "application/xml",
        b"<plan><year>2026</year></plan>",
    ),
}


def linked(links, parts):
    """Relationships with these parts among them."""
    new = b"".join(
        b'<Relationship Id="rIdFurther%d" Type="%b" Target="/%b"/>' % (number, kind.encode(), part.encode())
        for number, (part, (kind, _, _)) in enumerate(parts.items())
    )
    return links.replace(b"</Relationships>", new + b"</Relationships>")


def test_parts_that_only_excel_makes_stay_with_their_links(book):
    parts = richbook.parts_of(book)
    where, of_book, types = "xl/worksheets/_rels/sheet2.xml.rels", "xl/_rels/workbook.xml.rels", "[Content_Types].xml"
    listed = b"".join(
        b'<Override PartName="/%b" ContentType="%b"/>' % (part.encode(), kind.encode())
        for part, (_, kind, _) in (FURTHER | WORKBOOK_FURTHER).items()
    )
    changes = {part: data for part, (_, _, data) in (FURTHER | WORKBOOK_FURTHER).items()}
    changes[where] = linked(parts[where], FURTHER)
    changes[of_book] = linked(parts[of_book], WORKBOOK_FURTHER)
    changes[types] = parts[types].replace(b"</Types>", listed + b"</Types>")
    richbook.with_parts(book, changes)
    before = richbook.parts_of(book)
    for _ in range(3):
        in_place(book)
        after = richbook.parts_of(book)
        assert foreign(before, after) == set()
        for part in WORKBOOK_FURTHER:
            assert b'Target="/%b"' % part.encode() in after[of_book]
        for part in changes.keys() - {where, of_book, types}:
            assert b'PartName="/%b"' % part.encode() in after[types]
    # openpyxl stops at a pivot table without a name, so the cell is looked for in the part itself.
    assert b"<v>20.339285" in after["xl/worksheets/sheet4.xml"]


@pytest.mark.libreoffice
def test_libreoffice_shows_the_users_sheets_and_ours(book, as_csv):
    in_place(book)
    shown = as_csv(book)
    assert {"Scenarios", "Data & more", *SHEET_NAMES} <= set(shown)
    assert "20.339" in shown["Results"]
    assert not [name for name in SHEET_NAMES if re.search(r"#NAME\?|#REF!|Err:", shown[name])]


def test_settings_of_the_workbook_stay(book):
    before = XmlPart("", richbook.parts_of(book)["xl/workbook.xml"]).root
    in_place(book)
    after = XmlPart("", richbook.parts_of(book)["xl/workbook.xml"]).root
    for tag in ("bookViews", "calcPr", "workbookPr", "fileVersion"):
        assert before.child(tag).key() == after.child(tag).key()
    kept = {node.key() for node in before.child("definedNames").children}
    assert kept <= {node.key() for node in after.child("definedNames").children}
    # One sheet is selected: a second would take part in every edit.
    selected = [part for part, data in richbook.parts_of(book).items() if b"tabSelected" in data]
    assert selected == ["xl/worksheets/sheet2.xml"]


def test_our_cells_look_as_in_a_workbook_of_their_own(book, tmp_path):
    in_place(book)
    fresh = tmp_path / "fresh.xlsx"
    from planner import plan_workbook, write_results

    write_results(plan_workbook(book), fresh)
    merged, alone = openpyxl.load_workbook(book), openpyxl.load_workbook(fresh)
    for name in SHEET_NAMES:
        for row in alone[name].iter_rows():
            for cell in row:
                there = merged[name][cell.coordinate]
                looks = [(c.font.b, c.font.color and c.font.color.rgb, c.fill.fgColor.rgb, c.number_format,
                          c.border.bottom.style, c.alignment.horizontal, c.alignment.wrap_text) for c in (cell, there)]  # fmt: skip
                assert looks[0] == looks[1], cell.coordinate
        ours, theirs = alone[name].conditional_formatting, merged[name].conditional_formatting
        colours = [[(str(area.sqref), [(r.formula, r.dxf.fill and r.dxf.fill.bgColor.rgb) for r in area.rules]) for area in found] for found in (ours, theirs)]  # fmt: skip
        assert colours[0] == colours[1]


def test_a_second_run_replaces_in_place_and_adds_nothing_twice(book):
    in_place(book)
    once = richbook.parts_of(book)
    workbook = richbook.replaced(book, "xl/worksheets/sheet1.xml", (b"<v>3350</v>", b"<v>1675</v>"))
    in_place(workbook)
    twice = richbook.parts_of(book)
    assert twice.keys() == once.keys()
    assert twice["xl/styles.xml"] == once["xl/styles.xml"]
    assert twice["xl/workbook.xml"] == once["xl/workbook.xml"]
    assert rate(book) == pytest.approx(20.339286 / 2, abs=5e-7)


def test_a_result_sheet_keeps_the_place_and_name_that_the_user_gave_it(book):
    in_place(book)
    data = richbook.parts_of(book)["xl/workbook.xml"]
    # Renamed, and moved before the user's own sheets, as Excel would store it: scoped names follow their sheet.
    sheets = re.search(rb"<sheets>(.*)</sheets>", data)[1]
    listed = re.findall(rb"<sheet [^>]*/>", sheets)
    order = [4, 0, 1, 2, 3, *range(5, len(listed))]
    moved = b"".join(listed[n] for n in order).replace(b'name="Results"', b'name="My results"')
    data = data.replace(sheets, moved)
    data = re.sub(rb'localSheetId="(\d+)"', lambda m: b'localSheetId="%d"' % order.index(int(m[1])), data)
    richbook.with_parts(book, {"xl/workbook.xml": data})
    in_place(book)
    workbook = openpyxl.load_workbook(book)
    assert workbook.sheetnames == ["My results", *OWN, *SHEET_NAMES[1:]]
    assert rate(book, "My results") == pytest.approx(20.339286, abs=5e-7)
    assert "'My results'!" in str(workbook["Batch"]["B3"].value)
    assert MARK in workbook["My results"].defined_names


def test_a_result_sheet_that_was_deleted_comes_back(book):
    in_place(book)
    workbook = openpyxl.load_workbook(book)
    del workbook["Batch"]
    workbook.save(book)
    in_place(book)
    assert openpyxl.load_workbook(book).sheetnames[-len(SHEET_NAMES) :] == [n for n in SHEET_NAMES if n != "Batch"] + [
        "Batch"
    ]


def test_links_and_formulas_on_result_cells_live_on(book):
    in_place(book)
    in_place(book)
    assert openpyxl.load_workbook(book)["Data & more"]["M2"].value == "=Results!R2*2"


def test_a_users_sheet_of_our_name_is_never_written_over(tmp_path):
    path = tmp_path / "own.xlsx"
    workbook = xlsxwriter.Workbook(path)
    sheet = workbook.add_worksheet("Scenarios")
    for number, row in enumerate([richbook.HEADERS, *richbook.ROWS]):
        sheet.write_row(number, 0, row)
    workbook.add_worksheet("RESULTS").write("A1", "mine")
    workbook.close()
    outcome = in_place(path)
    merged = openpyxl.load_workbook(path)
    assert merged["RESULTS"]["A1"].value == "mine"
    assert "Results (planner)" in merged.sheetnames
    said = [issue.problem for issue in outcome.study.issues if issue.code == "sheet-name"]
    assert said == [
        "The workbook has a sheet named 'Results' of its own, so the result sheet is named 'Results (planner)'"
    ]
    assert any("Results (planner)" in str(row[3]) for row in merged["Checks"].iter_rows(values_only=True))
    in_place(path)
    assert openpyxl.load_workbook(path).sheetnames == merged.sheetnames


def test_macros_stay_and_the_ending_follows(tmp_path):
    path = richbook.rich_workbook(tmp_path / "macro.xlsx")
    macros = {
        "xl/vbaProject.bin": b"\xd0\xcf\x11\xe0 macros",
        "xl/vbaProjectSignature.bin": b"signed",
        "xl/_rels/vbaProject.bin.rels": b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.microsoft.com/office/2006/relationships/vbaProjectSignature" Target="vbaProjectSignature.bin"/></Relationships>',
        "xl/ctrlProps/ctrlProp7.xml": b"<formControlPr/>",
    }
    book = richbook.with_parts(tmp_path / "macro.xlsm", macros, path)
    before = richbook.parts_of(book)
    outcome = run(Job(source=book, output=default_output(book), pdf=None))
    assert outcome.written[0].name == "macro.results.xlsm"
    assert foreign(before, richbook.parts_of(outcome.written[0])) == set()
    with pytest.raises(PlannerError, match=r"has another ending than macro.xlsm"):
        run(Job(source=book, output=tmp_path / "out.xlsx", pdf=None))


def test_old_calculation_order_goes_when_sheets_are_replaced_and_stays_when_they_are_added(book):
    chain = (
        b'<calcChain xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><c r="M2" i="2"/></calcChain>'
    )
    parts = richbook.parts_of(book)
    link = b'<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/calcChain" Target="calcChain.xml"/></Relationships>'
    kind = b'<Override PartName="/xl/calcChain.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.calcChain+xml"/></Types>'
    richbook.with_parts(
        book,
        {
            "xl/calcChain.xml": chain,
            "xl/_rels/workbook.xml.rels": parts["xl/_rels/workbook.xml.rels"].replace(b"</Relationships>", link),
            "[Content_Types].xml": parts["[Content_Types].xml"].replace(b"</Types>", kind),
        },
    )
    in_place(book)
    assert richbook.parts_of(book)["xl/calcChain.xml"] == chain
    in_place(book)
    after = richbook.parts_of(book)
    assert "xl/calcChain.xml" not in after
    assert b"calcChain" not in after["xl/_rels/workbook.xml.rels"] + after["[Content_Types].xml"]


@pytest.mark.parametrize("prefix", ["x", "main"])
def test_packages_with_prefixed_elements(book, prefix, validate_or_none):
    """Some programs write <x:workbook>; what we add bears the prefix, and style tables do not grow run by run."""

    def prefixed(data):
        namespace = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        data = data.replace(b'xmlns="' + namespace, b'xmlns:%b="%b' % (prefix.encode(), namespace))
        return re.sub(rb"<(/?)(?![?!])(?![\w]+:)(\w)", rb"<\1%b:\2" % prefix.encode(), data)

    parts = richbook.parts_of(book)
    richbook.with_parts(book, {name: prefixed(parts[name]) for name in ("xl/workbook.xml", "xl/styles.xml")})
    in_place(book)
    assert validate_or_none(book) == []
    first = richbook.parts_of(book)["xl/styles.xml"]
    in_place(book)
    assert richbook.parts_of(book)["xl/styles.xml"] == first
    assert openpyxl.load_workbook(book).sheetnames[-len(SHEET_NAMES) :] == list(SHEET_NAMES)
    assert rate(book) == pytest.approx(20.339286, abs=5e-7)


def test_names_stand_where_the_schema_has_them(tmp_path):
    path = tmp_path / "bare.xlsx"
    workbook = openpyxl.Workbook()
    workbook.active.title = "Scenarios"
    for row in [richbook.HEADERS, *richbook.ROWS]:
        workbook.active.append(row)
    workbook.save(path)
    data = richbook.parts_of(path)["xl/workbook.xml"]
    data = re.sub(rb"<definedNames\s*/>|<definedNames>.*</definedNames>|<bookViews>.*</bookViews>", b"", data)
    extra = b'<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"></mc:AlternateContent>'
    richbook.with_parts(path, {"xl/workbook.xml": data.replace(b"</sheets>", b"</sheets>" + extra)})
    in_place(path)
    tags = [node.tag for node in XmlPart("", richbook.parts_of(path)["xl/workbook.xml"]).root.children]
    assert tags.index("definedNames") > tags.index("AlternateContent") > tags.index("sheets") > tags.index("bookViews")
    assert rate(path) == pytest.approx(20.339286, abs=5e-7)


@pytest.mark.parametrize("linked", [False, True])
def test_a_workbook_without_styles_gets_ours(tmp_path, linked):
    path = tmp_path / "bare.xlsx"
    workbook = xlsxwriter.Workbook(path)
    sheet = workbook.add_worksheet("Scenarios")
    for number, row in enumerate([richbook.HEADERS, *richbook.ROWS]):
        sheet.write_row(number, 0, row)
    workbook.close()
    parts = richbook.parts_of(path)
    links = parts["xl/_rels/workbook.xml.rels"]
    if not linked:
        links = re.sub(rb"<Relationship [^>]*styles\.xml\"/>", b"", links)
    types = re.sub(rb"<Override PartName=\"/xl/styles\.xml\"[^>]*/>", b"", parts["[Content_Types].xml"])
    richbook.with_parts(
        path, {"xl/styles.xml": None, "xl/_rels/workbook.xml.rels": links, "[Content_Types].xml": types}
    )
    in_place(path)
    assert richbook.parts_of(path)["xl/_rels/workbook.xml.rels"].count(b"/styles") == 1
    assert openpyxl.load_workbook(path)["Results"].cell(2, COLUMN_OF["tokens_per_sec"] + 1).number_format == "#,##0.00"
    first = path.read_bytes()
    in_place(path)
    assert path.read_bytes() == first


def test_a_copy_that_excel_made_of_a_result_sheet_stays(book):
    """Move or Copy in Excel copies the hidden mark too; the first sheet is replaced, the copy is the user's."""
    in_place(book)
    workbook = openpyxl.load_workbook(book)
    copy = workbook.copy_worksheet(workbook["Results"])
    copy["B2"] = "kept"
    from openpyxl.workbook.defined_name import DefinedName

    copy.defined_names[MARK] = DefinedName(MARK, attr_text='"results"', hidden=True)
    workbook.save(book)
    in_place(book)
    workbook = openpyxl.load_workbook(book)
    assert workbook.sheetnames.count("Results Copy") == 1
    assert workbook["Results Copy"]["B2"].value == "kept"


@pytest.mark.parametrize(
    ("original", "copied"),
    [("Results", "Results (2)"), ("Results", "Archive"), ("Mine", "Mine (2)"), ("Mine", "Archive")],
)
def test_a_copy_that_excel_put_before_the_result_sheet_stays_too(book, original, copied):
    """Move or Copy puts the copy first unless told otherwise; its sheet has the highest id."""
    in_place(book)
    parts = richbook.parts_of(book)
    data = parts["xl/workbook.xml"].replace(b'name="Results"', b'name="%b"' % original.encode())
    data = data.replace(b"Results!", original.encode() + b"!")
    data = re.sub(rb'localSheetId="(\d+)"', lambda m: b'localSheetId="%d"' % (int(m[1]) + 1), data)
    sheet = f'<sheets><sheet name="{copied}" sheetId="90" r:id="copy"/>'
    mark = (
        f'<definedNames><definedName name="{MARK}" localSheetId="0">CHOOSE(1,"results",\'{copied}\'!$A$1)</definedName>'
    )
    data = data.replace(b"<sheets>", sheet.encode()).replace(b"<definedNames>", mark.encode())
    links = parts["xl/_rels/workbook.xml.rels"]
    link = re.search(rb'<Relationship [^>]*worksheets/sheet4\.xml"/>', links)[0]
    link = re.sub(rb' Id="\w+"', b' Id="copy"', link).replace(b"sheet4", b"sheet90")
    kind = re.search(rb"<Override [^>]*worksheets/sheet4\.xml[^>]*/>", parts["[Content_Types].xml"])[0]
    mine = parts["xl/worksheets/sheet4.xml"].replace(b'<legacyDrawing r:id="rId1"/>', b"")
    richbook.with_parts(
        book,
        {
            "xl/workbook.xml": data,
            "xl/worksheets/sheet90.xml": mine,
            "xl/_rels/workbook.xml.rels": links.replace(b"</Relationships>", link + b"</Relationships>"),
            "[Content_Types].xml": parts["[Content_Types].xml"].replace(
                b"</Types>", kind.replace(b"sheet4", b"sheet90") + b"</Types>"
            ),
        },
    )
    in_place(book)
    after = richbook.parts_of(book)
    assert after["xl/worksheets/sheet90.xml"] == mine
    assert [sheet.name for sheet in open_package(book).sheets] == [copied, *OWN, original, *SHEET_NAMES[1:]]


def names_of(path, name):
    """A name's text on each sheet that has one of this spelling, by the sheet's place."""
    return {found.sheet: found.text for found in open_package(path).names if found.name == name}


def test_marks_that_a_library_put_on_other_sheets_lead_to_our_sheets_all_the_same(book):
    """openpyxl leaves out chart sheets as it counts, and so marks the sheets before ours."""
    in_place(book)
    openpyxl.load_workbook(book).save(book)
    assert min(names_of(book, MARK)) == OWN.index("Lists")
    before = richbook.parts_of(book)
    in_place(book)
    assert foreign(before, richbook.parts_of(book)) <= {f"xl/worksheets/sheet{n}.xml" for n in OURS} | {
        part for part in before if re.search(r"drawing|chart|comment|sheet([4-9]|1\d)", part)
    }
    workbook = openpyxl.load_workbook(book)
    assert workbook.sheetnames == [*OWN, *SHEET_NAMES]
    assert [cell.value for cell in workbook["Lists"]["A"]] == ["FP16", "INT8", "INT4"]
    # What was astray is put right, so that the file opens in openpyxl however often it is saved there.
    assert sorted(names_of(book, MARK)) == [*OURS]
    assert {place: text.split("!")[0] for place, text in names_of(book, "_xlnm.Print_Titles").items()} == {
        len(OWN) + place: quoted_sheet(name) for place, name in enumerate(SHEET_NAMES[:-1])
    }


def test_marks_of_a_library_that_took_a_sheet_away_and_let_names_stand(book):
    in_place(book)
    workbook = richbook.parts_of(book)["xl/workbook.xml"]
    gone = re.search(rb'<sheet name="A chart alone"[^>]*/>', workbook)[0]
    richbook.with_parts(book, {"xl/workbook.xml": workbook.replace(gone, b"")})
    in_place(book)
    assert open_package(book).workbook.root.child("sheets").children[2].get("name") == "Lists"
    assert [sheet.name for sheet in open_package(book).sheets][3:] == list(SHEET_NAMES)
    assert b"FP16" in richbook.parts_of(book)["xl/sharedStrings.xml"]
    assert rate(book) == pytest.approx(20.339286, abs=5e-7)


def rename(path, *pairs):
    """Sheets under other names, as a library renames them that lets the names stand."""
    pairs = [(b'<sheet name="%b"' % old, b'<sheet name="%b"' % new) for old, new in pairs]
    richbook.replaced(path, "xl/workbook.xml", *pairs)


def test_a_sheet_renamed_by_a_library_stays_ours(book):
    in_place(book)
    rename(book, (b"Results", b"Old"))
    in_place(book)
    assert [sheet.name for sheet in open_package(book).sheets] == [*OWN, "Old", *SHEET_NAMES[1:]]
    assert rate(book, "Old") == pytest.approx(20.339286, abs=5e-7)


def test_where_a_mark_is_of_one_sheet_and_leads_to_another_neither_is_written_over(book):
    in_place(book)
    rename(book, (b"Results", b"Old"), (b"Lists", b"Results"))
    before = richbook.parts_of(book)
    for _ in range(2):
        in_place(book)
        names = [sheet.name for sheet in open_package(book).sheets]
        assert names == [*OWN[:3], "Results", "Old", *SHEET_NAMES[1:], "Results (planner)"]
    after = richbook.parts_of(book)
    assert all(after[part] == before[part] for part in ("xl/worksheets/sheet3.xml", "xl/worksheets/sheet4.xml"))
    assert rate(book, "Results (planner)") == pytest.approx(20.339286, abs=5e-7)


def test_live_formulas_in_the_merged_workbook_follow_the_users_cells(book):
    in_place(book)
    plain = book.with_name("plain.xlsx")
    run(Job(source=book, output=plain, pdf=None, functions=Functions.PLAIN))
    for path in (book, plain):
        model = ironcalc.load_from_xlsx(str(path), "en", "UTC", "en")
        model.set_user_input(0, 2, 4, "6700")
        model.evaluate()
        at = openpyxl.load_workbook(path).sheetnames.index("Results") - 1  # IronCalc leaves out the chart sheet
        assert model.get_cell_value(at, 2, COLUMN_OF["tokens_per_sec"] + 1) == pytest.approx(2 * 20.339286, abs=5e-6)


def test_the_copy_is_known_as_a_copy_and_the_users_workbook_is_not(book):
    outcome = run(Job(source=book, output=default_output(book), pdf=None))
    assert COPY_MARK in openpyxl.load_workbook(outcome.written[0]).defined_names
    in_place(book)
    assert COPY_MARK not in openpyxl.load_workbook(book).defined_names
    with pytest.raises(PlannerError, match="no work of planner's"):
        run(Job(source=outcome.written[0], output=book, pdf=None))


REFUSED = [
    ("protected structure", "has a protected structure, which takes no new sheets; unprotect it in Excel"),
    ("signed", "is digitally signed, and a change would break the signature"),
    ("shared", "is a shared workbook with a record of changes"),
    ("strict", "is a Strict Open XML workbook; save it as plain .xlsx"),
    ("damaged part", "is damaged: its part xl/media/image1.png cannot be read"),
    ("cut short", "is damaged: the package is cut short or broken"),
    ("doctype", "has a document type, which no workbook needs"),
    ("twice", "is damaged: it holds a part twice"),
    ("old", "is password-protected, or an old .xls workbook"),
    ("text", "is not an Excel workbook (perhaps a text or .csv file)"),
    ("missing sheet", "is damaged: its sheet 'Scenarios' is missing"),
    ("no xml", "is damaged: it is no XML"),
    ("deep", "is nested 200 deep, which no workbook needs"),
    ("entries", "parts, which no scenario workbook needs"),
]


def spoil(path, how):  # noqa: C901, PLR0912  one case for each way
    parts = richbook.parts_of(path)
    match how:
        case "protected structure":
            richbook.replaced(
                path, "xl/workbook.xml", (b"<bookViews>", b'<workbookProtection lockStructure="1"/><bookViews>')
            )
        case "signed":
            richbook.with_parts(path, {"_xmlsignatures/sig1.xml": b"<Signature/>"})
        case "shared":
            richbook.with_parts(path, {"xl/revisions/revisionHeaders.xml": b"<headers/>"})
        case "strict":
            richbook.replaced(
                path,
                "xl/workbook.xml",
                (
                    b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
                    b"http://purl.oclc.org/ooxml/spreadsheetml/main",
                ),
            )
        case "damaged part":
            data = bytearray(path.read_bytes())
            with zipfile.ZipFile(path) as package:
                entry = package.getinfo("xl/media/image1.png")
            start = entry.header_offset + 30 + len(entry.filename)
            data[start + 2 : start + 20] = b"\xff" * 18
            path.write_bytes(data)
        case "cut short":
            path.write_bytes(path.read_bytes()[:-400])
        case "doctype":
            bomb = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
            head, rest = parts["xl/workbook.xml"].split(b"?>", 1)
            richbook.with_parts(path, {"xl/workbook.xml": head + b"?>" + bomb + rest})
        case "twice":
            with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as package:
                package.writestr("xl/workbook.xml", b"<workbook/>")
        case "old":
            path.write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 600)
        case "text":
            path.write_text("Scenario;Weights\nA;140\n")
        case "missing sheet":
            richbook.with_parts(path, {"xl/worksheets/sheet1.xml": None})
        case "no xml":
            richbook.with_parts(path, {"xl/workbook.xml": b"<workbook"})
        case "deep":
            richbook.with_parts(path, {"xl/workbook.xml": b"<a>" * 5000 + b"</a>" * 5000})
        case "entries":
            richbook.with_parts(path, {f"x/{n}.bin": b"" for n in range(20_001)})


@pytest.mark.parametrize(("how", "said"), REFUSED)
def test_what_cannot_be_merged_is_refused_in_one_line_and_not_touched(book, how, said):
    spoil(book, how)
    before = book.read_bytes()
    for job in (Job(source=book, output=book, pdf=None), Job(source=book, output=default_output(book), pdf=None)):
        with pytest.raises(PlannerError) as refused:
            run(job)
        assert said in str(refused.value)
        assert "\n" not in str(refused.value)
        assert str(book) in str(refused.value)
    assert book.read_bytes() == before
    assert not list(book.parent.glob("*results*")) + list(book.parent.glob(".*"))


def test_a_backup_is_kept_once_for_each_state_unless_told_otherwise(book):
    before = book.read_bytes()
    outcome = in_place(book)
    assert outcome.backup.name == "book.backup.xlsx"
    assert outcome.backup.read_bytes() == before
    # Nothing changes, so nothing is written and nothing kept.
    stamp = book.stat().st_mtime_ns
    assert in_place(book).backup is None
    assert book.stat().st_mtime_ns == stamp
    richbook.replaced(book, "xl/worksheets/sheet1.xml", (b"<v>3350</v>", b"<v>1675</v>"))
    assert in_place(book, backup=False).backup is None
    assert [path.name for path in book.parent.glob("*.backup*")] == ["book.backup.xlsx"]


@pytest.mark.parametrize("lock", ["~$book.xlsx", "~$ok.xlsx", ".~lock.book.xlsx#"])
def test_a_workbook_open_elsewhere_gets_its_results_beside_it(book, lock, monkeypatch):
    monkeypatch.setattr("planner.files._PATIENCE_S", 0.1)
    book.with_name(lock).write_bytes(b"me")
    before = book.read_bytes()
    outcome = in_place(book)
    assert book.read_bytes() == before
    assert outcome.written == (beside_name_of(book),)
    assert rate(outcome.written[0]) == pytest.approx(20.339286, abs=5e-7)
    assert outcome.exit_code() is ExitCode.LEFT_OUT
    assert lock in outcome.elsewhere
    assert outcome.backup is None
    assert in_place(book).written[0].name == "book (planner results 2).xlsx"


def beside_name_of(path):
    return path.with_name(f"{path.stem} (planner results){path.suffix}")


def test_a_lock_that_goes_away_is_waited_for(book):
    import threading

    lock = book.with_name("~$book.xlsx")
    lock.write_bytes(b"me")
    threading.Timer(0.6, lock.unlink).start()
    assert in_place(book).written == (book,)


def test_a_file_that_windows_holds_open_is_written_beside(tmp_path, monkeypatch):
    """Windows refuses to replace an open file with PermissionError; there is no Windows here to see it on."""
    from pathlib import Path

    from planner.files import replacing

    monkeypatch.setattr("planner.files._PATIENCE_S", 0.1)
    target = tmp_path / "a.xlsx"
    target.write_bytes(b"old")
    move = Path.replace

    def refusing(self, other):
        if Path(other).name == "a.xlsx":
            raise PermissionError(13, "in use")
        return move(self, other)

    monkeypatch.setattr(Path, "replace", refusing)
    with replacing(target, beside=True) as new:
        new.temporary.write_bytes(b"new")
    assert (target.read_bytes(), new.path.read_bytes()) == (b"old", b"new")
    assert new.path == beside_name(target).with_name("a (planner results).xlsx")
    with pytest.raises(PlannerError, match="open in another program"), replacing(target) as new:
        new.temporary.write_bytes(b"new")


def test_a_change_during_the_run_is_not_written_over(book):
    def meddle(step):
        if step.startswith("Merging"):
            shutil.copy(richbook.rich_workbook(book.with_name("other.xlsx"), richbook.ROWS[:1]), book)

    with pytest.raises(PlannerError, match="was changed by another program during the run"):
        run(Job(source=book, output=book, pdf=None), meddle)


def test_sheet_ids_links_and_part_names_are_the_first_free_ones(book):
    in_place(book)
    package = open_package(book)
    root = package.workbook.root
    ids = [node.get("sheetId") for node in root.child("sheets").children]
    assert len(set(ids)) == len(ids) == len(OWN) + len(SHEET_NAMES)
    assert len({sheet.part for sheet in package.sheets}) == len(OWN) + len(SHEET_NAMES)
    links = [link.id for link in package.links(package.workbook_part)]
    assert len(set(links)) == len(links)
    for sheet in package.sheets:
        for link in package.links(sheet.part):
            assert link.external or link.target in package


def test_a_package_that_lists_the_type_of_each_relationship_part(book, validate_or_none):
    """Without a default for .rels, which some programs do without, ours need an entry each."""
    types = richbook.parts_of(book)["[Content_Types].xml"]
    default = re.search(rb'<Default Extension="rels"[^>]*/>', types)[0]
    kind = b"application/vnd.openxmlformats-package.relationships+xml"
    links = [part for part in richbook.parts_of(book) if part.endswith(".rels")]
    each = b"".join(b'<Override PartName="/%b" ContentType="%b"/>' % (part.encode(), kind) for part in links)
    data = types.replace(default, b"").replace(b"</Types>", each + b"</Types>")
    richbook.with_parts(book, {"[Content_Types].xml": data})
    assert validate_or_none(book) == []
    in_place(book)
    assert validate_or_none(book) == []
    in_place(book)
    after = richbook.parts_of(book)
    listed = re.findall(rb'PartName="/([^"]+)"', after["[Content_Types].xml"])
    assert sorted(set(listed)) == sorted(listed)
    assert {part.encode() for part in after if part.endswith(".rels")} <= set(listed)


def test_relationships_that_a_missing_part_left_behind_stay(book):
    before = richbook.parts_of(book)
    drawing = re.sub(rb"<drawing [^>]*/>", b"", before["xl/worksheets/sheet2.xml"])
    links = re.sub(rb"<Relationship [^>]*drawing1\.xml\"/>", b"", before["xl/worksheets/_rels/sheet2.xml.rels"])
    richbook.with_parts(
        book,
        {
            "xl/drawings/drawing1.xml": None,
            "xl/worksheets/sheet2.xml": drawing,
            "xl/worksheets/_rels/sheet2.xml.rels": links,
        },
    )
    before = richbook.parts_of(book)
    in_place(book)
    assert foreign(before, richbook.parts_of(book)) == set()


def test_a_link_of_the_users_to_a_missing_part_is_not_filled_with_a_part_of_ours(book):
    """Or the user's sheet would show our charts; a later run would then take them for the user's and add its own."""
    parts = richbook.parts_of(book)
    links = parts["xl/worksheets/_rels/sheet2.xml.rels"]
    dangling = b"".join(
        b'<Relationship Id="gone%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/drawing" '
        b'Target="../drawings/drawing%d.xml"/>' % (n, n)
        for n in (3, 4)
    )
    kind = b'<Override PartName="/xl/charts/chart3.xml" ContentType="text/plain"/></Types>'
    types = parts["[Content_Types].xml"].replace(b"</Types>", kind)
    changes = {
        "xl/worksheets/_rels/sheet2.xml.rels": links.replace(b"</Relationships>", dangling + b"</Relationships>")
    }
    richbook.with_parts(book, {**changes, "[Content_Types].xml": types})
    in_place(book)
    first = richbook.parts_of(book)
    assert {"xl/drawings/drawing5.xml", "xl/charts/chart3.xml"} <= first.keys()
    assert {"xl/drawings/drawing3.xml", "xl/drawings/drawing4.xml"}.isdisjoint(first)
    assert b"text/plain" not in first["[Content_Types].xml"]
    in_place(book)
    assert richbook.parts_of(book) == first


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("xl/styles.xml", b'<xf numFmtId="0"', b'<xf numFmtId="x"'),
        ("xl/styles.xml", b'count="', b'count="x'),
        ("xl/workbook.xml", b'sheetId="1"', b'sheetId="one"'),
        ("xl/workbook.xml", b'localSheetId="', b'localSheetId="99'),
        ("xl/worksheets/sheet1.xml", b'<c r="A2"', b'<c r="A2" s="999"'),
    ],
)
def test_ids_that_are_no_ids_do_no_harm(book, part, old, new):
    richbook.replaced(book, part, (old, new))
    in_place(book)
    assert b"20.339285" in richbook.parts_of(book)["xl/worksheets/sheet4.xml"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_a_workbook_in_utf_16_is_read_and_extended(book, encoding):
    """As Excel for phones wrote it, with a mark of the order of bytes, and as libraries do without one."""
    parts = {name: data for name, data in richbook.parts_of(book).items() if data[:5] == b"<?xml"}
    richbook.with_parts(
        book, {name: data.decode().replace('"UTF-8"', '"UTF-16"', 1).encode(encoding) for name, data in parts.items()}
    )
    before = richbook.parts_of(book)
    in_place(book)
    assert foreign(before, richbook.parts_of(book)) == set()
    assert richbook.parts_of(book)["xl/workbook.xml"].startswith(b'<?xml version="1.0" encoding="UTF-8"')
    first = book.read_bytes()
    in_place(book)
    assert book.read_bytes() == first
    assert rate(book) == pytest.approx(20.339286, abs=5e-7)


def test_a_part_in_an_encoding_that_nobody_knows_is_damaged(book):
    richbook.replaced(book, "xl/workbook.xml", (b'encoding="UTF-8"', b'encoding="UTF-x8"'))
    with pytest.raises(PlannerError, match="is no XML .unknown encoding"):
        in_place(book)


def table_sizes(path):
    root = XmlPart("", richbook.parts_of(path)["xl/styles.xml"]).root
    return {node.tag: len(node.children) for node in root.children if node.tag != "colors"}


def test_style_tables_do_not_grow_however_often_a_library_saves_the_workbook(book):
    """openpyxl writes what a look is made of in an order of its own, and formats of its own ids where it can."""
    in_place(book)
    sizes = []
    for _ in range(3):
        openpyxl.load_workbook(book).save(book)
        richbook.replaced(book, "xl/styles.xml", (b'<b val="1"', b'<b val="true"'))
        in_place(book)
        sizes.append(table_sizes(book))
    assert sizes[0] == sizes[1] == sizes[2]
    assert rate(book) == pytest.approx(20.339286, abs=5e-7)


def test_number_formats_take_ids_that_nothing_else_bears(book):
    """A conditional look may bring a format of an id that the table of formats does not list."""
    look = b'<dxf><numFmt numFmtId="165" formatCode="yyyy"/></dxf>'
    formats = b'<numFmts count="1"><numFmt numFmtId="4294967295" formatCode="0.0000"/></numFmts>'
    data = richbook.parts_of(book)["xl/styles.xml"].replace(b"</dxfs>", look + b"</dxfs>")
    data = data.replace(b"<fonts", formats + b"<fonts", 1)
    richbook.with_parts(book, {"xl/styles.xml": data})
    in_place(book)
    table = XmlPart("", richbook.parts_of(book)["xl/styles.xml"]).root.child("numFmts")
    assert [node.get("numFmtId") for node in table.children] == ["4294967295", "164", "166", "167"]
    assert openpyxl.load_workbook(book)["Results"].cell(2, COLUMN_OF["tokens_per_sec"] + 1).number_format == "#,##0.00"


def test_formats_lean_on_no_named_style_where_there_is_none(book, validate_or_none):
    data = re.sub(
        rb"<cellStyleXfs.*</cellStyleXfs>|<cellStyles.*</cellStyles>", b"", richbook.parts_of(book)["xl/styles.xml"]
    )
    richbook.with_parts(book, {"xl/styles.xml": re.sub(rb' xfId="\d+"', b"", data)})
    in_place(book)
    assert b"xfId" not in richbook.parts_of(book)["xl/styles.xml"]
    assert validate_or_none(book) == []


def test_a_result_sheet_keeps_the_name_by_which_macros_know_it(book):
    in_place(book)
    sheet = "xl/worksheets/sheet4.xml"
    richbook.replaced(book, sheet, (b"<sheetPr>", b"<sheetPr filterMode='1' codeName='Sheet7'>"))
    in_place(book)
    root = XmlPart("", richbook.parts_of(book)[sheet]).root
    assert root.child("sheetPr").attributes == {"codeName": "Sheet7"}


@pytest.mark.parametrize("kind", ["table", "pivotTable", "slicer"])
def test_what_others_refer_to_on_a_result_sheet_is_not_taken_away(book, kind):
    """Formulas and slicers elsewhere would lead to nothing, and Excel would mend the file by dropping them."""
    in_place(book)
    links = "xl/worksheets/_rels/sheet4.xml.rels"
    relationships = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    link = f'<Relationship Id="mine" Type="{relationships}/{kind}" Target="../mine.xml"/></Relationships>'
    richbook.replaced(book, links, (b"</Relationships>", link.encode()))
    richbook.with_parts(book, {"xl/mine.xml": b"<mine/>"})
    before = book.read_bytes()
    with pytest.raises(PlannerError, match=r"has a (pivot )?\w+ on its sheet 'Results', which planner would replace"):
        in_place(book)
    assert book.read_bytes() == before


def test_a_sheet_id_that_is_the_highest_leaves_lower_ones(book, validate_or_none):
    richbook.replaced(book, "xl/workbook.xml", (b'sheetId="4"', b'sheetId="65534"'))
    in_place(book)
    ids = [node.get("sheetId") for node in open_package(book).workbook.root.child("sheets").children]
    assert ids == ["1", "2", "3", "65534", *(str(number) for number in OURS)]
    assert validate_or_none(book) == []


def test_a_list_of_views_that_is_empty_gets_the_one_that_our_sheets_refer_to(book):
    data = richbook.parts_of(book)["xl/workbook.xml"]
    richbook.with_parts(book, {"xl/workbook.xml": re.sub(rb"<workbookView [^>]*/>", b"", data)})
    in_place(book)
    assert [node.tag for node in open_package(book).workbook.root.child("bookViews").children] == ["workbookView"]


def test_a_table_of_a_functions_name_is_found_wherever_it_stands(book):
    """No name may be spelt like a table, and no folder says where tables are."""
    parts = richbook.parts_of(book)
    links, types = "xl/worksheets/_rels/sheet2.xml.rels", "[Content_Types].xml"
    changes = {name: parts[name].replace(b"tables/table1.xml", b"data/list.xml") for name in (links, types)}
    table = parts["xl/tables/table1.xml"].replace(b'displayName="Sales"', b"displayName = 'Weights_GB'")
    richbook.with_parts(book, {**changes, "xl/tables/table1.xml": None, "xl/data/list.xml": table})
    in_place(book)
    names = {name.name for name in open_package(book).names}
    assert "TOKENS_PER_SEC" in names
    assert "WEIGHTS_GB" not in names


def test_style_tables_that_are_empty_are_opened(tmp_path):
    """A styles part of one tag, as some programs write it."""
    path = tmp_path / "bare.xlsx"
    workbook = xlsxwriter.Workbook(path)
    sheet = workbook.add_worksheet("Scenarios")
    for number, row in enumerate([richbook.HEADERS, *richbook.ROWS]):
        sheet.write_row(number, 0, row)
    workbook.close()
    namespace = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    richbook.with_parts(path, {"xl/styles.xml": b'<?xml version="1.0"?><styleSheet xmlns="%b"/>' % namespace})
    in_place(path)
    first = path.read_bytes()
    tables = [node.tag for node in XmlPart("", richbook.parts_of(path)["xl/styles.xml"]).root.children]
    assert tables == ["numFmts", "fonts", "fills", "borders", "cellXfs", "dxfs"]
    in_place(path)
    assert path.read_bytes() == first
