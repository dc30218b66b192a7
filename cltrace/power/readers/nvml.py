"""NVML, NVIDIA's management library: the driver's ring of power samples, and the energy counter.

The ring holds the driver's samples, one about every 20 ms, for about 2.4 s (measured on an H200, driver
580), so occasional reads are cheap and lose no sample. The counter is the energy since the driver was
loaded, with an update every 100 ms. Both are recorded, and compared when energy is attributed, because
the counters of some cards are wrong (power readings of 70 cards: Yang, Adamek, Armour, SC24). NVML
numbers boards, so their PCI addresses identify the devices.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Final, Literal

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState, Quantity, SampleFlag, Scope
from cltrace.installation import suggest_install
from cltrace.power.protocol import API, Channel, Probe, Sample

_MILLI: Final = 1e-3
_RING_S: Final = 0.02
_RING_HOLDS_S: Final = 2.0
"""Time that the ring holds at least."""
_COUNTER_S: Final = 0.1
_INSTANT_S: Final = 0.1
_GAP_NS: Final = 300_000_000
"""Maximum distance of two samples of the ring without lost samples between them."""
_VALUE_FIELDS: Final = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Fields of NVML's union of values, by the type of a value."""
_RETRY_S: Final = 0.15
_RETRIES: Final = 4
_US: Final = 1000
_STATES: Final = {
    "NVMLError_LibraryNotFound": (
        ProbeState.ABSENT,
        "libnvidia-ml.so.1 was not found: no NVIDIA driver is installed here",
        "in a container: give it the GPU (docker run --gpus all)",
    ),
    "NVMLError_DriverNotLoaded": (
        ProbeState.MASKED,
        "the library is installed but reaches no driver",
        "load the driver, or give the container the GPU (docker run --gpus all)",
    ),
    "NVMLError_NoPermission": (
        ProbeState.DENIED,
        "the driver refuses this user",
        "ask for access to /dev/nvidiactl",
    ),
}


@dataclass(frozen=True, slots=True)
class _Board:
    """Board: NVML's handle, its UUID, and its PCI address in the form of OpenCL devices."""

    handle: Any
    uuid: str
    bus: str
    name: str


_Read = Callable[[Channel, _Board], Iterator[Sample]]
"""Method that reads the new samples of a board's channel."""


