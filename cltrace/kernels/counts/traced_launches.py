"""Launches of a trace as input of `count`: programs, sizes, arguments, captured contents."""

import json
import re
import shlex
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.samplers import read_sampler_settings
from cltrace.kernels.arguments import (
    Argument,
    BufferArgument,
    LocalArgument,
    SamplerArgument,
    StructArgument,
)
from cltrace.kernels.counts.traced_contents import CapturedContents, TraceContents
from cltrace.kernels.counts.traced_images import captured_image, image_of_size
from cltrace.kernels.machine import Machine
from cltrace.trace.reader import Trace

_LAUNCHES: Final = """
    SELECT l.launch_id, l.kernel, k.program_id, l.global_size, l.local_size, l.global_offset, c.calls
    FROM v_launch l JOIN v_kernel k USING (kernel_id)
    LEFT JOIN (SELECT launch_id, count(*) AS calls FROM v_command GROUP BY launch_id) c
    ON c.launch_id = l.launch_id WHERE l.arguments_known ORDER BY l.launch_id
"""
_ARGUMENTS: Final = """
    SELECT a.launch_id, a.kind, a.value, a.detail, a.dtype, a.size_bytes, a.offset_bytes,
           m.size_bytes, m.width, m.height, m.depth, a.buffer_id
    FROM v_launch_arg a LEFT JOIN v_buffer m USING (buffer_id) ORDER BY a.launch_id, a.position
"""
_PROGRAMS: Final = """
    SELECT p.program_id, p.source, b.options, d.version FROM v_program p
    LEFT JOIN v_build b USING (program_id) LEFT JOIN v_device d USING (device_id)
    WHERE p.source IS NOT NULL GROUP BY p.program_id
"""
_LINKED_PROGRAMS: Final = """
    SELECT program_id, min(parent_program_id) FROM v_program_parent
    GROUP BY program_id HAVING count(*) = 1 ORDER BY program_id
"""
_VERSION: Final = re.compile(r"OpenCL ([1-9])\.([0-9]) ")
_DEFAULT_LOCAL_SIZES: Final = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}
_USUAL_ITEMS: Final = 256
_MAX_ITEMS: Final = 1024
MAX_CONTENT_BYTES: Final = 1 << 30
"""Limit on the unpacked size of a buffer's captured contents."""


@dataclass(frozen=True, slots=True)
class TracedProgram:
    """A program with its source, from a trace."""

    source: str
    options: tuple[str, ...]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LaterUse:
    """A use of a buffer by a kernel after its contents were captured; None for an unknown program."""

    program: TracedProgram | None
    kernel: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedLaunch:
    """A launch configuration of a trace.

    `launch_id` is its id in the trace, `calls` the number of its launches, `buffers` the ids of the
    memory objects among its arguments. `local_size` is None if the driver chose it. `later_uses` are, by
    argument, the kernels that may have changed its contents since they were captured.
    """

    launch_id: int
    kernel: str
    program: TracedProgram | None
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    global_offset: tuple[int, ...] | None
    arguments: Sequence[Argument]
    calls: int
    buffers: tuple[int, ...] = ()
    later_uses: Mapping[int, tuple[LaterUse, ...]] = field(default_factory=dict)


def traced_launches(trace: Trace) -> Iterator[TracedLaunch]:
    """Yield the launch configurations of a trace with known arguments."""
    programs = _programs(trace)
    reader = _ArgumentReader(trace, programs)
    arguments: dict[int, list[Argument]] = {}
    buffers: dict[int, list[int]] = {}
    later_uses: dict[int, dict[int, tuple[LaterUse, ...]]] = {}
    for launch, *facts in trace.iterate(_ARGUMENTS):
        if not isinstance(launch, int):
            continue
        if isinstance(facts[-1], int):
            buffers.setdefault(launch, []).append(facts[-1])
        launch_arguments = arguments.setdefault(launch, [])
        argument, uses = reader.read(launch, facts)
        if uses:
            later_uses.setdefault(launch, {})[len(launch_arguments)] = uses
        launch_arguments.append(argument)
    for launch, kernel, program, sizes, local, offset, calls in trace.iterate(_LAUNCHES):
        global_size = _sizes(sizes)
        if global_size is not None and 0 < len(global_size) <= 3 and min(global_size) > 0:
            launch_id = _int_or(launch, -1)
            yield TracedLaunch(
                launch_id=launch_id,
                kernel=str(kernel),
                program=programs.get(program),
                global_size=global_size,
                local_size=_sizes(local),
                global_offset=_sizes(offset),
                arguments=arguments.get(launch_id, []),
                calls=_int_or(calls, 0),
                buffers=tuple(dict.fromkeys(buffers.get(launch_id, ()))),
                later_uses=later_uses.get(launch_id, {}),
            )


def usual_local_size(global_size: Sequence[int], machine: Machine) -> tuple[int, ...]:
    """Return the work-group size of a launch without one, which divides the global size.

    NVIDIA's driver takes work-items of the first dimension only: the largest divisor up to 256, or up to
    the largest group if that is less than a warp. Drivers of CPUs differ; theirs is a common size.
    """
    if not machine.has_item_loops:
        length = global_size[0]
        usual = _largest_divisor(length, _USUAL_ITEMS)
        if usual < machine.warp_width:
            usual = _largest_divisor(length, _MAX_ITEMS)
        return (usual, *(1 for _ in global_size[1:]))
    return tuple(
        _largest_divisor(size, max_size)
        for max_size, size in zip(_DEFAULT_LOCAL_SIZES[len(global_size)], global_size, strict=True)
    )


