"""Report on the power readers of this machine and the outcome of their probes."""

from collections.abc import Sequence
from dataclasses import dataclass

from cltrace.power.protocol import Probe
from cltrace.report.document import Column, Document, Table, Unit


@dataclass(frozen=True, slots=True)
class ProbedReader:
    """Reader by name, with its kind (live or for logs) and the result of its probe."""

    name: str
    kind: str
    probe: Probe


def readers_report(readers: Sequence[ProbedReader]) -> Document:
    """Return readers with their states, and the channels of those that can read."""
    live = [reader for reader in readers if reader.kind == "live" and reader.probe.is_ok]
    return Document(
        title="power readers",
        facts=(),
        tables=[
            table
            for table in (_states(readers), _channels(readers), _remedies(readers))
            if table.rows
        ],
        notes=[]
        if live
        else [
            "note: no live reader is available here: `cltrace power import` adds a meter's log later"
        ],
    )


def _states(readers: Sequence[ProbedReader]) -> Table:
    return Table(
        key="readers",
        title="Readers",
        columns=(
            Column("reader", "reader"),
            Column("kind", "kind", keep=60),
            Column("state", "state", keep=95),
            Column("evidence", "evidence", Unit.PROSE, 80),
        ),
        rows=[
            (reader.name, reader.kind or None, str(reader.probe.state), reader.probe.evidence)
            for reader in readers
        ],
    )


def _remedies(readers: Sequence[ProbedReader]) -> Table:
    return Table(
        key="remedies",
        title="What to do",
        columns=(
            Column("reader", "reader"),
            Column("remedy", "remedy", Unit.PROSE, 90),
            Column("security", "security implications", Unit.PROSE, 70),
        ),
        rows=[
            (reader.name, reader.probe.remedy, reader.probe.security or None)
            for reader in readers
            if reader.probe.remedy
        ],
    )


def _channels(readers: Sequence[ProbedReader]) -> Table:
    return Table(
        key="channels",
        title="Channels",
        columns=(
            Column("key", "channel"),
            Column("quantity", "quantity", keep=80),
            Column("scope", "scope", keep=75),
            Column("inside", "inside", keep=30),
            Column("period_s", "period (s)", Unit.PLAIN, 50),
            Column("device", "device", keep=40),
        ),
        rows=[
            (
                channel.key,
                str(channel.quantity),
                str(channel.scope),
                channel.inside or None,
                channel.period_s,
                channel.device or None,
            )
            for reader in readers
            for channel in reader.probe.channels
        ],
    )
