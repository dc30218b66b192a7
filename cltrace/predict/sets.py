"""Sets of launches for evaluating accuracy: random kernels, and real kernels of the suite.

A set is generated from its name, seed and size: the same three give the same launches on any machine.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from cltrace.events.workloads import (
    BufferInput,
    Direction,
    HostMemory,
    LaunchBeside,
    Transfer,
    Workload,
)
from cltrace.profile import DeviceFacts
from cltrace.suite.domain_iterations import RESTRICTED, UNRESTRICTED, generate_domain_iterations
from cltrace.suite.evaluation import EVALUATION, Scale
from cltrace.suite.together import EVALUATION as EVALUATION_KERNELS
from cltrace.suite.together import BesideCase, SharedDevice, beside_cases


class SetName(StrEnum):
    """Name of a set of launches."""

    RESTRICTED = "restricted"
    """Random domain iterations of few nodes, without division (Pöppl 2014, section 6.1.1)."""
    UNRESTRICTED = "unrestricted"
    """Random domain iterations of up to 50 nodes."""
    RESTRICTED_SHAPES = "restricted-shapes"
    """As `RESTRICTED`, with random work-group sizes, sides, and buffers larger than what is touched."""
    UNRESTRICTED_SHAPES = "unrestricted-shapes"
    """As `UNRESTRICTED`, in such shapes."""
    SUITE = "suite"
    """Real kernels of the evaluation suite."""
    TRANSFERS = "transfers"
    """Transfers of random sizes, both ways, of all kinds of host memory."""
    TOGETHER = "together"
    """Launches of six kinds alone, and beside one to seven others (Büsser 2018, 5.1)."""


@dataclass(frozen=True, slots=True)
class SetLaunch:
    """A launch of a set. `family` is that of its kernel, which nothing is fitted to."""

    name: str
    family: str
    work: Workload | Transfer | LaunchBeside


MAX_SAMPLES: Final = 100_000
"""Launches of a set: to generate so many takes some 20 s."""
_LARGEST_TRANSFER = 28
"""Exponent of the bytes of the largest transfer."""
_SIZES = tuple(range(11, 27))
"""Exponents of the work-items of random kernels."""
_CPU_SIZES = tuple(range(10, 21))
_GROUPS = (32, 64, 96, 128, 192, 256, 384, 512, 1024)
"""Work-group sizes of launches in random shapes."""
_SIDES = tuple(sorted(factor << exponent for factor in (2, 3) for exponent in range(5, 13)))
"""Heights and widths of launches in random shapes."""
_SPARE = (1.0, 1.0, 1.5, 2.0, 4.0)
"""Sizes of their buffers, relative to what is touched."""
_RULES = {
    SetName.RESTRICTED: RESTRICTED,
    SetName.RESTRICTED_SHAPES: RESTRICTED,
    SetName.UNRESTRICTED: UNRESTRICTED,
    SetName.UNRESTRICTED_SHAPES: UNRESTRICTED,
}
_IN_SHAPES = frozenset({SetName.RESTRICTED_SHAPES, SetName.UNRESTRICTED_SHAPES})
_TOGETHER_COUNTS = (2, 3, 4, 8)
"""Launches at once."""
_KERNEL_LAUNCHES = 4
"""Launches of different sizes per random kernel."""


def launches_of(
    set_name: SetName, samples: int, seed: int, device: DeviceFacts
) -> Sequence[SetLaunch]:
    """Return at most `samples` launches of a set that `device` can run, in random order."""
    if set_name is SetName.TRANSFERS:
        return tuple(_transfers(samples, seed))
    if set_name is SetName.TOGETHER:
        return tuple(_together(samples, seed, device))
    if set_name is SetName.SUITE:
        launches = list(_suite(device))
    else:
        launches = list(islice(_random_kernels(set_name, samples, seed, device), samples))
    random.Random(seed).shuffle(launches)
    return launches[:samples]


def _together(samples: int, seed: int, device: DeviceFacts) -> Iterator[SetLaunch]:
    """Yield each launch alone, and then launches beside others in random order."""
    cases = cases_beside(device)
    beside = [case for case in cases if case.others]
    random.Random(seed).shuffle(beside)
    for case in (*(case for case in cases if not case.others), *beside[:samples]):
        yield SetLaunch(case.name, str(case.threads), case.work)


def cases_beside(device: DeviceFacts) -> Sequence[BesideCase]:
    """Return all cases of `SetName.TOGETHER` on a device; a launch's family is its number of launches."""
    return tuple(beside_cases(SharedDevice.of(device), EVALUATION_KERNELS, _TOGETHER_COUNTS))


