"""`cltrace power import`: add the log of a meter to a trace."""

import argparse
from pathlib import Path
from typing import Final

from cltrace.commands.shared.argument_types import parse_offset, parse_seconds
from cltrace.commands.shared.messages import say
from cltrace.errors import UsageError
from cltrace.events.power import PowerProbe
from cltrace.files import check_trace_output
from cltrace.power.logs import AlignedLog, align_log
from cltrace.power.protocol import Log, LogRequest
from cltrace.power.registry import load_log_reader
from cltrace.trace.amendment import add_power_log
from cltrace.trace.reader import Trace

_DEFAULT_MAX_SHIFT_S: Final = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power import`."""
    parser.add_argument("trace", metavar="TRACE", type=Path, help="add the log to this trace")
    parser.add_argument("log", metavar="LOG", type=Path, nargs="?", help="read this log")
    parser.add_argument(
        "--reader",
        metavar="READER",
        default="corsair-csv",
        help="read it with corsair-csv (default), replay or sim; NAME:WORDS gives it words",
    )
    parser.add_argument(
        "--tz",
        metavar="ZONE",
        default="UTC",
        help="assume this time zone where times have none: Europe/Helsinki (default UTC)",
    )
    parser.add_argument(
        "--column",
        metavar="NAME=SCOPE",
        action="append",
        default=[],
        help="read this column as wall, psu, rail, … (repeatable; default: by their names)",
    )
    parser.add_argument(
        "--search",
        metavar="S",
        type=parse_seconds,
        default=_DEFAULT_MAX_SHIFT_S,
        help="search for the log's clock within S seconds (default 10)",
    )
    parser.add_argument(
        "--offset", metavar="S", type=parse_offset, help="take the log as S seconds late"
    )
    parser.add_argument(
        "-o", "--output", metavar="PATH", type=Path, help="write to PATH (default: to the trace)"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")


def execute(arguments: argparse.Namespace) -> int:
    """Read the log, align it with the trace's clock, and write the trace with it."""
    name, reader = load_log_reader(arguments.reader)
    if arguments.log is None and name != "sim":
        raise UsageError(f"name the log that {name} is to read")
    path: Path = arguments.trace
    target: Path = arguments.output or path
    check_trace_output(target, is_forced=arguments.output is None or arguments.force)
    with Trace(path) as trace:
        request = LogRequest(
            path=arguments.log or path,
            trace=trace,
            time_zone=arguments.tz,
            columns=tuple(_split_column(word) for word in arguments.column),
            warn=lambda text: say(f"warning: {text}"),
        )
        log = reader.read_log(request)
        aligned = align_log(
            trace,
            log,
            reader=name,
            source=str(arguments.log or ""),
            max_shift_s=arguments.search,
            offset_s=arguments.offset,
        )
    probe = PowerProbe(
        host=aligned.channels[0][0].host if aligned.channels else "",
        reader=name,
        state="ok",
        evidence=f"{len(log.samples)} readings",
        remedy="",
        security="",
        ended="",
    )
    add_power_log(path, target, aligned.channels, aligned.samples, probe)
    _say_added(log, aligned)
    say(f"wrote {target}; next: cltrace summary {target}")
    return 0


def _say_added(log: Log, aligned: AlignedLog) -> None:
    labels = ", ".join(channel.label for channel in log.channels)
    say(f"added {labels}: {len(log.samples)} readings")
    if aligned.alignment is not None:
        late_s = aligned.alignment.response.delay_s
        say(f"the log is {late_s:+.3f} s late, ±{aligned.alignment.within_s:.3f} s")


def _split_column(word: str) -> tuple[str, str]:
    name, mark, scope = word.rpartition("=")
    if not mark:
        raise UsageError(f"--column {word}: write NAME=SCOPE")
    return name, scope
