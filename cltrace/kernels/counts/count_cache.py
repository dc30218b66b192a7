"""Cache of counts, one entry per launch configuration.

A configuration consists of the sizes and the arguments that reach a branch or an address. A number
that only affects results makes no new configuration.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.arguments import Argument, BufferArgument, ImageArgument, StructArgument
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.count import count
from cltrace.kernels.counts.kernel_analysis import analyse_kernel
from cltrace.kernels.counts.records import KernelCounts
from cltrace.kernels.flow.dependencies import SliceInputs
from cltrace.kernels.machine import NVIDIA, Machine
from cltrace.kernels.program import Program

MAX_KEYS: Final = 1_000
"""Limit on the configurations per kernel; further launches reuse the counts of a similar one."""
Key = tuple[object, ...]
"""A launch configuration of a kernel."""


class ConfigurationKeys:
    """Keys of the launch configurations of a kernel with `inputs`."""

    def __init__(self, inputs: SliceInputs) -> None:
        self._numbers = inputs.parameters
        self._contents = frozenset(root for root in inputs.contents if isinstance(root, int))
        self._digests: dict[int, tuple[NDArray[np.generic], bytes]] = {}

    def key(
        self,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...],
        global_offset: tuple[int, ...] | None,
        arguments: Sequence[Argument],
    ) -> Key:
        """Return the key of a launch."""
        return (global_size, local_size, global_offset, *self._parts(arguments))

    def _parts(self, arguments: Sequence[Argument]) -> list[object]:
        """Return the parts of the arguments that belong to the configuration."""
        parts: list[object] = []
        for index, argument in enumerate(arguments):
            if type(argument) is BufferArgument:
                has_contents = argument.contents is not None
                parts.append((argument.size_bytes, has_contents))
                if argument.contents is not None and index in self._contents:
                    parts.append(self._digest(argument.contents))
            elif isinstance(argument, ImageArgument):
                parts.append((argument.width, argument.height, argument.depth, argument.channels))
            elif isinstance(argument, np.generic | int | float):
                parts.append(argument if index in self._numbers else None)
            elif isinstance(argument, StructArgument):
                decides = index in self._numbers or index in self._contents
                parts.append(argument if decides else None)
            else:
                parts.append(argument)
        return parts

    def _digest(self, contents: NDArray[np.generic]) -> bytes:
        """Return a digest of an array, computed once per object. Its contents must not change."""
        cached = self._digests.get(id(contents))
        if cached is None or cached[0] is not contents:
            raw = np.ascontiguousarray(contents).view(np.uint8)
            cached = (contents, hashlib.blake2b(raw.data, digest_size=16).digest())
            self._digests[id(contents)] = cached
        return cached[1]


@dataclass(slots=True)
class _CachedKernel:
    """The counts of a kernel by configuration."""

    program: Program
    keys: ConfigurationKeys
    counts: dict[Key, KernelCounts] = field(default_factory=dict)


class CountCache:
    """Counts of launches, computed once per configuration."""

    def __init__(self, machine: Machine = NVIDIA) -> None:
        self._machine = machine
        self._kernels: dict[tuple[int, str], _CachedKernel] = {}

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
        """Return the counts of a launch. Raises as `cltrace.kernels.count`."""
        cached_kernel = self._kernels.get((id(program), kernel))
        if cached_kernel is None:
            inputs = analyse_kernel(program, kernel, CodeForm.OPTIMISED).slice_inputs
            cached_kernel = _CachedKernel(program, ConfigurationKeys(inputs))
            self._kernels[id(program), kernel] = cached_kernel
        key = cached_kernel.keys.key(global_size, local_size, global_offset, arguments)
        counts = cached_kernel.counts.get(key)
        if counts is None:
            if len(cached_kernel.counts) >= MAX_KEYS:
                return find_similar(cached_kernel.counts, global_size, local_size)
            counts = cached_kernel.counts[key] = count(
                program,
                kernel,
                global_size,
                local_size,
                arguments,
                global_offset=global_offset,
                machine=self._machine,
            )
        return counts


def find_similar(
    counted: Mapping[Key, KernelCounts], global_size: tuple[int, ...], local_size: tuple[int, ...]
) -> KernelCounts:
    """Return the counts of a configuration of the same sizes, or of any, with a note."""
    candidates = list(counted.values())
    same = [
        candidate
        for candidate in candidates
        if (candidate.global_size, candidate.local_size) == (global_size, local_size)
    ]
    counts = (same or candidates)[0]
    note = f"counts of another of more than {MAX_KEYS:,} configurations"
    return counts if note in counts.notes else replace(counts, notes=(*counts.notes, note))
