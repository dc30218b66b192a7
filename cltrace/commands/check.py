"""`cltrace check`: the gate. It fails for what is worse beyond doubt, and for nothing else."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import say, to_nowhere
from cltrace.commands.shared.regression_flags import (
    add_baselines_argument,
    add_floor_arguments,
    floors_of,
)
from cltrace.errors import (
    ExitStatus,
    IncomparableError,
    OutputError,
    SampleFileError,
    UsageError,
)
from cltrace.files import write_whole
from cltrace.regress.across_devices import through_model
from cltrace.regress.baselines import Baselines, devices_of
from cltrace.regress.comparison import Comparison, compared, pardoned
from cltrace.regress.gate import Basis, Judgement, OnAmbiguous, Outcome, judged
from cltrace.regress.rounds import parted
from cltrace.regress.runs import Round, RunSample
from cltrace.regress.sample_files import SampleFile, is_samples, read_samples
from cltrace.report.comparison import regression_report
from cltrace.report.comparison_files import to_chart_entries, to_junit, to_whole_json
from cltrace.report.document import Document
from cltrace.report.formats.text import to_markdown
from cltrace.runs.modelled_sample import sampled
from cltrace.trace.reader import Trace

_STATUS: Final = {
    Outcome.PASSED: ExitStatus.OK,
    Outcome.REGRESSION: ExitStatus.REGRESSION,
    Outcome.UNDECIDED: ExitStatus.UNDECIDED,
}
_MOST_SUMMARY_BYTES: Final = 1_000_000
_EPILOG: Final = """\
exit status: 0 nothing is worse beyond doubt, 1 something is, 2 usage, 3 it
cannot be decided (another device, no baseline, too few runs), 70 a defect.
"""


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a file has to compare: a single run's trace, or samples."""

    path: Path
    trace: RunSample | None
    samples: SampleFile | None

    @property
    def runs(self) -> Sequence[RunSample]:
        """Every run of it, of samples those of head."""
        if self.samples is not None:
            return [run for one in self.samples.rounds for run in one.head]
        return [self.trace] if self.trace is not None else []


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `check`."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "head", metavar="HEAD", type=Path, help="samples of `cltrace bench`, or a trace"
    )
    parser.add_argument(
        "base",
        metavar="BASE",
        nargs="?",
        type=Path,
        help="what to compare with (default: what bench ran beside it)",
    )
    _add_baseline(parser)
    add_floor_arguments(parser)
    _add_policy(parser)
    _add_outputs(parser)
    parser.add_argument("--all", action="store_true", help="show kernels that are the same, too")
    add_format_argument(parser)


def _add_baseline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--baseline", metavar="NAME", help="compare with this baseline")
    add_baselines_argument(parser)
    parser.add_argument(
        "--missing-baseline",
        choices=("fail", "ok"),
        default="fail",
        help="without one: exit 3, or 0 (default fail)",
    )


