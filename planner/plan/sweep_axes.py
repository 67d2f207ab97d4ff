"""What a sweep runs over: the lists as people type them, and the grid of all their combinations."""

from __future__ import annotations

import fnmatch
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner import catalog
from planner.columns import BadValueError, Typed, echo, read_value
from planner.issues import PlannerError
from planner.plan.bulk_columns import TEXTS, Codes, Words
from planner.plan.fill import EMPTY_LIBRARY, Library
from planner.plan.scenario import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

ALL: Final = "all"
NATIVE: Final = "native"
_CLASS: Final = "class:"
# More numbers than anybody lists; a slip such as 1..1e12 must not fill the memory.
_MOST_NUMBERS: Final = 100_000
_RANGE: Final = re.compile(r"(?P<first>[\d.]+?)\.\.(?P<last>[\d.]+)(?:(?P<how>[x:])(?P<step>[\d.]+))?")


def parts_of(typed: str | Iterable[Any]) -> list[Any]:
    """The entries of a list: of a text what commas part, of anything else each for itself.

    >>> parts_of(" fp16, fp8,"), parts_of([1, 8])
    (['fp16', 'fp8'], [1, 8])
    """
    if isinstance(typed, str):
        return [part.strip() for part in typed.split(",") if part.strip()]
    return [part for entry in typed for part in (parts_of(entry) if isinstance(entry, str) else [entry])]


def read_devices(typed: str | Iterable[str], library: Library = EMPTY_LIBRARY) -> list[str]:
    """Devices by name, pattern (``H100*``), class (``class:nv-dc-hbm``), or all; each once, as the catalogue has them.

    Raises PlannerError with every entry that names none or leaves open which.
    """
    own = [device for device, _ in library.devices]

    def of_class(words: str) -> list[str]:
        known = {key.casefold(): code for code, label in catalog.DEVICE_CLASSES.items() for key in (code, label)}
        if words.casefold() not in known:
            raise PlannerError(
                f"No class of devices is called {echo(words)}; expected one of {', '.join(catalog.DEVICE_CLASSES)}."
            )
        code = known[words.casefold()]
        return [device.name for device in (*own, *catalog.devices()) if device.device_class == code]

    names = [device.name for device in (*own, *catalog.devices())]
    return _names("device", typed, names, library.find_device, library.nearest_devices, of_class=of_class)


def read_models(typed: str | Iterable[str], library: Library = EMPTY_LIBRARY) -> list[str]:
    """Models by name, pattern (``qwen3*``), or all; each once, as the catalogue has them.

    Raises PlannerError with every entry that names none or leaves open which.
    """
    names = [model.name for model in (*(model for model, _ in library.models), *catalog.models())]
    return _names("model", typed, names, library.find_model, library.nearest_models)


def _names(
    kind: str,
    typed: str | Iterable[str],
    known: Sequence[str],
    find: Callable[[str], list[Any]],
    nearest: Callable[[str], list[str]],
    *,
    of_class: Callable[[str], list[str]] | None = None,
) -> list[str]:
    found: list[str] = []
    wrong: list[str] = []
    for entry in map(str, parts_of(typed)):
        matches = find(entry)
        if len(matches) == 1:
            found.append(matches[0][0].name)
        elif entry.casefold() == ALL:
            found += known
        elif of_class and entry.casefold().startswith(_CLASS):
            found += of_class(entry[len(_CLASS) :].strip())
        elif "*" in entry:
            fitting = [name for name in known if fnmatch.fnmatch(name.casefold(), entry.casefold())]
            found += fitting
            wrong += [] if fitting else [f"no {kind} fits {entry}"]
        elif matches:
            wrong.append(f"{entry} leaves open which {kind}: {_either([one[0].name for one in matches])}")
        else:
            near = nearest(entry)
            hint = f", did you mean {_either(near)}?" if near else f"; `planner catalog {kind}s` shows them all"
            wrong.append(f"no {kind} is named {entry}{hint}")
    if wrong:
        raise PlannerError(_sentence(wrong))
    return list(dict.fromkeys(found))


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _sentence(wrong: Sequence[str]) -> str:
    said = "; ".join(wrong)
    return said[0].upper() + said[1:] + ("" if said.endswith("?") else ".")


def read_words(name: str, typed: str | Iterable[Any]) -> list[str]:
    """Texts of a scenario's column, each once, as the column understands them; ``native`` stands for a blank.

    Raises PlannerError with every entry that the column refuses.
    """
    found, wrong = [], []
    for entry in parts_of(typed):
        if str(entry).casefold() == NATIVE:
            found.append("")
            continue
        try:
            found.append(str(read_value(name, COLUMNS[name], Typed(entry)).value))
        except BadValueError as bad:
            wrong.append(f"{bad.problem}; expected {bad.accepted}")
    if wrong:
        raise PlannerError(_sentence(wrong))
    return list(dict.fromkeys(found))


def read_numbers(name: str, typed: str | float | Iterable[Any]) -> list[float]:
    """Numbers of a scenario's column, each once: plain, ``1..8``, ``1000..8000:500``, or ``1..128x2`` for doubling.

    Raises PlannerError with every entry that is no number or that the column refuses.

    >>> read_numbers("batch", "1..8x2,12")
    [1.0, 2.0, 4.0, 8.0, 12.0]
    """
    found: list[float] = []
    wrong: list[str] = []
    for entry in parts_of([typed] if isinstance(typed, int | float) else typed):
        try:
            numbers = [read_value(name, COLUMNS[name], Typed(number)).value for number in _run(name, entry)]
        except BadValueError as bad:
            wrong.append(f"{bad.problem}; expected {bad.accepted}")
        else:
            found += map(float, numbers)
    if wrong:
        raise PlannerError(_sentence(wrong))
    return list(dict.fromkeys(found))


