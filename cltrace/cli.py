"""The command line: parses, dispatches to `commands`, exits. No logic."""

import argparse
import errno
import logging
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Final

from cltrace.commands import VERBS
from cltrace.commands.shared.argument_types import COLORS, add_color_argument
from cltrace.commands.shared.configuration import read_configuration
from cltrace.commands.shared.defaults import apply_color, apply_defaults, check_tables
from cltrace.commands.shared.messages import (
    discard_unwritten,
    discard_unwritten_errors,
    prepare_output,
    say,
)
from cltrace.commands.shared.one_line_parser import OneLineParser
from cltrace.errors import CltraceError, ExitStatus, OutputError, UsageError
from cltrace.similar_names import suggest_name
from cltrace.version import __version__

_UNREACHABLE: Final = {
    errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.ENOTDIR, errno.EPERM
}  # fmt: skip
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def main(argv: Sequence[str] | None = None) -> None:
    """Run a verb and exit with its status: the entry point of `cltrace`."""
    words = list(sys.argv[1:] if argv is None else argv)
    prepare_output()
    try:
        status = _run_told(words)
    except CltraceError as error:
        say(str(error))
        status = int(error.exit_status)
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        # The reader of our output has gone, and so has the use of the buffered rest.
        discard_unwritten(sys.stdout)
        status = 0
    except Exception as error:
        logging.getLogger(__name__).debug("internal error", exc_info=True)
        say(f"internal error: {type(error).__name__}: {error} (CLTRACE_DEBUG=1 shows where)")
        if os.environ.get("CLTRACE_DEBUG"):
            raise
        status = int(ExitStatus.INTERNAL)
    discard_unwritten_errors()
    sys.exit(status)


def _run_told(words: list[str]) -> int:
    """Run a verb. A path that this system or user cannot even look at is an error of usage."""
    verb, color, rest = _split_words(make_parser(), words)
    try:
        status = _run(verb, color, rest)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            discard_unwritten(sys.stdout)
            raise OutputError(f"the output cannot be written: {error.strerror}") from error
        if not isinstance(error.filename, (str, bytes)) or error.errno not in _UNREACHABLE:
            raise
        say(f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}")
        return int(VERBS[verb].usage_status)


def _run(verb: str, color: str | None, rest: list[str]) -> int:
    module, parser = VERBS[verb].load(), make_verb_parser(verb)
    split_command = getattr(module, "split_command", None)
    options, command = (rest, None) if split_command is None else split_command(parser, rest)
    try:
        _set_defaults(parser, verb, color, options)
    except UsageError as error:
        say(str(error))
        return int(VERBS[verb].usage_status)
    if command is None:
        arguments = _parse(parser, options)
    else:
        arguments = parser.parse_args(options)
        arguments.command = command
    return module.execute(arguments)


def _set_defaults(
    parser: argparse.ArgumentParser, verb: str, color: str | None, options: list[str]
) -> None:
    """Set the defaults of a verb's options. `color` is the value before the verb."""
    configuration = read_configuration(os.environ)
    check_tables(configuration, tuple(VERBS))
    parser.set_defaults(color="auto")
    apply_color(parser, configuration)
    apply_defaults(parser, (verb,), options, configuration)
    if color is not None:
        parser.set_defaults(color=color)


def _parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Parse the words after a verb. Options may stand between the others."""
    if isinstance(parser, _VerbParser) and not parser.has_subverbs:
        return parser.parse_intermixed_args(words)
    return parser.parse_args(words)


def make_verb_parser(verb: str) -> argparse.ArgumentParser:
    """Return the parser of the words after a verb."""
    entry = VERBS[verb]
    parser = _VerbParser(
        entry.usage_status,
        prog=f"cltrace {verb}",
        description=entry.summary[0].upper() + entry.summary[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    entry.load().add_arguments(parser)
    add_color_argument(parser)
    return parser


class _VerbParser(OneLineParser):
    """Parser of a verb. The usage error of `run` is not 2, which may be its program's status."""

    def __init__(self, usage_status: ExitStatus, **options: Any) -> None:
        super().__init__(**options)
        self.usage_status = usage_status
        self.has_subverbs = False

    def add_subparsers(self, **options: Any) -> Any:
        """Declare verbs below this one, with parsers of their own."""
        self.has_subverbs = True
        return super().add_subparsers(**{"parser_class": OneLineParser, **options})


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the words before the verb."""
    verbs = "\n".join(f"  {name:<10} {entry.summary}" for name, entry in VERBS.items())
    parser = OneLineParser(
        prog="cltrace",
        usage="cltrace [-h] [--version] [--color {auto,always,never}] VERB ...",
        description="Trace pyopencl programs: host calls and device events, in one file.",
        epilog=f"verbs:\n{verbs}\n\n`cltrace VERB -h` shows the flags of a verb.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--color", choices=COLORS, help="colour the output (NO_COLOR is honoured)")
    parser.add_argument("verb", nargs="?", help=argparse.SUPPRESS)
    return parser


def _split_words(
    parser: argparse.ArgumentParser, words: list[str]
) -> tuple[str, str | None, list[str]]:
    """Return the verb, the value of `--color` before it or None, and the words after it."""
    position = next(
        (index for index in range(len(words)) if not _is_before_verb(words, index)), len(words)
    )
    arguments = parser.parse_args(words[: position + 1])
    if arguments.verb is None:
        parser.print_help(sys.stderr)
        sys.exit(int(ExitStatus.USAGE))
    if arguments.verb not in VERBS:
        parser.error(_unknown_verb(arguments.verb))
    return arguments.verb, arguments.color, words[position + 1 :]


def _is_before_verb(words: list[str], index: int) -> bool:
    """Return True for a flag before the verb, or the value of one."""
    return words[index].startswith("-") or (index > 0 and words[index - 1] == "--color")


def _unknown_verb(word: str) -> str:
    suggestion = suggest_name(word, VERBS)
    if suggestion:
        return f"there is no verb {word!r}{suggestion}"
    if word.endswith(".py") or shutil.which(word):
        return f"there is no verb {word!r}: `cltrace run {word} ...` traces it"
    return f"there is no verb {word!r}; there are {', '.join(VERBS)}"


if __name__ == "__main__":
    main()