def _add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--counters",
        choices=("exact", "off"),
        default="exact",
        help="whether more launches, bytes, builds, operations fail (default exact)",
    )
    parser.add_argument(
        "--allow",
        metavar="GLOB",
        action="append",
        default=[],
        help="more of such counters is meant: 'launches*', 'operations saxpy*' (repeatable)",
    )
    parser.add_argument(
        "--on-ambiguous",
        choices=[one.value for one in OnAmbiguous],
        default=OnAmbiguous.PASS.value,
        help="what may be slower: pass, or fail with 3 (default pass)",
    )
    parser.add_argument(
        "--through-model",
        action="store_true",
        help="compare different devices by what the model says of both",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    outputs = parser.add_argument_group("files")
    for name, text in (
        ("json", "everything, raw samples too"),
        ("junit", "a test case for each kernel and counter"),
        ("markdown", "the report; appended to $GITHUB_STEP_SUMMARY anyway"),
        ("gab-json", "customSmallerIsBetter of github-action-benchmark"),
    ):
        outputs.add_argument(f"--{name}", metavar="FILE", type=Path, help=text)


def execute(arguments: argparse.Namespace) -> int:
    """Compare, write it, say it, and exit with what it comes to."""
    head = _measured(arguments.head)
    base = _base(arguments, head)
    basis, measured = _rounds(head, base)
    if not measured or not any(one.pairs for one in measured):
        return _nothing_to_compare(arguments)
    rounds, floors, notes = measured, floors_of(arguments), []
    if arguments.through_model and basis is not Basis.TRACES:
        rounds, doubts = through_model(measured)
        floors = replace(floors, doubts=doubts)
        notes = list(_modelled_notes(measured, rounds))
    found = compared(rounds, floors)
    if arguments.counters == "off":
        found = replace(found, counters=(), work=(), unsteady=(), sides_not_counted=())
    found = pardoned(found, ["*"] if arguments.through_model else arguments.allow)
    judgement = _judged(arguments, found, basis)
    document = regression_report(found, basis, judgement, is_all=arguments.all)
    document = replace(document, notes=[*notes, *document.notes])
    _write(arguments, found, judgement, document, measured)
    status = int(_STATUS[judgement.outcome])
    try:
        print_document(document, color=arguments.color, form=arguments.format)
    except BrokenPipeError:  # who has seen enough gets the same status
        to_nowhere(sys.stdout)
    return status


def _judged(arguments: argparse.Namespace, found: Comparison, basis: Basis) -> Judgement:
    if arguments.through_model and not found.kernels:
        return Judgement(Outcome.UNDECIDED, "the model knows no kernel on both devices")
    return judged(
        found,
        basis,
        OnAmbiguous(arguments.on_ambiguous),
        has_energy_floor=arguments.energy_floor is not None,
    )


def _measured(path: Path) -> _Measured:
    """Raises: `SampleFileError`, `TraceError`, `IncomparableError`."""
    if is_samples(path):
        samples = read_samples(path)
        if not any(one.head for one in samples.rounds):
            raise SampleFileError(f"{path} holds no run")
        return _Measured(path, None, samples)
    with Trace(path) as trace:
        if trace.meta.get("state") != "complete":
            raise IncomparableError(
                f"{path} is not whole: its program did not end by itself, and a part counts for nothing"
            )
        return _Measured(path, sampled(trace), None)


def _base(arguments: argparse.Namespace, head: _Measured) -> _Measured | None:
    """What was named to compare with. Raises: `UsageError`."""
    if arguments.base is not None and arguments.baseline is not None:
        raise UsageError("BASE and --baseline both name what to compare with: give one")
    if arguments.base is not None:
        return _measured(arguments.base)
    if arguments.baseline is None:
        return None
    known = Baselines(arguments.baselines)
    name: str = arguments.baseline
    devices = head.runs[0].devices if head.samples is None else devices_of(head.samples)
    found = known.of(name, devices)
    others = known.named(name)
    if found is None and others:
        say(f"baseline {name} is of another machine, {others[0].machine}")
        if arguments.through_model or arguments.missing_baseline == "fail":
            found = others[0]  # it is told in which way it is another
    return _measured(found.path) if found is not None else None


def _nothing_to_compare(arguments: argparse.Namespace) -> int:
    if arguments.baseline is not None:
        text = f"there is no baseline {arguments.baseline} in {arguments.baselines}"
        remedy = f"`cltrace baseline save {arguments.baseline} {arguments.head}` makes one"
    else:
        text = f"{arguments.head} holds runs of one side"
        remedy = "name a second file, or --baseline, or make it with `cltrace bench --vs`"
    say(f"{text}: {remedy}")
    return int(ExitStatus.OK if arguments.missing_baseline == "ok" else ExitStatus.UNDECIDED)


def _rounds(head: _Measured, base: _Measured | None) -> tuple[Basis, Sequence[Round]]:
    """What is compared with what; no round where there is nothing. Raises: `IncomparableError`."""
    if base is None:
        is_paired = head.samples is not None and head.samples.base is not None
        return Basis.TURNS, head.samples.rounds if head.samples is not None and is_paired else ()
    if head.samples is None or base.samples is None:
        return Basis.TRACES, (Round(tuple(base.runs), tuple(head.runs)),)
    dropped = head.samples.dropped, base.samples.dropped
    if dropped[0] != dropped[1]:
        raise IncomparableError(
            f"{head.path} was made with --drop {dropped[0]}, {base.path} with --drop {dropped[1]}: "
            "their times are of other launches; make one anew"
        )
    return Basis.APART, parted(base.runs, head.runs)


def _modelled_notes(measured: Sequence[Round], rounds: Sequence[Round]) -> Iterator[str]:
    """That a model was asked, and what it does not know."""
    yield (
        "note: base's times are those of its own device by the ratio that the model predicts; floors are "
        "wider by what the model leaves open; counters of another device fail nothing"
    )
    before, after = (
        {key.kernel for one in each for run in (*one.base, *one.head) for key in run.kernels}
        for each in (measured, rounds)
    )
    if before - after:
        yield (
            f"warning: not compared, as the model does not know them on both devices: "
            f"{', '.join(sorted(before - after))}; `cltrace calibrate` makes profiles, then bench anew"
        )


def _write(
    arguments: argparse.Namespace, found: Comparison, judgement: Judgement, document: Document,
    rounds: Sequence[Round],
) -> None:  # fmt: skip
    """Write the files that were asked for. Raises: `OutputError`."""
    if arguments.json is not None:
        write_whole(to_whole_json(document, judgement, rounds), arguments.json)
    if arguments.junit is not None:
        write_whole(
            to_junit(found, judgement, has_energy_floor=arguments.energy_floor is not None),
            arguments.junit,
        )
    if arguments.gab_json is not None:
        write_whole(to_chart_entries(found, rounds), arguments.gab_json)
    if arguments.markdown is not None:
        write_whole(to_markdown(document), arguments.markdown)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with suppress(OutputError):  # a summary that cannot be written changes no verdict
            _append(to_markdown(document), Path(summary))


def _append(text: str, path: Path) -> None:
    """Add to a file what GitHub takes of it. Raises: `OutputError`."""
    try:
        room = _MOST_SUMMARY_BYTES - (path.stat().st_size if path.exists() else 0)
        if len(text.encode()) <= room:
            with path.open("a", encoding="utf-8") as stream:
                stream.write(text)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error
