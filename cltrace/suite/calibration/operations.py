"""What arithmetic costs: as throughput, as dependent chains, as the literature measures it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import Effort, Probe, Room, powers

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
_NUMBERS: Final[dict[str, Callable[[int], np.generic]]] = {
    "float": np.float32, "double": np.float64, "int": np.int32, "long": np.int64,
}  # fmt: skip
_REPEATS: Final = 16
"""How often an operation stands in a trip, so that the loop's own work is little beside it."""
_ELEMENTARY: Final = {"+": " + f", "-": " - f", "*": " * f", "/": " / f", "copy": ""}


@dataclass(frozen=True, slots=True)
class _Operation:
    """An operation: its name, its type, and what a statement makes of the value `v`."""

    name: str
    type: str
    text: str


def _operations(room: Room) -> Iterator[_Operation]:
    for kind in ("float", *(["double"] if room.has_double else [])):
        yield _Operation(f"{kind} add", kind, "v = v + f")
        yield _Operation(f"{kind} multiply", kind, "v = v * f")
        yield _Operation(f"{kind} multiply-add", kind, "v = mad(v, f, g)")
        yield _Operation(f"{kind} divide", kind, "v = f / v")
        yield _Operation(f"{kind} compare and select", kind, "v = v < f ? v + g : f")
        for function in ("sqrt", "exp", "log", "sin"):
            yield _Operation(f"{kind} {function}", kind, _of_itself(function))
    for function in ("rsqrt", "cos", "tan", "exp2", "log2", "tanh", "atan", "erf"):
        yield _Operation(f"float {function}", "float", _of_itself(function))
    for function in ("native_sin", "native_exp", "native_rsqrt"):
        yield _Operation(f"float {function}", "float", _of_itself(function))
    yield _Operation("float pow", "float", "v = pow(v, -f) + g")
    for kind in ("int", "long"):
        yield _Operation(f"{kind} add", kind, "v = (v + f) ^ g")
        yield _Operation(f"{kind} multiply", kind, "v = v * f + g")
        yield _Operation(f"{kind} shift", kind, "v = (v << 3) ^ (v >> 5)")
        yield _Operation(f"{kind} divide", kind, "v = f / (v | 1)")
        yield _Operation(f"{kind} remainder", kind, "v = f % (v | 1) + g")
        yield _Operation(f"{kind} divide by a literal", kind, "v = v / 7 + f")
    yield _Operation("int to float and back", "int", "v = (int)((float)v * 0.5f) + f")


def _of_itself(function: str) -> str:
    """A function of the last value and a sum, such that values stay finite however often."""
    return f"v = {function}(f - v)" if "exp" in function else f"v = {function}(v) + f"


def elementary(room: Room) -> Iterator[Probe]:
    """`out[i] = in[i] OP f` by elements, and the copy without the operation."""
    group = room.usual_group()
    kinds = [kind for kind in _NUMBERS if room.has_double or kind != "double"]
    quick = room.effort is Effort.QUICK
    sizes = powers(12, 20 if room.is_cpu else 26, 4 if quick else 2)
    for kind in kinds:
        make = _NUMBERS[kind]
        width = make(0).itemsize
        for name, does in _ELEMENTARY.items():
            for items in sizes:
                buffer = BufferInput(width * items)
                source = _ELEMENT.format(type=kind, does=does)
                inputs = (buffer, buffer, make(3))
                work = Workload(source, "element", (items,), (min(group, items),), inputs)
                yield Probe(f"{kind} {name}", items, work)


def throughput(room: Room) -> Iterator[Probe]:
    """Operations in eight chains that do not depend on each other, on all compute units."""
    items = room.compute_units * (64 if room.is_cpu else 2048)
    for operation in _operations(room):
        for trips in _trips(room):
            yield Probe(operation.name, trips * _REPEATS, _chain(room, operation, 8, items, trips))


def latency(room: Room) -> Iterator[Probe]:
    """Operations in one chain, of one small work-group on each compute unit."""
    items = room.compute_units * 32
    for operation in _operations(room):
        for trips in _trips(room):
            yield Probe(operation.name, trips * _REPEATS, _chain(room, operation, 1, items, trips))


def _trips(room: Room) -> tuple[int, int]:
    """A short and a long loop: the long one takes many times what a launch takes."""
    return (16, 128) if room.is_cpu else (64, 1024)


def _chain(room: Room, operation: _Operation, chains: int, items: int, trips: int) -> Workload:
    names = [f"v{number}" for number in range(chains)]
    starts = " ".join(
        f"{name} = ({operation.type})(get_local_id(0) + {number + 2});"
        for number, name in enumerate(names)
    )
    each = _REPEATS // chains if chains > 1 else _REPEATS
    lines = [
        "        " + _renamed(operation.text, name) + ";" for _ in range(each) for name in names
    ]
    source = _CHAIN.format(
        type=operation.type,
        names=", ".join(names),
        starts=starts,
        body="\n".join(lines),
        total=" + ".join(names),
    )
    number = _NUMBERS[operation.type]
    width = number(0).itemsize
    group = room.usual_group(32 if chains == 1 else 256)
    inputs = (BufferInput(width * items), number(3), number(2), np.int32(trips))
    return Workload(source, "chain", (items,), (min(group, items),), inputs)


def _renamed(text: str, name: str) -> str:
    """A statement with another name for `v`."""
    return "".join(name if part == "v" else part for part in _words(text))


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


def several(room: Room) -> Iterator[Probe]:
    """Several operations in a kernel that stores 256 kB: what storing hides of them."""
    items = 1 << 16
    for kind in ("int", "float"):
        number = _NUMBERS[kind]
        for operator in "+*/":
            for count in powers(0, 8, 2 if room.effort is Effort.QUICK else 1):
                one = f"v = (v {operator} f) ^ g;" if kind == "int" else f"v = v {operator} f;"
                body = "\n    ".join([one] * count)
                inputs = (BufferInput(4 * items), number(1 if kind == "float" else 7), number(5))
                source = _SEVERAL.format(type=kind, body=body)
                work = Workload(source, "several", (items,), (room.usual_group(),), inputs)
                yield Probe(f"{kind} {operator}", count, work)
