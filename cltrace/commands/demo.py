"""`cltrace demo`: trace a bundled program."""

import argparse
from pathlib import Path

import cltrace.demo
from cltrace.commands import run
from cltrace.commands.shared import recording_flags


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `demo`, which are those of `run`."""
    parser.epilog = (
        "The program spreads heat through a plate; `cltrace demo -q` keeps to its output."
    )
    recording_flags.add_arguments(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Trace the bundled program as `cltrace run` would."""
    arguments.command = [str(Path(cltrace.demo.__file__).parent / "heat.py")]
    return run.execute(arguments)
