"""Memory of two recorded boards: what each rank made counts on its own board, and on no other."""

import json
from pathlib import Path

from tests.conftest import Runner
from tests.recorded_pairs import LABELS, unpack_pair

MADE_BYTES = 4 * (16 << 20)
"""`benchmarks/programs/pair/one_device.py` fills four buffers of 2²² floats."""


def test_memory_counts_on_the_board_of_its_process(run: Runner, tmp_path: Path) -> None:
    trace = unpack_pair("ranks", tmp_path)
    done = run("summary", trace, "--table", "memory_by_device", "--format", "json")
    assert done.status == 0, done.stderr
    rows = json.loads(done.stdout)["memory_by_device"]
    assert len(rows) == len(LABELS)
    for label, row in zip(LABELS, rows, strict=True):
        assert row["device"].startswith(label)
        assert (row["objects"], row["made_bytes"]) == (4, MADE_BYTES)
