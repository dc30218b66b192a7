"""The IPython magic `%cltrace`: trace a line or a cell."""

import shlex
import time
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from cltrace.errors import CltraceError
from cltrace.events.kinds import Timing
from cltrace.inside import trace
from cltrace.trace.reader import load

_DIRECTORY = Path("cltrace-results")


@magics_class
class CltraceMagics(Magics):
    """Magics that trace code run in a notebook."""

    @line_cell_magic
    @magic_arguments()
    @argument(
        "-o", "--output", metavar="PATH", help="the trace (default: cltrace-results/TIME.cltrace)"
    )
    @argument("-f", "--force", action="store_true", help="overwrite an existing trace")
    @argument("-n", "--name", metavar="NAME", help="bind the open trace to this variable")
    @argument(
        "--timing", choices=[one.value for one in Timing], default="event", help="how to time"
    )
    @argument("statement", nargs="*", help="the statement to run, for %%cltrace on one line")
    def cltrace(self, line: str, cell: str | None = None) -> None:
        """Trace a line or a cell, show its kernels, and keep the trace."""
        options = parse_argstring(self.cltrace, _protected(line))
        code = cell if cell is not None else " ".join(options.statement)
        path = Path(options.output) if options.output else _next_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with trace(path, force=options.force, timing=options.timing):
                self._shell.run_cell(code)
        except CltraceError as error:
            raise UsageError(f"cltrace: {error}") from error
        opened = load(path)
        if options.name:
            self._shell.user_ns[options.name] = opened
        display(opened)
        print(f"cltrace: wrote {path}")  # noqa: T201 - a notebook is where it prints

    @property
    def _shell(self) -> Any:
        return self.shell


def register(shell: Any) -> None:
    """Add the magics to an IPython shell."""
    shell.register_magics(CltraceMagics)


def _protected(line: str) -> str:
    """A line in which a statement's own quotes and dashes survive the splitting of options."""
    words = line.split(" ")
    for position, word in enumerate(words):
        if (
            word
            and not word.startswith("-")
            and not (
                position and words[position - 1] in {"-o", "-n", "--output", "--name", "--timing"}
            )
        ):
            options, statement = words[:position], " ".join(words[position:])
            return " ".join([*options, "--", shlex.quote(statement)])
    return line


def _next_path() -> Path:
    stem = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in range(1000):
        path = _DIRECTORY / f"{stem}{f'-{number}' if number else ''}.cltrace"
        if not path.exists():
            return path
    raise UsageError(f"{_DIRECTORY} is full of traces of this second")
