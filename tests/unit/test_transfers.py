"""Predicted times of transfers: through what was measured, and never less for more bytes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.errors import ProfileError
from cltrace.events.workloads import Direction, HostMemory, Transfer
from cltrace.predict.transfers import TransferModel
from cltrace.profile import DeviceProfile, Point, load_profile

H200 = load_profile("nvidia-h200")
CPU = load_profile("pocl-cpu")


def test_transfers_go_through_what_was_measured() -> None:
    model = TransferModel.of(H200)
    points = H200.points("transfers", "pageable to device")
    for point in points:
        one = Transfer(Direction.TO_DEVICE, HostMemory.PAGEABLE, int(point.x))
        assert model.predict(one).duration_ns == pytest.approx(point.median_ns, rel=0.05)
    largest = max(points, key=lambda point: point.x)
    twice = Transfer(Direction.TO_DEVICE, HostMemory.PAGEABLE, 2 * int(largest.x))
    assert model.predict(twice).duration_ns == pytest.approx(2 * largest.median_ns)
    with pytest.raises(ProfileError, match="no transfers"):
        TransferModel.of(replace(H200, families={}))


def transfer_points(times: list[float], deviations: list[float]) -> tuple[Point, ...]:
    """Points of a route at 4 B, 64 B, 1 KiB and so on."""
    return tuple(
        Point(
            series="pageable to device",
            x=4.0 * 16**number,
            runs=4,
            mean_ns=time_ns,
            deviation_ns=deviation * time_ns,
            median_ns=time_ns,
            min_ns=time_ns,
            is_settled=False,
        )
        for number, (time_ns, deviation) in enumerate(zip(times, deviations, strict=False))
    )


SIZES = st.integers(1, 1 << 36)


@given(
    st.lists(st.floats(1.0, 1e12), min_size=1, max_size=7),
    st.lists(st.floats(0.0, 5.0), min_size=7, max_size=7),
    SIZES,
    SIZES,
)
def test_a_larger_transfer_never_takes_less(
    times: list[float], deviations: list[float], one: int, other: int
) -> None:
    """Whatever was measured, such as 2 kB that took longer than 1 MB on a busy machine."""
    families = {"transfers": transfer_points(times, deviations)}
    model = TransferModel.of(replace(H200, families=families))
    smaller, larger = (
        model.predict(Transfer(Direction.TO_DEVICE, HostMemory.PAGEABLE, size))
        for size in sorted((one, other))
    )
    assert smaller.duration_ns <= larger.duration_ns * (1 + 1e-12)
    assert smaller.interval_ns is not None
    assert larger.interval_ns is not None
    for low, high in zip(smaller.interval_ns, larger.interval_ns, strict=True):
        assert low <= high * (1 + 1e-12)
    assert sum(part.time_ns for part in larger.parts) == pytest.approx(larger.duration_ns)


@pytest.mark.parametrize("profile", [H200, CPU], ids=["gpu", "cpu"])
@pytest.mark.parametrize("memory", HostMemory)
@pytest.mark.parametrize("direction", Direction)
def test_two_kilobytes_never_take_longer_than_a_megabyte(
    profile: DeviceProfile, memory: HostMemory, direction: Direction
) -> None:
    model = TransferModel.of(profile)
    times = [
        model.predict(Transfer(direction, memory, size)).duration_ns
        for size in (1, 2_000, 1_000_000, 1 << 30)
    ]
    assert times == sorted(times)


def test_a_precise_transfer_weighs_more_than_a_noisy_one() -> None:
    points = transfer_points([1e3, 9e6, 2e3], [0.01, 2.0, 0.01])
    model = TransferModel.of(replace(H200, families={"transfers": points}))
    small = model.predict(Transfer(Direction.TO_DEVICE, HostMemory.PAGEABLE, 64)).duration_ns
    assert small == pytest.approx(2e3, rel=0.2)
