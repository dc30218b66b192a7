"""Work-group sizes of launches without one, as NVIDIA's driver chose them on an H200."""

import pytest

from cltrace.kernels import Machine
from cltrace.kernels.counts.traced_launches import usual_local_size

MEASURED = {
    (1,): (1,), (31,): (31,), (257,): (257,), (502,): (251,), (509,): (509,), (512,): (256,),
    (993,): (993,), (1000,): (250,), (1021,): (1021,), (1023,): (93,), (1024,): (256,),
    (1025,): (205,), (1559,): (1,), (1565,): (313,), (2039,): (1,), (4078,): (2,), (6126,): (1021,),
    (10_000,): (250,), (65_537,): (1,), (95_488,): (256,), (412_462,): (761,), (1_000_003,): (1,),
    (1 << 22,): (256,),
    (1, 1024): (1, 1), (3, 2048): (3, 1), (16, 16): (16, 1), (64, 600): (64, 1), (97, 97): (97, 1),
    (509, 1080): (509, 1), (600, 600): (200, 1), (1021, 33): (1021, 1), (1080, 2048): (216, 1),
    (1920, 1920): (240, 1), (2048, 2048): (256, 1),
    (2, 33, 256): (2, 1, 1), (8, 8, 8): (8, 1, 1), (17, 240, 97): (17, 1, 1),
    (160, 160, 160): (160, 1, 1), (240, 16, 128): (240, 1, 1), (256, 256, 256): (256, 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("size", MEASURED, ids=str)
def test_a_gpu_takes_items_of_the_first_dimension(size: tuple[int, ...]) -> None:
    assert usual_local_size(size, Machine()) == MEASURED[size]


def test_a_cpu_has_a_common_size() -> None:
    assert usual_local_size((1024, 1024), Machine.of_cpu(4)) == (16, 16)
    assert usual_local_size((97, 2, 6), Machine.of_cpu(4)) == (1, 2, 3)
