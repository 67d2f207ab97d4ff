"""Excel as xlwings sees it on Windows, as far as planner goes: pywin32's modules and Excel's object model.

The real xlwings runs on top. What Excel refuses is refused here too, as far as it is known: a name that
the object model does not have is an AttributeError.
"""

# ruff: noqa: ARG002, N802, N803  the names of Excel and what it passes

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import re
import sys
import types

DISPATCH_FAILED = -2147352567
MISSING = -2147352572


class ComError(Exception):
    """pywintypes.com_error."""

    def __init__(self, hresult=DISPATCH_FAILED, text="Exception occurred.", excepinfo=None, argument=None):
        super().__init__(hresult, text, excepinfo, argument)
        self.hresult, self.excepinfo = hresult, excepinfo


class Dispatched:
    """A COM object: the base of pywin32's own, so that xlwings wraps what it returns."""


class _Ole:
    """The raw interface of a COM object: its kind, by which xlwings knows a range."""

    def __init__(self, iid):
        self.iid = iid

    def GetTypeInfo(self):
        return self

    def GetTypeAttr(self):
        return self

    def GetIDsOfNames(self, *_):
        raise ComError(-2147352570, "Unknown name.")


def _unwrap(var):
    raise ValueError(f"{var} is no gateway object")


def pywin32(application=None):
    """The modules of pywin32 that xlwings imports; ``application`` is what a new Excel is."""
    names = (
        "pythoncom",
        "pywintypes",
        "win32api",
        "win32con",
        "win32event",
        "win32gui",
        "win32process",
        "win32timezone",
    )
    modules = {name: types.ModuleType(name) for name in names}
    packages = (
        "win32com", "win32com.client", "win32com.client.gencache", "win32com.server", "win32com.server.dispatcher",
        "win32com.server.policy", "win32com.server.util",
    )  # fmt: skip
    modules |= {name: types.ModuleType(name) for name in packages}
    for name in packages[1:]:
        parent, _, child = name.rpartition(".")
        setattr(modules[parent], child, modules[name])

    def declare(name, **members):
        vars(modules[name]).update(members)

    class PyIDispatch:
        pass

    declare(
        "pythoncom", CoInitialize=lambda: None, ole_error=ComError, __file__="pythoncom.dll", IID_IDispatch="IDispatch",
        TypeIIDs={"IDispatch": PyIDispatch},
    )  # fmt: skip
    declare("pywintypes", com_error=ComError, error=ComError, TimeType=type("TimeType", (), {}), IID=str)
    declare("win32con", MB_OK=0, MB_OKCANCEL=1, MB_YESNO=4, MB_YESNOCANCEL=3, MB_ICONINFORMATION=64, MB_ICONWARNING=48)
    declare("win32process", GetWindowThreadProcessId=lambda hwnd: (1, 4711))
    declare(
        "win32com.client", CDispatch=Dispatched, CoClassBaseClass=type("CoClassBaseClass", (), {}),
        DispatchBaseClass=type("DispatchBaseClass", (), {}), Dispatch=lambda found, **_: found,
        DispatchEx=lambda _: application,
    )  # fmt: skip
    declare("win32com.client.gencache", EnsureModule=lambda *_, **__: None)
    declare("win32com.server.policy", DefaultPolicy=object)
    declare("win32com.server.util", unwrap=_unwrap, wrap=lambda wrapped, **_: wrapped)
    declare("win32api", GetCurrentThreadId=lambda: 1, MessageBox=lambda *_: 1)
    declare("win32gui", FindWindowEx=lambda *_: 1)
    declare("win32timezone", TimeZoneInfo=types.SimpleNamespace(utc=lambda: None))
    return modules


_OURS = ("planner.hosts.desktop", "planner.hosts.live", "planner.hosts.live_sheets", "planner.hosts.ribbon")


