"""Launches through CUDA's driver, whose hardware counters Nsight Compute reads."""

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.counter_jobs import Buffer, Job, Local, Scalar, contents_of
from benchmarks.counter_ptx import Module, without_spaces

LIBRARY_VARIABLE: Final = "CLTRACE_LIBCUDA"
"""Environment variable that names another library than the driver's, for tests."""
_STICKY: Final = range(700, 800)
"""Errors after which a context cannot be used any more."""
_ATTRIBUTES: Final = {
    "max_threads_per_block": 0,
    "shared_bytes": 1,
    "constant_bytes": 2,
    "local_bytes": 3,
    "registers": 4,
    "ptx_version": 5,
    "binary_version": 6,
}
_MAX_DYNAMIC_SHARED_SIZE: Final = 8
_DEFAULT_SHARED_BYTES: Final = 48 << 10
_ERROR_LOG_BUFFER: Final = 5
_ERROR_LOG_BUFFER_BYTES: Final = 6
_LOG_BYTES: Final = 4096
_MIN_VALUE_BYTES: Final = 128


class CudaError(Exception):
    """An error of the driver. After a sticky one the process has to end."""

    def __init__(self, call: str, code: int, detail: str = "") -> None:
        super().__init__(f"{call}: error {code}{f': {detail}' if detail else ''}")
        self.code = code
        self.is_sticky = code in _STICKY


class Driver:
    """CUDA's driver with the primary context of the first device."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ.get(LIBRARY_VARIABLE, "libcuda.so.1"))
        self._check("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._check("cuDeviceGet", ctypes.byref(device), 0)
        self._check("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._check("cuCtxSetCurrent", context)

    def _check(self, call: str, *arguments: Any) -> None:
        code = getattr(self._library, call)(*arguments)
        if code:
            raise CudaError(call, code)

    @contextmanager
    def prepare(self, job: Job, module: Module) -> Iterator["PreparedLaunch"]:
        """Load a module and allocate a job's buffers until the block ends. Raises: `CudaError`."""
        handle = self._load_any(module)
        pointers: dict[int, int] = {}
        try:
            function = ctypes.c_void_p()
            name = module.kernel.encode()
            self._check("cuModuleGetFunction", ctypes.byref(function), handle, name)
            for position, argument in enumerate(job.arguments):
                if isinstance(argument, Buffer) and position not in module.constants:
                    pointers[position] = self._allocate(argument.size_bytes)
            yield PreparedLaunch(self, job, module, handle, function, pointers)
        finally:
            for pointer in pointers.values():
                self._library.cuMemFree_v2(ctypes.c_uint64(pointer))
            self._library.cuModuleUnload(handle)

    def _load_any(self, module: Module) -> ctypes.c_void_p:
        try:
            return self._load(module.text)
        except CudaError as error:
            if error.is_sticky:
                raise
        return self._load(without_spaces(module).text)

    def _load(self, text: str) -> ctypes.c_void_p:
        handle, log = ctypes.c_void_p(), ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG_BUFFER, _ERROR_LOG_BUFFER_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        try:
            image = text.encode() + b"\0"
            self._check("cuModuleLoadDataEx", ctypes.byref(handle), image, 2, options, values)
        except CudaError as error:
            detail = log.value.decode(errors="replace").strip().splitlines()
            raise CudaError("cuModuleLoadDataEx", error.code, "; ".join(detail[:3])) from error
        return handle

    def _allocate(self, size_bytes: int) -> int:
        pointer = ctypes.c_uint64()
        self._check("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size_bytes, 4)))
        return pointer.value

    def write(self, pointer: int, data: NDArray[np.uint8]) -> None:
        """Copy bytes to the device."""
        source = ctypes.c_void_p(data.ctypes.data)
        self._check(
            "cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), source, ctypes.c_size_t(data.nbytes)
        )

    def address(self, handle: ctypes.c_void_p, name: str) -> int:
        """Return the address of a module's variable."""
        pointer, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._check(
            "cuModuleGetGlobal_v2",
            ctypes.byref(pointer),
            ctypes.byref(size),
            handle,
            name.encode(),
        )
        return pointer.value

    def attributes(self, function: ctypes.c_void_p) -> Mapping[str, int]:
        """Return what the driver allocates for a kernel: registers, local memory (spills) and so on."""
        values = {}
        for name, number in _ATTRIBUTES.items():
            value = ctypes.c_int()
            self._check("cuFuncGetAttribute", ctypes.byref(value), number, function)
            values[name] = value.value
        return values

    def launch(
        self,
        function: ctypes.c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        values: Sequence[bytes],
    ) -> None:
        """Launch a kernel and wait for it. `values` are those of its parameters."""
        if shared_bytes > _DEFAULT_SHARED_BYTES:
            self._check("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED_SIZE, shared_bytes)
        stored = [
            ctypes.create_string_buffer(value, max(len(value), _MIN_VALUE_BYTES))
            for value in values
        ]
        addresses = (ctypes.c_void_p * max(len(stored), 1))(*map(ctypes.addressof, stored))
        sizes = [ctypes.c_uint(size) for size in (*grid, *block, shared_bytes)]
        self._check("cuLaunchKernel", function, *sizes, None, addresses, None)
        self._check("cuCtxSynchronize")


class PreparedLaunch:
    """A launch whose module and buffers are on the device."""

    def __init__(
        self,
        driver: Driver,
        job: Job,
        module: Module,
        handle: ctypes.c_void_p,
        function: ctypes.c_void_p,
        pointers: Mapping[int, int],
    ) -> None:
        self._driver = driver
        self._job = job
        self._module = module
        self._handle = handle
        self._function = function
        self._pointers = pointers
        self._contents = {
            position: contents_of(argument)
            for position, argument in enumerate(job.arguments)
            if isinstance(argument, Buffer)
        }

    def attributes(self) -> Mapping[str, int]:
        """Return what the driver allocates for the kernel."""
        return self._driver.attributes(self._function)

    def fill(self) -> None:
        """Write the contents of all buffers."""
        for position, data in self._contents.items():
            pointer = self._pointers.get(position)
            if pointer is None:
                pointer = self._driver.address(self._handle, self._module.constants[position])
            self._driver.write(pointer, data)

    def run(self) -> None:
        """Launch the kernel and wait for it. Raises: `CudaError`."""
        job = self._job
        values = [self._value(position) for position in range(len(job.arguments))]
        values += [number.to_bytes(4, "little") for number in self._module.extra]
        self._driver.launch(self._function, job.grid, job.block, self._module.shared_bytes, values)

    def _value(self, position: int) -> bytes:
        match self._job.arguments[position]:
            case Scalar(data):
                return data
            case Local():
                return bytes(8)
            case Buffer():
                return self._pointers.get(position, 0).to_bytes(8, "little")
