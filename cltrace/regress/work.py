"""What the kernels of a run had to do, counted from their source: exact on a machine however noisy.

Counted for a warp of 32 lanes, whatever device ran: counts of a laptop, of a runner and of a GPU compare.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cltrace.errors import KernelError
from cltrace.kernels import KernelCounts, Machine
from cltrace.kernels.compiler import Compiler
from cltrace.kernels.compiler.clang import find_clang
from cltrace.kernels.counts.records import AccessSite
from cltrace.kernels.counts.traced_launches import TracedCounts, TracedLaunch, traced_launches
from cltrace.trace.reader import Trace
from cltrace.version import __version__

_MOST_CONFIGURATIONS: Final = 512
"""So many configurations of launches are counted at most, those launched most often first."""
_STANDARD_ERRORS: Final = 4.0
_ROUNDING: Final = 1e-9


class WorkKind(StrEnum):
    """What is counted of a kernel. More of any of them is worse."""

    OPERATIONS = "operations"
    TRANSACTIONS = "memory transactions"
    """Sectors of 32 bytes that requests to global and constant memory touch."""
    LOCAL_ROUNDS = "local memory rounds"
    """Rounds that the banks of local memory need: more where lanes meet in one."""


@dataclass(frozen=True, slots=True, order=True)
class WorkKey:
    """A kernel with the global size of its launches, as a JSON array: on any device."""

    kernel: str
    global_size: str

    def __str__(self) -> str:
        return f"{self.kernel} {self.global_size}".strip()


@dataclass(frozen=True, slots=True)
class Amount:
    """How much launches of a kernel had to do, with the standard error of sampling work-groups.

    `doubt` says why it is not certain, "" where it is: work that depends on contents which are not known
    is assumed, and fails nothing.
    """

    total: float
    standard_error: float
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class KernelWork:
    """What a kernel had to do in so many launches of a run."""

    launches: int
    amounts: Mapping[WorkKind, Amount]


@dataclass(frozen=True, slots=True)
class RunWork:
    """The work of a run, and what could not be counted, with why. `compiler` is that of the counting."""

    compiler: str
    kernels: Mapping[WorkKey, KernelWork]
    refused: Mapping[WorkKey, str]


@dataclass(frozen=True, slots=True)
class WorkDifference:
    """What a launch of a kernel has to do, in the mean of a run, where base and head differ.

    `doubt` says why this fails nothing, "" where it does.
    """

    key: WorkKey
    kind: WorkKind
    base: float
    head: float
    doubt: str

    @property
    def is_worse(self) -> bool:
        """Whether there is more of it, beyond doubt."""
        return self.head > self.base and not self.doubt


def work_of(trace: Trace) -> RunWork | None:
    """What the launches of a trace had to do; None without a compiler. Raises: `TraceError`."""
    try:
        compiler = f"clang {find_clang().version}, cltrace {__version__}"
    except KernelError:
        return None
    counting = TracedCounts(Machine(), Compiler())
    found: dict[WorkKey, list[tuple[TracedLaunch, KernelCounts]]] = {}
    refused: dict[WorkKey, str] = {}
    launches = sorted(traced_launches(trace), key=lambda one: -one.calls)
    for number, launch in enumerate(launches):
        key = WorkKey(launch.kernel, str(list(launch.global_size)))
        if number >= _MOST_CONFIGURATIONS:
            refused[key] = f"it is not among the {_MOST_CONFIGURATIONS} launched most often"
            continue
        try:
            found.setdefault(key, []).append((launch, counting.count(launch)[1]))
        except (KernelError, MemoryError) as error:
            refused[key] = str(error) or type(error).__name__
    for key in refused:  # a part of a kernel's launches says nothing of it
        found.pop(key, None)
    kernels = {key: _summed(counted) for key, counted in sorted(found.items()) if counted}
    return RunWork(compiler, kernels, dict(sorted(refused.items())))


def work_differences(base: RunWork, head: RunWork) -> tuple[WorkDifference, ...]:
    """Where a launch has another amount of work to do; of kernels that both sides have."""
    doubt = ""
    if base.compiler != head.compiler:
        doubt = f"base was counted with {base.compiler}, head with {head.compiler}"
    found = []
    for key, one in base.kernels.items():
        other = head.kernels.get(key)
        if other is not None:
            found += list(_differences(key, one, other, doubt))
    return tuple(found)


def steady_work(runs: Sequence[RunWork]) -> RunWork | None:
    """The work of runs of one side; where they differ it is in doubt. None without runs."""
    if not runs:
        return None
    first, *others = runs
    kernels = {}
    for key, one in first.kernels.items():
        if not all(_is_same(one, other.kernels.get(key)) for other in others):
            doubt = "it differs from run to run"
            amounts = {kind: replace(amount, doubt=doubt) for kind, amount in one.amounts.items()}
            one = replace(one, amounts=amounts)
        kernels[key] = one
    return RunWork(first.compiler, kernels, first.refused)


def amounts_of(counts: KernelCounts) -> Mapping[WorkKind, Amount]:
    """How much one launch has to do."""
    outside = [one for one in counts.sites if one.space in {"global", "constant"}]
    inside = [one for one in counts.sites if one.space == "local"]
    sites = {WorkKind.TRANSACTIONS: outside, WorkKind.LOCAL_ROUNDS: inside}
    parts = {
        WorkKind.OPERATIONS: [one.total for one in counts.operations],
        WorkKind.TRANSACTIONS: [one.sectors for one in outside],
        WorkKind.LOCAL_ROUNDS: [one.bank_cycles for one in inside],
    }
    # Errors of one sample of groups go the same way: they add up.
    return {
        kind: Amount(
            sum(one.value for one in mine),
            sum(one.standard_error for one in mine),
            _doubt(counts, sites.get(kind, ())),
        )
        for kind, mine in parts.items()
    }


def _doubt(counts: KernelCounts, sites: Sequence[AccessSite]) -> str:
    """Why what is done, and at some sites, is not certain; "" where it is."""
    known = [one.place for one in counts.sites if one.is_assumed]
    here = [one.place for one in sites if one.is_assumed]
    for one in counts.assumptions:
        # An address that is not known leaves all else as it is.
        if one.place not in known or one.place in here:
            return f"assumed: {one.what} (line {one.place.line})"
    if any(one.is_assumed for one in counts.branches):
        return "assumed: a branch depends on contents that are not known"
    if any(one.is_assumed or (one.extrapolated and not one.is_exact) for one in counts.loops):
        return "assumed: a loop is counted from a part of it"
    return ""


def _summed(counted: Sequence[tuple[TracedLaunch, KernelCounts]]) -> KernelWork:
    found = dict.fromkeys(WorkKind, Amount(0.0, 0.0))
    for launch, counts in counted:
        for kind, one in amounts_of(counts).items():
            sofar = found[kind]
            found[kind] = Amount(
                sofar.total + launch.calls * one.total,
                sofar.standard_error + launch.calls * one.standard_error,
                sofar.doubt or one.doubt,
            )
    return KernelWork(sum(launch.calls for launch, _ in counted), found)


def _differences(
    key: WorkKey, base: KernelWork, head: KernelWork, doubt: str = ""
) -> Sequence[WorkDifference]:
    found = []
    for kind in WorkKind:
        one, other = _per_launch(base, kind), _per_launch(head, kind)
        apart = abs(other.total - one.total)
        if apart <= _ROUNDING * max(one.total, other.total):
            continue
        error = _STANDARD_ERRORS * (one.standard_error + other.standard_error)
        why = doubt or one.doubt or other.doubt
        if not why and apart <= error:
            why = "within what sampling work-groups leaves open"
        if not why and other.total > one.total and not _has_more_in_all(base, head, kind):
            why = "a run has no more of it in all"
        found.append(WorkDifference(key, kind, one.total, other.total, why))
    return found


def _has_more_in_all(base: KernelWork, head: KernelWork, kind: WorkKind) -> bool:
    """Whether a run of head does more of it, all launches together."""
    return head.amounts[kind].total > base.amounts[kind].total * (1 + _ROUNDING)


def _is_same(one: KernelWork, other: KernelWork | None) -> bool:
    return other is not None and not _differences(WorkKey("", ""), one, other)


def _per_launch(work: KernelWork, kind: WorkKind) -> Amount:
    amount = work.amounts.get(kind, Amount(0.0, 0.0))
    launches = max(work.launches, 1)
    return Amount(amount.total / launches, amount.standard_error / launches, amount.doubt)
