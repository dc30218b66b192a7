"""`cltrace export`: convert a trace to the format of another tool."""

import argparse
from pathlib import Path

from cltrace.commands.shared.messages import say
from cltrace.commands.shared.outputs import (
    add_output_arguments,
    check_not_the_trace,
    check_replaceable_file,
    output_path,
    write_output_atomically,
)
from cltrace.commands.shared.trace_argument import add_trace_argument, open_trace
from cltrace.errors import OutputError, UsageError
from cltrace.report.export import EXPORTS, ExportFormat
from cltrace.trace.reader import Trace
from cltrace.trace.redaction import LEFT_OUT, copy_redacted
from cltrace.trace.views import VIEWS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `export`."""
    add_trace_argument(parser)
    parser.epilog = "formats:\n" + "\n".join(
        f"  {name:<10} {export.summary}" for name, export in EXPORTS.items()
    )
    parser.add_argument(
        "--to",
        choices=list(EXPORTS),
        metavar="FORMAT",
        help=f"convert to {', '.join(EXPORTS)} (default: by the ending of the output's name)",
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        help="with --to cltrace, leave out sources, arguments, contents, command lines and names",
    )
    add_output_arguments(parser, ending="the format's ending")


def execute(arguments: argparse.Namespace) -> int:
    """Write a trace in another format."""
    export = EXPORTS[arguments.to or _format_of_name(arguments.output)]
    if arguments.redact and export is not EXPORTS["cltrace"]:
        raise UsageError("--redact makes a trace: add --to cltrace")
    with open_trace(arguments.trace) as trace:
        target = output_path(trace, arguments.output, export.suffixes[0])
        write_output_atomically(
            target,
            lambda path: (
                copy_redacted(trace.path, path) if arguments.redact else export.write(trace, path)
            ),
            lambda path: _check_replaceable(trace, export, path),
            is_forced=arguments.force,
        )
    say(f"wrote {target}" + (f", without {LEFT_OUT}" if arguments.redact else ""))
    if not arguments.redact:
        say("it reveals what the trace does: `cltrace info` lists it")
    return 0


def _format_of_name(output: Path | None) -> str:
    """Return the format for the ending of a file's name. Raises: `UsageError`."""
    suffixes = [(suffix, name) for name, export in EXPORTS.items() for suffix in export.suffixes]
    # The longest ending that fits: that of speedscope's files ends as Chrome's do.
    suffixes.sort(key=lambda one: -len(one[0]))
    for suffix, name in suffixes:
        if output is not None and output.name.endswith(suffix):
            return name
    endings = ", ".join(suffix for suffix, _ in suffixes)
    raise UsageError(f"say --to {'|'.join(EXPORTS)}, or name an output that ends with {endings}")


def _check_replaceable(trace: Trace, export: ExportFormat, target: Path) -> None:
    """Check that `target` may be replaced: a file, or an earlier export. Raises: `OutputError`."""
    if not export.is_directory:
        check_replaceable_file(trace, target)
        return
    check_not_the_trace(trace, target)
    if not target.is_dir():
        raise OutputError(f"{target} is a file: name another output with -o")
    others = [entry.name for entry in target.iterdir() if not _is_of_export(entry)]
    if others:
        raise OutputError(
            f"{target} holds {others[0]!r}, which no export wrote: name another output with -o"
        )


def _is_of_export(entry: Path) -> bool:
    """Return True if an entry of a directory is one that an export writes."""
    name = entry.name.removesuffix(".csv")
    is_kind = entry.is_file() if entry.name.endswith(".csv") else entry.is_dir()
    return name in {view.name for view in VIEWS} and is_kind and not entry.is_symlink()