@contextlib.contextmanager
def windows_xlwings(monkeypatch, application=None):
    """A fresh xlwings as Windows has it, and with it the host modules; all are gone when the block ends."""
    # Loaded while the platform is the true one: what xlwings needs of the standard library and of numpy.
    for name in ("asyncio", "concurrent.futures", "subprocess", "tempfile", "xlwings"):
        importlib.import_module(name)
    kept = {name: module for name, module in sys.modules.items() if _concerned(name)}
    hosts = importlib.import_module("planner.hosts")
    attributes = dict(vars(hosts))
    with monkeypatch.context() as patch:
        for name in kept:
            del sys.modules[name]
            vars(hosts).pop(name.rpartition(".")[2], None)
        sys.modules.update(pywin32(application))
        none = types.SimpleNamespace(CLSIDFromString=lambda *_: 0, AccessibleObjectFromWindow=lambda *_: 0)
        patch.setattr(ctypes, "oledll", types.SimpleNamespace(ole32=none, oleacc=none), raising=False)
        patch.setattr(
            ctypes,
            "windll",
            types.SimpleNamespace(
                user32=types.SimpleNamespace(
                    GetForegroundWindow=lambda: 0, SetForegroundWindow=lambda *_: 0, SetWindowPos=lambda *_: 0
                )
            ),
            raising=False,
        )
        patch.setattr(
            ctypes, "PyDLL", lambda _: types.SimpleNamespace(PyCom_PyObjectFromIUnknown=types.SimpleNamespace())
        )
        patch.setattr(atexit, "register", lambda function: function)
        patch.setattr(sys, "platform", "win32")
        try:
            xlwings = importlib.import_module("xlwings")
            patch.setattr(sys, "platform", "linux")
            assert xlwings.has_pywin32
            yield xlwings
        finally:
            server = sys.modules.get("xlwings.com_server")
            if server:
                server.loop.close()
            for name in [name for name in sys.modules if _concerned(name)]:
                del sys.modules[name]
            sys.modules.update(kept)
            vars(hosts).clear()
            vars(hosts).update(attributes)


def _concerned(name):
    return name.split(".")[0] in {*pywin32(), "xlwings"} or name in _OURS


# Excel's object model. Attributes have Excel's names.

RANGE_IID = "{00020846-0000-0000-C000-000000000046}"


def letters(column):
    found = ""
    while column:
        column, rest = divmod(column - 1, 26)
        found = chr(65 + rest) + found
    return found


def place(text):
    column, row = re.fullmatch(r"\$?([A-Z]+)\$?(\d+)", text).groups()
    number = 0
    for letter in column:
        number = number * 26 + ord(letter) - 64
    return int(row), number


class Values:
    """A range that a UDF gets: its values as COM gives them, rows as tuples and a lone cell as itself."""

    _oleobj_ = _Ole(RANGE_IID)

    def __init__(self, value, row=1, column=1):
        self.Value = value
        self.Row, self.Column = row, column
        rows = value if isinstance(value, tuple) else ((value,),)
        self.Rows = types.SimpleNamespace(Count=len(rows))
        self.Columns = types.SimpleNamespace(Count=len(rows[0]))
        application = types.SimpleNamespace(Hwnd=1)
        book = types.SimpleNamespace(Application=application, Name="Book1.xlsx")
        self.Worksheet = types.SimpleNamespace(Parent=book, Name="Sheet1")
        self.Address = "$A$1"


class Cell:
    """A cell: what it holds, the formula behind it, and how it looks."""

    def __init__(self):
        self.value, self.formula, self.looks = None, "", {}


class Look:
    """Properties of every cell of a range under one heading (Font, Interior, a border): set on all, read if equal."""

    def __init__(self, cells, heading, allowed):
        vars(self).update(_cells=cells, _heading=heading, _allowed=allowed)

    def __setattr__(self, name, value):
        if name not in self._allowed:
            raise AttributeError(f"{self._heading}.{name}")
        for cell in self._cells():
            cell.looks[f"{self._heading}.{name}"] = value

    def __getattr__(self, name):
        if name not in self._allowed:
            raise AttributeError(f"{self._heading}.{name}")
        found = {cell.looks.get(f"{self._heading}.{name}") for cell in self._cells()}
        return found.pop() if len(found) == 1 else None


