"""Functions embedded into a user's workbook: names are added, and nothing else changes."""

from __future__ import annotations

import zipfile

import ironcalc
import openpyxl
import pytest
import xlsxwriter

from planner import PlannerError
from planner.functions import EXCEL_FUNCTIONS, lambdas
from planner.guards import NUMBER_NAME
from planner.workbook.names import embed_functions


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "plan.xlsx"
    workbook = xlsxwriter.Workbook(path)
    sheet = workbook.add_worksheet("Plan & <more>")
    sheet.write(0, 0, 140)
    sheet.write_formula("B1", "=TOKENS_PER_SEC(A1,3350,85%)", None, 0)
    chart = workbook.add_chart({"type": "line"})
    chart.add_series({"values": "='Plan & <more>'!$A$1:$A$1"})
    sheet.insert_chart("D2", chart)
    workbook.close()
    return path


def edited(path, change, name="xl/workbook.xml"):
    """The workbook with one part changed."""
    with zipfile.ZipFile(path) as package:
        parts = [(entry, package.read(entry)) for entry in package.infolist()]
    with zipfile.ZipFile(path, "w") as package:
        for entry, data in parts:
            package.writestr(entry, change(data) if entry.filename == name else data)
    return path


def parts(path):
    with zipfile.ZipFile(path) as package:
        return {name: package.read(name) for name in package.namelist()}


def test_the_functions_calculate_and_no_other_part_changes(book, validate_or_none):
    before = parts(book)
    done = embed_functions(book)
    after = parts(book)
    assert list(done.added) == [f.name for f in EXCEL_FUNCTIONS]
    assert {name for name in before if before[name] != after[name]} == {"xl/workbook.xml"}
    assert parts(done.backup) == before
    model = ironcalc.load_from_xlsx(str(book), "en", "UTC", "en")
    model.evaluate()
    assert model.get_cell_value(0, 1, 2) == pytest.approx(20.339286, abs=5e-7)
    assert openpyxl.load_workbook(book).defined_names[NUMBER_NAME].hidden
    assert validate_or_none(book) == []


def test_a_second_time_changes_nothing_and_keeps_no_backup(book):
    embed_functions(book)
    before = book.read_bytes()
    done = embed_functions(book)
    assert (done.added, done.updated, done.kept, done.backup) == ((), (), (), None)
    assert book.read_bytes() == before


def test_an_older_function_of_ours_is_brought_up_to_date(book):
    embed_functions(book)
    edited(book, lambda data: data.replace(b"weights_gb is ", b"weights are ", 1))
    done = embed_functions(book)
    assert len(done.updated) == 1
    assert openpyxl.load_workbook(book).defined_names[done.updated[0]].attr_text == lambdas()[done.updated[0]]


@pytest.mark.parametrize(
    "existing",
    [
        b"<definedNames><definedName name=\"tokens_per_sec\">'Plan &amp; &lt;more&gt;'!$A$1</definedName></definedNames>",
        b'<definedNames><definedName name="TOKENS_PER_SEC" comment="a > b">42</definedName></definedNames>',
    ],
)
def test_a_name_of_the_users_own_stays(book, existing):
    edited(book, lambda data: data.replace(b"<calcPr", existing + b"<calcPr"))
    done = embed_functions(book)
    assert done.kept == ("TOKENS_PER_SEC",)
    assert existing.removesuffix(b"</definedNames>") in parts(book)["xl/workbook.xml"]
    assert len(done.added) == len(EXCEL_FUNCTIONS) - 1


@pytest.mark.parametrize(
    "existing",
    [
        b"<definedNames/>",
        b"<definedNames></definedNames>",
        b'<definedNames><definedName name="x" localSheetId="0">1</definedName></definedNames>',
        b'<definedNames><definedName name="TOKENS_PER_SEC" localSheetId="0">1</definedName></definedNames>',
    ],
)
def test_names_are_put_where_names_stand(book, existing, validate_or_none):
    edited(book, lambda data: data.replace(b"<calcPr", existing + b"<calcPr"))
    done = embed_functions(book)
    assert len(done.added) == len(EXCEL_FUNCTIONS)
    written = parts(book)["xl/workbook.xml"]
    assert written.count(b"definedNames") == 2
    assert written.count(b"<calcPr") == 1
    assert openpyxl.load_workbook(book).defined_names["WEIGHTS_GB"].attr_text == lambdas()["WEIGHTS_GB"]
    assert validate_or_none(book) == []


