"""Kernels that have other names in a second trace: by their code, or by the line that launches them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

import numpy as np

from cltrace.predict.kernel_advice.source_edits import kernel_text, without_comments
from cltrace.timeline.advice.places import read_places
from cltrace.timeline.analysis import Analysis
from cltrace.trace.reader import Trace


class RenameReason(StrEnum):
    """Reason for which two kernels are taken for one that was renamed."""

    CODE = "same code"
    PLACE = "same line"
    """The same line launches them, and they take as many arguments."""


@dataclass(frozen=True, slots=True)
class Rename:
    """The names of a kernel in both traces."""

    before: str
    after: str
    reason: RenameReason

    @property
    def text(self) -> str:
        """Both names as one."""
        return f"{self.before} → {self.after}"


def find_renames(first: Analysis, second: Analysis) -> tuple[Rename, ...]:
    """Return the kernels that only the names tell apart.

    Both names are in one of the traces each. No other kernel of them has this code, or else this line.
    """
    launched = [_launched_kernels(analysis) for analysis in (first, second)]
    gone, new = launched[0].keys() - launched[1].keys(), launched[1].keys() - launched[0].keys()
    if not gone or not new:
        return ()
    by_code = _pairs(_codes(first.trace, gone), _codes(second.trace, new))
    gone -= by_code.keys()
    new -= set(by_code.values())
    by_place = _pairs(
        {name: launched[0][name] for name in gone}, {name: launched[1][name] for name in new}
    )
    return tuple(
        Rename(before, after, reason)
        for pairs, reason in ((by_code, RenameReason.CODE), (by_place, RenameReason.PLACE))
        for before, after in pairs.items()
    )


def _launched_kernels(analysis: Analysis) -> Mapping[str, Collection[object]]:
    """Return the lines that launch each kernel, by its name, with the number of its arguments."""
    commands, names = analysis.activity.commands, analysis.activity.names.kernels
    places = read_places(analysis.trace)
    counts = dict(
        analysis.trace.rows(
            "SELECT name, max(argument_count) FROM v_kernel WHERE argument_count > 0 GROUP BY name"
        )
    )
    launched: dict[str, set[object]] = {}
    pairs = np.unique(np.column_stack([commands.kernel, commands.site]), axis=0)
    for kernel, site in pairs[pairs[:, 0] > 0].tolist():
        lines = launched.setdefault(names[kernel], set())
        place = places.get(site)
        if place is not None and place.site:
            # The two programs may be in different directories.
            lines.add((PurePath(place.site).name, counts.get(names[kernel])))
    launched.pop("", None)
    return launched


def _codes(trace: Trace, names: Collection[str]) -> Mapping[str, Collection[object]]:
    """Return the code of each kernel in the programs that have it, without its name."""
    rows = trace.rows(
        "SELECT DISTINCT k.name, p.source FROM v_kernel k JOIN v_program p USING (program_id) "
        "WHERE p.source IS NOT NULL"
    )
    codes: dict[str, set[object]] = {name: set() for name in names}
    plain = {source: "" for name, source in rows if name in codes}
    for source in plain:
        plain[source] = without_comments(str(source))
    for name, source in rows:
        code = kernel_text(plain[source], str(name)) if name in codes else None
        if code is not None:
            codes[str(name)].add(code)
    return codes


def _pairs(
    first: Mapping[str, Collection[object]], second: Mapping[str, Collection[object]]
) -> dict[str, str]:
    """Return the names of both sides that have something in common, which no other name has."""
    owners = [_owners(side) for side in (first, second)]
    pairs: dict[str, set[str]] = {}
    for each in owners[0].keys() & owners[1].keys():
        for name in owners[0][each]:
            pairs.setdefault(name, set()).update(owners[1][each])
    partners: dict[str, set[str]] = {}
    for name, others in pairs.items():
        for other in others:
            partners.setdefault(other, set()).add(name)
    return {
        name: other
        for name, others in sorted(pairs.items())
        for other in others
        if len(others) == 1 and len(partners[other]) == 1
    }


def _owners(side: Mapping[str, Collection[object]]) -> Mapping[object, list[str]]:
    owners: dict[object, list[str]] = {}
    for name, values in side.items():
        for value in values:
            owners.setdefault(value, []).append(name)
    return owners