class Range(Dispatched):
    """A rectangle of a worksheet."""

    _oleobj_ = _Ole(RANGE_IID)
    _plain = ("WrapText", "HorizontalAlignment", "VerticalAlignment", "IndentLevel", "ColumnWidth", "RowHeight")

    def __init__(self, sheet, top, left, bottom, right):
        if not (1 <= top <= bottom <= 1_048_576 and 1 <= left <= right <= 16_384):
            raise ComError(text="Application-defined or object-defined error")
        vars(self).update(Worksheet=sheet, Row=top, Column=left, bottom=bottom, right=right)

    def _cells(self):
        cells = self.Worksheet.cells
        for row in range(self.Row, self.bottom + 1):
            for column in range(self.Column, self.right + 1):
                yield cells.setdefault((row, column), Cell())

    @property
    def Rows(self):
        return types.SimpleNamespace(Count=self.bottom - self.Row + 1)

    @property
    def Columns(self):
        return types.SimpleNamespace(Count=self.right - self.Column + 1)

    @property
    def Count(self):
        return self.Rows.Count * self.Columns.Count

    @property
    def Application(self):
        return self.Worksheet.Parent.Application

    @property
    def Address(self):
        first, last = f"${letters(self.Column)}${self.Row}", f"${letters(self.right)}${self.bottom}"
        return first if first == last else f"{first}:{last}"

    def Cells(self, row, column):
        return Range(self.Worksheet, *(self.Row + row - 1, self.Column + column - 1) * 2)

    __call__ = Cells

    Top = property(lambda self: 15.0 * (self.Row - 1))
    Left = property(lambda self: 48.0 * (self.Column - 1))

    def _read(self, one):
        self.Application.calls += 1
        cells = self.Worksheet.cells
        table = tuple(
            tuple(one(cells.get((row, column))) for column in range(self.Column, self.right + 1))
            for row in range(self.Row, self.bottom + 1)
        )
        return table[0][0] if self.Count == 1 else table

    def _write(self, given):
        self.Application.calls += 1
        if self.Application.editing:
            raise ComError(text="Call was rejected by callee.")
        rows, columns = self.Rows.Count, self.Columns.Count
        table = given if isinstance(given, list | tuple) else [[given] * columns] * rows
        assert (len(table), {len(row) for row in table}) == (rows, {columns})
        for cell, entry in zip(self._cells(), (entry for row in table for entry in row), strict=True):
            cell.value, cell.formula = _entered(entry)

    @property
    def Value(self):
        return self._read(lambda cell: None if cell is None else cell.value)

    @Value.setter
    def Value(self, given):
        self._write(given)

    def _formula(self):
        def one(cell):
            if cell is None or (cell.value is None and not cell.formula):
                return ""
            return cell.formula or (f"{cell.value:.15g}" if isinstance(cell.value, float) else str(cell.value))

        return self._read(one)

    Formula = property(_formula, _write)

    @property
    def Formula2(self):
        if not self.Application.dynamic:
            raise ComError(-2147352570, "Unknown name.")
        return self._formula()

    @Formula2.setter
    def Formula2(self, given):
        # Where the property is unknown, xlwings tries for ever.
        assert self.Application.dynamic, "this would hang"
        self._write(given)

    @property
    def NumberFormat(self):
        self.Application.calls += 1
        found = {
            getattr(self.Worksheet.cells.get((row, column)), "looks", {}).get("NumberFormat", "General")
            for row in range(self.Row, self.bottom + 1)
            for column in range(self.Column, self.right + 1)
        }
        return found.pop() if len(found) == 1 else None

    @NumberFormat.setter
    def NumberFormat(self, text):
        for cell in self._cells():
            cell.looks["NumberFormat"] = text

    @property
    def Font(self):
        return Look(self._cells, "Font", {"Bold", "Italic", "Size", "Color", "Underline"})

    @property
    def Interior(self):
        return Look(self._cells, "Interior", {"Color", "ColorIndex"})

    def Borders(self, side):
        if side == 12 and self.Rows.Count == 1:
            raise ComError(text="Unable to set the LineStyle property of the Border class")
        return Look(self._cells, f"Border{side}", {"LineStyle", "Weight", "Color", "ColorIndex"})

    def __setattr__(self, name, value):
        if name in self._plain:
            setattr(Look(self._cells, "", self._plain), name, value)
        elif isinstance(getattr(Range, name, None), property):
            object.__setattr__(self, name, value)
        else:
            raise AttributeError(name)

    def __getattr__(self, name):
        return getattr(Look(self._cells, "", self._plain), name)

    def _merged(self):
        return [area for area in self.Worksheet.merges if _overlap(area, self)]

    @property
    def MergeCells(self):
        areas = self._merged()
        if not areas:
            return False
        covered = sum(_overlap(area, self) for area in areas)
        return True if covered == self.Count else None

    @property
    def EntireRow(self):
        found = {row in self.Worksheet.hidden for row in range(self.Row, self.bottom + 1)}
        return types.SimpleNamespace(Hidden=found.pop() if len(found) == 1 else None)

    @property
    def MergeArea(self):
        areas = self._merged()
        return Range(self.Worksheet, *areas[0]) if areas else self

    def Merge(self, across):
        self.Worksheet.merges.append((self.Row, self.Column, self.bottom, self.right))

    @property
    def Comment(self):
        return next((note for note in self.Worksheet.Comments if note.place == (self.Row, self.Column)), None)

    def AddComment(self, text):
        note = Note(self.Worksheet, (self.Row, self.Column), text)
        self.Worksheet.Comments.append(note)
        return note

    @property
    def FormatConditions(self):
        return Conditions(self)

    def AutoFilter(self):
        self.Worksheet.filter = None if self.Worksheet.filter else self.Address

    def Select(self):
        assert self.Worksheet.Parent.ActiveSheet is self.Worksheet, "only on the active sheet can cells be selected"
        self.Worksheet.selection = self.Address


