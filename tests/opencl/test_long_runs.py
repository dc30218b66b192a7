"""A bounded sample of `benchmarks/long_runs.py`: memory does not grow with a run, and nothing is lost."""

from pathlib import Path

import pytest

from benchmarks.long_runs import measure

pytestmark = pytest.mark.opencl

LAUNCHES = 300_000
MAX_GROWTH_MB = 60
"""Growth of the program behind its first tenth: 200,000 unread events would be more."""
MAX_BYTES_PER_LAUNCH = 150


@pytest.mark.parametrize("layer", ["auto", "off"])
def test_a_long_run_is_bounded_and_loses_nothing(layer: str, tmp_path: Path) -> None:
    run = measure(tmp_path, LAUNCHES, 0.0, layer)
    assert (run.recorded, run.missing, run.state) == (LAUNCHES, 0, "complete")
    assert run.program_mb - run.program_early_mb < MAX_GROWTH_MB
    assert run.parent_running_mb < 150
    assert run.parts_mb * 1e6 < LAUNCHES * MAX_BYTES_PER_LAUNCH
    assert run.trace_mb * 1e6 < LAUNCHES * MAX_BYTES_PER_LAUNCH
