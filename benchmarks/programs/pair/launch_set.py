"""Some thirty launches of simple kernels on one device or on both at once, for the accuracy of models."""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyopencl as cl
from pair_work import DeviceWork, Record, filled, open_devices

SOURCE = """
kernel void add(global const float *a, global const float *b, global float *c) {
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}
kernel void copy4(global const float4 *a, global float4 *c) {
    size_t i = get_global_id(0);
    c[i] = a[i];
}
kernel void stencil(global const float *a, global float *c, int n) {
    int i = get_global_id(0);
    int left = max(i - 1, 0), right = min(i + 1, n - 1);
    c[i] = 0.25f * a[left] + 0.5f * a[i] + 0.25f * a[right];
}
kernel void polynomial(global const float *a, global float *c, int n) {
    size_t i = get_global_id(0);
    float x = a[i], y = 1;
    for (int k = 0; k < n; ++k) y = mad(y, x, 0.3f);
    c[i] = y;
}
kernel void integers(global const int *a, global int *c, int n) {
    size_t i = get_global_id(0);
    int x = a[i];
    for (int k = 0; k < n; ++k) x = (x * 1103515245 + 12345) ^ (x >> 7);
    c[i] = x;
}
kernel void gather(global const float *a, global float *c, uint mask) {
    uint i = get_global_id(0), at = i * 2654435761u;
    at = (at ^ (at >> 15)) * 2246822519u;
    c[i] = a[(at ^ (at >> 13)) & mask];
}
kernel void strided(global const float *a, global float *c, int stride, int mask) {
    int i = get_global_id(0);
    c[i] = a[(i * stride) & mask];
}
kernel void transpose(global const float *a, global float *c, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    c[x * n + y] = a[y * n + x];
}
kernel void product(global const float *a, global const float *b, global float *c, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum = mad(a[y * n + k], b[k * n + x], sum);
    c[y * n + x] = sum;
}
kernel void sums(global const float *a, global float *c) {
    local float part[256];
    int i = get_local_id(0);
    part[i] = a[get_global_id(0)];
    for (int step = 128; step > 0; step >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < step) part[i] += part[i + step];
    }
    if (i == 0) c[get_group_id(0)] = part[0];
}
"""


class LaunchSet:
    """The kernels on a device, with three buffers."""

    def __init__(self, work: DeviceWork, largest: int) -> None:
        program = cl.Program(work.context, SOURCE).build()
        self.work = work
        self.kernels = {kernel.function_name: kernel for kernel in program.all_kernels()}
        self.buffers = [filled(work.context, largest) for _ in range(3)]

    def configurations(self, largest: int) -> Iterator[tuple[str, tuple[int, ...], list[Any]]]:
        """Yield kernels with their sizes and arguments, in three sizes each."""
        a, b, c = self.buffers
        for share in (64, 8, 1):
            n = largest // share
            side = 1 << (n.bit_length() - 1) // 2
            whole = np.int32(n)
            yield "add", (n,), [a, b, c]
            yield "copy4", (n // 4,), [a, c]
            yield "stencil", (n,), [a, c, whole]
            yield "polynomial", (n,), [a, c, np.int32(512)]
            yield "integers", (n,), [a, c, np.int32(256)]
            yield "gather", (n,), [a, c, np.uint32(n - 1)]
            yield "strided", (n,), [a, c, np.int32(33), np.int32(n - 1)]
            yield "transpose", (side, side), [a, c, np.int32(side)]
            yield "product", (side // 4, side // 4), [a, b, c, np.int32(side // 4)]
            yield "sums", (n,), [a, c]

    def launcher(
        self, name: str, size: tuple[int, ...], arguments: list[Any]
    ) -> Callable[[], None]:
        group = (256,) if len(size) == 1 else (min(16, size[0]), min(16, size[1]))

        def launch() -> None:
            self.work.counts[f"kernel {name}"] += 1
            self.kernels[name](self.work.queue, size, group, *arguments)

        return launch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", default="NVIDIA")
    parser.add_argument("--devices", default="0,1")
    parser.add_argument("--largest", type=int, default=1 << 24)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--record", required=True)
    given = parser.parse_args()
    every = open_devices(given.platform)
    numbers = [int(word) for word in given.devices.split(",")]
    context = cl.Context([every[number] for number in numbers])
    works = [DeviceWork(number, every[number], context) for number in numbers]
    sets = [LaunchSet(work, given.largest) for work in works]
    record = Record(works)
    with record.phase("launches"):
        for _ in range(given.rounds):
            run_round(sets, given)
    record.write(given.record)


def run_round(sets: list[LaunchSet], given: argparse.Namespace) -> None:
    for configuration in zip(*(each.configurations(given.largest) for each in sets), strict=True):
        launchers = [each.launcher(*one) for each, one in zip(sets, configuration, strict=True)]
        for _ in range(given.repeats):
            for launch in launchers:
                launch()
        for each in sets:
            each.work.queue.finish()


if __name__ == "__main__":
    main()
