"""The reader of NVIDIA's boards on a made-up library: its ring, its counter, and what can be wrong."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cltrace.events.power import ProbeState, Quantity
from cltrace.power.readers.nvml import NvmlReader


def no_sleep(_: float) -> None:
    """Time stands still."""


class Library:
    """As much of NVML as is used: a ring that holds 120 samples, a counter, one board."""

    NVML_TOTAL_POWER_SAMPLES = 0
    NVML_FI_DEV_POWER_INSTANT = 186
    NVML_POWER_SCOPE_MEMORY = 2
    NVML_SUCCESS = 0

    class NVMLError(Exception):
        """Any of its errors."""

    class NVMLError_NotFound(NVMLError):  # noqa: N801, N818 - as NVML calls it
        """Nothing is newer."""

    class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818 - as NVML calls it
        """The board does not have it."""

    def __init__(self) -> None:
        self.ring = [(1_795_000_000_000_000 + 20_000 * n, 130_000 + n) for n in range(120)]
        self.energy_mj = 5_000
        self.has_memory = False
        self.fails: type[Exception] | None = None

    def nvmlInit(self) -> None:  # noqa: N802
        if self.fails is not None:
            raise self.fails

    def nvmlShutdown(self) -> None:  # noqa: N802
        """Nothing is kept."""

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetUUID(self, _: int) -> bytes:  # noqa: N802
        return b"GPU-1234"

    def nvmlDeviceGetName(self, _: int) -> str:  # noqa: N802
        return "a board"

    def nvmlDeviceGetPciInfo(self, _: int) -> Any:  # noqa: N802
        return SimpleNamespace(busId="00000000:1B:00.0")

    def nvmlDeviceGetSamples(self, _: int, __: int, last_us: int) -> tuple[int, list[Any]]:  # noqa: N802
        new = [
            SimpleNamespace(timeStamp=at, sampleValue=SimpleNamespace(uiVal=value))
            for at, value in self.ring
            if at >= last_us
        ]
        if not new:
            raise self.NVMLError_NotFound
        return 1, [SimpleNamespace(timeStamp=0, sampleValue=SimpleNamespace(uiVal=0)), *new]

    def nvmlDeviceGetTotalEnergyConsumption(self, _: int) -> int:  # noqa: N802
        self.energy_mj += 13_000
        return self.energy_mj

    def nvmlDeviceGetFieldValues(self, _: int, __: Any) -> list[Any]:  # noqa: N802
        if not self.has_memory:
            raise self.NVMLError_NotSupported
        return [SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=42_000))]


def test_nvml_drains_the_ring_without_repeating_a_sample() -> None:
    library = Library()
    opened = NvmlReader(library=lambda: library).open(0.05)
    ring, counter = opened.channels
    assert ring.device == counter.device == "0000:1b:00.0"
    assert (ring.quantity, counter.quantity) == (Quantity.POWER, Quantity.ENERGY)
    first = [one for one in opened.read() if one.key == ring.key]
    assert [one.raw for one in first] == [130_000 + n for n in range(120)]
    assert np.diff([one.time_ns for one in first]).tolist() == [20_000_000] * 119
    library.ring = [(at + 20_000 * 60, value + 60) for at, value in library.ring]
    again = [one for one in opened.read() if one.key == ring.key]
    assert [one.raw for one in again] == [130_120 + n for n in range(60)]
    assert not any(one.flags for one in again)
    library.ring = [(at + 20_000 * 500, value) for at, value in library.ring]
    late = [one for one in opened.read() if one.key == ring.key]
    assert [bool(one.flags) for one in late] == [True] + [False] * 119


def test_nvml_says_when_the_driver_was_restarted_and_has_memory_where_told() -> None:
    library = Library()
    library.has_memory = True
    opened = NvmlReader(library=lambda: library).open(0.05)
    assert [one.key.rpartition(":")[2] for one in opened.channels] == ["ring", "energy", "memory"]
    assert opened.channels[2].inside == opened.channels[0].key
    list(opened.read())
    library.energy_mj = 0
    assert [int(one.flags) for one in opened.read() if one.key.endswith("energy")] == [1]


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("NVMLError_LibraryNotFound", ProbeState.ABSENT),
        ("NVMLError_DriverNotLoaded", ProbeState.MASKED),
        ("NVMLError_NoPermission", ProbeState.DENIED),
        ("NVMLError_GpuIsLost", ProbeState.UNSUPPORTED),
    ],
)
def test_nvml_tells_its_states(name: str, state: ProbeState) -> None:
    library = Library()
    library.fails = type(name, (Library.NVMLError,), {})
    assert NvmlReader(library=lambda: library).probe().state is state


def test_nvml_without_a_board_and_with_a_frozen_one() -> None:
    library = Library()
    assert NvmlReader("2c:00", library=lambda: library).probe().state is ProbeState.ABSENT
    assert NvmlReader("1b:00", library=lambda: library, sleep=no_sleep).probe().is_ok
    library.nvmlDeviceGetTotalEnergyConsumption = lambda _: 5  # type: ignore[method-assign]
    assert NvmlReader(library=lambda: library, sleep=no_sleep).probe().state is ProbeState.FROZEN
