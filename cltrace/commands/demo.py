"""`cltrace demo`: trace a bundled program."""

import argparse
import os
from pathlib import Path

import cltrace.demo
from cltrace.commands.run import run_traced
from cltrace.commands.shared.messages import Speaker
from cltrace.commands.shared.recording_flags import add_arguments as add_recording_arguments
from cltrace.commands.shared.recording_flags import options_of
from cltrace.runs.trial_builds import choose_working_device, find_fault_here, find_intel_runtime


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `demo`, which are those of `run`."""
    parser.epilog = (
        "The program simulates heat in a plate; `cltrace demo -q` shows its output alone."
    )
    add_recording_arguments(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Trace the bundled program as `cltrace run` would, on a device that works."""
    program = Path(cltrace.demo.__file__).parent / "heat.py"
    options = options_of(arguments)
    variables = choose_working_device(find_fault_here(), find_intel_runtime(), os.environ)
    for name, value in variables.items():
        Speaker(is_quiet=options.is_quiet).say(f"the demo runs with {name}={value}")
    return run_traced([str(program)], options, variables)
