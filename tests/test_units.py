import pytest

from planner import units

GIB = 2**30


@pytest.mark.parametrize(
    ("name", "symbol", "dimension"),
    [
        ("device_bandwidth_gb_s", "GB/s", "bandwidth"),
        ("bandwidth_gb_s", "GB/s", "bandwidth"),
        ("fp16_tflop_s", "TFLOP/s", "compute"),
        ("power_w", "W", "power"),
        ("weights_gb", "GB", "size"),
        ("params_b", "billions", "billions"),
        ("weight_bits", "bits", "bits"),
        ("prompt_tokens", "tokens", "tokens"),
        ("tokens_per_sec", "tok/s", "rate"),
        ("prefill_tokens_per_sec", "tok/s", "rate"),
        ("inter_token_latency_ms", "ms", "time_ms"),
        ("response_time_s", "s", "time"),
        ("layer_latency_us", "\u00b5s", "time_us"),
        ("peak_tflop_s", "TFLOP/s", "compute"),
        ("prefill_tflop", "TFLOP", "work"),
        ("kv_bytes_per_token", "B/token", "size_per_token"),
        ("speculative_tokens_per_step", "tokens/step", "tokens_per_step"),
        ("requests_per_hour", "per hour", "frequency"),
        ("requests_at_occupancy_per_hour", "per hour", "frequency"),
        ("batch", "", ""),
        ("efficiency", "", ""),
        ("weights_memory_share", "", ""),
        ("devices", "", ""),
        ("precision", "", ""),
    ],
)
def test_a_names_suffix_declares_its_unit(name, symbol, dimension):
    unit = units.unit_of(name)
    assert (unit.symbol, unit.dimension) == (symbol, dimension)


def test_units_are_shown_with_the_digits_that_make_sense():
    names = ("x_tokens_per_sec", "tokens_per_sec", "x_per_hour", "x_gb_s", "x_tokens", "x_gb", "x_ms", "x_s")
    assert [units.unit_of(name).decimals for name in names] == [2, 2, 1, 1, 0, 1, 2, 3]
    assert [units.unit_of(name).decimals for name in ("x_bits", "x_b", "batch")] == [None, None, None]


def test_a_rate_in_gb_per_second_is_not_taken_for_seconds():
    # `_gb_s` ends in `_s` too: the longest suffix decides.
    assert units.unit_of("usable_bandwidth_gb_s") == units.unit_of("bandwidth_gb_s")
    assert units.unit_of("usable_bandwidth_gb_s") != units.unit_of("response_time_s")


@pytest.mark.parametrize(
    ("dimension", "spelling", "factor"),
    [
        # decimal prefixes step by 1,000, binary ones by 1,024; the unit of a size is 1e9 bytes
        ("size", "B", 1e-9),
        ("size", "kB", 1e-6),
        ("size", "KB", 1e-6),
        ("size", "MB", 1e-3),
        ("size", "GB", 1),
        ("size", "gb", 1),
        ("size", "TB", 1e3),
        ("size", "PB", 1e6),
        ("size", "KiB", 1024 / 1e9),
        ("size", "MiB", 1024**2 / 1e9),
        ("size", "GiB", GIB / 1e9),
        ("size", "gib", GIB / 1e9),
        ("size", "TiB", 1024**4 / 1e9),
        ("size", "Terabytes", 1e3),
        ("size", "terabyte", 1e3),
        ("size", "gigabyte", 1),
        ("size", "gigabytes", 1),
        ("bandwidth", "GB/s", 1),
        ("bandwidth", "GBps", 1),
        ("bandwidth", "GB/sec", 1),
        ("bandwidth", "GB / s", 1),
        ("bandwidth", "TB\u00a0/\u2009s", 1e3),
        ("bandwidth", "TBps", 1e3),
        ("bandwidth", "MB/s", 1e-3),
        ("bandwidth", "GiB/s", GIB / 1e9),
        ("bandwidth", "TiBps", 1024**4 / 1e9),
        ("compute", "TFLOP/s", 1),
        ("compute", "TFLOPS", 1),
        ("compute", "TFLOPs/s", 1),
        ("compute", "petaFLOPS", 1e3),
        ("compute", "PFLOP/s", 1e3),
        ("compute", "GFLOPS", 1e-3),
        ("rate", "tok/s", 1),
        ("rate", "tokens / s", 1),
        ("rate", "Tokens per second", 1),
        ("rate", "t/s", 1),
        ("rate", "TPS", 1),
        ("tokens", "tokens", 1),
        ("tokens", "tok", 1),
        ("billions", "B", 1),
        ("billions", "bn", 1),
        ("billions", "Billion", 1),
        ("billions", "M", 1e-3),
        ("billions", "million", 1e-3),
        ("billions", "millions", 1e-3),
        ("billions", "T", 1e3),
        ("billions", "trillion", 1e3),
        ("billions", "B params", 1),
        ("ratio", "%", 0.01),
        ("ratio", "percent", 0.01),
        ("bits", "bpw", 1),
        ("bits", "bits", 1),
        ("count", "x", 1),
        ("count", "×", 1),
        ("count", "GPUs", 1),
    ],
)
def test_a_spelling_converts_to_the_dimensions_own_unit(dimension, spelling, factor):
    assert units.factor_to(dimension, spelling) == pytest.approx(factor, rel=1e-15)


