"""Fit of all models to a calibration."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cltrace.errors import ProfileError
from cltrace.predict.deadline import NEVER, Deadline
from cltrace.predict.models import MODELS
from cltrace.predict.neighbours.fit import MODEL, fit_neighbours
from cltrace.profile import DeviceProfile, LeftOut

_MARKED_FAMILY: Final = "working-sets"
_MARK: Final = "copied in order"
"""A series that earlier versions did not measure."""


def fit_models(profile: DeviceProfile, deadline: Deadline = NEVER) -> DeviceProfile:
    """Return the profile with the parameters of all models, and their residuals.

    Parameters of other kinds, such as energies and sensors, stay as they are.
    The fit is as good as it can be at the deadline: defaults stand for costs of probes that were left
    out. Raises: `ProfileError` if the calibration lacks a family, `MissingExtraError` without scipy.
    """
    _check_probes(profile)
    try:
        fits = {name: model.fit(profile, deadline) for name, model in MODELS.items()}
        residuals = {
            name: _residuals(profile, fit.fitted_ns) for name, fit in fits.items() if fit.fitted_ns
        }
    except (ValueError, ArithmeticError, KeyError) as error:
        raise ProfileError(f"what was measured cannot be fitted: {error}") from error
    fitted = {name: fit.parameters for name, fit in fits.items()}
    uncounted: Counter[str] = Counter()
    for fit in fits.values():
        uncounted.update(fit.uncounted)
    fitted_profile = replace(
        profile,
        provenance=replace(profile.provenance, left_out=_left_out(profile, uncounted)),
        parameters={**profile.parameters, **fitted},
        residuals=residuals,
    )
    return with_neighbours(fitted_profile)


def with_neighbours(profile: DeviceProfile) -> DeviceProfile:
    """Return a fitted profile with constants of launches beside others, if such were measured."""
    neighbours = fit_neighbours(profile)
    if not neighbours:
        return profile
    return replace(profile, parameters={**profile.parameters, MODEL: neighbours})


def _check_probes(profile: DeviceProfile) -> None:
    """Raise `ProfileError` for a CPU's measurements by a version whose probes had other sizes."""
    series = {point.series for point in profile.points(_MARKED_FAMILY)}
    if profile.device.kind == "cpu" and series and _MARK not in series:
        raise ProfileError(
            "an earlier version of cltrace measured this CPU, with other probes: measure it again with"
            " `cltrace calibrate`"
        )


def _left_out(profile: DeviceProfile, uncounted: Mapping[str, int]) -> tuple[LeftOut, ...]:
    """Return what the calibration left out, with the numbers of probes that were not counted."""
    unmeasured = {entry.family: entry.unmeasured for entry in profile.provenance.left_out}
    entries = [
        LeftOut(family, unmeasured.get(family, 0), uncounted.get(family, 0))
        for family in dict.fromkeys((*unmeasured, *uncounted))
    ]
    return tuple(entry for entry in entries if entry.unmeasured or entry.uncounted)


def _residuals(
    profile: DeviceProfile, fitted_ns: Mapping[str, tuple[float | None, ...]]
) -> Mapping[str, tuple[float | None, ...]]:
    """Return the logarithms of fitted by measured, for families with a fitted point."""
    residuals = {}
    for family, values in fitted_ns.items():
        pairs = zip(values, profile.points(family), strict=True)
        logs = tuple(
            math.log(value / point.mean_ns) if value and point.mean_ns > 0 else None
            for value, point in pairs
        )
        if any(log is not None for log in logs):
            residuals[family] = logs
    return residuals
