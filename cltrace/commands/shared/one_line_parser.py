"""Parser of command lines whose errors are one line."""

import argparse
import re
from typing import Any, NoReturn

from cltrace.commands.shared.messages import say
from cltrace.errors import ExitStatus
from cltrace.similar_names import suggest_name


class OneLineParser(argparse.ArgumentParser):
    """Parser without abbreviations of options, which a later version could make ambiguous.

    A wrong command line is told in one line, with the command that shows the options.
    """

    usage_status = ExitStatus.USAGE

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Print the fault and similar options, and exit."""
        _, _, words = self.prog.partition(" ")
        place = f"{words}: " if words else ""
        say(f"{place}{message}{self._similar_options(message)} (see `{self.prog} --help`)")
        self.exit(int(self.usage_status))

    def _similar_options(self, message: str) -> str:
        """Return a suggestion for the first unknown option or choice of argparse's message, or ""."""
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)$", message)
        if choice:
            return suggest_name(choice[1], re.findall(r"[^', ]+", choice[2]))
        _, _, words = message.partition("unrecognized arguments: ")
        for word in words.split():
            option = word.partition("=")[0]
            suggestion = suggest_name(option, self._option_string_actions)
            if option.startswith("--") and suggestion:
                return suggestion
        return ""
