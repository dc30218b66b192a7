"""Counts of workloads: conversion of a suite's workloads to launches."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, ImageInput, LocalInput, Workload
from cltrace.kernels import (
    Argument,
    BufferArgument,
    ImageArgument,
    KernelCounts,
    LocalArgument,
    Machine,
    Program,
    count,
    parse,
)
from cltrace.kernels.compiler import Compiler
from cltrace.kernels.machine import ItemLoops
from cltrace.profile import DeviceFacts

_DEFAULT_CACHE_BYTES: Final = 32 << 20
_LOOP_LANES: Final = 8
"""Lanes that a vectoriser of loops prefers, even where vectors are wider."""
_POCL: Final = "Portable Computing Language"


class WorkloadCounter:
    """Counts of workloads. Parsed programs are cached, as suites reuse them."""

    def __init__(self, device: DeviceFacts) -> None:
        self._machine = machine_of(device)
        self._compiler = Compiler()
        self._programs: dict[tuple[str, str], Program] = {}

    def count(self, work: Workload) -> KernelCounts:
        """Count the work of a workload. Raises: `KernelError` for what cannot be counted."""
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
        program = self._programs.get(key)
        if program is None:
            program = parse(work.source, work.options, compiler=self._compiler)
            self._programs[key] = program
        return program


def machine_of(device: DeviceFacts) -> Machine:
    """Return the machine of a device."""
    if device.kind == "cpu":
        cache_bytes = device.cache_bytes or _DEFAULT_CACHE_BYTES
        loops = ItemLoops.LOOPS if device.platform == _POCL else ItemLoops.LANES
        lanes = device.vector_floats or _LOOP_LANES
        return Machine.of_cpu(
            device.compute_units,
            min(lanes, _LOOP_LANES) if loops is ItemLoops.LOOPS else lanes,
            cache_bytes,
            loops,
        )
    return Machine(compute_units=device.compute_units)


def _arguments(work: Workload) -> Iterator[Argument]:
    for argument in work.inputs:
        match argument:
            case BufferInput(size_bytes, contents):
                array = None if contents is None else np.ascontiguousarray(contents())
                yield BufferArgument(size_bytes, array)
            case ImageInput(width, height, depth, channels, contents):
                texels = None if contents is None else np.ascontiguousarray(contents())
                size = (width, height, max(depth, 1))
                yield ImageArgument(*size, channels=channels, contents=texels)
            case LocalInput(size_bytes):
                yield LocalArgument(size_bytes)
            case _:
                yield argument
