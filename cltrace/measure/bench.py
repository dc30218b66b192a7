"""A device with a queue that times launches by the device's own clock."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np
import pyopencl as cl

from cltrace.errors import DeviceError, WorkloadError
from cltrace.events.workloads import (
    BufferInput,
    ImageInput,
    LocalInput,
    Workload,
    WorkloadInput,
)
from cltrace.measure.devices import device_facts
from cltrace.measure.repetition import Repetitions, StopRule, repeat

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
"""Multiple of the size of a device's largest cache that is written to empty it."""
_MIN_FLUSH_BYTES: Final = 256 << 20


class Bench:
    """A device, a context and a queue that records times; a context manager.

    Benches in one context can share buffers; without one, a bench has its own. The buffers of a workload
    are created for its measurement and released after it.
    """

    def __init__(self, device: cl.Device, context: cl.Context | None = None) -> None:
        self.facts = device_facts(device)
        self.device = device
        self._context = cl.Context([device]) if context is None else context
        properties = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(self._context, device, properties)
        self._programs: dict[tuple[str, str], cl.Program] = {}
        self._flush_buffer: cl.Buffer | None = None

    @property
    def context(self) -> cl.Context:
        """Context with only this device."""
        return self._context

    def time_launch(self, workload: Workload, rule: StopRule, *, cold: bool = False) -> Repetitions:
        """Time a launch on the device, from its start to its end.

        `cold` empties the device's caches before each run. Otherwise a run finds in the caches what the
        run before it left there. Raises: `WorkloadError` if the workload cannot be built or run.
        """
        with self.prepare(workload) as enqueue:

            def run() -> float:
                if cold:
                    self.flush()
                return device_ns(enqueue())

            return repeat(run, rule)

    def time_runs(self, workload: Workload, runs: int) -> Sequence[float]:
        """Return the times of a number of runs on the device, in ns, after a run that does not count.

        Raises: `WorkloadError` if the workload cannot be built or run.
        """
        with self.prepare(workload) as enqueue:
            return [device_ns(enqueue()) for _ in range(runs + 1)][1:]

    def results(self, workload: Workload) -> Sequence[np.ndarray]:
        """Run a workload once and return the contents of its buffers, as bytes, in order of arguments."""
        with self.bind(workload.inputs) as arguments:
            kernel = self.kernel(workload)
            kernel(self.queue, workload.global_size, workload.local_size, *arguments).wait()
            contents = []
            for argument in arguments:
                if isinstance(argument, cl.Buffer):
                    host = np.empty(argument.size, np.uint8)
                    cl.enqueue_copy(self.queue, host, argument)
                    contents.append(host)
            return contents

    def flush(self) -> None:
        """Write enough memory to evict everything from the caches."""
        if self._flush_buffer is None:
            size = max(_FLUSH_FACTOR * self.facts.cache_bytes, _MIN_FLUSH_BYTES)
            self._flush_buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)
        self._fill(self._flush_buffer)

    @contextmanager
    def prepare(self, workload: Workload) -> Iterator[Callable[[], cl.Event]]:
        """Create the buffers of a workload and yield a function that enqueues it.

        Raises: `WorkloadError`, also for errors of OpenCL within the block.
        """
        try:
            kernel = self.kernel(workload)
            with self.bind(workload.inputs) as arguments:
                kernel.set_args(*arguments)

                def enqueue() -> cl.Event:
                    return cl.enqueue_nd_range_kernel(
                        self.queue, kernel, workload.global_size, workload.local_size
                    )

                yield enqueue
        except cl.Error as error:
            raise WorkloadError(_describe(workload.kernel, "cannot run", error)) from error

    def kernel(self, workload: Workload) -> cl.Kernel:
        """Return the kernel of a workload, with arguments of its own. Raises: `WorkloadError`."""
        return cl.Kernel(self.program(workload.source, workload.options), workload.kernel)

    def program(self, source: str, options: str = "") -> cl.Program:
        """Return a program, built once. Raises: `WorkloadError` with the first line of its build log."""
        program = self._programs.get((source, options))
        if program is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                try:
                    program = cl.Program(self._context, source).build(
                        options.split(), [self.device]
                    )
                except cl.Error as error:
                    raise WorkloadError(_describe("a program", "cannot be built", error)) from error
            self._programs[source, options] = program
        return program

    @contextmanager
    def bind(self, inputs: Sequence[WorkloadInput]) -> Iterator[list[Any]]:
        """Yield the arguments of a kernel, whose memory is released afterwards.

        Raises: `WorkloadError` for memory that the device has not.
        """
        bound: list[Any] = []  # pyopencl's own stubs leave local memory out
        try:
            for argument in inputs:
                match argument:
                    case BufferInput():
                        bound.append(self._buffer(argument))
                    case ImageInput():
                        bound.append(self._image(argument))
                    case LocalInput(size_bytes):
                        bound.append(cl.LocalMemory(size_bytes))
                    case _:
                        bound.append(argument)
            self.queue.finish()
            yield bound
        finally:
            for value in bound:
                if isinstance(value, cl.Buffer | cl.Image):
                    with suppress(cl.Error):
                        value.release()

    def _buffer(self, argument: BufferInput) -> cl.Buffer:
        if argument.size_bytes > self.facts.max_buffer_bytes:
            raise DeviceError(f"{self.facts.name} has no buffers of {argument.size_bytes:,} B")
        try:
            buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, max(argument.size_bytes, 4))
            if argument.contents is None:
                self._fill(buffer)
            else:
                contents = np.ascontiguousarray(argument.contents())
                cl.enqueue_copy(self.queue, buffer, contents, is_blocking=True)
        except cl.Error as error:
            raise WorkloadError(
                _describe(f"a buffer of {argument.size_bytes:,} B", "", error)
            ) from error
        return buffer

    def _image(self, argument: ImageInput) -> cl.Image:
        order = cl.channel_order.R if argument.channels == 1 else cl.channel_order.RGBA
        kind = cl.ImageFormat(order, cl.channel_type.FLOAT)
        origin, region = (0, 0, 0), (*argument.shape, 1)[:3]
        buffer = self._buffer(BufferInput(argument.size_bytes, argument.contents))
        try:
            flags = cl.mem_flags.READ_WRITE
            image = cl.create_image(self._context, flags, kind, shape=argument.shape)
            cl.enqueue_copy(  # type: ignore[call-overload] # its stubs lack buffer to image
                self.queue, image, buffer, offset=0, origin=origin, region=region
            ).wait()
        except (cl.Error, cl.LogicError) as error:
            raise WorkloadError(_describe(f"an image of {argument.shape}", "", error)) from error
        finally:
            buffer.release()
        return image

    def _fill(self, buffer: cl.Buffer) -> None:
        kernel = cl.Kernel(self.program(_FILL), "cltrace_fill")
        words = buffer.size // 4
        kernel(self.queue, (1 << 16,), None, buffer, np.uint64(words))

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the device and release its memory."""
        with suppress(cl.Error):
            self.queue.finish()
        if self._flush_buffer is not None:
            with suppress(cl.Error):
                self._flush_buffer.release()
            self._flush_buffer = None


def device_ns(event: cl.Event) -> float:
    """Wait for a command and return its time on the device in ns. Raises: `cl.Error`."""
    event.wait()
    profile = event.profile
    return float(profile.end - profile.start)


def _describe(subject: str, failure: str, error: cl.Error) -> str:
    reason = next((line for line in str(error).splitlines() if line.strip()), "no reason given")
    return f"{subject} {failure}: {reason}".replace(" : ", ": ")
