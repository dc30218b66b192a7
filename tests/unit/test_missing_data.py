"""Data that a trace lacks: how much a killed process loses at most."""

from dataclasses import replace
from pathlib import Path

import pytest

from cltrace.events.kinds import RECORDED_BY_LAYER, Severity
from cltrace.events.records import Diagnostic
from cltrace.spool.reader import read_parts
from cltrace.spool.settings import CommandOutcome, read_session
from cltrace.trace.missing_data import find_missing_data
from tests.synthetic import write_recording


@pytest.mark.parametrize(("code", "lost"), [(RECORDED_BY_LAYER, "20 ms"), ("another", "150 ms")])
def test_a_killed_process_loses_what_its_recorder_had_not_written(
    code: str, lost: str, tmp_path: Path
) -> None:
    parts = write_recording(tmp_path / "t.cltrace", is_whole=False)
    spools = [
        replace(
            spool,
            all_records=(*spool.all_records, Diagnostic(Severity.NOTE, code, "by whom", 1)),
        )
        for spool in read_parts(parts)
    ]
    missing = find_missing_data(spools, read_session(parts), CommandOutcome(0, None, 1), 0, {})
    assert missing.commands is None
    (reason,) = missing.reasons
    assert f"up to its last {lost} may be missing" in reason
