"""What the actions of `power` that measure have in common: a device, its readers, a line on stderr."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cltrace.commands.shared.argument_types import period
from cltrace.errors import MissingExtraError, PowerError
from cltrace.power.metering import Meter
from cltrace.power.recording import AUTO, chosen_readers
from cltrace.power.sampler import ChosenReader


def add_measuring_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that choose a device and its readers."""
    parser.add_argument(
        "--device", metavar="NAME", default="", help="part of a device's or platform's name"
    )
    parser.add_argument(
        "--power",
        metavar="READER",
        action="append",
        help="what reads its power (repeatable; default: auto)",
    )
    parser.add_argument(
        "--power-period", metavar="S", type=period, help="seconds between two reads"
    )


def readers(arguments: argparse.Namespace) -> list[ChosenReader]:
    """The readers that are asked for. Raises: `PowerError` where none can read."""
    chosen = chosen_readers(arguments.power or [AUTO], arguments.power_period)
    probes = [(one.name, one.reader.probe()) for one in chosen]
    if not any(probe.is_ok for _, probe in probes):
        said = "; ".join(f"{name}: {probe.evidence}" for name, probe in probes)
        raise PowerError(f"no reader is available, because {said}")
    return [one for one, (_, probe) in zip(chosen, probes, strict=True) if probe.is_ok]


@contextmanager
def metered(chosen: Sequence[ChosenReader], what: str) -> Iterator[Meter]:
    """Readers that read within the block. Raises: `MissingExtraError` where pyopencl is missing."""
    try:
        import cltrace.measure  # noqa: F401, PLC0415 - said before anything is measured
    except ImportError as error:
        raise MissingExtraError(what, "pocl", error) from error
    with Meter(chosen) as meter:
        yield meter
