"""Running cases on an OpenCL platform that is chosen by its name."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyopencl as cl

from tests.kernels.cases import Array, Case, Local, Vector

POCL = "Portable Computing Language"
OCLGRIND = "Oclgrind"
INTEL = "Intel(R) OpenCL"


def platform_named(name: str) -> cl.Platform:
    platforms = cl.get_platforms()
    for platform in platforms:
        if platform.name == name:
            return platform
    raise LookupError(f"no platform {name!r} among {[platform.name for platform in platforms]}")


def context_on(platform_name: str) -> cl.Context:
    """A context of the platform's first device."""
    device = platform_named(platform_name).get_devices()[0]
    return cl.Context([device])


def run_case(case: Case, platform_name: str, options: str = "") -> list[Array | None]:
    """The final contents of a case's buffers on the platform's first device."""
    return run_on(case, context_on(platform_name), options)


def run_on(
    case: Case,
    context: cl.Context,
    options: str = "",
    finished: Callable[[cl.Program], None] = lambda _: None,
) -> list[Array | None]:
    """As `run_case`, on a context; `finished` gets the program once the kernel has run."""
    return run_built(case, build(case, context, options), context, finished)


def build(case: Case, context: cl.Context, options: str = "") -> cl.Program:
    """The program of a case."""
    program = cl.Program(context, case.text)
    program.build(options=f"{case.options} {options}".split())
    return program


def run_built(
    case: Case,
    program: cl.Program,
    context: cl.Context,
    finished: Callable[[cl.Program], None] = lambda _: None,
) -> list[Array | None]:
    """As `run_on`, with a program that is built already."""
    kernel = cl.Kernel(program, case.kernel)
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers: list[tuple[cl.Buffer, Array] | None] = []
    for position, argument in enumerate(case.inputs()):
        pair = None
        if isinstance(argument, Local):
            kernel.set_arg(position, cl.LocalMemory(argument.size))  # type: ignore[arg-type]
        elif isinstance(argument, Vector):
            kernel.set_arg(position, argument.values)
        elif isinstance(argument, np.ndarray):
            pair = cl.Buffer(context, flags, hostbuf=np.ascontiguousarray(argument)), argument
            kernel.set_arg(position, pair[0])
        else:
            kernel.set_arg(position, argument)
        buffers.append(pair)
    cl.enqueue_nd_range_kernel(queue, kernel, case.global_size, case.local_size)
    queue.finish()
    finished(program)
    return [None if pair is None else _contents(queue, *pair) for pair in buffers]


def _contents(queue: cl.CommandQueue, buffer: cl.Buffer, like: Array) -> Array:
    found = np.empty_like(like)
    cl.enqueue_copy(queue, found, buffer)
    return found


def save(folder: Path, name: str, contents: list[Array | None]) -> None:
    arrays = {str(i): content for i, content in enumerate(contents) if content is not None}
    np.savez(folder / f"{name}.npz", allow_pickle=False, count=np.int64(len(contents)), **arrays)


def load(path: Path) -> list[Array | None]:
    with np.load(path) as arrays:
        return [arrays.get(str(i)) for i in range(int(arrays["count"]))]


def run_all(cases: Sequence[Case], platform_name: str, folder: Path, options: str = "") -> None:
    """Run cases: of each a NAME.npz or NAME.error; `launched` lists those whose kernel ran.

    What Oclgrind compiled is NAME.binary. Cases with the same text and options share a program.
    """
    context = context_on(platform_name)
    programs: dict[tuple[str, str], cl.Program] = {}
    for case in cases:

        def note(program: cl.Program, name: str = case.name) -> None:
            with (folder / "launched").open("a", encoding="utf-8") as launched:
                launched.write(f"{name}\n")
            if platform_name == OCLGRIND:  # PoCL would compile every kernel of the program for it
                (folder / f"{name}.binary").write_bytes(program.binaries[0])

        key = (case.text, case.options)
        try:
            if key not in programs:
                programs[key] = build(case, context, options)
            save(folder, case.name, run_built(case, programs[key], context, note))
        except (cl.Error, RuntimeError) as error:  # what one case asks for may be unsupported
            (folder / f"{case.name}.error").write_text(str(error), encoding="utf-8")


def main() -> None:
    from tests.kernels.catalogue import case_named  # noqa: PLC0415 (it is for the program)

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platform")
    parser.add_argument("folder", type=Path, help="where to write results")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--options", default="")
    given = parser.parse_args()
    cases = [case_named(name) for name in given.names]
    run_all(cases, given.platform, given.folder, given.options)


if __name__ == "__main__":
    main()
