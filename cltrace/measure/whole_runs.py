"""Whole runs, timed by the host from the first command to the end of the last."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from cltrace.errors import WorkloadError
from cltrace.events.benchmarks import BenchmarkBuffer, BenchmarkCopy, BenchmarkLaunch, Step
from cltrace.measure.bench import Bench
from cltrace.profile import DeviceFacts


@dataclass(frozen=True, slots=True)
class WholeRuns:
    """Times of runs in s, in order, discarded ones apart, and the buffers after the last run."""

    discarded_s: tuple[float, ...]
    counted_s: tuple[float, ...]
    after: Mapping[int, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Numbers of runs: discarded ones, which pay the costs of a first run, and counted ones."""

    discarded: int = 1
    counted: int = 10


@dataclass(frozen=True, slots=True)
class WholeRunTimer:
    """A device that times whole runs, each time after `discarded` runs that do not count."""

    bench: Bench
    discarded: int = 1

    @property
    def facts(self) -> DeviceFacts:
        """The device."""
        return self.bench.facts

    def time_runs(
        self, source: str, buffers: Sequence[BenchmarkBuffer], steps: Sequence[Step], counted: int
    ) -> WholeRuns:
        """Time `counted` runs. Raises: `WorkloadError` if a step cannot be built or run."""
        counts = RunCounts(self.discarded, counted)
        return time_whole_runs(self.bench, source, buffers, steps, counts)


def time_whole_runs(
    bench: Bench,
    source: str,
    buffers: Sequence[BenchmarkBuffer],
    steps: Sequence[Step],
    counts: RunCounts | None = None,
) -> WholeRuns:
    """Repeat `steps`. Buffers that a run changes are reset before each run.

    Raises: `WorkloadError` if a step cannot be built or run.
    """
    counts = counts if counts is not None else RunCounts()
    hosts = [np.ascontiguousarray(buffer.contents()) for buffer in buffers]
    copies = [step for step in steps if isinstance(step, BenchmarkCopy)]
    sent = {step.buffer for step in copies if not step.to_host}
    read = {step.buffer for step in copies if step.to_host}
    # Buffers that a run sends are reset to other contents, so that a missing copy shows.
    resets = [~host.view(np.uint8) if at in sent else host for at, host in enumerate(hosts)]
    outputs = [at for at, buffer in enumerate(buffers) if buffer.is_output]
    with _prepare(bench, source, hosts, steps) as prepared:
        times = []
        for _ in range(counts.discarded + counts.counted):
            for at in outputs:
                cl.enqueue_copy(prepared.queue, prepared.buffers[at], resets[at])
            prepared.queue.finish()
            times.append(prepared.run())
        after = dict(prepared.read)
        for at in outputs:
            if at not in read:
                after[at] = np.empty_like(hosts[at])
                cl.enqueue_copy(prepared.queue, after[at], prepared.buffers[at], is_blocking=True)
    return WholeRuns(tuple(times[: counts.discarded]), tuple(times[counts.discarded :]), after)


@dataclass(frozen=True, slots=True)
class _PreparedRun:
    """Buffers with their contents, and a function that does a run and returns its time in s.

    The queue records no times, like the queues of most programs. `read` are the arrays that runs read
    buffers into.
    """

    queue: cl.CommandQueue
    buffers: list[cl.Buffer]
    read: Mapping[int, NDArray[np.generic]]
    run: Callable[[], float]


@contextmanager
def _prepare(
    bench: Bench, source: str, hosts: Sequence[NDArray[np.generic]], steps: Sequence[Step]
) -> Iterator[_PreparedRun]:
    buffers: list[cl.Buffer] = []
    read: dict[int, NDArray[np.generic]] = {}
    try:
        queue = cl.CommandQueue(bench.context, bench.device)
        for host in hosts:
            buffers.append(cl.Buffer(bench.context, cl.mem_flags.READ_WRITE, host.nbytes))
            cl.enqueue_copy(queue, buffers[-1], host, is_blocking=True)
        actions = [
            _launch_action(queue, bench.program(source), step, buffers)
            if isinstance(step, BenchmarkLaunch)
            else _copy_action(queue, step, buffers[step.buffer], hosts[step.buffer], read)
            for step in steps
        ]

        def run() -> float:
            began = perf_counter()
            for action in actions:
                action()
            queue.finish()
            return perf_counter() - began

        yield _PreparedRun(queue, buffers, read, run)
    except cl.Error as error:
        raise WorkloadError(f"it cannot run: {str(error).splitlines()[0]}") from error
    finally:
        for buffer in buffers:
            with suppress(cl.Error):  # a fault of the device leaves buffers unreleasable
                buffer.release()


def _copy_action(
    queue: cl.CommandQueue,
    step: BenchmarkCopy,
    buffer: cl.Buffer,
    host: NDArray[np.generic],
    read: dict[int, NDArray[np.generic]],
) -> Callable[[], None]:
    if step.to_host:
        read[step.buffer] = np.empty_like(host)

    def copy() -> None:
        if step.to_host:
            cl.enqueue_copy(queue, read[step.buffer], buffer, is_blocking=True)
        else:
            cl.enqueue_copy(queue, buffer, host, is_blocking=True)

    return copy


def _launch_action(
    queue: cl.CommandQueue, program: cl.Program, step: BenchmarkLaunch, buffers: Sequence[cl.Buffer]
) -> Callable[[], None]:
    kernel = cl.Kernel(program, step.kernel)
    kernel.set_args(*(buffers[number] for number in step.buffers), *step.scalars)

    def launch() -> None:
        for _ in range(step.times):
            cl.enqueue_nd_range_kernel(queue, kernel, step.global_size, step.local_size)

    return launch
