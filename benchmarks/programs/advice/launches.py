"""Programs that launch too little at once, or build again. See `workload`."""

import numpy as np
import pyopencl as cl
from workload import SOURCE, Variant, buffer, case, context, kernels, main, queue, work


@case("launch-per-row", "launch-bound")
def launch_per_row() -> tuple[Variant, Variant]:
    x, width, count = buffer(4 * 64 * 4000), np.int32(64), 4000

    def before() -> None:
        for at in range(count):
            kernels["row"](queue, (64,), None, x, width, np.int32(at))

    def after() -> None:
        kernels["rows"](queue, (64, count), None, x, width)

    return before, after


@case("launch-per-step", "launch-bound")
def launch_per_step() -> tuple[Variant, Variant]:
    x = buffer(4 * 256)

    def before() -> None:
        for at in range(4000):
            kernels["advance"](queue, (256,), None, x, np.int32(at))

    def after() -> None:
        kernels["advance_all"](queue, (256,), None, x, np.int32(4000))

    return before, after


@case("launch-per-row-with-work", "launch-bound")
def launch_per_row_with_work() -> tuple[Variant, Variant]:
    x, width, count = buffer(4 * 64 * 1500), np.int32(64), 1500

    def before() -> None:
        for at in range(count):
            kernels["row"](queue, (64,), None, x, width, np.int32(at))
            work(300)

    def after() -> None:
        kernels["rows"](queue, (64, count), None, x, width)

    return before, after


@case("build-in-loop", "rebuilt-program")
def build_in_loop() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)
    text = SOURCE + "// in a loop\n"

    def before() -> None:
        for _ in range(6):
            cl.Program(context, text).build().spin(queue, (4096,), None, x, np.int32(100))

    def after() -> None:
        kernel = cl.Program(context, text).build().spin
        for _ in range(6):
            kernel(queue, (4096,), None, x, np.int32(100))

    return before, after


@case("build-in-function", "rebuilt-program")
def build_in_function() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)
    text = SOURCE + "// in a function\n"

    def scale(rounds: int) -> None:
        kernel = cl.Kernel(cl.Program(context, text).build(), "spin")
        kernel(queue, (4096,), None, x, np.int32(rounds))
        queue.finish()

    def before() -> None:
        for at in range(4):
            scale(200 * at)

    def after() -> None:
        kernel = cl.Kernel(cl.Program(context, text).build(), "spin")
        for at in range(4):
            kernel(queue, (4096,), None, x, np.int32(200 * at))
            queue.finish()

    return before, after


@case("build-twice", "rebuilt-program")
def build_twice() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)
    text = SOURCE + "// twice\n"

    def before() -> None:
        for _ in range(2):
            kernel = cl.Kernel(cl.Program(context, text).build(), "advance")
            kernel(queue, (4096,), None, x, np.int32(1))

    def after() -> None:
        kernel = cl.Kernel(cl.Program(context, text).build(), "advance")
        for _ in range(2):
            kernel(queue, (4096,), None, x, np.int32(1))

    return before, after


@case("number-in-source", "rebuilt-program")
def number_in_source() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)
    text = "kernel void add(global float *x{}) {{ x[get_global_id(0)] += {}; }}"

    def before() -> None:
        for at in range(10):
            source = text.format("", f"{0.25 + at:.3f}f")
            cl.Program(context, source).build().add(queue, (4096,), None, x)
        queue.finish()

    def after() -> None:
        kernel = cl.Program(context, text.format(", float step", "step")).build().add
        for at in range(10):
            kernel(queue, (4096,), None, x, np.float32(0.25 + at))
        queue.finish()

    return before, after


@case("sizes-in-turn", "rebuilt-program")
def sizes_in_turn() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)
    text = SOURCE + "// for a size\n"

    def run(kept: dict[int, cl.Kernel] | None) -> None:
        for at in range(9):
            size = 2 ** (at % 3)
            kernel = kept.get(size) if kept is not None else None
            if kernel is None:
                kernel = cl.Program(context, text).build(options=[f"-DSIZE={size}"]).spin
            if kept is not None:
                kept[size] = kernel
            kernel(queue, (4096,), None, x, np.int32(100))
        queue.finish()

    return lambda: run(None), lambda: run({})


if __name__ == "__main__":
    main()
