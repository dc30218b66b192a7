"""Export of a trace's views to CSV files, or to a Parquet dataset for DuckDB, Dask and Spark."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from cltrace.errors import MissingExtraError
from cltrace.report.formats.text import csv_value
from cltrace.trace.reader import Trace
from cltrace.trace.views import VIEWS, View
from cltrace.trace.views.kinds import ValueKind, value_kind

_BATCH_ROWS: Final = 50_000
_NO_RANK: Final = -1
"""The rank of rows without a process, or of a process without a rank."""


def write_csv(trace: Trace, target: Path) -> None:
    """Write each view to a file of its own in the directory `target`, with a line of column names."""
    target.mkdir(parents=True)
    for view in VIEWS:
        with (target / f"{view.name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([column.name for column in view.columns])
            for row in trace.iterate(f"SELECT * FROM {view.name}"):
                writer.writerow(
                    [csv_value(value.hex() if isinstance(value, bytes) else value) for value in row]
                )


def write_parquet(trace: Trace, target: Path) -> None:
    """Write each view to a directory of its own in `target`, partitioned by rank if it has processes.

    Raises: `MissingExtraError`.
    """
    try:
        import pyarrow  # noqa: PLC0415, F401 - an extra
    except ImportError as error:
        raise MissingExtraError("--to parquet", "parquet", error) from error
    processes = trace.rows("SELECT process_id, rank FROM v_process")
    has_ranks = any(rank is not None for _, rank in processes)
    ranks = {
        int(number): (_NO_RANK if has_ranks else int(number) - 1) if rank is None else int(rank)
        for number, rank in processes
    }
    target.mkdir(parents=True)
    for view in VIEWS:
        _write_view(trace, view, target / view.name, ranks)


def _write_view(trace: Trace, view: View, directory: Path, ranks: dict[int, int]) -> None:
    names = [column.name for column in view.columns]
    # A view with a column for the rank is not partitioned by it.
    is_partitioned = "process_id" in names and "rank" not in names
    process = names.index("process_id") if is_partitioned else None
    writers: dict[Path, Any] = {}
    try:
        for rows in _batches(trace, view):
            for part, members in _by_rank(rows, process, ranks).items():
                _append(writers, directory / part, view, members)
        if not writers:
            # A view without rows is a dataset too: readers need its columns.
            _append(writers, directory / (f"rank={_NO_RANK}" if is_partitioned else ""), view, [])
    finally:
        for writer in writers.values():
            writer.close()


def _by_rank(
    rows: Sequence[tuple[Any, ...]], process: int | None, ranks: dict[int, int]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return rows by the directory that they belong in."""
    if process is None:
        return {"": list(rows)}
    directories: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        directories.setdefault(f"rank={ranks.get(row[process], _NO_RANK)}", []).append(row)
    return directories


def _append(
    writers: dict[Path, Any], directory: Path, view: View, rows: Sequence[tuple[Any, ...]]
) -> None:
    import pyarrow as pa  # noqa: PLC0415 - an extra, checked by `write_parquet`
    from pyarrow import parquet  # noqa: PLC0415 - as above

    types = {
        ValueKind.WHOLE: pa.int64(),
        ValueKind.REAL: pa.float64(),
        ValueKind.TEXT: pa.string(),
        ValueKind.BYTES: pa.binary(),
    }
    kinds = [value_kind(view.name, column.name) for column in view.columns]
    arrays = [
        _array(pa, column, kind, types[kind])
        for column, kind in zip(
            zip(*rows, strict=True) if rows else [()] * len(kinds), kinds, strict=True
        )
    ]
    table = pa.Table.from_arrays(arrays, names=[column.name for column in view.columns])
    if directory not in writers:
        directory.mkdir(parents=True, exist_ok=True)
        writers[directory] = parquet.ParquetWriter(directory / "part-0.parquet", table.schema)
    writers[directory].write_table(table)


def _array(pa: Any, column: Sequence[Any], kind: ValueKind, type_: Any) -> Any:
    """Return a column as an Arrow array. Values are checked one by one only if some do not fit."""
    try:
        return pa.array(column, type_)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
        return pa.array([_fit_value(value, kind) for value in column], type_)


def _fit_value(value: Any, kind: ValueKind) -> Any:
    """Return a value that fits its column; others become null, as the file may be anyone's."""
    match kind:
        case ValueKind.WHOLE:
            return value if isinstance(value, int) else None
        case ValueKind.REAL:
            return float(value) if isinstance(value, (int, float)) else None
        case ValueKind.BYTES:
            return value if isinstance(value, bytes) else None
        case ValueKind.TEXT:
            return value if isinstance(value, str) else None


def _batches(trace: Trace, view: View) -> Iterator[Sequence[tuple[Any, ...]]]:
    rows = trace.iterate(f"SELECT * FROM {view.name}")
    while batch := list(islice(rows, _BATCH_ROWS)):
        yield batch
