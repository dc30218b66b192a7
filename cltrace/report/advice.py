"""Advice as a table."""

from collections.abc import Sequence

from cltrace.report.document import Column, Table, Unit
from cltrace.report.quantities import more_note, value_text
from cltrace.timeline.advice import Advice
from cltrace.timeline.advice.model import Metric


def advice_table(advice: Sequence[Advice], top: int | None) -> Table:
    """Return the advice as a table, the most expensive first."""
    return Table(
        key="advice",
        title="Advice: what could be done better, and what it costs at most",
        columns=(
            Column("rule", "rule", keep=96),
            Column("site", "place", Unit.PLACE, 70),
            Column("times", "times", Unit.COUNT, 60),
            Column("cost_ns", "cost", Unit.NS, 100),
            Column("advice", "what was seen, what to do", Unit.PROSE, 95),
        ),
        rows=[
            (item.rule, item.site, item.times, item.cost_ns, _advice_text(item))
            for item in advice[:top]
        ],
        note=more_note(len(advice), top),
        why_empty="no rule has anything to say",
    )


def _advice_text(advice: Advice) -> str:
    evidence = ", ".join(map(_metric_text, advice.metrics))
    return f"{advice.title} ({evidence}): {advice.remedy}"


def _metric_text(metric: Metric) -> str:
    value = value_text(metric.value, Unit(metric.unit.value))
    return f"{value} {metric.label}" if metric.unit.value == "count" else f"{metric.label} {value}"
