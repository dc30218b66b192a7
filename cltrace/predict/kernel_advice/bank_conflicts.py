"""Rule about lanes that access the same bank of local memory at different addresses."""

from dataclasses import replace
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.records import AccessSite
from cltrace.kernels.machine import Machine
from cltrace.predict.kernel_advice.edits import certain, with_sites
from cltrace.predict.kernel_advice.model import Improvement
from cltrace.timeline.advice.model import Remedy, typical_count

_MIN_EXCESS: Final = 1.5


def bank_conflicts(counts: KernelCounts) -> Improvement | None:
    """Find accesses of local memory that take more cycles than their bytes need."""
    machine = counts.machine
    conflicting = {
        position: site
        for position, site in enumerate(counts.sites)
        if site.space == "local"
        and not site.is_assumed
        and site.bank_cycles.value >= _MIN_EXCESS * _needed_cycles(site, machine) > 0
    }
    if not conflicting:
        return None
    worst = max(conflicting.values(), key=lambda site: site.bank_cycles.value)
    cycles = worst.bank_cycles.value / max(worst.requests.value, 1e-9)
    return Improvement(
        rule="bank-conflicts",
        title=f"{counts.kernel}: lanes of a warp access the same banks of '{worst.memory}'",
        line=str(worst.place),
        metrics=(
            typical_count("cycles of the banks for a warp's access", round(cycles, 1)),
            typical_count(
                "would do",
                round(_needed_cycles(worst, machine) / max(worst.requests.value, 1e-9), 1),
            ),
        ),
        remedy=Remedy(
            "Pad the rows of the array, or let neighbouring work-items access neighbouring elements.",
            "local float tile[32][32];",
            "local float tile[32][33];",
        ),
        counts=with_sites(
            counts,
            {
                position: replace(site, bank_cycles=certain(_needed_cycles(site, machine)))
                for position, site in conflicting.items()
            },
        ),
    )


def _needed_cycles(site: AccessSite, machine: Machine) -> float:
    """Return the cycles for all requests where all banks work: more than one for wide elements."""
    lanes = site.accesses.value / max(site.requests.value, 1e-9)
    per_cycle = machine.banks * machine.bank_bytes
    return site.requests.value * max(lanes * site.access_bytes / per_cycle, 1.0)
