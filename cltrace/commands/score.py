"""`cltrace score`: how fast a device and its driver do the suite, as one number and class by class."""

import argparse
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from cltrace.commands.shared.argument_types import positive
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import progress, say
from cltrace.errors import ExitStatus, MissingExtraError, UsageError
from cltrace.events.benchmarks import Benchmark
from cltrace.files import write_whole
from cltrace.regress.score import ScoreFile, check_suites
from cltrace.regress.score_files import read_score, shipped_reference, write_score
from cltrace.report.score import score_report
from cltrace.report.score_page import reference_name, score_page
from cltrace.runs.scoring import Scoring
from cltrace.suite.score import BENCHMARKS, PROBES, SUITE

_RUNS = 10
_EPILOG = """\
A run that does not count, then ten that do, each timed by the host from the
first command to the end of the last; results are held against numpy's, and C's
where there is a compiler. Exit status 4 when one is wrong or missing.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `score`."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "--device", metavar="NAME", default="", help="part of a device's or platform's name"
    )
    parser.add_argument(
        "--only",
        metavar="GLOB",
        action="append",
        default=[],
        help="only benchmarks or classes of such names (repeatable)",
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=positive,
        default=_RUNS,
        help=f"runs that count (default {_RUNS})",
    )
    parser.add_argument("--no-c", action="store_true", help="compile no C to compare with")
    parser.add_argument(
        "--reference", metavar="FILE", type=Path, help="a score that is 1 (default: the shipped)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="keep all times (JSON)")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite what is at FILE")
    parser.add_argument("--html", metavar="FILE", type=Path, help="a page for the browser")
    parser.add_argument(
        "--beside",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="scores that the page has beside this one (repeatable)",
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Run the suite, and say how fast it was."""
    for path in (arguments.output, arguments.html):
        if path is not None and path.is_dir():
            raise UsageError(f"{path} is a directory: name a file")
        if path is not None and path.exists() and not arguments.force:
            raise UsageError(f"{path} exists already: -f overwrites it, or name another file")
    chosen = _chosen(arguments.only)
    named: Path | None = arguments.reference
    reference = shipped_reference() if named is None else read_score(named)
    others = [read_score(path) for path in arguments.beside]
    beside = {str(path): one for path, one in zip(arguments.beside, others, strict=True)}
    check_suites({reference_name(named): reference, **beside}, SUITE)
    own = _scored(arguments, chosen)
    if arguments.output is not None:
        write_score(own, arguments.output)
        say(f"wrote {arguments.output}; next: cltrace compare {arguments.output} OTHER.json")
    document = score_report(own, reference)
    print_document(document, color=arguments.color, form=arguments.format)
    if arguments.html is not None:
        write_whole(score_page([own, *others], reference), arguments.html)
        say(f"wrote {arguments.html}")
    is_right = all(one.is_right for one in own.results)
    return int(ExitStatus.OK if is_right else ExitStatus.BENCHMARK_FAILED)


def _chosen(globs: Sequence[str]) -> Sequence[Benchmark]:
    """The benchmarks of a name or class that fits. Raises: `UsageError` where none does."""
    if not globs:
        return BENCHMARKS
    found = [
        one for one in BENCHMARKS
        if any(fnmatchcase(one.name, glob) or fnmatchcase(one.kind, glob) for glob in globs)
    ]  # fmt: skip
    if not found:
        raise UsageError(f"no benchmark is called so; there are {_names()}")
    return found


def _names() -> str:
    return ", ".join(one.name for one in BENCHMARKS)


def _scored(arguments: argparse.Namespace, chosen: Sequence[Benchmark]) -> ScoreFile:
    """Raises: `DeviceError`, `MissingExtraError` where pyopencl is missing."""
    try:
        from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
        from cltrace.measure.sequential import find_c_compiler  # noqa: PLC0415 - beside it
        from cltrace.measure.whole_runs import HowMany  # noqa: PLC0415 - loads pyopencl
    except ImportError as error:
        raise MissingExtraError("score", "pocl", error) from error
    compiler = None if arguments.no_c else find_c_compiler()
    with Bench(find_device(arguments.device)) as bench:
        runs = HowMany(1, arguments.runs)
        found = Scoring(bench, runs, compiler, progress).score(chosen, PROBES)
    progress("")
    return found
