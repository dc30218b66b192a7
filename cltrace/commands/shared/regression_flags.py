"""The flags that say which changes matter: those of every verb that compares runs."""

import argparse
from pathlib import Path

from cltrace.commands.shared.argument_types import limit, share
from cltrace.regress.baselines import DIRECTORY
from cltrace.regress.floors import FLOOR, Floors


def add_floor_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--floor`, `--limit` and `--energy-floor`."""
    parser.add_argument(
        "--floor",
        metavar="PERCENT",
        type=share,
        default=FLOOR,
        help="the smallest change of a time that matters (default 10%%)",
    )
    parser.add_argument(
        "--limit",
        metavar="GLOB=PERCENT",
        type=limit,
        action="append",
        default=[],
        help="another floor for kernels of such names (repeatable; the last that fits decides)",
    )
    _add_energy(parser)


def add_baselines_argument(parser: argparse.ArgumentParser) -> None:
    """Declare where baselines are."""
    parser.add_argument(
        "--baselines",
        metavar="DIR",
        type=Path,
        default=DIRECTORY,
        help=f"where baselines are (default {DIRECTORY})",
    )


def _add_energy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--energy-floor",
        metavar="PERCENT",
        type=share,
        help="more energy than this fails, too (default: energy only informs)",
    )


def floors_of(arguments: argparse.Namespace) -> Floors:
    """The floors that the flags ask for."""
    return Floors(arguments.floor, tuple(arguments.limit), arguments.energy_floor)
