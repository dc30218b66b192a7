"""Probes of arithmetic: throughput, dependent chains, and the measurements of the literature."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.cost_names import CostName
from cltrace.events.workloads import BufferInput, Workload, WorkloadInput
from cltrace.suite.calibration.probes import Effort, Probe, ProbeLimits, powers

_ELEMENT: Final = """
__kernel void element(__global const {type} *in, __global {type} *out, {type} f) {{
    size_t i = get_global_id(0);
    out[i] = in[i]{does};
}}
"""
_CHAIN: Final = """
__kernel void chain(__global {type} *out, {type} f, {type} g, int trips) {{
    {type} {names};
    {starts}
    for (int t = 0; t < trips; ++t) {{
{body}
    }}
    out[get_global_id(0)] = {total};
}}
"""
_SEVERAL: Final = """
__kernel void several(__global {type} *out, {type} f, {type} g) {{
    {type} v = ({type})get_global_id(0);
    {body}
    out[get_global_id(0)] = v;
}}
"""
_PRODUCT_OF_INTS: Final = "v = v + (long)((ulong)(uint)v * (ulong)(uint)f)"
"""The summand is no constant: a compiler adds the halves of one apart from the product."""
_MIXTURE: Final = """
__kernel void mixture(__global float *out, {one} f0, {one} g0, {other} f1, {other} g1, int trips) {{
    {one} {ones};
    {other} {others};
    {starts}
    for (int t = 0; t < trips; ++t) {{
{body}
    }}
    out[get_global_id(0)] = {total};
}}
"""
_MIXED: Final = (
    ("float add", "int logic"),
    ("float multiply-add", "int logic"),
    ("float multiply", "int multiply"),
    ("float multiply-add", "long multiply-add of ints"),
    ("float add", "float native_rsqrt"),
    ("float multiply-add", "double multiply-add"),
    ("int multiply", "int logic"),
    ("long multiply-add of ints", "int logic"),
    ("double multiply-add", "int logic"),
    ("double multiply-add", "int multiply"),
    ("float native_rsqrt", "int logic"),
    ("float native_rsqrt", "int multiply"),
)
"""Names of pairs of operations of different pipes."""
_NUMBERS: Final[dict[str, Callable[[int], np.generic]]] = {
    "float": np.float32,
    "double": np.float64,
    "int": np.int32,
    "long": np.int64,
}
_REPEATS: Final = 16
"""Times that an operation stands in a trip, so that the loop's own work is small beside it."""
_ELEMENTARY: Final = {"+": " + f", "-": " - f", "*": " * f", "/": " / f", "copy": ""}


@dataclass(frozen=True, slots=True)
class _Operation:
    """An operation by the name of its cost. `text` is the statement that applies it to the value `v`."""

    name: CostName
    text: str


def _operations(limits: ProbeLimits) -> Iterator[_Operation]:
    for kind in ("float", *(["double"] if limits.has_double else [])):
        yield _Operation(CostName(kind, "add"), "v = v + f")
        yield _Operation(CostName(kind, "multiply"), "v = v * f")
        yield _Operation(CostName(kind, "multiply-add"), "v = mad(v, f, g)")
        yield _Operation(CostName(kind, "divide"), "v = f / v")
        yield _Operation(CostName(kind, "compare and select"), "v = v < f ? v + g : f")
        for function in ("sqrt", "exp", "log", "sin"):
            yield _Operation(CostName(kind, function), _apply(function))
    for function in ("rsqrt", "cos", "tan", "exp2", "log2", "tanh", "atan", "erf"):
        yield _Operation(CostName("float", function), _apply(function))
    for function in ("native_sin", "native_exp", "native_rsqrt"):
        yield _Operation(CostName("float", function), _apply(function))
    yield _Operation(CostName("float", "pow"), "v = pow(v, -f) + g")
    for kind in ("int", "long"):
        yield _Operation(CostName(kind, "add"), "v = (v + f) ^ g")
        yield _Operation(CostName(kind, "multiply"), "v = v * f + g")
        yield _Operation(CostName(kind, "shift"), "v = (v << 3) ^ (v >> 5)")
        yield _Operation(CostName(kind, "divide"), "v = f / (v | 1)")
        yield _Operation(CostName(kind, "remainder"), "v = f % (v | 1) + g")
        yield _Operation(CostName(kind, "divide by a literal"), "v = v / 7 + f")
    if not limits.is_cpu:  # the pipes of a GPU
        yield _Operation(CostName("int", "logic"), "v = max(v ^ f, g)")
        yield _Operation(CostName("int", "unsigned divide"), "v = (uint)f / (uint)(v | 1)")
        yield _Operation(CostName("int", "divide by an invariant"), "v = v / g + f")
        yield _Operation(
            CostName("int", "unsigned divide by an invariant"), "v = (uint)v / (uint)g + f"
        )
        yield _Operation(CostName("long", "multiply-add of ints"), _PRODUCT_OF_INTS)
    yield _Operation(CostName("int", "to float and back"), "v = (int)((float)v * 0.5f) + f")
    if limits.is_cpu:  # not by vectors
        yield _Operation(CostName("long", "to float and back"), "v = (long)((float)v * 0.5f) + f")


def _apply(function: str) -> str:
    """Return a statement that applies a function and a sum, after which values stay finite."""
    return f"v = {function}(f - v)" if "exp" in function else f"v = {function}(v) + f"


