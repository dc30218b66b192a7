"""The verbs of the command line, one file each. The only room that prints."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol, cast

from cltrace.errors import ExitStatus


class Verb(Protocol):
    """What the module of a verb has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's arguments."""

    def execute(self, arguments: argparse.Namespace) -> int:
        """Do it, and return the exit status. Raises: `CltraceError`."""


@dataclass(frozen=True, slots=True)
class VerbEntry:
    """A row of the table of verbs: the module is imported when the verb is used.

    `usage_status` is what an error on the command line exits with.
    """

    module: str
    summary: str
    usage_status: ExitStatus = ExitStatus.USAGE

    def load(self) -> Verb:
        """The verb's module."""
        return cast("Verb", import_module(f"cltrace.commands.{self.module}"))


VERBS: Final[Mapping[str, VerbEntry]] = {
    "run": VerbEntry("run", "trace a command, then print the summary", ExitStatus.REFUSED),
    "demo": VerbEntry("demo", "trace a bundled program: see what cltrace does", ExitStatus.REFUSED),
    "summary": VerbEntry("summary", "kernels, transfers, host calls, builds and memory of a trace"),
    "timeline": VerbEntry("timeline", "when what ran, why devices waited, and what to do about it"),
    "view": VerbEntry("view", "a page for the browser: timeline, tables, histograms, offline"),
    "kernel": VerbEntry("kernel", "what a kernel has to do: operations, accesses, divergence"),
    "calibrate": VerbEntry("calibrate", "measure what a device's operations and accesses cost"),
    "profile": VerbEntry("profile", "profiles of devices: list, show, plot, compare"),
    "predict": VerbEntry("predict", "what a trace should take, here or on another device"),
    "accuracy": VerbEntry("accuracy", "predictions held against measurements of whole sets"),
    "bench": VerbEntry("bench", "samples of a command in turns with another one or a revision"),
    "check": VerbEntry("check", "fail where kernels became slower, or do more than before"),
    "baseline": VerbEntry("baseline", "samples kept under a name, for each machine apart"),
    "compare": VerbEntry("compare", "traces, samples or scores side by side"),
    "score": VerbEntry("score", "how fast a device does a suite, as one number and by class"),
    "power": VerbEntry("power", "readers of power, logs of meters, and the energy of work"),
    "export": VerbEntry(
        "export", "a trace for Perfetto, Chrome, spreadsheets, DuckDB, Dask or Spark"
    ),
    "info": VerbEntry("info", "what a trace file contains, and whether it is whole"),
    "query": VerbEntry("query", "run read-only SQL on the views of a trace"),
    "recover": VerbEntry("recover", "finish a trace whose recording was interrupted"),
    "merge": VerbEntry("merge", "put the traces of several ranks or runs into one file"),
    "doctor": VerbEntry("doctor", "what can be traced here, and what is missing"),
}
"""Every verb, in the order in which help lists them."""
