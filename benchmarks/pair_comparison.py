"""Comparison of what traces of two devices say with the records that their programs wrote."""

import json
import traceback
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

import cltrace
from benchmarks.pair_energy import compare_energy
from benchmarks.pair_neighbour import compare_neighbour
from benchmarks.pair_scenarios import Scenario
from benchmarks.pair_trace import PairTrace
from cltrace.events.kinds import ClockState
from cltrace.report.clocks import worst_state
from cltrace.timeline.activity import KINDS
from cltrace.timeline.critical_path import StepKind
from cltrace.trace.commands import ABSENT

_MAX_APART: Final = 0.02
_MIN_TOGETHER: Final = 0.8


class Row(NamedTuple):
    """A check: the expected value, the trace's value, and whether they agree; `None` for a figure."""

    check: str
    expected: Any
    trace: Any
    agrees: bool | None


def compare_scenario(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the checks of a scenario as rows; a check that fails to run is a row, too."""
    rows: list[Row] = []
    if scenario.trace is None:
        rows += _guarded(lambda: compare_neighbour(json.loads(scenario.records[0].read_text())))
        return [row._asdict() for row in rows]
    try:
        records = [json.loads(path.read_text()) for path in scenario.records]
        with cltrace.load(scenario.trace) as trace:
            pair = PairTrace(trace, records)
            for compare in (
                _devices,
                _commands,
                _overlap,
                _advice,
                _clocks,
                _orders,
                _path,
                _moves,
            ):
                rows += _guarded(lambda compare=compare: compare(pair))
            rows += _guarded(lambda: compare_energy(pair))
    except Exception:  # noqa: BLE001 - a trace that is missing must not stop the others
        rows.append(
            Row("reading", "records and a trace", traceback.format_exc(limit=2), agrees=False)
        )
    return [Row(*row)._asdict() for row in rows]


def _guarded(compare: Callable[[], Any]) -> list[Row]:
    try:
        return [Row(*row) for row in compare()]
    except Exception:  # noqa: BLE001 - as above
        return [Row("comparison", "no exception", traceback.format_exc(limit=3), agrees=False)]


def _devices(pair: PairTrace) -> Iterator[Row]:
    """Compare PCI addresses and UUIDs with those that NVML has of the boards."""
    stored = {
        int(number): (str(bus or ""), str(uuid or ""))
        for number, bus, uuid in pair.trace.rows("SELECT device_id, bus, uuid FROM v_device")
    }
    for device in pair.devices:
        bus, uuid = stored[device.id]
        expected = device.facts["bus"], _plain(device.facts["uuid"])
        traced = bus, _plain(uuid)
        yield Row(f"{device.name}: address and UUID", expected, traced, traced == expected)


def _plain(uuid: str) -> str:
    return uuid.lower().removeprefix("gpu-").replace("-", "")


def _commands(pair: PairTrace) -> Iterator[Row]:
    """Compare the number of commands of each kind and kernel on each device, phase by phase."""
    commands = pair.activity.commands
    for phase in pair.phases:
        traced: dict[str, dict[str, int]] = {}
        for device in phase.devices:
            is_in = (commands.device == device.id) & phase.contains(commands.enter_ns)
            counts = traced.setdefault(str(device.number), {})
            for kind, kernel in zip(
                commands.kind[is_in].tolist(), commands.kernel[is_in].tolist(), strict=True
            ):
                name = KINDS[kind]
                name = f"kernel {pair.activity.names.kernels[kernel]}" if name == "kernel" else name
                counts[name] = counts.get(name, 0) + 1
        expected = phase.facts["commands"]
        yield Row(f"{phase.name}: commands by device", expected, traced, traced == expected)


def _overlap(pair: PairTrace) -> Iterator[Row]:
    """Compare the time in which both devices worked with what the program let them do."""
    for phase in pair.phases:
        expected = phase.facts.get("overlap")
        if expected is None:
            continue
        busy, both = pair.busy_ns(phase)
        share = both / max(min(busy), 1) if expected == "most" else both / max(*busy, 1)
        agrees = share >= _MIN_TOGETHER if expected == "most" else share <= _MAX_APART
        text = f"busy {busy[0] / 1e6:.2f} and {busy[1] / 1e6:.2f} ms, both {both / 1e6:.2f} ms"
        yield Row(f"{phase.name}: overlap", expected, text, agrees)


def _advice(pair: PairTrace) -> Iterator[Row]:
    """Compare where advice says that devices take turns with where nothing orders them."""
    for phase in pair.phases:
        expected = phase.facts.get("advice")
        if expected is None:
            continue
        file, first, last = phase.facts["lines"]
        traced = [
            f"{advice.rule} ×{advice.times}"
            for advice in pair.analysis.advice
            if advice.site.rpartition(":")[0].endswith(file)
            and first <= int(advice.site.rpartition(":")[2]) <= last
        ]
        has_rule = any(rule.startswith("devices-in-turns") for rule in traced)
        yield Row(f"{phase.name}: advice on turns", expected, traced, has_rule is expected)


def _clocks(pair: PairTrace) -> Iterator[Row]:
    for device in pair.devices:
        segments = pair.activity.clocks[device.id].segments
        state = worst_state(segments)
        longest = max(segments, key=lambda segment: segment.observations)
        text = (
            f"{state.value}, half-width {longest.half_width_ns:.0f} ns, bound "
            f"{max(segment.bound_ns for segment in segments):.0f} ns, drift "
            f"{longest.drift * 1e6:.2f} ± {longest.drift_within * 1e6:.2f} ppm, "
            f"{longest.observations} bounds, {longest.rejected} rejected, {len(segments)} pieces"
        )
        yield Row(f"{device.name}: clock", "proven", text, state is ClockState.PROVEN)


def _orders(pair: PairTrace) -> Iterator[Row]:
    """Compare starts with the ends of commands of the other device that they waited for."""
    commands, edges = pair.activity.commands, pair.activity.edges
    later, earlier = edges[:, 0], edges[:, 1]
    chosen = commands.device[later] != commands.device[earlier]
    chosen &= commands.is_placed[later] & commands.is_placed[earlier]
    later, earlier = later[chosen], earlier[chosen]
    if not len(later):
        return
    gap = commands.start_ns[later] - commands.end_ns[earlier]
    bound = commands.bound_ns[later] + commands.bound_ns[earlier]
    broken = int((gap < -bound).sum())
    text = (
        f"{broken} of {len(gap)} start earlier than the bounds allow; gap from {gap.min()} ns, "
        f"median {np.median(gap):.0f} ns, bounds together {np.median(bound):.0f} ns"
    )
    yield Row("starts after ends on the other device", 0, text, broken == 0)


def _path(pair: PairTrace) -> Iterator[Row]:
    """Compare the critical path of a pipeline over both devices with its kernels.

    The copies are not on it where the driver moves memory in the calls: the host is then.
    """
    for phase in pair.phases:
        if not phase.facts.get("path"):
            continue
        steps = [
            step
            for step in pair.analysis.critical_path
            if step.kind is StepKind.DEVICE and phase.begin_ns <= step.begin_ns < phase.end_ns
        ]
        commands = pair.activity.commands
        is_kernel = commands.is_kind("kernel")
        traced = {
            str(device.number): sum(
                bool(commands.device[step.command] == device.id and is_kernel[step.command])
                for step in steps
            )
            for device in phase.devices
        }
        expected = {
            number: sum(count for name, count in counts.items() if name.startswith("kernel"))
            for number, counts in phase.facts["commands"].items()
        }
        enough = all(traced[number] >= 0.9 * expected[number] for number in expected)
        share = sum(step.duration_ns for step in steps) / (phase.end_ns - phase.begin_ns)
        text = f"{traced}, {share:.1%} of the phase"
        yield Row(f"{phase.name}: kernels on the critical path by device", expected, text, enough)


def _moves(pair: PairTrace) -> Iterator[Row]:
    """Show rates of copies between devices, which depend on the machine."""
    commands = pair.activity.commands
    for phase in pair.phases:
        if "bytes" not in phase.facts:
            continue
        for kind in ("copy", "migrate", "read", "write", "kernel"):
            chosen = commands.is_kind(kind) & phase.contains(commands.enter_ns)
            for device in phase.devices:
                own = chosen & (commands.device == device.id) & (commands.duration_ns != ABSENT)
                took = commands.duration_ns[own]
                if len(took):
                    text = f"median {np.median(took) / 1e3:.1f} µs on {device.name}"
                    if kind != "kernel":
                        text += f", {phase.facts['bytes'] / max(np.median(took), 1):.1f} GB/s"
                    yield Row(f"{phase.name}: {kind}", phase.facts["bytes"], text, None)
