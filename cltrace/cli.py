"""The command line: parses, dispatches to `commands`, exits. No logic."""

import argparse
import contextlib
import difflib
import logging
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from cltrace.commands import VERBS
from cltrace.commands.shared.messages import to_nowhere
from cltrace.errors import CltraceError, ExitStatus
from cltrace.report.untrusted_text import plain
from cltrace.version import __version__

_COLORS = ("auto", "always", "never")


def main(argv: Sequence[str] | None = None) -> None:
    """The entry point of `cltrace`: run a verb and exit with its status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _run(words)
    except CltraceError as error:
        _say(str(error))
        status = int(error.exit_status)
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        # The reader of our output has seen enough. What is still buffered has nowhere to go.
        to_nowhere(sys.stdout)
        status = 0
    except Exception as error:
        logging.getLogger(__name__).debug("internal error", exc_info=True)
        _say(f"internal error: {type(error).__name__}: {error} (CLTRACE_DEBUG=1 shows where)")
        if os.environ.get("CLTRACE_DEBUG"):
            raise
        status = int(ExitStatus.INTERNAL)
    _let_go_of_stderr()
    sys.exit(status)


def _run(words: list[str]) -> int:
    verb, color, rest = _split(make_parser(), words)
    entry, own = VERBS[verb].load(), make_verb_parser(verb)
    own.set_defaults(color=color)
    split = getattr(entry, "split_command", None)
    if split is None:
        arguments = own.parse_args(rest)
    else:
        options, command = split(own, rest)
        arguments = own.parse_args(options)
        arguments.command = command
    return entry.execute(arguments)


def make_verb_parser(verb: str) -> argparse.ArgumentParser:
    """The parser of what follows a verb."""
    entry = VERBS[verb]
    parser = _VerbParser(
        entry.usage_status,
        prog=f"cltrace {verb}",
        description=entry.summary[0].upper() + entry.summary[1:] + ".",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    entry.load().add_arguments(parser)
    parser.add_argument("--color", choices=_COLORS, help="colour the output (default auto)")
    return parser


class _VerbParser(argparse.ArgumentParser):
    """A verb's parser. `run` has no status 2 of its own: that one may be its program's."""

    def __init__(self, usage_status: ExitStatus, **options: Any) -> None:
        super().__init__(**options)
        self._usage_status = usage_status

    def error(self, message: str) -> NoReturn:
        """Say how the verb is used and exit."""
        self.print_usage(sys.stderr)
        self.exit(int(self._usage_status), f"{self.prog}: error: {message}\n")


def make_parser() -> argparse.ArgumentParser:
    """The parser of everything before the verb."""
    verbs = "\n".join(f"  {name:<10} {entry.summary}" for name, entry in VERBS.items())
    parser = argparse.ArgumentParser(
        prog="cltrace",
        usage="cltrace [-h] [--version] [--color {auto,always,never}] VERB ...",
        description="Trace pyopencl programs: host calls and device events, in one file.",
        epilog=f"verbs:\n{verbs}\n\n`cltrace VERB -h` tells about a verb.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(
        "--color", choices=_COLORS, default="auto", help="colour the output (NO_COLOR is honoured)"
    )
    parser.add_argument("verb", nargs="?", help=argparse.SUPPRESS)
    return parser


def _split(parser: argparse.ArgumentParser, words: list[str]) -> tuple[str, str, list[str]]:
    """The verb, what `--color` says before it, and the words behind it."""
    position = next((at for at, word in enumerate(words) if not _is_ours(words, at)), len(words))
    arguments = parser.parse_args(words[: position + 1])
    if arguments.verb is None:
        parser.print_help(sys.stderr)
        sys.exit(int(ExitStatus.USAGE))
    if arguments.verb not in VERBS:
        parser.error(_no_such_verb(arguments.verb))
    return arguments.verb, arguments.color, words[position + 1 :]


def _is_ours(words: list[str], at: int) -> bool:
    """Whether a word is a flag before the verb, or the value of one."""
    return words[at].startswith("-") or (at > 0 and words[at - 1] == "--color")


def _no_such_verb(word: str) -> str:
    near = difflib.get_close_matches(word, VERBS, 1)
    if near:
        return f"there is no verb {word!r}: did you mean {near[0]!r}?"
    if word.endswith(".py") or shutil.which(word):
        return f"there is no verb {word!r}: `cltrace run {word} ...` traces it"
    return f"there is no verb {word!r}; there are {', '.join(VERBS)}"


def _let_go_of_stderr() -> None:
    """Drop what stderr does not take: Python would try again at its end, and exit with 120 for it."""
    with contextlib.suppress(ValueError, AttributeError):  # stderr may be closed
        try:
            sys.stderr.flush()
        except OSError:
            to_nowhere(sys.stderr)


def _say(message: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr may be closed
        sys.stderr.write(f"cltrace: {plain(message)}\n")


if __name__ == "__main__":
    main()
