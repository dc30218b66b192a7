"""Characterisation of sensors: their readings of work that is switched on and off.

After Yang, Adamek, Armour, Accurate and Convenient Energy Measurements for GPUs (SC24): square waves of
several periods determine the averaging window of a value, its delay and its time constant. The power of
two channels of the same measurand under load, and the steps of a counter, show whether they are reliable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.events.power import Quantity
from cltrace.power.activity_shares import ActiveTime, SensorResponse
from cltrace.power.mean_power import Floats, Observations
from cltrace.power.metering import MeteredChannel, select_between
from cltrace.power.sensor_response import ResponseFit, align
from cltrace.profile import Parameter
from cltrace.timeline.columns import Int64s

PERIODS_S: Final = (0.03, 0.05, 0.07, 0.13, 0.21, 0.37)
"""Periods of the square waves. The work is on for half of a period."""
_S: Final = 1e-9
_S_NS: Final = 1_000_000_000
_WINDOWS: Final = (0.25, 0.5, 1.0, 1.25, 2.0, 5.0, 10.0, 50.0)
"""Windows to try, as multiples of the time between updates."""
_LAGS_S: Final = (0.0, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.3)
_MAX_SHIFT_S: Final = 0.3
_BLOCK: Final = 5
_SETTLING_S: Final = 1.0
_WINDOW_IMPROVEMENT: Final = 0.97
"""Another window is accepted if its residual is below this share of the best so far."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Phase of a characterisation, in ns of the host. `on_ns` (n, 2) are the intervals of work."""

    name: str
    begin_ns: int
    end_ns: int
    on_ns: Int64s


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorCharacteristic:
    """Characteristics of a channel.

    `update_s` is the median time between two updates with its 5th and 95th percentile, and `window_s` the
    averaging window of a value, `None` for a counter. `idle_w` and `load_w` are its power at rest and
    under load, and `noise_w` the standard deviation at rest. `to_main` is its power under load relative
    to the channel with most readings, `None` for this channel itself.
    """

    key: str
    label: str
    quantity: str
    update_s: tuple[float, float, float]
    window_s: float | None
    alignment: ResponseFit
    idle_w: float | None
    load_w: float | None
    noise_w: float | None
    to_main: float | None


SENSORS: Final = "sensors"
"""Name of the characteristics of the device's sensors in a profile."""


def to_parameters(sensors: Sequence[SensorCharacteristic]) -> dict[str, Parameter]:
    """Return parameters of a profile, named after the last part of a channel's key and the property."""
    parameters: dict[str, Parameter] = {}
    for sensor in sensors:
        channel = sensor.key.rpartition(":")[2]
        alignment = sensor.alignment
        response = alignment.response if alignment.is_measured else None
        values = {
            "update": (sensor.update_s[0], "s", (sensor.update_s[2] - sensor.update_s[1]) / 2),
            "window": (sensor.window_s, "s", 0.0),
            "delay": (response.delay_s if response else None, "s", alignment.within_s),
            "lag": (response.lag_s if response else None, "s", alignment.lag_within_s),
            "noise": (sensor.noise_w, "W", 0.0),
            "to first": (sensor.to_main, "", 0.0),
        }
        for name, (value, unit, error) in values.items():
            if value is not None:
                parameter = Parameter(float(value), unit, float(error), sensor.quantity)
                parameters[f"{channel} {name}"] = parameter
    return parameters


def run_phases(
    run_for: Callable[[float], tuple[int, int]],
    rest_for: Callable[[float], None],
    clock: Callable[[], int],
    *,
    square_s: float,
    load_s: float,
    report: Callable[[str], None],
) -> list[Phase]:
    """Run a characterisation: rest, square waves, a load, rest.

    `run_for` keeps the device busy for some seconds and returns the begin and end in ns.
    """
    phases: list[Phase] = []

    def add_phase(name: str, run: Callable[[], list[tuple[int, int]]]) -> None:
        report(name)
        begin_ns = clock()
        on = run()
        phases.append(Phase(name, begin_ns, clock(), np.array(on, np.int64).reshape(-1, 2)))

    def idle(seconds: float) -> list[tuple[int, int]]:
        rest_for(seconds)
        return []

    def square_wave(period_s: float) -> list[tuple[int, int]]:
        on = []
        until = clock() + int(square_s * _S_NS)
        while clock() < until:
            on.append(run_for(period_s / 2))
            rest_for(period_s / 2)
        return on

    add_phase("idle", lambda: idle(load_s / 2))
    for period_s in PERIODS_S:
        name = f"square {period_s * 1000:.0f} ms"
        add_phase(name, lambda period_s=period_s: square_wave(period_s))  # type: ignore[misc]
    add_phase("load", lambda: [run_for(load_s)])
    add_phase("tail", lambda: idle(load_s / 2))
    return phases


