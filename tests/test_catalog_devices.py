import dataclasses
import itertools

import pytest

from planner import catalog
from planner.catalog import devices, find_device, nearest_devices

GIB = 2**30 / 1e9


def test_every_device_has_a_class_a_bandwidth_a_source_and_a_known_confidence():
    for device in devices():
        assert device.class_label
        assert device.bandwidth_gb_s > 0
        assert device.source
        assert device.confidence in {"agreed", "vendor", "derived", "secondary"}
        assert device.memory_basis in {"reported", "marketed", "build choice"}
        assert (device.memory_basis == "reported") == (device.reported_memory_gb is not None)
    assert {device.device_class for device in devices()} == set(catalog.DEVICE_CLASSES)


@pytest.mark.parametrize(
    ("name", "bandwidth_gb_s", "fp16_tflop_s"),
    [
        # the speed table's three devices, and the dense peaks that a sparse datasheet figure doubles
        ("RTX 4090", 1008, 165.2),
        ("A100 SXM 80GB", 2039, 312),
        ("H100 SXM", 3350, 989.4),
        ("H100 PCIe", 2000, 756.5),
        ("MI300X", 5300, 1307.4),
        ("L40S", 864, 362.05),
        ("DGX Spark", 273, 125),
        ("M3 Ultra", 819, None),
        # channels x 8 bytes x transfer rate: 12 x 8 x 4.8
        ("EPYC 9004", 460.8, None),
    ],
)
def test_bandwidth_and_dense_peak(name, bandwidth_gb_s, fp16_tflop_s):
    device = find_device(name)
    assert (device.bandwidth_gb_s, device.fp16_tflop_s) == (bandwidth_gb_s, fp16_tflop_s)


def test_no_peak_is_a_sparse_one():
    # A dense 8-bit peak is at most twice the 16-bit one, but for what datasheets round (L40S: 733 beside 362); FP4 is
    # at most eight times: twice FP8, and GeForce halves FP16 and FP8 where they add up in 32 bits.
    for device in devices():
        if device.fp16_tflop_s:
            assert (device.fp8_tflop_s or 0) <= 2.03 * device.fp16_tflop_s
            assert (device.fp4_tflop_s or 0) <= 8.1 * device.fp16_tflop_s


@pytest.mark.parametrize(
    ("name", "mib"),
    [("H100 SXM", 81_559), ("RTX 4090", 24_564), ("L4", 23_034), ("H200 SXM", 143_771), ("MI300X", 196_592)],
)
def test_memory_is_what_the_card_reports_where_that_is_known(name, mib):
    device = find_device(name)
    assert device.total_memory_gb == pytest.approx(mib * 2**20 / 1e9, abs=5e-4)
    assert device.memory_basis == "reported"


def test_memory_is_else_the_marketed_figure():
    device = find_device("Gaudi 3")
    assert (device.total_memory_gb, device.memory_basis) == (128, "marketed")


