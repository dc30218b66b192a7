"""Statistics of columns that numpy has too: the same values, without its slow imports."""

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cltrace.timeline.columns import median_of
from cltrace.trace.distinct_values import sort_distinct

_FLOATS = st.floats(-1e15, 1e15)


@given(st.lists(_FLOATS, min_size=1, max_size=30))
def test_median_is_that_of_numpy(values: list[float]) -> None:
    assert median_of(np.array(values)) == np.median(np.array(values))


@given(st.lists(st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_distinct_values_are_those_of_numpy(values: list[int]) -> None:
    column = np.array(values, np.int64)
    assert sort_distinct(column).tolist() == np.unique(column).tolist()


def test_neither_imports_masked_arrays() -> None:
    code = (
        "import sys, numpy as np; from cltrace.timeline.columns import median_of; "
        "from cltrace.trace.distinct_values import sort_distinct; "
        "median_of(np.ones(3)); sort_distinct(np.arange(3)); sys.exit('numpy.ma' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
