"""`cltrace power`: readers of power, logs of meters, and what a device's work draws.

One file an action; each has what a verb has.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, cast

from cltrace.commands import Verb


@dataclass(frozen=True, slots=True)
class Action:
    """A row of the table of actions."""

    module: str
    summary: str

    def load(self) -> Verb:
        """The action's module."""
        return cast("Verb", import_module(f"cltrace.commands.power.{self.module}"))


ACTIONS: Final[Mapping[str, Action]] = {
    "list": Action("listing", "each reader: whether it can read here, and if not why"),
    "import": Action("importing", "add the log of a meter to a trace"),
    "characterise": Action("characterise", "what the sensors of a device are like"),
    "calibrate": Action("calibrate", "measure what a device's work draws, for the energy model"),
    "predict": Action("predict", "what work should draw by the energy model, beside what it drew"),
}
"""Every action, in the order in which help lists them."""


class _ActionParser(argparse.ArgumentParser):
    """The parser of an action: abbreviations of flags would be others with the next version."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_ActionParser
    )
    for name, action in ACTIONS.items():
        own = actions.add_parser(name, help=action.summary, description=f"{action.summary}.")
        module = action.load()
        module.add_arguments(own)
        own.add_argument(
            "--color",
            choices=("auto", "always", "never"),
            default=argparse.SUPPRESS,
            help="colour the output (default auto)",
        )
        own.set_defaults(perform=module.execute)


def execute(arguments: argparse.Namespace) -> int:
    """Do what the action says."""
    status: int = arguments.perform(arguments)
    return status