def elementary(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield `out[i] = in[i] OP f` by elements, and the copy without the operation."""
    group = limits.usual_group()
    kinds = [kind for kind in _NUMBERS if limits.has_double or kind != "double"]
    is_quick = limits.effort is Effort.QUICK
    sizes = powers(12, 20 if limits.is_cpu else 26, 4 if is_quick else 2)
    for kind in kinds:
        number = _NUMBERS[kind]
        width = number(0).itemsize
        for operator, text in _ELEMENTARY.items():
            for items in sizes:
                buffer = BufferInput(width * items)
                source = _ELEMENT.format(type=kind, does=text)
                inputs = (buffer, buffer, number(3))
                work = Workload(source, "element", (items,), (min(group, items),), inputs)
                yield Probe(str(CostName(kind, operator)), items, work)


def throughput_items(*, is_cpu: bool) -> int:
    """Return the work-items per compute unit of the family `throughput`."""
    return 512 if is_cpu else 2048


def throughput(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield operations in eight independent chains, on all compute units."""
    items = limits.compute_units * throughput_items(is_cpu=limits.is_cpu)
    for operation in _operations(limits):
        for trips in _trips(limits):
            work = _chain(limits, operation, 8, items, trips)
            yield Probe(str(operation.name), trips * _REPEATS, work)


def latency(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield operations in one chain, in one small work-group per compute unit; one in all for a CPU.

    One thread of a CPU may run the work-groups of another that wakes up late.
    """
    items = 32 * (1 if limits.is_cpu else limits.compute_units)
    for operation in _operations(limits):
        for trips in _trips(limits):
            work = _chain(limits, operation, 1, items, trips)
            yield Probe(str(operation.name), trips * _REPEATS, work)


def mixtures(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield pairs of operations that different pipes of a GPU execute, on all compute units."""
    if limits.is_cpu:
        return
    by_name = {str(operation.name): operation for operation in _operations(limits)}
    for names in _MIXED:
        pair = [by_name[name] for name in names if name in by_name]
        if len(pair) == len(names):
            for trips in _trips(limits):
                yield Probe(" and ".join(names), trips * _REPEATS, _mixture(limits, pair, trips))


def _mixture(limits: ProbeLimits, pair: Sequence[_Operation], trips: int) -> Workload:
    chains = _REPEATS // 2
    kinds = [operation.name.type for operation in pair]
    values = [[f"v{which}{number}" for number in range(chains)] for which in range(2)]
    names = [{letter: f"{letter}{which}" for letter in "fg"} for which in range(2)]
    starts = " ".join(map(_starts, kinds, values))
    lines = [
        f"        {_rename(operation.text, {'v': values[which][number]} | names[which])};"
        for _ in range(_REPEATS // chains)
        for number in range(chains)
        for which, operation in enumerate(pair)
    ]
    source = _MIXTURE.format(
        one=kinds[0],
        other=kinds[1],
        ones=", ".join(values[0]),
        others=", ".join(values[1]),
        starts=starts,
        body="\n".join(lines),
        total=" + ".join(f"(float){name}" for chain in values for name in chain),
    )
    items = limits.compute_units * throughput_items(is_cpu=False)
    numbers = [_NUMBERS[kind](value) for kind in kinds for value in (3, 2)]
    inputs: tuple[WorkloadInput, ...] = (BufferInput(4 * items), *numbers, np.int32(trips))
    return Workload(source, "mixture", (items,), (limits.usual_group(256),), inputs)


def _starts(kind: str, names: Sequence[str]) -> str:
    """Return statements that begin the chains of values."""
    return " ".join(
        f"{name} = ({kind})(get_local_id(0) + {number + 2});" for number, name in enumerate(names)
    )


def _trips(limits: ProbeLimits) -> tuple[int, int]:
    """Return the trips of a short and a long loop. The long one takes many times the launch overhead."""
    return (16, 128) if limits.is_cpu else (64, 1024)


def _chain(
    limits: ProbeLimits, operation: _Operation, chains: int, items: int, trips: int
) -> Workload:
    kind = operation.name.type
    names = [f"v{number}" for number in range(chains)]
    starts = _starts(kind, names)
    repeats = _REPEATS // chains if chains > 1 else _REPEATS
    lines = [
        "        " + _rename(operation.text, {"v": name}) + ";"
        for _ in range(repeats)
        for name in names
    ]
    source = _CHAIN.format(
        type=kind,
        names=", ".join(names),
        starts=starts,
        body="\n".join(lines),
        total=" + ".join(names),
    )
    number = _NUMBERS[kind]
    width = number(0).itemsize
    group = limits.usual_group(32 if chains == 1 else 256)
    inputs = (BufferInput(width * items), number(3), number(2), np.int32(trips))
    return Workload(source, "chain", (items,), (min(group, items),), inputs)


def _rename(text: str, names: Mapping[str, str]) -> str:
    """Return a statement with other names for its variables."""
    return "".join(names.get(part, part) for part in _words(text))


def _words(text: str) -> Iterator[str]:
    word = ""
    for letter in text:
        if letter.isalnum() or letter == "_":
            word += letter
        else:
            yield word
            yield letter
            word = ""
    yield word


def several(limits: ProbeLimits) -> Iterator[Probe]:
    """Yield several operations in a kernel that stores 256 kB: storing hides some of them."""
    items = 1 << 16
    for kind in ("int", "float"):
        number = _NUMBERS[kind]
        for operator in "+*/":
            for count in powers(0, 8, 2 if limits.effort is Effort.QUICK else 1):
                line = f"v = (v {operator} f) ^ g;" if kind == "int" else f"v = v {operator} f;"
                body = "\n    ".join([line] * count)
                inputs = (BufferInput(4 * items), number(1 if kind == "float" else 7), number(5))
                source = _SEVERAL.format(type=kind, body=body)
                work = Workload(source, "several", (items,), (limits.usual_group(),), inputs)
                yield Probe(str(CostName(kind, operator)), count, work)
