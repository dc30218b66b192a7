"""What the values of flags may be: types for `argparse`, whose messages users read."""

import argparse
import math
import re
from typing import Final

from cltrace.errors import UsageError

_CENTURY_S: Final = 3.2e9
_SCALES: Final = {"": 1e9, "s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0, "min": 60e9}
_TIME: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|µs|ms|s|min)?")


def natural(text: str) -> int:
    """A whole number from 0 on."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def positive(text: str) -> int:
    """A whole number from 1 on."""
    number = natural(text)
    if not number:
        raise argparse.ArgumentTypeError("0 is too few")
    return number


def seconds(text: str) -> float:
    """A number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return number


def shift(text: str) -> float:
    """Seconds forward or backward, a century at most."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not abs(number) < _CENTURY_S:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return number


def period(text: str) -> float:
    """Seconds between two things, a millisecond at least."""
    number = seconds(text)
    if not 0.001 <= number <= 3600:
        raise argparse.ArgumentTypeError(f"{text} s: give 0.001 to 3600")
    return number


def share(text: str) -> float:
    """A part, as `10%`, `2.5 %` or `0.1`. A number from 1 on without its sign is taken for neither."""
    number, is_percent = text.strip(), text.strip().endswith("%")
    try:
        value = float(number.removesuffix("%")) / (100 if is_percent else 1)
    except ValueError:
        value = math.nan
    if not 0 < value <= 10 or (value >= 1 and not is_percent):
        raise argparse.ArgumentTypeError(f"{text!r} is no share: write 10% or 0.1")
    return value


def limit(text: str) -> tuple[str, float]:
    """A share for kernels of which the name fits, as `GLOB=5%`."""
    glob, sign, number = text.rpartition("=")
    if not sign or not glob:
        raise argparse.ArgumentTypeError(f"{text!r} is not GLOB=5%")
    return glob, share(number)


def add_stretch_arguments(parser: argparse.ArgumentParser, *, from_help: str, to_help: str) -> None:
    """Declare a stretch of time. `from_help` ends where T is told of."""
    parser.add_argument(
        "--from",
        dest="from_ns",
        metavar="T",
        type=time_ns,
        help=f"{from_help} T after the start: 1.5, 200ms, 30us",
    )
    parser.add_argument("--to", dest="to_ns", metavar="T", type=time_ns, help=to_help)


def check_stretch(from_ns: int | None, to_ns: int | None) -> None:
    """See that a stretch of time has a length. Raises: `UsageError`."""
    if from_ns is not None and to_ns is not None and to_ns < from_ns:
        raise UsageError("--to is before --from: nothing is between them")


def time_ns(text: str) -> int:
    """A time with or without a unit, as ns; without one it is seconds."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 1.5, 200ms, 30us or 10ns")
    return round(float(found[1]) * _SCALES[found[2] or ""])
