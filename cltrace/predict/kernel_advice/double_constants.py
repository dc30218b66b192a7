"""Rule about calculations in double precision that only constants cause."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.kernels.compiler import SOURCE_NAME
from cltrace.kernels.counts.traced_launches import TracedLaunch
from cltrace.predict.kernel_advice.model import Improvement, Variant
from cltrace.predict.kernel_advice.source_edits import without_comments
from cltrace.timeline.advice.model import Remedy, typical_count

_OPTION: Final = "-cl-single-precision-constant"
_LITERAL: Final = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?(?![\w.])")


def double_constants(launch: TracedLaunch, counts: KernelCounts) -> Sequence[Variant]:
    """Count a launch as if its constants were floats.

    Only where the kernel calculates with doubles, but neither reads nor writes them.
    """
    program = launch.program
    has_doubles = any(site.element.startswith("double") for site in counts.sites)
    if program is None or has_doubles or not _double_operations(counts):
        return ()
    options = (*program.options, _OPTION)
    source = without_comments(program.source).splitlines()

    def describe(before: KernelCounts, after: KernelCounts) -> Improvement | None:
        return _describe(before, after, source)

    return (Variant(replace(launch, program=replace(program, options=options)), describe),)


def _describe(
    before: KernelCounts, after: KernelCounts, source: Sequence[str]
) -> Improvement | None:
    removed = _double_operations(before) - _double_operations(after)
    if removed <= 0:
        return None
    line, literal = _find_literal(before, source)
    return Improvement(
        rule="double-constants",
        title=f"{before.kernel}: constants make calculations double",
        line=line,
        metrics=(
            typical_count(
                "operations of a work-item are double",
                round(removed / max(before.work_items, 1), 1),
            ),
        ),
        remedy=Remedy(
            f"Write constants as floats (M_PI_F for M_PI), or build with {_OPTION}.",
            f"x * {literal}" if literal else "",
            f"x * {literal}f" if literal else "",
        ),
        counts=after,
    )


def _double_operations(counts: KernelCounts) -> float:
    return sum(row.total for row in counts.folded if row.type == "double")


def _find_literal(counts: KernelCounts, source: Sequence[str]) -> tuple[str, str]:
    """Return the line with the most work that has a constant without a suffix, and it; "" without one."""
    lines = sorted(counts.lines, key=lambda line: -line.operations)
    for each in lines:
        if each.file == SOURCE_NAME and 0 < each.line <= len(source):
            literal = _LITERAL.search(source[each.line - 1])
            if literal is not None:
                return f"{each.file}:{each.line}", literal.group()
    return "", ""
