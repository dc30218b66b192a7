"""Context, queue, memory and kernels that the cases of a process share."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyopencl as cl

SIZE_BYTES: Final = 4096
FLOAT: Final = np.dtype(np.float32)

SOURCE: Final = """
typedef struct { int first; float second; } pair;
kernel void buffers_1(global int *a) {}
kernel void arguments_2(global int *a, int n) {}
kernel void float_argument(global int *a, float x) {}
kernel void arguments_4(global int *a, global int *b, int n, float x) {}
kernel void arguments_8(global int *a, global int *b, global int *c, global int *d,
    int n, float x, int m, float y) {}
kernel void arguments_12(global int *a, global int *b, global int *c, global int *d,
    global int *e, global int *f, int n, float x, int m, float y, int o, float z) {}
kernel void buffers_2(global int *a, global int *b) {}
kernel void local_argument(global int *a, local int *l) {}
kernel void struct_argument(global int *a, pair p) {}
kernel void complex_argument(global int *a, float2 z) {}
"""
"""Kernels that do nothing. Their names tell their parameters."""


class UnsupportedError(Exception):
    """The reason why a case cannot run here."""


class Environment:
    """Context, queue, memory and kernels. `properties` are those of every queue."""

    def __init__(self, device: cl.Device, properties: int) -> None:
        self.device: Final = device
        self.context: Final = cl.Context([device])
        self.properties: Final = properties
        self._buffers: list[cl.Buffer] = []
        self._queues: list[cl.CommandQueue] = []
        self.queue: Final = self.make_queue()

    def make_queue(self, further_properties: int = 0) -> cl.CommandQueue:
        """Return a queue, which `finish` finishes too."""
        properties: Any = self.properties | further_properties
        self._queues.append(cl.CommandQueue(self.context, properties=properties))
        return self._queues[-1]

    def finish(self) -> None:
        """Wait for the commands of all queues."""
        for queue in self._queues:
            queue.finish()

    def make_buffer(self, size_bytes: int = SIZE_BYTES) -> cl.Buffer:
        """Return a buffer that lives as long as this environment: kernels do not keep their arguments."""
        self._buffers.append(cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size_bytes))
        return self._buffers[-1]

    def make_host_array(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return an array as large as a buffer."""
        return np.zeros(SIZE_BYTES // FLOAT.itemsize, FLOAT)

    def make_kernel(self, name: str, types: Sequence[Any] | None = None) -> cl.Kernel:
        """Return a kernel object of `SOURCE`. `types` declares its scalars; buffers have `None`."""
        kernel = cl.Kernel(self.program, name)
        if types is not None:
            kernel.set_scalar_arg_dtypes(types)
        return kernel

    @cached_property
    def program(self) -> cl.Program:
        """The built program of `SOURCE`."""
        program: cl.Program = cl.Program(self.context, SOURCE).build()
        return program

    def make_shared_memory(self) -> "cl.SVM[Any]":
        """Return shared virtual memory. Raises `UnsupportedError` when the device has none."""
        self.require_shared_memory()
        items = SIZE_BYTES // FLOAT.itemsize
        return cl.SVM(cl.svm_empty(self.context, cl.svm_mem_flags.READ_WRITE, items, FLOAT))

    def require(self, is_supported: object, reason: str) -> None:
        """Raise `UnsupportedError` with the reason unless a condition holds."""
        if not is_supported:
            raise UnsupportedError(reason)

    def require_images(self) -> None:
        """Raise `UnsupportedError` when the device has no images."""
        self.require(self.device.image_support, "the device has no images")

    def require_shared_memory(self) -> None:
        """Raise `UnsupportedError` when the device has no shared virtual memory."""
        try:
            capabilities = int(self.device.svm_capabilities)
        except cl.Error:
            capabilities = 0
        self.require(
            capabilities & cl.device_svm_capabilities.COARSE_GRAIN_BUFFER,
            "the device has no shared virtual memory",
        )
