"""`cltrace bench`: samples of a command, beside those of another one or of another revision."""

import argparse
import contextlib
import signal
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cltrace.commands.shared.argument_types import natural, positive
from cltrace.commands.shared.command_line import split_command as split_command
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import progress, say
from cltrace.commands.shared.recording_flags import add_power_arguments
from cltrace.commands.shared.regression_flags import add_floor_arguments, floors_of
from cltrace.errors import UsageError
from cltrace.files import make_directory
from cltrace.regress.comparison import compared
from cltrace.regress.host import host_facts
from cltrace.regress.rounds import Budget, taken
from cltrace.regress.runs import Round
from cltrace.regress.sample_files import SampleFile, Side, write_samples
from cltrace.regress.samples import DROPPED
from cltrace.regress.statistics import FEWEST_PAIRS
from cltrace.report.comparison import regression_report
from cltrace.runs.power_recording import chosen
from cltrace.runs.revisions import other_place, side_of
from cltrace.runs.sampling import Place, Sampling
from cltrace.version import __version__

_PAIRS = 8
_RUNS = 16
_MOST_PAIRS = 32
_EPILOG = """\
The process is the sample: launches of one process hang together. Runs of both
sides take turns, so that what drifts hits both; what is slower has to be so in
a second round of new runs, too. bench exits 0 whatever it finds, and 4 when a
command fails: `cltrace check FILE` is the gate.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `bench`."""
    parser.usage = "cltrace bench [options] [--] COMMAND..."
    parser.epilog = _EPILOG
    _add_sides(parser)
    parser.add_argument(
        "--drop",
        metavar="N",
        type=natural,
        default=DROPPED,
        help=f"first launches of a kernel that do not count (default {DROPPED})",
    )
    add_floor_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="keep all samples, for check and compare"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite what is at FILE")
    parser.add_argument("--all", action="store_true", help="show kernels that are the same, too")
    add_power_arguments(parser)
    add_format_argument(parser)


def _add_sides(parser: argparse.ArgumentParser) -> None:
    """Declare what to compare with, and how many runs of both there are."""
    against = parser.add_mutually_exclusive_group()
    against.add_argument(
        "--vs",
        metavar="BASE",
        help="compare with another directory, a revision of git, or another command",
    )
    against.add_argument(
        "--aa",
        action="store_true",
        help="compare the command with itself: which changes this machine can see",
    )
    parser.add_argument(
        "--pairs",
        metavar="N",
        type=positive,
        help=f"pairs of runs to begin with (default {_PAIRS}); without --vs, runs (default {_RUNS})",
    )
    parser.add_argument(
        "--max-pairs",
        metavar="N",
        type=positive,
        default=_MOST_PAIRS,
        help=f"go on until it is decided, up to so many pairs (default {_MOST_PAIRS})",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Take samples, keep them, and say what they say."""
    _check(arguments)
    output: Path | None = arguments.output
    readers = chosen(arguments)
    head = Place(tuple(arguments.command), Path.cwd())
    sampling = Sampling(arguments.drop, progress, say, readers)
    with _orderly_ends():
        base, rounds = _sampled(sampling, head, arguments)
    progress("")
    if output is not None:
        write_samples(_file(arguments.drop, side_of(head), base, rounds), output)
        say(f"wrote {output}; next: cltrace check {output}")
    if base is not None:
        found = compared(rounds, floors_of(arguments))
        document = regression_report(found, is_all=arguments.all)
        print_document(document, color=arguments.color, form=arguments.format)
    return 0


@contextlib.contextmanager
def _orderly_ends() -> Iterator[None]:
    """Within it what ends us ends the command too, which is in a session of its own, and cleans up."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    ours = [
        number for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # as under nohup
    ]  # fmt: skip
    before = {number: signal.signal(number, end) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check(arguments: argparse.Namespace) -> None:
    """Find out what could not be done before anything runs. Raises: `UsageError`."""
    output: Path | None = arguments.output
    is_paired = arguments.aa or arguments.vs is not None
    if not arguments.command:
        raise UsageError("say what to run: `cltrace bench -- python app.py`")
    if output is not None and output.is_dir():
        raise UsageError(f"{output} is a directory: name a file")
    if output is not None:
        make_directory(output)
    if output is not None and output.exists() and not arguments.force:
        raise UsageError(f"{output} exists already: -f overwrites it, or name another file")
    if arguments.pairs is None:
        arguments.pairs = _PAIRS if is_paired else _RUNS
    if is_paired and arguments.pairs < FEWEST_PAIRS:
        raise UsageError(f"--pairs {arguments.pairs}: fewer than {FEWEST_PAIRS} cannot decide")
    if not is_paired and output is None:
        raise UsageError("nothing to compare with (--vs), and no file to keep samples in (-o)")


def _sampled(
    sampling: Sampling, head: Place, arguments: argparse.Namespace
) -> tuple[Side | None, Sequence[Round]]:
    """What head is compared with, and the runs."""
    if arguments.aa:
        return side_of(head), (sampling.pairs(head, head, arguments.pairs),)
    if arguments.vs is None:
        return None, (Round((), sampling.runs(head, arguments.pairs)),)
    budget = Budget(arguments.pairs, max(arguments.max_pairs, arguments.pairs))
    with other_place(arguments.vs, head) as (place, revision):
        side = side_of(place, revision)
        rounds = taken(
            lambda count: sampling.pairs(place, head, count), budget, floors_of(arguments)
        )
    return side, rounds


def _file(dropped: int, head: Side, base: Side | None, rounds: Sequence[Round]) -> SampleFile:
    here = host_facts()
    return SampleFile(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        host=here.name,
        processor=here.processor,
        cltrace=__version__,
        dropped=dropped,
        head=head,
        base=base,
        rounds=tuple(rounds),
    )