def _transfers(samples: int, seed: int) -> Iterator[SetLaunch]:
    """Yield transfers whose sizes are uniform on a logarithmic scale, and no powers of two."""
    chooser = random.Random(seed)
    for number in range(samples):
        memory, direction = chooser.choice(list(HostMemory)), chooser.choice(list(Direction))
        size = int(2 ** chooser.uniform(6, _LARGEST_TRANSFER)) // 4 * 4
        transfer = Transfer(direction, memory, size)
        yield SetLaunch(f"{number}: {size:,} B", f"{memory} {direction}", transfer)


def _random_kernels(
    set_name: SetName, samples: int, seed: int, device: DeviceFacts
) -> Iterator[SetLaunch]:
    """Yield random kernels, each at sizes of its own."""
    chooser = random.Random(seed)
    shapes_of = _random_shapes if set_name in _IN_SHAPES else _usual_shapes
    kernels = generate_domain_iterations(_RULES[set_name], -(-samples // _KERNEL_LAUNCHES), seed)
    for kernel in kernels:
        for shape in shapes_of(chooser, device):
            work = Workload(
                kernel.source,
                kernel.name,
                (shape.items,),
                (shape.group,),
                (BufferInput(shape.buffer_bytes), BufferInput(shape.buffer_bytes)),
                " ".join(kernel.options(shape.height, shape.width)),
            )
            name = f"{kernel.seed:x} {shape.height}x{shape.width}"
            yield SetLaunch(name, f"{kernel.seed:x}", work)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Shape of a domain, its work-groups, and the size of its buffers."""

    height: int
    width: int
    group: int
    spare: float

    @property
    def items(self) -> int:
        return self.height * self.width

    @property
    def buffer_bytes(self) -> int:
        return 4 * int(self.spare * self.items)


def _usual_shapes(chooser: random.Random, device: DeviceFacts) -> Iterator[_Shape]:
    """Yield domains of powers of two in the largest work-groups."""
    exponents = _CPU_SIZES if device.kind == "cpu" else _SIZES
    for exponent in chooser.sample(exponents, _KERNEL_LAUNCHES):
        height, width = 1 << (exponent // 2), 1 << (exponent - exponent // 2)
        yield _Shape(height, width, min(1 << exponent, _largest_group(device)), 1.0)


def _random_shapes(chooser: random.Random, device: DeviceFacts) -> Iterator[_Shape]:
    """Yield domains of random sides in random work-groups, with buffers of random sizes."""
    max_items = 1 << (_CPU_SIZES if device.kind == "cpu" else _SIZES)[-1]
    groups = [group for group in _GROUPS if group <= device.max_group_items]
    for _ in range(_KERNEL_LAUNCHES):
        height = chooser.choice(_SIDES)
        width = chooser.choice([side for side in _SIDES if side * height <= max_items])
        fitting = [group for group in groups if height * width % group == 0]
        yield _Shape(height, width, chooser.choice(fitting), chooser.choice(_SPARE))


def _largest_group(device: DeviceFacts) -> int:
    """Return the largest power of two that fits, as the literature does, up to 1024 work-items."""
    return min(1 << (device.max_group_items.bit_length() - 1), 1024)


def _suite(device: DeviceFacts) -> Iterator[SetLaunch]:
    is_cpu = device.kind == "cpu"
    for exponent in (12, 14, 16, 18) if is_cpu else (14, 16, 18, 20, 21, 22, 24):
        for group in (16, 64) if is_cpu else (64, 128, 256, 512, 1024):
            scale = Scale(exponent, min(group, device.max_group_items))
            for cases_of in EVALUATION.values():
                for case in cases_of(scale):
                    if _fits(case.work, device):
                        name = f"{case.name} 2^{exponent} by {group}"
                        yield SetLaunch(name, case.family, case.work)


def _fits(work: Workload, device: DeviceFacts) -> bool:
    largest = max(buffer.size_bytes for buffer in work.inputs if isinstance(buffer, BufferInput))
    return (
        largest <= device.max_buffer_bytes
        and work.buffer_bytes <= device.global_bytes // 2
        and all(
            size % part == 0 for size, part in zip(work.global_size, work.local_size, strict=True)
        )
    )
