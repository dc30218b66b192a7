"""A comparison of runs as a document: what is worse beyond doubt, what is open, and what changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cltrace.regress.comparison import ALL_KERNELS, Comparison, KernelComparison
from cltrace.regress.counters import Difference
from cltrace.regress.gate import Basis, Judgement
from cltrace.regress.rounds import resolution
from cltrace.regress.runs import KernelKey
from cltrace.regress.verdicts import Verdict
from cltrace.regress.work import WorkDifference
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.quantities import counted

_ENERGY_WORDS: Final = {
    Verdict.SLOW: "MORE", Verdict.FAST: "LESS", Verdict.SAME: "SAME",
    Verdict.AMBIGUOUS: "AMBIGUOUS",
}  # fmt: skip


def regression_report(
    found: Comparison, basis: Basis = Basis.TURNS, judgement: Judgement | None = None, *,
    is_all: bool = False,
) -> Document:  # fmt: skip
    """Head by base: one sentence first, then what changed; with `is_all` every kernel.

    `judgement` is what a check comes to, None where nothing was asked.
    """
    is_timed = basis is not Basis.TRACES and not found.other_devices
    facts = [Fact("verdict", "verdict", sentence(found, basis))]
    if judgement is not None:
        facts.append(Fact("outcome", "outcome", _outcome(judgement), judgement.outcome.value))
    facts.append(Fact("basis", "basis", _basis(found, basis), basis.value))
    seen = resolution(found) if is_timed else None
    if seen is not None:
        text = f"changes from {seen:.1%} on would be told from none"
        facts.append(Fact("resolution", "resolution", text, seen))
    shown = {key: one for key, one in found.kernels.items() if is_all or not _is_plain(one)}
    same = len(found.kernels) - len(shown)
    tables = [_counter_table(found), _work_table(found)]
    if is_timed:
        tables += [_kernel_table(shown, same), _energy_table(found)]
    return Document("head by base", facts, tables, list(_notes(found, basis)))


def _outcome(judgement: Judgement) -> str:
    return ": ".join(filter(None, (judgement.outcome.value, judgement.why)))


def _basis(found: Comparison, basis: Basis) -> str:
    if basis is Basis.TRACES:
        return "counters only: a single run says nothing certain about times"
    turns = "in turns" if basis is Basis.TURNS else "made at different times, not in turns"
    return f"{found.pairs} pairs of runs {turns}, each a process"


def sentence(found: Comparison, basis: Basis = Basis.TURNS) -> str:
    """What is known, in one sentence."""
    parts = list(_counted_parts(found))
    if basis is Basis.TRACES:
        return "; ".join(parts) or "no counter changed"
    if found.other_devices:
        return "; ".join([*(parts or ["no counter changed"]), "times do not compare"])
    slow = [(key, one) for key, one in found.kernels.items() if one.is_slower]
    fast = [one for one in found.kernels.values() if _verdict(one) is Verdict.FAST]
    unclear = [one for one in found.kernels.values() if one.is_open]
    if slow:
        worst, one = max(slow, key=lambda item: _change(item[1]) or 0.0)
        others = " and others" if len(slow) > 1 else ""
        parts.append(
            f"{len(slow)} of {counted(len(found.kernels), 'kernel', 'kernels')} slower: "
            f"{_kernel_name(worst, 1)} {_change(one) or 0.0:+.1%}{others}"
        )
    if fast:
        parts.append(f"{counted(len(fast), 'kernel is', 'kernels are')} faster")
    if unclear:
        parts.append(f"{counted(len(unclear), 'kernel is', 'kernels are')} not decided")
    if found.draws_more:
        parts.append(f"{counted(len(found.draws_more), 'energy is', 'energies are')} higher")
    lacking = [one for one in found.kernels.values() if None in {one.base_ns, one.head_ns}]
    if lacking:
        parts.append(f"{counted(len(lacking), 'kernel is', 'kernels are')} of one side alone")
    return "; ".join(parts) or "nothing changed"


def _counted_parts(found: Comparison) -> Iterator[str]:
    worse = [one for one in found.counters if one.is_worse]
    more = {one.key for one in found.work if one.is_worse}
    if worse:
        yield f"{counted(len(worse), 'counter is', 'counters are')} higher"
    if more:
        yield f"{counted(len(more), 'kernel has', 'kernels have')} more to do"
    less = [one for one in found.counters if one.head < one.base]
    if less:
        yield f"{counted(len(less), 'counter is', 'counters are')} lower"


def _counter_table(found: Comparison) -> Table:
    return Table(
        "counters",
        "Counters, which have no noise",
        (
            Column("kind", "what"),
            Column("subject", "of"),
            Column("base", "base", Unit.COUNT),
            Column("head", "head", Unit.COUNT),
            Column("verdict", "verdict", Unit.PROSE),
        ),
        [_counter_row(one) for one in found.counters],
        why_empty="all are the same",
    )


def _counter_row(one: Difference) -> tuple[Value, ...]:
    verdict = "MORE" if one.head > one.base else "LESS"
    if one.head > one.base and one.pardon:
        verdict = f"{verdict}, {one.pardon}"
    return str(one.key.kind), one.key.subject or "all", one.base, one.head, verdict


def _work_table(found: Comparison) -> Table:
    return Table(
        "work",
        "What a launch has to do, counted from its source",
        (
            Column("kernel", "kernel"),
            Column("global_size", "global size", keep=50),
            Column("kind", "what", Unit.PROSE, 95),
            Column("base", "base", Unit.COUNT),
            Column("head", "head", Unit.COUNT),
            Column("change", "change", Unit.SHARE, 90),
            Column("verdict", "verdict", Unit.PROSE),
        ),
        [_work_row(one) for one in found.work],
    )


def _work_row(one: WorkDifference) -> tuple[Value, ...]:
    word = "MORE" if one.head > one.base else "LESS"
    change = one.head / one.base - 1 if one.base else None
    verdict = f"{word}, {one.doubt}" if one.doubt else word
    size = size_text(one.key.global_size)
    return one.key.kernel, size, str(one.kind), one.base, one.head, change, verdict


def _energy_table(found: Comparison) -> Table:
    return Table(
        "energy",
        "Energy, of a launch and of the whole run",
        (
            Column("of", "of"),
            Column("global_size", "global size", keep=50),
            Column("base_j", "base", Unit.JOULES, 90),
            Column("head_j", "head", Unit.JOULES, 91),
            Column("change", "change", Unit.SHARE),
            Column("low", "from", Unit.SHARE, 80),
            Column("high", "to", Unit.SHARE, 81),
            Column("verdict", "verdict", Unit.PROSE),
        ),
        [
            (
                key.kernel or "the whole run",
                size_text(key.global_size),
                one.base_j,
                one.head_j,
                one.finding.ratio - 1,
                one.finding.interval.low - 1,
                one.finding.interval.high - 1,
                _ENERGY_WORDS[one.finding.verdict],
            )
            for key, one in found.energy.items()
        ],
    )


def _kernel_name(key: KernelKey, devices: int) -> str:
    """A kernel, with its device where there are several."""
    if key == ALL_KERNELS:
        return "all kernels of a run"
    return f"{key.kernel} on {key.device}" if devices > 1 else key.kernel


def _kernel_table(shown: Mapping[KernelKey, KernelComparison], same: int) -> Table:
    devices = len({key.device for key in shown if key != ALL_KERNELS})
    return Table(
        "kernels",
        "Time of kernels",
        (
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
        [_kernel_row(key, one, devices) for key, one in shown.items()],
        note=f"{counted(same, 'other is', 'others are')} the same" if same else "",
        why_empty="all are the same",
    )


def _kernel_row(key: KernelKey, one: KernelComparison, devices: int) -> tuple[Value, ...]:
    found = one.finding
    size = size_text(key.global_size)
    name = _kernel_name(key, devices)
    if found is None:
        nothing = (None,) * 4
        return (name, size, one.base_ns, one.head_ns, *nothing, _lacking(one), None)
    return (
        name,
        size,
        one.base_ns,
        one.head_ns,
        found.ratio - 1,
        found.interval.low - 1,
        found.interval.high - 1,
        float(f"{found.p:.2g}"),
        _word(one),
        found.more_pairs,
    )


def size_text(global_size: str) -> str | None:
    """A size as people write it; None without one."""
    return global_size.strip("[]").replace(", ", "×") or None


def _word(one: KernelComparison) -> str:
    """A verdict, and what is to be known of it."""
    verdict = _verdict(one)
    if verdict is Verdict.SLOW and not one.is_confirmed:
        return f"{verdict}, not confirmed"
    if verdict in {Verdict.SLOW, Verdict.AMBIGUOUS} and not one.is_gated:
        return f"{verdict}, under 1 %"
    return str(verdict)


def _lacking(one: KernelComparison) -> str:
    if one.base_ns is None:
        return "new"
    return "gone" if one.head_ns is None else "too few runs"


def _verdict(one: KernelComparison) -> Verdict | None:
    return one.finding.verdict if one.finding is not None else None


def _change(one: KernelComparison) -> float | None:
    return one.finding.ratio - 1 if one.finding is not None else None


def _is_plain(one: KernelComparison) -> bool:
    return _verdict(one) is Verdict.SAME


def not_counted_note(sides: Sequence[str]) -> str:
    """That what kernels had to do was counted of no run of some sides."""
    return (
        "warning: operations and memory transactions are not counted, as there was no clang for "
        f"{' and '.join(sides)}: `pip install 'cltrace[predict]'` brings one"
    )


def _notes(found: Comparison, basis: Basis) -> Iterator[str]:
    for key in found.unsteady:
        yield (
            f"note: {key.kind} {key.subject}".rstrip()
            + " differ from run to run: they tell nothing"
        )
    for work, why in found.not_counted.items():
        yield f"note: what {work} has to do is not counted: {why}"
    if found.sides_not_counted:
        yield not_counted_note(found.sides_not_counted)
    if basis is Basis.APART:
        yield (
            "note: base and head did not take turns: what drifted between them counts as a change; "
            "`cltrace bench --vs` takes turns"
        )
    if found.other_devices and basis is not Basis.TRACES:
        names = ", ".join(f"{one.name} (driver {one.driver})" for one in found.other_devices)
        yield f"warning: only one side ran on {names}: times do not compare"
