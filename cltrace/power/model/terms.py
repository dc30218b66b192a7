"""The energy of a run by its terms: `E_total = E_CPU + E_GPU + E_transfer`, measured and predicted.

Equation 6.1 of Piispanen, Timing and energy of accelerated processing (2014). A term that has no sensor
is not measured, one that has no model is not predicted: these are None, never 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.events.workloads import DIRECTION_OF, HostMemory
from cltrace.power.activity_shares import Response, within
from cltrace.power.energy import Source, TraceEnergy
from cltrace.power.load_classes import LoadKind, shared_seconds
from cltrace.power.model.fitting import IDLE, MODEL, WITHOUT, byte_name
from cltrace.profile import DeviceProfile, Parameter
from cltrace.trace.reader import Trace

CPU: Final = "E_CPU"
GPU: Final = "E_GPU"
TRANSFER: Final = "E_transfer"
TOTAL: Final = "E_total"
_COMPONENTS: Final = {CPU: "CPU", GPU: "GPU"}
_NO_SENSOR: Final = "no sensor"
_BYTES: Final = """
    SELECT c.kind, sum(c.size_bytes) FROM v_command c JOIN v_device d ON d.device_id = c.device_id
    WHERE d.name = :name AND c.kind != 'kernel' AND c.duration_ns > 0 GROUP BY c.kind
"""


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a run's energy in J, over the time with readings. `why` says what is missing of it.

    `within_j` is how far off `measured_j` may be, None where nothing tells.
    Transfers have what their device draws meanwhile, its rest included; all else that it draws is the
    device's own term.
    """

    name: str
    measured_j: float | None
    predicted_j: float | None
    why: str = ""
    within_j: float | None = None

    @property
    def quotient(self) -> float | None:
        """Predicted by measured."""
        if not self.measured_j or self.predicted_j is None:
            return None
        return self.predicted_j / self.measured_j


def terms_of(
    trace: Trace, found: TraceEnergy, profile: DeviceProfile, kernels_j: float | None
) -> tuple[Term, ...]:
    """The terms of a trace, and their sum last.

    `kernels_j` is what the kernels on the profile's device should add to rest in the time with readings,
    None where that of one of them is not known.
    """
    own, other = (CPU, GPU) if "CPU" in profile.device.kind.upper() else (GPU, CPU)
    mine = _Device.of(found, own, profile.device.name)
    energies = profile.parameters[MODEL]
    transfers = _transfers(trace, mine, profile.device.name, energies)
    terms = {
        own: _own(own, mine, energies, kernels_j),
        other: _other(found, other),
        TRANSFER: transfers,
    }
    ordered = [terms[name] for name in (CPU, GPU, TRANSFER)]
    return (*ordered, _total(ordered))


@dataclass(frozen=True, slots=True)
class _Device:
    """What the sensors of a device tell: its energy, that of its transfers, and times in s.

    `energy_j` is None without a sensor, `transfers_j` where not all transfers are told from other work;
    `within_j` and `transfers_within_j` are how far off they may be. `transfer_s` is how long transfers
    ran in the time with readings, `transfer_share` how much of all of them that is. `resident_s` and
    `empty_s` are the times with readings in which the program had a context, and in which it had none.
    """

    energy_j: float | None = None
    within_j: float = 0.0
    transfers_j: float | None = None
    transfers_within_j: float = 0.0
    transfer_s: float = 0.0
    transfer_share: float = 0.0
    resident_s: float = 0.0
    empty_s: float = 0.0

    @classmethod
    def of(cls, found: TraceEnergy, term: str, name: str) -> "_Device":
        """Of the devices of a name, each by the sensors of its component."""
        mine = [
            one
            for one in found.told
            if one.component == _COMPONENTS[term] and any(d.name == name for d in one.devices)
        ]
        if not any(one.covered_s for one in mine):
            return cls()
        # Sensors of one device are read at once: its time is that of the one that has most of it.
        longest: dict[tuple[int, ...], Source] = {}
        for one in sorted(mine, key=lambda source: source.covered_s):
            longest[tuple(n for d in one.devices for n in d.ids)] = one
        resident = [_resident(one, found.resident_s) for one in longest.values()]
        told = [one.attribution for one in mine if one.attribution is not None]
        moves = [line for one in told for line in one.lines if line.load.kind is LoadKind.TRANSFER]
        transfer_s = [_transfer_seconds(one) for one in longest.values()]
        seen_s = sum(covered for covered, _ in transfer_s)
        return cls(
            energy_j=sum(one.energy_j for one in mine),
            within_j=math.hypot(*(one.balance.measured_within_j for one in told)),
            transfers_j=sum(one.balance.transfers_j for one in told)
            if all(line.energy_j is not None for line in moves)
            else None,
            transfers_within_j=math.hypot(*(one.balance.transfers_within_j for one in told)),
            transfer_s=seen_s,
            transfer_share=seen_s / max(sum(whole for _, whole in transfer_s), 1e-12),
            resident_s=sum(resident),
            empty_s=sum(one.covered_s for one in longest.values()) - sum(resident),
        )


