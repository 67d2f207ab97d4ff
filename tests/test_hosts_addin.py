"""The add-in's three files, opened as Excel would: the package, its macros, its settings, the VBA beside it."""

# ruff: noqa: ARG002, N802, N803  the names of Excel and what it passes

from __future__ import annotations

import importlib
import io
import re
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import openpyxl
import pytest

from planner import PlannerError
from planner.functions import BY_NAME, EXCEL_FUNCTIONS
from planner.hosts import addin
from planner.hosts.pywin32_stub import xlwings_udfs

sys.path.insert(0, str(Path(__file__).parent))
import fake_excel

xlwings = pytest.importorskip("xlwings", reason="xlwings is not here; `pip install xlwings` would run this")
TEMPLATE = Path(xlwings.__file__).parent / addin.TEMPLATE


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return addin.write_addin(tmp_path_factory.mktemp("addin") / "planner.xlam", python=r"C:\Python\python.exe")


@pytest.fixture(scope="module")
def parts(written):
    with zipfile.ZipFile(written[0]) as package:
        assert package.testzip() is None
        return {name: package.read(name) for name in package.namelist()}


@pytest.fixture(scope="module")
def macros(written):
    """The add-in's VBA modules as text."""
    olevba = pytest.importorskip(
        "oletools.olevba", reason="oletools is not here; `pip install oletools` would run this"
    )
    parser = olevba.VBA_Parser(str(written[0]))
    try:
        return {name: code for _, _, name, code in parser.extract_macros()}
    finally:
        parser.close()


def opened(path):
    """The add-in as openpyxl reads it, which takes no file of this ending and kind."""
    with zipfile.ZipFile(path) as package, zipfile.ZipFile(other := io.BytesIO(), "w") as copy:
        for entry in package.infolist():
            kind = (b"ms-excel.addin.", b"ms-excel.sheet.")
            copy.writestr(entry.filename, package.read(entry).replace(*kind))
    return openpyxl.load_workbook(other)


def test_three_files_and_no_other(written):
    assert [file.name for file in written] == ["planner.xlam", "planner_udfs.bas", "planner_ribbon.bas"]
    assert sorted(written) == sorted(written[0].parent.iterdir())


def test_all_but_settings_and_ribbon_are_the_templates_byte_for_byte(parts):
    with zipfile.ZipFile(TEMPLATE) as package:
        template = {name: package.read(name) for name in package.namelist()}
    assert parts.keys() == template.keys()
    changed = {name for name in parts if parts[name] != template[name]}
    assert changed == {"xl/workbook.xml", "xl/worksheets/sheet1.xml", "customUI/customUI.xml"}
    assert template["xl/vbaProject.bin"]


def test_the_settings_are_on_the_sheet_that_the_macros_read(written, macros):
    project = re.search(r'Const PROJECT_NAME As String = "(\w+)"', macros["xlwings.bas"])[1]
    book = opened(written[0])
    assert book.sheetnames == [f"{project}.conf"]
    rows = dict(book.worksheets[0].iter_rows(values_only=True))
    assert rows["UDF Modules"] == "planner.hosts.desktop"
    assert rows["Interpreter_Win"] == r"C:\Python\python.exe"
    assert rows["PYTHONPATH"] is None
    assert rows["ADD_WORKBOOK_TO_PYTHONPATH"] == "false"
    # The macros read down to the first empty cell, and a second key of one name stops them.
    assert all(rows)
    assert len({key.upper() for key in rows}) == book.worksheets[0].max_row
    asked = {key.upper() for key in re.findall(r'GetConfig\("([^"]+)"', macros["xlwings.bas"])}
    assert {key.upper() for key in rows} <= asked | {"DEBUG UDFS"}


def test_the_module_of_the_settings_is_there():
    assert importlib.import_module(addin.settings("")["UDF Modules"]).TOKENS_PER_SEC


