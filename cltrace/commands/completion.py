"""`cltrace completion`: print a script that completes cltrace's words in a shell."""

import argparse
import re
from pathlib import Path
from typing import Final

import shtab

from cltrace.commands import VERBS
from cltrace.commands.shared.argument_types import add_color_argument
from cltrace.commands.shared.guide_pages import find_pages

SHELLS: Final = ("bash", "zsh", "fish")
_FILE_METAVARS: Final = frozenset({"BASE", "FILE", "HEAD", "LOG", "PATH", "PROFILE", "TRACE"})
_DIRECTORY_METAVARS: Final = frozenset({"DIR"})
_FISH_VALUE: Final = "(string replace -r -- '^(--[^=]*=|-[a-zA-Z])' '' (commandline -ct))"
_FILE: Final = {**shtab.FILE, "fish": f"(__fish_complete_path {_FISH_VALUE})"}
_DIRECTORY: Final = {**shtab.DIRECTORY, "fish": f"(__fish_complete_directories {_FISH_VALUE})"}
_WORD: Final = re.compile(r"[A-Z]+")
_ALTERNATIVES: Final = re.compile(r"[a-z]+(\|[a-z]+)+")
_BASH_ANCHOR: Final = "  # Generate the completions\n"
_BASH_FLAGS: Final = """\
  # Flags after the command to run are its own. An optional value may be left out before a flag.
  if [[ $completing_word == -* && $current_action_nargs == *... ]]; then
    local word start=$current_action_args_start_index
    for word in "${COMP_WORDS[@]:start:COMP_CWORD-start}"; do
      [[ $word == -* && $word != -- ]] || return 0
    done
  elif [[ $completing_word == -* && $current_action_nargs == "?" ]]; then
    current_action_compgen=
  fi

"""
_BASH_WORDS: Final = """

# Complete --flag=value like --flag value. Bash splits words at = and :, and completes the last part.
_cltrace_split_words() {
  local words=() word is_after_break=false
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ $word == [=:]* && ${#words[@]} -gt 1 ]]; then
      [[ ${words[${#words[@]}-1]} == --* ]] && words+=("") || words[${#words[@]}-1]=""
      is_after_break=true
    elif $is_after_break; then
      words[${#words[@]}-1]=$word
      is_after_break=false
    else
      words+=("$word")
    fi
  done
  local COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
  _shtab_cltrace
}
complete -o bashdefault -F _cltrace_split_words cltrace"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the argument of `completion`."""
    parser.add_argument("shell", choices=SHELLS, help="print the script of this shell")


def execute(arguments: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    print(make_script(arguments.shell))
    return 0


def make_script(shell: str) -> str:
    """Return the completion script of a shell."""
    parser = make_complete_parser()
    if shell == "zsh":
        _mark_values(parser)
    script = shtab.complete(parser, shell=shell)
    if shell == "bash":
        return script.replace(_BASH_ANCHOR, _BASH_FLAGS + _BASH_ANCHOR) + _BASH_WORDS
    if shell == "zsh":
        # "(*)" excludes all arguments after the first one, though any number may follow.
        return re.sub(r'^  "\(\*\)::?', '  "*:', script, flags=re.MULTILINE)
    return _keep_flags_before_command(script)


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
            verb.add_argument("command", nargs=argparse.REMAINDER, help="command to run")
        add_color_argument(verb)
        _complete_values(verb)
    return parser


def _complete_values(parser: argparse.ArgumentParser) -> None:
    """Mark arguments of a parser, and of those below it, that name files, directories or topics."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of arguments
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - nor of subparsers
            for below in action.choices.values():
                _complete_values(below)
        elif metavar in _DIRECTORY_METAVARS:
            action.complete = _DIRECTORY  # type: ignore[attr-defined]
        elif metavar == "TOPIC":
            action.choices = tuple(find_pages())
        elif _ALTERNATIVES.fullmatch(metavar):
            action.choices = tuple(metavar.split("|"))
        elif _names_file(action, metavar):
            action.complete = _FILE  # type: ignore[attr-defined]


def _names_file(action: argparse.Action, metavar: str) -> bool:
    """Return true for an argument whose value names a file, or may do so."""
    is_file = not _FILE_METAVARS.isdisjoint(_WORD.findall(metavar))
    return is_file or action.type is Path or action.dest == "command"


def _mark_values(parser: argparse.ArgumentParser) -> None:
    """Declare for zsh that flags take values as `--flag=value` and `-fvalue`, too.

    A metavar that begins with a colon declares an optional value.
    """
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of arguments
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - nor of subparsers
            for below in action.choices.values():
                _mark_values(below)
        elif action.nargs != 0:
            action.option_strings = [
                f"{option}=" if option.startswith("--") else f"{option}+"
                for option in action.option_strings
            ]
            if action.option_strings and action.nargs == "?":
                action.metavar = f":{action.metavar}"


def _keep_flags_before_command(script: str) -> str:
    """Offer the flags of verbs that run a command before that command only, in a fish script."""
    verbs = "|".join(
        name for name, entry in VERBS.items() if hasattr(entry.load(), "split_command")
    )
    return re.sub(
        rf"^(complete -c cltrace -n '_shtab_cltrace_using (?:{verbs}))(' -[ls] )",
        r"\1; and test $_shtab_cltrace_npos -eq 0\2",
        script,
        flags=re.MULTILINE,
    )
