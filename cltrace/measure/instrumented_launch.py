"""Launches of instrumented kernels, whose work-items write a log of their own."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from cltrace.errors import WorkloadError
from cltrace.events.event_logs import EventLog
from cltrace.events.workloads import BufferInput, LocalInput

_NOT_RECORDED: Final = -1
_STOPPED: Final = 1 << 31
"""Bit of a work-item's number of words that tells that it was stopped."""


@dataclass(frozen=True, slots=True)
class SamplerInput:
    """A sampler. `addressing` is `none`, `clamp`, `edge`, `repeat` or `mirrored`."""

    is_normalised: bool
    addressing: str
    is_linear: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FormattedImage:
    """An image, or an array of images: then the last entry of `shape` is the number of layers.

    `channel_order` and `channel_type` are OpenCL's; 0 stands for the usual ones of a number of
    `channels` of a numpy type, which stand for 0 to 1 (or -1 to 1) if `is_normalised`.
    """

    shape: tuple[int, ...]
    is_array: bool
    channels: int
    channel_dtype: str
    is_normalised: bool
    channel_order: int
    channel_type: int
    contents: NDArray[Any] | None


InstrumentedInput: TypeAlias = (
    BufferInput | FormattedImage | LocalInput | SamplerInput | bytes | None
)
"""An argument. `bytes` are those of a value, `None` is a null pointer. Memory without contents is 0."""

_ADDRESSING: Final[Mapping[str, int]] = {
    "none": cl.addressing_mode.NONE,
    "edge": cl.addressing_mode.CLAMP_TO_EDGE,
    "clamp": cl.addressing_mode.CLAMP,
    "repeat": cl.addressing_mode.REPEAT,
    "mirrored": cl.addressing_mode.MIRRORED_REPEAT,
}


