"""Simulated sensor: readings of the power that a trace's commands would have used, with ground truth.

All randomness follows from the seed, so the same argument gives the same readings. Tests, the demo and
the documentation attribute these readings and compare the result with the ground truth.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Final, Literal

import numpy as np

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState, Quantity, Scope
from cltrace.power.activity_shares import ActiveTime
from cltrace.power.load_classes import Load, LoadKind, active_intervals, group_loads, shared_seconds
from cltrace.power.mean_power import Floats
from cltrace.power.protocol import API, Channel, Log, LogClock, LogRequest, Probe, Sample
from cltrace.timeline.columns import Int64s
from cltrace.timeline.reading import read_activity
from cltrace.trace.reader import Trace

_S_NS: Final = 1_000_000_000
_MILLI: Final = 1e-3
_MAX_PIECE_S: Final = 0.01
"""Maximum duration of constant power. Longer launches follow the ramp in pieces."""
_MAX_READINGS: Final = 2_000_000
"""Maximum number of readings of a simulation: 11 hours at the default period."""
_MAX_WORK_S: Final = 100_000.0
"""Maximum time of all commands: damaged stamps may claim centuries, which have pieces without number."""
_NODES: Final = 200
_MIN_W: Final = 80.0
_RANGE_W: Final = 350.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationPlan:
    """Parameters of the simulated sensor and device. Powers in W, times in s, others relative.

    `spread` is the maximum deviation of the power of a launch from its class, `ramp` the decrease of all
    powers from begin to end, and `noise_w` the standard deviation of a reading's error.
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
class GroundTruth:
    """Ground truth in J: dynamic energy and part of the idle energy of each class, and totals."""

    loads: tuple[Load, ...]
    dynamic_j: tuple[float, ...]
    static_j: tuple[float, ...]
    tail_j: float
    total_j: float


class SimReader:
    """Simulated sensor. Its argument is `name=value,...` with names of `SimulationPlan`."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["log"]] = "log"

    def __init__(self, argument: str = "") -> None:
        self._argument = argument

    def probe(self) -> Probe:
        """Return ok: the reader needs no sensor."""
        return Probe(
            ProbeState.OK, "simulates readings for a trace: for experiments, never for results"
        )

    def read_log(self, request: LogRequest) -> Log:
        """Return simulated readings of the commands of a trace. Raises: `PowerError`."""
        return simulate(request.trace, parse_plan(self._argument))[0]


def parse_plan(argument: str) -> SimulationPlan:
    """Return the plan for `name=value,...`. Raises: `PowerError`."""
    types = {field.name: field.type for field in fields(SimulationPlan)}
    values: dict[str, str | int | float] = {}
    for word in filter(None, argument.split(",")):
        name, _, text = word.partition("=")
        try:
            values[name] = {"str": str, "int": int, "float": float}[_type_name(types[name])](text)
        except (KeyError, ValueError):
            names = ", ".join(types)
            raise PowerError(f"sim: {word!r} is invalid; there are: {names}") from None
    plan = SimulationPlan(**values)  # type: ignore[arg-type]
    if plan.quantity not in set(Quantity) or min(plan.period_s, plan.window_s) <= 0:
        raise PowerError("sim: the quantity is power or energy; periods and windows are above 0")
    if plan.scope not in set(Scope):
        raise PowerError(f"sim: the scope is one of {', '.join(Scope)}")
    return plan


def _type_name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def simulate(
    trace: Trace, plan: SimulationPlan, watts: Mapping[str, float] | None = None
) -> tuple[Log, GroundTruth]:
    """Return simulated readings of a trace's commands, and the ground truth.

    `watts` are the powers above idle by name of a kernel or transfer; others follow from the name.
    """
    activity = read_activity(trace)
    devices = [device for device in set(activity.commands.device.tolist()) if device > 0]
    sizes = {
        int(launch): str(size)
        for launch, size in trace.rows("SELECT launch_id, global_size FROM v_launch")
    }
    loads = group_loads(activity, sizes, devices)
    if not loads:
        raise PowerError(
            f"{trace.path}: no command has a place in time: there is nothing to simulate"
        )
    origin_ns = next(iter(activity.axis.origin_host_ns.values()), 0)
    channel, samples, truth = simulate_readings(plan, loads, watts or {}, origin_ns)
    return Log((channel,), samples, LogClock.HOST), truth


def simulate_readings(
    plan: SimulationPlan, loads: tuple[Load, ...], watts: Mapping[str, float], origin_ns: int = 0
) -> tuple[Channel, tuple[Sample, ...], GroundTruth]:
    """Return simulated readings of some loads, and the ground truth. Times begin at `origin_ns`.

    Raises: `PowerError` if the loads are too long.
    """
    _check_size(plan, loads)
    energy, truth = _simulate_energy(plan, loads, watts)
    return _channel(plan), tuple(_samples(plan, energy, loads, origin_ns)), truth


def _check_size(plan: SimulationPlan, loads: tuple[Load, ...]) -> None:
    """Check the limits of a simulation. Raises: `PowerError`."""
    begin = min(float(load.start_s[0]) for load in loads) - plan.before_s
    end = max(float(load.end_s.max()) for load in loads) + plan.after_s
    work_s = sum(float((load.end_s - load.start_s).sum()) for load in loads)
    if not (end - begin) / plan.period_s <= _MAX_READINGS:
        raise PowerError(f"sim: {end - begin:g} s need more than {_MAX_READINGS:,} readings")
    if not work_s <= _MAX_WORK_S:
        raise PowerError(f"sim: the commands took {work_s:g} s, more than {_MAX_WORK_S:,.0f} s")


def _simulate_energy(
    plan: SimulationPlan, loads: tuple[Load, ...], watts: Mapping[str, float]
) -> tuple[ActiveTime, GroundTruth]:
    """Return the cumulative energy above idle in J, as a function of time, and the ground truth."""
    generator = np.random.default_rng(plan.seed)
    begin = min(float(load.start_s[0]) for load in loads)
    end = max(float(load.end_s.max()) for load in loads)
    starts, ends, powers, dynamic = [], [], [], []
    for load in loads:
        level_w = watts.get(load.name, _default_power_w(load, plan))
        factor = 1 + plan.spread * generator.uniform(-1, 1, len(load))
        piece_start, piece_end, command = _split_into_pieces(load)
        elapsed = ((piece_start + piece_end) / 2 - begin) / max(end - begin, 1e-9)
        power_w = level_w * factor[command] * (1 - plan.ramp * elapsed)
        starts.append(piece_start)
        ends.append(piece_end)
        powers.append(power_w)
        dynamic.append(float((power_w * (piece_end - piece_start)).sum()))
    tail_j = _add_tail(plan, loads, starts, ends, powers)
    energy = ActiveTime.weighted(*map(np.concatenate, (starts, ends, powers)))
    static = tuple(plan.idle_w * seconds for seconds in shared_seconds(loads))
    total_j = plan.idle_w * (end - begin + plan.before_s + plan.after_s) + sum(dynamic) + tail_j
    return energy, GroundTruth(loads, tuple(dynamic), static, tail_j, total_j)


def _default_power_w(load: Load, plan: SimulationPlan) -> float:
    """Return a power above idle that depends on the load's name and size only."""
    if load.kind is LoadKind.TRANSFER:
        return plan.transfer_w
    digest = hashlib.sha256(f"{load.name} {load.size}".encode()).digest()
    return _MIN_W + _RANGE_W * digest[0] / 255


