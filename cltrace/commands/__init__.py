"""The verbs of the command line, one file each. The only room that prints."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol, cast

from cltrace.errors import ExitStatus


class Verb(Protocol):
    """Interface of a verb's module."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's arguments."""

    def execute(self, arguments: argparse.Namespace) -> int:
        """Execute the verb and return the exit status. Raises: `CltraceError`."""


@dataclass(frozen=True, slots=True)
class VerbEntry:
    """A row of the table of verbs. The module is imported when the verb is used.

    `usage_status` is the exit status of an error on the command line.
    """

    module: str
    summary: str
    usage_status: ExitStatus = ExitStatus.USAGE

    def load(self) -> Verb:
        """Import and return the verb's module."""
        return cast("Verb", import_module(f"cltrace.commands.{self.module}"))


VERBS: Final[Mapping[str, VerbEntry]] = {
    "run": VerbEntry("run", "trace a command, then print a summary", ExitStatus.REFUSED),
    "demo": VerbEntry("demo", "trace a bundled example program", ExitStatus.REFUSED),
    "summary": VerbEntry("summary", "summarise kernels, transfers, host calls, builds and memory"),
    "timeline": VerbEntry("timeline", "show activity over time, why devices waited, and advice"),
    "view": VerbEntry(
        "view", "write an offline page for the browser: timeline, tables, histograms"
    ),
    "kernel": VerbEntry("kernel", "count a kernel's work: operations, accesses, divergence"),
    "calibrate": VerbEntry("calibrate", "measure the costs of a device's operations and accesses"),
    "profile": VerbEntry("profile", "list, show, plot or compare device profiles"),
    "predict": VerbEntry("predict", "predict the times of a trace, on this or another device"),
    "domain": VerbEntry("domain", "decide where a computation over a domain runs, write its code"),
    "accuracy": VerbEntry("accuracy", "compare predictions with measurements of kernels or traces"),
    "bench": VerbEntry("bench", "benchmark a command interleaved with another command or revision"),
    "check": VerbEntry("check", "fail if kernels became slower or do more work than before"),
    "baseline": VerbEntry("baseline", "save, list, show or remove named samples of a machine"),
    "compare": VerbEntry("compare", "compare traces, samples or scores side by side"),
    "score": VerbEntry("score", "score a device's speed on a suite, overall and by class"),
    "power": VerbEntry("power", "read, import, characterise and predict power and energy"),
    "export": VerbEntry(
        "export", "convert a trace for Perfetto, Chrome, spreadsheets, DuckDB or Spark"
    ),
    "info": VerbEntry("info", "show what a trace file contains and whether it is complete"),
    "query": VerbEntry("query", "run read-only SQL on the views of a trace"),
    "recover": VerbEntry("recover", "finish a trace whose recording was interrupted"),
    "merge": VerbEntry("merge", "merge the traces of several ranks or runs into one file"),
    "doctor": VerbEntry("doctor", "check what can be traced on this machine and what is missing"),
    "completion": VerbEntry("completion", "print a completion script for bash, zsh or fish"),
    "help": VerbEntry("help", "show a guide, a verb's page or another topic, offline"),
}
"""Every verb, in the order in which help lists them."""
