"""A process that reads parts of a table for another one, which `parts` starts.

Each part goes to standard output as the number of its rows, then its columns one after another, all as
64-bit numbers of this machine.
"""

import json
import sys
from pathlib import Path

import numpy as np

from cltrace.trace.guard import open_trace
from cltrace.trace.numbers import whole_numbers


def main(task: str) -> None:
    """Read the parts that a task in JSON names."""
    asked = json.loads(task)
    connection = open_trace(Path(asked["path"]))
    for first, last in asked["parts"]:
        source = f"{asked['table']} WHERE id BETWEEN :first AND :last ORDER BY id"
        found = whole_numbers(connection, asked["wanted"], source, {"first": first, "last": last})
        # Written whole: the reader takes parts in turn, and meanwhile this one goes on with the next.
        sys.stdout.buffer.write(np.int64(len(found)).tobytes())
        sys.stdout.buffer.write(np.ascontiguousarray(found.T).tobytes())
        sys.stdout.buffer.flush()
