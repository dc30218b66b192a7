"""Conversion of the PTX of NVIDIA's OpenCL driver to a module that its CUDA driver loads.

The instructions stay as they are, so the assembler allocates the same registers:

- Texture mode: `texmode_independent` is removed, which CUDA does not accept.
- Launch environment: OpenCL keeps group offsets, global offsets, numbers of work-groups and the number of
  dimensions in `%envreg0` to `%envreg9`. Offsets and dimensions become parameters with unknown values,
  numbers of groups the registers that CUDA has for them.
- Local memory: a `__local` parameter becomes an address in the launch's dynamic shared memory.
- Constant memory: a `__constant` parameter becomes a variable of the module.
- Names: the kernel gets a name of its own, by which a profiler's rows are found again. The other
  kernels of the program are removed, as they may not load.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.counter_jobs import Buffer, Job, Local

SHARED_NAME: Final = "cltrace_shared"
_ZERO_NAME: Final = "cltrace_zero"
_DIMENSIONS_NAME: Final = "cltrace_dimensions"
_ALIGNMENT: Final = 128
MAX_CONSTANT_BYTES: Final = 60 << 10
"""Limit on the constant memory of a module, some of which the driver needs."""
_TARGET: Final = re.compile(r"^(\.target\s+\S+?),\s*texmode_independent", re.MULTILINE)
_ENTRY: Final = re.compile(r"^[ \t]*(?:\.(?:visible|weak)\s+)?\.entry\s+([\w$]+)", re.MULTILINE)
_PARAMETER: Final = re.compile(
    r"\.param\s+(?P<type>(?:\.align\s+\d+\s+)?\.\w+)"
    r"(?P<pointer>\s+\.ptr(?:\s+\.(?P<space>\w+))?(?:\s+\.align\s+\d+)?)?\s+(?P<name>[\w$]+)"
)
_ENVIRONMENT: Final = re.compile(r"mov\.[bu]32(\s+%\w+),\s*%envreg(\d+);")
_TEXTURES: Final = re.compile(r"\.(?:texref|samplerref|surfref)\b")


class PtxError(Exception):
    """PTX that cannot be converted. The message is the reason."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module for CUDA with one kernel.

    The kernel's parameters are those of the OpenCL kernel, then the values of `extra`, 32 bits each.
    `constants` are the variables to fill, by the position of the argument. `parameters` are the types.
    """

    text: str
    kernel: str
    shared_bytes: int
    constants: Mapping[int, str]
    extra: tuple[int, ...]
    parameters: tuple[str, ...]


def convert(ptx: str, job: Job, kernel: str) -> Module:
    """Return the module of a job's kernel, renamed to `kernel`. Raises: `PtxError`."""
    text = _TARGET.sub(r"\1", ptx.rstrip("\0"))
    before, entry, after = _isolate(text, job.kernel)
    if _TEXTURES.search(entry):
        raise PtxError("it reads images")
    head, opening, body = _parts(entry)
    parameters = list(_PARAMETER.finditer(head))
    if len(parameters) != len(job.arguments):
        raise PtxError(f"PTX has {len(parameters)} parameters, not {len(job.arguments)}")
    spaces = {match["name"]: match["space"] for match in parameters}
    declared, shared_bytes, constants = _memory(job, parameters)
    for position, match in enumerate(parameters):
        name = constants.get(position)
        if match["space"] == "shared":
            offset = _offsets(job)[position]
            body = _replace_loads(body, match["name"], SHARED_NAME, offset)
        elif name is not None:
            body = _replace_loads(body, match["name"], name, 0)
    head = _PARAMETER.sub(lambda match: _declaration(match, spaces), head)
    head = re.sub(
        rf"(\.entry\s+){re.escape(job.kernel)}(?![\w$])", rf"\g<1>{kernel}", head, count=1
    )
    head, extra = _append_parameters(head, len(job.global_size), has_others=bool(parameters))
    converted = "".join((before, declared, head, opening, _environment(body), after))
    types = tuple(re.sub(r"\s+", " ", match["type"]) for match in parameters)
    return Module(converted, kernel, shared_bytes, constants, extra, types)


def without_spaces(module: Module) -> Module:
    """Return the module without the address spaces of its parameters, which some drivers refuse."""
    text = re.sub(
        r"(\.param\s+\.\w+)\s+\.ptr(?:\s+\.\w+)?(?:\s+\.align\s+\d+)?", r"\1", module.text
    )
    return Module(
        text,
        module.kernel,
        module.shared_bytes,
        module.constants,
        module.extra,
        module.parameters,
    )


