"""Work of the kernels of a run, counted from their source: exact, however noisy the machine.

Counts are for a warp of 32 lanes, whatever device ran: counts of a laptop, a CI runner and a GPU are
comparable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cltrace.errors import KernelError
from cltrace.kernels import KernelCounts, Machine
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.compiler.clang import find_clang
from cltrace.kernels.counts.records import AccessSite
from cltrace.kernels.counts.traced_launches import (
    TracedLaunch,
    traced_launches,
)
from cltrace.kernels.launches.counter import TracedLaunchCounter
from cltrace.trace.reader import Trace
from cltrace.version import __version__

_MAX_CONFIGURATIONS: Final = 512
"""At most this number of configurations of launches is counted, those with the most launches first."""
_MAX_STANDARD_ERRORS: Final = 4.0
_ROUNDING: Final = 1e-9


class WorkKind(StrEnum):
    """Kind of work of a kernel. An increase of any of them is a regression."""

    OPERATIONS = "operations"
    TRANSACTIONS = "memory transactions"
    """Sectors of 32 bytes that requests to global and constant memory touch."""
    LOCAL_ROUNDS = "local memory rounds"
    """Rounds that the banks of local memory need: more where lanes conflict in a bank."""


@dataclass(frozen=True, slots=True, order=True)
class SizedKernel:
    """A kernel with the global size of its launches, as a JSON array, on any device."""

    kernel: str
    global_size: str

    def __str__(self) -> str:
        return f"{self.kernel} {self.global_size}".strip()


def parse_sized_kernel(text: str) -> SizedKernel:
    """Return the kernel that `text` names, the inverse of `str`."""
    if text.startswith("["):
        return SizedKernel("", text)
    kernel, bracket, size = text.rpartition(" [")
    return SizedKernel(kernel, f"[{size}") if bracket else SizedKernel(text, "")


@dataclass(frozen=True, slots=True)
class Amount:
    """Amount of work of a kernel's launches, with the standard error of sampling work-groups.

    `doubt` says why the amount is uncertain, "" where it is exact. Work that depends on unknown contents
    is assumed, and cannot fail a check.
    """

    total: float
    standard_error: float
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class KernelWork:
    """Work of all launches of a kernel in a run."""

    launches: int
    amounts: Mapping[WorkKind, Amount]


@dataclass(frozen=True, slots=True)
class RunWork:
    """Work of a run. `refused` are kernels that could not be counted, with the reason.

    `compiler` is the compiler that read the sources, with the version of cltrace.
    """

    compiler: str
    kernels: Mapping[SizedKernel, KernelWork]
    refused: Mapping[SizedKernel, str]


@dataclass(frozen=True, slots=True)
class WorkDifference:
    """Mean work per launch of a kernel, where base and head differ.

    `doubt` says why an increase does not fail the check, "" where it does.
    """

    key: SizedKernel
    kind: WorkKind
    base: float
    head: float
    doubt: str

    @property
    def is_worse(self) -> bool:
        """True for an increase beyond doubt."""
        return self.head > self.base and not self.doubt


def count_work(trace: Trace) -> RunWork | None:
    """Count the work of a trace's launches; None without a compiler. Raises: `TraceError`."""
    try:
        compiler = f"clang {find_clang().version}, cltrace {__version__}"
    except KernelError:
        return None
    counting = TracedLaunchCounter(Machine(), forms=frozenset({CodeForm.OPTIMISED}))
    counted: dict[SizedKernel, list[tuple[TracedLaunch, KernelCounts]]] = {}
    refused: dict[SizedKernel, str] = {}
    launches = sorted(traced_launches(trace), key=lambda launch: -launch.calls)
    counting.count_all(launches[:_MAX_CONFIGURATIONS])
    for number, launch in enumerate(launches):
        key = SizedKernel(launch.kernel, str(list(launch.global_size)))
        if number >= _MAX_CONFIGURATIONS:
            refused[key] = f"it is not among the {_MAX_CONFIGURATIONS} launched most often"
            continue
        try:
            counted.setdefault(key, []).append((launch, counting.count(launch)))
        except (KernelError, MemoryError) as error:
            refused[key] = str(error) or type(error).__name__
    for key in refused:  # the work of some of a kernel's launches does not tell that of all
        counted.pop(key, None)
    kernels = {
        key: _sum_launches(launches) for key, launches in sorted(counted.items()) if launches
    }
    return RunWork(compiler, kernels, dict(sorted(refused.items())))


def compare_work(base: RunWork, head: RunWork) -> tuple[WorkDifference, ...]:
    """Return the differences in the mean work per launch, of kernels that both sides have."""
    doubt = ""
    if base.compiler != head.compiler:
        doubt = f"base was counted with {base.compiler}, head with {head.compiler}"
    differences = []
    for key, work in base.kernels.items():
        other = head.kernels.get(key)
        if other is not None:
            differences += list(_compare_kernel(key, work, other, doubt))
    return tuple(differences)