@pytest.mark.parametrize(
    ("system", "python", "win", "mac"),
    [
        ("Windows", "C:\\py.exe", "C:\\py.exe", ""),
        ("Darwin", "/usr/bin/python3", "", "/usr/bin/python3"),
        ("Linux", "C:\\py.exe", "C:\\py.exe", ""),
    ],
)
def test_the_interpreter_goes_to_its_system(monkeypatch, system, python, win, mac):
    monkeypatch.setattr("platform.system", lambda: system)
    found = addin.settings(python)
    assert (found["Interpreter_Win"], found["Interpreter_Mac"]) == (win, mac)
    assert addin.default_python() == ("" if system == "Linux" else sys.executable)


def test_the_sheet_keeps_its_code_name(parts, macros):
    name = re.search(r'codeName="(\w+)"', parts["xl/worksheets/sheet1.xml"].decode())[1]
    assert f"{name}.cls" in macros


def test_every_part_is_xml(parts):
    for name, data in parts.items():
        if name.endswith((".xml", ".rels")):
            ET.fromstring(data)


def test_ribbon(parts, written):
    ribbon = ET.fromstring(parts["customUI/customUI.xml"])
    space = {"ui": "http://schemas.microsoft.com/office/2006/01/customui"}
    (tab,) = ribbon.findall(".//ui:tab", space)
    assert tab.get("label") == "planner"
    buttons = tab.findall(".//ui:button", space)
    assert [b.get("label") for b in buttons] == ["Evaluate", "Check", "Report", "Import functions"]
    vba = written[2].read_text("ascii")
    module = re.search(r'VB_Name = "(\w+)"', vba)[1]
    subs = re.findall(r"^Sub (\w+)\(control As IRibbonControl\)$", vba, re.MULTILINE)
    assert [b.get("onAction") for b in buttons] == [f"{module}.{sub}" for sub in subs]
    assert len({b.get("id") for b in buttons}) == 4


def test_what_the_buttons_run_is_there(written, macros):
    vba = written[2].read_text("ascii")
    commands = re.findall(r'RunPython "(.*)"', vba)
    assert len(commands) == 3
    for command in commands:
        # The macros put it between double quotes on a command line.
        assert not {'"', "'", "\\"} & set(command)
        module, function = re.fullmatch(r"from planner\.hosts import (\w+); \1\.(\w+)\(\)", command).groups()
        assert callable(getattr(importlib.import_module(f"planner.hosts.{module}"), function))
    assert "Public Function RunPython(PythonCommand As String)" in macros["xlwings.bas"]
    assert "Sub ImportPythonUDFsToAddin()" in macros["xlwings.bas"]
    assert "    ImportPythonUDFsToAddin\n" in vba


def test_udfs_are_what_xlwings_writes_on_windows(written):
    class Workbook:
        Name = "planner.xlam"
        Version = "16.0"
        Worksheets = ()

        def __init__(self):
            self.VBProject = SimpleNamespace(VBComponents=self)
            self.Application = self

        def __call__(self, name):
            raise fake_excel.ComError

        def Import(self, path):
            self.text = Path(path).read_text()

        def Remove(self, component):
            raise AssertionError(component)

        def MacroOptions(self, *_, **__):
            pass

    book = Workbook()
    with pytest.MonkeyPatch.context() as patch, fake_excel.windows_xlwings(patch) as windows:
        windows.import_udfs("planner.hosts.desktop", book)
    ours = [line for line in written[1].read_text("ascii").splitlines() if not line.startswith(("'", "#Const"))]
    theirs = [line for line in book.text.splitlines() if not line.startswith(("'", "#Const"))]
    assert ours == theirs


def test_udfs_have_every_function_with_its_arguments(written):
    data = written[1].read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")
    text = data.decode("ascii").replace("\r\n", "\n")
    assert text.startswith('Attribute VB_Name = "xlwings_udfs"\n')
    assert '\n#Const App = "Microsoft Excel"\n' in text
    heads = dict(re.findall(r"^Function (\w+)\((.*)\)$", text, re.MULTILINE))
    assert heads.keys() == BY_NAME.keys()
    for function in EXCEL_FUNCTIONS:
        declared = [a.removesuffix("_") for a in heads[function.name].split(", ")]
        assert declared == [f"Optional {a.name}" if a.optional else a.name for a in function.arguments]
        # In an add-in the workbook at hand is the active one.
        assert re.search(rf'CallUDF\("planner.hosts.desktop", "{function.name}", Array\(.*\), ActiveWorkbook', text)
    assert len(re.findall(r"^Function ", text, re.MULTILINE)) == len(re.findall(r"^End Function$", text, re.MULTILINE))
    assert max(map(len, text.splitlines())) <= 1023


