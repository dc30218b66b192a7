"""`cltrace profile`: list, show, plot or compare device profiles."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.errors import UsageError
from cltrace.profile import load_profile, profile_paths
from cltrace.report.document import Document
from cltrace.report.profile import comparison_report, list_report, profile_report
from cltrace.report.profile_figures import write_family

_ACTIONS = ("list", "show", "plot", "compare")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `profile`."""
    parser.add_argument("action", choices=_ACTIONS, help="list, show, plot or compare")
    parser.add_argument(
        "names", metavar="PROFILE", nargs="*", help="use these profiles, by name or path"
    )
    parser.add_argument(
        "--family",
        metavar="NAME",
        action="append",
        default=[],
        help="plot only this family (repeatable; default: all)",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="write figures to DIR (default: here)"
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print or draw profiles."""
    action: str = arguments.action
    names: list[str] = arguments.names
    if action == "plot":
        return _plot(_only_name(action, names), arguments.family, arguments.output or Path())
    document = _make_document(action, names)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _make_document(action: str, names: Sequence[str]) -> Document:
    if action == "show":
        return profile_report(load_profile(_only_name(action, names)))
    if action == "compare":
        if len(names) < 2:
            raise UsageError("profile compare takes two profiles or more")
        return comparison_report({name: load_profile(name) for name in names})
    if names:
        raise UsageError("profile list takes no profile")
    return list_report(profile_paths())


def _only_name(action: str, names: Sequence[str]) -> str:
    if len(names) != 1:
        raise UsageError(f"profile {action} takes one profile, not {len(names)}")
    return names[0]


def _plot(name: str, families: Sequence[str], directory: Path) -> int:
    """Draw a figure per family. Raises: `UsageError` for a family that the profile lacks."""
    profile = load_profile(name)
    unknown = [family for family in families if family not in profile.families]
    if unknown:
        present = ", ".join(profile.families)
        raise UsageError(f"the profile has no family {unknown[0]}; it has {present}")
    for family in families or profile.families:
        path = write_family(profile, family, directory)
        sys.stdout.write(f"{path}\n")
    return 0
