"""Scores as documents: one machine's by a reference, and several side by side."""

from collections.abc import Iterator, Sequence
from typing import Final

from cltrace.regress.score import (
    BenchmarkResult,
    Ratio,
    Score,
    ScoreFile,
    common,
    ratios,
    score,
    speed_ups,
)
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.quantities import counted, significant, three_digits
from cltrace.report.side_labels import legend, letters
from cltrace.report.untrusted_text import plain

_NS: Final = 1e9


def score_report(own: ScoreFile, reference: ScoreFile) -> Document:
    """A device's score by a reference: each benchmark, each class, and what it ran on."""
    found = score(own, reference)
    facts = [*_score_facts(found, reference), *_system_facts(own)]
    tables = [
        _benchmark_table(own, reference), _kind_table(found), _beside_table(own), _limit_table(own),
    ]  # fmt: skip
    return Document(f"score of {plain(own.device.name)}", facts, tables, list(_notes(own, found)))


def scores_report(files: Sequence[ScoreFile], reference: ScoreFile) -> Document:
    """Scores of several devices side by side, the classes, each benchmark, and the systems."""
    labels = letters(len(files))
    found = [score(one, reference) for one in files]
    facts = [
        *legend(labels_of(files)),
        Fact("reference", "1 is", _named(reference), None),
        Fact(
            "score",
            "score",
            "harmonic mean of the reference's times by the device's; more is faster",
        ),
    ]
    tables = [
        _side_by_side_scores(labels, found),
        _side_by_side_times(labels, files),
        _side_by_side_ratios(labels, files, reference),
        _systems(labels, files),
    ]
    missing = sum(len(one.results) for one in files) - len(files) * len(common(files))
    notes = (
        [f"note: {counted(missing, 'result', 'results')} not all have are left out"]
        if missing
        else []
    )
    for label, one in zip(labels, found, strict=True):
        if one.overall is None:
            notes.append(f"warning: {label} has no overall score: {_why_none(one)}")
    return Document("scores", facts, tables, notes)


def labels_of(files: Sequence[ScoreFile]) -> list[str]:
    """A name for each that tells them apart: of device and platform, and what else is needed."""
    names = [plain(one.label) for one in files]
    for further in (
        [one.host.processor for one in files],
        [one.host.name for one in files],
        [one.date for one in files],
    ):
        twice = {name for name in names if names.count(name) > 1}
        names = [
            f"{name}, {plain(more)}" if name in twice else name
            for name, more in zip(names, further, strict=True)
        ]
    return [f"{name} ({at})" if names.count(name) > 1 else name for at, name in enumerate(names, 1)]


def _score_facts(found: Score, reference: ScoreFile) -> Iterator[Fact]:
    whole = found.overall
    if whole is None:
        yield Fact("score", "score", f"none: {_why_none(found)}")
    else:
        yield Fact("peak_score", "Peak score", three_digits(whole.peak), whole.peak)
        yield Fact("average_score", "Average score", three_digits(whole.average), whole.average)
    yield Fact("reference", "1 is", _named(reference))


def _why_none(found: Score) -> str:
    if found.failed:
        return f"{', '.join(found.failed)} failed"
    if found.missing:
        return f"{counted(len(found.missing), 'benchmark was', 'benchmarks were')} not run"
    return f"the reference has no right result of {', '.join(found.unreferred)}"


def _system_facts(own: ScoreFile) -> Iterator[Fact]:
    device, host = own.device, own.host
    yield Fact("device", "device", plain(f"{device.name}, {device.compute_units} compute units"))
    yield Fact("platform", "platform", plain(f"{device.platform}, {device.version}"))
    yield Fact("driver", "driver", plain(device.driver))
    threads = counted(host.threads, "thread", "threads")
    yield Fact("host", "host", plain(f"{host.processor}, {threads}"))
    yield Fact("system", "system", plain(f"{host.system}, {host.kernel}, Python {host.python}"))
    versions = ", ".join(f"{name} {text}" for name, text in own.versions.items())
    yield Fact("versions", "versions", plain(versions))
    yield Fact("date", "date", own.date)


def _benchmark_table(own: ScoreFile, reference: ScoreFile) -> Table:
    found = ratios(own, reference)
    return Table(
        "benchmarks",
        "Benchmarks: whole runs, as the host sees them",
        (
            Column("benchmark", "benchmark"),
            Column("class", "class", keep=70),
            Column("peak_ns", "best", Unit.NS, 95),
            Column("average_ns", "mean", Unit.NS, 96),
            Column("deviation_ns", "deviation", Unit.NS, 60),
            Column("peak_ratio", "ratio, best", Unit.PLAIN, 85),
            Column("average_ratio", "ratio, mean", Unit.PLAIN, 97),
            Column("result", "result", Unit.PROSE, 99),
        ),
        [_benchmark_row(one, found.get(one.name)) for one in own.results],
        says_hidden=True,
    )


