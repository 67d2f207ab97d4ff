"""What a sweep says of its front: the points in order, the tasks by name, and the sentences to read them with."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.columns import as_percent
from planner.plan.bulk_columns import Words
from planner.plan.sweep_columns import FITS, GAIN, PARETO, REMARK, REMARKS, sweep_header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.plan.bulk_columns import Numbers
    from planner.plan.sweep_points import Swept

DRAWN_TASKS: Final = 6


@dataclass(frozen=True, slots=True)
class Task:
    """Points that do the same work: what it is, and where its front stands in the list, from the fastest on."""

    label: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class FrontView:
    """The front: its columns in order of tasks and speed, and a thin sample of the other points of the first tasks."""

    columns: Mapping[str, Any]
    names: tuple[str, ...]
    tasks: tuple[Task, ...]
    drawn: tuple[Task, ...]
    others: tuple[Numbers, Numbers]
    gain: str
    against: str
    gain_title: str
    against_title: str
    currency: str
    title: str
    sentences: tuple[str, ...]

    def __len__(self) -> int:
        """How many points are on the front."""
        return len(self.columns[self.gain])


def view_of(swept: Swept) -> FrontView:
    """The front of a sweep, ready to be shown."""
    sweep = swept.sweep
    columns = swept.pick(swept.front)
    order = np.lexsort((-columns[GAIN], swept.tasks))
    columns = {
        name: Words(column.codes[order], column.words) if isinstance(column, Words) else column[order]
        for name, column in columns.items()
    }
    numbers = swept.tasks[order]
    changes = np.flatnonzero(np.diff(numbers)) + 1
    ends = [0, *changes.tolist(), len(numbers)] if len(numbers) else []
    tasks = tuple(Task(_label(columns, start, sweep.front), start, stop) for start, stop in itertools.pairwise(ends))
    drawn = tasks[:DRAWN_TASKS]
    of_drawn = np.isin(swept.sample_tasks, [numbers[task.start] for task in drawn])
    beside = np.setdiff1d(swept.sample[of_drawn], swept.front)
    others = swept.pick(beside)
    return FrontView(
        columns=columns,
        names=tuple(name for name in sweep.columns if name not in {PARETO, FITS, REMARK}),
        tasks=tasks,
        drawn=drawn,
        others=(others[GAIN], others[sweep.against]),
        gain=GAIN,
        against=sweep.against,
        gain_title=sweep_header(GAIN, sweep.currency),
        against_title=sweep_header(sweep.against, sweep.currency),
        currency=sweep.currency if sweep.priced else "",
        title=f"Speed per stream against {'cost of output' if sweep.priced else 'throughput per device'}",
        sentences=_sentences(swept, tasks, drawn),
    )


def _label(columns: Mapping[str, Any], row: int, front: str) -> str:
    """A task by its scenario, model and context, as far as tasks are told apart by them."""
    if front == "all":
        return "All points"
    parts = [columns[name].words[columns[name].codes[row]] for name in ("name", "model") if name in columns]
    if front == "task":
        prompt, output = columns["prompt_tokens"][row], columns["output_tokens"][row]
        parts.append(f"{prompt:,.0f}+{output:,.0f}" if prompt == prompt and output == output else "")  # noqa: PLR0124
    return ", ".join(part for part in parts if part) or "All points"


def _sentences(swept: Swept, tasks: tuple[Task, ...], drawn: tuple[Task, ...]) -> tuple[str, ...]:
    sweep, counts = swept.sweep, swept.counts
    said = [_counted(counts)]
    if sweep.priced:
        money = f", in {sweep.currency}" if sweep.currency else ""
        share = sweep.busy_share
        busy = "each scenario's own utilisation" if share is None else f"{as_percent(share)} of the paid hours busy"
        said.append(
            "Cost is all that is paid for the devices for a million output tokens, prompts included, with "
            f"{busy}{money}."
        )
        if counts["unpriced"]:
            said.append(f"{_points(counts['unpriced'])} without a price, on no front.")
    else:
        said.append(
            "No prices are given, so speed is held against the aggregate that each device earns: "
            "where all devices cost the same it is the front of cost as well."
        )
    held = {
        "task": "Points are held against each other within a task: the same model, prompt and output",
        "model": "Points are held against each other within a model, whatever the context",
        "all": "All points are held against each other, whatever model and context",
    }[sweep.front]
    shown = "" if len(drawn) == len(tasks) else f"; the first {len(drawn)} of {len(tasks):,} fronts are drawn"
    said.append(f"{held}. {len(swept.front):,} {'are' if len(swept.front) != 1 else 'is'} on the front{shown}.")
    said.append(
        "Rates are estimates of one stream: points whose ranges overlap may change places. Formats and models differ "
        "in quality, which no figure here shows."
    )
    return tuple(said)


def _counted(counts: Mapping[str, int]) -> str:
    left = {"do not fit in memory": counts["misfits"]} | {remark: counts[remark] for remark in REMARKS[1:]}
    parts = "; ".join(f"{what}: {number:,}" for what, number in left.items() if number)
    return f"{_points(counts['points'])}, {counts['sensible']:,} deployable{f' ({parts})' if parts else ''}."


def _points(number: int) -> str:
    return f"{number:,} point{'' if number == 1 else 's'}"