def _split_into_pieces(load: Load) -> tuple[Floats, Floats, Int64s]:
    """Return the begins and ends of pieces of a load's commands, and the command of each piece."""
    count = np.maximum(np.ceil((load.end_s - load.start_s) / _MAX_PIECE_S).astype(np.int64), 1)
    command = np.repeat(np.arange(len(load)), count)
    place = np.arange(len(command)) - np.repeat(np.cumsum(count) - count, count)
    length = ((load.end_s - load.start_s) / count)[command]
    start = load.start_s[command] + place * length
    return start, start + length, command


def _add_tail(
    plan: SimulationPlan,
    loads: tuple[Load, ...],
    starts: list[Floats],
    ends: list[Floats],
    powers: list[Floats],
) -> float:
    """Append the power after work to the lists, and return its energy in J."""
    if not plan.tail_w or not plan.tail_s:
        return 0.0
    start, end = active_intervals(loads)
    tail_end = np.minimum(end + plan.tail_s, np.append(start[1:], np.inf))
    starts.append(end)
    ends.append(tail_end)
    powers.append(np.full(len(end), plan.tail_w))
    return float((tail_end - end).sum() * plan.tail_w)


def _channel(plan: SimulationPlan) -> Channel:
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
        note="simulated: no sensor was read",
    )


def _samples(
    plan: SimulationPlan, energy: ActiveTime, loads: tuple[Load, ...], origin_ns: int
) -> Iterator[Sample]:
    generator = np.random.default_rng(plan.seed + 1_000_003)
    begin = min(float(load.start_s[0]) for load in loads) - plan.before_s
    end = max(float(load.end_s.max()) for load in loads) + plan.after_s
    at = np.arange(begin, end, plan.period_s)
    at = at + generator.uniform(-plan.jitter, plan.jitter, len(at)) * plan.period_s
    key = _channel(plan).key
    if plan.quantity == Quantity.ENERGY:
        values = (energy.until(at - plan.delay_s) + plan.idle_w * (at - begin)) / _MILLI
    else:
        noise_w = generator.normal(0, plan.noise_w, len(at))
        shown_w = _filter(plan, energy, at) + plan.idle_w + noise_w
        values = np.rint(np.maximum(shown_w, 0) / plan.quantum_w) * plan.quantum_w / _MILLI
    for time_s, value in zip(at.tolist(), np.rint(values).astype(np.int64).tolist(), strict=True):
        yield Sample(key, origin_ns + int(time_s * _S_NS), value)


def _filter(plan: SimulationPlan, energy: ActiveTime, at: Floats) -> Floats:
    """Return the mean power of the window before each time, with the sensor's delay and lag."""
    ages = np.zeros(1)
    if plan.lag_s:
        ages = -plan.lag_s * np.log1p(-(np.arange(_NODES) + 0.5) / _NODES)
    power_w = np.zeros(len(at))
    for age in ages.tolist():
        until = at - plan.delay_s - age
        power_w += (energy.until(until) - energy.until(until - plan.window_s)) / plan.window_s
    mean_w: Floats = power_w / len(ages)
    return mean_w
