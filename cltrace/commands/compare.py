"""`cltrace compare`: traces, samples or scores side by side. It informs, and fails nothing."""

import argparse
from pathlib import Path

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import say
from cltrace.errors import UsageError
from cltrace.files import write_whole
from cltrace.regress.sample_files import is_samples, read_samples
from cltrace.regress.score import check_suites
from cltrace.regress.score_files import is_score, read_score, shipped_reference
from cltrace.report.formats.plain_page import plain_page
from cltrace.report.score import scores_report
from cltrace.report.score_page import reference_name, score_page
from cltrace.report.side_by_side import Compared, side_by_side_report
from cltrace.runs.modelled_sample import sampled
from cltrace.trace.reader import Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `compare`."""
    parser.epilog = "The first is what the others are compared with; scores are by a reference."
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="traces and samples of `cltrace bench`, or scores; two or more",
    )
    parser.add_argument(
        "--reference",
        metavar="FILE",
        type=Path,
        help="of scores: which one is 1 (default: the shipped)",
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="a page for the browser, too")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite what is at FILE")
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print what was measured side by side."""
    files: list[Path] = arguments.files
    html: Path | None = arguments.html
    if len(files) < 2:
        raise UsageError("compare takes two files or more")
    if html is not None and (html.is_dir() or (html.exists() and not arguments.force)):
        raise UsageError(f"{html} exists already: -f overwrites it, or name another file")
    scores = [is_score(path) for path in files]
    if any(scores) and not all(scores):
        raise UsageError("scores compare with scores, traces and samples with each other")
    if all(scores):
        found = [read_score(path) for path in files]
        named: Path | None = arguments.reference
        reference = shipped_reference() if named is None else read_score(named)
        by_name = {str(path): one for path, one in zip(files, found, strict=True)}
        check_suites({**by_name, reference_name(named): reference})
        document = scores_report(found, reference)
        page = score_page(found, reference) if html is not None else ""
    else:
        document = side_by_side_report([_measured(path) for path in files])
        page = plain_page("cltrace compare", [document]) if html is not None else ""
    print_document(document, color=arguments.color, form=arguments.format)
    if html is not None:
        write_whole(page, html)
        say(f"wrote {html}")
    return 0


def _measured(path: Path) -> Compared:
    """Raises: `SampleFileError`, `TraceError`."""
    if is_samples(path):
        samples = read_samples(path)
        runs = tuple(run for one in samples.rounds for run in one.head)
        if not runs:
            raise UsageError(f"{path} holds no run")
        return Compared(path.stem, runs)
    with Trace(path) as trace:
        return Compared(path.stem, (sampled(trace),))