def _overlap(area, place):
    top, left, bottom, right = area
    height = min(bottom, place.bottom) - max(top, place.Row) + 1
    width = min(right, place.right) - max(left, place.Column) + 1
    return max(height, 0) * max(width, 0)


def _entered(entry):
    """What Excel makes of an entry: (value, formula). A text is read as if it were typed."""
    if not isinstance(entry, str):
        return (float(entry) if type(entry) is int else entry), ""
    if entry.startswith("="):
        return None, entry
    if entry.startswith("'"):
        return entry[1:], ""
    assert not entry, f"{entry!r} would be read as if it were typed"
    return None, ""


class Note:
    def __init__(self, sheet, at, text):
        self.sheet, self.place, self.text = sheet, at, text

    def Text(self):
        return self.text

    def Delete(self):
        self.sheet.Comments.remove(self)


class Conditions:
    """The conditional formats of a range; a formula counts from the cell that is selected."""

    def __init__(self, area):
        self.area, self.rules = area, area.Worksheet.rules

    def Add(self, Type, Formula1):
        assert Type == 2
        rule = types.SimpleNamespace(
            area=self.area.Address, formula=Formula1, seen_from=self.area.Worksheet.selection, Type=Type,
            StopIfTrue=False, Font=types.SimpleNamespace(), Interior=types.SimpleNamespace(),
        )  # fmt: skip
        rule.SetFirstPriority = lambda: (self.rules.remove(rule), self.rules.insert(0, rule))
        self.rules.append(rule)
        return rule

    def __call__(self, index):
        return self.rules[index - 1]


class Names:
    """The names of a workbook or, with their sheet before them, of a sheet."""

    def __init__(self, application, prefix=""):
        self.application, self.prefix, self.all = application, prefix, []

    @property
    def Count(self):
        return len(self.all)

    def __call__(self, key):
        if isinstance(key, int):
            return self.all[key - 1]
        for name in self.all:
            if name.Name.rpartition("!")[2].casefold() == key.casefold():
                return name
        raise ComError

    def Add(self, name, refers_to):
        if "_xl" in refers_to or ("LAMBDA" in refers_to and not self.application.lambdas):
            raise ComError(text="The syntax of this name isn't correct.")
        made = types.SimpleNamespace(Name=self.prefix + name, RefersTo=refers_to, Visible=True, Comment="")
        self.all.append(made)
        return made


