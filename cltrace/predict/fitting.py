"""Fit of all models to a calibration."""

import math
from collections.abc import Mapping
from dataclasses import replace

from cltrace.errors import ProfileError
from cltrace.predict.models import MODELS
from cltrace.profile import DeviceProfile


def fit_models(profile: DeviceProfile) -> DeviceProfile:
    """Return the profile with the parameters of all models, and their residuals.

    Parameters of other kinds, such as energies and sensors, stay as they are.

    Raises: `ProfileError` if the calibration lacks a family, `MissingExtraError` without scipy.
    """
    try:
        fits = {name: model.fit(profile) for name, model in MODELS.items()}
        residuals = {
            name: _residuals(profile, fit.fitted_ns) for name, fit in fits.items() if fit.fitted_ns
        }
    except (ValueError, ArithmeticError, KeyError) as error:
        raise ProfileError(f"what was measured cannot be fitted: {error}") from error
    fitted = {name: fit.parameters for name, fit in fits.items()}
    parameters = {**profile.parameters, **fitted}
    return replace(profile, parameters=parameters, residuals=residuals)


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
