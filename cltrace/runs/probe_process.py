"""Questions that a process of its own answers, because drivers crash and hang."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

MOST_SECONDS: Final = 120.0
"""How long to wait for an answer."""


def asked(words: Sequence[str], most_seconds: float = MOST_SECONDS) -> tuple[Any, str]:
    """What Python, run with `words`, says on stdout as JSON; or `None`, and why there is no answer."""
    command = [sys.executable, *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=most_seconds, check=False)
    except subprocess.TimeoutExpired:
        return None, f"it did not answer within {most_seconds:g} s"
    said = done.stderr.decode(errors="replace").strip().splitlines()
    if done.returncode < 0:
        why = f"it was killed by signal {-done.returncode}: a driver crashed"
        return None, f"{why}, saying: {said[0]}" if said else why
    if done.returncode:
        return None, said[-1] if said else "no reason given"
    try:
        return json.loads(done.stdout), ""
    except ValueError:
        return None, "a driver wrote into its answer"