class Worksheet:
    """A sheet. Clearing it clears cells, looks and rules; charts, notes and filters stay, as they might in Excel."""

    Visible = -1

    def __init__(self, book, name):
        self.Parent, self._name = book, name
        self.cells, self.merges, self.Comments, self.rules, self.charts = {}, [], [], [], []
        self.filter, self.selection, self.window, self.hidden = None, "$A$1", {}, set()
        self.Tab = types.SimpleNamespace(Color=None)
        self.Names = Names(book.Application, f"{name}!")

    Application = property(lambda self: self.Parent.Application)

    @property
    def Name(self):
        return self._name

    @Name.setter
    def Name(self, name):
        if name.casefold() in {sheet.Name.casefold() for sheet in self.Parent.sheets if sheet is not self}:
            raise ComError(text="That name is already taken.")
        self._name, self.Names.prefix = name, f"{name}!"

    @property
    def Index(self):
        return self.Parent.sheets.index(self) + 1

    @property
    def Cells(self):
        return AllCells(self)

    def Range(self, first, last=None):
        if isinstance(first, str):
            first = Range(self, *place(first) * 2)
        last = last or first
        return Range(self, first.Row, first.Column, last.bottom, last.right)

    @property
    def UsedRange(self):
        rows = [row for row, _ in self.cells] or [1]
        columns = [column for _, column in self.cells] or [1]
        return Range(self, min(rows), min(columns), max(rows), max(columns))

    def Activate(self):
        if self.Visible not in {-1, True}:
            raise ComError(text="Activate method of Worksheet class failed")
        self.Parent.ActiveSheet = self

    def Move(self, Before):
        self.Parent.sheets.remove(self)
        self.Parent.sheets.insert(self.Parent.sheets.index(Before), self)

    def ChartObjects(self):
        return Charts(self)

    @property
    def AutoFilterMode(self):
        return self.filter is not None

    @AutoFilterMode.setter
    def AutoFilterMode(self, on):
        assert on is False
        self.filter = None


class AllCells:
    def __init__(self, sheet):
        self.sheet = sheet

    def __call__(self, row, column):
        return Range(self.sheet, row, column, row, column)

    def Clear(self):
        self.sheet.cells.clear()
        self.sheet.merges.clear()
        self.sheet.rules.clear()


class Charts:
    def __init__(self, sheet):
        self.sheet = sheet

    def Add(self, left, top, width, height):
        made = types.SimpleNamespace(Name=f"Chart {len(self.sheet.charts) + 1}", at=(left, top), Chart=Chart())
        made.Delete = lambda: self.sheet.charts.remove(made)
        self.sheet.charts.append(made)
        return made

    def __iter__(self):
        return iter(list(self.sheet.charts))

    @property
    def Count(self):
        return len(self.sheet.charts)

    def Item(self, index):
        return self.sheet.charts[index - 1]


class Chart:
    def __init__(self):
        self.series, self.HasTitle, self.ChartTitle = [], False, types.SimpleNamespace(Text="")
        self.axes = {
            n: types.SimpleNamespace(
                HasTitle=False, AxisTitle=types.SimpleNamespace(Text=""), TickLabels=types.SimpleNamespace()
            )
            for n in (1, 2)
        }

    def SeriesCollection(self):
        return self

    def NewSeries(self):
        look = types.SimpleNamespace(Line=types.SimpleNamespace(), Fill=types.SimpleNamespace())
        self.series.append(types.SimpleNamespace(Format=look))
        return self.series[-1]

    def Item(self, number):
        return self.series[number - 1]

    def Axes(self, number):
        return self.axes[number]


