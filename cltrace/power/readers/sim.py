"""A sensor that never was, with a truth that is known: what a trace's commands would have drawn.

It draws nothing by chance but from its seed: the same words make the same readings. Tests, the demo and
the documentation attribute its readings, and hold the result against what was put in.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Final, Literal

import numpy as np

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState, Quantity, Scope
from cltrace.power.activity_shares import Busy
from cltrace.power.load_classes import Load, LoadKind, busy_union, loads, shared_seconds
from cltrace.power.mean_power import Floats
from cltrace.power.protocol import API, Channel, Log, LogClock, LogRequest, Probe, Sample
from cltrace.timeline.reading import read_activity
from cltrace.trace.reader import Trace

_S_NS: Final = 1_000_000_000
_MILLI: Final = 1e-3
_PIECE_S: Final = 0.01
"""Longer launches draw power that changes with the ramp piece by piece."""
_NODES: Final = 200
_LOWEST_W: Final = 80.0
_RANGE_W: Final = 350.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What the sensor and the device are like. Powers in W, times in s, the rest relative.

    `spread` is by how much launches of a class differ from each other, `ramp` by how much the power of
    all falls from the beginning to the end, `noise_w` a reading's own error.
    """

    seed: int = 1
    scope: str = "other"
    quantity: str = "power"
    period_s: float = 0.02
    window_s: float = 0.02
    lag_s: float = 0.0
    delay_s: float = 0.0
    idle_w: float = 75.0
    transfer_w: float = 20.0
    tail_w: float = 0.0
    tail_s: float = 0.0
    noise_w: float = 1.0
    quantum_w: float = 0.1
    spread: float = 0.0
    ramp: float = 0.0
    jitter: float = 0.03
    before_s: float = 1.0
    after_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Truth:
    """What was put in: the dynamic energy of each class in J, its share of idle, and the whole."""

    loads: tuple[Load, ...]
    dynamic_j: tuple[float, ...]
    static_j: tuple[float, ...]
    tail_j: float
    total_j: float


class SimReader:
    """The sensor. Its argument is words `name=value` of `Plan`, with commas between."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["log"]] = "log"

    def __init__(self, argument: str = "") -> None:
        self._argument = argument

    def probe(self) -> Probe:
        """It needs nothing."""
        return Probe(
            ProbeState.OK, "makes readings up for a trace: for trying things out, never for results"
        )

    def read_log(self, request: LogRequest) -> Log:
        """Readings of the commands of a trace. Raises: `PowerError`."""
        return simulated(request.trace, plan_of(self._argument))[0]


def plan_of(words: str) -> Plan:
    """A plan from `name=value,...`. Raises: `PowerError`."""
    types = {one.name: one.type for one in fields(Plan)}
    given: dict[str, str | int | float] = {}
    for word in filter(None, words.split(",")):
        name, _, text = word.partition("=")
        try:
            given[name] = {"str": str, "int": int, "float": float}[_type_name(types[name])](text)
        except (KeyError, ValueError):
            known = ", ".join(types)
            raise PowerError(f"sim: {word!r} is not understood; it knows {known}") from None
    plan = Plan(**given)  # type: ignore[arg-type]
    if plan.quantity not in set(Quantity) or min(plan.period_s, plan.window_s) <= 0:
        raise PowerError("sim: the quantity is power or energy, periods and windows are above 0")
    if plan.scope not in set(Scope):
        raise PowerError(f"sim: the scope is one of {', '.join(Scope)}")
    return plan


def _type_name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def simulated(
    trace: Trace, plan: Plan, watts: Mapping[str, float] | None = None
) -> tuple[Log, Truth]:
    """Readings of what a trace's commands drew, and the truth. `watts` are by kernel, else by name."""
    activity = read_activity(trace)
    devices = [one for one in set(activity.commands.device.tolist()) if one > 0]
    sizes = {
        int(one): str(size)
        for one, size in trace.rows("SELECT launch_id, global_size FROM v_launch")
    }
    found = loads(activity, sizes, devices)
    if not found:
        raise PowerError(
            f"{trace.path}: no command has a place in time: there is nothing to simulate"
        )
    origin_ns = next(iter(activity.axis.origin_host_ns.values()), 0)
    channel, samples, truth = readings_of(plan, found, watts or {}, origin_ns)
    return Log((channel,), samples, LogClock.HOST), truth


def readings_of(
    plan: Plan, found: tuple[Load, ...], watts: Mapping[str, float], origin_ns: int = 0
) -> tuple[Channel, tuple[Sample, ...], Truth]:
    """Readings of what some work drew, and the truth. Times begin at `origin_ns`."""
    power, truth = _power(plan, found, watts)
    return _channel(plan), tuple(_samples(plan, power, found, origin_ns)), truth


