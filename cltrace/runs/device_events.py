"""Recording of a launch's events on a device of this machine."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cltrace.errors import UnsupportedKernelError
from cltrace.events.event_logs import EventLog
from cltrace.events.workloads import BufferInput, LocalInput
from cltrace.kernels import (
    Argument,
    BufferArgument,
    ImageArgument,
    LocalArgument,
    SamplerArgument,
    StructArgument,
)
from cltrace.kernels.counts.group_sampling import spread_groups
from cltrace.kernels.events.device_launch import DeviceLaunch
from cltrace.kernels.instrument.kernel_source import INSTRUMENTED_NAME
from cltrace.measure.devices import find_device
from cltrace.measure.instrumented_launch import (
    FormattedImage,
    InstrumentedDevice,
    InstrumentedInput,
    InstrumentedLaunch,
    SamplerInput,
)

_MAX_COUNTED_ITEMS: Final = 1 << 22
"""Work-items whose events are counted before some are recorded."""
_MIN_ITEM_EVENTS: Final = 1 << 21
_MAX_ITEM_EVENTS: Final = 1 << 26
"""Bounds of the events and trips through loops behind which a work-item is stopped."""
_MAX_STOPPED_WORDS: Final = 1 << 13
"""Words that are kept of a work-item that was stopped, which leaves room for others."""
_CAUTION: Final = 0.9
_IMAGE_TYPE: Final = re.compile(r"image(?P<dimensions>[123])d_(?P<array>array_)?t")


def record_on_device(launch: DeviceLaunch, device_name: str, max_events: int) -> EventLog:
    """Execute a launch on a device, and return what its work-items log.

    It is executed twice: to count events, and to record those of as many whole work-groups as
    `max_events` allow: of a single one with more, the first ones of each work-item. Each execution has
    buffers of its own. A work-item ends behind `limit_item(max_events)` events or trips.

    Raises: `DeviceError`, `WorkloadError`, `UnsupportedKernelError`.
    """
    prepared = prepare_launch(launch)
    device = InstrumentedDevice(find_device(device_name), prepared)
    ndrange = launch.ndrange
    most = max(_MAX_COUNTED_ITEMS // ndrange.group_items, 1)
    candidates = spread_groups(ndrange.groups, min(most, ndrange.groups))
    item_limit = limit_item(max_events)
    counted = device.count_words(candidates, item_limit)
    of_stopped = min(_MAX_STOPPED_WORDS, max_events // ndrange.group_items)
    share = np.where(counted.is_stopped, of_stopped, max_events)
    counts = np.minimum(counted.counts, share).reshape(len(candidates), -1)
    chosen = _choose_rows(counts.sum(axis=1), max_events)
    # The addresses of a work-item's own objects come first.
    least = len(launch.instrumented.own_objects) + 1
    rooms = _limit_rooms(counts[chosen].reshape(-1), max_events, least)
    begins = np.concatenate([[0], np.cumsum(rooms)])
    return device.record(candidates[chosen], begins, item_limit)


def limit_item(max_events: int) -> int:
    """Return the number of events, and of trips through loops, behind which a work-item is stopped.

    One with more than `max_events` is not recorded as a whole anyway.
    """
    return min(max(max_events, _MIN_ITEM_EVENTS), _MAX_ITEM_EVENTS)


def prepare_launch(launch: DeviceLaunch) -> InstrumentedLaunch:
    """Return a launch as a device executes it. Raises: `UnsupportedKernelError`."""
    instrumented, ndrange = launch.instrumented, launch.ndrange
    return InstrumentedLaunch(
        source=instrumented.source,
        kernel=INSTRUMENTED_NAME,
        options=launch.options,
        global_size=ndrange.global_size,
        local_size=ndrange.local_size,
        global_offset=ndrange.global_offset if any(ndrange.global_offset) else None,
        inputs=[_input(*each) for each in launch.typed_arguments()],
        shared_objects=len(instrumented.shared_objects),
    )


def _choose_rows(words: npt.NDArray[np.int64], max_words: int) -> npt.NDArray[np.int64]:
    """Return the groups to record: as many as have at most a number of words, spread evenly."""
    number = len(words)
    while True:
        rows = spread_groups(len(words), number)
        total = int(words[rows].sum())
        if total <= max_words or number == 1:
            return rows
        number = max(int(number * min(_CAUTION, max_words / total)), 1)


def _limit_rooms(words: npt.NDArray[np.int64], max_words: int, least: int) -> npt.NDArray[np.int64]:
    """Return the words that each work-item may write: all of them, or the same share of `max_words`."""
    if int(words.sum()) <= max_words:
        return words
    return np.minimum(words, max(max_words // len(words), least))


def _input(
    argument: Argument, dtype: np.dtype[np.generic] | None, type_name: str
) -> InstrumentedInput:
    """Return an argument for a device; `dtype` is the type of a number, `type_name` that of an image."""
    given: InstrumentedInput = None
    match argument:
        case BufferArgument():
            given = BufferInput(argument.size_bytes, _contents(argument.contents))
        case LocalArgument(size_bytes):
            given = LocalInput(size_bytes)
        case ImageArgument():
            given = _image(argument, type_name)
        case SamplerArgument(normalised, addressing, linear):
            given = SamplerInput(normalised, addressing, linear)
        case StructArgument(contents):
            given = contents
        case np.generic() | int() | float():
            given = _number(argument, dtype)
        case None:
            pass
    return given


def _contents(array: npt.NDArray[Any] | None) -> Callable[[], npt.NDArray[Any]] | None:
    return None if array is None else partial(np.asarray, array)


def _number(argument: np.generic | float, dtype: np.dtype[np.generic] | None) -> bytes:
    """Return the bytes of a number; integers wrap as in C."""
    if dtype is None:
        return np.asarray(argument).tobytes()
    if isinstance(argument, int) and dtype.kind in "iu":
        mask = (1 << 8 * dtype.itemsize) - 1
        return (argument & mask).to_bytes(dtype.itemsize, "little")
    with np.errstate(all="ignore"):
        return np.asarray(argument).astype(dtype).tobytes()


def _image(argument: ImageArgument, type_name: str) -> FormattedImage:
    """Return an image of an OpenCL type, such as `image2d_array_t`."""
    kind = _IMAGE_TYPE.fullmatch(type_name)
    if kind is None:
        raise UnsupportedKernelError(f"a device records no launches with an argument {type_name}")
    sides = (argument.width, argument.height, argument.depth)[: int(kind["dimensions"])]
    return FormattedImage(
        shape=(*sides, argument.depth) if kind["array"] else sides,
        is_array=bool(kind["array"]),
        channels=argument.channels,
        channel_dtype=argument.channel_dtype,
        is_normalised=argument.is_normalised,
        channel_order=argument.channel_order,
        channel_type=argument.channel_type,
        contents=argument.contents,
    )