def characterise_channels(
    metered: Sequence[MeteredChannel], phases: Sequence[Phase]
) -> list[SensorCharacteristic]:
    """Return the characteristics of each channel, the channel with most readings first."""
    usable = [each for each in metered if len(each.observations) > 2]
    ordered = sorted(usable, key=lambda each: float(np.median(np.diff(each.observations.end_s))))
    on_s = np.concatenate([phase.on_ns for phase in phases]) * _S
    activity = ActiveTime.of(on_s[:, 0], on_s[:, 1])
    main_w = _mean_power(ordered[0].observations, phases, "load") if ordered else None
    return [
        _characterise(each, activity, phases, main_w if place else None)
        for place, each in enumerate(ordered)
    ]


def _characterise(
    metered: MeteredChannel, activity: ActiveTime, phases: Sequence[Phase], main_w: float | None
) -> SensorCharacteristic:
    channel, observations = metered.channel, metered.observations
    spacing_s = np.diff(observations.end_s)
    load_w = _mean_power(observations, phases, "load")
    at_rest = _settled(observations, phases, "idle")
    window_s, alignment = _fit_window(metered, activity)
    return SensorCharacteristic(
        key=channel.key,
        label=channel.label,
        quantity=channel.quantity,
        update_s=tuple(float(np.percentile(spacing_s, percent)) for percent in (50, 5, 95)),  # type: ignore[arg-type]
        window_s=None if channel.quantity == Quantity.ENERGY else window_s,
        alignment=alignment,
        idle_w=_mean_power(observations, phases, "idle"),
        load_w=load_w,
        noise_w=float(at_rest.power_w.std()) if len(at_rest) > 2 else None,
        to_main=load_w / main_w if load_w is not None and main_w else None,
    )


def _fit_window(metered: MeteredChannel, activity: ActiveTime) -> tuple[float, ResponseFit]:
    """Return the averaging window and the response that explain the readings best."""
    observations = metered.observations
    update_s = float(np.median(np.diff(observations.end_s)))
    if metered.channel.quantity == Quantity.ENERGY:
        return update_s, _align(observations, activity, (0.0,))
    best = _align(observations, activity, _LAGS_S)
    window_s = metered.channel.window_s or update_s
    for multiple in _WINDOWS:
        other_s = multiple * update_s
        windowed = replace(observations, begin_s=observations.end_s - other_s)
        alignment = _align(windowed, activity, _LAGS_S)
        if alignment.is_measured and (
            not best.is_measured or alignment.residual_w < _WINDOW_IMPROVEMENT * best.residual_w
        ):
            best, window_s = alignment, other_s
    return window_s, best


def _align(
    observations: Observations, activity: ActiveTime, lags_s: Sequence[float]
) -> ResponseFit:
    return align(
        observations,
        [activity],
        declared=SensorResponse(),
        max_shift_s=_MAX_SHIFT_S,
        lags_s=lags_s,
        block=_BLOCK,
    )


def _settled(observations: Observations, phases: Sequence[Phase], name: str) -> Observations:
    """Return the readings of a phase, without those before it has settled."""
    phase = next((phase for phase in phases if phase.name.startswith(name)), None)
    if phase is None:
        return observations.select(np.zeros(len(observations), np.bool_))
    settling_ns = min(int(_SETTLING_S * _S_NS), (phase.end_ns - phase.begin_ns) // 4)
    return select_between(observations, phase.begin_ns + settling_ns, phase.end_ns)


def _mean_power(observations: Observations, phases: Sequence[Phase], name: str) -> float | None:
    settled = _settled(observations, phases, name)
    span: Floats = settled.span_s
    return float((settled.power_w * span).sum() / span.sum()) if len(settled) else None
