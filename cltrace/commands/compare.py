"""`cltrace compare`: compare traces, samples or scores side by side, without a verdict."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import say
from cltrace.errors import UsageError
from cltrace.files import check_output, write_atomically
from cltrace.regress.sample_files import is_samples, read_samples
from cltrace.regress.score import ScoreFile, check_suites
from cltrace.regress.score_files import is_score, read_score, shipped_reference
from cltrace.report.formats.plain_page import plain_page
from cltrace.report.score import scores_report
from cltrace.report.score_page import reference_name, score_page
from cltrace.report.side_by_side import NamedRuns, side_by_side_report
from cltrace.runs.predicted_sample import read_modelled_sample
from cltrace.trace.reader import Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `compare`."""
    parser.epilog = "Ratios are relative to the first file; those of scores, to a reference."
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="compare these traces and samples of `cltrace bench`, or scores; two or more",
    )
    parser.add_argument(
        "--reference",
        metavar="FILE",
        type=Path,
        help="give this score the value 1 (default: the shipped reference)",
    )
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="write a page for the browser, too"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the files' values side by side."""
    files: list[Path] = arguments.files
    html: Path | None = arguments.html
    if len(files) < 2:
        raise UsageError("compare takes two files or more")
    if html is not None:
        check_output(html, is_forced=arguments.force)
    are_scores = [is_score(path) for path in files]
    if any(are_scores) and not all(are_scores):
        raise UsageError("scores compare with scores, traces and samples with each other")
    if all(are_scores):
        scores, reference = _read_scores(files, arguments.reference)
        document = scores_report(scores, reference)
        page = score_page(scores, reference) if html is not None else ""
    else:
        document = side_by_side_report([_read_runs(path) for path in files])
        page = plain_page("cltrace compare", [document]) if html is not None else ""
    print_document(document, color=arguments.color, output_format=arguments.format)
    if html is not None:
        write_atomically(page, html)
        say(f"wrote {html}")
    return 0


def _read_scores(
    files: Sequence[Path], reference_path: Path | None
) -> tuple[Sequence[ScoreFile], ScoreFile]:
    """Read scores and their reference. Raises: `SampleFileError`."""
    scores = [read_score(path) for path in files]
    reference = shipped_reference() if reference_path is None else read_score(reference_path)
    by_name = {str(path): score for path, score in zip(files, scores, strict=True)}
    check_suites({**by_name, reference_name(reference_path): reference})
    return scores, reference


def _read_runs(path: Path) -> NamedRuns:
    """Read samples or a trace. Raises: `SampleFileError`, `TraceError`."""
    if is_samples(path):
        samples = read_samples(path)
        runs = tuple(run for rounds in samples.rounds for run in rounds.head)
        if not runs:
            raise UsageError(f"{path} holds no run")
        return NamedRuns(path.stem, runs)
    with Trace(path) as trace:
        return NamedRuns(path.stem, (read_modelled_sample(trace),))
