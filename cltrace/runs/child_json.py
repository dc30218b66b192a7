"""JSON results of a child Python process, which isolates driver crashes."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

ANSWER_TIMEOUT_S: Final = 120.0


def run_for_json(words: Sequence[str], timeout_s: float = ANSWER_TIMEOUT_S) -> tuple[Any, str]:
    """Run Python with `words` and return the JSON that it prints, with ""; or None, with the reason."""
    command = [sys.executable, *words]
    try:
        process = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return None, f"it did not answer within {timeout_s:g} s"
    lines = process.stderr.decode(errors="replace").strip().splitlines()
    if process.returncode < 0:
        why = f"it was killed by signal {-process.returncode}: a driver crashed"
        return None, f"{why}, saying: {lines[0]}" if lines else why
    if process.returncode:
        return None, lines[-1] if lines else "no reason given"
    try:
        return json.loads(process.stdout), ""
    except ValueError:
        return None, "a driver wrote into its answer"
