"""What counting kernels costs, and how many of other people's kernels are counted.

    python benchmarks/kernels.py [--corpus DIR] [--programs N] [--seed S] [--json FILE]

Without a corpus the kernels of the tests are counted. Every program is compiled with an empty cache,
again from the cache, and each launch is counted twice: first with reading and preparing, then alone.
"""

import argparse
import collections
import json
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cltrace.errors import KernelError
from cltrace.kernels import (
    Argument,
    BufferArgument,
    CountCache,
    ImageArgument,
    LocalArgument,
    SamplerArgument,
    StructArgument,
    count,
    parse,
)
from cltrace.kernels.compiler import CodeForm, Compiler
from cltrace.kernels.compiler.cache import DiskCache

sys.path.insert(0, str(Path(__file__).parents[1]))

PRODUCT = """
__kernel void product(__global const float *a, __global const float *b, __global float *c, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}"""

STEP = """
__kernel void step(__global const float *speed, __global float *place, float time_step) {
    place[get_global_id(0)] += speed[get_global_id(0)] * time_step;
}"""


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that is to be counted."""

    kernel: str
    global_size: Sequence[int]
    local_size: Sequence[int]
    global_offset: Sequence[int] | None
    arguments: Sequence[Argument]


@dataclass(frozen=True, slots=True)
class Source:
    """A program and its launches."""

    library: str
    text: str
    options: Sequence[str] | str
    headers: dict[str, str]
    launches: Sequence[Launch]


@dataclass(slots=True)
class Figures:
    """What was measured, in ms, and what was not counted."""

    compiled: list[float] = field(default_factory=list)
    from_cache: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    counted: list[float] = field(default_factory=list)
    kernels: int = 0
    assumed: int = 0
    refused: collections.Counter[str] = field(default_factory=collections.Counter)


def main() -> None:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(description="What counting kernels costs.")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sources = list(of_tests() if arguments.corpus is None else of_corpus(arguments.corpus))
    random.Random(arguments.seed).shuffle(sources)
    figures = Figures()
    with tempfile.TemporaryDirectory() as directory:
        for number, source in enumerate(sources[: arguments.programs]):
            measure(source, Path(directory) / str(number), figures)
    rows = table(figures)
    for name, value in rows.items():
        print(f"{name:50} {value}")
    for what, times in figures.refused.most_common(30):
        print(f"  {times:4} {what}")
    if arguments.json is not None:
        record = {"python": platform.python_version(), "figures": rows, "refused": figures.refused}
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")


def measure(source: Source, cache: Path, figures: Figures) -> None:
    """Compile a program and count its launches."""
    names = [launch.kernel for launch in source.launches] or [""]
    try:
        began = time.perf_counter()
        for form in (CodeForm.OPTIMISED, CodeForm.WRITTEN):
            program = parse(
                source.text,
                source.options,
                headers=source.headers,
                compiler=Compiler(DiskCache(cache)),
            )
            program.module(form)
        figures.compiled.append(1e3 * (time.perf_counter() - began))
        _, taken = timed(
            lambda: (
                parse(
                    source.text,
                    source.options,
                    headers=source.headers,
                    compiler=Compiler(DiskCache(cache)),
                ).kernels
            )
        )
        figures.from_cache.append(taken)
    except KernelError as error:
        figures.kernels += len(names)
        figures.refused[short(error)] += len(names)
        return
    for launch in source.launches:
        figures.kernels += 1
        try:
            counts, first = timed(lambda launch=launch: counted(program, launch))
            _, again = timed(lambda launch=launch: counted(program, launch))
        except (KernelError, ValueError) as error:
            figures.refused[short(error)] += 1
            continue
        figures.first.append(first)
        figures.counted.append(again)
        figures.assumed += bool(counts.assumptions)


def counted(program: Any, launch: Launch) -> Any:
    """The counts of a launch."""
    return count(
        program, launch.kernel, launch.global_size, launch.local_size, launch.arguments,
        global_offset=launch.global_offset,
    )  # fmt: skip


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the ms that it took."""
    began = time.perf_counter()
    found = run()
    return found, 1e3 * (time.perf_counter() - began)


def short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).split(': ', 1)[-1][:70]}"


