"""Kernels whose control flow is hard to write again: a device records what the executor records."""

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, LocalArgument, Program, parse
from cltrace.kernels.events.capture import EventLimits, record_events
from cltrace.kernels.events.device_launch import DeviceLaunch
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.runs.device_events import record_on_device
from tests.kernels.device_launches import event_differences

pytestmark = pytest.mark.opencl

DEVICE = "Portable"
ALL = 1 << 40
TEMPLATE = """
void step(__local int *t, int l, int m, int d)
{
    int v = t[(l + d) % m];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int q = 0; q < d; q++) v += q;
    t[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
}
__kernel void k(__global int *x, __local int *t, int n)
{
    int i = get_global_id(0), l = get_local_id(0), m = get_local_size(0), s = 0;
    t[l] = x[i];
    FIRST
    BODY
}
"""
LOCAL = "barrier(CLK_LOCAL_MEM_FENCE);"
BODIES = {
    "continue": "for (int k = 0; k < n; k++) { if (k == 2) continue; step(t, l, m, k); } x[i] = t[l];",
    "goto": f"int k = 0; again: {LOCAL} s += t[(l + k) % m]; if (++k < n) goto again; x[i] = s;",
    "entered in the middle": f"int k = 0; if (n > 3) goto mid; again: s += k; mid: {LOCAL} "
    "s += t[(l + k) % m]; while (s & 7) s++; if (++k < n) goto again; x[i] = s;",
    "a way round without a barrier": "for (int a = 0; a < n; a++) for (int b = a; b < n; b++) { "
    "for (int c = 0; c < (x[i] & 3); c++) s += c; if (b & 1) step(t, l, m, b); "
    "for (int c = 0; c < b; c++) { if (c == 3) break; s ^= c; } } x[i] = s + t[l];",
    "switch": f"for (int a = 0; a < n; a++) switch (a % 3) {{ case 0: {LOCAL} s += t[l]; break; "
    f"case 1: s++; default: {LOCAL} t[l] += s; while (s > 50) s -= 7; }} x[i] = s;",
    "functions": "for (int a = 1; a < n; a *= 2) step(t, l, m, a); if (n > 4) step(t, l, m, 1); "
    "do { step(t, l, m, 2); s++; } while (s < n); x[i] = t[l];",
    "return": f"for (int a = 0; a < n; a++) {{ {LOCAL} if (t[0] < a * 20) return; s += t[l]; "
    "x[i] = s; }",
    "some return": f"for (int a = n; a; a >>= 1) {{ {LOCAL} if (l < a) t[l]++; }} if (l) return; "
    "for (int a = 0; a < n; a++) s += t[a]; x[i] = s;",
    "copies": "for (int a = 0; a < n; a++) { event_t e = async_work_group_copy(t, "
    f"x + get_group_id(0) * m, m, 0); wait_group_events(1, &e); s += t[(l + a) % m]; {LOCAL} }} "
    "x[i] = s;",
    "private memory": "int p[6]; for (int a = 0; a < 6; a++) p[a] = a * l; for (int a = 0; a < n; a++)"
    f" {{ {LOCAL} int v = t[p[a % 6] % m]; {LOCAL} p[(a + 1) % 6] += v; t[l] = v; }} x[i] = p[3];",
}

Launch = tuple[Program, str, tuple[int, ...], tuple[int, ...], list[Argument]]


def launch_of(body: str, first: str = "") -> Launch:
    source = TEMPLATE.replace("BODY", BODIES[body]).replace("FIRST", first)
    contents = (np.arange(32, dtype=np.int32) * 37) % 101
    return parse(source), "k", (32,), (8,), [BufferArgument(128, contents), LocalArgument(32), 5]


@pytest.mark.parametrize("body", BODIES)
def test_barriers_are_those_of_the_executor(body: str) -> None:
    device = DeviceLaunch(KernelLaunch(*launch_of(body)))
    events = device.events(record_on_device(device, DEVICE, ALL), ALL)
    expected = record_events(KernelLaunch(*launch_of(body)), limits=EventLimits(max_events=ALL))
    assert list(event_differences(expected, events)) == []


@pytest.mark.parametrize("body", list(BODIES)[::3])
def test_no_work_item_waits_for_one_that_is_stopped(body: str) -> None:
    device = DeviceLaunch(KernelLaunch(*launch_of(body, "if (i == 9) while (n > 4) s |= 1;")))
    log = record_on_device(device, DEVICE, 10_000)
    assert np.flatnonzero(log.is_stopped).tolist() == list(range(8, 16))


ODD_TEXTS = {
    "carriage returns": "__kernel void k(__global int *x) {\r\n  // gr\u00fc\u00dfe \u4e2d\u6587\r\n"
    "  int i = get_global_id(0); /* \U0001f600 */\r\n#define M(a) \\\r\n  ((a) > 40)\r\n"
    "  if (!M(x[i]) && i)\r\n    x[i]++;\r\n}\r\n",
    "a long line": "__kernel void k(__global int *x) { int i = get_global_id(0); "
    + "".join(f"if (!(x[i] == {number})) x[i] += {number % 3}; " for number in range(100))
    + "}",
    "kernels that call kernels": "__kernel void one(__global int *x, int n) { x[get_global_id(0)] += n;"
    " if (n > 3) x[get_global_id(0)] *= 2; }\n__kernel void k(__global int *x)"
    " { if (get_global_id(0) & 1) one(x, 5); else one(x, 3); }",
    "attributes": "__kernel __attribute__((reqd_work_group_size(8, 1, 1)))"
    " __attribute__((vec_type_hint(float4))) void k(__global int *x)"
    " { if (get_local_id(0) > 3) x[get_global_id(0)]++; }",
}


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_texts_are_recorded(text: str) -> None:
    contents = (np.arange(32, dtype=np.int32) * 37) % 101
    launch = (
        parse(ODD_TEXTS[text], ["-Werror"]),
        "k",
        (32,),
        (8,),
        [BufferArgument(128, contents)],
    )
    device = DeviceLaunch(KernelLaunch(*launch))
    events = device.events(record_on_device(device, DEVICE, ALL), ALL)
    assert list(event_differences(record_events(KernelLaunch(*launch)), events)) == []
    assert events.dropped.has_whole_items
