"""Choice of launches to compare with hardware counters: from the suite, random kernels and traces."""

import hashlib
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.counter_jobs import (
    Buffer,
    Contents,
    Filled,
    Job,
    JobArgument,
    Local,
    OfCase,
    Scalar,
    Stored,
    Zeros,
    counted_arguments,
    digest,
)
from cltrace.errors import KernelError
from cltrace.events.workloads import BufferInput, LocalInput, WorkloadInput
from cltrace.kernels import Machine, count, parse
from cltrace.kernels.arguments import Argument, BufferArgument, LocalArgument, StructArgument
from cltrace.kernels.counts.traced_launches import TracedLaunch, traced_launches
from cltrace.suite.domain_iterations import SETS, generate_domain_iterations
from cltrace.suite.evaluation import EVALUATION, Case, Scale
from cltrace.trace.reader import Trace

MAX_BUFFER_BYTES: Final = 64 << 20
_MAX_DURATION_NS: Final = 5_000_000
_MAX_STORED_BYTES: Final = 400_000
_SCALES: Final = ((14, 64), (16, 256), (18, 128), (20, 1024), (20, 256), (22, 256))
_RANDOM_KERNELS: Final = 20
_EXPONENTS: Final = tuple(range(13, 24))
_GROUP_ITEMS: Final = (32, 64, 128, 256, 512, 1024)
_DURATIONS: Final = """
    SELECT launch_id, min(duration_ns) FROM v_command WHERE launch_id IS NOT NULL GROUP BY launch_id
"""


def choose(traces: Sequence[Path], seed: int, max_traced: int) -> list[Job]:
    """Return jobs of all sets in random order, at most `max_traced` of each trace."""
    jobs = [*of_suite(), *of_random_kernels(seed)]
    for path in traces:
        jobs += of_trace(path, seed, max_traced)
    random.Random(seed).shuffle(jobs)
    return jobs


def of_suite() -> Iterator[Job]:
    """Yield cases of the evaluation suite, each at two scales."""
    scales = {key: [*_SCALES[at % 6 :], *_SCALES[: at % 6]] for at, key in enumerate(EVALUATION)}
    for generator, order in scales.items():
        seen: dict[tuple[str, str], int] = {}
        for exponent, group_items in order:
            scale = Scale(exponent, group_items)
            for case in EVALUATION[generator](scale):
                key = (case.family, case.name)
                job = _job_of_case(case, generator, scale)
                if seen.get(key, 0) < 2 and job is not None:
                    seen[key] = seen.get(key, 0) + 1
                    yield job


def _job_of_case(case: Case, generator: str, scale: Scale) -> Job | None:
    """Return the job of a case; None if its work-groups do not fit or a buffer is too large."""
    work = case.work
    if any(size % part for size, part in zip(work.global_size, work.local_size, strict=True)):
        return None
    if any(_bytes(argument) > MAX_BUFFER_BYTES for argument in work.inputs):
        return None
    return Job(
        name=f"{case.family}: {case.name} 2^{scale.exponent} by {scale.group_items}",
        set_name="suite",
        source=work.source,
        options=tuple(work.options.split()),
        headers={},
        kernel=work.kernel,
        global_size=work.global_size,
        local_size=work.local_size,
        arguments=tuple(
            _argument_of_case(argument, case, generator, scale, position)
            for position, argument in enumerate(work.inputs)
        ),
    )


def _bytes(argument: WorkloadInput) -> int:
    return argument.size_bytes if isinstance(argument, BufferInput) else 0


def _argument_of_case(
    argument: WorkloadInput, case: Case, generator: str, scale: Scale, position: int
) -> JobArgument:
    match argument:
        case LocalInput(size_bytes):
            return Local(size_bytes)
        case BufferInput(size_bytes, None):
            return Buffer(size_bytes, Filled())
        case BufferInput(size_bytes, contents) if contents is not None:
            known = digest(np.ascontiguousarray(contents()))
            place = OfCase(generator, scale.exponent, scale.group_items, case.name, position, known)
            return Buffer(size_bytes, place)
        case _:
            return Scalar(np.asarray(argument).tobytes())