def test_the_same_bytes_each_time_and_no_stranger_left(written, tmp_path):
    before = set(sys.modules)
    again = addin.write_addin(tmp_path / "planner.xlam", python=r"C:\Python\python.exe")
    for first, second in zip(written, again, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert not {n for n in set(sys.modules) - before if n.startswith(("pythoncom", "pywin", "win32", "xlwings.udfs"))}
    assert not hasattr(xlwings, "udfs")


def test_the_stand_in_refuses_to_talk_to_excel():
    with xlwings_udfs() as udfs:
        assert udfs.Dispatch is not None
        with pytest.raises(RuntimeError, match="Excel cannot be reached without pywin32"):
            udfs.Dispatch("Excel.Application")
    assert "xlwings.udfs" not in sys.modules


def test_the_stand_in_goes_even_where_writing_fails():
    with pytest.raises(ZeroDivisionError), xlwings_udfs():
        1 / 0  # noqa: B018
    assert not {"pythoncom", "pywintypes", "win32com", "win32com.client", "xlwings.udfs"} & set(sys.modules)


@pytest.mark.parametrize("name", ["planner.xlsm", "planner", "planner.xlam.xlsx"])
def test_another_ending_is_refused(tmp_path, name):
    with pytest.raises(PlannerError, match="does not end in .xlam"):
        addin.write_addin(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["planner.xlam", "planner_udfs.bas", "planner_ribbon.bas"])
def test_a_file_that_is_there_stays_unless_forced(tmp_path, name):
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(PlannerError, match=rf"{name} is there already; --force writes over."):
        addin.write_addin(tmp_path / "planner.xlam")
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"mine"
    addin.write_addin(tmp_path / "planner.xlam", force=True)
    assert (tmp_path / name).read_bytes() != b"mine"


def test_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(PlannerError, match="Cannot write into"):
        addin.write_addin(tmp_path / "none" / "planner.xlam")


def test_without_xlwings_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlwings", None)
    with pytest.raises(PlannerError, match="needs xlwings; `pip install"):
        addin.write_addin(tmp_path / "planner.xlam")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["missing", "no zip", "another name", "no ribbon"])
def test_an_unknown_template_is_one_line(tmp_path, monkeypatch, damage):
    folder = tmp_path / "xlwings"
    folder.mkdir()
    if damage == "no zip":
        (folder / addin.TEMPLATE).write_bytes(b"PK")
    elif damage != "missing":
        buffer = io.BytesIO()
        with zipfile.ZipFile(TEMPLATE) as package, zipfile.ZipFile(buffer, "w") as other:
            for entry in package.infolist():
                data = package.read(entry).replace(
                    b"_myaddin.conf", b"_other.conf" if damage == "another name" else b"_myaddin.conf"
                )
                if damage != "no ribbon" or entry.filename != "customUI/customUI.xml":
                    other.writestr(entry, data)
        (folder / addin.TEMPLATE).write_bytes(buffer.getvalue())
    monkeypatch.setattr(xlwings, "__file__", str(folder / "__init__.py"))
    with pytest.raises(PlannerError, match=r"missing or unknown; `pip install xlwings==0\.37\.8`"):
        addin.write_addin(tmp_path / "planner.xlam")
    assert [file.name for file in tmp_path.iterdir()] == ["xlwings"]


def test_a_python_with_odd_characters_is_kept(tmp_path):
    path = addin.write_addin(tmp_path / "planner.xlam", python=r'C:\R&D <x>\"py".exe')[0]
    sheet = opened(path).worksheets[0]
    assert dict(sheet.iter_rows(values_only=True))["Interpreter_Win"] == r'C:\R&D <x>\"py".exe'