def _isolate(text: str, kernel: str) -> tuple[str, str, str]:
    """Return a kernel, what precedes it and what follows it, both without the other kernels."""
    kept, entry, before, end = [], "", "", 0
    for start, stop, name in _entries(text):
        kept.append(text[end:start])
        end = stop
        if name == kernel:
            before, entry, kept = "".join(kept), text[start:stop], []
    if not entry:
        raise PtxError(f"PTX has no kernel {kernel}")
    kept.append(text[end:])
    return before, entry, "".join(kept)


def _entries(text: str) -> Sequence[tuple[int, int, str]]:
    """Return start, end and name of each kernel with a body."""
    found = []
    for match in _ENTRY.finditer(text):
        opening = text.find("{", match.end())
        depth = 0
        for brace in re.finditer(r"[{}]", text[opening:]):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                found.append((match.start(), opening + brace.end(), match[1]))
                break
    return found


def _parts(entry: str) -> tuple[str, str, str]:
    """Return name and parameters of a kernel, what stands before its body, and the body."""
    opening = entry.index("{")
    closing = entry.rfind(")", 0, opening)
    return entry[: closing + 1], entry[closing + 1 : opening], entry[opening:]


def _offsets(job: Job) -> Mapping[int, int]:
    """Return the place of each local argument in the dynamic shared memory."""
    offsets, end = {}, 0
    for position, argument in enumerate(job.arguments):
        if isinstance(argument, Local):
            offsets[position] = end
            end += -(-argument.size_bytes // _ALIGNMENT) * _ALIGNMENT
    return offsets


def _memory(job: Job, parameters: Sequence[re.Match[str]]) -> tuple[str, int, Mapping[int, str]]:
    """Return declarations of shared and constant memory, its bytes, and names by position."""
    lines, constants, constant_bytes, shared_bytes = [], {}, 0, 0
    for position, (match, argument) in enumerate(zip(parameters, job.arguments, strict=True)):
        if (match["space"] == "shared") != isinstance(argument, Local):
            raise PtxError(f"PTX and arguments differ at position {position}")
        if match["space"] == "const" and isinstance(argument, Buffer):
            constants[position] = f"cltrace_constant_{position}"
            constant_bytes += argument.size_bytes
            lines.append(f".const .align 16 .b8 {constants[position]}[{argument.size_bytes}];")
        if isinstance(argument, Local):
            shared_bytes = _offsets(job)[position] + argument.size_bytes
    if constant_bytes > MAX_CONSTANT_BYTES:
        raise PtxError(f"{constant_bytes:,} B of constant arguments")
    if shared_bytes:
        lines.append(f".extern .shared .align {_ALIGNMENT} .b8 {SHARED_NAME}[];")
    return "".join(f"{line}\n" for line in lines), shared_bytes, constants


def _replace_loads(body: str, parameter: str, variable: str, offset: int) -> str:
    """Replace each load of a parameter by the address of a variable."""
    load = re.compile(rf"ld\.param\.([bsu])(32|64)(\s+)(%\w+),\s*\[{re.escape(parameter)}\];")
    plus = f"+{offset}" if offset else ""
    body = load.sub(rf"mov.u\2\3\4, {variable}{plus};", body)
    if re.search(rf"\b{re.escape(parameter)}\b", body):
        raise PtxError(f"{parameter} is read in an unknown way")
    return body


def _declaration(match: re.Match[str], spaces: Mapping[str, str | None]) -> str:
    """Return a parameter's declaration. Pointers to shared and constant memory become numbers."""
    if spaces[match["name"]] in {"shared", "const"}:
        return f".param {match['type']} {match['name']}"
    return match[0]


def _append_parameters(
    head: str, dimensions: int, *, has_others: bool
) -> tuple[str, tuple[int, ...]]:
    """Return a kernel's head with parameters for the launch environment, and their values."""
    if not has_others and "(" not in head:
        raise PtxError("a kernel without parameters")
    separator = "," if has_others else ""
    added = f"{separator}\n\t.param .u32 {_ZERO_NAME},\n\t.param .u32 {_DIMENSIONS_NAME}\n)"
    return head[: head.rindex(")")].rstrip() + added, (0, dimensions)


def _environment(body: str) -> str:
    """Replace the registers of OpenCL's launch environment."""

    def replaced(match: re.Match[str]) -> str:
        target, number = match[1], int(match[2])
        if number < 6:
            return f"ld.param.u32{target}, [{_ZERO_NAME}];"
        if number < 9:
            return f"mov.u32{target}, %nctaid.{'xyz'[number - 6]};"
        if number == 9:
            return f"ld.param.u32{target}, [{_DIMENSIONS_NAME}];"
        raise PtxError(f"it reads %envreg{number}")

    body = _ENVIRONMENT.sub(replaced, body)
    if "%envreg" in body:
        raise PtxError("it reads the launch environment in an unknown way")
    return body
