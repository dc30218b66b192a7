"""Settings of samplers: as OpenCL C writes them into one number, and as the words of a trace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NORMALISED: Final = 0x1
_ADDRESSING_MASK: Final = 0xE
_ADDRESSING: Final[Mapping[int, str]] = {
    0x0: "none",
    0x2: "edge",
    0x4: "clamp",
    0x6: "repeat",
    0x8: "mirrored",
}
_LINEAR: Final = 0x20


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """Settings of a sampler. `addressing` is `none`, `clamp`, `edge`, `repeat` or `mirrored`."""

    normalised: bool
    addressing: str
    linear: bool

    def __str__(self) -> str:
        coordinates = "normalised" if self.normalised else "unnormalised"
        return f"{coordinates} {self.addressing} {'linear' if self.linear else 'nearest'}"


def sampler_settings(bits: int) -> SamplerSettings:
    """Return the settings in a sampler's number in OpenCL C, `CLK_ADDRESS_CLAMP | …`."""
    addressing = _ADDRESSING.get(bits & _ADDRESSING_MASK, "clamp")
    return SamplerSettings(bool(bits & _NORMALISED), addressing, bool(bits & _LINEAR))


def read_sampler_settings(text: str) -> SamplerSettings | None:
    """Return the settings in the words of a trace; None if there are none."""
    for bits in range(2 * _LINEAR):
        settings = sampler_settings(bits)
        if str(settings) == text:
            return settings
    return None