def test_prefixed_elements_get_prefixed_names(book, validate_or_none):
    def prefix(data):
        text = data.decode()
        head, _, body = text.partition("?>")
        body = body.replace("</", "</x:").replace("<", "<x:").replace("<x:/x:", "</x:").replace("<x:/", "</")
        return (head + "?>" + body.replace('xmlns="', 'xmlns:x="')).encode()

    edited(book, prefix)
    embed_functions(book)
    assert b"<x:definedName name=" in parts(book)["xl/workbook.xml"]
    assert validate_or_none(book) == []


def test_another_file_leaves_the_workbook_alone(book, tmp_path):
    before = book.read_bytes()
    done = embed_functions(book, tmp_path / "other.xlsx")
    assert book.read_bytes() == before
    assert done.backup is None
    assert "WEIGHTS_GB" in openpyxl.load_workbook(tmp_path / "other.xlsx").defined_names


def test_backups_never_overwrite_one_another(book):
    first = embed_functions(book).backup
    edited(book, lambda data: data.replace(b"weights_gb is ", b"weights are ", 1))
    second = embed_functions(book).backup
    assert first.exists()
    assert second.exists()
    assert first != second


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: b'<!DOCTYPE x [<!ENTITY a "b">]>' + data.partition(b"?>")[2], "document type"),
        (lambda data: data[:-20], "is damaged"),
        (lambda data: data.replace(b"UTF-8", b"ISO-8859-1", 1).replace(b"Plan", b"Pl\xe4n"), "another encoding"),
    ],
)
def test_a_workbook_part_that_cannot_be_trusted_is_left_alone(book, change, said):
    edited(book, change)
    before = book.read_bytes()
    with pytest.raises(PlannerError, match=said):
        embed_functions(book)
    assert book.read_bytes() == before
    assert [file.name for file in book.parent.iterdir()] == [book.name]


def test_a_signed_workbook_is_refused(book):
    with zipfile.ZipFile(book, "a") as package:
        package.writestr("_xmlsignatures/origin.sigs", b"")
    with pytest.raises(PlannerError, match="digitally signed"):
        embed_functions(book)


def test_a_package_without_a_workbook_part_is_refused(book):
    edited(book, lambda data: data.replace(b'officeDocument"', b'else"'), "_rels/.rels")
    with pytest.raises(PlannerError, match="names no workbook part"):
        embed_functions(book)


def test_another_file_of_another_kind_or_already_there_is_refused(book, tmp_path):
    other = tmp_path / "other.xlsx"
    other.write_bytes(b"mine")
    with pytest.raises(PlannerError, match="there already; --force"):
        embed_functions(book, other)
    with pytest.raises(PlannerError, match="another ending"):
        embed_functions(book, tmp_path / "other.xlsm")
    assert other.read_bytes() == b"mine"
    embed_functions(book, other, force=True)
    assert other.read_bytes()[:2] == b"PK"


def test_a_function_of_ours_is_known_by_its_comment_where_another_program_saved_the_file(book):
    embed_functions(book)
    edited(book, lambda data: data.replace(b' vbProcedure="1"', b"").replace(b"1E-15", b"1.0000000000000001E-15"))
    done = embed_functions(book)
    assert done.kept == ()
    # BITS_PER_WEIGHT has no such number in it, and so nothing to bring up to date.
    assert len(done.updated) == len(EXCEL_FUNCTIONS) - 1


def test_a_helper_of_the_users_own_stops_it(book):
    existing = b'<definedNames><definedName name="PLANNER_NUMBER">42</definedName></definedNames>'
    edited(book, lambda data: data.replace(b"<calcPr", existing + b"<calcPr"))
    before = book.read_bytes()
    with pytest.raises(PlannerError, match="PLANNER_NUMBER as a name of its own"):
        embed_functions(book)
    assert book.read_bytes() == before


def test_a_table_of_a_functions_name_is_kept_and_a_local_name_is_named(tmp_path):
    path = tmp_path / "table.xlsx"
    workbook = xlsxwriter.Workbook(path)
    sheet = workbook.add_worksheet("Plan")
    sheet.add_table("A1:B3", {"name": "Weights_GB"})
    workbook.define_name("Plan!TOKENS_PER_SEC", "=42")
    workbook.close()
    done = embed_functions(path)
    assert done.kept == ("WEIGHTS_GB",)
    assert done.shadowed == ("TOKENS_PER_SEC",)


def test_a_damaged_part_is_one_line_and_leaves_the_file(book):
    data = bytearray(book.read_bytes())
    with zipfile.ZipFile(book) as package:
        entry = package.getinfo("xl/worksheets/sheet1.xml")
        start = entry.header_offset + 30 + len(entry.filename)
    data[start + 20] ^= 0xFF
    book.write_bytes(data)
    with pytest.raises(PlannerError, match="sheet1.xml cannot be read"):
        embed_functions(book)
    assert book.read_bytes() == bytes(data)