def _beside_table(own: ScoreFile) -> Table:
    return Table(
        "beside",
        "Times as fast as one thread of this host, and share of what the device can do",
        (
            Column("benchmark", "benchmark"),
            Column("by_numpy", "by numpy", Unit.PLAIN, 75),
            Column("by_c", "by C", Unit.PLAIN, 76),
            Column("limit_share", "of limit", Unit.SHARE, 80),
            Column("limit", "limit", keep=70),
        ),
        [
            (one.name, *map(_short, speed_ups(one)), one.limit_share, one.limit)
            for one in own.results
        ],
        says_hidden=True,
    )


def _benchmark_row(one: BenchmarkResult, found: Ratio | None) -> tuple[Value, ...]:
    return (
        one.name,
        str(one.kind),
        _ns(one.peak_s),
        _ns(one.average_s),
        _ns(one.deviation_s),
        _short(found.peak if found else None),
        _short(found.average if found else None),
        one.wrong or "right",
    )


def _kind_table(found: Score) -> Table:
    columns = (
        Column("class", "class"),
        Column("peak", "Peak", Unit.PLAIN),
        Column("average", "Average", Unit.PLAIN),
    )
    rows = [
        (str(kind), _short(one.peak if one else None), _short(one.average if one else None))
        for kind, one in found.kinds.items()
    ]
    return Table("classes", "Scores of classes", columns, rows)


def _limit_table(own: ScoreFile) -> Table:
    columns = (Column("limit", "limit"), Column("per_s", "measured, a second", Unit.COUNT, 90))
    rows = [(str(limit), round(amount)) for limit, amount in own.limits.items()]
    return Table("limits", "What the device did at most, beside the benchmarks", columns, rows)


def _notes(own: ScoreFile, found: Score) -> Iterator[str]:
    for one in own.results:
        if one.wrong:
            yield f"warning: {one.name}: {one.wrong}: it counts for nothing"
    if found.failed:
        yield "warning: no score hides what is wrong or missing: there is none over all"


def _side_by_side(labels: Sequence[str], first: Column, unit: Unit) -> tuple[Column, ...]:
    return (
        first,
        *(Column(f"value_{at}", label, unit, 90 - at) for at, label in enumerate(labels, 1)),
    )


def _side_by_side_scores(labels: Sequence[str], found: Sequence[Score]) -> Table:
    kinds = dict.fromkeys(kind for one in found for kind in one.kinds)
    rows: list[tuple[Value, ...]] = [
        ("Peak, over all", *(_short(one.overall.peak if one.overall else None) for one in found)),
        (
            "Average, over all",
            *(_short(one.overall.average if one.overall else None) for one in found),
        ),
    ]
    for kind in kinds:
        of_kind = [one.kinds.get(kind) for one in found]
        rows.append((str(kind), *(_short(one.average if one else None) for one in of_kind)))
    columns = _side_by_side(labels, Column("score", "score"), Unit.PLAIN)
    return Table(
        "scores", "Scores; of classes by the means of runs", columns, rows, says_hidden=True
    )


def _side_by_side_times(labels: Sequence[str], files: Sequence[ScoreFile]) -> Table:
    rows = []
    for name in common(files):
        mine = [next(one for one in file.results if one.name == name) for file in files]
        rows.append((name, *(_ns(one.average_s) for one in mine)))
    columns = _side_by_side(labels, Column("benchmark", "benchmark"), Unit.NS)
    return Table("times", "Times: the mean of runs", columns, rows, says_hidden=True)


def _side_by_side_ratios(
    labels: Sequence[str], files: Sequence[ScoreFile], reference: ScoreFile
) -> Table:
    found = [ratios(one, reference) for one in files]
    rows = []
    for name in common(files):
        of_all = [one.get(name) for one in found]
        rows.append((name, *(_short(one.average if one else None) for one in of_all)))
    columns = _side_by_side(labels, Column("benchmark", "benchmark"), Unit.PLAIN)
    return Table(
        "ratios", "Ratios: how many times as fast as the reference", columns, rows, says_hidden=True
    )


def _systems(labels: Sequence[str], files: Sequence[ScoreFile]) -> Table:
    columns = (
        Column("letter", ""),
        Column("device", "device", keep=95),
        Column("platform", "platform", keep=80),
        Column("driver", "driver", keep=70),
        Column("host", "host", keep=60),
        Column("system", "system", keep=40),
        Column("date", "date", keep=90),
    )
    rows = [
        (
            label,
            one.device.name,
            one.device.platform,
            one.device.driver,
            f"{one.host.processor}, {one.host.threads} threads",
            one.host.system,
            one.date,
        )
        for label, one in zip(labels, files, strict=True)
    ]
    return Table("systems", "Systems", columns, rows)


def _named(one: ScoreFile) -> str:
    return plain(f"{one.label}, {one.host.threads} threads of {one.host.processor}, {one.date}")


def _ns(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * _NS


def _short(value: float | None) -> float | None:
    return None if value is None else significant(value)
