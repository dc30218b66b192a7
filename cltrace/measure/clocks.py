"""A device's clock and temperature while it is measured, where something can tell them."""

from typing import Protocol

import pyopencl as cl


class ClockSource(Protocol):
    """Something that tells a device's clock and temperature."""

    def read(self) -> tuple[int, int] | None:
        """MHz and degrees Celsius, or None where they are not known."""


class NoClocks:
    """For devices whose clock nothing tells."""

    def read(self) -> tuple[int, int] | None:
        """Nothing."""
        return None


class NvmlClocks:
    """NVIDIA's management library. Raises `ImportError` or its own errors where it is not there."""

    def __init__(self, bus_id: int) -> None:
        import pynvml  # noqa: PLC0415 - optional, and only here

        self._library = pynvml
        pynvml.nvmlInit()
        devices = [
            pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())
        ]
        self._device = next(
            one for one in devices if pynvml.nvmlDeviceGetPciInfo(one).bus == bus_id
        )

    def read(self) -> tuple[int, int] | None:
        """The clock of the multiprocessors and the temperature of the chip."""
        library = self._library
        try:
            return (
                int(library.nvmlDeviceGetClockInfo(self._device, library.NVML_CLOCK_SM)),
                int(library.nvmlDeviceGetTemperature(self._device, library.NVML_TEMPERATURE_GPU)),
            )
        except library.NVMLError:
            return None


def clocks_of(device: cl.Device) -> ClockSource:
    """What tells the clock of `device`. Never raises: without a library there is nothing to tell."""
    try:
        return NvmlClocks(int(device.pci_bus_id_nv))
    except Exception:  # noqa: BLE001 - whatever is missing of an optional library, its driver or device
        return NoClocks()
