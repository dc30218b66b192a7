"""Reports of domain iterations: where they should run, from which size on, and costs by type."""

from collections.abc import Sequence

from cltrace.domain.decisions import Decision, SizedDecision, winning_size
from cltrace.domain.iterations import Iteration
from cltrace.domain.place_times import RunPlace
from cltrace.kernels import KernelCounts
from cltrace.kernels.demand.cost_types import CostType, TypeCount, cost_types
from cltrace.predict.models.thesis import Thesis
from cltrace.profile import DeviceProfile
from cltrace.report.document import Column, Document, Fact, Table, Unit
from cltrace.report.quantities import value_text

_TIME_COLUMNS = (
    Column("time_ns", "time", Unit.NS),
    Column("low_ns", "at least", Unit.NS, 90),
    Column("high_ns", "at most", Unit.NS, 90),
)


def iteration_facts(iteration: Iteration, profile: DeviceProfile) -> list[Fact]:
    """Return the head of a report: the domain, the arguments, identifiers and the device."""
    tree = iteration.tree
    arrays = ", ".join(
        f"{array.name} {array.dtype}[{', '.join(map(str, array.shape))}]"
        for array in iteration.arguments.arrays.values()
    )
    needed = ", ".join(sorted(tree.needed))
    group = iteration.kernel(profile.device.max_group_items).group
    size = f"{group.global_items:,} in groups of {group.group_items:,}"
    elements = iteration.domain.elements
    return [
        Fact("domain", "domain", f"{iteration.domain}, {elements:,} elements", elements),
        Fact("arrays", "arrays", arrays or "none", arrays),
        Fact("identifiers", "identifiers", needed or "none", needed),
        Fact("result", "result", tree.result_dtype, tree.result_dtype),
        Fact("work_items", "work-items", size, group.global_items),
        Fact("device", "device", profile.device.name, profile.device.name),
    ]


def decision_report(
    iteration: Iteration,
    profile: DeviceProfile,
    decision: Decision,
    sizes: Sequence[SizedDecision],
) -> Document:
    """Return the predicted times at all places, and the size from which the device is faster."""
    facts = iteration_facts(iteration, profile)
    place = decision.place
    sure = "" if decision.is_certain else "; the intervals of host and device overlap"
    where = "device" if place is RunPlace.DEVICE else f"host, with {place}"
    facts.append(Fact("place", "run it on", f"the {where}{sure}", str(place)))
    tables = [_places(decision), _parts(decision)]
    if sizes:
        facts.append(_winning_fact(sizes))
        tables.append(_sizes(sizes))
    title = f"Where to run {iteration.function.name}"
    return Document(title=title, facts=facts, tables=tables, notes=_notes())


def _notes() -> list[str]:
    return [
        "times on the host are predicted from samples of positions that are computed here; times on the "
        "device from its profile, with transfers of what is not there yet"
    ]


def _winning_fact(sizes: Sequence[SizedDecision]) -> Fact:
    size = winning_size(sizes)
    largest = sizes[-1].domain.elements
    if size is None:
        text = f"at none of the sizes up to {largest:,} elements"
    elif size <= sizes[0].domain.elements:
        text = f"at all sizes from {sizes[0].domain.elements:,} elements on"
    else:
        text = (
            f"from about {size:,.3g} elements on"
            if size < 1e3
            else f"from about {round(size):,} elements on"
        )
    return Fact("winning_size", "device is faster", text, size)


def _places(decision: Decision) -> Table:
    rows = [(str(each.place), each.time_ns, *each.interval_ns) for each in decision.times]
    columns = (Column("place", "place"), *_TIME_COLUMNS)
    return Table(
        key="places", title="Predicted times, the fastest first", columns=columns, rows=rows
    )


def _parts(decision: Decision) -> Table:
    rows = [
        (part.name, part.time_ns, *part.interval_ns)
        for each in decision.times
        if each.place is RunPlace.DEVICE
        for part in each.parts
    ]
    columns = (Column("part", "part"), *_TIME_COLUMNS)
    return Table(key="parts", title="Parts of the time with the device", columns=columns, rows=rows)


def _sizes(sizes: Sequence[SizedDecision]) -> Table:
    places = [place for place in RunPlace if any(_time(each, place) is not None for each in sizes)]
    rows = [
        (
            str(each.domain),
            each.domain.elements,
            *(_time(each, place) for place in places),
            str(each.decision.place),
        )
        for each in sizes
    ]
    columns = (
        Column("domain", "domain", keep=80),
        Column("elements", "elements", Unit.COUNT),
        *(Column(f"{place.lower()}_ns", str(place), Unit.NS) for place in places),
        Column("place", "fastest"),
    )
    return Table(key="sizes", title="Predicted times by size", columns=columns, rows=rows)


def _time(sized: SizedDecision, place: RunPlace) -> float | None:
    times = [each.time_ns for each in sized.decision.times if each.place is place]
    return times[0] if times else None


def cost_report(
    iteration: Iteration, profile: DeviceProfile, counts: KernelCounts, costs: Thesis
) -> Document:
    """Return the costs of an iteration by type (Pöppl 2014, figure 6.1): all types, also absent ones."""
    present = {row.type: row for row in cost_types(counts)}
    rows = [present.get(cost_type, TypeCount(cost_type, 0.0)) for cost_type in CostType]
    group_items = counts.work_items // counts.groups
    times = costs.type_times(rows, counts.work_items, group_items)
    table = [(str(each.type), _round(each.per_item), each.time_ns) for each in times]
    total = sum(each.time_ns for each in times)
    return Document(
        title=f"Costs of {iteration.function.name}",
        facts=[
            *iteration_facts(iteration, profile),
            Fact("total_ns", "total", value_text(total, Unit.NS), total),
        ],
        tables=[
            Table(
                key="cost_types",
                title="Cost types",
                columns=(
                    Column("type", "cost type"),
                    Column("per_item", "in kernel", Unit.PLAIN),
                    Column("time_ns", "time", Unit.NS),
                ),
                rows=[*table, ("total", None, total)],
                note="as in Pöppl 2014, figure 6.1; repeated accesses count once, and are classed by "
                "their addresses",
            )
        ],
    )


def _round(value: float) -> float | int:
    return int(value) if value == int(value) else float(f"{value:.4g}")
