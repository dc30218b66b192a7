"""What a sensor is like, from how it shows work that is switched on and off.

After Yang, Adamek, Armour, Accurate and Convenient Energy Measurements for GPUs (SC24): square waves of
several periods tell over which window a value is the mean, how late it is and how slowly it follows; what
two channels of the same thing tell under load, and what a counter steps by, shows whether to trust them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.events.power import Quantity
from cltrace.power.activity_shares import Busy, Response
from cltrace.power.alignment import Alignment, aligned
from cltrace.power.mean_power import Floats, Observations
from cltrace.power.metering import Metered, between
from cltrace.profile import Parameter
from cltrace.timeline.clock_fit.points import Int64s

PERIODS_S: Final = (0.03, 0.05, 0.07, 0.13, 0.21, 0.37)
"""Of the square waves, on for one half."""
_S: Final = 1e-9
_S_NS: Final = 1_000_000_000
_WINDOWS: Final = (0.25, 0.5, 1.0, 1.25, 2.0, 5.0, 10.0, 50.0)
"""Windows that are tried, as multiples of the time between updates."""
_LAGS_S: Final = (0.0, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.3)
_FURTHEST_S: Final = 0.3
_BLOCK: Final = 5
_SETTLED_S: Final = 1.0
_BETTER: Final = 0.97
"""A window is another one than the time between updates where it leaves less than so much."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of a characterisation, in ns of the host. `on_ns` is when work ran: shape (n, 2)."""

    name: str
    begin_ns: int
    end_ns: int
    on_ns: Int64s


@dataclass(frozen=True, slots=True)
class Characteristic:
    """What a channel is like.

    `update_s` is the median time between two updates with its 5th and 95th percentile, `window_s` over
    which a value is the mean, None for a counter. `alignment` is how it follows. `idle_w`, `load_w` are
    what it tells at rest and under load, `noise_w` how much it deviates at rest. `to_main` is its power
    under load by that of the channel that is read most often, None for that one.
    """

    key: str
    label: str
    quantity: str
    update_s: tuple[float, float, float]
    window_s: float | None
    alignment: Alignment
    idle_w: float | None
    load_w: float | None
    noise_w: float | None
    to_main: float | None


SENSORS: Final = "sensors"
"""The name under which a profile keeps what its device's sensors are like."""


def parameters_of(found: Sequence[Characteristic]) -> dict[str, Parameter]:
    """Characteristics as a profile keeps them, by the last word of a channel's key and what it is."""
    kept: dict[str, Parameter] = {}
    for one in found:
        name = one.key.rpartition(":")[2]
        follows = one.alignment
        values = {
            "update": (one.update_s[0], "s", (one.update_s[2] - one.update_s[1]) / 2),
            "window": (one.window_s, "s", 0.0),
            "delay": (
                follows.response.delay_s if follows.is_found else None,
                "s",
                follows.within_s,
            ),
            "lag": (
                follows.response.lag_s if follows.is_found else None,
                "s",
                follows.lag_within_s,
            ),
            "noise": (one.noise_w, "W", 0.0),
            "to first": (one.to_main, "", 0.0),
        }
        for what, (value, unit, error) in values.items():
            if value is not None:
                kept[f"{name} {what}"] = Parameter(float(value), unit, float(error), one.quantity)
    return kept


def phases_of(
    on: Callable[[float], tuple[int, int]],
    rest: Callable[[float], None],
    clock: Callable[[], int],
    *,
    square_s: float,
    load_s: float,
    report: Callable[[str], None],
) -> list[Phase]:
    """Run a characterisation: rest, square waves, a load, rest. `on` keeps a device busy for seconds."""
    found: list[Phase] = []

    def phase(name: str, go: Callable[[], list[tuple[int, int]]]) -> None:
        report(name)
        begin_ns = clock()
        ran = go()
        found.append(Phase(name, begin_ns, clock(), np.array(ran, np.int64).reshape(-1, 2)))

    def resting(seconds: float) -> list[tuple[int, int]]:
        rest(seconds)
        return []

    def square(period_s: float) -> list[tuple[int, int]]:
        ran = []
        until = clock() + int(square_s * _S_NS)
        while clock() < until:
            ran.append(on(period_s / 2))
            rest(period_s / 2)
        return ran

    phase("idle", lambda: resting(load_s / 2))
    for period_s in PERIODS_S:
        phase(f"square {period_s * 1000:.0f} ms", lambda period_s=period_s: square(period_s))  # type: ignore[misc]
    phase("load", lambda: [on(load_s)])
    phase("tail", lambda: resting(load_s / 2))
    return found


