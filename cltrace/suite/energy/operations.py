"""Probes of arithmetic that runs for long, on numbers that are all different and never settle."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.cost_names import CostName
from cltrace.events.workloads import BufferInput, Workload
from cltrace.suite.calibration.probes import ProbeLimits
from cltrace.suite.energy.probes import LANE_GUARDS, EnergyProbe, Group

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
"""Operations of each chain in a trip."""
_UNIT_ITEMS: Final = 2048
"""Work-items that fill a compute unit."""
_NUMBERS: Final[Mapping[str, Callable[[float], np.generic]]] = {
    "float": np.float32,
    "double": np.float64,
    "int": np.int32,
    "long": np.int64,
}
_MINUS_ONE: Final = -0.99999994
"""Factor close to -1: values change sign each time and keep their size for millions of times."""
_CHAOS: Final = "v = v * 8191.0f; v -= floor(v); "
"""Statement that moves a value between 0 and 1 without a visible pattern."""
_SPECIAL: Final = ("sqrt", "rsqrt", "exp", "log", "sin", "native_sin", "native_exp", "native_rsqrt")


@dataclass(frozen=True, slots=True)
class _SteadyOperation:
    """An operation on the value `v`, with the numbers `f` and `g` and the value `w` of another chain.

    Sums and bits of other chains cannot be computed ahead of the loop; those of numbers can.
    """

    name: CostName
    text: str
    f: float = _MINUS_ONE
    g: float = 0.63661977


_MULTIPLY_ADD: Final = _SteadyOperation(CostName("float", "multiply-add"), "v = mad(v, f, g)")


def _operations(limits: ProbeLimits) -> Iterator[_SteadyOperation]:
    for kind in ("float", *(["double"] if limits.has_double else [])):
        yield _SteadyOperation(CostName(kind, "add"), "v = g - v")
        yield _SteadyOperation(CostName(kind, "multiply"), "v = v * f")
        yield _SteadyOperation(CostName(kind, "multiply-add"), "v = mad(v, f, g)")
        yield _SteadyOperation(CostName(kind, "divide"), "v = g / v")
        yield _SteadyOperation(CostName(kind, "compare and select"), "v = v < g ? g - v : v * f")
    for function in _SPECIAL:
        text = f"{_CHAOS}v = {function}(v + 0.5f)"
        yield _SteadyOperation(CostName("float", function), text)
    yield _SteadyOperation(CostName("float", "chaos"), _CHAOS)
    if limits.has_double:
        for function in ("sqrt", "exp"):
            text = _CHAOS.replace("8191.0f", "8191.0") + f"v = {function}(v + 0.5)"
            yield _SteadyOperation(CostName("double", function), text)
    yield from _integer_operations()
    yield _SteadyOperation(CostName("float", "add of others"), "v = w - v")
    conversion = CostName("int", "to float and back")
    yield _SteadyOperation(conversion, "v = (int)((float)v * -0.75f) + f", 12_345, 3)


def _integer_operations() -> Iterator[_SteadyOperation]:
    for kind in ("int", "long"):
        yield _SteadyOperation(CostName(kind, "add"), "v = v + w")
        yield _SteadyOperation(CostName(kind, "logic"), "v = v ^ w")
        yield _SteadyOperation(CostName(kind, "shift"), "v = (v << 3) ^ w")
        product = CostName(kind, "multiply")
        yield _SteadyOperation(product, "v = v * f + g", 1_103_515_245, 12_345)
        comparison = CostName(kind, "compare")
        yield _SteadyOperation(comparison, "v = max(v ^ g, w)", 3, 1_103_515_245)
        yield _SteadyOperation(CostName(kind, "divide"), "v = f / (v | 1)", 2_147_480_009, 3)


def operation_probes(limits: ProbeLimits) -> Iterator[EnergyProbe]:
    """Yield each operation by itself, on a full device."""
    items = limits.compute_units * _UNIT_ITEMS
    for operation in _operations(limits):
        make = _workload_maker(limits, operation, items)
        yield EnergyProbe(str(operation.name), Group.OPERATIONS, make)


def unit_probes(limits: ProbeLimits) -> Iterator[EnergyProbe]:
    """Yield multiply-adds on some compute units, and on all units with more and more work-groups."""
    units = sorted({1, *(max(limits.compute_units * part // 4, 1) for part in (1, 2, 3, 4))})
    group = limits.usual_group()
    for count in units:
        make = _workload_maker(limits, _MULTIPLY_ADD, count * group)
        yield EnergyProbe(f"{count} units", Group.UNITS, make, trips=512)
    for groups in (2, 4):
        make = _workload_maker(limits, _MULTIPLY_ADD, limits.compute_units * group * groups)
        yield EnergyProbe(f"{groups} work-groups a unit", Group.UNITS, make, trips=256)
    make = _workload_maker(limits, _MULTIPLY_ADD, limits.compute_units * 32, 32)
    yield EnergyProbe("a warp a unit", Group.UNITS, make, trips=512)


def lane_probes(limits: ProbeLimits) -> Iterator[EnergyProbe]:
    """Yield operations on some lanes of each warp, while the other lanes are inactive."""
    items = limits.compute_units * _UNIT_ITEMS
    operations = {operation.name: operation for operation in _operations(limits)}
    for name in (
        CostName("float", "multiply-add"),
        CostName("int", "multiply"),
        CostName("double", "multiply-add"),
    ):
        for lanes, guard in LANE_GUARDS.items():
            if name in operations:
                make = _workload_maker(limits, operations[name], items, guard=guard)
                yield EnergyProbe(f"{name} on {lanes}", Group.LANES, make)


def operand_probes(limits: ProbeLimits) -> Iterator[EnergyProbe]:
    """Yield multiply-adds and sums of zeros, which show the effect of the operands' bits."""
    items = limits.compute_units * _UNIT_ITEMS
    for name, text in (
        (CostName("float", "multiply-add of zeros"), "v = mad(v, f, g)"),
        (CostName("int", "add of zeros"), "v = v + w"),
    ):
        zeros = _SteadyOperation(name, text, 0.0, 0.0)
        yield EnergyProbe(str(name), Group.OPERANDS, _workload_maker(limits, zeros, items))


