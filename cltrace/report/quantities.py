"""Quantities as short text: three digits and a unit that fits."""

import math
from collections.abc import Callable, Sequence
from typing import Final

from cltrace.report.document import Unit, Value

_TIMES: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_SIZES: Final = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_RATES: Final = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
_ENERGIES: Final = (
    (1e6, "MJ"),
    (1e3, "kJ"),
    (1.0, "J"),
    (1e-3, "mJ"),
    (1e-6, "µJ"),
    (1e-9, "nJ"),
    (1e-12, "pJ"),
)
_POWERS: Final = ((1e3, "kW"), (1.0, "W"), (1e-3, "mW"))
_LARGE, _LARGEST = 999_999.5, 1e15
"""`g` writes an exponent from `_LARGE` on; numbers are easier to read with one from `_LARGEST` on."""
_THIN_SPACE: Final = "\u202f"

ABSENT_MARK: Final = "–"
"""Placeholder for a missing value."""


def value_text(value: Value, unit: Unit) -> str:
    """Return a value as text for people."""
    if isinstance(value, str):
        return value
    if value is None or not math.isfinite(value):
        return ABSENT_MARK
    return _FORMATTERS[unit](value)


def count_text(count: int, singular: str, plural: str) -> str:
    """Return a number with its noun: "1 launch", "2 launches"."""
    return f"{value_text(count, Unit.COUNT)} {singular if count == 1 else plural}"


def round_significant(value: float) -> float:
    """Return a number rounded to three significant digits."""
    return float(f"{value:.3g}")


def three_digit_text(value: float) -> str:
    """Return a plain number with three significant digits, without an exponent for large ones."""
    rounded = round_significant(value)
    return f"{rounded:.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


def _plain(value: float) -> str:
    """Return whole numbers whole, others with six digits, large ones without an exponent."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.0f}" if _LARGE <= abs(value) < _LARGEST else f"{value:g}"


def sizes_text(sizes: Sequence[int]) -> str:
    """Return the sizes of an NDRange, first dimension first."""
    return " × ".join(f"{size:,}" for size in sizes)


def more_note(count: int, top: int | None) -> str:
    """Return the note below a table that shows the first `top` of `count` rows; empty if it shows all."""
    return f"{count - top} more: --top 0 shows all" if top is not None and count > top else ""


def time_text(ns: float) -> str:
    """Return a duration as text, from ns to hours."""
    if abs(ns) >= 3600e9:
        hours, rest = divmod(round(ns / 1e9), 3600)
        return f"{hours} h {rest // 60:02} min"
    if abs(ns) >= 600e9:
        minutes, seconds = divmod(round(ns / 1e9), 60)
        return f"{minutes} min {seconds:02} s"
    return _scaled(ns, _TIMES)


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """Return `value` in the largest unit that it reaches, with three significant digits."""
    smallest, name = units[-1] if value else next(unit for unit in units if unit[0] == 1)
    for scale, larger in units[:-1]:
        if abs(value) >= scale * 0.9995:
            smallest, name = scale, larger
            break
    scaled = value / smallest
    if smallest == 1 and float(scaled).is_integer():
        return f"{scaled:.0f} {name}"
    rounded = float(f"{scaled:.2e}")  # 9.998 is 10.0, which has a digit more before the point
    digits = max(0, 2 - math.floor(math.log10(abs(rounded)))) if rounded else 0
    return f"{scaled:.{min(digits, 2)}f} {name}"


_FORMATTERS: Final[dict[Unit, Callable[[float], str]]] = {
    Unit.NS: time_text,
    Unit.BYTES: lambda value: _scaled(value, _SIZES),
    Unit.BYTES_PER_S: lambda value: _scaled(value, _RATES),
    Unit.JOULES: lambda value: _scaled(value, _ENERGIES),
    Unit.WATTS: lambda value: _scaled(value, _POWERS),
    Unit.SHARE: lambda value: f"{100 * value:.1f} %",
    Unit.COUNT: lambda value: f"{round(value):,}".replace(",", _THIN_SPACE),
    **dict.fromkeys((Unit.TEXT, Unit.PLACE, Unit.PROSE, Unit.CODE, Unit.PLAIN), _plain),
}
