"""Flags of the verbs that compare runs: the smallest changes that matter, and baselines."""

import argparse
from pathlib import Path

from cltrace.commands.shared.argument_types import parse_limit, parse_share
from cltrace.regress.baselines import DIRECTORY
from cltrace.regress.floors import DEFAULT_FLOOR, Floors


def add_floor_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--floor`, `--limit` and `--energy-floor`."""
    parser.add_argument(
        "--floor",
        metavar="PERCENT",
        type=parse_share,
        default=DEFAULT_FLOOR,
        help="ignore smaller changes of a time (default 10%%)",
    )
    parser.add_argument(
        "--limit",
        metavar="GLOB=PERCENT",
        type=parse_limit,
        action="append",
        default=[],
        help="set another floor for kernels whose names match (repeatable; the last match applies)",
    )
    parser.add_argument(
        "--energy-floor",
        metavar="PERCENT",
        type=parse_share,
        help="fail if energy rises by more than this (default: report energy only)",
    )


def add_baselines_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--baselines`."""
    parser.add_argument(
        "--baselines",
        metavar="DIR",
        type=Path,
        default=DIRECTORY,
        help=f"keep baselines in DIR (default {DIRECTORY})",
    )


def floors_of(arguments: argparse.Namespace) -> Floors:
    """Return the smallest changes that matter."""
    return Floors(arguments.floor, tuple(arguments.limit), arguments.energy_floor)
