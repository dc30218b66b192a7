"""A device with a queue, on which launches and transfers are timed by the device's own clock."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np
import pyopencl as cl

from cltrace.errors import DeviceError, WorkloadError
from cltrace.events.workloads import BufferInput, LocalInput, Workload, WorkloadInput
from cltrace.measure.devices import device_facts
from cltrace.measure.repetition import Sample, StopRule, repeated

_FILL: Final = """
__kernel void cltrace_fill(__global uint *words, ulong count) {
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        uint mixed = (uint)i * 2654435761u;
        mixed ^= mixed >> 15; mixed *= 2246822519u; mixed ^= mixed >> 13;
        words[i] = 0x3f800000u | (mixed >> 9);
    }
}
"""
_FLUSH_FACTOR: Final = 4
"""How many times the size of a device's largest cache is written to empty it."""
_LEAST_FLUSH_BYTES: Final = 256 << 20


class Bench:
    """A device, a context and a queue that records times. Used as a context manager.

    Buffers of a workload are made for its measurement and released after it.
    """

    def __init__(self, device: cl.Device) -> None:
        self.facts = device_facts(device)
        self.device = device
        self._context = cl.Context([device])
        properties = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(self._context, device, properties)
        self._programs: dict[tuple[str, str], cl.Program] = {}
        self._flushed: cl.Buffer | None = None

    @property
    def context(self) -> cl.Context:
        """The context of the device alone."""
        return self._context

    def launch(self, workload: Workload, rule: StopRule, *, cold: bool = False) -> Sample:
        """How long `workload` takes on the device, from its start to its end.

        `cold` empties the device's caches before each run; else each run finds what the one before
        left. Raises: `WorkloadError` when it cannot be built or run.
        """
        with self.prepared(workload) as enqueue:

            def run() -> float:
                if cold:
                    self.flush()
                return device_ns(enqueue())

            return repeated(run, rule)

    def results(self, workload: Workload) -> Sequence[np.ndarray]:
        """What is in the buffers of `workload` after it ran once, as bytes, in the order of arguments."""
        with self._bound(workload.inputs) as arguments:
            kernel = self._kernel(workload)
            kernel(self.queue, workload.global_size, workload.local_size, *arguments).wait()
            found = []
            for argument in arguments:
                if isinstance(argument, cl.Buffer):
                    host = np.empty(argument.size, np.uint8)
                    cl.enqueue_copy(self.queue, host, argument)
                    found.append(host)
            return found

    def flush(self) -> None:
        """Write so much memory that nothing of before is left in a cache."""
        if self._flushed is None:
            size = max(_FLUSH_FACTOR * self.facts.cache_bytes, _LEAST_FLUSH_BYTES)
            self._flushed = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)
        self._fill(self._flushed)

    @contextmanager
    def prepared(self, workload: Workload) -> Iterator[Callable[[], cl.Event]]:
        """What enqueues `workload`, with its buffers made.

        Raises: `WorkloadError`, for what OpenCL refuses in the block too.
        """
        try:
            kernel = self._kernel(workload)
            with self._bound(workload.inputs) as arguments:
                kernel.set_args(*arguments)

                def enqueue() -> cl.Event:
                    return cl.enqueue_nd_range_kernel(
                        self.queue, kernel, workload.global_size, workload.local_size
                    )

                yield enqueue
        except cl.Error as error:
            raise WorkloadError(_said(workload.kernel, "cannot run", error)) from error

    def _kernel(self, workload: Workload) -> cl.Kernel:
        return cl.Kernel(self.program(workload.source, workload.options), workload.kernel)

    def program(self, source: str, options: str = "") -> cl.Program:
        """A program, built once. Raises: `WorkloadError` with the first line of its log."""
        known = self._programs.get((source, options))
        if known is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                try:
                    known = cl.Program(self._context, source).build(options.split())
                except cl.Error as error:
                    raise WorkloadError(_said("a program", "cannot be built", error)) from error
            self._programs[source, options] = known
        return known

    @contextmanager
    def _bound(self, inputs: Sequence[WorkloadInput]) -> Iterator[list[Any]]:
        """Arguments as the kernel takes them."""
        bound: list[Any] = []  # as pyopencl takes them: its own stubs leave local memory out
        try:
            for one in inputs:
                match one:
                    case BufferInput():
                        bound.append(self._buffer(one))
                    case LocalInput(size_bytes):
                        bound.append(cl.LocalMemory(size_bytes))
                    case _:
                        bound.append(one)
            self.queue.finish()
            yield bound
        finally:
            for argument in bound:
                if isinstance(argument, cl.Buffer):
                    with suppress(cl.Error):
                        argument.release()

    def _buffer(self, wanted: BufferInput) -> cl.Buffer:
        if wanted.size_bytes > self.facts.most_buffer_bytes:
            raise DeviceError(f"{self.facts.name} has no buffers of {wanted.size_bytes:,} B")
        try:
            made = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, max(wanted.size_bytes, 4))
            if wanted.contents is None:
                self._fill(made)
            else:
                contents = np.ascontiguousarray(wanted.contents())
                cl.enqueue_copy(self.queue, made, contents, is_blocking=True)
        except cl.Error as error:
            raise WorkloadError(_said(f"a buffer of {wanted.size_bytes:,} B", "", error)) from error
        return made

    def _fill(self, buffer: cl.Buffer) -> None:
        kernel = cl.Kernel(self.program(_FILL), "cltrace_fill")
        words = buffer.size // 4
        kernel(self.queue, (1 << 16,), None, buffer, np.uint64(words))

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the device and let its memory go."""
        with suppress(cl.Error):
            self.queue.finish()
        if self._flushed is not None:
            with suppress(cl.Error):
                self._flushed.release()
            self._flushed = None


def device_ns(event: cl.Event) -> float:
    """How long a command took on the device, once it has ended. Raises: `cl.Error`."""
    event.wait()
    profile = event.profile
    return float(profile.end - profile.start)


def _said(what: str, how: str, error: cl.Error) -> str:
    first = next((line for line in str(error).splitlines() if line.strip()), "it said nothing")
    return f"{what} {how}: {first}".replace(" : ", ": ")
