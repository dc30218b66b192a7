"""NVIDIA's management library: the driver's ring of power samples, and the energy counter beside it.

The ring holds what the driver sampled about every 20 ms, for about 2.4 s (measured on an H200, driver
580): reading it now and then costs little and loses nothing. The counter tells the energy since the
driver was loaded and moves every 100 ms. Both are kept, and held against each other where energy is
attributed, because counters of some cards are wrong (power readings of 70 cards: Yang, Adamek, Armour,
SC24). Numbers of NVML are of boards: devices are told by their PCI address.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Final, Literal

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState, Quantity, SampleFlag, Scope
from cltrace.power.protocol import API, Channel, Probe, Sample

_MILLI: Final = 1e-3
_RING_S: Final = 0.02
_RING_HOLDS_S: Final = 2.0
"""How much the ring surely holds."""
_COUNTER_S: Final = 0.1
_INSTANT_S: Final = 0.1
_GAP_NS: Final = 300_000_000
"""Two samples of the ring that are further apart have others between them that were lost."""
_VALUE_FIELDS: Final = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""The fields of NVML's union of values, by the type of value that it tells."""
_STILL_S: Final = 0.15
_LOOKS: Final = 4
_US: Final = 1000
_STATES: Final = {
    "NVMLError_LibraryNotFound": (
        ProbeState.ABSENT, "libnvidia-ml.so.1 was not found: no NVIDIA driver is installed here",
        "in a container: give it the GPU (docker run --gpus all)",
    ),
    "NVMLError_DriverNotLoaded": (
        ProbeState.MASKED, "the library is there and reaches no driver",
        "load the driver, or give the container the GPU (docker run --gpus all)",
    ),
    "NVMLError_NoPermission": (
        ProbeState.DENIED, "the driver refuses this user", "ask for access to /dev/nvidiactl",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Board:
    """A board: NVML's handle, its UUID and its PCI address as OpenCL's devices have it."""

    handle: Any
    uuid: str
    bus: str
    name: str


class NvmlReader:
    """The power of NVIDIA boards. Its argument chooses one, by a part of its PCI address or UUID."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["live"]] = "live"
    period_s: ClassVar[float] = 0.047
    """No divisor of the counter's 0.1 s: reads at fixed places of a step do not tell when it moved."""

    def __init__(
        self,
        argument: str = "",
        *,
        library: Callable[[], Any] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wanted = argument.lower().removeprefix("0000")
        self._load = library or _load
        self._sleep = sleep

    def probe(self) -> Probe:
        """Ask the driver for boards, and see whether their readings move."""
        try:
            library = self._load()
        except ImportError as error:
            return Probe(
                ProbeState.ABSENT,
                f"the Python module pynvml is missing ({error})",
                "pip install 'cltrace[nvml]'",
            )
        try:
            opened = self._opened(library)
        except PowerError as error:
            return Probe(ProbeState.ABSENT, str(error))
        except library.NVMLError as error:
            return _refused(error)
        try:
            return self._moving(opened)
        except library.NVMLError as error:
            return _refused(error)
        finally:
            opened.close()

    def open(self, period_s: float) -> "OpenNvml":  # noqa: ARG002 - the ring has its own
        """Open the library. Raises: `PowerError`, NVML's own errors, `ImportError`."""
        return self._opened(self._load())

    def _opened(self, library: Any) -> "OpenNvml":
        library.nvmlInit()
        boards = [one for one in _boards(library) if self._is_wanted(one)]
        if not boards:
            library.nvmlShutdown()
            raise PowerError(
                f"NVML knows no board like {self._wanted!r}"
                if self._wanted
                else "NVML knows no board"
            )
        return OpenNvml(library, boards)

    def _is_wanted(self, board: _Board) -> bool:
        return self._wanted in board.bus or self._wanted in board.uuid.lower()

    def _moving(self, opened: "OpenNvml") -> Probe:
        if not opened.channels:
            return Probe(ProbeState.UNSUPPORTED, "the board tells neither power nor energy")
        first = {one.key: one.raw for one in opened.read()}
        for _ in range(_LOOKS):
            self._sleep(_STILL_S)
            if any(first.get(one.key) != one.raw for one in opened.read()):
                names = ", ".join(one.label for one in opened.channels)
                return Probe(ProbeState.OK, names, channels=tuple(opened.channels))
        return Probe(
            ProbeState.FROZEN,
            f"no reading moved within {_LOOKS * _STILL_S:.1f} s",
            "restart the driver; virtual GPUs have readings that do not move",
        )


class OpenNvml:
    """The library, open. What a board does not have is left out."""

    longest_interval_s = _RING_HOLDS_S / 4

    def __init__(self, library: Any, boards: Sequence[_Board]) -> None:
        self._library = library
        self._last_us: dict[str, int] = {}
        self._last_raw: dict[str, int] = {}
        self._reads: list[
            tuple[Channel, _Board, Callable[[Channel, _Board], Iterator[Sample]]]
        ] = []
        for board in boards:
            self._reads += [
                (channel, board, read)
                for channel, read in self._offers(board)
                if self._works(channel, board, read)
            ]
        self.channels: Sequence[Channel] = [channel for channel, *_ in self._reads]
        self._last_us.clear()

    def read(self) -> Iterator[Sample]:
        """What is new in the ring, and the counter. Raises: NVML's errors."""
        for channel, board, read in self._reads:
            yield from read(channel, board)

    def close(self) -> None:
        """Let the library go."""
        self._library.nvmlShutdown()

    def _offers(
        self, board: _Board
    ) -> Iterator[tuple[Channel, Callable[[Channel, _Board], Iterator[Sample]]]]:
        ring = Channel(
            key=f"nvml:{board.uuid}:ring", label=f"{board.name} power", quantity=Quantity.POWER,
            scope=Scope.GPU, unit_per_step=_MILLI, device=board.bus, quantum=_MILLI,
            period_s=_RING_S, window_s=_RING_S, gain_error=0.05,
            note="the driver's ring of samples; gains of boards differ by 5 % (SC24 study)",
        )  # fmt: skip
        yield ring, self._ring
        yield (
            Channel(
                key=f"nvml:{board.uuid}:energy", label=f"{board.name} energy",
                quantity=Quantity.ENERGY, scope=Scope.GPU, unit_per_step=_MILLI, device=board.bus,
                quantum=_MILLI, period_s=_COUNTER_S, gain_error=0.05,
                note="energy since the driver was loaded",
            ),
            self._counter,
        )  # fmt: skip
        yield (
            Channel(
                key=f"nvml:{board.uuid}:memory", label=f"{board.name} memory power",
                quantity=Quantity.POWER, scope=Scope.GPU_MEMORY, unit_per_step=_MILLI,
                inside=ring.key, device=board.bus, quantum=_MILLI, period_s=_INSTANT_S,
                note="what the driver tells of the board's memory",
            ),
            self._memory,
        )  # fmt: skip

    def _works(
        self,
        channel: Channel,
        board: _Board,
        read: Callable[[Channel, _Board], Iterator[Sample]],
    ) -> bool:
        try:
            return any(one.raw > 0 for one in read(channel, board))
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
            return  # nothing is newer
        field = _VALUE_FIELDS[kind]
        for sample in samples:
            time_us = int(sample.timeStamp)
            if time_us <= last_us:
                continue  # entries without a time, and the last one again, occur
            is_late = last_us and (time_us - last_us) * _US > _GAP_NS
            flags = SampleFlag.LOST if is_late else SampleFlag(0)
            last_us = time_us
            host_ns = before_ns + time_us * _US - wall_ns
            yield Sample(channel.key, host_ns, int(getattr(sample.sampleValue, field)), _US, flags)
        self._last_us[channel.key] = last_us

    def _counter(self, channel: Channel, board: _Board) -> Iterator[Sample]:
        read = self._library.nvmlDeviceGetTotalEnergyConsumption
        sample = Sample.taken(channel.key, lambda: int(read(board.handle)))
        is_less = sample.raw < self._last_raw.get(channel.key, 0)
        self._last_raw[channel.key] = sample.raw
        yield sample._replace(flags=SampleFlag.RESTARTED) if is_less else sample

    def _memory(self, channel: Channel, board: _Board) -> Iterator[Sample]:
        sample = Sample.taken(channel.key, lambda: self._memory_mw(board))
        if sample.raw > 0:
            yield sample

    def _memory_mw(self, board: _Board) -> int:
        """The power of a board's memory in mW, 0 where nothing tells it."""
        library = self._library
        value = library.nvmlDeviceGetFieldValues(
            board.handle, [(library.NVML_FI_DEV_POWER_INSTANT, library.NVML_POWER_SCOPE_MEMORY)]
        )[0]
        return int(value.value.uiVal) if value.nvmlReturn == library.NVML_SUCCESS else 0


def _load() -> ModuleType:
    import pynvml  # noqa: PLC0415 - optional, and only here

    return pynvml  # type: ignore[no-any-return]


def _boards(library: Any) -> Iterator[_Board]:
    for index in range(library.nvmlDeviceGetCount()):
        handle = library.nvmlDeviceGetHandleByIndex(index)
        yield _Board(
            handle=handle,
            uuid=_words(library.nvmlDeviceGetUUID(handle)),
            bus=_bus(_words(library.nvmlDeviceGetPciInfo(handle).busId)),
            name=_words(library.nvmlDeviceGetName(handle)),
        )


def _words(text: str | bytes) -> str:
    """Older versions of the module give bytes."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _bus(address: str) -> str:
    """NVML's `00000000:1B:00.0` as `0000:1b:00.0`."""
    domain, _, rest = address.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _refused(error: Exception) -> Probe:
    known = _STATES.get(type(error).__name__)
    if known is None:
        return Probe(ProbeState.UNSUPPORTED, f"NVML: {error}")
    state, evidence, remedy = known
    return Probe(state, evidence, remedy)