def table(figures: Figures) -> dict[str, str]:
    """The figures, as they are printed."""
    refused = sum(figures.refused.values())
    small, large, hit = of_product()
    return {
        "kernels": f"{figures.kernels}",
        "counted without error": f"{1 - refused / max(figures.kernels, 1):.1%}",
        "of those resting on assumptions": f"{figures.assumed / max(len(figures.counted), 1):.1%}",
        "compile and read both forms, ms": quantiles(figures.compiled),
        "read from the disk cache, ms": quantiles(figures.from_cache),
        "prepare and count the first time, ms": quantiles(figures.first),
        "count, ms": quantiles(figures.counted),
        "product of size 256, ms": f"{small:.1f}",
        "product of size 4096, ms": f"{large:.1f}",
        "a configuration that is known, us": f"{hit:.1f}",
        "100,000 launches with another float each": of_changing(),
    }


def quantiles(values: Sequence[float]) -> str:
    """Median, 95th percentile and largest."""
    if len(values) < 2:
        return "-"
    ordered = sorted(values)
    high = ordered[min(int(0.95 * len(ordered)), len(ordered) - 1)]
    return f"{statistics.median(values):.1f} median, {high:.1f} at 95 %, {ordered[-1]:.0f} at most"


def of_product() -> tuple[float, float, float]:
    """Ms for two sizes of a matrix product, and us for a configuration that is known."""
    program = parse(PRODUCT)
    taken = []
    buffers: list[Argument] = []
    for size in (256, 4096):
        buffers = [BufferArgument(4 * size * size)] * 3
        launch = Launch("product", (size, size), (16, 16), None, [*buffers, size])
        samples = [timed(lambda launch=launch: counted(program, launch))[1] for _ in range(9)]
        taken.append(statistics.median(samples))
    known = CountCache()
    arguments = [*buffers, size]

    def hits() -> None:
        for _ in range(10_000):
            known.count(program, "product", (size, size), (16, 16), arguments)

    hits()
    return taken[0], taken[1], timed(hits)[1] / 10


def of_changing() -> str:
    """How long, and how many configurations, 100,000 launches take whose time step changes."""
    program = parse(STEP)
    known = CountCache()
    buffers: list[Argument] = [BufferArgument(4 << 16)] * 2
    steps = [index / 100_000 for index in range(100_000)]

    def launches() -> int:
        found = {
            id(known.count(program, "step", (1 << 16,), (256,), [*buffers, step])) for step in steps
        }
        return len(found)

    configurations, taken = timed(launches)
    return f"{configurations} configuration, {taken:.0f} ms"


def of_tests() -> Iterator[Source]:
    """The kernels that the tests execute."""
    from tests.kernels.catalogue import CASES  # noqa: PLC0415 - not needed with a corpus
    from tests.kernels.launches import arguments_of, local_size_of  # noqa: PLC0415

    for case in CASES:
        launch = Launch(
            case.kernel, case.global_size, local_size_of(case), None, arguments_of(case)
        )
        yield Source(case.family, case.text, case.options, {}, [launch])


def of_corpus(directory: Path) -> Iterator[Source]:
    """The programs that other people's libraries build."""
    for path in sorted((directory / "programs").glob("*.json")):
        stored = json.loads(path.read_text())
        if stored["built"]:
            launches = [
                launch_of(name, configurations[0])
                for name, configurations in stored["kernels"].items()
                if configurations and all(configurations[0]["global_size"])
            ]
            yield Source(
                stored["library"], stored["source"], stored["options"], stored["headers"], launches
            )


def launch_of(kernel: str, stored: dict[str, Any]) -> Launch:
    """A launch as the corpus has it."""
    sizes = stored["global_size"]
    return Launch(
        kernel,
        sizes,
        stored["local_size"] or [1] * len(sizes),
        stored["global_offset"],
        [argument_of(one) for one in stored["arguments"]],
    )


def argument_of(stored: dict[str, Any]) -> Argument:
    """An argument as the corpus has it. Contents are not among it."""
    match stored["kind"]:
        case "buffer" | "svm":
            return BufferArgument(stored["bytes"])
        case "local":
            return LocalArgument(stored["bytes"])
        case "image":
            return ImageArgument(stored["width"], stored["height"] or 1, stored["depth"] or 1)
        case "sampler":
            return SamplerArgument()
        case "scalar" if stored["hex"] is not None:
            return StructArgument(bytes.fromhex(stored["hex"]))
        case _:
            return None


if __name__ == "__main__":
    main()
