"""A comparison of runs as a document: what is worse beyond doubt, what is open, and what changed."""

from collections.abc import Iterator, Mapping

from cltrace.regress.comparison import Comparison, KernelComparison
from cltrace.regress.counters import Difference
from cltrace.regress.samples import KernelKey
from cltrace.regress.verdicts import Verdict
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.quantities import counted


def regression_report(found: Comparison, *, is_all: bool) -> Document:
    """Head by base: one sentence first, then what changed; with `is_all` every kernel."""
    facts = [
        Fact("verdict", "verdict", sentence(found)),
        Fact("pairs", "pairs", f"{found.pairs} of runs, each a process", found.pairs),
    ]
    shown = {key: one for key, one in found.kernels.items() if is_all or not _is_plain(one)}
    same = len(found.kernels) - len(shown)
    tables = [_counter_table(found), _kernel_table(shown, same)]
    return Document("head by base", facts, tables, list(_notes(found)))


def sentence(found: Comparison) -> str:
    """What is known, in one sentence."""
    slow = [(key, one) for key, one in found.kernels.items() if one.is_slower]
    fast = [one for one in found.kernels.values() if _verdict(one) is Verdict.FAST]
    unclear = [one for one in found.kernels.values() if one.is_open]
    worse = [one for one in found.counters if one.is_worse]
    parts = []
    if worse:
        parts.append(f"{counted(len(worse), 'counter is', 'counters are')} higher")
    if slow:
        worst, one = max(slow, key=lambda item: _change(item[1]) or 0.0)
        others = " and others" if len(slow) > 1 else ""
        parts.append(
            f"{len(slow)} of {counted(len(found.kernels), 'kernel', 'kernels')} slower: "
            f"{worst.kernel} {_change(one) or 0.0:+.1%}{others}"
        )
    if fast:
        parts.append(f"{counted(len(fast), 'kernel is', 'kernels are')} faster")
    if unclear:
        parts.append(f"{counted(len(unclear), 'kernel is', 'kernels are')} not decided")
    return "; ".join(parts) or "nothing changed"


def _counter_table(found: Comparison) -> Table:
    return Table(
        "counters",
        "Counters, which have no noise",
        (
            Column("kind", "what"),
            Column("subject", "of"),
            Column("base", "base", Unit.COUNT),
            Column("head", "head", Unit.COUNT),
            Column("verdict", "verdict"),
        ),
        [_counter_row(one) for one in found.counters],
        why_empty="all are the same",
    )


def _counter_row(one: Difference) -> tuple[Value, ...]:
    verdict = "MORE" if one.is_worse else "LESS"
    return str(one.key.kind), one.key.subject or None, one.base, one.head, verdict


def _kernel_table(shown: Mapping[KernelKey, KernelComparison], same: int) -> Table:
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
        [_kernel_row(key, one) for key, one in shown.items()],
        note=f"{counted(same, 'other is', 'others are')} the same" if same else "",
        why_empty="all are the same",
    )


def _kernel_row(key: KernelKey, one: KernelComparison) -> tuple[Value, ...]:
    found = one.finding
    size = key.global_size.strip("[]").replace(", ", "×") or None
    if found is None:
        nothing = (None,) * 4
        return (key.kernel, size, one.base_ns, one.head_ns, *nothing, _lacking(one), None)
    return (
        key.kernel,
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


def _notes(found: Comparison) -> Iterator[str]:
    for key in found.unsteady:
        yield (
            f"note: {key.kind} {key.subject}".rstrip()
            + " differ from run to run: they tell nothing"
        )
    if found.other_devices:
        names = ", ".join(f"{one.name} (driver {one.driver})" for one in found.other_devices)
        yield f"warning: only one side ran on {names}: times do not compare"