def _largest_divisor(size: int, limit: int) -> int:
    return next(divisor for divisor in range(min(limit, size), 0, -1) if size % divisor == 0)


def _programs(trace: Trace) -> Mapping[int, TracedProgram]:
    headers: dict[int, dict[str, str]] = {}
    for program, name, text in trace.iterate("SELECT program_id, name, text FROM v_include"):
        if text is not None and isinstance(program, int):
            headers.setdefault(program, {})[str(name)] = str(text)
    programs = {
        program: TracedProgram(
            str(source),
            (*_define_version(version), *_split_options(options)),
            headers.get(program, {}),
        )
        for program, source, options, version in trace.iterate(_PROGRAMS)
        if isinstance(program, int)
    }
    # A program is linked from older ones, whose numbers are lower.
    for program, parent in trace.iterate(_LINKED_PROGRAMS):
        if isinstance(program, int) and parent in programs:
            programs[program] = programs[parent]
    return programs


def _define_version(text: object) -> tuple[str, ...]:
    """Return the option that defines a device's OpenCL version, as its own compiler does."""
    version = _VERSION.match(str(text))
    if version is None:
        return ()
    return (f"-D__OPENCL_VERSION__={100 * int(version[1]) + 10 * int(version[2])}",)


def _split_options(options: object) -> tuple[str, ...]:
    text = str(options or "")
    with suppress(ValueError):
        return tuple(shlex.split(text))
    return tuple(text.split())


def _sizes(text: object) -> tuple[int, ...] | None:
    """Parse a JSON array of sizes."""
    if text is None:
        return None
    with suppress(ValueError, TypeError):
        return tuple(int(size) for size in json.loads(str(text)))
    return None


class _ArgumentReader:
    """Reader of the arguments of launches, with the contents that were captured of them."""

    def __init__(self, trace: Trace, programs: Mapping[int, TracedProgram]) -> None:
        self._contents = TraceContents(trace)
        self._programs = programs
        self._raw: dict[int, tuple[bytes, NDArray[np.uint8] | None]] = {}
        """The contents by the object that has them compressed, each decompressed once."""

    def read(self, launch: int, facts: Sequence[object]) -> tuple[Argument, tuple[LaterUse, ...]]:
        """Return an argument, and what may have changed its contents since they were captured."""
        kind, value, detail, dtype, size, offset, memory, width, height, depth, buffer = facts
        captured = self._contents.of(launch, buffer) if isinstance(buffer, int) else None
        raw = None if captured is None else self._decompressed(captured.deflated)
        argument: Argument
        match kind:
            case "buffer" | "svm":
                begin = _int_or(offset, 0)
                contents = raw if raw is None or not begin else raw[begin:]
                argument = BufferArgument(max(_int_or(memory, 0) - begin, 0), contents)
            case "image":
                sides = (_int_or(width, 1), _int_or(height, 1) or 1, _int_or(depth, 1) or 1)
                image = None if raw is None else captured_image(raw.tobytes())
                argument = image or image_of_size(sides, _int_or(memory, 0))
            case "local":
                argument = LocalArgument(_int_or(size, 0))
            case "sampler":
                argument = _sampler(str(detail))
            case "scalar":
                argument = _scalar(value, detail, dtype)
            case _:
                argument = None
        return argument, () if captured is None or raw is None else self._later_uses(captured)

    def _decompressed(self, deflated: bytes) -> NDArray[np.uint8] | None:
        """Return contents; None if they are corrupt."""
        if id(deflated) not in self._raw:
            raw = None
            with suppress(zlib.error):
                unpacked = zlib.decompressobj().decompress(deflated, MAX_CONTENT_BYTES)
                raw = np.frombuffer(unpacked, np.uint8)
            self._raw[id(deflated)] = deflated, raw
        return self._raw[id(deflated)][1]

    def _later_uses(self, captured: CapturedContents) -> tuple[LaterUse, ...]:
        return tuple(
            LaterUse(self._programs.get(use.program), use.kernel, use.position)
            for use in captured.later_uses
        )


def _sampler(detail: str) -> SamplerArgument:
    """Return a sampler; the one of images without a sampler if its settings are not known."""
    settings = read_sampler_settings(detail)
    if settings is None:
        return SamplerArgument()
    return SamplerArgument(settings.normalised, settings.addressing, settings.linear)


def _int_or(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


def _scalar(value: object, detail: object, dtype: object) -> Argument:
    """Return a number.

    The result has the bytes as passed, or is a Python number, which takes the type of the parameter.
    """
    if isinstance(value, bytes):
        if dtype == "int" and len(value) == 8:
            return int.from_bytes(value, "little", signed=True)
        if dtype == "float" and len(value) == 8:
            return float(np.frombuffer(value, np.float64)[0])
        return StructArgument(value)
    with suppress(ValueError, TypeError):
        return int(str(detail), 0)
    return None
