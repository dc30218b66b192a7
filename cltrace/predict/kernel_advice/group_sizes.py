"""Rule about work-group sizes that are slower than others would be."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.traced_launches import TracedLaunch
from cltrace.predict.kernel_advice.model import Improvement, Variant
from cltrace.timeline.advice.model import Remedy, typical_count

_SIZES: Final = {
    1: ((32,), (64,), (128,), (256,)),
    2: ((32, 1), (32, 2), (32, 8), (64, 4), (16, 16)),
    3: ((32, 1, 1), (32, 4, 2), (64, 2, 2)),
}
"""Sizes of groups to compare with, by dimensions: those that most kernels are fast with."""
_DEPENDS: Final = re.compile(
    r"\b(?:get_local_|get_group_id|get_num_groups|get_enqueued_|reqd_work_group_size|barrier"
    r"|work_group_|sub_group|local\b|__local\b)"
)


def slow_group_sizes(launch: TracedLaunch, counts: KernelCounts) -> Sequence[Variant]:
    """Count a launch with other work-group sizes, of kernels that do not know their groups."""
    program, own = launch.program, launch.local_size
    if program is None or own is None or counts.barriers or counts.local_bytes:
        return ()
    if _DEPENDS.search(program.source):
        return ()
    return [
        Variant(
            replace(launch, local_size=size),
            partial(_describe, own, size),
            has_other_groups=True,
        )
        for size in _SIZES[len(own)]
        if size != own and _divides(size, launch.global_size)
    ]


def _divides(local_size: tuple[int, ...], global_size: tuple[int, ...]) -> bool:
    return all(whole % part == 0 for whole, part in zip(global_size, local_size, strict=True))


def _describe(
    own: tuple[int, ...], size: tuple[int, ...], before: KernelCounts, after: KernelCounts
) -> Improvement:
    return Improvement(
        rule="group-size",
        title=f"{before.kernel}: work-groups of another size are faster",
        line="",
        metrics=(
            typical_count("work-items of a group", prod(own)),
            typical_count("work-items of the faster one", prod(size)),
        ),
        remedy=Remedy(
            f"Launch work-groups of {_text(size)} instead of {_text(own)}.",
            f"kernel(queue, size, {_text(own)}, x)",
            f"kernel(queue, size, {_text(size)}, x)",
        ),
        counts=after,
    )


def _text(size: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, size))}{',' if len(size) == 1 else ''})"
