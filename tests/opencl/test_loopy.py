"""loopy launches by functions that it generates, which set many arguments by one call."""

import importlib.util
import struct

import pytest

from cltrace.kernels.counts.traced_launches import traced_launches
from tests.conftest import needs
from tests.opencl.after import After

pytestmark = [pytest.mark.opencl, pytest.mark.programs]

CODE = """
import loopy as lp
import pyopencl.array
scale = lp.make_kernel(
    "{[i]: 0 <= i < n}", "out[i] = s*a[i] + z", [..., lp.ValueArg("s", np.float32)],
    name="scale", lang_version=(2018, 2))
scale = lp.add_dtypes(scale, {"a": np.float32, "z": np.complex64})
a = cl.array.to_device(queue, np.arange(100, dtype=np.float32))
for _ in range(2):
    event, (out,) = scale(queue, a=a, s=np.float32(2.5), z=np.complex64(1 + 2j))
event.wait()
"""


def test_launches_of_loopy_have_their_arguments(after: After) -> None:
    needs(
        importlib.util.find_spec("loopy") is not None, "loopy, of the dependency group `programs`"
    )
    with after(CODE) as trace:
        assert trace.rows("SELECT DISTINCT arguments_known FROM v_launch") == [(1,)]
        scalars = {
            value for (value,) in trace.rows("SELECT value FROM v_launch_arg WHERE kind = 'scalar'")
        }
        assert {struct.pack("f", 2.5), struct.pack("ff", 1, 2)} < scalars
        kinds = "SELECT kind, count(*) FROM v_launch_arg GROUP BY launch_id, kind"
        assert ("buffer", 2) in trace.rows(kinds)
        assert sum(one.calls for one in traced_launches(trace)) == 2
