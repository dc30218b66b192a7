"""Comparison of the energies of a trace with the boards' own counters, which the program read."""

from collections.abc import Iterator
from typing import Any, Final

from benchmarks.pair_trace import PairDevice, PairTrace
from cltrace.power.channels import read_channels
from cltrace.power.energy import EnergySource, energy_of

_MAX_OFF: Final = 0.02
_S: Final = 1e-9

_Row = tuple[str, Any, Any, bool | None]


def compare_energy(pair: PairTrace) -> Iterator[_Row]:
    """Yield the energies of each board by phase, of the whole, and of the kernels of each device."""
    phases = [phase for phase in pair.phases if "counters" in phase.facts]
    if not phases:
        return
    energy = energy_of(pair.trace, pair.activity)
    for device in pair.devices:
        sources = [
            source
            for source in energy.all_sources
            if any(device.id in metered.ids for metered in source.devices)
        ]
        if not sources:
            yield f"{device.name}: sensor", device.facts["uuid"], "none", False
            continue
        keys = [source.channel.key for source in sources]
        is_right = any(device.facts["uuid"] in key for key in keys)
        yield f"{device.name}: sensor by UUID", device.facts["uuid"], keys, is_right
        yield from _phases(pair, device, sources[0])
        yield from _kernels(device, sources[0])


def _phases(pair: PairTrace, device: PairDevice, source: EnergySource) -> Iterator[_Row]:
    """Yield the energy between steps of the counter in each phase, and over all of them."""
    number = str(device.number)
    origin = next(iter(pair.activity.axis.origin_host_ns.values()))
    phases = [
        phase
        for phase in pair.phases
        if device in phase.devices and number in phase.facts.get("counters", {})
    ]
    spans = [(phase.name, *phase.facts["counters"][number]) for phase in phases]
    if len(spans) > 1:
        spans.append(("all phases", spans[0][1], spans[-1][2]))
    for name, (begin_ns, begin_mj), (end_ns, end_mj) in spans:
        expected = (end_mj - begin_mj) * 1e-3
        times_s = (begin_ns - origin) * _S, (end_ns - origin) * _S
        ring = source.observations.energy_between_j(*times_s)
        counter = _counter_between_j(pair, device, times_s)
        off = ring / expected - 1 if expected else float("nan")
        seconds = times_s[1] - times_s[0]
        text = (
            f"{ring:.2f} J of {source.channel.label} ({off:+.2%}), {counter:.2f} J of its counter"
        )
        expected_text = f"{expected:.2f} J in {seconds:.2f} s, {expected / seconds:.1f} W"
        yield f"{device.name}, {name}: energy", expected_text, text, abs(off) <= _MAX_OFF


def _counter_between_j(pair: PairTrace, device: PairDevice, times_s: tuple[float, float]) -> float:
    for readings in read_channels(pair.trace, pair.activity.axis):
        channel = readings.channel
        if channel.quantity == "energy" and device.facts["uuid"] in channel.key:
            return readings.observations.energy_between_j(*times_s)
    return float("nan")


def _kernels(device: PairDevice, source: EnergySource) -> Iterator[_Row]:
    """Yield the balance of a board, and its kernels' power, whose devices must be its own."""
    attribution = source.attribution
    if attribution is None:
        yield f"{device.name}: attribution", "energies of kernels", "none", False
        return
    balance = attribution.balance
    parts = (
        balance.kernels_j + balance.transfers_j + balance.unresolved_j + balance.tail_j
        + balance.idle_j + balance.unattributed_j
    )  # fmt: skip
    text = (
        f"kernels {balance.kernels_j:.1f}, transfers {balance.transfers_j:.1f}, unresolved "
        f"{balance.unresolved_j:.1f}, tail {balance.tail_j:.1f}, idle {balance.idle_j:.1f}, "
        f"unattributed {balance.unattributed_j:.1f}"
    )
    sums_up = abs(parts - balance.measured_j) <= 0.001 * balance.measured_j
    yield f"{device.name}: balance", f"{balance.measured_j:.1f} J measured", text, sums_up
    for check in source.checks:
        ratio = f"{check.ratio:.4f}, under load {check.loaded_ratio}"
        is_near = abs(check.ratio - 1) <= _MAX_OFF
        yield f"{device.name}: counter by ring", 1, ratio, is_near
    for line in attribution.lines:
        if line.energy_j is None:
            continue
        own = line.load.device == device.id
        text = f"{line.energy_j:.2f} ± {line.within_j:.2f} J, {line.power_w:.1f} W, {line.tier}"
        yield f"{device.name}: {line.load.name}", f"{len(line.load)} on it", text, own
