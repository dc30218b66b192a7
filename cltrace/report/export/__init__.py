"""Export of traces to the formats of other tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.report.export import chrome, perfetto, speedscope, tables
from cltrace.trace.reader import Trace
from cltrace.trace.redaction import copy_trace

__all__ = ["EXPORTS", "ExportFormat"]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """Export format: its writer, and its file-name suffixes, the usual one first.

    `is_directory` says that it is written as a directory. Writers raise `MissingExtraError`.
    """

    write: Callable[[Trace, Path], None]
    suffixes: tuple[str, ...]
    summary: str
    is_directory: bool = False


EXPORTS: Final[Mapping[str, ExportFormat]] = {
    "perfetto": ExportFormat(
        perfetto.write,
        (".pftrace", ".pftrace.gz", ".perfetto-trace"),
        "Perfetto's protobuf, for ui.perfetto.dev and trace_processor",
    ),
    "chrome": ExportFormat(
        chrome.write,
        (".json", ".json.gz"),
        "Chrome's JSON, for chrome://tracing and other viewers",
    ),
    "speedscope": ExportFormat(
        speedscope.write,
        (".speedscope.json",),
        "stacks of host calls and device time, for speedscope.app",
    ),
    "csv": ExportFormat(
        tables.write_csv, (".csv",), "one CSV file per view, in a directory", is_directory=True
    ),
    "parquet": ExportFormat(
        tables.write_parquet,
        (".parquet",),
        "one Parquet dataset per view, partitioned by rank, in a directory",
        is_directory=True,
    ),
    "cltrace": ExportFormat(
        lambda trace, path: copy_trace(trace.path, path),
        (".cltrace",),
        "a trace of the current schema; with --redact to share it",
    ),
}
"""Every format, by the name that `--to` takes."""