@pytest.mark.parametrize(
    ("dimension", "spelling"),
    [
        ("size", "GB/s"),
        ("bandwidth", "GB"),
        ("bandwidth", "tok/s"),
        ("rate", "GB/s"),
        ("tokens", "k"),
        ("count", "%"),
        ("ratio", "GB"),
        ("no such dimension", "GB"),
        ("size", ""),
        ("size", "G"),
    ],
)
def test_a_unit_of_another_dimension_has_no_factor(dimension, spelling):
    assert units.factor_to(dimension, spelling) is None


@pytest.mark.parametrize("prefix", ["K", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti"])
@pytest.mark.parametrize("ending", ["", "/s", "ps", "/sec", " / s"])
def test_bits_are_never_taken_for_bytes(prefix, ending):
    # A factor of eight: 'Gb/s' is bits, 'GB/s' bytes.
    bits, its_bytes = f"{prefix}b{ending}", f"{prefix}B{ending}"
    dimension = "bandwidth" if ending else "size"
    assert units.means_bits(bits)
    assert units.factor_to(dimension, bits) is None
    assert units.dimension_of(bits) is None
    assert not units.means_bits(its_bytes)


@pytest.mark.parametrize(
    ("spelling", "dimension"),
    [
        ("GiB", "size"),
        ("TB/s", "bandwidth"),
        ("tok/s", "rate"),
        ("tokens", "tokens"),
        ("%", "ratio"),
        ("GPUs", "count"),
        ("bn", "billions"),
        ("parsecs", None),
        ("", None),
    ],
)
def test_a_spelling_belongs_to_one_dimension(spelling, dimension):
    assert units.dimension_of(spelling) == dimension


def test_every_spelling_is_listed_as_it_is_looked_up():
    for dimension, spellings in units.SPELLINGS.items():
        for spelling, factor in spellings.items():
            assert spelling == "".join(spelling.casefold().split())
            assert units.factor_to(dimension, f" {spelling.upper()} ") in {factor, None}
            # gbps may be gigabits: it is listed with the others and asked about before
            assert units.factor_to(dimension, spelling) == (None if units.means_bits(spelling) else factor)


def test_conversion_factors():
    assert units.BITS_PER_BYTE == 8
    assert units.MS_PER_S == 1_000
    assert units.S_PER_HOUR == 60 * 60
    assert units.US_PER_MS * units.MS_PER_S == 1_000_000
    assert units.BYTES_PER_GB == 10**9
    assert units.FLOP_PER_TFLOP == units.GIGA_PER_TERA * 10**9