def of_random_kernels(seed: int) -> Iterator[Job]:
    """Yield random domain iterations, restricted and unrestricted, each at a size of its own."""
    for set_name, rules in SETS.items():
        chooser = random.Random(f"{set_name} {seed}")
        for kernel in generate_domain_iterations(rules, _RANDOM_KERNELS, seed):
            exponent, group_items = chooser.choice(_EXPONENTS), chooser.choice(_GROUP_ITEMS)
            height, width = 1 << (exponent // 2), 1 << (exponent - exponent // 2)
            buffer = Buffer(4 << exponent, Filled())
            yield Job(
                name=f"{set_name} {kernel.seed:x} {height}x{width} by {group_items}",
                set_name=set_name,
                source=kernel.source,
                options=tuple(kernel.options(height, width)),
                headers={},
                kernel=kernel.name,
                global_size=(1 << exponent,),
                local_size=(group_items,),
                arguments=(buffer, buffer),
            )


def of_trace(path: Path, seed: int, max_jobs: int) -> Iterator[Job]:
    """Yield at most `max_jobs` launches of a trace, of as many kernels as possible.

    A launch must be short and have small buffers. Its unknown contents become numbers, or zeros if
    the numbers lead to accesses out of bounds.
    """
    with Trace(path) as trace:
        durations = dict(trace.iterate(_DURATIONS))
        launches = [launch for launch in traced_launches(trace) if _is_usable(launch, durations)]
    random.Random(seed).shuffle(launches)
    left = max_jobs
    for launch in _by_turns(launches):
        if left == 0:
            return
        job = _job_of_launch(launch, path.stem)
        if job is not None:
            left -= 1
            yield job


def _is_usable(launch: TracedLaunch, durations: Mapping[object, object]) -> bool:
    duration_ns = durations.get(launch.launch_id)
    local = launch.local_size
    buffers = [item for item in launch.arguments if isinstance(item, BufferArgument)]
    kinds = (BufferArgument, LocalArgument, StructArgument)
    return (
        launch.program is not None
        and local is not None
        and not any(launch.global_offset or ())
        and all(size % part == 0 for size, part in zip(launch.global_size, local, strict=True))
        and isinstance(duration_ns, int)
        and duration_ns < _MAX_DURATION_NS
        and all(isinstance(item, kinds) for item in launch.arguments)
        and all(0 < item.size_bytes <= MAX_BUFFER_BYTES for item in buffers)
    )


def _by_turns(launches: Sequence[TracedLaunch]) -> Iterator[TracedLaunch]:
    """Yield a launch of each kernel, then a second one of each with another size, and so on."""
    by_kernel: dict[tuple[str, str], dict[object, TracedLaunch]] = {}
    for launch in launches:
        if launch.program is not None:
            key = (launch.kernel, hashlib.sha256(launch.program.source.encode()).hexdigest())
            sizes = (launch.global_size, launch.local_size, tuple(map(_size_of, launch.arguments)))
            by_kernel.setdefault(key, {}).setdefault(sizes, launch)
    queues = [list(kernel.values()) for kernel in by_kernel.values()]
    while queues:
        for queue in queues:
            yield queue.pop(0)
        queues = [queue for queue in queues if queue]


def _size_of(argument: Argument) -> int:
    return argument.size_bytes if isinstance(argument, BufferArgument) else 0


def _job_of_launch(launch: TracedLaunch, set_name: str) -> Job | None:
    """Return the job of a traced launch; None if it cannot be counted, or leaves its buffers."""
    for unknown in (Filled(), Zeros()):
        arguments = tuple(_traced_arguments(launch.arguments, unknown))
        if len(arguments) < len(launch.arguments) or launch.program is None:
            return None
        sizes = "x".join(map(str, launch.global_size))
        job = Job(
            name=f"{set_name} {launch.launch_id}: {launch.kernel} {sizes}",
            set_name=set_name,
            source=launch.program.source,
            options=tuple(_own_options(launch.program.options)),
            headers=launch.program.headers,
            kernel=launch.kernel,
            global_size=launch.global_size,
            local_size=launch.local_size or (),
            arguments=arguments,
        )
        if _stays_in_bounds(job):
            return job
    return None


def _traced_arguments(arguments: Sequence[Argument], unknown: Contents) -> Iterator[JobArgument]:
    """Yield arguments of a job; fewer than there are if one cannot be stored."""
    for argument in arguments:
        match argument:
            case BufferArgument(size_bytes, None):
                yield Buffer(size_bytes, unknown)
            case BufferArgument(size_bytes, contents) if contents is not None:
                if contents.nbytes > _MAX_STORED_BYTES:
                    return
                yield Buffer(size_bytes, Stored(contents.tobytes()))
            case LocalArgument(size_bytes):
                yield Local(size_bytes)
            case StructArgument(data):
                yield Scalar(data)
            case _:
                return


def _own_options(options: Sequence[str]) -> Iterator[str]:
    """Yield build options without the version that the driver defines, and without directories."""
    rest = iter(options)
    for option in rest:
        if option == "-I":
            next(rest, None)
        elif not option.startswith(("-I", "-D__OPENCL_VERSION__")):
            yield option


def _stays_in_bounds(job: Job) -> bool:
    try:
        counts = count(
            parse(job.source, job.options, headers=job.headers),
            job.kernel,
            job.global_size,
            job.local_size,
            list(counted_arguments(job)),
            machine=Machine(),
        )
    except (KernelError, ValueError) as error:
        print(f"{job.name}: {error}", file=sys.stderr)
        return False
    strays = [note for note in counts.notes if "out of bounds" in note]
    if strays:
        print(f"{job.name}: {strays[0]}", file=sys.stderr)
    return not strays