def _resident(source: Source, resident_s: tuple[float, float] | None) -> float:
    seen = source.seen
    if resident_s is None:
        return source.covered_s
    share = within(*resident_s).mean(seen.begin_s, seen.end_s, Response())
    return float((share * seen.span_s).sum())


def _transfer_seconds(source: Source) -> tuple[float, float]:
    """How long transfers ran in the time with readings, and in all; what runs at once shares it."""
    lines = source.attribution.lines if source.attribution else ()
    shared = zip(lines, shared_seconds([line.load for line in lines]), strict=True)
    mine = [(line, one) for line, one in shared if line.load.kind is LoadKind.TRANSFER]
    return sum(one * line.coverage for line, one in mine), sum(one for _, one in mine)


def _own(
    name: str, mine: _Device, energies: Mapping[str, Parameter], kernels_j: float | None
) -> Term:
    if mine.energy_j is None:
        return Term(name, None, None, _NO_SENSOR)
    measured = mine.energy_j - (mine.transfers_j or 0.0)
    within = math.hypot(mine.within_j, mine.transfers_within_j)
    if mine.transfers_j is None:
        return Term(name, measured, None, f"{TRANSFER} is in it, not told apart", within)
    if kernels_j is None:
        return Term(name, measured, None, "some of its kernels are not predicted", within)
    idle_w = energies[IDLE].value
    empty_w = energies[WITHOUT].value if WITHOUT in energies else idle_w
    rest = idle_w * (mine.resident_s - mine.transfer_s) + empty_w * mine.empty_s
    return Term(name, measured, rest + kernels_j, within_j=within)


def _other(found: TraceEnergy, name: str) -> Term:
    """The component that the model is not of."""
    mine = [one.energy_j for one in found.told if one.component == _COMPONENTS[name]]
    if not any(mine):
        return Term(name, None, None, _NO_SENSOR)
    return Term(name, sum(mine), None, "no model of it")


def _transfers(trace: Trace, mine: _Device, name: str, energies: Mapping[str, Parameter]) -> Term:
    """By bytes and direction. Host memory is taken for pageable, as it mostly is."""
    moved = trace.rows(_BYTES, {"name": name})
    measured, within, why = mine.transfers_j, mine.transfers_within_j, ""
    if mine.energy_j is None:
        why = _NO_SENSOR
    elif measured is None:
        why = "not told apart from other work"
    above_j = 0.0
    for kind, size_bytes in moved:
        direction = DIRECTION_OF.get(str(kind))
        known = energies.get(byte_name(f"{HostMemory.PAGEABLE} {direction}"))
        if known is None:
            why = why or f"no model of commands of the kind {kind}"
            return Term(TRANSFER, measured, None, why, within)
        above_j += known.value * (size_bytes or 0) * mine.transfer_share
    if why:
        return Term(TRANSFER, None, None, why)
    rest_j = energies[IDLE].value * mine.transfer_s
    return Term(TRANSFER, measured, above_j + rest_j, within_j=within)


def _total(terms: Sequence[Term]) -> Term:
    """The sum of the terms that are known; of the same ones in both, or there is no prediction."""
    measured = [one for one in terms if one.measured_j is not None]
    both = [one for one in measured if one.predicted_j is not None]
    within = [one.within_j for one in measured if one.within_j is not None]
    without = ", ".join(one.name for one in terms if one not in measured)
    return Term(
        TOTAL,
        sum(one.measured_j or 0.0 for one in measured) if measured else None,
        sum(one.predicted_j or 0.0 for one in both) if both and both == measured else None,
        f"without {without}" if without else "",
        math.hypot(*within) if measured and len(within) == len(measured) else None,
    )
