"""The flags that say which changes matter: those of every verb that compares runs."""

import argparse

from cltrace.commands.argument_types import limit, share
from cltrace.regress.floors import FLOOR, Floors


def add_floor_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--floor` and `--limit`."""
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


def floors_of(arguments: argparse.Namespace) -> Floors:
    """The floors that the flags ask for."""
    return Floors(arguments.floor, dict(arguments.limit))
