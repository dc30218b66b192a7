"""Settings of all verbs that are used, checked in a process of their own.

The options of a verb are known when its module is loaded. Some modules load pyopencl, which may be
missing, or a driver with it that crashes. So `doctor` runs this module in a child process.
"""

import argparse
import json
import os
import sys
from typing import Any

from cltrace.commands import VERBS
from cltrace.commands.shared.argument_types import add_color_argument
from cltrace.commands.shared.configuration import read_configuration
from cltrace.commands.shared.defaults import apply_defaults
from cltrace.errors import UsageError
from cltrace.runs.child_json import run_for_json


def find_used_settings() -> tuple[list[str] | None, str]:
    """Return the places of the settings in use, with ""; or None, with why they are not known.

    Raises: `UsageError` for a wrong setting.
    """
    answer, problem = run_for_json(["-m", __name__])
    if answer is None:
        return None, problem
    if answer["fault"]:
        raise UsageError(answer["fault"])
    return answer["places"], ""


def _answer() -> dict[str, Any]:
    try:
        return {"places": _find_places(), "fault": ""}
    except UsageError as error:
        return {"places": [], "fault": str(error)}


def _find_places() -> list[str]:
    configuration = read_configuration(os.environ)
    places = [f"{configuration.path} [tool.cltrace]"] if configuration.path else []
    places += ["CLTRACE_COLOR"] if os.environ.get("CLTRACE_COLOR") else []
    for verb, entry in VERBS.items():
        parser = argparse.ArgumentParser()
        entry.load().add_arguments(parser)
        add_color_argument(parser)
        settings = apply_defaults(parser, (verb,), (), configuration)
        places += [setting.place for setting in settings if not setting.is_from_file]
    return places


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer()))
