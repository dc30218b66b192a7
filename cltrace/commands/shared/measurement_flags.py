"""Flags of the verbs that measure and then evaluate: either step can run alone."""

import argparse
from pathlib import Path

from cltrace.errors import UsageError
from cltrace.files import find_output


def add_measurement_file_arguments(
    parser: argparse.ArgumentParser, evaluation: str, *, is_repeatable: bool = False
) -> None:
    """Declare `--measure-only` and `--from`. `evaluation` says what the second step does."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--measure-only",
        metavar="FILE",
        type=Path,
        help="write the measurements to FILE and stop, for --from",
    )
    text = f"{evaluation} the measurements in FILE, on any machine"
    if is_repeatable:
        either.add_argument(
            "--from",
            dest="measured",
            metavar="FILE",
            type=Path,
            action="append",
            default=[],
            help=f"{text} (repeatable)",
        )
    else:
        either.add_argument("--from", dest="measured", metavar="FILE", type=Path, help=text)


def check_targets(output: Path | None, measure_only: Path | None) -> None:
    """Check before measuring that the result can be written. Raises: `UsageError`, `OutputError`."""
    if measure_only is not None and output is not None:
        raise UsageError("--measure-only names its file itself: leave out -o")
    for path in (output, measure_only):
        if path is not None:
            find_output(path)
