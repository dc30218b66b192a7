"""Command lines that end with the command to run."""

import argparse
from collections.abc import Sequence


def split_command(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Split words into our options, and the command after them with its own options."""
    takes_value = {
        option
        for action in parser._actions  # noqa: SLF001 - argparse has no public list of options
        for option in action.option_strings
        if action.nargs is None
    }
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            return list(words[:position]), list(words[position + 1 :])
        if word in {"-m", "-c"} or not word.startswith("-"):
            break
        position += 2 if word in takes_value else 1
    return list(words[:position]), list(words[position:])
