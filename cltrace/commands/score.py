"""`cltrace score`: score the speed of a device with its driver, overall and by class."""

import argparse
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from cltrace.commands.shared.argument_types import parse_positive
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import TaskProgress, say
from cltrace.errors import ExitStatus, MissingExtraError, UsageError
from cltrace.events.benchmarks import Benchmark
from cltrace.files import check_output, write_atomically
from cltrace.regress.score import ScoreFile, check_suites
from cltrace.regress.score_files import read_score, shipped_reference, write_score
from cltrace.report.score import score_report
from cltrace.report.score_page import reference_name, score_page
from cltrace.runs.scoring import ScoreRunner
from cltrace.suite.score import BENCHMARKS, PROBES, SUITE

_DEFAULT_RUNS = 10
_EPILOG = """\
The first run is discarded, N more count. The host times each from the first
command to the end of the last. Results are compared with those of numpy, and
of C where a compiler exists. Exit status 4 if one is wrong or missing.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `score`."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "--device",
        metavar="NAME",
        default="",
        help="use the device whose name or platform contains NAME",
    )
    parser.add_argument(
        "--only",
        metavar="GLOB",
        action="append",
        default=[],
        help="run only benchmarks whose name or class matches (repeatable)",
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=parse_positive,
        default=_DEFAULT_RUNS,
        help=f"count N runs (default {_DEFAULT_RUNS})",
    )
    parser.add_argument("--no-c", action="store_true", help="compile no C to compare with")
    parser.add_argument(
        "--reference",
        metavar="FILE",
        type=Path,
        help="give this score the value 1 (default: the shipped reference)",
    )
    _add_outputs(parser)
    add_format_argument(parser)


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of output files."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write all times to FILE (JSON)"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page for the browser")
    parser.add_argument(
        "--beside",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="show this score on the page, too (repeatable)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the suite and print the score."""
    output: Path | None = arguments.output
    html: Path | None = arguments.html
    for path in (output, html):
        if path is not None:
            check_output(path, is_forced=arguments.force)
    benchmarks = _choose_benchmarks(arguments.only)
    reference_path: Path | None = arguments.reference
    reference = shipped_reference() if reference_path is None else read_score(reference_path)
    others = [read_score(path) for path in arguments.beside]
    beside = {str(path): score for path, score in zip(arguments.beside, others, strict=True)}
    check_suites({reference_name(reference_path): reference, **beside}, SUITE)
    own = _run_suite(arguments.device, arguments.runs, benchmarks, compiles_c=not arguments.no_c)
    if output is not None:
        write_score(own, output)
        say(f"wrote {output}; next: cltrace compare {output} OTHER.json")
    document = score_report(own, reference)
    print_document(document, color=arguments.color, output_format=arguments.format)
    if html is not None:
        write_atomically(score_page([own, *others], reference), html)
        say(f"wrote {html}")
    is_right = all(result.is_right for result in own.results)
    return int(ExitStatus.OK if is_right else ExitStatus.BENCHMARK_FAILED)


def _choose_benchmarks(globs: Sequence[str]) -> Sequence[Benchmark]:
    """Return the benchmarks whose name or class matches. Raises: `UsageError` where none does."""
    if not globs:
        return BENCHMARKS
    benchmarks = [
        benchmark
        for benchmark in BENCHMARKS
        if any(
            fnmatchcase(benchmark.name, glob) or fnmatchcase(benchmark.kind, glob) for glob in globs
        )
    ]
    if not benchmarks:
        names = ", ".join(benchmark.name for benchmark in BENCHMARKS)
        raise UsageError(f"no benchmark matches {', '.join(globs)}; there are {names}")
    return benchmarks


def _run_suite(
    device: str, num_runs: int, benchmarks: Sequence[Benchmark], *, compiles_c: bool
) -> ScoreFile:
    """Run benchmarks. Raises: `DeviceError`, `MissingExtraError` where pyopencl is missing."""
    try:
        from cltrace.measure import Bench, find_device  # noqa: PLC0415 - loads pyopencl
        from cltrace.measure.sequential import find_c_compiler  # noqa: PLC0415 - beside it
        from cltrace.measure.whole_runs import WholeRunTimer  # noqa: PLC0415 - loads pyopencl
    except ImportError as error:
        raise MissingExtraError("score", "pocl", error) from error
    compiler = find_c_compiler() if compiles_c else None
    with (
        Bench(find_device(device)) as bench,
        TaskProgress(f"scoring {bench.facts.name}") as progress,
    ):
        return ScoreRunner(WholeRunTimer(bench), num_runs, compiler, progress).run(
            benchmarks, PROBES
        )
