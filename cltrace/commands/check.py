"""`cltrace check`: the gate, which fails for what is worse beyond doubt and for nothing else."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import discard_unwritten, say
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
from cltrace.files import find_output, write_atomically
from cltrace.regress.across_devices import project_base
from cltrace.regress.baselines import Baselines, head_devices
from cltrace.regress.comparison import Comparison, allow_increases, compare_rounds
from cltrace.regress.floors import Floors
from cltrace.regress.gate import Basis, Judgement, OnAmbiguous, Outcome, judge
from cltrace.regress.rounds import split_rounds
from cltrace.regress.run_records import Round, RunSample
from cltrace.regress.sample_files import SampleFile, Side, is_samples, read_samples
from cltrace.report.benchmark_sides import side_facts, side_of
from cltrace.report.comparison import regression_report
from cltrace.report.comparison_files import to_chart_entries, to_junit, to_whole_json
from cltrace.report.document import Document, Fact
from cltrace.report.formats.text import to_markdown
from cltrace.runs.predicted_sample import read_modelled_sample
from cltrace.trace.reader import Trace

_STATUS: Final = {
    Outcome.PASSED: ExitStatus.OK,
    Outcome.REGRESSION: ExitStatus.REGRESSION,
    Outcome.UNDECIDED: ExitStatus.UNDECIDED,
}
_INCOMPLETE: Final = "SELECT message FROM v_diagnostic WHERE code = 'incomplete' LIMIT 5"
_MAX_SUMMARY_BYTES: Final = 1_000_000
_EPILOG: Final = """\
exit status: 0 nothing is worse beyond doubt, 1 something is, 2 usage, 3
undecided (another device, no baseline, too few runs), 70 a defect.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """Options of a check.

    Attributes:
        head: the file to check.
        base: the file to compare with, None without one.
        baseline: the name of the baseline to compare with, None without one.
        baselines: the directory of baselines.
        is_base_optional: True to pass without a base.
        floors: the smallest changes that matter.
        compares_counters: False to ignore counters and work.
        allowed: globs of counters whose increase is meant.
        on_ambiguous: the policy for kernels that may be slower.
        through_model: True to compare different devices by the model.
    """

    head: Path
    base: Path | None
    baseline: str | None
    baselines: Path
    is_base_optional: bool
    floors: Floors
    compares_counters: bool
    allowed: Sequence[str]
    on_ambiguous: OnAmbiguous
    through_model: bool


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Files to write, None for none."""

    json: Path | None
    junit: Path | None
    gab_json: Path | None
    markdown: Path | None


@dataclass(frozen=True, slots=True)
class _Input:
    """A file to compare: the trace of a single run, or samples. `side` is what it was made of."""

    path: Path
    side: Side
    trace: RunSample | None
    samples: SampleFile | None

    @property
    def runs(self) -> Sequence[RunSample]:
        """All runs; of samples, those of head."""
        if self.samples is not None:
            return [run for rounds in self.samples.rounds for run in rounds.head]
        return [self.trace] if self.trace is not None else []


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `check`."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "head", metavar="HEAD", type=Path, help="check these samples of `cltrace bench`, or a trace"
    )
    parser.add_argument(
        "base",
        metavar="BASE",
        nargs="?",
        type=Path,
        help="compare with this file (default: the base that bench ran)",
    )
    _add_baseline(parser)
    add_floor_arguments(parser)
    _add_policy(parser)
    _add_outputs(parser)
    parser.add_argument("--all", action="store_true", help="show unchanged kernels, too")
    add_format_argument(parser)


def _add_baseline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--baseline", metavar="NAME", help="compare with this baseline")
    add_baselines_argument(parser)
    parser.add_argument(
        "--missing-baseline",
        choices=("fail", "ok"),
        default="fail",
        help="exit with 3 (fail, the default) or 0 (ok) without a baseline",
    )


def _add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--counters",
        choices=("exact", "off"),
        default="exact",
        help="fail if launches, bytes, builds or operations increase (default exact)",
    )
    parser.add_argument(
        "--allow",
        metavar="GLOB",
        action="append",
        default=[],
        help="allow increases of these counters: 'launches*', 'operations saxpy*' (repeatable)",
    )
    parser.add_argument(
        "--on-ambiguous",
        choices=[policy.value for policy in OnAmbiguous],
        default=OnAmbiguous.PASS.value,
        help="pass kernels that may be slower, or fail with 3 (default pass)",
    )
    parser.add_argument(
        "--through-model",
        action="store_true",
        help="compare different devices by the model's predictions for both",
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    outputs = parser.add_argument_group("files")
    for name, text in (
        ("json", "write the report and the raw samples"),
        ("junit", "write a test case per kernel and counter"),
        ("markdown", "write the report; $GITHUB_STEP_SUMMARY gets it in any case"),
        ("gab-json", "write JSON for github-action-benchmark (customSmallerIsBetter)"),
    ):
        outputs.add_argument(f"--{name}", metavar="FILE", type=Path, help=text)


def execute(arguments: argparse.Namespace) -> int:
    """Compare, write the files, print the report, and exit with the outcome."""
    outputs = _Outputs(arguments.json, arguments.junit, arguments.gab_json, arguments.markdown)
    options = _Options(
        head=arguments.head,
        base=arguments.base,
        baseline=arguments.baseline,
        baselines=arguments.baselines,
        is_base_optional=arguments.missing_baseline == "ok",
        floors=floors_of(arguments),
        compares_counters=arguments.counters != "off",
        allowed=arguments.allow,
        on_ambiguous=OnAmbiguous(arguments.on_ambiguous),
        through_model=arguments.through_model,
    )
    _check_reports(outputs, options)
    head = _read_input(options.head)
    base = _find_base(options, head)
    basis, measured = _make_rounds(head, base)
    if not any(rounds.num_pairs for rounds in measured):
        return _say_nothing_to_compare(options)
    comparison, notes = _compare(measured, basis, options)
    judgement = _judge(comparison, basis, options)
    sides = _side_facts(head, base)
    document = regression_report(comparison, basis, judgement, sides=sides, is_all=arguments.all)
    document = replace(document, notes=[*notes, *document.notes])
    _write(outputs, comparison, judgement, document, measured)
    status = int(_STATUS[judgement.outcome])
    try:
        print_document(document, color=arguments.color, output_format=arguments.format)
    except BrokenPipeError:  # a reader that has gone does not change the status
        discard_unwritten(sys.stdout)
    return status


def _side_facts(head: _Input, base: _Input | None) -> Sequence[Fact]:
    """Return base and head as lines; without a file of the base, that of the samples of head."""
    if base is not None:
        return side_facts(base.side, head.side)
    of_pairs = head.samples.base if head.samples is not None else None
    return side_facts(of_pairs, head.side) if of_pairs is not None else ()


def _compare(
    measured: Sequence[Round], basis: Basis, options: _Options
) -> tuple[Comparison, Sequence[str]]:
    """Return the comparison and notes on it."""
    rounds, floors, allowed = measured, options.floors, options.allowed
    notes: Sequence[str] = ()
    if options.through_model:
        allowed = ["*"]
        if basis is not Basis.SINGLE_TRACES:
            rounds, doubts = project_base(measured)
            floors = replace(floors, doubts=doubts)
            notes = list(_model_notes(measured, rounds))
    comparison = compare_rounds(rounds, floors)
    if not options.compares_counters:
        comparison = replace(comparison, counters=(), work=(), unsteady=(), sides_not_counted=())
    return allow_increases(comparison, allowed), notes


def _judge(comparison: Comparison, basis: Basis, options: _Options) -> Judgement:
    if options.through_model and not comparison.kernels:
        return Judgement(Outcome.UNDECIDED, "the model knows no kernel on both devices")
    return judge(comparison, basis, options.on_ambiguous)


def _read_input(path: Path) -> _Input:
    """Read samples or a trace. Raises: `SampleFileError`, `TraceError`, `IncomparableError`."""
    if is_samples(path):
        samples = read_samples(path)
        if not any(rounds.head for rounds in samples.rounds):
            raise SampleFileError(f"{path} holds no run")
        return _Input(path, samples.head, None, samples)
    with Trace(path) as trace:
        if trace.meta.get("state") != "complete":
            reasons = [text for (text,) in trace.rows(_INCOMPLETE)] or ["it does not say why"]
            raise IncomparableError(
                f"{path} is incomplete, so its counters are those of a part: {'; '.join(reasons)}"
            )
        return _Input(path, side_of(trace), read_modelled_sample(trace), None)


def _find_base(options: _Options, head: _Input) -> _Input | None:
    """Return the named file or baseline to compare with, None without one. Raises: `UsageError`."""
    if options.base is not None and options.baseline is not None:
        raise UsageError("BASE and --baseline both name what to compare with: give one")
    if options.base is not None:
        return _read_input(options.base)
    if options.baseline is None:
        return None
    baselines = Baselines(options.baselines)
    name = options.baseline
    devices = head.runs[0].devices if head.samples is None else head_devices(head.samples)
    baseline = baselines.find(name, devices)
    others = baselines.with_name(name)
    if baseline is None and others:
        say(f"baseline {name} is of another machine, {others[0].machine}")
        if options.through_model or not options.is_base_optional:
            baseline = others[0]  # the report says how the machines differ
    return _read_input(baseline.path) if baseline is not None else None


def _say_nothing_to_compare(options: _Options) -> int:
    if options.baseline is not None:
        text = f"there is no baseline {options.baseline} in {options.baselines}"
        remedy = f"`cltrace baseline save {options.baseline} {options.head}` makes one"
    else:
        text = f"{options.head} holds runs of one side"
        remedy = "name a second file, or --baseline, or make it with `cltrace bench --vs`"
    say(f"{text}: {remedy}")
    return int(ExitStatus.OK if options.is_base_optional else ExitStatus.UNDECIDED)


def _make_rounds(head: _Input, base: _Input | None) -> tuple[Basis, Sequence[Round]]:
    """Return the rounds to compare, none where there is no base. Raises: `IncomparableError`."""
    if base is None:
        is_paired = head.samples is not None and head.samples.base is not None
        return (
            Basis.INTERLEAVED,
            head.samples.rounds if head.samples is not None and is_paired else (),
        )
    if head.samples is None or base.samples is None:
        return Basis.SINGLE_TRACES, (Round(tuple(base.runs), tuple(head.runs)),)
    dropped = head.samples.dropped, base.samples.dropped
    if dropped[0] != dropped[1]:
        raise IncomparableError(
            f"{head.path} was made with --drop {dropped[0]}, {base.path} with --drop {dropped[1]}: "
            "their times are of other launches; make one anew"
        )
    return Basis.SEPARATE, split_rounds(base.runs, head.runs)


def _model_notes(measured: Sequence[Round], projected: Sequence[Round]) -> Iterator[str]:
    """Yield notes on the use of a model, and on the kernels that it does not predict."""
    yield (
        "note: base's times are projected to head's device by the ratio of the model's predictions; "
        "floors are wider by the model's uncertainty; counters of another device fail nothing"
    )
    before, after = (
        {
            key.kernel
            for one_round in rounds
            for run in (*one_round.base, *one_round.head)
            for key in run.kernels
        }
        for rounds in (measured, projected)
    )
    if before - after:
        yield (
            f"warning: not compared, as the model does not know them on both devices: "
            f"{', '.join(sorted(before - after))}; `cltrace calibrate` makes profiles, then bench anew"
        )


def _check_reports(outputs: _Outputs, options: _Options) -> None:
    """Check that no report would replace what is compared. Raises: `OutputError`."""
    inputs = [path for path in (options.head, options.base) if path is not None and path.is_file()]
    for report in (outputs.json, outputs.junit, outputs.gab_json, outputs.markdown):
        if report is not None and report.is_file() and any(map(report.samefile, inputs)):
            raise OutputError(f"{report} is what check reads: name another file")


def _write(
    outputs: _Outputs,
    comparison: Comparison,
    judgement: Judgement,
    document: Document,
    rounds: Sequence[Round],
) -> None:
    """Write the files that were asked for. Raises: `OutputError`."""
    if outputs.json is not None:
        write_atomically(to_whole_json(document, judgement, rounds), outputs.json)
    if outputs.junit is not None:
        write_atomically(to_junit(comparison, judgement), outputs.junit)
    if outputs.gab_json is not None:
        write_atomically(to_chart_entries(comparison, rounds), outputs.gab_json)
    if outputs.markdown is not None:
        write_atomically(to_markdown(document), outputs.markdown)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with suppress(OutputError):  # a summary that cannot be written changes no verdict
            _append_summary(to_markdown(document), Path(summary))


def _append_summary(text: str, path: Path) -> None:
    """Append to GitHub's summary, unless that becomes too large. Raises: `OutputError`."""
    try:
        path = find_output(path).path
        room = _MAX_SUMMARY_BYTES - (path.stat().st_size if path.exists() else 0)
        if len(text.encode()) <= room:
            with path.open("a", encoding="utf-8") as stream:
                stream.write(text)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error
