"""Measuring what work draws: as warm as it gets, and by the device's own sensors."""

import numpy as np
import pytest

from cltrace.errors import PowerError
from cltrace.events.power import Scope
from cltrace.measure.clocks import NoClocks
from cltrace.power.calibration import CalibrationDurations, DeviceChannels, WarmUp
from cltrace.power.metering import MeteredChannel
from tests.channels import power_channel


class _Heating:
    """A device that is a degree warmer every half second, for five seconds."""

    def __init__(self) -> None:
        self.spent_s = 0.0

    def read(self) -> tuple[int, int]:
        return 1980, 40 + min(int(2 * self.spent_s), 10)


def test_what_is_measured_is_as_warm_as_it_gets() -> None:
    clocks = _Heating()
    warming = WarmUp(clocks, CalibrationDurations(warm_s=0.5, max_warm_s=20.0))
    while not warming(clocks.spent_s):
        clocks.spent_s += 0.02
    assert warming.temperature_c == 50
    assert clocks.spent_s < 7.6


def meter(
    key: str, scope: Scope, watts: int = 50, device: str = "", inside: str = ""
) -> MeteredChannel:
    """A channel with ten readings."""
    channel = power_channel(key=key, label=key, scope=scope, inside=inside, device=device)
    times = np.arange(10, dtype=np.int64) * 10**8
    return MeteredChannel(
        channel, times, np.zeros_like(times), np.full_like(times, watts), np.zeros_like(times)
    )


def test_a_device_is_calibrated_by_its_own_sensors() -> None:
    board, package = meter("g", Scope.GPU, 777, "0000:01:00.0"), meter("p0", Scope.CPU)
    for kind, mine in (("gpu", board), ("cpu", package)):
        found = DeviceChannels.of([board, package], kind)
        assert found.main.power_w.tolist() == mine.observations.power_w.tolist()
        assert found.other is None
    with pytest.raises(PowerError, match="sensors of 2 processors"):
        DeviceChannels.of([package, meter("p1", Scope.CPU)], "cpu")
    inside = [meter(f"p{n}", Scope.CPU, inside="psys") for n in range(2)]
    assert DeviceChannels.of([meter("psys", Scope.PLATFORM), *inside], "cpu").other is None
    with pytest.raises(PowerError, match="sensors of 2 devices"):
        DeviceChannels.of([board, meter("h", Scope.GPU, 50, "0000:02:00.0")], "gpu")
    with pytest.raises(PowerError, match="no sensor of a gpu"):
        DeviceChannels.of([package], "gpu")


def test_warming_ends() -> None:
    clocks = _Heating()
    warming = WarmUp(clocks, CalibrationDurations(warm_s=0.5, max_warm_s=2.0))
    while not warming(clocks.spent_s):
        clocks.spent_s += 0.02
    assert clocks.spent_s == pytest.approx(2.0, abs=0.05)
    unknown = WarmUp(NoClocks(), CalibrationDurations(warm_s=0.5))
    assert not unknown(0.4)
    assert unknown(0.5)
    assert unknown.temperature_c is None
