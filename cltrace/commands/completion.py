"""`cltrace completion`: print a script that completes cltrace's words in a shell."""

import argparse
from pathlib import Path
from typing import Final

import shtab

from cltrace.commands import VERBS
from cltrace.commands.shared.argument_types import add_color_argument

SHELLS: Final = ("bash", "zsh", "fish")
_FILE_METAVARS: Final = frozenset({"BASE", "FILE", "HEAD", "LOG", "PATH", "PROFILE", "TRACE"})
_DIRECTORY_METAVARS: Final = frozenset({"DIR"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the argument of `completion`."""
    parser.add_argument("shell", choices=SHELLS, help="print the script of this shell")


def execute(arguments: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    print(shtab.complete(make_complete_parser(), shell=arguments.shell))
    return 0


def make_complete_parser() -> argparse.ArgumentParser:
    """Return one parser of all verbs with their options, as the script needs it."""
    parser = argparse.ArgumentParser(
        prog="cltrace", description="Trace pyopencl programs.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version="")
    add_color_argument(parser)
    verbs = parser.add_subparsers(dest="verb")
    for name, entry in VERBS.items():
        verb = verbs.add_parser(name, help=entry.summary, description=entry.summary)
        module = entry.load()
        module.add_arguments(verb)
        if hasattr(module, "split_command"):
            # Such a verb splits its command off before argparse sees the words.
            verb.add_argument("command", nargs="*", help="command to run")
        add_color_argument(verb)
        _complete_paths(verb)
    return parser


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Mark the arguments of a parser, and of those below it, that name files or directories."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of arguments
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - nor of subparsers
            for below in action.choices.values():
                _complete_paths(below)
        elif action.metavar in _DIRECTORY_METAVARS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.type is Path or action.metavar in _FILE_METAVARS or action.dest == "command":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