def _workload_maker(
    limits: ProbeLimits,
    operation: _SteadyOperation,
    items: int,
    group: int | None = None,
    guard: str = "",
) -> Callable[[int], Workload]:
    kind = operation.name.type
    number = _NUMBERS[kind]
    local = min(group or limits.usual_group(), items)

    def make(trips: int) -> Workload:
        inputs = (
            BufferInput(number(0).itemsize * items),
            number(operation.f),
            number(operation.g),
            np.int32(trips),
        )
        return Workload(_source(operation, guard), "steady", (items,), (local,), inputs)

    return make


def _source(operation: _SteadyOperation, guard: str) -> str:
    names = [f"v{number}" for number in range(_CHAINS)]
    lines = [
        "        " + _rename(operation.text, name, names[(place + 3) % _CHAINS]) + ";"
        for _ in range(_REPEATS)
        for place, name in enumerate(names)
    ]
    kind, is_zero = operation.name.type, operation.f == operation.g == 0
    starts = [_start(kind, name, place, is_zero=is_zero) for place, name in enumerate(names)]
    return _SOURCE.format(
        type=kind,
        guard=guard,
        names=", ".join(names),
        starts="\n".join(starts),
        body="\n".join(lines),
        total=" + ".join(names),
    )


def _start(kind: str, name: str, place: int, *, is_zero: bool) -> str:
    """Return a statement that sets a random value per lane and chain; floats from 0.25 to 1.25."""
    if is_zero:
        return f"    {name} = f;"  # f is 0, which the compiler does not know
    drawn = f"(drawn * {2 * place + 3}u)"
    if kind in {"int", "long"}:
        return f"    {name} = ({kind}){drawn};"
    return f"    {name} = ({kind}){drawn} * ({kind})2.3283064e-10 + ({kind})0.25;"


def _rename(text: str, name: str, other: str) -> str:
    """Return a statement with other names for `v` and `w`, which stand alone in it."""
    names = {"v": name, "w": other}
    words, word = [], ""
    for letter in f"{text} ":
        if letter.isalnum() or letter == "_":
            word += letter
        else:
            words += [names.get(word, word), letter]
            word = ""
    return "".join(words).rstrip()