class Sheets:
    def __init__(self, book):
        self.book = book

    Count = property(lambda self: len(self.book.sheets))
    Parent = property(lambda self: self.book)

    def __iter__(self):
        return iter(list(self.book.sheets))

    def __call__(self, key):
        if isinstance(key, int):
            return self.book.sheets[key - 1]
        for sheet in self.book.sheets:
            if sheet.Name.casefold() == key.casefold():
                return sheet
        raise ComError

    def Add(self, Before):
        if self.book.protected:
            raise ComError(text="Add method of Sheets class failed")
        taken = {sheet.Name for sheet in self.book.sheets}
        name = next(name for n in range(1, 1000) if (name := f"Sheet{n}") not in taken)
        made = Worksheet(self.book, name)
        self.book.sheets.insert(self.book.sheets.index(Before), made)
        self.book.ActiveSheet = made
        return made


class Workbook:
    """A workbook, empty or with what an .xlsx file holds."""

    protected = False

    def __init__(self, application, full_name, path=None):
        self.Application, self.FullName = application, full_name
        self.Name = re.split(r"[\\/]", full_name)[-1]
        self.Names = Names(application)
        self.sheets, self.chart_sheets = [], []
        if path is None:
            self.sheets.append(Worksheet(self, "Sheet1"))
        else:
            self._load(path)
        self.ActiveSheet = self.sheets[0]
        application.books.append(self)

    @property
    def Worksheets(self):
        return Sheets(self)

    @property
    def Sheets(self):
        return [*self.sheets, *self.chart_sheets]

    def Activate(self):
        self.Application.ActiveWorkbook = self

    def _load(self, path):
        import openpyxl

        formulas, values = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
        for name in formulas.sheetnames:
            sheet = Worksheet(self, name)
            self.sheets.append(sheet)
            for row in formulas[name].iter_rows():
                for raw in row:
                    value = values[name][raw.coordinate].value if hasattr(raw, "number_format") else None
                    if raw.value is None and raw.number_format == "General":
                        continue
                    cell = sheet.cells.setdefault((raw.row, raw.column), Cell())
                    cell.value = float(value) if type(value) is int else ERROR_CODES.get(value, value)
                    cell.formula = raw.value if raw.data_type == "f" else ""
                    cell.looks["NumberFormat"] = raw.number_format
            sheet.merges += [(a.min_row, a.min_col, a.max_row, a.max_col) for a in formulas[name].merged_cells.ranges]
            sheet.hidden = {int(row) for row, height in formulas[name].row_dimensions.items() if height.hidden}
            for mark, defined in formulas[name].defined_names.items():
                sheet.Names.Add(mark, defined.value)


ERROR_CODES = {
    "#DIV/0!": -2146826281, "#N/A": -2146826246, "#NAME?": -2146826259, "#NULL!": -2146826288, "#NUM!": -2146826252,
    "#REF!": -2146826265, "#VALUE!": -2146826273,
}  # fmt: skip


class Application:
    """Excel itself. ``dynamic`` and ``lambdas`` say how new it is."""

    Hwnd, Version, Path = 1, "16.0", "C:\\Office"
    ScreenUpdating = EnableEvents = DisplayAlerts = True
    Calculation, StatusBar = -4105, False

    def __init__(self, *, dynamic=True, lambdas=True):
        self.dynamic, self.lambdas, self.editing = dynamic, lambdas, False
        self.books, self.calls, self.ActiveWorkbook = [], 0, None

    @property
    def ActiveWindow(self):
        return Window(self.ActiveWorkbook.ActiveSheet)

    @property
    def Workbooks(self):
        return self

    @property
    def Application(self):
        return self

    Count = property(lambda self: len(self.books))


class Window:
    """Excel's window shows the active sheet, and its panes are that sheet's."""

    def __init__(self, sheet):
        vars(self)["sheet"] = sheet

    def __setattr__(self, name, value):
        assert name in {"FreezePanes", "ScrollRow", "ScrollColumn", "SplitRow", "SplitColumn", "DisplayGridlines"}
        self.sheet.window[name] = value
