"""The views of a trace as CSV files, or as a Parquet dataset for DuckDB, Dask and Spark."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from cltrace.errors import MissingExtraError
from cltrace.report.formats.text import csv_value
from cltrace.trace.reader import Trace
from cltrace.trace.views import VIEWS, View
from cltrace.trace.views.kinds import ValueKind, kind_of

_ROWS_AT_ONCE: Final = 50_000
_NO_RANK: Final = -1
"""The rank of rows that belong to no process, or to one beside the ranks."""


def write_csv(trace: Trace, target: Path) -> None:
    """Write each view to a file of its own in the directory `target`, with a line of column names."""
    target.mkdir(parents=True)
    for view in VIEWS:
        with (target / f"{view.name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([column.name for column in view.columns])
            for row in trace.iterate(f"SELECT * FROM {view.name}"):
                writer.writerow(
                    [csv_value(one.hex() if isinstance(one, bytes) else one) for one in row]
                )


def write_parquet(trace: Trace, target: Path) -> None:
    """Write each view to a directory of its own in `target`, divided by rank where it has a process.

    Raises: `MissingExtraError`.
    """
    try:
        import pyarrow  # noqa: PLC0415, F401 - an extra
    except ImportError as error:
        raise MissingExtraError("--to parquet", "parquet", error) from error
    found = trace.rows("SELECT process_id, rank FROM v_process")
    has_ranks = any(rank is not None for _, rank in found)
    ranks = {
        int(number): (_NO_RANK if has_ranks else int(number) - 1) if rank is None else int(rank)
        for number, rank in found
    }
    target.mkdir(parents=True)
    for view in VIEWS:
        _write_view(trace, view, target / view.name, ranks)


def _write_view(trace: Trace, view: View, directory: Path, ranks: dict[int, int]) -> None:
    names = [column.name for column in view.columns]
    # A view that says the rank itself is not divided by it.
    is_divided = "process_id" in names and "rank" not in names
    process = names.index("process_id") if is_divided else None
    writers: dict[Path, Any] = {}
    try:
        for rows in _batches(trace, view):
            for part, members in _by_rank(rows, process, ranks).items():
                _append(writers, directory / part, view, members)
        if not writers:
            # A view without rows is a dataset too: readers want to find its columns.
            _append(writers, directory / (f"rank={_NO_RANK}" if is_divided else ""), view, [])
    finally:
        for writer in writers.values():
            writer.close()


def _by_rank(
    rows: Sequence[tuple[Any, ...]], process: int | None, ranks: dict[int, int]
) -> dict[str, list[tuple[Any, ...]]]:
    """Rows by the directory that they belong in."""
    if process is None:
        return {"": list(rows)}
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        found.setdefault(f"rank={ranks.get(row[process], _NO_RANK)}", []).append(row)
    return found


def _append(
    writers: dict[Path, Any], directory: Path, view: View, rows: Sequence[tuple[Any, ...]]
) -> None:
    import pyarrow as pa  # noqa: PLC0415 - an extra, which `write_parquet` has seen
    from pyarrow import parquet  # noqa: PLC0415 - as above

    types = {
        ValueKind.WHOLE: pa.int64(),
        ValueKind.REAL: pa.float64(),
        ValueKind.TEXT: pa.string(),
        ValueKind.BYTES: pa.binary(),
    }
    kinds = [kind_of(view.name, column.name) for column in view.columns]
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
    """A column as Arrow has it. Values are looked at one by one only where some do not fit."""
    try:
        return pa.array(column, type_)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
        return pa.array([_fitting(value, kind) for value in column], type_)


def _fitting(value: Any, kind: ValueKind) -> Any:
    """A value as its column takes it; what does not fit is null: the file may be a stranger's."""
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
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        yield batch
