"""Counting each configuration once.

A configuration is what decides control and addresses: sizes, and the arguments that reach a branch or an
address. A number that only goes into results makes no new one.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.arguments import Argument, BufferArgument, ImageArgument, StructArgument
from cltrace.kernels.compiler import Form
from cltrace.kernels.counts.count import count
from cltrace.kernels.counts.kernel_analysis import analysis_of
from cltrace.kernels.counts.records import KernelCounts
from cltrace.kernels.machine import NVIDIA, Machine
from cltrace.kernels.program import Program

MOST_KEYS: Final = 1_000
"""A kernel with more configurations is sampled: the rest take the counts of one like them."""
_Key = tuple[object, ...]


@dataclass(slots=True)
class _Known:
    """What is known of one kernel: which arguments decide, and its counts by configuration."""

    program: Program
    numbers: frozenset[int]
    contents: frozenset[int]
    counts: dict[_Key, KernelCounts] = field(default_factory=dict)


class Configurations:
    """Counts of launches, each configuration counted once."""

    def __init__(self, machine: Machine = NVIDIA) -> None:
        self._machine = machine
        self._kernels: dict[tuple[int, str], _Known] = {}
        self._digests: dict[int, tuple[NDArray[np.generic], bytes]] = {}

    def count(
        self,
        program: Program,
        kernel: str,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...],
        arguments: Sequence[Argument],
        *,
        global_offset: tuple[int, ...] | None = None,
    ) -> KernelCounts:
        """The counts of a launch. Raises as `cltrace.kernels.count`."""
        known = self._kernels.get((id(program), kernel))
        if known is None:
            known = self._kernels[id(program), kernel] = _known(program, kernel)
        key = (global_size, local_size, global_offset, *self._parts(known, arguments))
        found = known.counts.get(key)
        if found is None:
            if len(known.counts) >= MOST_KEYS:
                return _nearest(known, global_size, local_size)
            found = known.counts[key] = count(
                program,
                kernel,
                global_size,
                local_size,
                arguments,
                global_offset=global_offset,
                machine=self._machine,
            )
        return found

    def _parts(self, known: _Known, arguments: Sequence[Argument]) -> list[object]:
        """What of each argument makes a configuration."""
        parts: list[object] = []
        for index, argument in enumerate(arguments):
            if type(argument) is BufferArgument:
                has_contents = argument.contents is not None
                parts.append((argument.size_bytes, has_contents))
                if argument.contents is not None and index in known.contents:
                    parts.append(self._digest(argument.contents))
            elif isinstance(argument, ImageArgument):
                parts.append((argument.width, argument.height, argument.depth, argument.channels))
            elif isinstance(argument, np.generic | int | float):
                parts.append(argument if index in known.numbers else None)
            elif isinstance(argument, StructArgument):
                decides = index in known.numbers or index in known.contents
                parts.append(argument if decides else None)
            else:
                parts.append(argument)
        return parts

    def _digest(self, contents: NDArray[np.generic]) -> bytes:
        """A digest of an array, worked out once for each object. Its contents are taken not to change."""
        known = self._digests.get(id(contents))
        if known is None or known[0] is not contents:
            raw = np.ascontiguousarray(contents).view(np.uint8)
            known = (contents, hashlib.blake2b(raw.data, digest_size=16).digest())
            self._digests[id(contents)] = known
        return known[1]


def _known(program: Program, kernel: str) -> _Known:
    reaching = analysis_of(program, kernel, Form.OPTIMISED).reaching
    contents = frozenset(root for root in reaching.contents if isinstance(root, int))
    return _Known(program, reaching.parameters, contents)


def _nearest(
    known: _Known, global_size: tuple[int, ...], local_size: tuple[int, ...]
) -> KernelCounts:
    """The counts of a configuration of the same sizes, or of any, which say that they are another's."""
    candidates = list(known.counts.values())
    same = [c for c in candidates if (c.global_size, c.local_size) == (global_size, local_size)]
    found = (same or candidates)[0]
    note = f"counts of another of more than {MOST_KEYS:,} configurations"
    return found if note in found.notes else replace(found, notes=(*found.notes, note))