_ORDERS: Final[Mapping[int, int]] = {
    1: cl.channel_order.R,
    2: cl.channel_order.RG,
    3: cl.channel_order.RGB,
    4: cl.channel_order.RGBA,
}
_CHANNEL_TYPES: Final[Mapping[tuple[str, bool], int]] = {
    ("float32", False): cl.channel_type.FLOAT,
    ("float16", False): cl.channel_type.HALF_FLOAT,
    ("uint8", True): cl.channel_type.UNORM_INT8,
    ("uint16", True): cl.channel_type.UNORM_INT16,
    ("int8", True): cl.channel_type.SNORM_INT8,
    ("int16", True): cl.channel_type.SNORM_INT16,
    ("uint8", False): cl.channel_type.UNSIGNED_INT8,
    ("uint16", False): cl.channel_type.UNSIGNED_INT16,
    ("uint32", False): cl.channel_type.UNSIGNED_INT32,
    ("int8", False): cl.channel_type.SIGNED_INT8,
    ("int16", False): cl.channel_type.SIGNED_INT16,
    ("int32", False): cl.channel_type.SIGNED_INT32,
}
"""Channel types by numpy type and whether numbers are normalised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentedLaunch:
    """A launch of an instrumented kernel.

    Attributes:
        source: the instrumented program.
        kernel: the name of the kernel in it.
        options: the build options.
        global_size: the size of the launch.
        local_size: the size of its work-groups.
        global_offset: the first global id, None for zeros.
        inputs: the arguments, without those of the log.
        shared_objects: the number of addresses in the log that all work-items share.
    """

    source: str
    kernel: str
    options: Sequence[str]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    global_offset: tuple[int, ...] | None
    inputs: Sequence[InstrumentedInput]
    shared_objects: int

    @property
    def groups(self) -> int:
        """The number of work-groups."""
        counts = (
            -(-size // part) for size, part in zip(self.global_size, self.local_size, strict=True)
        )
        return int(np.prod(list(counts), dtype=np.int64))

    @property
    def group_items(self) -> int:
        """The number of work-items in a whole work-group."""
        return int(np.prod(self.local_size, dtype=np.int64))


class InstrumentedDevice:
    """A device with an instrumented program. Each execution has buffers of its own.

    Raises: `WorkloadError` if the program cannot be built.
    """

    def __init__(self, device: cl.Device, launch: InstrumentedLaunch) -> None:
        self._launch = launch
        self._name = str(device.name).strip()
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context, device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            try:
                program = cl.Program(self._context, launch.source).build(list(launch.options))
                self._kernel = cl.Kernel(program, launch.kernel)
            except cl.Error as error:
                reason = _first_error(error)
                raise WorkloadError(
                    f"{self._name} cannot build the instrumented kernel: {reason}"
                ) from error

    def count_words(self, groups: NDArray[np.int64], item_limit: int) -> EventLog:
        """Return a log of some work-groups that has the numbers of words, but no words.

        Raises: `WorkloadError`.
        """
        begins = np.zeros(len(groups) * self._launch.group_items + 1, np.int64)
        return self.record(groups, begins, item_limit)

    def record(
        self, groups: NDArray[np.int64], begins: NDArray[np.int64], item_limit: int
    ) -> EventLog:
        """Execute the launch and return what its work-items write.

        A work-item ends soon after `item_limit` words or trips through loops.

        Raises: `WorkloadError`.
        """
        rows = np.full(self._launch.groups, _NOT_RECORDED, np.int32)
        rows[groups] = np.arange(len(groups))
        bases = np.zeros(max(self._launch.shared_objects, 1), np.uint64)
        counts = np.zeros(max(len(begins) - 1, 1), np.uint32)
        words = np.zeros(max(int(begins[-1]), 1), np.uint64)
        stops = np.zeros(1 + self._launch.groups, np.uint32)
        columns: list[NDArray[Any]] = [bases, rows, begins.astype(np.uint64), counts, words, stops]
        outputs = self._execute(columns, item_limit)
        counts = counts[: len(begins) - 1]
        return EventLog(
            groups=groups,
            bases=bases,
            counts=(counts & np.uint32(_STOPPED - 1)).astype(np.int64),
            begins=begins,
            words=words,
            is_stopped=counts >= _STOPPED,
            outputs=outputs,
            device=self._name,
        )

    def _execute(
        self, columns: Sequence[NDArray[Any]], item_limit: int
    ) -> Mapping[int, NDArray[np.uint8]]:
        """Execute the launch with the columns of its log, and return the buffers after it, by argument.

        Raises: `WorkloadError`.
        """
        launch = self._launch
        sizes = (launch.global_size, launch.local_size, launch.global_offset)
        try:
            with self._bind(columns) as (inputs, logs):
                self._kernel.set_args(*inputs, *logs, np.uint32(item_limit))
                cl.enqueue_nd_range_kernel(self._queue, self._kernel, *sizes)
                for buffer, column in zip(logs, columns, strict=True):
                    cl.enqueue_copy(self._queue, column, buffer, is_blocking=True)
                return {
                    position: self._read(argument)
                    for position, argument in enumerate(inputs)
                    if isinstance(argument, cl.Buffer)
                }
        except (cl.Error, MemoryError) as error:
            raise WorkloadError(
                f"the instrumented kernel cannot run: {_first_line(error)}"
            ) from error

    @contextmanager
    def _bind(self, columns: Sequence[NDArray[Any]]) -> Iterator[tuple[list[Any], list[cl.Buffer]]]:
        """Yield the arguments of the kernel, and the buffers of the log."""
        inputs: list[Any] = []
        logs: list[cl.Buffer] = []
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        try:
            inputs.extend(make_input(self._context, item) for item in self._launch.inputs)
            logs.extend(cl.Buffer(self._context, flags, hostbuf=column) for column in columns)
            yield inputs, logs
        finally:
            for value in (*inputs, *logs):
                if isinstance(value, cl.Buffer | cl.Image):
                    with suppress(cl.Error):
                        value.release()

    def _read(self, buffer: cl.Buffer) -> NDArray[np.uint8]:
        contents = np.empty(buffer.size, np.uint8)
        cl.enqueue_copy(self._queue, contents, buffer, is_blocking=True)
        return contents


def make_input(context: cl.Context, argument: InstrumentedInput) -> Any:
    """Return an argument as an object of a context. Raises: `cl.Error`."""
    bound: Any = None
    match argument:
        case BufferInput():
            bound = _buffer(context, argument)
        case LocalInput(size_bytes):
            bound = cl.LocalMemory(size_bytes)
        case FormattedImage():
            bound = _image(context, argument)
        case SamplerInput(is_normalised, addressing, is_linear):
            modes = cl.filter_mode
            chosen = modes.LINEAR if is_linear else modes.NEAREST
            bound = cl.Sampler(context, is_normalised, _ADDRESSING[addressing], chosen)
        case bytes():
            bound = np.void(argument)
        case None:
            pass
    return bound


def _buffer(context: cl.Context, argument: BufferInput) -> cl.Buffer:
    contents = np.zeros(max(argument.size_bytes, 1), np.uint8)
    if argument.contents is not None:
        given = np.ascontiguousarray(argument.contents()).reshape(-1).view(np.uint8)
        contents[: len(given)] = given[: len(contents)]
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(context, flags, hostbuf=contents)


def _image(context: cl.Context, argument: FormattedImage) -> cl.Image:
    order = argument.channel_order or _ORDERS.get(argument.channels, 0)
    kind = argument.channel_type or _CHANNEL_TYPES.get(
        (argument.channel_dtype, argument.is_normalised), 0
    )
    count = int(np.prod(argument.shape, dtype=np.int64)) * argument.channels
    texels = np.zeros(count, argument.channel_dtype)
    if argument.contents is not None:
        texels[:] = np.asarray(argument.contents, argument.channel_dtype).reshape(-1)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    image: cl.Image = cl.create_image(
        context,
        flags,
        cl.ImageFormat(order, kind),
        shape=argument.shape,
        hostbuf=texels,
        is_array=argument.is_array,
    )
    return image


def _first_error(error: cl.Error) -> str:
    """Return the first error of a build log, without the place in the driver's own file."""
    match = re.search(r"\berror: *(.+)", str(error))
    return match[1] if match is not None else _first_line(error)


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
