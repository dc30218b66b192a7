"""What accuracy is evaluated on: launches of random kernels, and of the suite's real ones.

A set is made anew from its name, seed and size, on any machine; the same words make the same launches.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from cltrace.events.workloads import BufferInput, Direction, HostMemory, Transfer, Workload
from cltrace.profile import DeviceFacts
from cltrace.suite.domain_iterations import RESTRICTED, UNRESTRICTED, domain_iterations
from cltrace.suite.evaluation import EVALUATION, Scale


class SetName(StrEnum):
    """The sets of launches."""

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
    """A launch of a set. `family` is that of its kernel: what is learned is never learned from it."""

    name: str
    family: str
    work: Workload | Transfer


_LARGEST_TRANSFER = 28
"""The exponent of the largest transfer's bytes."""
_SIZES = tuple(range(11, 27))
"""Exponents of the numbers of work-items of random kernels."""
_SIZES_OF_CPU = tuple(range(10, 21))
_LAUNCHES_OF_KERNEL = 4
"""How many launches of different sizes a random kernel has."""


def launches_of(
    wanted: SetName, samples: int, seed: int, device: DeviceFacts
) -> Sequence[SetLaunch]:
    """About `samples` launches of a set that `device` can run, in an order without a pattern."""
    if wanted is SetName.TRANSFERS:
        return tuple(_transfers(samples, seed))
    if wanted is SetName.SUITE:
        launches = list(_suite(device))
    else:
        launches = list(islice(_random(wanted, samples, seed, device), samples))
    random.Random(seed).shuffle(launches)
    return launches[:samples]


def _transfers(samples: int, seed: int) -> Iterator[SetLaunch]:
    """Transfers of sizes that are no powers of two, evenly spread over their exponents."""
    chooser = random.Random(seed)
    for number in range(samples):
        memory, direction = chooser.choice(list(HostMemory)), chooser.choice(list(Direction))
        size = int(2 ** chooser.uniform(6, _LARGEST_TRANSFER)) // 4 * 4
        transfer = Transfer(direction, memory, size)
        yield SetLaunch(f"{number}: {size:,} B", f"{memory} {direction}", transfer)


def _random(wanted: SetName, samples: int, seed: int, device: DeviceFacts) -> Iterator[SetLaunch]:
    """Random kernels, each at sizes of its own."""
    rules = RESTRICTED if wanted is SetName.RESTRICTED else UNRESTRICTED
    chooser = random.Random(seed)
    exponents = _SIZES_OF_CPU if device.kind == "cpu" else _SIZES
    kernels = domain_iterations(rules, -(-samples // _LAUNCHES_OF_KERNEL), seed)
    for kernel in kernels:
        for exponent in chooser.sample(exponents, _LAUNCHES_OF_KERNEL):
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
    """The largest power of two that fits, as the literature chooses it, but no more than is usual."""
    return min(1 << (device.most_group_items.bit_length() - 1), 1024)


def _suite(device: DeviceFacts) -> Iterator[SetLaunch]:
    is_cpu = device.kind == "cpu"
    for exponent in (12, 14, 16, 18) if is_cpu else (14, 16, 18, 20, 21, 22, 24):
        for group in (16, 64) if is_cpu else (64, 128, 256, 512, 1024):
            scale = Scale(exponent, min(group, device.most_group_items))
            for make in EVALUATION.values():
                for case in make(scale):
                    if _fits(case.work, device):
                        name = f"{case.name} 2^{exponent} by {group}"
                        yield SetLaunch(name, case.family, case.work)


def _fits(work: Workload, device: DeviceFacts) -> bool:
    largest = max(one.size_bytes for one in work.inputs if isinstance(one, BufferInput))
    return (
        largest <= device.most_buffer_bytes
        and work.buffer_bytes <= device.global_bytes // 2
        and all(
            size % part == 0 for size, part in zip(work.global_size, work.local_size, strict=True)
        )
    )