def test_reported_memory_is_near_the_marketed_figure_read_as_gib():
    for device in devices():
        if device.reported_memory_gb:
            assert 0.93 <= device.reported_memory_gb / (device.memory_gb * GIB) <= 1.005, device.name


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("h100 sxm", "H100 SXM5 80GB"),
        ("H100-SXM5-80GB", "H100 SXM5 80GB"),
        ("nvidia h100 sxm 80gb", "H100 SXM5 80GB"),
        # as nvidia-smi and rocm-smi print them
        ("NVIDIA H100 80GB HBM3", "H100 SXM5 80GB"),
        ("NVIDIA H100 PCIe", "H100 PCIe 80GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
        ("NVIDIA GeForce RTX 4090", "GeForce RTX 4090 24GB"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada 48GB"),
        ("NVIDIA GH200 480GB", "GH200 96GB HBM3"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Blackwell Server 96GB"),
        ("Tesla V100-SXM2-32GB", "Tesla V100 SXM2 32GB"),
        ("AMD Instinct MI300X", "Instinct MI300X 192GB"),
        # as people type them
        ("rtx4090", "GeForce RTX 4090 24GB"),
        ("4070", "GeForce RTX 4070 12GB"),
        ("A6000", "RTX A6000 48GB"),
        ("l4", "L4 24GB"),
        ("L40", "L40 48GB"),
        ("7900XTX", "Radeon RX 7900 XTX 24GB"),
        ("gaudi3", "Gaudi 3 128GB OAM"),
        ("Google TPU v5e", "TPU v5e"),
        ("strix halo", "Ryzen AI Max+ 395 128GB"),
        ("M4", "Apple M4"),
        ("gb200", "GB200 186GB (per GPU)"),
    ],
)
def test_a_name_is_found_as_people_spell_it(asked, name):
    assert find_device(asked).name == name
    assert find_device(f"  {asked.upper()} ").name == name


@pytest.mark.parametrize("device", devices(), ids=lambda d: d.name)
def test_every_device_is_found_by_its_name(device):
    assert find_device(device.name) is device


def test_no_alias_names_another_device():
    for device, alias in ((d, a) for d in devices() for a in d.aliases):
        assert device in catalog.devices_named(alias), alias
    spelled = [name for d in devices() for name in (d.name, *d.aliases)]
    # The card and its halves are both called MI250X.
    assert {a for a, b in itertools.combinations(sorted(spelled), 2) if a == b} <= {"MI250X"}


@pytest.mark.parametrize(
    ("asked", "left_open"),
    [
        ("H100", ["H100 NVL 94GB", "H100 PCIe 80GB", "H100 SXM5 80GB"]),
        ("H100 80 GB", ["H100 PCIe 80GB", "H100 SXM5 80GB"]),
        ("A100 SXM", ["A100 SXM4 40GB", "A100 SXM4 80GB"]),
        ("GH200", ["GH200 144GB HBM3e", "GH200 96GB HBM3"]),
        ("RTX 3080", ["GeForce RTX 3080 10GB", "GeForce RTX 3080 12GB"]),
        ("MI250X", ["Instinct MI250X 128GB (card)", "Instinct MI250X 64GB (one GCD)"]),
        ("M4 Max", ["Apple M4 Max 32-core", "Apple M4 Max 40-core"]),
    ],
)
def test_a_name_that_leaves_several_open_is_not_found_and_lists_them(asked, left_open):
    assert find_device(asked) is None
    assert nearest_devices(asked) == left_open
    assert [device.name for device in catalog.devices_named(asked)] == left_open


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        # other cards than the ones known, with other memory or clocks
        ("RTX 4090 Laptop", ["GeForce RTX 4090 24GB"]),
        ("RTX 4080 Super", ["GeForce RTX 4070 Ti Super 16GB", "GeForce RTX 4080 16GB"]),
        ("H100 64GB", ["H100 NVL 94GB", "H100 PCIe 80GB", "H100 SXM5 80GB"]),
        # a rack is not a device
        ("GB200 NVL72", ["GB200 186GB (per GPU)"]),
        ("mi300", ["Instinct MI300X 192GB", "Instinct MI350X 288GB"]),
        ("Jetson", ["Jetson AGX Orin 32GB", "Jetson AGX Orin 64GB"]),
        ("nvidia", []),
        ("", []),
        ("zzzz", []),
    ],
)
def test_an_unknown_name_is_not_found_and_gives_the_nearest(asked, near):
    assert find_device(asked) is None
    assert nearest_devices(asked) == near


@pytest.mark.parametrize(
    ("device", "precision", "peak_tflop_s"),
    [
        ("H100 SXM", "BF16", 989.4),
        ("H100 SXM", "FP8", 1978.9),
        ("H100 SXM", "INT8", 1978.9),
        # formats of the weights alone are computed with in 16 bits
        ("H100 SXM", "INT4", 989.4),
        ("H100 SXM", "AWQ", 989.4),
        ("H100 SXM", "Q4_K_M", 989.4),
        ("H100 SXM", 4.5, 989.4),
        ("H100 SXM", "8", 989.4),
        # no peak of its own at that precision
        ("H100 SXM", "NVFP4", 989.4),
        ("A100 SXM 80GB", "FP8", 312),
        ("B200", "NVFP4", 9000),
        ("B200", "MXFP4", 9000),
        # INT8 slower than 16 bits is not used
        ("GB300", "INT8", 2500),
        ("H100 SXM", "FP32", None),
        ("M3 Ultra", "FP16", None),
    ],
)
def test_peak_at_a_precision(device, precision, peak_tflop_s):
    assert find_device(device).peak_tflop_s(precision) == peak_tflop_s


def test_a_device_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        find_device("L4").bandwidth_gb_s = 1
