"""Times of launches that run beside others, each in a queue of its own.

All queues are kept busy for a window of time, and those launches count that ran while each of the other
queues was running. Drivers may run one queue after another: then none counts, which is a result too.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, TypeAlias

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from cltrace.errors import WorkloadError
from cltrace.events.workloads import BufferInput, LaunchBeside, Workload
from cltrace.measure.bench import Bench, device_ns
from cltrace.measure.repetition import Repetitions, StopRule, repeat

MIN_OVERLAP: Final = 0.9
"""Share of a launch's time for which each neighbour must be running."""
_WINDOW_NS: Final = 10e6
_MIN_LAUNCHES: Final = 3
_MAX_LAUNCHES: Final = 400
"""Launches of a queue in a window."""
_ATTEMPTS: Final = 3
_LONGER: Final = 2
"""Factor on the window of the attempt before."""
_ALONE_RUNS: Final = 3

_Enqueue: TypeAlias = Callable[[], cl.Event]
_Spans: TypeAlias = NDArray[np.float64]
"""Begins and ends of the launches of a queue, in ns: an array of shape (launches, 2)."""


def time_beside(bench: Bench, launch: LaunchBeside, rule: StopRule) -> Repetitions:
    """Time a launch beside its neighbours; each run is the median of a window.

    Raises: `WorkloadError` if a workload cannot be built or run, if the device cannot be divided, and if
    the queues do not overlap.
    """
    try:
        with _prepare(bench, launch) as queues:
            alone_ns = [_alone_ns(enqueue) for _, enqueue in queues]
            return repeat(lambda: _beside_ns(queues, alone_ns), rule)
    except (cl.Error, MemoryError) as error:
        reason = str(error).partition("\n")[0] or "no memory"
        raise WorkloadError(f"{launch.work.kernel} beside others cannot run: {reason}") from error


@contextmanager
def _prepare(
    bench: Bench, launch: LaunchBeside
) -> Iterator[Sequence[tuple[cl.CommandQueue, _Enqueue]]]:
    """Yield a queue for each launch, on its part of the device, and a function that enqueues it there."""
    members = launch.members
    devices = _devices(bench.device, launch.parts, len(members))
    context = cl.Context(list(dict.fromkeys(devices)))
    with ExitStack() as stack:
        benches = [stack.enter_context(Bench(device, context)) for device in devices]
        if launch.is_memory_shared:
            first = stack.enter_context(benches[0].bind(launch.work.inputs))
            shared = [value for value in first if isinstance(value, cl.Buffer)]
            of_members = [_with_buffers(work, shared) for work in members]
        else:
            of_members = [
                stack.enter_context(own.bind(work.inputs))
                for own, work in zip(benches, members, strict=True)
            ]
        yield [
            (own.queue, _enqueuing(own, work, arguments))
            for own, work, arguments in zip(benches, members, of_members, strict=True)
        ]


def _with_buffers(work: Workload, buffers: Sequence[cl.Buffer]) -> list[Any]:
    """Return the arguments of a workload with other buffers, in their order."""
    left = iter(buffers)
    return [next(left) if isinstance(each, BufferInput) else each for each in work.inputs]


def _enqueuing(bench: Bench, work: Workload, arguments: Sequence[Any]) -> _Enqueue:
    kernel = bench.kernel(work)
    kernel.set_args(*arguments)
    return lambda: cl.enqueue_nd_range_kernel(
        bench.queue, kernel, work.global_size, work.local_size
    )


def _devices(device: cl.Device, parts: int, count: int) -> list[cl.Device]:
    """Return a device for each of `count` launches: parts of a CPU, else the device itself.

    Raises: `WorkloadError` for a CPU that its driver cannot divide.
    """
    if parts == 1 or not device.type & cl.device_type.CPU:
        return [device] * count
    units = device.max_compute_units // parts
    try:
        equally = cl.device_partition_property.EQUALLY
        divided = device.create_sub_devices([equally, units])  # type: ignore[list-item] # stubs lack it
    except cl.Error as error:
        raise WorkloadError(f"{device.name.strip()} cannot be divided: {error}") from error
    return list(divided[:count])


def _alone_ns(enqueue: _Enqueue) -> float:
    times = [device_ns(enqueue()) for _ in range(_ALONE_RUNS)]
    return max(float(np.median(times)), 1.0)  # a coarse clock may see no time


def _beside_ns(
    queues: Sequence[tuple[cl.CommandQueue, _Enqueue]], alone_ns: Sequence[float]
) -> float:
    """Return the median time of the first queue's launches that ran beside all others.

    Raises: `WorkloadError` if there is none in a window, nor in longer ones.
    """
    window_ns = max(_WINDOW_NS, _MIN_LAUNCHES * max(alone_ns))
    most = 0.0
    for attempt in range(_ATTEMPTS):
        counts = [
            min(max(math.ceil(_LONGER**attempt * window_ns / each), 1), _MAX_LAUNCHES)
            for each in alone_ns
        ]
        own, *others = _run_window(queues, counts)
        shares = overlap_shares(own, others)
        most = max(most, float(shares.max()))
        if most >= MIN_OVERLAP:
            beside = own[shares >= MIN_OVERLAP]
            return float(np.median(beside[:, 1] - beside[:, 0]))
    raise WorkloadError(
        f"these queues do not overlap: at most {most:.0%} of a launch ran beside the others"
    )


def _run_window(
    queues: Sequence[tuple[cl.CommandQueue, _Enqueue]], counts: Sequence[int]
) -> list[_Spans]:
    """Fill all queues, and return when their launches ran."""
    events: list[list[cl.Event]] = []
    for (queue, enqueue), count in zip(queues, counts, strict=True):
        events.append([enqueue() for _ in range(count)])
        queue.flush()
    for queue, _ in queues:
        queue.finish()
    return [
        np.asarray([(event.profile.start, event.profile.end) for event in own], np.float64)
        for own in events
    ]


def overlap_shares(own: _Spans, others: Sequence[_Spans]) -> NDArray[np.float64]:
    """Return for each launch the share of its time for which each of the other queues was running.

    Of several others, the one with the least share counts. `own` and `others` are begins and ends in ns,
    of shape (launches, 2), each in order. The result has an entry for each of `own`, 1 without others.
    """
    length = np.maximum(own[:, 1] - own[:, 0], 1.0)
    least = np.ones(len(own))
    for other in others:
        begin = np.maximum(own[:, None, 0], other[None, :, 0])
        end = np.minimum(own[:, None, 1], other[None, :, 1])
        covered = np.maximum(end - begin, 0.0).sum(axis=1)
        least = np.minimum(least, covered / length)
    return least
