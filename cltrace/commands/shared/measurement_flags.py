"""Flags of the verbs that measure first and judge what was measured: both may be done apart."""

import argparse
from pathlib import Path

from cltrace.errors import UsageError


def add_measured_arguments(
    parser: argparse.ArgumentParser, measure: str, judge: str, *, is_repeatable: bool = False
) -> None:
    """Declare `--measure-only` and `--from`, with what each is for."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--measure-only", metavar="FILE", type=Path, help=measure)
    if is_repeatable:
        either.add_argument(
            "--from", dest="measured", metavar="FILE", type=Path, action="append", default=[], help=judge
        )  # fmt: skip
    else:
        either.add_argument("--from", dest="measured", metavar="FILE", type=Path, help=judge)


def check_targets(arguments: argparse.Namespace) -> None:
    """Find out what could not be written before anything is measured. Raises: `UsageError`."""
    if arguments.measure_only is not None and arguments.output is not None:
        raise UsageError("--measure-only names its file itself: leave -o out")
    for path in (arguments.output, arguments.measure_only):
        if path is not None and path.is_dir():
            raise UsageError(f"{path} is a directory")