def _run(name: str, entry: Any) -> Iterable[Any]:
    """The numbers of one entry, a range or not."""
    span = _RANGE.fullmatch(entry.replace(" ", "")) if isinstance(entry, str) else None
    if span is None:
        return [entry]
    label, accepted = COLUMNS[name].label, "a range such as 1..8, 1000..8000:500 or 1..128x2"
    try:
        first, last, step = float(span["first"]), float(span["last"]), float(span["step"] or 1)
    except ValueError:
        raise BadValueError(f"{label} is {echo(entry)}, not a range", accepted) from None
    grows = span["how"] == "x"
    if first > last or (first <= 0 if grows else False) or step <= (1 if grows else 0):
        raise BadValueError(f"{label} is {echo(entry)}, a range that goes nowhere", accepted)
    count = math.log(last / first) / math.log(step) if grows else (last - first) / step
    if count >= _MOST_NUMBERS:
        raise BadValueError(f"{label} is {echo(entry)}, {count:,.0f} numbers", f"at most {_MOST_NUMBERS:,}")
    steps = range(math.floor(count + 1e-9) + 1)
    return [first * step**n if grows else first + step * n for n in steps]


def read_contexts(typed: str | Iterable[Any]) -> list[tuple[float, float]]:
    """Prompt and output of a request: ``2000+500``, of which each side may be a range; pairs are taken as they are.

    Raises PlannerError with every entry that is not such a pair.

    >>> read_contexts("2000+500, 1000..4000x2+100")
    [(2000.0, 500.0), (1000.0, 100.0), (2000.0, 100.0), (4000.0, 100.0)]
    """
    found: list[tuple[float, float]] = []
    wrong: list[str] = []
    for entry in parts_of(typed):
        sides = entry.split("+") if isinstance(entry, str) else list(entry) if isinstance(entry, tuple | list) else []
        if len(sides) != 2:  # noqa: PLR2004  a prompt and an output
            wrong.append(f"context is {echo(str(entry))}; expected prompt and output in tokens, such as 2000+500")
            continue
        try:
            prompts, outputs = (
                read_numbers(name, [side]) for name, side in zip(("prompt_tokens", "output_tokens"), sides, strict=True)
            )
            found += [(prompt, output) for prompt in prompts for output in outputs]
        except PlannerError as error:
            wrong.append(str(error).rstrip("."))
    if wrong:
        raise PlannerError(_sentence(wrong))
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a sweep: what it is called, and the fields that it sets, a column each of the same length."""

    name: str
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, fields: Mapping[str, Iterable[Any]]) -> Axis:
        """An axis of these values by field."""
        made: dict[str, Any] = {}
        for field_name, values in fields.items():
            listed = list(values)
            made[field_name] = Words.of(listed) if field_name in TEXTS else np.array(listed, np.float64)
        return cls(name, made)

    def __len__(self) -> int:
        """How many steps there are."""
        return len(next(iter(self.fields.values())))

    def codes(self, names: Iterable[str]) -> tuple[Codes, int]:
        """Which steps are alike in these fields, by number, and how many kinds there are."""
        columns = [self.fields[name] for name in names if name in self.fields]
        if not columns:
            return np.zeros(len(self), np.int64), 1
        rows = [column.codes if isinstance(column, Words) else column for column in columns]
        kinds: dict[tuple[float, ...], int] = {}
        codes = [kinds.setdefault(tuple(row), len(kinds)) for row in np.nan_to_num(np.array(rows, float).T).tolist()]
        return np.array(codes, np.int64), len(kinds)


@dataclass(frozen=True)
class Grid:
    """Every combination of the axes' steps, the last axis fastest, and what is the same in all of them."""

    axes: tuple[Axis, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many steps each axis has."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """How many points there are."""
        return math.prod(self.shape)

    def steps(self, start: int, stop: int) -> list[Codes]:
        """At which step of each axis the points from one number to another stand."""
        return [np.asarray(steps) for steps in np.unravel_index(np.arange(start, stop), self.shape)]

    def columns(self, start: int, stop: int) -> dict[str, Any]:
        """The typed columns of some points."""
        columns = dict(self.fixed)
        for axis, steps in zip(self.axes, self.steps(start, stop), strict=True):
            for name, column in axis.fields.items():
                words = isinstance(column, Words)
                columns[name] = Words(column.codes[steps], column.words) if words else column[steps]
        return columns

    def groups(self, names: Iterable[str]) -> tuple[Callable[[int, int], Codes], int]:
        """What numbers points from 0 by what they have in these fields, and how many numbers there are."""
        names = tuple(names)
        coded = [axis.codes(names) for axis in self.axes]

        def numbered(start: int, stop: int) -> Codes:
            number = np.zeros(stop - start, np.int64)
            for (codes, kinds), steps in zip(coded, self.steps(start, stop), strict=True):
                number = number * kinds + codes[steps]
            return number

        return numbered, math.prod(kinds for _, kinds in coded)
