"""Counts of workloads: what `cltrace.kernels` needs, from what a suite describes."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, LocalInput, Workload
from cltrace.kernels import (
    Argument,
    BufferArgument,
    KernelCounts,
    LocalArgument,
    Machine,
    Program,
    count,
    parse,
)
from cltrace.kernels.compiler import Compiler
from cltrace.profile import DeviceFacts

_USUAL_CACHE_BYTES: Final = 32 << 20


class WorkloadCounts:
    """Counts workloads. Programs that were read are kept, as sets use them again and again."""

    def __init__(self, device: DeviceFacts) -> None:
        self._machine = machine_of(device)
        self._compiler = Compiler()
        self._programs: dict[tuple[str, str], Program] = {}

    def count(self, work: Workload) -> KernelCounts:
        """What `work` has to do. Raises: `KernelError` for what cannot be counted."""
        return count(
            self._program(work),
            work.kernel,
            work.global_size,
            work.local_size,
            list(_arguments(work)),
            machine=self._machine,
        )

    def _program(self, work: Workload) -> Program:
        key = (work.source, work.options)
        known = self._programs.get(key)
        if known is None:
            known = parse(work.source, work.options, compiler=self._compiler)
            self._programs[key] = known
        return known


def machine_of(device: DeviceFacts) -> Machine:
    """The shape of a device as far as counts depend on it."""
    if device.kind == "cpu":
        held = device.cache_bytes or _USUAL_CACHE_BYTES
        return Machine.of_cpu(device.compute_units, shared_cache_bytes=held)
    return Machine(compute_units=device.compute_units)


def _arguments(work: Workload) -> Iterator[Argument]:
    for one in work.inputs:
        match one:
            case BufferInput(size_bytes, contents):
                known = None if contents is None else np.ascontiguousarray(contents())
                yield BufferArgument(size_bytes, known)
            case LocalInput(size_bytes):
                yield LocalArgument(size_bytes)
            case _:
                yield one
