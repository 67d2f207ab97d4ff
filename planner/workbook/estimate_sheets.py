"""The Estimate and Memory sheets: what the core leaves out, and what fits, each term in a column of its own."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

from planner.plan.basis import is_counted, memory_fits, weights_fit
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.plan.resolve import DEFAULT, TYPED
from planner.plan.scenario import COLUMNS
from planner.plan.study import LARGE
from planner.units import SLACK
from planner.workbook.layout import AMBER_PALE, GREY, NAVY, RUST, RUST_PALE, CellOut, Rule, Sheet, Style
from planner.workbook.row_sheet import Bits, Given, Made, Part, Repeat, RowSheet, Said, Setting, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.plan.study import Case, Study
    from planner.workbook.results_sheet import Writing

UNSTABLE: Final = "unstable"
_SOURCE_COLUMN, _FIELDS_COLUMN, _FIELDS_WIDTH = 1, 7, 120


def _left_out(case: Case) -> str | None:
    return "; ".join(case.result.not_modelled) or None


def _not_modelled(_: RowSheet, case: Case, *__: Any) -> tuple[Any, str]:
    return _left_out(case), ""


def _waited(case: Case) -> Any:
    utilisation = case.result.utilisation
    return UNSTABLE if utilisation is not None and utilisation >= 1 else case.result.queue_wait_s


def _wait(sheet: RowSheet, case: Case, row: int, known: Mapping[str, Any]) -> tuple[Any, str]:
    """The wait, or that there is none to name: at or above capacity the queue only grows."""
    _, call = sheet.figure("queue_wait_s", row, case, known)
    shown = _waited(case)
    if not call:
        return shown, ""
    load = sheet.at("utilisation", row)
    return shown, f'=IF(ISNUMBER({load}),IF({load}>=1,"{UNSTABLE}",{call.removeprefix("=")}),"")'


def _verdict(case: Case) -> str | None:
    whole, of_weights = memory_fits(case.result), weights_fit(case.result)
    return {True: "yes", False: "no", None: {True: "weights fit", False: "no", None: None}[of_weights]}[whole]


def _fits(sheet: RowSheet, case: Case, row: int, _: Mapping[str, Any]) -> tuple[Any, str]:
    """Whether all of it fits; where the cache is not known, whether the weights alone do."""
    if not is_counted(case.result):
        return None, ""
    needed, usable, weights = (sheet.at(name, row) for name in ("memory_needed_gb", "usable_memory_gb", "weights_gb"))
    limit = f"{usable}*(1+{SLACK:.0E})"
    alone = f'IF(COUNT({weights},{usable})=2,IF({weights}<={limit},"weights fit","no"),"")'
    return _verdict(case), f'=IF(COUNT({needed},{usable})=2,IF({needed}<={limit},"yes","no"),{alone})'


_MEMORY_PARTS: Final = (
    Part(
        "Does it fit?",
        (
            Said(
                "fits", "Fits", align="center", cell=_fits, value=_verdict,
                note="Needed against usable memory of all devices.",
            ),
            Made("devices_needed", "Devices needed"),
            Repeat("devices", "Devices there"),
        ),
    ),
    Part(
        "All devices together (GB)",
        (
            Made("memory_needed_gb", "Needed, all devices"),
            Made("usable_memory_gb", "Usable, all devices"),
            Repeat("weights_gb", "Weights, all devices"),
            Made("kv_cache_gb", "KV cache, all devices"),
            Given("overhead_gb", "Overhead, all devices"),
        ),
    ),
    Part(
        "How many streams, how long a context",
        (
            Made("streams_that_fit", "Streams that fit"),
            Repeat("batch", "Streams asked for"),
            Made("longest_context_tokens", "Longest context"),
            Made("final_context_tokens", "Context asked for"),
        ),
    ),
    Part(
        "One device",
        (Repeat("device_memory_gb", "Memory, one device"), Given("usable_share", "Usable share")),
    ),
    Part(
        "KV cache of one stream",
        (
            Made("kv_bytes_per_token", "KV per token, one copy"),
            Made("reserved_kv_bytes_per_token", "With copies, all devices"),
            Made("reserved_context_tokens"),
            Made("kv_room_tokens", "Room for each stream"),
        ),
    ),
    Part(
        "Inputs of the cache",
        (
            Given("layers"), Given("kv_layers"), Given("kv_heads"), Given("head_dim"), Given("kv_precision"),
            Bits("kv_bits", of="kv_precision"), Given("kv_lora_rank"), Given("rope_dim"), Given("full_layers"),
            Given("window_tokens"), Setting("window_reserve", "Window reserve, at the run"),
            Repeat("prompt_tokens"), Repeat("output_tokens"),
        ),
    ),
)  # fmt: skip
MEMORY_COLUMNS: Final = columns_of(_MEMORY_PARTS)

_ESTIMATE_PARTS: Final = (
    Part(
        "Estimate per stream",
        (
            Made("low_tokens_per_sec"),
            Made("estimated_tokens_per_sec", "Estimate"),
            Made("high_tokens_per_sec"),
            Repeat("tokens_per_sec", "Core, for comparison"),
        ),
    ),
    Part(
        "What people get",
        (
            Made("estimated_aggregate_tokens_per_sec", "Aggregate, all streams"),
            Made("step_time_ms", "Time of a step"),
            Made("prefill_s", "Time to first token (prefill)"),
            Made("estimated_response_time_s", "Response time"),
            Made("estimated_requests_per_hour", "Requests served"),
        ),
    ),
    Part(
        "Under the offered load",
        (
            Made("utilisation"),
            Said("queue_wait_s", "Wait for a free stream (s)", align="right", shown="#,##0.000", cell=_wait,
                 value=_waited,
                 note="Mean, Allen-Cunneen approximation; at or above capacity the queue only grows."),
        ),
    ),
    Part(
        "Left out",
        (Said("not_modelled", "Not modelled (at the run)", 52.0, cell=_not_modelled, value=_left_out,
              note="What the estimate does not count, with the input that would let it."),),
    ),
    Part(
        "Reading",
        (
            Made("mean_context_tokens"), Made("expert_params_b"), Made("params_read_b"), Made("weights_read_gb"),
            Made("kv_read_gb", "KV read, all streams"), Made("read_bandwidth_gb_s"), Made("decode_memory_ms"),
        ),
    ),
    Part(
        "Computing",
        (Made("decode_tflop"), Made("decode_compute_ms"), Made("added_compute_ms"), Made("batch_crossover")),
    ),
    Part(
        "Prefill and its stalls",
        (
            Made("prefill_tflop"), Made("prefill_compute_s"), Made("shared_prefill_s"), Made("stall_ms"),
            Made("step_overhead_ms"),
        ),
    ),
    Part("With a draft", (Made("speculative_tokens_per_step"), Made("speculative_step_ms"))),
    Part("Then", (Made("read_ceiling_tokens_per_sec"), Made("estimated_generation_time_s"))),
    Part(
        "Chosen at the run",
        (
            Setting("device"), Setting("device_class"), Setting("engine"), Setting("split"), Setting("arithmetic"),
            Setting("prefill_on"),
        ),
    ),
    Part(
        "Measured constants, or your own",
        (
            Given("fetch_efficiency"), Given("layer_latency_us"), Given("stream_overhead_us"), Given("mfu"),
            Given("prefill_mfu"), Given("stall_mfu"), Given("low_factor"), Given("high_factor"),
        ),
    ),
    Part(
        "Inputs of the estimate",
        (
            Given("peak_tflop_s"), Given("active_params_b"), Given("active_weights_gb"), Given("streamed_params_b"),
            Given("experts"), Given("active_experts"), Given("expert_precision"),
            Bits("expert_bits", of="expert_precision"), Given("heads"), Given("cached_tokens"),
            Given("draft_tokens"), Given("acceptance"), Given("draft_step_ms"), Given("offered_requests_per_hour"),
            Given("replicas"),
        ),
    ),
    Part(
        "As on Memory",
        tuple(
            Repeat(name, sheet="Memory")
            for name in ("kv_bytes_per_token", "layers", "head_dim", "kv_layers", "full_layers", "window_tokens")
        ),
    ),
    Part(
        "As on Results",
        tuple(
            Repeat(name)
            for name in (
                "params_b", "weight_bits", "weights_gb", "device_bandwidth_gb_s", "devices", "bandwidth_gb_s", "batch",
                "prompt_tokens", "output_tokens", "prefill_tokens_per_sec", "response_time_s", "requests_per_hour",
            )
        ),
    ),
)  # fmt: skip
ESTIMATE_COLUMNS: Final = columns_of(_ESTIMATE_PARTS)


def estimate_sheet(study: Study, writing: Writing) -> Sheet:
    """What a scenario is estimated to do, summary first, and every term behind it as a live call."""
    sheet = RowSheet(
        study,
        writing,
        "Estimate",
        _ESTIMATE_PARTS,
        "Estimate: the core, with KV reads, latencies, experts, prefill stalls and load counted",
        "Figures follow your edits of the scenario sheet. What the run chose stays until the next run: device, engine, "
        "split, arithmetic, prefill, and the values filled in from catalogue and measurements (listed below the "
        "table). 8 in 10 measurements lie between low and high.",
        {"Memory": MEMORY_COLUMNS},
        # A load typed later counts at once: nothing else depends on it.
        {"utilisation": {"offered_requests_per_hour": 1.0}, "queue_wait_s": {"utilisation": 0.5}},
    )
    return sheet.describe(_estimate_rules(sheet), list(_sources(sheet)))


def _estimate_rules(sheet: RowSheet) -> list[Rule]:
    def cell(name: str) -> str:
        return sheet.at(name, fix_column=True)

    rate, load, crossover, batch = (
        cell(name) for name in ("estimated_tokens_per_sec", "utilisation", "batch_crossover", "batch")
    )
    slow = f"AND(ISNUMBER({rate}),{rate}<{READING_PACE_TOKENS_PER_SEC:g})"
    full = f"AND(ISNUMBER({load}),{load}>=1)"
    binds = f"AND(ISNUMBER({crossover}),ISNUMBER({batch}),{batch}>={crossover})"
    return [
        Rule(sheet.area("estimated_tokens_per_sec"), slow, RUST_PALE, RUST, bold=True),
        Rule(sheet.area("utilisation"), full, RUST_PALE, RUST, bold=True),
        Rule(sheet.area("queue_wait_s"), full, RUST_PALE, RUST, bold=True),
        Rule(sheet.area("batch_crossover"), binds, AMBER_PALE),
    ]


def _sources(sheet: RowSheet) -> Iterator[CellOut]:
    """Where each value that was not typed comes from, below the table."""
    row = sheet.last_row + 2
    head, text = Style(bold=True, colour=NAVY), Style(colour=GREY)
    yield CellOut(row, 0, "Where filled values come from", style=head)
    yield CellOut(row, _SOURCE_COLUMN, "Source", style=head)
    yield CellOut(row, _FIELDS_COLUMN, "Fills", style=head)
    for name, sources in _filled_alike(sheet.study):
        fields: dict[str, list[str]] = {}
        for field, source in sources.items():
            if source != TYPED:
                fields.setdefault(source, []).append(COLUMNS[field].label)
        ordered = sorted(fields.items(), key=lambda pair: pair[0] == DEFAULT)
        for number, (source, names) in enumerate(ordered):
            row += 1
            yield CellOut(row, 0, None if number else name, style=Style())
            yield CellOut(row, _SOURCE_COLUMN, source, style=text)
            lines = textwrap.wrap(", ".join(names), _FIELDS_WIDTH)
            for offset, line in enumerate(lines):
                yield CellOut(row + offset, _FIELDS_COLUMN, line, style=text)
            row += len(lines) - 1


def _filled_alike(study: Study) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each scenario with where its fields came from; of a large study once for all that were filled alike."""
    if len(study.cases) <= LARGE:
        yield from ((case.name, case.result.sources) for case in study.cases)
        return
    # Most share one record; those that hold the same in records of their own are alike too.
    by_record: dict[int, list[Case]] = {}
    for case in study.cases:
        by_record.setdefault(id(case.result.sources), []).append(case)
    alike: dict[frozenset[tuple[str, str]], list[Case]] = {}
    for cases in by_record.values():
        alike.setdefault(frozenset(cases[0].result.sources.items()), []).extend(cases)
    for cases in alike.values():
        more = f" and {len(cases) - 1:,} more filled alike" if len(cases) > 1 else ""
        yield f"{cases[0].name}{more}", cases[0].result.sources


