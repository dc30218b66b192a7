"""Traces in the formats of other tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.report.export import chrome, perfetto, tables
from cltrace.trace.reader import Trace

__all__ = ["EXPORTS", "Export"]


@dataclass(frozen=True, slots=True)
class Export:
    """A format: what writes it, and the endings of names by which it is known, the usual one first.

    `is_directory` says that it is written as a directory. Writers raise `MissingExtraError`.
    """

    write: Callable[[Trace, Path], None]
    endings: tuple[str, ...]
    summary: str
    is_directory: bool = False


EXPORTS: Final[Mapping[str, Export]] = {
    "perfetto": Export(
        perfetto.write,
        (".pftrace", ".pftrace.gz", ".perfetto-trace"),
        "Perfetto's protobuf, for ui.perfetto.dev and trace_processor",
    ),
    "chrome": Export(
        chrome.write,
        (".json", ".json.gz"),
        "Chrome's JSON, for chrome://tracing and other viewers",
    ),
    "csv": Export(
        tables.write_csv, (".csv",), "a CSV file a view, in a directory", is_directory=True
    ),
    "parquet": Export(
        tables.write_parquet,
        (".parquet",),
        "a Parquet dataset a view, divided by rank, in a directory",
        is_directory=True,
    ),
}
"""Every format, by the name that `--to` takes."""
