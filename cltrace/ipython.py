"""The IPython magic `%cltrace`: trace a line or a cell."""

import io
import re
import time
from pathlib import Path
from typing import Any, Final

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from cltrace.errors import CltraceError
from cltrace.events.kinds import Timing
from cltrace.inside import trace
from cltrace.intercept import session
from cltrace.report.formats.terminal import console_for, renderable
from cltrace.report.summary import SummaryOptions, summary
from cltrace.trace.reader import Trace, load

_DIRECTORY: Final = Path("cltrace-results")
_OPTION: Final = re.compile(
    r"""\s*(?:(?:-o|--output|-n|--name|--timing|--power)(?:\s+|=)(?:"[^"]*"|'[^']*'|\S+)|-f|--force)(?=\s|$)"""
)


@magics_class
class CltraceMagics(Magics):
    """Magics that trace code run in a notebook."""

    @line_cell_magic
    @magic_arguments()
    @argument(
        "-o",
        "--output",
        metavar="PATH",
        help="write the trace to PATH (default: cltrace-results/TIME.cltrace)",
    )
    @argument("-f", "--force", action="store_true", help="overwrite an existing trace")
    @argument("-n", "--name", metavar="NAME", help="bind the open trace to this variable")
    @argument(
        "--timing",
        choices=[method.value for method in Timing],
        default="event",
        help="time by this method (default event)",
    )
    @argument(
        "--power",
        metavar="READER",
        action="append",
        default=[],
        help="read power with nvml, rapl, … (repeatable)",
    )
    def cltrace(self, line: str, cell: str | None = None) -> None:
        """Trace a line or a cell, show its kernels, and write the trace.

        The statement to run follows the options on the line; with a cell there is none.
        """
        words, statement = _split(line)
        if statement and (cell is not None or statement.startswith("-")):
            raise UsageError(f"cltrace: cannot parse {statement!r}; %cltrace? shows the options")
        options = parse_argstring(self.cltrace, words)
        code = cell if cell is not None else statement
        path = Path(options.output.strip("'\"")) if options.output else _next_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with trace(path, force=options.force, timing=options.timing, power=options.power):
                self._shell.run_cell(code)
        except CltraceError as error:
            raise UsageError(f"cltrace: {error}") from error
        recorded = load(path)
        if options.name:
            self._shell.user_ns[options.name] = recorded
        display(_Summary(recorded))
        print(f"cltrace: wrote {path}")  # noqa: T201 - a notebook is where it prints

    @property
    def _shell(self) -> Any:
        return self.shell


def register(shell: Any) -> None:
    """Add the magics to an IPython shell, and profiling to queues created from now on."""
    shell.register_magics(CltraceMagics)
    session.prepare()


def unregister() -> None:
    """Leave new queues alone again; IPython keeps the magics."""
    session.stop_preparing()


class _Summary:
    """Summary of a trace, for a terminal and for a notebook."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __repr__(self) -> str:
        out = io.StringIO()
        console = console_for(out, width=80, color="never")
        document = summary(self._trace, SummaryOptions(top=8, is_brief=True))
        console.print(renderable(document, width=80, is_ascii=False))
        return out.getvalue().rstrip()

    def _repr_html_(self) -> str:
        return self._trace._repr_html_()


def _split(line: str) -> tuple[str, str]:
    """Return the options at the start of a line, and the statement after them, as written."""
    position = 0
    while match := _OPTION.match(line, position):
        position = match.end()
    return line[:position], line[position:].strip()


def _next_path() -> Path:
    stem = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in range(1000):
        path = _DIRECTORY / f"{stem}{f'-{number}' if number else ''}.cltrace"
        if not path.exists():
            return path
    raise UsageError(f"{_DIRECTORY} has 1000 traces of this second: name one with -o")
