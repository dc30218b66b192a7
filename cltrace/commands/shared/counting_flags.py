"""Flags of the verbs that count the launches of a trace."""

import argparse
from dataclasses import replace

from cltrace.commands.shared.argument_types import parse_seconds
from cltrace.kernels.launches.settings import CountingSettings, default_settings
from cltrace.kernels.limits import COUNTING_CPU_S


def add_counting_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--cpu-limit` and `--no-cache`."""
    parser.add_argument(
        "--cpu-limit",
        metavar="S",
        type=parse_seconds,
        default=COUNTING_CPU_S,
        help="give up a launch after S seconds of CPU time; 0 for no limit "
        f"(default {COUNTING_CPU_S:g})",
    )
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="count anew, and keep no counts for the next call",
    )


def counting_settings(arguments: argparse.Namespace) -> CountingSettings:
    """Return the settings that the flags choose."""
    settings = replace(default_settings(), cpu_s=arguments.cpu_limit or None)
    return replace(settings, cache=None) if arguments.no_cache else settings