def combine_work(runs: Sequence[RunWork]) -> RunWork | None:
    """Return the work of the runs of a side, None without runs.

    Work that differs between runs is in doubt.
    """
    if not runs:
        return None
    first, *others = runs
    kernels = {}
    for key, work in first.kernels.items():
        if not all(_is_same(work, other.kernels.get(key)) for other in others):
            doubt = "it differs from run to run"
            amounts = {kind: replace(amount, doubt=doubt) for kind, amount in work.amounts.items()}
            work = replace(work, amounts=amounts)
        kernels[key] = work
    return RunWork(first.compiler, kernels, first.refused)


def amounts_of(counts: KernelCounts) -> Mapping[WorkKind, Amount]:
    """Return the amounts of work of a single launch."""
    global_sites = [site for site in counts.sites if site.space in {"global", "constant"}]
    local_sites = [site for site in counts.sites if site.space == "local"]
    sites = {WorkKind.TRANSACTIONS: global_sites, WorkKind.LOCAL_ROUNDS: local_sites}
    parts = {
        WorkKind.OPERATIONS: [operation.total for operation in counts.operations],
        WorkKind.TRANSACTIONS: [site.sectors for site in global_sites],
        WorkKind.LOCAL_ROUNDS: [site.bank_cycles for site in local_sites],
    }
    # The parts come from the same sample of work-groups, so their errors are correlated and add up.
    return {
        kind: Amount(
            sum(estimate.value for estimate in estimates),
            sum(estimate.standard_error for estimate in estimates),
            _find_doubt(counts, sites.get(kind, ())),
        )
        for kind, estimates in parts.items()
    }


def _find_doubt(counts: KernelCounts, sites: Sequence[AccessSite]) -> str:
    """Return why the kernel's work, or that of `sites`, is uncertain; "" where it is exact."""
    assumed_places = [site.place for site in counts.sites if site.is_assumed]
    own_places = [site.place for site in sites if site.is_assumed]
    for assumption in counts.assumptions:
        # An unknown address affects its own site only.
        if assumption.place not in assumed_places or assumption.place in own_places:
            return f"assumed: {assumption.what} (line {assumption.place.line})"
    if any(branch.is_assumed for branch in counts.branches):
        return "assumed: a branch depends on contents that are not known"
    if any(loop.is_assumed or (loop.extrapolated and not loop.is_exact) for loop in counts.loops):
        return "assumed: a loop is counted from a part of it"
    return ""


def _sum_launches(launches: Sequence[tuple[TracedLaunch, KernelCounts]]) -> KernelWork:
    sums = dict.fromkeys(WorkKind, Amount(0.0, 0.0))
    for launch, counts in launches:
        for kind, amount in amounts_of(counts).items():
            sums[kind] = Amount(
                sums[kind].total + launch.calls * amount.total,
                sums[kind].standard_error + launch.calls * amount.standard_error,
                sums[kind].doubt or amount.doubt,
            )
    return KernelWork(sum(launch.calls for launch, _ in launches), sums)


def _compare_kernel(
    key: SizedKernel, base: KernelWork, head: KernelWork, doubt: str = ""
) -> Sequence[WorkDifference]:
    differences = []
    for kind in WorkKind:
        before, after = _per_launch(base, kind), _per_launch(head, kind)
        change = abs(after.total - before.total)
        if change <= _ROUNDING * max(before.total, after.total):
            continue
        error = _MAX_STANDARD_ERRORS * (before.standard_error + after.standard_error)
        why = doubt or before.doubt or after.doubt
        if not why and change <= error:
            why = "within the error of sampling work-groups"
        if not why and after.total > before.total and not _has_larger_sum(base, head, kind):
            why = "all launches of a run together do no more"
        differences.append(WorkDifference(key, kind, before.total, after.total, why))
    return differences


def _has_larger_sum(base: KernelWork, head: KernelWork, kind: WorkKind) -> bool:
    """Return True if all launches of a run of head together do more."""
    return head.amounts[kind].total > base.amounts[kind].total * (1 + _ROUNDING)


def _is_same(work: KernelWork, other: KernelWork | None) -> bool:
    return other is not None and not _compare_kernel(SizedKernel("", ""), work, other)


def _per_launch(work: KernelWork, kind: WorkKind) -> Amount:
    amount = work.amounts.get(kind, Amount(0.0, 0.0))
    launches = max(work.launches, 1)
    return Amount(amount.total / launches, amount.standard_error / launches, amount.doubt)
