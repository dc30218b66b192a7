"""Arrays of iterations: immutable, copied to a device once, and read from it once."""

import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class ArrayDevice(Protocol):
    """A device that holds arrays."""

    def upload(self, array: NDArray[Any]) -> Any:
        """Copy an array and return its buffer."""

    def download(self, buffer: Any, dtype: str, shape: Sequence[int]) -> NDArray[Any]:
        """Return the contents of a buffer."""


class DomainArray:
    """An immutable array, on the host, on devices, or on both.

    `numpy.asarray(array)` and `array[i, j]` read it from the device, once.
    """

    def __init__(self, dtype: str, shape: Sequence[int]) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = tuple(shape)
        self._host: NDArray[Any] | None = None
        self._buffers: dict[ArrayDevice, Any] = {}

    @classmethod
    def on_host_only(
        cls, array: NDArray[Any], buffers: dict[ArrayDevice, Any] | None = None
    ) -> "DomainArray":
        """Return the array of a host's array that nobody writes to.

        `buffers` are those that hold it on devices, which others may share.
        """
        own = cls(str(array.dtype), array.shape)
        if buffers is not None:
            own._buffers = buffers
        own._host = np.ascontiguousarray(array)
        return own

    @classmethod
    def on_device_only(
        cls, device: ArrayDevice, buffer: Any, dtype: str, shape: Sequence[int]
    ) -> "DomainArray":
        """Return the array of a device's buffer."""
        own = cls(dtype, shape)
        own._buffers[device] = buffer
        return own

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Size of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def is_on_host(self) -> bool:
        """Return whether reading needs no transfer."""
        return self._host is not None

    def is_on(self, device: ArrayDevice) -> bool:
        """Return whether a device has the array."""
        return device in self._buffers

    def buffer_on(self, device: ArrayDevice) -> Any:
        """Return the array's buffer on a device. It is copied there when first needed."""
        if device not in self._buffers:
            self._buffers[device] = device.upload(self.read())
        return self._buffers[device]

    def read(self) -> NDArray[Any]:
        """Return the array on the host, read-only. It is read from the device when first needed."""
        if self._host is None:
            device, buffer = next(iter(self._buffers.items()))
            self._host = device.download(buffer, str(self.dtype), self.shape)
        view = self._host.view()
        view.flags.writeable = False
        return view

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        array = self.read()
        if dtype is not None and np.dtype(dtype) != self.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __getitem__(self, index: Any) -> Any:
        return self.read()[index]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        places = ["the host"] * self.is_on_host + ["a device"] * bool(self._buffers)
        return f"DomainArray({self.dtype}, {self.shape}, on {' and '.join(places)})"


def share(array: Any) -> DomainArray:
    """Return an immutable copy of an array, which several iterations use and which is copied once."""
    return DomainArray.on_host_only(np.array(array, copy=True))


class SharedArrays:
    """The buffers of a program's read-only numpy arrays, as long as these exist.

    An array that is written to while its flags are changed for that must be given once meanwhile, or be
    another one.
    """

    def __init__(self) -> None:
        self._buffers: dict[int, dict[ArrayDevice, Any]] = {}

    def array_of(self, value: Any) -> DomainArray:
        """Return the array of a value. A read-only numpy array is copied to a device once."""
        if isinstance(value, DomainArray):
            return value
        is_constant = isinstance(value, np.ndarray) and not _is_writeable(value)
        key = id(value)
        if not is_constant:
            self._buffers.pop(key, None)  # it was read-only before, and may be so again
            return DomainArray.on_host_only(np.asarray(value))
        if key not in self._buffers:
            self._buffers[key] = {}
            weakref.finalize(value, self._buffers.pop, key, None)
        return DomainArray.on_host_only(value, self._buffers[key])


def _is_writeable(array: NDArray[Any]) -> bool:
    """Return whether an array, or one whose memory it shows, can be written to."""
    current: Any = array
    while isinstance(current, np.ndarray):
        if current.flags.writeable:
            return True
        current = current.base
    return current is not None and not isinstance(current, bytes)
