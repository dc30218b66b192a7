"""The time of moving data on a GPU: its memories and caches, with the time for which warps wait."""

from cltrace.predict.models.overlap.kept_parts import Constants, KeptParts
from cltrace.predict.models.overlap.latency import far_latency, latency
from cltrace.predict.models.overlap.level_times import (
    atomics_time,
    local_access_time,
    memory_read_time,
    memory_time,
    near_time,
    shared_read_time,
    shared_time,
    texel_time,
)
from cltrace.predict.models.overlap.parts import overlap


def moving_time(kept: KeptParts, costs: Constants, chains: float) -> float:
    """Return the time of the caches and memory with that of waiting. `chains` are waits for operations.

    Short work-groups wait, read and write in phases. These overlap with the phases of groups of other
    units, which share all levels but the near cache. What waits has its turn at the levels as well
    before it goes on: a warp, or its work-group where all of that wait together.
    """
    waits = kept.part(latency, costs) + chains
    levels = kept.part(levels_time, costs)
    if not levels:
        return waits
    separation, waiting = kept.part(_separation, costs), kept.part(_waiting_separation, costs)
    near = (kept.part(near_time, costs) / levels) ** 2
    apart = 1.0 + (costs["p phases"] - 1.0) * (1.0 - near)
    together = 1.0 + (kept.demand.group_warps - 1.0) * waiting * (1.0 - 1.0 / apart)
    turn = levels / max(kept.demand.unit_warps / together, 1.0)
    waits += waiting * _loaded_wait(kept, costs, levels)
    share = (kept.part(memory_time, costs) / levels) ** 2
    mixed = costs["p near"] + (costs["p waiting"] - costs["p near"]) * share
    return overlap((levels, waits + turn), mixed + (apart - mixed) * separation)


def levels_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time of local memory, caches, memory and atomic operations, where nothing waits."""
    parts = (_unit_time, shared_time, memory_time, atomics_time)
    return overlap(tuple(kept.part(part, costs) for part in parts), costs["p levels"])


def local_share(kept: KeptParts, costs: Constants) -> float:
    """Return how far local memory limits the moving of data while others compute, from 0 to 1.

    Between barriers, all warps of a work-group access it, and then all compute.
    """
    levels = kept.part(levels_time, costs)
    if not levels:
        return 0.0
    demand = kept.demand
    barriers = min(demand.barriers / demand.warps / max(demand.accesses, 1.0), 1.0)
    return (kept.part(local_access_time, costs) / levels) ** 2 * (1.0 - barriers)


def texel_share(kept: KeptParts, costs: Constants) -> float:
    """Return how far units that read images limit the moving of data, from 0 to 1."""
    levels = kept.part(levels_time, costs)
    return (kept.part(texel_time, costs) / levels) ** 2 if levels else 0.0


def _unit_time(kept: KeptParts, costs: Constants) -> float:
    """Return the time of a compute unit's own memory: its near cache is a part of its local memory."""
    return kept.part(near_time, costs) + kept.part(local_access_time, costs)


def _loaded_wait(kept: KeptParts, costs: Constants, levels: float) -> float:
    """Return by how much longer reads wait beyond the near cache, as there are others.

    They do so as far as reads keep the shared cache or memory busy.
    """
    far = kept.part(far_latency, costs)
    reads = max(kept.part(memory_read_time, costs), kept.part(shared_read_time, costs))
    busy = levels / max(levels, far)
    return far * costs["loaded"] * min(reads / levels, 1.0) * busy**2


def _separation(kept: KeptParts, costs: Constants) -> float:
    """Return the separation of the phases of a work-group's life, from 0 (they overlap) to 1.

    Work-groups begin together, and read and write with their neighbours. Those that make more than
    `phases` accesses drift apart.
    """
    return min(1.0, costs["phases"] / max(kept.demand.accesses, 1.0))


def _waiting_separation(kept: KeptParts, costs: Constants) -> float:
    """Return the separation of phases in which all warps wait, for memory or at a barrier."""
    demand = kept.demand
    waits = demand.rounds + demand.barriers / demand.warps
    return kept.part(_separation, costs) * min(waits, 1.0)
