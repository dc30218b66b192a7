"""Types of flags' values for `argparse`, with the messages for wrong values."""

import argparse
import math
import re
from typing import Final

from cltrace.errors import UsageError

COLORS: Final = ("auto", "always", "never")
_CENTURY_S: Final = 3.2e9
_MAX_NUMBER: Final = 1 << 63
_MAX_DIGITS: Final = 40
_SCALES: Final = {"": 1e9, "s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0, "min": 60e9}
_TIME: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|µs|ms|s|min)?")


def parse_natural(text: str) -> int:
    """Return a whole number ≥ 0."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number ≥ 0")
    number = int(text[:_MAX_DIGITS])
    if len(text) > _MAX_DIGITS or number >= _MAX_NUMBER:
        raise argparse.ArgumentTypeError(f"{text[:_MAX_DIGITS]} is too large: give less than 2^63")
    return number


def parse_positive(text: str) -> int:
    """Return a whole number ≥ 1."""
    number = parse_natural(text)
    if not number:
        raise argparse.ArgumentTypeError("0 is too few: give 1 or more")
    return number


def parse_seconds(text: str) -> float:
    """Return a number of seconds ≥ 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < _CENTURY_S:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds below a century")
    return number


def parse_offset(text: str) -> float:
    """Return a number of seconds, positive or negative, of at most a century."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not abs(number) < _CENTURY_S:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return number


def parse_period(text: str) -> float:
    """Return a period in seconds, from 1 ms to an hour."""
    number = parse_seconds(text)
    if not 0.001 <= number <= 3600:
        raise argparse.ArgumentTypeError(f"{text} s: give 0.001 to 3600")
    return number


def parse_share(text: str) -> float:
    """Return a share, written `10%`, `2.5 %` or `0.1`; a number ≥ 1 without `%` is ambiguous."""
    number, is_percent = text.strip(), text.strip().endswith("%")
    try:
        value = float(number.removesuffix("%")) / (100 if is_percent else 1)
    except ValueError:
        value = math.nan
    if not 0 < value <= 10 or (value >= 1 and not is_percent):
        raise argparse.ArgumentTypeError(f"{text!r} is no share: write 10% or 0.1")
    return value


def parse_limit(text: str) -> tuple[str, float]:
    """Return a glob of kernel names and a share, written `GLOB=5%`."""
    glob, sign, number = text.rpartition("=")
    if not sign or not glob:
        raise argparse.ArgumentTypeError(f"{text!r} is not GLOB=5%")
    return glob, parse_share(number)


def parse_time_ns(text: str) -> int:
    """Return a time in ns, written with a unit; without one it is in seconds."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 1.5, 200ms, 30us or 10ns")
    time_ns = float(match[1]) * _SCALES[match[2] or ""]
    if time_ns >= _CENTURY_S * 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is more than a century")
    return round(time_ns)


def add_color_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--color` of a verb."""
    parser.add_argument("--color", choices=COLORS, help="colour the output (default auto)")


def add_time_range_arguments(parser: argparse.ArgumentParser, action: str) -> None:
    """Declare `--from` and `--to`. `action` says what the verb does with a range of time."""
    parser.add_argument(
        "--from",
        dest="from_ns",
        metavar="T",
        type=parse_time_ns,
        help=f"{action} from T after the start: 1.5, 200ms, 30us",
    )
    parser.add_argument(
        "--to", dest="to_ns", metavar="T", type=parse_time_ns, help=f"{action} until T"
    )


def check_time_range(from_ns: int | None, to_ns: int | None) -> None:
    """Check that a range of time is not empty. Raises: `UsageError`."""
    if from_ns is not None and to_ns is not None and to_ns < from_ns:
        raise UsageError("--to is before --from: the range is empty")
