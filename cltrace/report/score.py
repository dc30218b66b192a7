"""Scores as documents: one machine compared with a reference, and several side by side."""

from collections.abc import Iterator, Sequence
from typing import Final

from cltrace.regress.score import (
    BenchmarkResult,
    Ratio,
    Score,
    ScoreFile,
    common_benchmarks,
    compute_ratios,
    compute_score,
    speedups,
)
from cltrace.report.document import Column, Document, Fact, Table, Unit, Value
from cltrace.report.quantities import count_text, round_significant, three_digit_text
from cltrace.report.side_labels import legend, side_letters
from cltrace.report.untrusted_text import escape_controls

_NS: Final = 1e9


def score_report(file: ScoreFile, reference: ScoreFile) -> Document:
    """Return a device's score by a reference: each benchmark, each class, and the system."""
    result = compute_score(file, reference)
    facts = [*_score_facts(result, reference), *_system_facts(file)]
    tables = [
        _benchmark_table(file, reference),
        _kind_table(result),
        _speed_up_table(file),
        _limit_table(file),
    ]
    return Document(
        f"score of {escape_controls(file.device.name)}", facts, tables, list(_notes(file, result))
    )


def scores_report(files: Sequence[ScoreFile], reference: ScoreFile) -> Document:
    """Return scores of several devices side by side: the classes, each benchmark, and the systems."""
    labels = side_letters(len(files))
    scores = [compute_score(file, reference) for file in files]
    facts = [
        *legend(distinct_labels(files)),
        Fact("reference", "reference", _describe(reference), None),
        Fact(
            "score",
            "score",
            "harmonic mean of the reference's times by the device's; higher is faster",
        ),
    ]
    tables = [
        _side_by_side_scores(labels, scores),
        _side_by_side_times(labels, files),
        _side_by_side_ratios(labels, files, reference),
        _systems(labels, files),
    ]
    missing = sum(len(file.results) for file in files) - len(files) * len(common_benchmarks(files))
    notes = (
        [
            f"note: {count_text(missing, 'result is', 'results are')} left out: not all files have them"
        ]
        if missing
        else []
    )
    for label, result in zip(labels, scores, strict=True):
        if result.overall is None:
            notes.append(f"warning: {label} has no overall score: {_no_score_reason(result)}")
    return Document("scores", facts, tables, notes)


def distinct_labels(files: Sequence[ScoreFile]) -> list[str]:
    """Return a distinct name per file: device and platform, and what else is needed."""
    names = [escape_controls(file.label) for file in files]
    for details in (
        [file.host.processor for file in files],
        [file.host.name for file in files],
        [file.date for file in files],
    ):
        repeated = {name for name in names if names.count(name) > 1}
        names = [
            f"{name}, {escape_controls(detail)}" if name in repeated else name
            for name, detail in zip(names, details, strict=True)
        ]
    return [
        f"{name} ({number})" if names.count(name) > 1 else name
        for number, name in enumerate(names, 1)
    ]


def _score_facts(result: Score, reference: ScoreFile) -> Iterator[Fact]:
    overall = result.overall
    if overall is None:
        yield Fact("score", "score", f"none: {_no_score_reason(result)}")
    else:
        yield Fact("peak_score", "Peak score", three_digit_text(overall.peak), overall.peak)
        yield Fact(
            "average_score", "Average score", three_digit_text(overall.average), overall.average
        )
    yield Fact("reference", "reference", _describe(reference))


def _no_score_reason(result: Score) -> str:
    if result.failed:
        return f"{', '.join(result.failed)} failed"
    if result.missing:
        return f"{count_text(len(result.missing), 'benchmark was', 'benchmarks were')} not run"
    return f"the reference has no right result of {', '.join(result.unreferred)}"


def _system_facts(file: ScoreFile) -> Iterator[Fact]:
    device, host = file.device, file.host
    yield Fact(
        "device", "device", escape_controls(f"{device.name}, {device.compute_units} compute units")
    )
    yield Fact("platform", "platform", escape_controls(f"{device.platform}, {device.version}"))
    yield Fact("driver", "driver", escape_controls(device.driver))
    threads = count_text(host.threads, "thread", "threads")
    yield Fact("host", "host", escape_controls(f"{host.processor}, {threads}"))
    yield Fact(
        "system", "system", escape_controls(f"{host.system}, {host.kernel}, Python {host.python}")
    )
    versions = ", ".join(f"{name} {text}" for name, text in file.versions.items())
    yield Fact("versions", "versions", escape_controls(versions))
    yield Fact("date", "date", file.date)


def _benchmark_table(file: ScoreFile, reference: ScoreFile) -> Table:
    speed_ratios = compute_ratios(file, reference)
    return Table(
        key="benchmarks",
        title="Benchmarks: whole runs, as the host sees them",
        columns=(
            Column("benchmark", "benchmark"),
            Column("class", "class", keep=70),
            Column("peak_ns", "best", Unit.NS, 95),
            Column("average_ns", "mean", Unit.NS, 96),
            Column("deviation_ns", "deviation", Unit.NS, 60),
            Column("peak_ratio", "ratio, best", Unit.PLAIN, 85),
            Column("average_ratio", "ratio, mean", Unit.PLAIN, 97),
            Column("result", "result", Unit.PROSE, 99),
        ),
        rows=[_benchmark_row(result, speed_ratios.get(result.name)) for result in file.results],
        lists_hidden=True,
    )


