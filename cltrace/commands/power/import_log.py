"""`cltrace power import`: add the log of a meter to a trace."""

import argparse
from pathlib import Path
from typing import Final

from cltrace.commands.shared.argument_types import seconds, shift
from cltrace.commands.shared.messages import say
from cltrace.errors import UsageError
from cltrace.events.power import PowerProbe
from cltrace.power.logs import aligned_log
from cltrace.power.protocol import LogRequest
from cltrace.power.registry import log_reader
from cltrace.trace.amendment import with_power_log
from cltrace.trace.reader import Trace

_SEARCH_S: Final = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power import`."""
    parser.add_argument("trace", metavar="TRACE", type=Path, help="the trace to add it to")
    parser.add_argument("log", metavar="LOG", type=Path, nargs="?", help="the meter's log")
    parser.add_argument(
        "--reader",
        metavar="READER",
        default="corsair-csv",
        help="what reads it: corsair-csv (default), replay, sim; NAME:WORDS gives it words",
    )
    parser.add_argument(
        "--tz",
        metavar="ZONE",
        default="UTC",
        help="time zone of times that tell none, as Europe/Helsinki (default UTC)",
    )
    parser.add_argument(
        "--column",
        metavar="NAME=SCOPE",
        action="append",
        default=[],
        help="take this column for wall, psu, rail, … (repeatable; default: by their names)",
    )
    parser.add_argument(
        "--search",
        metavar="S",
        type=seconds,
        default=_SEARCH_S,
        help="how far off the log's clock may be (default 10)",
    )
    parser.add_argument(
        "--offset", metavar="S", type=shift, help="how late the log is, if it is known"
    )
    parser.add_argument(
        "-o", "--output", metavar="PATH", type=Path, help="where to write (default: in its place)"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite what is at PATH")


def execute(arguments: argparse.Namespace) -> int:
    """Read the log, put it on the trace's clock, and write the trace with it."""
    name, reader = log_reader(arguments.reader)
    if arguments.log is None and name != "sim":
        raise UsageError(f"name the log that {name} is to read")
    path: Path = arguments.trace
    target: Path = arguments.output or path
    if arguments.output is not None and target.exists() and not arguments.force:
        raise UsageError(f"{target} exists already: -f overwrites it, or name another file")
    with Trace(path) as trace:
        request = LogRequest(
            path=arguments.log or path,
            trace=trace,
            time_zone=arguments.tz,
            columns=tuple(_column(word) for word in arguments.column),
            warn=lambda text: say(f"warning: {text}"),
        )
        log = reader.read_log(request)
        added = aligned_log(
            trace,
            log,
            reader=name,
            source=str(arguments.log or ""),
            furthest_s=arguments.search,
            offset_s=arguments.offset,
        )
        host = added.channels[0][0].host if added.channels else ""
    probe = PowerProbe(host, name, "ok", f"{len(log.samples)} readings", "", "", "")
    with_power_log(path, target, added.channels, added.samples, probe)
    labels = ", ".join(one.label for one in log.channels)
    say(f"added {labels}: {len(log.samples)} readings")
    if added.alignment is not None:
        late = added.alignment.response.delay_s
        say(f"the log is {late:+.3f} s late, ±{added.alignment.within_s:.3f} s")
    say(f"wrote {target}; next: cltrace summary {target}")
    return 0


def _column(word: str) -> tuple[str, str]:
    name, mark, scope = word.rpartition("=")
    if not mark:
        raise UsageError(f"--column {word}: write NAME=SCOPE")
    return name, scope
