"""Findings as a table, and as blocks."""

from collections.abc import Sequence

from cltrace.report.document import Block, BlockLine, Column, Table, Unit, Value
from cltrace.report.quantities import count_text, more_note, time_text, value_text
from cltrace.timeline.advice.model import MIN_SHARE, Finding, Findings, Gain, Metric

_MAX_PLACES = 4
"""Further places that a block lists."""


def advice_table(findings: Findings, top: int | None, min_share: float = MIN_SHARE) -> Table:
    """Return the findings as a table, those that save the most time first.

    Findings that save less than `min_share` of the run are left out, and counted in the note.
    """
    chosen = findings.worthwhile(min_share)
    shown = chosen[:top]
    return Table(
        key="advice",
        title=_title(findings, chosen),
        columns=(
            Column("rule", "rule", keep=96),
            Column("site", "place", Unit.PLACE, 70),
            Column("times", "times", Unit.COUNT, 60),
            Column("gain_ns", "saves", Unit.NS, 100),
            Column("gain_low_ns", "at least", Unit.NS, 90),
            Column("gain_high_ns", "at most", Unit.NS, 89),
            Column("advice", "what was seen, what to do", Unit.PROSE, 95),
            Column("before", "before", Unit.CODE, 20),
            Column("after", "after", Unit.CODE, 21),
            Column("library_site", "in a library", Unit.PLACE, 15),
            Column("other_places", "further places", Unit.COUNT, 10),
            Column("kernel_line", "kernel's line", Unit.PLACE, 25),
            Column("until_site", "until", Unit.PLACE, 24),
        ),
        rows=[_row(finding) for finding in shown],
        note=_note(findings, len(chosen), top),
        why_empty=_note(findings, len(chosen), top) or "no rule has anything to say",
        blocks=[_block(finding, findings.span_ns) for finding in shown],
    )


def _title(findings: Findings, chosen: Sequence[Finding]) -> str:
    """Return the title, with the gain of all changes together."""
    together = findings.together
    timed = sum(finding.gain is not None for finding in chosen)
    if together is None or not timed:
        return "Advice: what could be done better"
    all_of_them = "it saves" if timed == 1 else "all together save"
    return (
        f"Advice: {count_text(timed, 'change saves', 'changes save')} time; {all_of_them} "
        f"{_gain_text(together)} of {time_text(findings.span_ns)}"
    )


def _gain_text(gain: Gain) -> str:
    low, high = time_text(gain.low_ns), time_text(gain.high_ns)
    return f"{time_text(gain.expected_ns)} ({low} to {high})"


def _note(findings: Findings, count: int, top: int | None) -> str:
    small = len(findings.findings) - count
    notes = [more_note(count, top)]
    if small:
        finding = count_text(small, "finding saves", "findings save")
        notes.append(
            f"{finding} less than {100 * MIN_SHARE:.0f} % of the run: timeline --all shows them"
        )
    return "; ".join(filter(None, notes))


def _row(finding: Finding) -> tuple[Value, ...]:
    proposal, gain = finding.proposal, finding.gain
    bounds = (None,) * 3 if gain is None else (gain.expected_ns, gain.low_ns, gain.high_ns)
    at_line = f", {proposal.kernel_line}" if proposal.kernel_line else ""
    return (
        proposal.rule,
        proposal.place.site,
        proposal.times,
        *bounds,
        f"{proposal.title}{at_line} ({_evidence_text(finding)}): {proposal.remedy.text}",
        proposal.remedy.before,
        proposal.remedy.after,
        proposal.place.library,
        len(finding.other_places),
        proposal.kernel_line,
        proposal.until_site,
    )


def _block(finding: Finding, span_ns: int) -> Block:
    """Return the block of a finding: what, where, evidence, gain, and remedy with its code."""
    proposal, gain = finding.proposal, finding.gain
    value = ""
    if gain is not None:
        share = value_text(gain.expected_ns / max(span_ns, 1), Unit.SHARE)
        value = f"saves {_gain_text(gain)}, {share} of the run"
    lines = [BlockLine("where", place, Unit.PLACE) for place in [proposal.place.site] if place]
    if proposal.until_site:
        lines.append(BlockLine("until", proposal.until_site, Unit.PLACE))
    if proposal.kernel_line:
        lines.append(BlockLine("kernel", proposal.kernel_line, Unit.PLACE))
    if proposal.place.library:
        lines.append(BlockLine("called", f"by it: {proposal.place.library}", Unit.PLACE))
    others = [place.site for place in finding.other_places if place.site]
    lines += [BlockLine("and", site, Unit.PLACE) for site in others[:_MAX_PLACES]]
    if len(others) > _MAX_PLACES:
        lines.append(BlockLine("", f"and {len(others) - _MAX_PLACES} further places"))
    lines.append(BlockLine("evidence", _evidence_text(finding)))
    lines.append(BlockLine("do", proposal.remedy.text))
    if proposal.remedy.before:
        lines.append(BlockLine("before", proposal.remedy.before, Unit.CODE))
    if proposal.remedy.after:
        lines.append(BlockLine("after", proposal.remedy.after, Unit.CODE))
    return Block(f"{proposal.title} [{proposal.rule}]", value, lines)


def _evidence_text(finding: Finding) -> str:
    return ", ".join(map(_metric_text, finding.proposal.metrics))


def _metric_text(metric: Metric) -> str:
    value = value_text(metric.value, Unit(metric.unit.value))
    return f"{value} {metric.label}" if metric.unit.value == "count" else f"{metric.label} {value}"