def memory_sheet(study: Study, writing: Writing) -> Sheet:
    """What weights, cache and overhead need and what is there; how many streams, how long a context."""
    sheet = RowSheet(
        study,
        writing,
        "Memory",
        _MEMORY_PARTS,
        "Memory: what is needed and what is there, in GB of 1e9 bytes",
        "Needed = weights + KV cache of every stream + overhead; usable = memory of all devices x usable share. "
        "'Weights fit': the cache is not known, the weights alone fit. Rust: more is asked for than fits.",
    )
    return sheet.describe(_memory_rules(sheet))


def _memory_rules(sheet: RowSheet) -> list[Rule]:
    def more(asked: str, there: str) -> str:
        one, other = sheet.at(asked, fix_column=True), sheet.at(there, fix_column=True)
        return f"AND(ISNUMBER({one}),ISNUMBER({other}),{one}>{other})"

    verdict = f'{sheet.at("fits", fix_column=True)}="no"'
    return [
        *(Rule(sheet.area(name), verdict, RUST_PALE, RUST, bold=True) for name in ("fits", "memory_needed_gb")),
        Rule(sheet.area("devices_needed"), more("devices_needed", "devices"), RUST_PALE, RUST, bold=True),
        Rule(sheet.area("streams_that_fit"), more("batch", "streams_that_fit"), RUST_PALE, RUST, bold=True),
        Rule(
            sheet.area("longest_context_tokens"),
            more("final_context_tokens", "longest_context_tokens"),
            RUST_PALE,
            RUST,
            bold=True,
        ),
    ]
