"""Exact limits of a piece of work: what it may launch, move, build, fail, compute. None on raw time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

from cltrace.regress.recorded_work import RecordedWork
from cltrace.regress.work import WorkKind


@dataclass(frozen=True, slots=True)
class Limits:
    """At most so much; None where it does not matter.

    `kernel` is a pattern: launches, operations, transactions and times by the model are of kernels whose
    name fits. `max_over_model` is how often as long as the model predicts any of them may take.
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
        """Whether kernels have to be counted for them."""
        counted = (self.max_operations, self.max_transactions, self.max_over_model)
        return any(one is not None for one in counted)


def limits_of(given: Mapping[str, object]) -> Limits:
    """Limits by name. Raises: `ValueError` for a name that there is not, or what is no amount."""
    known = {field.name for field in fields(Limits)}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"there is no limit {name}; there are {', '.join(sorted(known))}")
        if name == "kernel":
            if not isinstance(value, str):
                raise ValueError(f"kernel={value!r} is no pattern")
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise ValueError(f"{name}={value!r} is no amount")
    return Limits(**given)  # type: ignore[arg-type]


def exceeded(limits: Limits, found: RecordedWork) -> Iterator[str]:
    """What goes over a limit, or may for all that is known, a sentence each."""
    launches = sum(
        count for name, count in found.kernels.items() if fnmatchcase(name, limits.kernel)
    )
    for what, value, most in (
        ("launches", launches, limits.max_launches),
        ("bytes to the device", found.bytes_to_device, limits.max_bytes_to_device),
        ("builds", found.builds, limits.max_builds),
        ("failures", found.failures, limits.max_failures),
    ):
        if most is not None and value > most:
            yield f"{value:,} {what}, at most {most:,} are allowed"
    if limits.is_of_kernels and limits.kernel != "*" and not launches:
        yield f"no kernel is called {limits.kernel}: its limits hold nothing"
    yield from _too_much(found, limits, WorkKind.OPERATIONS, limits.max_operations)
    yield from _too_much(found, limits, WorkKind.TRANSACTIONS, limits.max_transactions)
    if limits.max_over_model is not None:
        yield from _too_slow(found, limits.kernel, limits.max_over_model)


def _too_much(
    found: RecordedWork, limits: Limits, kind: WorkKind, most: float | None
) -> Iterator[str]:
    """Work over its limit. What is not certain is told: a limit that cannot be seen is not kept."""
    if most is None:
        return
    if found.sample.work is None:
        yield f"{kind} are not known: there is no compiler (pip install 'cltrace[predict]')"
        return
    value = found.total(kind, limits.kernel)
    if value > most:
        yield f"{value:,.0f} {kind}, at most {most:,.0f} are allowed"
        return
    for key, one in found.counted(limits.kernel).items():
        doubt = one.amounts[kind].doubt
        if doubt:
            yield f"{kind} of {key} are not certain: {doubt}"
    for key in found.by_size:
        if fnmatchcase(key.kernel, limits.kernel) and key not in found.sample.work.kernels:
            why = found.sample.work.refused.get(key, "its arguments or its source are not known")
            yield f"{kind} of {key} are not known: {why}"


def _too_slow(found: RecordedWork, kernel: str, most: float) -> Iterator[str]:
    timed = {key.kernel for key in found.sample.kernels}
    for name in found.kernels:
        if fnmatchcase(name, kernel) and name not in timed:
            yield f"how long {name} takes is not known: its queue was made without profiling"
    for key, time in found.sample.kernels.items():
        if not fnmatchcase(key.kernel, kernel):
            continue
        predicted = found.sample.modelled.get(key)
        if predicted is None:
            yield f"what {key.kernel} should take is not known: no model of {key.device} tells it"
        elif time.median_ns > most * predicted.duration_ns:
            ratio = time.median_ns / predicted.duration_ns
            yield f"{key.kernel} takes {ratio:.3g} times what the model says, at most {most:g}"
