"""Sets of launches for evaluating accuracy: random kernels, and real kernels of the suite.

A set is generated from its name, seed and size: the same three give the same launches on any machine.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from cltrace.events.workloads import BufferInput, Direction, HostMemory, Transfer, Workload
from cltrace.profile import DeviceFacts
from cltrace.suite.domain_iterations import RESTRICTED, UNRESTRICTED, generate_domain_iterations
from cltrace.suite.evaluation import EVALUATION, Scale


class SetName(StrEnum):
    """Name of a set of launches."""

    RESTRICTED = "restricted"
    """Random domain iterations of few nodes, without division (Pöppl 2014, section 6.1.1)."""
    UNRESTRICTED = "unrestricted"
    """Random domain iterations of up to 50 nodes."""
    SUITE = "suite"
    """Real kernels of the evaluation suite."""
    TRANSFERS = "transfers"
    """Transfers of random sizes, both ways, of all kinds of host memory."""


@dataclass(frozen=True, slots=True)
class SetLaunch:
    """A launch of a set. `family` is that of its kernel, which nothing is fitted to."""

    name: str
    family: str
    work: Workload | Transfer


_LARGEST_TRANSFER = 28
"""Exponent of the bytes of the largest transfer."""
_SIZES = tuple(range(11, 27))
"""Exponents of the work-items of random kernels."""
_CPU_SIZES = tuple(range(10, 21))
_KERNEL_LAUNCHES = 4
"""Launches of different sizes per random kernel."""


def launches_of(
    set_name: SetName, samples: int, seed: int, device: DeviceFacts
) -> Sequence[SetLaunch]:
    """Return at most `samples` launches of a set that `device` can run, in random order."""
    if set_name is SetName.TRANSFERS:
        return tuple(_transfers(samples, seed))
    if set_name is SetName.SUITE:
        launches = list(_suite(device))
    else:
        launches = list(islice(_random_kernels(set_name, samples, seed, device), samples))
    random.Random(seed).shuffle(launches)
    return launches[:samples]


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
    rules = RESTRICTED if set_name is SetName.RESTRICTED else UNRESTRICTED
    chooser = random.Random(seed)
    exponents = _CPU_SIZES if device.kind == "cpu" else _SIZES
    kernels = generate_domain_iterations(rules, -(-samples // _KERNEL_LAUNCHES), seed)
    for kernel in kernels:
        for exponent in chooser.sample(exponents, _KERNEL_LAUNCHES):
            items = 1 << exponent
            height, width = 1 << (exponent // 2), 1 << (exponent - exponent // 2)
            group = min(items, _largest_group(device))
            buffer = BufferInput(4 * items)
            work = Workload(
                kernel.source,
                kernel.name,
                (items,),
                (group,),
                (buffer, buffer),
                " ".join(kernel.options(height, width)),
            )
            yield SetLaunch(f"{kernel.seed:x} {height}x{width}", f"{kernel.seed:x}", work)


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
