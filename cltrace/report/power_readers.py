"""The power readers of this machine: what each found."""

from collections.abc import Sequence
from dataclasses import dataclass

from cltrace.power.protocol import Probe
from cltrace.report.document import Column, Document, Table, Unit


@dataclass(frozen=True, slots=True)
class ProbedReader:
    """A reader by name, whether it is live or for logs, and what its probe says."""

    name: str
    kind: str
    probe: Probe


def readers_report(found: Sequence[ProbedReader]) -> Document:
    """Readers with their states, and the channels of those that can read."""
    live = [one for one in found if one.kind == "live" and one.probe.is_ok]
    return Document(
        title="power readers",
        facts=(),
        tables=[
            table for table in (_states(found), _channels(found), _remedies(found)) if table.rows
        ],
        notes=[]
        if live
        else [
            "note: no live reader is available here: `cltrace power import` adds a meter's log later"
        ],
    )


def _states(found: Sequence[ProbedReader]) -> Table:
    return Table(
        "readers",
        "Readers",
        (
            Column("reader", "reader"),
            Column("kind", "kind", keep=60),
            Column("state", "state", keep=95),
            Column("evidence", "evidence", Unit.PROSE, 80),
        ),
        [(one.name, one.kind or None, str(one.probe.state), one.probe.evidence) for one in found],
    )


def _remedies(found: Sequence[ProbedReader]) -> Table:
    return Table(
        "remedies",
        "What to do",
        (
            Column("reader", "reader"),
            Column("remedy", "remedy", Unit.PROSE, 90),
            Column("security", "what that means for safety", Unit.PROSE, 70),
        ),
        [
            (one.name, one.probe.remedy, one.probe.security or None)
            for one in found
            if one.probe.remedy
        ],
    )


def _channels(found: Sequence[ProbedReader]) -> Table:
    return Table(
        "channels",
        "Channels",
        (
            Column("key", "channel"),
            Column("quantity", "quantity", keep=80),
            Column("scope", "scope", keep=75),
            Column("inside", "inside", keep=30),
            Column("period_s", "period (s)", Unit.PLAIN, 50),
            Column("device", "device", keep=40),
        ),
        [
            (
                one.key,
                str(one.quantity),
                str(one.scope),
                one.inside or None,
                one.period_s,
                one.device or None,
            )
            for reader in found
            for one in reader.probe.channels
        ],
    )
