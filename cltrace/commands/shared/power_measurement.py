"""Parts of the actions of `power` that measure: the choice of a device and of its readers."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cltrace.commands.shared.argument_types import parse_period
from cltrace.errors import MissingExtraError, PowerError
from cltrace.power.metering import Meter
from cltrace.power.reader_selection import AUTO, choose_readers
from cltrace.power.sampler import ChosenReader


def add_device_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that choose a device and its readers."""
    parser.add_argument(
        "--device",
        metavar="NAME",
        default="",
        help="use the device whose name or platform contains NAME",
    )
    parser.add_argument(
        "--power",
        metavar="READER",
        action="append",
        help="read its power with READER (repeatable; default: auto)",
    )
    parser.add_argument(
        "--power-period", metavar="S", type=parse_period, help="read every S seconds"
    )


def available_readers(names: Sequence[str] | None, period_s: float | None) -> list[ChosenReader]:
    """Return the readers with these names that can read; without names, all that can.

    Raises: `PowerError` where none can read.
    """
    readers = choose_readers(names or [AUTO], period_s)
    probes = [(reader.name, reader.reader.probe()) for reader in readers]
    if not any(probe.is_ok for _, probe in probes):
        evidence = "; ".join(f"{name}: {probe.evidence}" for name, probe in probes)
        raise PowerError(f"no reader is available, because {evidence}")
    return [reader for reader, (_, probe) in zip(readers, probes, strict=True) if probe.is_ok]


@contextmanager
def metered(readers: Sequence[ChosenReader], what: str) -> Iterator[Meter]:
    """Read power within the block. Raises: `MissingExtraError` where pyopencl is missing."""
    try:
        import cltrace.measure  # noqa: F401, PLC0415 - fails before anything is measured
    except ImportError as error:
        raise MissingExtraError(what, "pocl", error) from error
    with Meter(readers) as meter:
        yield meter
