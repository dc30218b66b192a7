"""A device for domain iterations: buffers that stay there, and programs that are built once."""

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from cltrace.errors import DeviceError, WorkloadError
from cltrace.measure.devices import device_facts


class DomainDevice:
    """A device with an in-order queue.

    Copies to the device and launches are enqueued; only reading a result waits.
    """

    def __init__(self, device: cl.Device) -> None:
        self.facts = device_facts(device)
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context, device)
        self._kernels: dict[tuple[str, str, str], cl.Kernel] = {}

    def upload(self, array: NDArray[Any]) -> cl.Buffer:
        """Copy an array to a new buffer. Raises: `WorkloadError`."""
        try:
            buffer = cl.Buffer(self._context, cl.mem_flags.READ_ONLY, max(array.nbytes, 1))
            cl.enqueue_copy(self._queue, buffer, np.ascontiguousarray(array), is_blocking=True)
        except cl.Error as error:
            raise WorkloadError(
                f"an array of {array.nbytes:,} B cannot be copied: {error}"
            ) from error
        return buffer

    def launch(
        self,
        program: tuple[str, str, str],
        sizes: tuple[int, int],
        arguments: Sequence[cl.Buffer | np.generic],
        result_bytes: int,
    ) -> cl.Buffer:
        """Enqueue a kernel and return the buffer of its result, which it need not have written yet.

        `program` is source, kernel and build options, `sizes` global size and size of work-groups. The
        result is the kernel's last argument. Raises: `WorkloadError`, `DeviceError`.
        """
        if result_bytes > self.facts.max_buffer_bytes:
            raise DeviceError(f"{self.facts.name} has no buffers of {result_bytes:,} B")
        try:
            kernel = self._kernel(*program)
            result = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, max(result_bytes, 1))
            global_items, group_items = sizes
            kernel(self._queue, (global_items,), (group_items,), *arguments, result)
            self._queue.flush()
        except cl.Error as error:
            raise WorkloadError(f"{program[1]} cannot run: {error}") from error
        return result

    def download(self, buffer: cl.Buffer, dtype: str, shape: Sequence[int]) -> NDArray[Any]:
        """Wait for a buffer's contents and return them. Raises: `WorkloadError`."""
        array = np.empty(tuple(shape), dtype)
        try:
            cl.enqueue_copy(self._queue, array, buffer, is_blocking=True)
        except cl.Error as error:
            raise WorkloadError(
                f"a result of {array.nbytes:,} B cannot be read: {error}"
            ) from error
        return array

    def finish(self) -> None:
        """Wait until the device has done everything."""
        self._queue.finish()

    def call_ns(self, rounds: int = 15) -> float:
        """Return the median time of a launch of an empty kernel, from its call to its end, in ns."""
        source = (
            "__kernel void nothing(__global int *result) { if (get_global_id(0)) result[0] = 1; }"
        )
        times = []
        for _ in range(rounds + 1):
            began_ns = time.perf_counter_ns()
            self.launch((source, "nothing", ""), (1, 1), (), 4)
            self.finish()
            times.append(time.perf_counter_ns() - began_ns)
        return float(np.median(times[1:]))

    def copy_times(self, sizes: Sequence[int], rounds: int = 3) -> list[tuple[int, float, float]]:
        """Return the size in bytes, and the median times in ns of copying there and back, by size.

        Each copy has a new buffer or array, as those of an iteration have.
        """
        rows = []
        for size in sizes:
            array = np.ones(size, np.uint8)
            there, back = [], []
            for _ in range(rounds + 1):
                began_ns = time.perf_counter_ns()
                buffer = self.upload(array)
                copied_ns = time.perf_counter_ns()
                self.download(buffer, "uint8", (size,))
                there.append(copied_ns - began_ns)
                back.append(time.perf_counter_ns() - copied_ns)
                buffer.release()
            rows.append((size, float(np.median(there[1:])), float(np.median(back[1:]))))
        return rows

    def _kernel(self, source: str, name: str, options: str) -> cl.Kernel:
        key = (source, name, options)
        kernel = self._kernels.get(key)
        if kernel is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                program = cl.Program(self._context, source).build(options.split())
            kernel = self._kernels[key] = cl.Kernel(program, name)
        return kernel
