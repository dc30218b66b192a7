"""Constants of neighbours for a device, trained on the calibration's launches beside others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from cltrace.errors import KernelError, ProfileError
from cltrace.events.workloads import Workload
from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.neighbours.models import Constants, neighbour_models
from cltrace.predict.neighbours.records import Beside, Member
from cltrace.profile import DeviceFacts, DeviceProfile, Parameter
from cltrace.suite.calibration import Effort, ProbeLimits
from cltrace.suite.calibration.together import FITTED, cases
from cltrace.suite.together import BesideCase, SharedDevice

FAMILY: Final = "together"
MODEL: Final = "neighbours"
"""Key of the constants among a profile's parameters."""
_SEPARATOR: Final = ": "


def fit_neighbours(profile: DeviceProfile) -> Mapping[str, Parameter]:
    """Return the constants of all models by name; none if no launches at once were measured.

    They are trained on sets of three. Raises: `ProfileError` if the overlap model is not fitted.
    """
    launches = [each for each in calibrated_launches(profile) if each.threads == FITTED]
    if not launches:
        return {}
    parameters = {}
    for model in neighbour_models(OVERLAP.for_device(profile).costs, launches).values():
        with suppress(ProfileError):
            for name, value in model.train(launches).items():
                key = f"{model.name}{_SEPARATOR}{name}"
                parameters[key] = Parameter(value, "", 0.0, FAMILY)
    return parameters


def constants_of(profile: DeviceProfile) -> Mapping[str, Constants]:
    """Return the constants that a profile stores, by model."""
    constants: dict[str, dict[str, float]] = {}
    for key, parameter in profile.parameters.get(MODEL, {}).items():
        model, _, name = key.rpartition(_SEPARATOR)
        constants.setdefault(model, {})[name] = parameter.value
    return constants


def calibrated_launches(profile: DeviceProfile) -> Sequence[Beside]:
    """Return the calibration's launches beside others, with their counts."""
    limits = ProbeLimits.of(profile.device, Effort[profile.provenance.effort.upper()])
    times = {
        (point.series, int(point.x)): (point.median_ns, None) for point in profile.points(FAMILY)
    }
    return list(launches_beside(cases(limits), times, profile.device, profile))


def launches_beside(
    cases_of: Iterable[BesideCase],
    times: Mapping[tuple[str, int], tuple[float, float | None]],
    device: DeviceFacts,
    profile: DeviceProfile,
) -> Iterator[Beside]:
    """Yield the cases that were measured beside others and alone, and whose kernels can be counted.

    `times` are the first and the second duration in ns by name and number of launches. The costs are
    those of the profile, the counts those on `device`.
    """
    costs = OVERLAP.for_device(profile).costs
    count = _Counting(device)
    for case in cases_of:
        measured = times.get((case.name, case.threads))
        alone = [times.get((name, 1)) for name in _alone_names(case)]
        if not case.others or measured is None or not all(alone):
            continue
        with suppress(KernelError):
            members = [
                Member.of(count(work, case), _mean(pair), costs)
                for work, pair in zip(case.work.members, alone, strict=True)
                if pair is not None
            ]
            yield Beside(
                members=tuple(members),
                kinds=(str(case.kind), *map(str, case.others)),
                is_memory_shared=case.is_memory_shared,
                has_own_units=case.has_own_units,
                beside_ns=measured[0],
                again_ns=measured[1],
            )


def _alone_names(case: BesideCase) -> Iterator[str]:
    for kind in (case.kind, *case.others):
        yield replace(case, kind=kind).alone_name


def _mean(pair: tuple[float, float | None]) -> float:
    first, second = pair
    return first if second is None else (first + second) / 2


class _Counting:
    """Counts of launches on the part of a device that each runs on; each kernel is counted once."""

    def __init__(self, device: DeviceFacts) -> None:
        shared = SharedDevice.of(device)
        units = device.compute_units // shared.parts if shared.is_cpu else device.compute_units
        self._whole = WorkloadCounter(device)
        self._part = WorkloadCounter(replace(device, compute_units=units))
        self._counts: dict[tuple[str, str, tuple[int, ...], bool], KernelCounts] = {}

    def __call__(self, work: Workload, case: BesideCase) -> KernelCounts:
        """Return the counts of a workload. Raises: `KernelError`."""
        key = (work.source, work.kernel, work.global_size, case.has_own_units)
        if key not in self._counts:
            counter = self._part if case.has_own_units else self._whole
            self._counts[key] = counter.count(work)
        return self._counts[key]
