"""Programs and kernel objects: creation, build, compilation and linking."""

import struct
from typing import Any, Final

import pyopencl as cl
from pyopencl import _cl

from benchmarks.programs.cases.case import INVOKER, Case, Loop, entry_point, repeat
from benchmarks.programs.cases.environment import Environment

_SOURCE: Final = "kernel void first(global int *a) { a[0] = 1; }"

_SPIRV: Final = struct.pack(
    "<14I",
    *(0x07230203, 0x00010000, 0, 1, 0),  # magic number, version 1.0, generator, bound, schema
    *(2 << 16 | 17, 4),  # OpCapability Addresses
    *(2 << 16 | 17, 5),  # OpCapability Linkage
    *(2 << 16 | 17, 6),  # OpCapability Kernel
    *(3 << 16 | 14, 2, 2),  # OpMemoryModel Physical64 OpenCL
)
"""Module without kernels in SPIR-V."""


def _untyped() -> Any:
    """Return pyopencl, whose stubs lack the types of some functions."""
    return cl


def _create(environment: Environment) -> Loop:
    context = environment.context
    # `Program` itself waits for its build before it creates the program.
    return repeat(lambda: _cl._Program(context, _SOURCE))  # noqa: SLF001


def _create_from_binary(environment: Environment) -> Loop:
    context, devices = environment.context, [environment.device]
    binaries = cl.Program(context, _SOURCE).build().binaries
    return repeat(lambda: cl.Program(context, devices, binaries))


def _build_from_binary(environment: Environment) -> Loop:
    context, devices = environment.context, [environment.device]
    binaries = cl.Program(context, _SOURCE).build().binaries
    return repeat(lambda: cl.Program(context, devices, binaries).build())


def _build_cached(environment: Environment) -> Loop:
    context = environment.context
    return repeat(lambda: cl.Program(context, _SOURCE).build())


def _build(environment: Environment) -> Loop:
    context = environment.context
    no_cache: Any = False
    return repeat(lambda: cl.Program(context, _SOURCE).build(cache_dir=no_cache))


def _compile(environment: Environment) -> Loop:
    context = environment.context
    return repeat(lambda: cl.Program(context, _SOURCE).compile())


def _link(environment: Environment) -> Loop:
    context = environment.context
    programs, module = [cl.Program(context, _SOURCE).compile()], _untyped()
    return repeat(lambda: module.link_program(context, programs))


def _built_in_kernels(environment: Environment) -> Loop:
    names = environment.device.built_in_kernels
    environment.require(names, "the device has no built-in kernels")
    context, devices = environment.context, [environment.device]
    name, module = names.split(";")[0], _untyped()
    return repeat(lambda: module.create_program_with_built_in_kernels(context, devices, name))


def _intermediate_language(environment: Environment) -> Loop:
    try:
        versions: Any = environment.device.il_version
    except cl.Error:
        versions = ""
    environment.require("SPIR-V" in versions, "the device takes no SPIR-V")
    context = environment.context
    return repeat(lambda: cl.Program(context, _SPIRV))


def _kernel(environment: Environment) -> Loop:
    program = environment.program
    return repeat(lambda: cl.Kernel(program, "buffers_1"))


def _kernel_by_name(environment: Environment) -> Loop:
    program = environment.program
    return repeat(lambda: program.buffers_1)


def _all_kernels(environment: Environment) -> Loop:
    program = environment.program
    return repeat(lambda: program.all_kernels())


def _kernel_with_types(environment: Environment) -> Loop:
    program = environment.program

    def call() -> None:
        cl.Kernel(program, "buffers_1").set_scalar_arg_dtypes([None])

    return repeat(call)


_PROGRAM: Final = "_Program.__init__"
_BUILD: Final = "_Program._build"
_KERNEL: Final = "Kernel.__init__"

CASES: Final = (
    Case("a program from its source", _create, (_PROGRAM,), calls=200),
    Case("build", _build_cached, (_PROGRAM, _BUILD), calls=5),
    Case("build, without pyopencl's cache", _build, (_PROGRAM, _BUILD), calls=3),
    Case("a program from a binary", _create_from_binary, (_PROGRAM,), calls=20),
    Case("build, from a binary", _build_from_binary, (_PROGRAM, _BUILD), calls=5),
    Case("compile", _compile, (_PROGRAM, "_Program.compile"), calls=3),
    Case("link_program", _link, ("_Program.link",), calls=3),
    Case(
        "a program of built-in kernels",
        _built_in_kernels,
        ("_Program.create_with_built_in_kernels",),
        calls=20,
    ),
    Case(
        "a program from SPIR-V",
        _intermediate_language,
        entry_point("_create_program_with_il"),
        calls=20,
    ),
    Case("Kernel()", _kernel, (_KERNEL,), calls=200),
    Case("prg.kernel", _kernel_by_name, (_KERNEL,), calls=200),
    Case("Program.all_kernels", _all_kernels, ("_Program.all_kernels",), calls=50),
    Case("Kernel() with declared types", _kernel_with_types, (_KERNEL, *INVOKER), calls=50),
)