def characteristics(metered: Sequence[Metered], phases: Sequence[Phase]) -> list[Characteristic]:
    """What each channel is like; the one that is read most often first."""
    known = [one for one in metered if len(one.seen) > 2]
    ordered = sorted(known, key=lambda one: float(np.median(np.diff(one.seen.end_s))))
    ran = np.concatenate([phase.on_ns for phase in phases]) * _S
    busy = Busy.of(ran[:, 0], ran[:, 1])
    loads = [_level(one.seen, phases, "load") for one in ordered]
    return [
        _characteristic(one, busy, phases, loads[0] if place else None)
        for place, one in enumerate(ordered)
    ]


def _characteristic(
    metered: Metered, busy: Busy, phases: Sequence[Phase], main_w: float | None
) -> Characteristic:
    seen = metered.seen
    apart = np.diff(seen.end_s)
    idle, load = _level(seen, phases, "idle"), _level(seen, phases, "load")
    resting = _during(seen, phases, "idle")
    window_s, found = _followed(metered, seen, busy)
    is_counter = metered.channel.quantity == Quantity.ENERGY
    return Characteristic(
        key=metered.channel.key,
        label=metered.channel.label,
        quantity=metered.channel.quantity,
        update_s=tuple(float(np.percentile(apart, percent)) for percent in (50, 5, 95)),  # type: ignore[arg-type]
        window_s=None if is_counter else window_s,
        alignment=found,
        idle_w=idle,
        load_w=load,
        noise_w=float(resting.power_w.std()) if len(resting) > 2 else None,
        to_main=load / main_w if load is not None and main_w else None,
    )


def _followed(metered: Metered, seen: Observations, busy: Busy) -> tuple[float, Alignment]:
    """The window and the response that explain the readings best."""
    update_s = float(np.median(np.diff(seen.end_s)))
    plain = _aligned(seen, busy, _LAGS_S)
    if metered.channel.quantity == Quantity.ENERGY:
        return update_s, _aligned(seen, busy, (0.0,))
    best, window_s = plain, metered.channel.window_s or update_s
    for part in _WINDOWS:
        other_s = part * update_s
        moved = replace(seen, begin_s=seen.end_s - other_s)
        tried = _aligned(moved, busy, _LAGS_S)
        if tried.is_found and (not best.is_found or tried.left_w < _BETTER * best.left_w):
            best, window_s = tried, other_s
    return window_s, best


def _aligned(seen: Observations, busy: Busy, lags_s: Sequence[float]) -> Alignment:
    return aligned(
        seen, [busy], stated=Response(), furthest_s=_FURTHEST_S, lags_s=lags_s, block=_BLOCK
    )


def _during(seen: Observations, phases: Sequence[Phase], name: str) -> Observations:
    """Readings of a phase after it has settled."""
    phase = next((one for one in phases if one.name.startswith(name)), None)
    if phase is None:
        return seen.chosen(np.zeros(len(seen), np.bool_))
    settled = min(int(_SETTLED_S * _S_NS), (phase.end_ns - phase.begin_ns) // 4)
    return between(seen, phase.begin_ns + settled, phase.end_ns)


def _level(seen: Observations, phases: Sequence[Phase], name: str) -> float | None:
    inside = _during(seen, phases, name)
    span: Floats = inside.span_s
    return float((inside.power_w * span).sum() / span.sum()) if len(inside) else None
