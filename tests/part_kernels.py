"""Kernels that need all parts of a device, and their counts."""

from cltrace.kernels import BufferArgument, KernelCounts, LocalArgument, count, parse

KERNELS = {
    "stream": "kernel void stream(global float *a) { a[get_global_id(0)] *= 2.0f; }",
    "wide stream": """
        kernel void wide_stream(global float4 *a) { a[get_global_id(0)] *= 2.0f; }
    """,
    "groups": """
        kernel void groups(global float *a, local float *b) {
            size_t i = get_local_id(0);
            b[i] = a[get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            a[get_global_id(0)] = sin(b[get_local_size(0) - 1 - i]);
        }
    """,
    "tally": """
        kernel void tally(global int *a) { atomic_add(a + get_global_id(0) % 64, 1); }
    """,
}


def counts_of(name: str, floats: int = 1 << 22) -> KernelCounts:
    """The counts of a launch of one of `KERNELS` on as many floats."""
    arguments: list[BufferArgument | LocalArgument] = [BufferArgument(4 * floats)]
    if name == "groups":
        arguments.append(LocalArgument(1024))
    items = floats // 4 if name == "wide stream" else floats
    return count(parse(KERNELS[name]), name.replace(" ", "_"), (items,), (256,), arguments)