def _speed_up_table(file: ScoreFile) -> Table:
    return Table(
        key="beside",
        title="Speed-up over one thread of this host, and share of the device's limit",
        columns=(
            Column("benchmark", "benchmark"),
            Column("by_numpy", "over numpy", Unit.PLAIN, 75),
            Column("by_c", "over C", Unit.PLAIN, 76),
            Column("limit_share", "of limit", Unit.SHARE, 80),
            Column("limit", "limit", keep=70),
        ),
        rows=[
            (result.name, *map(_round, speedups(result)), result.limit_share, result.limit)
            for result in file.results
        ],
        lists_hidden=True,
    )


def _benchmark_row(result: BenchmarkResult, ratio: Ratio | None) -> tuple[Value, ...]:
    return (
        result.name,
        str(result.kind),
        _ns(result.peak_s),
        _ns(result.average_s),
        _ns(result.deviation_s),
        _round(ratio.peak if ratio else None),
        _round(ratio.average if ratio else None),
        result.wrong or "right",
    )


def _kind_table(result: Score) -> Table:
    columns = (
        Column("class", "class"),
        Column("peak", "Peak", Unit.PLAIN),
        Column("average", "Average", Unit.PLAIN),
    )
    rows = [
        (str(kind), _round(ratio.peak if ratio else None), _round(ratio.average if ratio else None))
        for kind, ratio in result.kinds.items()
    ]
    return Table(key="classes", title="Scores of classes", columns=columns, rows=rows)


def _limit_table(file: ScoreFile) -> Table:
    columns = (Column("limit", "limit"), Column("per_s", "measured per second", Unit.COUNT, 90))
    rows = [(str(limit), round(amount)) for limit, amount in file.limits.items()]
    return Table(key="limits", title="Measured limits of the device", columns=columns, rows=rows)


def _notes(file: ScoreFile, result: Score) -> Iterator[str]:
    for benchmark in file.results:
        if benchmark.wrong:
            yield f"warning: {benchmark.name}: {benchmark.wrong}: left out of the score"
    if result.failed:
        yield "warning: there is no overall score, because results are wrong"


def _side_by_side(labels: Sequence[str], first: Column, unit: Unit) -> tuple[Column, ...]:
    return (
        first,
        *(
            Column(f"value_{number}", label, unit, 90 - number)
            for number, label in enumerate(labels, 1)
        ),
    )


def _side_by_side_scores(labels: Sequence[str], scores: Sequence[Score]) -> Table:
    kinds = dict.fromkeys(kind for result in scores for kind in result.kinds)
    rows: list[tuple[Value, ...]] = [
        (
            "Peak, over all",
            *(_round(result.overall.peak if result.overall else None) for result in scores),
        ),
        (
            "Average, over all",
            *(_round(result.overall.average if result.overall else None) for result in scores),
        ),
    ]
    for kind in kinds:
        kind_ratios = [result.kinds.get(kind) for result in scores]
        rows.append(
            (str(kind), *(_round(ratio.average if ratio else None) for ratio in kind_ratios))
        )
    columns = _side_by_side(labels, Column("score", "score"), Unit.PLAIN)
    return Table(
        key="scores",
        title="Scores; those of classes by the mean of runs",
        columns=columns,
        rows=rows,
        lists_hidden=True,
    )


def _side_by_side_times(labels: Sequence[str], files: Sequence[ScoreFile]) -> Table:
    rows = []
    for name in common_benchmarks(files):
        results = [next(result for result in file.results if result.name == name) for file in files]
        rows.append((name, *(_ns(result.average_s) for result in results)))
    columns = _side_by_side(labels, Column("benchmark", "benchmark"), Unit.NS)
    return Table(
        key="times", title="Times: the mean of runs", columns=columns, rows=rows, lists_hidden=True
    )


def _side_by_side_ratios(
    labels: Sequence[str], files: Sequence[ScoreFile], reference: ScoreFile
) -> Table:
    ratios_by_file = [compute_ratios(file, reference) for file in files]
    rows = []
    for name in common_benchmarks(files):
        benchmark_ratios = [file_ratios.get(name) for file_ratios in ratios_by_file]
        rows.append(
            (name, *(_round(ratio.average if ratio else None) for ratio in benchmark_ratios))
        )
    columns = _side_by_side(labels, Column("benchmark", "benchmark"), Unit.PLAIN)
    return Table(
        key="ratios",
        title="Ratios: speed-up over the reference",
        columns=columns,
        rows=rows,
        lists_hidden=True,
    )


def _systems(labels: Sequence[str], files: Sequence[ScoreFile]) -> Table:
    columns = (
        Column("letter", "letter"),
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
            file.device.name,
            file.device.platform,
            file.device.driver,
            f"{file.host.processor}, {file.host.threads} threads",
            file.host.system,
            file.date,
        )
        for label, file in zip(labels, files, strict=True)
    ]
    return Table(key="systems", title="Systems", columns=columns, rows=rows)


def _describe(file: ScoreFile) -> str:
    return escape_controls(
        f"{file.label}, {file.host.threads} threads of {file.host.processor}, {file.date}"
    )


def _ns(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * _NS


def _round(value: float | None) -> float | None:
    return None if value is None else round_significant(value)
