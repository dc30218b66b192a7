"""`cltrace bench`: benchmark a command interleaved with another command or revision."""

import argparse
import contextlib
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cltrace.commands.shared.argument_types import parse_natural, parse_positive
from cltrace.commands.shared.command_line import split_command as split_command
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import TaskProgress, say
from cltrace.commands.shared.recording_flags import add_power_arguments
from cltrace.commands.shared.regression_flags import add_floor_arguments, floors_of
from cltrace.errors import UsageError
from cltrace.files import check_output, make_parent_directory
from cltrace.regress.comparison import compare_rounds
from cltrace.regress.floors import Floors
from cltrace.regress.host import host_facts
from cltrace.regress.rounds import Budget, take_rounds
from cltrace.regress.run_records import Round
from cltrace.regress.sample_files import SampleFile, Side, write_samples
from cltrace.regress.samples import DEFAULT_DROP
from cltrace.regress.statistics import MIN_PAIRS
from cltrace.report.benchmark_sides import side_facts
from cltrace.report.comparison import regression_report
from cltrace.runs.command_power import choose_power_readers
from cltrace.runs.revisions import describe_side, open_base
from cltrace.runs.run_sampler import Invocation, RunSampler
from cltrace.spool.secret_words import mask_words
from cltrace.version import __version__

_DEFAULT_PAIRS = 8
_DEFAULT_RUNS = 16
_DEFAULT_MAX_PAIRS = 32
_MAX_TASK = 40
"""Letters of a command before the progress, which has the rest of a line."""
_EPILOG = """\
A sample is a process: launches of one process depend on each other. Runs of
both sides take turns, so that drift affects both. A kernel counts as slower
only if a second round of new runs confirms it. bench exits 0 whatever the
result, and 4 if a command fails: `cltrace check FILE` is the gate.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `bench`."""
    parser.usage = "cltrace bench [options] [--] COMMAND..."
    parser.epilog = _EPILOG
    _add_sides(parser)
    parser.add_argument(
        "--drop",
        metavar="N",
        type=parse_natural,
        default=DEFAULT_DROP,
        help=f"ignore the first N launches of a kernel (default {DEFAULT_DROP})",
    )
    add_floor_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write all samples to FILE, for check and compare",
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--all", action="store_true", help="show unchanged kernels, too")
    add_power_arguments(parser)
    add_format_argument(parser)


def _add_sides(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of the base and of the number of runs."""
    against = parser.add_mutually_exclusive_group()
    against.add_argument(
        "--vs",
        metavar="BASE",
        help="compare with another directory, git revision or command",
    )
    against.add_argument(
        "--aa",
        action="store_true",
        help="compare the command with itself, to see which changes this machine resolves",
    )
    parser.add_argument(
        "--pairs",
        metavar="N",
        type=parse_positive,
        help=f"run N pairs first (default {_DEFAULT_PAIRS}); "
        f"without --vs, N runs (default {_DEFAULT_RUNS})",
    )
    parser.add_argument(
        "--max-pairs",
        metavar="N",
        type=parse_positive,
        default=_DEFAULT_MAX_PAIRS,
        help=f"run up to N pairs while a result is ambiguous (default {_DEFAULT_MAX_PAIRS})",
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The base, and the number of runs.

    Attributes:
        base: the base in words, None for none.
        is_aa: True to compare the command with itself.
        budget: the number of pairs, or of runs without a base.
        floors: the smallest changes that matter.
    """

    base: str | None
    is_aa: bool
    budget: Budget
    floors: Floors


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and its base, write the samples, and print the comparison."""
    output: Path | None = arguments.output
    is_paired = arguments.aa or arguments.vs is not None
    default = _DEFAULT_PAIRS if is_paired else _DEFAULT_RUNS
    num_pairs: int = default if arguments.pairs is None else arguments.pairs
    if not arguments.command:
        raise UsageError("say what to run: `cltrace bench -- python app.py`")
    _check_output(output, is_forced=arguments.force)
    if is_paired and num_pairs < MIN_PAIRS:
        raise UsageError(f"--pairs {num_pairs}: fewer than {MIN_PAIRS} cannot decide")
    if not is_paired and output is None:
        raise UsageError("give --vs BASE to compare, or -o FILE to store the samples")
    readers = choose_power_readers(arguments.power, arguments.power_period)
    head = Invocation(tuple(arguments.command), Path.cwd())
    budget = Budget(num_pairs, max(arguments.max_pairs, num_pairs))
    floors = floors_of(arguments)
    task = f"running {' '.join(mask_words(head.words))[:_MAX_TASK]}"
    with _signals_as_exits(), TaskProgress(task) as progress:
        sampler = RunSampler(arguments.drop, progress, say, readers)
        base, rounds = _take_samples(
            sampler, head, _Plan(arguments.vs, arguments.aa, budget, floors)
        )
    head_side = describe_side(head)
    if output is not None:
        samples = _make_file(arguments.drop, head_side, base, rounds)
        write_samples(samples, output)
        say(f"wrote {output}; next: cltrace check {output}")
    if base is not None:
        document = regression_report(
            compare_rounds(rounds, floors), sides=side_facts(base, head_side), is_all=arguments.all
        )
        print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


@contextlib.contextmanager
def _signals_as_exits() -> Iterator[None]:
    """Exit on SIGTERM and SIGHUP within the block, so that the command in its own session ends, too."""

    def exit_with(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    numbers = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # as under nohup
    ]
    previous = {number: signal.signal(number, exit_with) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _check_output(output: Path | None, *, is_forced: bool) -> None:
    """Check before any run that the samples can be written. Raises: `OutputError`."""
    if output is None:
        return
    make_parent_directory(output)
    check_output(output, is_forced=is_forced)


def _take_samples(
    sampler: RunSampler, head: Invocation, plan: _Plan
) -> tuple[Side | None, Sequence[Round]]:
    """Run head with its base, and return the base and the runs."""
    count = plan.budget.num_pairs
    if plan.is_aa:
        return describe_side(head), (sampler.run_pairs(head, head, count),)
    if plan.base is None:
        return None, (Round((), sampler.run_repeatedly(head, count)),)
    with open_base(plan.base, head) as (base, revision):
        side = describe_side(base, revision)
        rounds = take_rounds(
            lambda count: sampler.run_pairs(base, head, count), plan.budget, plan.floors
        )
    return side, rounds


def _make_file(dropped: int, head: Side, base: Side | None, rounds: Sequence[Round]) -> SampleFile:
    host = host_facts()
    return SampleFile(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        host=host.name,
        processor=host.processor,
        cltrace=__version__,
        dropped=dropped,
        head=head,
        base=base,
        rounds=tuple(rounds),
    )