def _power(plan: Plan, found: tuple[Load, ...], watts: Mapping[str, float]) -> tuple[Busy, Truth]:
    """The energy above idle up to each time, and what it is made of."""
    chooser = np.random.default_rng(plan.seed)
    begin = min(float(one.start_s[0]) for one in found)
    end = max(float(one.end_s.max()) for one in found)
    starts, ends, weights, dynamic = [], [], [], []
    for load in found:
        level = watts.get(load.name, _usual_w(load, plan))
        factor = 1 + plan.spread * chooser.uniform(-1, 1, len(load))
        piece_start, piece_end, of = _pieces(load)
        middle = ((piece_start + piece_end) / 2 - begin) / max(end - begin, 1e-9)
        weight = level * factor[of] * (1 - plan.ramp * middle)
        starts.append(piece_start)
        ends.append(piece_end)
        weights.append(weight)
        dynamic.append(float((weight * (piece_end - piece_start)).sum()))
    tail_j = _add_tail(plan, found, starts, ends, weights)
    power = Busy.weighted(*map(np.concatenate, (starts, ends, weights)))
    static = tuple(plan.idle_w * one for one in shared_seconds(found))
    whole = plan.idle_w * (end - begin + plan.before_s + plan.after_s) + sum(dynamic) + tail_j
    return power, Truth(found, tuple(dynamic), static, tail_j, whole)


def _usual_w(load: Load, plan: Plan) -> float:
    if load.kind is LoadKind.TRANSFER:
        return plan.transfer_w
    digest = hashlib.sha256(f"{load.name} {load.size}".encode()).digest()
    return _LOWEST_W + _RANGE_W * digest[0] / 255


def _pieces(load: Load) -> tuple[Floats, Floats, np.ndarray]:
    """A load's commands cut into pieces, and which command each is of."""
    count = np.maximum(np.ceil((load.end_s - load.start_s) / _PIECE_S).astype(np.int64), 1)
    of = np.repeat(np.arange(len(load)), count)
    place = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    length = ((load.end_s - load.start_s) / count)[of]
    start = load.start_s[of] + place * length
    return start, start + length, of


def _add_tail(
    plan: Plan,
    found: tuple[Load, ...],
    starts: list[Floats],
    ends: list[Floats],
    weights: list[Floats],
) -> float:
    """Put what is drawn after work behind it; how much that is, in J."""
    if not plan.tail_w or not plan.tail_s:
        return 0.0
    start, end = busy_union(found)
    until = np.minimum(end + plan.tail_s, np.append(start[1:], np.inf))
    starts.append(end)
    ends.append(until)
    weights.append(np.full(len(end), plan.tail_w))
    return float((until - end).sum() * plan.tail_w)


def _channel(plan: Plan) -> Channel:
    is_energy = plan.quantity == Quantity.ENERGY
    return Channel(
        key=f"sim:{plan.quantity}",
        label=f"simulated {plan.quantity}",
        quantity=Quantity(plan.quantity),
        scope=Scope(plan.scope),
        unit_per_step=_MILLI,
        quantum=_MILLI if is_energy else plan.quantum_w,
        period_s=plan.period_s,
        window_s=None if is_energy else plan.window_s,
        lag_s=None if plan.lag_s else 0.0,
        is_estimated=True,
        note="made up: no sensor was read",
    )


def _samples(plan: Plan, power: Busy, found: tuple[Load, ...], origin_ns: int) -> Iterator[Sample]:
    chooser = np.random.default_rng(plan.seed + 1_000_003)
    begin = min(float(one.start_s[0]) for one in found) - plan.before_s
    end = max(float(one.end_s.max()) for one in found) + plan.after_s
    at = np.arange(begin, end, plan.period_s)
    at = at + chooser.uniform(-plan.jitter, plan.jitter, len(at)) * plan.period_s
    key = _channel(plan).key
    if plan.quantity == Quantity.ENERGY:
        values = (power.until(at - plan.delay_s) + plan.idle_w * (at - begin)) / _MILLI
    else:
        shown = _filtered(plan, power, at) + plan.idle_w + chooser.normal(0, plan.noise_w, len(at))
        values = np.rint(np.maximum(shown, 0) / plan.quantum_w) * plan.quantum_w / _MILLI
    for time_s, value in zip(at.tolist(), np.rint(values).astype(np.int64).tolist(), strict=True):
        yield Sample(key, origin_ns + int(time_s * _S_NS), value)


def _filtered(plan: Plan, power: Busy, at: Floats) -> Floats:
    """The mean power of the window before each time, as late and as slow as the sensor is."""
    ages = np.zeros(1)
    if plan.lag_s:
        ages = -plan.lag_s * np.log1p(-(np.arange(_NODES) + 0.5) / _NODES)
    shown = np.zeros(len(at))
    for age in ages.tolist():
        until = at - plan.delay_s - age
        shown += (power.until(until) - power.until(until - plan.window_s)) / plan.window_s
    mean: Floats = shown / len(ages)
    return mean
