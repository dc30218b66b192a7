"""Comparisons of runs as documents: regressions, undecided changes, and all that changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cltrace.installation import suggest_install
from cltrace.regress.comparison import ALL_KERNELS, Comparison, KernelComparison
from cltrace.regress.counters import Difference
from cltrace.regress.gate import Basis, Judgement
from cltrace.regress.rounds import resolution
from cltrace.regress.run_records import KernelKey
from cltrace.regress.verdicts import Verdict
from cltrace.regress.work import WorkDifference
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.quantities import count_text

_ENERGY_WORDS: Final = {
    Verdict.SLOW: "MORE",
    Verdict.FAST: "LESS",
    Verdict.SAME: "SAME",
    Verdict.AMBIGUOUS: "AMBIGUOUS",
}


def regression_report(
    comparison: Comparison,
    basis: Basis = Basis.INTERLEAVED,
    judgement: Judgement | None = None,
    *,
    sides: Sequence[Fact] = (),
    is_all: bool = False,
) -> Document:
    """Return head compared with base: a sentence first, then what changed; with `is_all` every kernel.

    `judgement` is the outcome of a check; None where no check was asked for. `sides` are lines on base
    and head.
    """
    is_timed = basis is not Basis.SINGLE_TRACES and not comparison.other_devices
    facts = [Fact("verdict", "verdict", verdict_sentence(comparison, basis))]
    if judgement is not None:
        facts.append(Fact("outcome", "outcome", _outcome(judgement), judgement.outcome.value))
    facts.append(Fact("basis", "basis", _basis(comparison, basis), basis.value))
    smallest = resolution(comparison) if is_timed else None
    if smallest is not None:
        text = f"changes of {smallest:.1%} or more would be detected"
        facts.append(Fact("resolution", "resolution", text, smallest))
    facts += sides
    shown = {
        key: kernel for key, kernel in comparison.kernels.items() if is_all or not _is_same(kernel)
    }
    same = len(comparison.kernels) - len(shown)
    tables = [_counter_table(comparison), _work_table(comparison)]
    if is_timed:
        tables += [_kernel_table(shown, same), _energy_table(comparison)]
    return Document("head by base", facts, tables, list(_notes(comparison, basis)))


def _outcome(judgement: Judgement) -> str:
    return ": ".join(filter(None, (judgement.outcome.value, judgement.why)))


def _basis(comparison: Comparison, basis: Basis) -> str:
    if basis is Basis.SINGLE_TRACES:
        return "counters only: a single run says nothing certain about times"
    turns = "in turns" if basis is Basis.INTERLEAVED else "made at different times, not in turns"
    return f"{comparison.num_pairs} pairs of runs {turns}, each a process"


def verdict_sentence(comparison: Comparison, basis: Basis = Basis.INTERLEAVED) -> str:
    """Return the result in one sentence."""
    parts = list(_counter_parts(comparison))
    if basis is Basis.SINGLE_TRACES:
        return "; ".join(parts) or "no counter changed"
    if comparison.other_devices:
        return "; ".join([*(parts or ["no counter changed"]), "times do not compare"])
    slow = [(key, kernel) for key, kernel in comparison.kernels.items() if kernel.is_slower]
    fast = [kernel for kernel in comparison.kernels.values() if _verdict(kernel) is Verdict.FAST]
    unclear = [kernel for kernel in comparison.kernels.values() if kernel.is_open]
    if slow:
        key, kernel = max(slow, key=lambda item: _change(item[1]) or 0.0)
        others = " and others" if len(slow) > 1 else ""
        parts.append(
            f"{len(slow)} of {count_text(len(comparison.kernels), 'kernel', 'kernels')} slower: "
            f"{_kernel_name(key, 1)} {_change(kernel) or 0.0:+.1%}{others}"
        )
    if fast:
        parts.append(f"{count_text(len(fast), 'kernel is', 'kernels are')} faster")
    if unclear:
        parts.append(f"{count_text(len(unclear), 'kernel is', 'kernels are')} not decided")
    if comparison.higher_energies:
        parts.append(
            f"{count_text(len(comparison.higher_energies), 'energy is', 'energies are')} higher"
        )
    one_sided = [
        kernel for kernel in comparison.kernels.values() if None in {kernel.base_ns, kernel.head_ns}
    ]
    if one_sided:
        parts.append(f"{count_text(len(one_sided), 'kernel is', 'kernels are')} on one side only")
    return "; ".join(parts) or "nothing changed"


def _counter_parts(comparison: Comparison) -> Iterator[str]:
    worse = [counter for counter in comparison.counters if counter.is_worse]
    more = {work.key for work in comparison.work if work.is_worse}
    if worse:
        yield f"{count_text(len(worse), 'counter is', 'counters are')} higher"
    if more:
        yield f"{count_text(len(more), 'kernel has', 'kernels have')} more to do"
    less = [counter for counter in comparison.counters if counter.head < counter.base]
    if less:
        yield f"{count_text(len(less), 'counter is', 'counters are')} lower"


def _counter_table(comparison: Comparison) -> Table:
    return Table(
        key="counters",
        title="Counters, which have no noise",
        columns=(
            Column("kind", "what"),
            Column("subject", "of"),
            Column("base", "base", Unit.COUNT),
            Column("head", "head", Unit.COUNT),
            Column("verdict", "verdict", Unit.PROSE),
        ),
        rows=[_counter_row(counter) for counter in comparison.counters],
        why_empty="all are the same",
    )


def _counter_row(counter: Difference) -> tuple[Value, ...]:
    verdict = "MORE" if counter.head > counter.base else "LESS"
    if counter.head > counter.base and counter.exemption:
        verdict = f"{verdict}, {counter.exemption}"
    return (
        str(counter.key.kind),
        counter.key.subject_text or "all",
        counter.base,
        counter.head,
        verdict,
    )


def _work_table(comparison: Comparison) -> Table:
    return Table(
        key="work",
        title="Work per launch, counted from the source",
        columns=(
            Column("kernel", "kernel"),
            Column("global_size", "global size", keep=50),
            Column("kind", "what", Unit.PROSE, 95),
            Column("base", "base", Unit.COUNT),
            Column("head", "head", Unit.COUNT),
            Column("change", "change", Unit.SHARE, 90),
            Column("verdict", "verdict", Unit.PROSE),
        ),
        rows=[_work_row(work) for work in comparison.work],
    )


def _work_row(work: WorkDifference) -> tuple[Value, ...]:
    word = "MORE" if work.head > work.base else "LESS"
    change = work.head / work.base - 1 if work.base else None
    verdict = f"{word}, {work.doubt}" if work.doubt else word
    size = size_text(work.key.global_size)
    return work.key.kernel, size, str(work.kind), work.base, work.head, change, verdict


def _energy_table(comparison: Comparison) -> Table:
    return Table(
        key="energy",
        title="Energy per launch, and of the whole run",
        columns=(
            Column("of", "of"),
            Column("global_size", "global size", keep=50),
            Column("base_j", "base", Unit.JOULES, 90),
            Column("head_j", "head", Unit.JOULES, 91),
            Column("change", "change", Unit.SHARE),
            Column("low", "from", Unit.SHARE, 80),
            Column("high", "to", Unit.SHARE, 81),
            Column("verdict", "verdict", Unit.PROSE),
        ),
        rows=[
            (
                key.kernel or "the whole run",
                size_text(key.global_size),
                energy.base_j,
                energy.head_j,
                energy.finding.ratio - 1,
                energy.finding.interval.low - 1,
                energy.finding.interval.high - 1,
                _ENERGY_WORDS[energy.finding.verdict],
            )
            for key, energy in comparison.energy.items()
        ],
    )


def _kernel_name(key: KernelKey, devices: int) -> str:
    """Return the name of a kernel, with its device where there are several."""
    if key == ALL_KERNELS:
        return "all kernels of a run"
    return f"{key.kernel} on {key.device}" if devices > 1 else key.kernel


def _kernel_table(shown: Mapping[KernelKey, KernelComparison], same: int) -> Table:
    devices = len({key.device for key in shown if key != ALL_KERNELS})
    return Table(
        key="kernels",
        title="Time of kernels",
        columns=(
            Column("kernel", "kernel"),
            Column("global_size", "global size", keep=50),
            Column("base_ns", "base", Unit.NS, 90),
            Column("head_ns", "head", Unit.NS, 91),
            Column("change", "change", Unit.SHARE, 100),
            Column("low", "from", Unit.SHARE, 80),
            Column("high", "to", Unit.SHARE, 81),
            Column("p", "p", Unit.PLAIN, 40),
            Column("verdict", "verdict", Unit.PROSE, 99),
            Column("more_pairs", "pairs to decide", Unit.COUNT, 70),
        ),
        rows=[_kernel_row(key, kernel, devices) for key, kernel in shown.items()],
        note=f"{count_text(same, 'other is', 'others are')} the same" if same else "",
        why_empty="all are the same",
    )


def _kernel_row(key: KernelKey, kernel: KernelComparison, devices: int) -> tuple[Value, ...]:
    finding = kernel.finding
    size = size_text(key.global_size)
    name = _kernel_name(key, devices)
    if finding is None:
        absent = (None,) * 4
        return (name, size, kernel.base_ns, kernel.head_ns, *absent, _one_sided_text(kernel), None)
    return (
        name,
        size,
        kernel.base_ns,
        kernel.head_ns,
        finding.ratio - 1,
        finding.interval.low - 1,
        finding.interval.high - 1,
        float(f"{finding.p:.2g}"),
        _verdict_text(kernel),
        finding.more_pairs,
    )


def size_text(global_size: str) -> str | None:
    """Return a size as people write it, or None without one."""
    return global_size.strip("[]").replace(", ", "×") or None


def _verdict_text(kernel: KernelComparison) -> str:
    """Return a verdict with its reservation."""
    verdict = _verdict(kernel)
    if verdict is Verdict.SLOW and not kernel.is_confirmed:
        return f"{verdict}, not confirmed"
    if verdict in {Verdict.SLOW, Verdict.AMBIGUOUS} and not kernel.is_gated:
        return f"{verdict}, under 1 %"
    return str(verdict)


def _one_sided_text(kernel: KernelComparison) -> str:
    if kernel.base_ns is None:
        return "new"
    return "gone" if kernel.head_ns is None else "too few runs"


def _verdict(kernel: KernelComparison) -> Verdict | None:
    return kernel.finding.verdict if kernel.finding is not None else None


def _change(kernel: KernelComparison) -> float | None:
    return kernel.finding.ratio - 1 if kernel.finding is not None else None


def _is_same(kernel: KernelComparison) -> bool:
    return _verdict(kernel) is Verdict.SAME


def not_counted_note(sides: Sequence[str]) -> str:
    """Return the note that the work of kernels was counted in no run of some sides."""
    return (
        "warning: operations and memory transactions are not counted, as there was no clang for "
        f"{' and '.join(sides)}: `{suggest_install('predict')}` brings one"
    )


def _notes(comparison: Comparison, basis: Basis) -> Iterator[str]:
    for key in comparison.unsteady:
        yield f"note: {key} differ from run to run: they are not compared"
    for work, why in comparison.not_counted.items():
        yield f"note: the work of {work} is not counted: {why}"
    if comparison.sides_not_counted:
        yield not_counted_note(comparison.sides_not_counted)
    if basis is Basis.SEPARATE:
        yield (
            "note: base and head did not take turns: what drifted between them counts as a change; "
            "`cltrace bench --vs` takes turns"
        )
    if comparison.other_devices and basis is not Basis.SINGLE_TRACES:
        names = ", ".join(
            f"{device.name} (driver {device.driver})" for device in comparison.other_devices
        )
        yield f"warning: only one side ran on {names}: times do not compare"
