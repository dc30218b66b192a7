"""`cltrace profile`: the profiles that there are, what one holds, its figures, and two side by side."""

import argparse
import sys
from pathlib import Path

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.errors import UsageError
from cltrace.profile import load_profile, profile_names
from cltrace.report.document import Document
from cltrace.report.profile import comparison_report, list_report, profile_report
from cltrace.report.profile_figures import draw_family

_ACTIONS = ("list", "show", "plot", "compare")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `profile`."""
    parser.add_argument("action", choices=_ACTIONS, help="what to do")
    parser.add_argument("names", metavar="PROFILE", nargs="*", help="names or paths of profiles")
    parser.add_argument(
        "--family",
        metavar="NAME",
        action="append",
        default=[],
        help="only such families, for plot (default all)",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="where to write figures (default here)"
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print or draw."""
    if arguments.action == "plot":
        return _plot(_only(arguments), arguments.family, arguments.output or Path())
    print_document(_document(arguments), color=arguments.color, form=arguments.format)
    return 0


def _document(arguments: argparse.Namespace) -> Document:
    names: list[str] = arguments.names
    if arguments.action == "show":
        return profile_report(load_profile(_only(arguments)))
    if arguments.action == "compare":
        if len(names) < 2:
            raise UsageError("profile compare takes two profiles or more")
        return comparison_report({name: load_profile(name) for name in names})
    if names:
        raise UsageError("profile list takes no profile")
    return list_report(profile_names())


def _only(arguments: argparse.Namespace) -> str:
    names: list[str] = arguments.names
    if len(names) != 1:
        raise UsageError(f"profile {arguments.action} takes one profile, not {len(names)}")
    return names[0]


def _plot(name: str, families: list[str], directory: Path) -> int:
    """Write a figure for each family. Raises: `UsageError` for a family that the profile lacks."""
    profile = load_profile(name)
    unknown = [family for family in families if family not in profile.families]
    if unknown:
        there = ", ".join(profile.families)
        raise UsageError(f"the profile has no family {unknown[0]}; it has {there}")
    for family in families or profile.families:
        path = draw_family(profile, family, directory)
        sys.stdout.write(f"{path}\n")
    return 0
