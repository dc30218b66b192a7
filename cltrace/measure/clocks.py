"""Clock frequency and temperature of a device during a measurement, where a library reports them."""

from typing import Protocol

import pyopencl as cl


class ClockSource(Protocol):
    """A source of a device's clock frequency and temperature."""

    def read(self) -> tuple[int, int] | None:
        """Return MHz and degrees Celsius, or None if they cannot be read."""


class NoClocks:
    """The source for devices whose clock nothing reports."""

    def read(self) -> tuple[int, int] | None:
        """Return None."""
        return None


class NvmlClocks:
    """NVIDIA's management library. Raises `ImportError` or its own errors if it is not installed."""

    def __init__(self, bus_id: int) -> None:
        import pynvml  # noqa: PLC0415 - optional, and only here

        self._library = pynvml
        pynvml.nvmlInit()
        devices = [
            pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())
        ]
        self._device = next(
            device for device in devices if pynvml.nvmlDeviceGetPciInfo(device).bus == bus_id
        )

    def read(self) -> tuple[int, int] | None:
        """Return the clock of the multiprocessors and the temperature of the chip."""
        library = self._library
        try:
            return (
                int(library.nvmlDeviceGetClockInfo(self._device, library.NVML_CLOCK_SM)),
                int(library.nvmlDeviceGetTemperature(self._device, library.NVML_TEMPERATURE_GPU)),
            )
        except library.NVMLError:
            return None


def find_clock_source(device: cl.Device) -> ClockSource:
    """Return the clock source of a device, `NoClocks` without a library for it. Never raises."""
    try:
        return NvmlClocks(int(device.pci_bus_id_nv))
    except Exception:  # noqa: BLE001 - whatever is missing of an optional library, its driver or device
        return NoClocks()
