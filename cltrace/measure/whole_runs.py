"""Whole runs as a program sees them: timed by the host, from the first command to the end of the last."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
    with _prepared(bench, source, hosts, steps) as (buffers, run):
        times = []
        for _ in range(how_many.discarded + how_many.counted):
            for memory, host, buffer in zip(memories, hosts, buffers, strict=True):
                if memory.is_output:
                    cl.enqueue_copy(bench.queue, buffer, host)
            bench.queue.finish()
            times.append(run())
        after = {}
        for number, memory in enumerate(memories):
            if memory.is_output:
                after[number] = np.empty_like(hosts[number])
                cl.enqueue_copy(bench.queue, after[number], buffers[number], is_blocking=True)
    return WholeRuns(tuple(times[: how_many.discarded]), tuple(times[how_many.discarded :]), after)


@contextmanager
def _prepared(
    bench: Bench, source: str, hosts: Sequence[NDArray[np.generic]], steps: Sequence[Step]
) -> Iterator[tuple[list[cl.Buffer], Callable[[], float]]]:
    """Buffers with what is in them before, and a run, which returns how long it took in s."""
    buffers: list[cl.Buffer] = []
    try:
        for host in hosts:
            buffers.append(cl.Buffer(bench.context, cl.mem_flags.READ_WRITE, host.nbytes))
            cl.enqueue_copy(bench.queue, buffers[-1], host, is_blocking=True)
        scratch = [np.empty_like(host) for host in hosts]
        actions = [_action(bench, source, one, buffers, hosts, scratch) for one in steps]

        def run() -> float:
            began = perf_counter()
            for action in actions:
                action()
            bench.queue.finish()
            return perf_counter() - began

        yield buffers, run
    except cl.Error as error:
        raise WorkloadError(f"it cannot run: {str(error).splitlines()[0]}") from error
    finally:
        for buffer in buffers:
            buffer.release()


def _action(
    bench: Bench, source: str, step: Step, buffers: Sequence[cl.Buffer],
    hosts: Sequence[NDArray[np.generic]], scratch: Sequence[NDArray[np.generic]],
) -> Callable[[], None]:  # fmt: skip
    match step:
        case Launch():
            return _launches(bench, source, step, buffers)
        case Copy(number, to_host):
            host = scratch[number] if to_host else hosts[number]
            buffer = buffers[number]
            ends = (host, buffer) if to_host else (buffer, host)

            def copy() -> None:
                cl.enqueue_copy(bench.queue, *ends, is_blocking=True)

            return copy


def _launches(
    bench: Bench, source: str, step: Launch, buffers: Sequence[cl.Buffer]
) -> Callable[[], None]:
    kernel = cl.Kernel(bench.program(source), step.kernel)
    kernel.set_args(*(buffers[one] for one in step.buffers), *step.scalars)

    def launch() -> None:
        for _ in range(step.times):
            cl.enqueue_nd_range_kernel(bench.queue, kernel, step.global_size, step.local_size)

    return launch
