"""Commands are packed without loss, whatever the driver says."""

import sqlite3

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cltrace.trace.commands import ABSENT, STAMP_COLUMNS, packed_times

STAMPS_OF_ANY_DRIVER = st.none() | st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(0, 60)


@given(st.lists(st.lists(STAMPS_OF_ANY_DRIVER, min_size=4, max_size=4), min_size=1))
def test_any_stamps_are_packed_without_loss(stamps: list[list[int | None]]) -> None:
    rows = np.array([[ABSENT if one is None else one for one in row] for row in stamps], np.int64)
    host = dict.fromkeys(("enter_host_ns", "return_host_ns"), np.zeros(len(rows), np.int64))
    packed = packed_times(host | dict(zip(STAMP_COLUMNS, rows.T, strict=False)))
    database = sqlite3.connect(":memory:")
    for at, row in enumerate(stamps):
        for stage, stamp in zip(("queued", "submit", "start", "end"), row, strict=True):
            pair = (int(packed[name][at]) for name in ("base_device_ns", f"{stage}_after_ns"))
            base, after = (None if number == ABSENT else number for number in pair)
            assert database.execute("SELECT ? + ?", (base, after)).fetchone() == (stamp,)
    database.close()
