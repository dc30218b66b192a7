"""`cltrace demo`: trace a bundled program."""

import argparse
from pathlib import Path

import cltrace.demo
from cltrace.commands.run import run_traced
from cltrace.commands.shared.recording_flags import add_arguments as add_recording_arguments
from cltrace.commands.shared.recording_flags import options_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `demo`, which are those of `run`."""
    parser.epilog = (
        "The program simulates heat in a plate; `cltrace demo -q` shows its output alone."
    )
    add_recording_arguments(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Trace the bundled program as `cltrace run` would."""
    program = Path(cltrace.demo.__file__).parent / "heat.py"
    return run_traced([str(program)], options_of(arguments))
