"""Ballots of sub-groups: which lanes they name, seen by the stores behind a comparison of theirs."""

import pytest

from cltrace.kernels import BufferArgument, Machine, count, parse

ITEMS = 128


def stores(condition: str, guard: str = "1") -> float:
    """Return the work-items that store where a ballot meets a condition."""
    source = f"""
    #pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
    kernel void k(global int *out) {{
        uint lane = get_sub_group_local_id();
        if ({guard}) {{ if ({condition}) out[get_global_id(0)] = 1; }}
    }}"""
    program = parse(source, "-cl-std=CL3.0")
    machine = Machine(compute_units=1)
    counts = count(program, "k", (ITEMS,), (64,), [BufferArgument(4 * ITEMS)], machine=machine)
    return sum(site.accesses.value for site in counts.sites if site.space == "global")


@pytest.mark.parametrize(
    ("condition", "guard", "expected"),
    [
        ("sub_group_ballot(lane & 1).x == 0xaaaaaaaa", "1", ITEMS),
        ("sub_group_ballot(lane & 1).x == 0x55555555", "1", 0),
        ("sub_group_ballot(1).x == 0xffffffff", "1", ITEMS),
        ("sub_group_ballot(1).y != 0", "1", 0),
        ("sub_group_ballot(lane < 4).x == 0xf", "1", ITEMS),
        ("sub_group_ballot(1).x == 0xff00", "lane >= 8 && lane < 16", ITEMS // 4),
    ],
)
def test_a_ballot_names_the_lanes(condition: str, guard: str, expected: int) -> None:
    assert stores(condition, guard) == expected