def test_install_elsewhere_says_what_to_do(tmp_path):
    with pytest.raises(PlannerError) as refused:
        addin.install(tmp_path / "planner.xlam")
    assert "\n" not in str(refused.value)
    for word in ("Windows", "planner.xlam", "planner_udfs.bas", "planner_ribbon.bas", "Alt+F11", "Import File"):
        assert word in str(refused.value)


class Excel(fake_excel.Dispatched):
    """The Excel that installing opens: one add-in with a VBA project, which can be kept closed."""

    _oleobj_ = fake_excel._Ole("application")

    def __init__(self, startup, *, trusted=True, modules=()):
        self.StartupPath, self.Version, self.Hwnd, self.Visible = str(startup), "16.0", 1, True
        self.DisplayAlerts, self.Count = True, 0
        self.done = []
        self.Workbooks = self
        self.book = Addin(self, trusted, modules)

    def __call__(self, name):
        raise fake_excel.ComError

    def Add(self):
        self.done.append("add")

    def Open(self, path, *_):
        self.done.append(f"open {Path(path).name}")
        return self.book

    def Quit(self):
        self.done.append("quit")

    def MacroOptions(self, macro, **_):
        self.done.append("options")


class Addin:
    Name, Path, FileFormat, Worksheets = "planner.xlam", "C:\\", 55, ()

    def __init__(self, excel, trusted, modules):
        self.Application, self.trusted = excel, trusted
        self.modules = [SimpleNamespace(Name=name) for name in modules]

    @property
    def VBProject(self):
        if not self.trusted:
            raise fake_excel.ComError(text="Programmatic access to Visual Basic Project is not trusted")
        return SimpleNamespace(VBComponents=self)

    def __iter__(self):
        return iter(self.modules)

    def __call__(self, name):
        for module in self.modules:
            if module.Name == name:
                return module
        raise fake_excel.ComError

    def Remove(self, module):
        self.modules.remove(module)
        self.Application.done.append(f"remove {module.Name}")

    def Import(self, path):
        name = re.search(r'VB_Name = "(\w+)"', Path(path).read_text())[1]
        self.modules.append(SimpleNamespace(Name=name))
        self.Application.done.append(f"import {name}")

    def Save(self):
        self.Application.done.append("save")

    def Close(self, SaveChanges):
        self.Application.done.append("close")


@pytest.fixture
def on_windows(monkeypatch, tmp_path):
    """Installs with the real xlwings into a stand-in for Excel."""
    path = addin.write_addin(tmp_path / "planner.xlam")[0]
    startup = tmp_path / "XLSTART"
    startup.mkdir()
    monkeypatch.setattr("platform.system", lambda: "Windows")

    def install(**more):
        excel = Excel(startup, **more)
        with fake_excel.windows_xlwings(monkeypatch, excel) as windows:
            monkeypatch.setattr(windows._xlwindows.Apps, "cleanup", staticmethod(lambda: None))
            try:
                return excel, addin.install(path), startup
            finally:
                assert excel.done[-1] == "quit"

    return install


def test_install_imports_saves_and_copies(on_windows, tmp_path):
    excel, said, startup = on_windows()
    assert [step for step in excel.done if step != "options"] == [
        "add", "open planner.xlam", "import planner_ribbon", "import xlwings_udfs", "save", "close", "quit",
    ]  # fmt: skip
    assert excel.done.count("options") == len(EXCEL_FUNCTIONS)
    assert (startup / "planner.xlam").read_bytes() == (tmp_path / "planner.xlam").read_bytes()
    assert said == f"Installed {startup / 'planner.xlam'}. Start Excel: the ribbon has a tab named planner."


def test_installing_again_leaves_one_module_of_each(on_windows):
    excel, _, _ = on_windows(modules=["planner_ribbon", "xlwings_udfs", "xlwings"])
    assert sorted(module.Name for module in excel.book.modules) == ["planner_ribbon", "xlwings", "xlwings_udfs"]


def test_a_closed_vba_project_is_one_line_with_its_cure(on_windows):
    with pytest.raises(PlannerError, match="Trust access to the VBA project object model"):
        on_windows(trusted=False)


def test_install_without_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Windows")
    with pytest.raises(PlannerError, match="No such file: .*planner.xlam; `planner functions addin"):
        addin.install(tmp_path / "planner.xlam")
