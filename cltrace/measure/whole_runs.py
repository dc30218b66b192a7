"""Whole runs as a program sees them: timed by the host, from the first command to the end of the last."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from cltrace.errors import WorkloadError
from cltrace.events.benchmarks import Copy, Launch, Memory, Step
from cltrace.measure.bench import Bench


@dataclass(frozen=True, slots=True)
class WholeRuns:
    """Times of runs in s, in order, the discarded ones apart; what buffers hold after the last."""

    discarded_s: tuple[float, ...]
    counted_s: tuple[float, ...]
    after: Mapping[int, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class HowMany:
    """Runs that do not count, for whatever happens but once, and those that do."""

    discarded: int = 1
    counted: int = 10


def whole_runs(
    bench: Bench, source: str, memories: Sequence[Memory], steps: Sequence[Step],
    how_many: HowMany | None = None,
) -> WholeRuns:  # fmt: skip
    """Do `steps` again and again. Buffers that a run changes are as before at the start of each.

    Raises: `WorkloadError` when something cannot be built or run.
    """
    how_many = how_many if how_many is not None else HowMany()
    hosts = [np.ascontiguousarray(one.contents()) for one in memories]
    sent = {one.buffer for one in steps if isinstance(one, Copy) and not one.to_host}
    read = {one.buffer for one in steps if isinstance(one, Copy) and one.to_host}
    # What a run sends is not there before, and what it reads is taken from where it reads it to.
    resets = [~host.view(np.uint8) if at in sent else host for at, host in enumerate(hosts)]
    outputs = [at for at, one in enumerate(memories) if one.is_output]
    with _prepared(bench, source, hosts, steps) as ready:
        times = []
        for _ in range(how_many.discarded + how_many.counted):
            for at in outputs:
                cl.enqueue_copy(ready.queue, ready.buffers[at], resets[at])
            ready.queue.finish()
            times.append(ready.run())
        after = dict(ready.read)
        for at in outputs:
            if at not in read:
                after[at] = np.empty_like(hosts[at])
                cl.enqueue_copy(ready.queue, after[at], ready.buffers[at], is_blocking=True)
    return WholeRuns(tuple(times[: how_many.discarded]), tuple(times[how_many.discarded :]), after)


@dataclass(frozen=True, slots=True)
class _Ready:
    """Buffers with what is in them before, and a run, which returns how long it took in s.

    The queue records no times: programs' queues do not. `read` is where runs read buffers to.
    """

    queue: cl.CommandQueue
    buffers: list[cl.Buffer]
    read: Mapping[int, NDArray[np.generic]]
    run: Callable[[], float]


@contextmanager
def _prepared(
    bench: Bench, source: str, hosts: Sequence[NDArray[np.generic]], steps: Sequence[Step]
) -> Iterator[_Ready]:
    buffers: list[cl.Buffer] = []
    read: dict[int, NDArray[np.generic]] = {}
    try:
        queue = cl.CommandQueue(bench.context, bench.device)
        for host in hosts:
            buffers.append(cl.Buffer(bench.context, cl.mem_flags.READ_WRITE, host.nbytes))
            cl.enqueue_copy(queue, buffers[-1], host, is_blocking=True)
        actions = [
            _launches(queue, bench.program(source), one, buffers)
            if isinstance(one, Launch)
            else _copy(queue, one, buffers[one.buffer], hosts[one.buffer], read)
            for one in steps
        ]

        def run() -> float:
            began = perf_counter()
            for action in actions:
                action()
            queue.finish()
            return perf_counter() - began

        yield _Ready(queue, buffers, read, run)
    except cl.Error as error:
        raise WorkloadError(f"it cannot run: {str(error).splitlines()[0]}") from error
    finally:
        for buffer in buffers:
            with suppress(cl.Error):  # as after a fault of the device
                buffer.release()


def _copy(
    queue: cl.CommandQueue, step: Copy, buffer: cl.Buffer, host: NDArray[np.generic],
    read: dict[int, NDArray[np.generic]],
) -> Callable[[], None]:  # fmt: skip
    if step.to_host:
        read[step.buffer] = np.empty_like(host)

    def copy() -> None:
        if step.to_host:
            cl.enqueue_copy(queue, read[step.buffer], buffer, is_blocking=True)
        else:
            cl.enqueue_copy(queue, buffer, host, is_blocking=True)

    return copy


def _launches(
    queue: cl.CommandQueue, program: cl.Program, step: Launch, buffers: Sequence[cl.Buffer]
) -> Callable[[], None]:
    kernel = cl.Kernel(program, step.kernel)
    kernel.set_args(*(buffers[one] for one in step.buffers), *step.scalars)

    def launch() -> None:
        for _ in range(step.times):
            cl.enqueue_nd_range_kernel(queue, kernel, step.global_size, step.local_size)

    return launch
