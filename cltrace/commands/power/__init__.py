"""`cltrace power`: readers of power, logs of meters, and the energy of a device's work.

One file per action; each has the interface of a verb.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final, cast

from cltrace.commands import Verb


@dataclass(frozen=True, slots=True)
class Action:
    """A row of the table of actions."""

    module: str
    summary: str

    def load(self) -> Verb:
        """Import and return the action's module."""
        return cast("Verb", import_module(f"cltrace.commands.power.{self.module}"))


ACTIONS: Final[Mapping[str, Action]] = {
    "list": Action("list_readers", "list the readers, and why some cannot read here"),
    "import": Action("import_log", "add the log of a meter to a trace"),
    "characterise": Action("characterise", "characterise the sensors of a device"),
    "calibrate": Action("calibrate", "measure the energy of a device's work, for the energy model"),
    "predict": Action("predict", "predict the energy of work, and compare it with measurements"),
}
"""Every action, in the order in which help lists them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, action in ACTIONS.items():
        description = f"{action.summary[0].upper()}{action.summary[1:]}."
        own = actions.add_parser(name, help=action.summary, description=description)
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
    """Execute the action."""
    status: int = arguments.perform(arguments)
    return status
