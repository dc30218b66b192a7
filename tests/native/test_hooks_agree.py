"""The layer and the hooks of Python record the same commands of a program."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import cltrace
from cltrace.trace.reader import Trace
from tests.conftest import PROGRAMS, Runner

pytestmark = pytest.mark.opencl

SECTIONS = (
    *("launches", "copies", "sync", "maps", "images", "arrays", "algorithms", "pools", "threads"),
    "svm",
)

COMMANDS = """
SELECT c.launch_id, a.name, coalesce(k.name, ''), l.global_size, l.local_size, l.global_offset,
    c.size_bytes, c.flags & 7, (SELECT count(*) FROM edge WHERE command_id = c.id),
    coalesce(c.source_offset_bytes, 0), coalesce(c.target_offset_bytes, 0)
FROM command c JOIN api a ON a.id = c.api
LEFT JOIN launch l ON l.id = c.launch_id LEFT JOIN kernel k ON k.id = l.kernel_id
"""
ARGUMENTS = """
SELECT kind, size_bytes, value, offset_bytes FROM launch_arg WHERE launch_id = ? ORDER BY position
"""


def commands(trace: Trace) -> Iterator[tuple[object, ...]]:
    """The commands with their arguments. Seeds of random numbers differ from run to run."""
    for launch_id, api, kernel, *facts in trace.rows(COMMANDS):
        arguments: tuple[object, ...] = ()
        if launch_id and not kernel.startswith("rng_"):
            arguments = tuple(map(tuple, trace.rows(ARGUMENTS.replace("?", str(launch_id)))))
        if api == "clEnqueueMarkerWithWaitList":
            # Below Python, the marker in place of an empty range is a marker.
            kernel, facts, arguments = "", [], ()
        yield (api, kernel, *facts, arguments)


@pytest.mark.parametrize("section", SECTIONS)
def test_both_record_the_same_commands(section: str, run: Runner, tmp_path: Path) -> None:
    recorded = {}
    for use in ("off", "on"):
        path = tmp_path / f"{use}.cltrace"
        program = (sys.executable, PROGRAMS / "matrix.py", section)
        done = run("run", "-q", "--layer", use, "-o", path, *program)
        assert (done.status, done.stdout, done.stderr) == (0, "done\n", "")
        with cltrace.load(path) as trace:
            recorded[use] = Counter(map(repr, commands(trace)))
            assert trace.rows("SELECT count(*) FROM diagnostic WHERE severity = 'error'") == [(0,)]
    assert recorded["on"] == recorded["off"]
    assert recorded["on"].total() > 3


def test_both_name_the_same_lines(run: Runner, tmp_path: Path) -> None:
    lines = {}
    for use in ("off", "on"):
        path = tmp_path / f"{use}.cltrace"
        run(
            "run",
            "-q",
            "--layer",
            use,
            "-o",
            path,
            sys.executable,
            PROGRAMS / "matrix.py",
            "copies",
        )
        with cltrace.load(path) as trace:
            lines[use] = {
                tuple(row)
                for row in trace.rows(
                    "SELECT s.file, s.line, s.function FROM command c JOIN site s ON s.id = c.site_id"
                )
            }
    assert lines["on"] == lines["off"]
    assert len(lines["on"]) > 5
    assert all(re.search(r"matrix\.py$", file) for file, _, _ in lines["on"])
