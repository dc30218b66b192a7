"""Advice as a table."""

from collections.abc import Sequence

from cltrace.report.document import Column, Table, Unit
from cltrace.report.quantities import more_note, shown
from cltrace.timeline.advice import Advice
from cltrace.timeline.advice.model import Seen


def advice_table(found: Sequence[Advice], top: int | None) -> Table:
    """What could be done better, the dearest first."""
    return Table(
        "advice",
        "Advice: what could be done better, and what it costs at most",
        (
            Column("rule", "rule", keep=96),
            Column("site", "place", Unit.PLACE, 70),
            Column("times", "times", Unit.COUNT, 60),
            Column("cost_ns", "cost", Unit.NS, 100),
            Column("advice", "what was seen, what to do", Unit.PROSE, 95),
        ),
        [(one.rule, one.site, one.times, one.cost_ns, _words(one)) for one in found[:top]],
        note=more_note(len(found), top),
        why_empty="no rule has anything to say",
    )


def _words(advice: Advice) -> str:
    evidence = ", ".join(map(_seen, advice.evidence))
    return f"{advice.title} ({evidence}): {advice.remedy}"


def _seen(seen: Seen) -> str:
    value = shown(seen.value, Unit(seen.quantity.value))
    return f"{value} {seen.what}" if seen.quantity.value == "count" else f"{seen.what} {value}"
