"""Arithmetic that goes on for long, on numbers that are all different and never settle."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import Room
from cltrace.suite.energy.probes import SOME_LANES, EnergyProbe, Group

_SOURCE: Final = """
__kernel void steady(__global {type} *out, {type} f, {type} g, int trips) {{
    uint drawn = (uint)get_global_id(0) * 2654435761u;
    drawn = (drawn ^ (drawn >> 15)) * 2246822519u;
    {type} {names};
{starts}
    {guard}for (int t = 0; t < trips; ++t) {{
{body}
    }}
    out[get_global_id(0)] = {total};
}}
"""
_CHAINS: Final = 8
_REPEATS: Final = 2
"""How often each chain is worked on in a trip."""
_UNIT_ITEMS: Final = 2048
"""Work-items that fill a compute unit."""
_NUMBERS: Final[dict[str, Callable[[float], np.generic]]] = {
    "float": np.float32, "double": np.float64, "int": np.int32, "long": np.int64,
}  # fmt: skip
_NEARLY_ONE: Final = -0.99999994
"""Values change sign each time and keep their size for millions of times."""
_CHAOS: Final = "v = v * 8191.0f; v -= floor(v); "
"""Leads anywhere between 0 and 1, at random for all that can be seen."""
_SPECIAL: Final = ("sqrt", "rsqrt", "exp", "log", "sin", "native_sin", "native_exp", "native_rsqrt")


@dataclass(frozen=True, slots=True)
class _Steady:
    """An operation on the value `v`, with the numbers `f` and `g` and the value `w` of another chain.

    Sums and bits of other chains cannot be worked out ahead of the loop, as those of numbers can.
    """

    name: str
    type: str
    text: str
    f: float = _NEARLY_ONE
    g: float = 0.63661977


def _operations(room: Room) -> Iterator[_Steady]:
    for kind in ("float", *(["double"] if room.has_double else [])):
        yield _Steady(f"{kind} add", kind, "v = g - v")
        yield _Steady(f"{kind} multiply", kind, "v = v * f")
        yield _Steady(f"{kind} multiply-add", kind, "v = mad(v, f, g)")
        yield _Steady(f"{kind} divide", kind, "v = g / v")
        yield _Steady(f"{kind} compare and select", kind, "v = v < g ? g - v : v * f")
    for function in _SPECIAL:
        yield _Steady(f"float {function}", "float", f"{_CHAOS}v = {function}(v + 0.5f)")
    yield _Steady("float chaos", "float", _CHAOS)
    if room.has_double:
        for function in ("sqrt", "exp"):
            text = _CHAOS.replace("8191.0f", "8191.0") + f"v = {function}(v + 0.5)"
            yield _Steady(f"double {function}", "double", text)
    for kind in ("int", "long"):
        yield _Steady(f"{kind} add", kind, "v = v + w")
        yield _Steady(f"{kind} logic", kind, "v = v ^ w")
        yield _Steady(f"{kind} shift", kind, "v = (v << 3) ^ w")
        yield _Steady(f"{kind} multiply", kind, "v = v * f + g", 1_103_515_245, 12_345)
        yield _Steady(f"{kind} compare", kind, "v = max(v ^ g, w)", 3, 1_103_515_245)
        yield _Steady(f"{kind} divide", kind, "v = f / (v | 1)", 2_147_480_009, 3)
    yield _Steady("float add of others", "float", "v = w - v")
    yield _Steady("int to float and back", "int", "v = (int)((float)v * -0.75f) + f", 12_345, 3)


def operation_probes(room: Room) -> Iterator[EnergyProbe]:
    """Each operation by itself, on a full device."""
    items = room.compute_units * _UNIT_ITEMS
    for operation in _operations(room):
        yield EnergyProbe(operation.name, Group.OPERATIONS, _maker(room, operation, items))


def unit_probes(room: Room) -> Iterator[EnergyProbe]:
    """Multiply-adds on some compute units, and on all of them more and more full."""
    operation = _multiply_add()
    units = sorted({1, *(max(room.compute_units * part // 4, 1) for part in (1, 2, 3, 4))})
    group = room.usual_group()
    for count in units:
        make = _maker(room, operation, count * group)
        yield EnergyProbe(f"{count} units", Group.UNITS, make, trips=512)
    for full in (2, 4):
        make = _maker(room, operation, room.compute_units * group * full)
        yield EnergyProbe(f"{full} work-groups a unit", Group.UNITS, make, trips=256)
    yield EnergyProbe("a warp a unit", Group.UNITS, _maker(room, operation, room.compute_units * 32, 32),
                      trips=512)  # fmt: skip


def lane_probes(room: Room) -> Iterator[EnergyProbe]:
    """Operations of some lanes of each warp, while the others wait."""
    items = room.compute_units * _UNIT_ITEMS
    known = {one.name: one for one in _operations(room)}
    for name in ("float multiply-add", "int multiply", "double multiply-add"):
        for lanes, guard in SOME_LANES.items():
            if name in known:
                make = _maker(room, known[name], items, guard=guard)
                yield EnergyProbe(f"{name} on {lanes}", Group.LANES, make)


def operand_probes(room: Room) -> Iterator[EnergyProbe]:
    """Multiply-adds and sums of zeros: what the bits of operands do."""
    items = room.compute_units * _UNIT_ITEMS
    for name, kind, text in (
        ("float multiply-add of zeros", "float", "v = mad(v, f, g)"),
        ("int add of zeros", "int", "v = v + w"),
    ):
        zeros = _Steady(name, kind, text, 0.0, 0.0)
        yield EnergyProbe(name, Group.OPERANDS, _maker(room, zeros, items))


def _multiply_add() -> _Steady:
    return _Steady("float multiply-add", "float", "v = mad(v, f, g)")


def _maker(
    room: Room, operation: _Steady, items: int, group: int | None = None, guard: str = ""
) -> Callable[[int], Workload]:
    def make(trips: int) -> Workload:
        names = [f"v{number}" for number in range(_CHAINS)]
        lines = [
            "        " + _renamed(operation.text, name, names[(place + 3) % _CHAINS]) + ";"
            for _ in range(_REPEATS)
            for place, name in enumerate(names)
        ]
        is_zero = operation.f == operation.g == 0
        source = _SOURCE.format(
            type=operation.type,
            guard=guard,
            names=", ".join(names),
            starts="\n".join(_start(operation.type, name, place, is_zero=is_zero)
                             for place, name in enumerate(names)),
            body="\n".join(lines),
            total=" + ".join(names),
        )  # fmt: skip
        number = _NUMBERS[operation.type]
        inputs = (
            BufferInput(number(0).itemsize * items),
            number(operation.f),
            number(operation.g),
            np.int32(trips),
        )
        local = min(group or room.usual_group(), items)
        return Workload(source, "steady", (items,), (local,), inputs)

    return make


def _start(kind: str, name: str, place: int, *, is_zero: bool) -> str:
    """A value at random for each lane and chain; floats from 0.25 to 1.25."""
    if is_zero:
        return f"    {name} = f;"  # which is 0, and no compiler knows it
    drawn = f"(drawn * {2 * place + 3}u)"
    if kind in {"int", "long"}:
        return f"    {name} = ({kind}){drawn};"
    return f"    {name} = ({kind}){drawn} * ({kind})2.3283064e-10 + ({kind})0.25;"


def _renamed(text: str, name: str, other: str) -> str:
    """A statement with other names for `v` and `w`, which stand alone in it."""
    known = {"v": name, "w": other}
    words, word = [], ""
    for letter in f"{text} ":
        if letter.isalnum() or letter == "_":
            word += letter
        else:
            words += [known.get(word, word), letter]
            word = ""
    return "".join(words).rstrip()