class NvmlReader:
    """Reader of NVIDIA boards. Its argument selects boards by a part of their PCI address or UUID."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["live"]] = "live"
    period_s: ClassVar[float] = 0.047
    """Not a divisor of the counter's 0.1 s: reads at varying places of a step show when it changes."""

    def __init__(
        self,
        argument: str = "",
        *,
        library: Callable[[], Any] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._filter = argument.lower().removeprefix("0000")
        self._load = library or _load
        self._sleep = sleep

    def probe(self) -> Probe:
        """Check that the driver has boards, and that their readings change."""
        try:
            library = self._load()
        except ImportError as error:
            return Probe(
                ProbeState.ABSENT,
                f"the Python module pynvml is missing ({error})",
                suggest_install("nvml"),
            )
        try:
            opened = self._open(library)
        except PowerError as error:
            return Probe(ProbeState.ABSENT, str(error))
        except library.NVMLError as error:
            return _error_probe(error)
        try:
            return self._movement_probe(opened)
        except library.NVMLError as error:
            return _error_probe(error)
        finally:
            opened.close()

    def open(self, period_s: float) -> "OpenNvml":  # noqa: ARG002 - the ring has its own period
        """Open the library. Raises: `PowerError`, NVML's own errors, `ImportError`."""
        return self._open(self._load())

    def _open(self, library: Any) -> "OpenNvml":
        library.nvmlInit()
        boards = [board for board in _boards(library) if self._matches(board)]
        if not boards:
            library.nvmlShutdown()
            raise PowerError(
                f"NVML has no board like {self._filter!r}" if self._filter else "NVML has no board"
            )
        return OpenNvml(library, boards)

    def _matches(self, board: _Board) -> bool:
        return self._filter in board.bus or self._filter in board.uuid.lower()

    def _movement_probe(self, opened: "OpenNvml") -> Probe:
        if not opened.channels:
            return Probe(ProbeState.UNSUPPORTED, "the board reports neither power nor energy")
        first = {sample.key: sample.raw for sample in opened.read()}
        for _ in range(_RETRIES):
            self._sleep(_RETRY_S)
            if any(first.get(sample.key) != sample.raw for sample in opened.read()):
                names = ", ".join(channel.label for channel in opened.channels)
                return Probe(ProbeState.OK, names, channels=tuple(opened.channels))
        return Probe(
            ProbeState.FROZEN,
            f"no reading moved within {_RETRIES * _RETRY_S:.1f} s",
            "restart the driver; readings of virtual GPUs do not move",
        )


class OpenNvml:
    """Open library. Channels that a board does not have are left out."""

    longest_interval_s = _RING_HOLDS_S / 4

    def __init__(self, library: Any, boards: Sequence[_Board]) -> None:
        self._library = library
        self._last_us: dict[str, int] = {}
        self._last_raw: dict[str, int] = {}
        self._reads: list[tuple[Channel, _Board, _Read]] = []
        for board in boards:
            self._reads += [
                (channel, board, read)
                for channel, read in self._possible_channels(board)
                if self._works(channel, board, read)
            ]
        self.channels: Sequence[Channel] = [channel for channel, *_ in self._reads]
        self._last_us.clear()

    def read(self) -> Iterator[Sample]:
        """Yield the new samples of the ring, and the counter. Raises: NVML's errors."""
        for channel, board, read in self._reads:
            yield from read(channel, board)

    def close(self) -> None:
        """Shut the library down."""
        self._library.nvmlShutdown()

    def _possible_channels(self, board: _Board) -> Iterator[tuple[Channel, _Read]]:
        ring = _ring_channel(board)
        yield ring, self._ring
        yield _counter_channel(board), self._counter
        yield _memory_channel(board, ring), self._memory

    def _works(
        self,
        channel: Channel,
        board: _Board,
        read: _Read,
    ) -> bool:
        try:
            return any(sample.raw > 0 for sample in read(channel, board))
        except (self._library.NVMLError, AttributeError):  # older bindings lack some constants
            return False

    def _ring(self, channel: Channel, board: _Board) -> Iterator[Sample]:
        library = self._library
        before_ns, wall_ns = time.perf_counter_ns(), time.time_ns()
        last_us = self._last_us.get(channel.key, 0)
        try:
            kind, samples = library.nvmlDeviceGetSamples(
                board.handle, library.NVML_TOTAL_POWER_SAMPLES, last_us
            )
        except library.NVMLError_NotFound:
            return  # no newer samples
        field = _VALUE_FIELDS[kind]
        for sample in samples:
            time_us = int(sample.timeStamp)
            if time_us <= last_us:
                continue  # entries without a time, and the last sample again, occur
            has_gap = last_us and (time_us - last_us) * _US > _GAP_NS
            flags = SampleFlag.LOST if has_gap else SampleFlag(0)
            last_us = time_us
            host_ns = before_ns + time_us * _US - wall_ns
            yield Sample(channel.key, host_ns, int(getattr(sample.sampleValue, field)), _US, flags)
        self._last_us[channel.key] = last_us

    def _counter(self, channel: Channel, board: _Board) -> Iterator[Sample]:
        read = self._library.nvmlDeviceGetTotalEnergyConsumption
        sample = Sample.taken(channel.key, lambda: int(read(board.handle)))
        has_decreased = sample.raw < self._last_raw.get(channel.key, 0)
        self._last_raw[channel.key] = sample.raw
        yield sample._replace(flags=SampleFlag.RESTARTED) if has_decreased else sample

    def _memory(self, channel: Channel, board: _Board) -> Iterator[Sample]:
        sample = Sample.taken(channel.key, lambda: self._memory_mw(board))
        if sample.raw > 0:
            yield sample

    def _memory_mw(self, board: _Board) -> int:
        """Return the power of a board's memory in mW, 0 where it is unknown."""
        library = self._library
        value = library.nvmlDeviceGetFieldValues(
            board.handle, [(library.NVML_FI_DEV_POWER_INSTANT, library.NVML_POWER_SCOPE_MEMORY)]
        )[0]
        return int(value.value.uiVal) if value.nvmlReturn == library.NVML_SUCCESS else 0


def _ring_channel(board: _Board) -> Channel:
    return Channel(
        key=f"nvml:{board.uuid}:ring",
        label=f"{board.name} power",
        quantity=Quantity.POWER,
        scope=Scope.GPU,
        unit_per_step=_MILLI,
        device=board.bus,
        quantum=_MILLI,
        period_s=_RING_S,
        window_s=_RING_S,
        gain_error=0.05,
        note="the driver's ring of samples; gains of boards differ by 5 % (SC24 study)",
    )


def _counter_channel(board: _Board) -> Channel:
    return Channel(
        key=f"nvml:{board.uuid}:energy",
        label=f"{board.name} energy",
        quantity=Quantity.ENERGY,
        scope=Scope.GPU,
        unit_per_step=_MILLI,
        device=board.bus,
        quantum=_MILLI,
        period_s=_COUNTER_S,
        gain_error=0.05,
        note="energy since the driver was loaded",
    )


def _memory_channel(board: _Board, ring: Channel) -> Channel:
    return Channel(
        key=f"nvml:{board.uuid}:memory",
        label=f"{board.name} memory power",
        quantity=Quantity.POWER,
        scope=Scope.GPU_MEMORY,
        unit_per_step=_MILLI,
        inside=ring.key,
        device=board.bus,
        quantum=_MILLI,
        period_s=_INSTANT_S,
        note="the driver's power of the board's memory",
    )


def _load() -> ModuleType:
    import pynvml  # noqa: PLC0415 - optional, and only here

    return pynvml  # type: ignore[no-any-return]


def _boards(library: Any) -> Iterator[_Board]:
    for index in range(library.nvmlDeviceGetCount()):
        handle = library.nvmlDeviceGetHandleByIndex(index)
        yield _Board(
            handle=handle,
            uuid=_to_text(library.nvmlDeviceGetUUID(handle)),
            bus=_bus(_to_text(library.nvmlDeviceGetPciInfo(handle).busId)),
            name=_to_text(library.nvmlDeviceGetName(handle)),
        )


def _to_text(text: str | bytes) -> str:
    """Return text, which older versions of the module give as bytes."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _bus(address: str) -> str:
    """Return NVML's address `00000000:1B:00.0` as `0000:1b:00.0`."""
    domain, _, rest = address.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _error_probe(error: Exception) -> Probe:
    probe = _STATES.get(type(error).__name__)
    if probe is None:
        return Probe(ProbeState.UNSUPPORTED, f"NVML: {error}")
    state, evidence, remedy = probe
    return Probe(state, evidence, remedy)
