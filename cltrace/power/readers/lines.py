"""Line protocol of meters: the output of a program in any language, or the content of a file.

    # channel psu quantity=power unit=W scope=psu period_s=0.1
    1795270024734618 129.5 psu

A line is a time in µs since 1970 (UTC), a decimal value and the name of a channel. The name may be
omitted for a single channel. Undeclared channels are power in W. Blank lines and other comments are
ignored.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from cltrace.errors import PowerError
from cltrace.events.power import Quantity, Scope
from cltrace.power.protocol import Channel, Sample

_MICRO: Final = 1e-6
_DECIMALS: Final = 6
"""Number of decimals of W or J in stored values."""
_UNITS: Final = {
    "W": (Quantity.POWER, 0),
    "mW": (Quantity.POWER, -3),
    "uW": (Quantity.POWER, -6),
    "J": (Quantity.ENERGY, 0),
    "mJ": (Quantity.ENERGY, -3),
    "uJ": (Quantity.ENERGY, -6),
}
_NUMBERS: Final = frozenset(
    {"quantum", "period_s", "window_s", "delay_s", "lag_s", "gain_error", "modulus"}
)
_WORDS: Final = frozenset({"unit", "scope", "inside", "device", "label", "note"})
_MAX_LINE: Final = 1000
_MAX_VALUE: Final = Decimal(10) ** 12
_US: Final = 1000
_MAX_CHANNELS: Final = 1000
_DEFAULT_NAME: Final = "power"


class LineReader:
    """Parser of lines to channels and samples. Keys begin with `prefix`; times are on the wall clock."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._channels: dict[str, Channel] = {}
        self._exponents: dict[str, int] = {}

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Channels that the lines have named so far."""
        return tuple(self._channels.values())

    def samples(self, lines: Iterable[str]) -> Iterator[Sample]:
        """Yield the samples of lines; times in ns since 1970. Raises: `PowerError` for a wrong line."""
        for line in lines:
            text = line.strip()[:_MAX_LINE]
            if text.startswith("# channel "):
                self._declare(text)
            elif text and not text.startswith("#"):
                yield self._sample(text)

    def _declare(self, text: str) -> None:
        try:
            _, _, name, *words = shlex.split(text)
        except ValueError as error:
            raise PowerError(f"{text!r} declares no channel: {error}") from error
        given = dict(word.partition("=")[::2] for word in words)
        unknown = given.keys() - _NUMBERS - _WORDS - {"quantity"}
        if unknown:
            raise PowerError(
                f"{text!r}: there is no property {min(unknown)!r}; see the docs of `power`"
            )
        unit = given.get("unit", "J" if given.get("quantity") == "energy" else "W")
        if unit not in _UNITS:
            raise PowerError(f"{text!r}: the unit is one of {', '.join(_UNITS)}")
        previous = self._channels.get(name), self._exponents.get(name)
        channel = self._make(name, given, *_UNITS[unit])
        if previous[0] is not None and previous != (channel, self._exponents[name]):
            raise PowerError(f"{text!r}: {name} was another channel before")

    def _make(
        self, name: str, given: Mapping[str, str], quantity: Quantity, exponent: int
    ) -> Channel:
        if given.get("quantity", quantity) != quantity:
            raise PowerError(f"channel {name}: {given['unit']} is no unit of {given['quantity']}")
        scope = given.get("scope", Scope.OTHER)
        if scope not in set(Scope):
            raise PowerError(f"channel {name}: the scope is one of {', '.join(Scope)}")
        numbers = {key: _number(name, key, given[key]) for key in _NUMBERS & given.keys()}
        modulus = numbers.get("modulus")
        inside = given.get("inside", "")
        channel = Channel(
            key=f"{self._prefix}:{name}",
            label=given.get("label", name),
            quantity=quantity,
            scope=Scope(scope),
            unit_per_step=_MICRO,
            inside=f"{self._prefix}:{inside}" if inside else "",
            device=given.get("device", "").lower(),
            modulus_steps=round(modulus * 10.0 ** (_DECIMALS + exponent)) if modulus else None,
            quantum=numbers.get("quantum"),
            period_s=numbers.get("period_s"),
            window_s=numbers.get("window_s"),
            delay_s=numbers.get("delay_s"),
            lag_s=numbers.get("lag_s"),
            gain_error=numbers.get("gain_error"),
            note=given.get("note", ""),
        )
        if name not in self._channels and len(self._channels) >= _MAX_CHANNELS:
            raise PowerError(f"there are more than {_MAX_CHANNELS} channels")
        self._channels[name] = channel
        self._exponents[name] = exponent
        return channel

    def _sample(self, text: str) -> Sample:
        words = text.split()
        if len(words) not in {2, 3}:
            raise PowerError(f"{text[:60]!r} is no reading: it is `t_us value [channel]`")
        name = words[2] if len(words) == 3 else next(iter(self._channels), _DEFAULT_NAME)
        channel = self._channels.get(name) or self._make(name, {}, Quantity.POWER, 0)
        try:
            time_us, value = int(words[0]), Decimal(words[1])
        except (ValueError, InvalidOperation):
            raise PowerError(f"{text[:60]!r} is no reading: it is `t_us value [channel]`") from None
        if not value.is_finite() or abs(value) > _MAX_VALUE or not 0 <= time_us < 1 << 53:
            raise PowerError(f"{text[:60]!r}: the time or the value is out of range")
        raw = int(value.scaleb(_DECIMALS + self._exponents[name]).to_integral_value())
        return Sample(channel.key, time_us * _US, raw)


def _number(name: str, key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e15:
        raise PowerError(f"channel {name}: {key}={text} is no number of 0 or more")
    return value
