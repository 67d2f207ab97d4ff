import pytest

from planner import catalog


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        # model: 32, 16, 8, 6, 4 bits; block formats at their true bits per weight
        ("FP32", 32),
        ("BF16", 16),
        ("FP16", 16),
        ("FP8", 8),
        ("INT8", 8),
        ("FP6", 6),
        ("FP4", 4),
        ("INT4", 4),
        # 32 four-bit elements and one 8-bit scale: 4 + 8 / 32
        ("MXFP4", 4 + 8 / 32),
        # 16 four-bit elements and one 8-bit scale: 4 + 8 / 16
        ("NVFP4", 4 + 8 / 16),
        # groups of 128 with a 16-bit scale and a 4-bit zero point: 4 + 20 / 128 = 4.15625, printed 4.156
        ("AWQ", 4.156),
        ("GPTQ", 4.156),
        # blocks of 32 with a 16-bit scale: 8 + 16 / 32, 4 + 16 / 32
        ("Q8_0", 8.5),
        ("Q4_0", 4.5),
        ("Q6_K", 6.5625),
        ("Q5_K_M", 5.67),
        ("Q4_K_M", 4.85),
        ("Q3_K_M", 3.9),
        ("Q2_K", 2.96),
    ],
)
def test_bits_per_weight_of_every_precision(name, bits):
    assert catalog.precision_bits(name) == bits


def test_the_table_holds_these_precisions_and_each_has_a_source():
    assert len(catalog.precisions()) == 19
    assert all(precision.source for precision in catalog.precisions())


def test_no_spelling_names_two_precisions():
    spellings = [
        (catalog.precision_key(spelling), precision.name)
        for precision in catalog.precisions()
        for spelling in (precision.name, *precision.aliases)
    ]
    assert dict(spellings) == dict(reversed(spellings))
    assert all(key and not set(key) & set("#~*? ") for key in catalog.precision_keys())


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("half", "FP16"),
        ("float16", "FP16"),
        ("bfloat16", "BF16"),
        ("E4M3", "FP8"),
        ("w8a8", "INT8"),
        ("8-bit", "INT8"),
        ("4 bit", "INT4"),
        ("W4A16", "INT4"),
        ("q4_k_m", "Q4_K_M"),
        ("Q4-K-M", "Q4_K_M"),
        ("q8_0", "Q8_0"),
        ("awq-int4", "AWQ"),
        ("single", "FP32"),
    ],
)
def test_aliases(alias, name):
    assert catalog.find_precision(alias).name == name


@pytest.mark.parametrize("name", ["", "FP17", "16", "Q4_K_S", "FP*", "FP1?", "tf32"])
def test_unknown_names_are_not_found(name):
    assert catalog.find_precision(name) is None


def test_bits_may_be_written_as_a_number_and_nothing_else():
    assert catalog.precision_bits("4.85") == 4.85
    with pytest.raises(ValueError, match="FP17"):
        catalog.precision_bits("FP17")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("FP17", ["FP16", "FP8", "FP6"]),
        ("INT5", ["INT8", "INT4", "AWQ"]),
        ("zzzz", []),
        ("q4ks", ["Q4_K_M", "Q6_K", "Q4_0"]),
    ],
)
def test_nearest_precisions(name, nearest):
    assert catalog.nearest_precisions(name) == nearest
