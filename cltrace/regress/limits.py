"""Limits of a test's work: launches, bytes, builds, failures, counted work. None on raw time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

from cltrace.installation import suggest_install
from cltrace.regress.recorded_work import RecordedWork
from cltrace.regress.work import WorkKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Maxima of a test's work, None for no limit.

    `kernel` is a glob of kernel names: launches, operations, transactions and times relative to the model
    are those of kernels that fit. `max_over_model` limits the time of each such kernel by that the model
    predicts.
    """

    kernel: str = "*"
    max_launches: int | None = None
    max_bytes_to_device: int | None = None
    max_builds: int | None = None
    max_failures: int | None = None
    max_operations: float | None = None
    max_transactions: float | None = None
    max_over_model: float | None = None

    @property
    def is_of_kernels(self) -> bool:
        """True if the work of kernels has to be counted for the limits."""
        counted = (self.max_operations, self.max_transactions, self.max_over_model)
        return any(limit is not None for limit in counted)


def parse_limits(given: Mapping[str, object]) -> Limits:
    """Return the limits that are given by name.

    Raises: `ValueError` for an unknown name, or a value that is no amount.
    """
    names = {field.name for field in fields(Limits)}
    for name, value in given.items():
        if name not in names:
            raise ValueError(f"there is no limit {name}; there are {', '.join(sorted(names))}")
        if name == "kernel":
            if not isinstance(value, str):
                raise ValueError(f"kernel={value!r} is no pattern")
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise ValueError(f"{name}={value!r} is no amount")
    return Limits(**given)  # type: ignore[arg-type]


def find_violations(limits: Limits, work: RecordedWork) -> Iterator[str]:
    """Yield a sentence for each limit that is exceeded, or that unknown work may exceed."""
    launches = sum(
        count for name, count in work.kernels.items() if fnmatchcase(name, limits.kernel)
    )
    for what, value, maximum in (
        ("launches", launches, limits.max_launches),
        ("bytes to the device", work.bytes_to_device, limits.max_bytes_to_device),
        ("builds", work.builds, limits.max_builds),
        ("failures", work.failures, limits.max_failures),
    ):
        if maximum is not None and value > maximum:
            yield f"{value:,} {what}, at most {maximum:,} are allowed"
    if limits.is_of_kernels and limits.kernel != "*" and not launches:
        yield f"no launch of kernel {limits.kernel}: its limits check nothing"
    yield from _check_work(work, limits, WorkKind.OPERATIONS, limits.max_operations)
    yield from _check_work(work, limits, WorkKind.TRANSACTIONS, limits.max_transactions)
    if limits.max_over_model is not None:
        yield from _check_times(work, limits.kernel, limits.max_over_model)


def _check_work(
    work: RecordedWork, limits: Limits, kind: WorkKind, maximum: float | None
) -> Iterator[str]:
    """Yield the violations of a limit on counted work. Uncertain work violates a limit, too."""
    if maximum is None:
        return
    if work.sample.work is None:
        yield f"{kind} are not known: there is no compiler ({suggest_install('predict')})"
        return
    value = work.total(kind, limits.kernel)
    if value > maximum:
        yield f"{value:,.0f} {kind}, at most {maximum:,.0f} are allowed"
        return
    for key, kernel in work.counted(limits.kernel).items():
        doubt = kernel.amounts[kind].doubt
        if doubt:
            yield f"{kind} of {key} are not certain: {doubt}"
    for key in work.by_size:
        if fnmatchcase(key.kernel, limits.kernel) and key not in work.sample.work.kernels:
            why = work.sample.work.refused.get(key, "its arguments or its source are not known")
            yield f"{kind} of {key} are not known: {why}"


def _check_times(work: RecordedWork, pattern: str, maximum: float) -> Iterator[str]:
    timed = {key.kernel for key in work.sample.kernels}
    for name in work.kernels:
        if fnmatchcase(name, pattern) and name not in timed:
            yield f"the time of {name} is not known: its queue was made without profiling"
    for key, time in work.sample.kernels.items():
        if not fnmatchcase(key.kernel, pattern):
            continue
        predicted = work.sample.modelled.get(key)
        if predicted is None:
            yield (
                f"the predicted time of {key.kernel} is not known: no model of {key.device} has it"
            )
        elif time.median_ns > maximum * predicted.duration_ns:
            ratio = time.median_ns / predicted.duration_ns
            yield (f"{key.kernel} takes {ratio:.3g} times what the model says, at most {maximum:g}")
