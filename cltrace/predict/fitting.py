"""What models make of a calibration."""

import math
from collections.abc import Mapping
from dataclasses import replace

from cltrace.errors import ProfileError
from cltrace.predict.models import MODELS
from cltrace.predict.models.thesis import THESIS, Curves
from cltrace.profile import DeviceProfile


def fitted(profile: DeviceProfile) -> DeviceProfile:
    """The profile with the parameters of all models, and what is left of their families' points.

    Raises: `ProfileError` if the calibration lacks a family, `MissingExtraError` without scipy.
    """
    try:
        parameters = {name: model.fit(profile) for name, model in MODELS.items()}
        with_parameters = replace(profile, parameters=parameters, residuals={})
        residuals = {THESIS.name: _residuals(with_parameters)}
    except (ValueError, ArithmeticError, KeyError) as error:
        raise ProfileError(f"what was measured cannot be fitted: {error}") from error
    return replace(with_parameters, residuals=residuals)


def _residuals(profile: DeviceProfile) -> Mapping[str, tuple[float, ...]]:
    """By family: the logarithm of fitted by measured, for the points that a fit goes through."""
    found: dict[str, list[float]] = {}
    curves = Curves(profile)
    for family, points in profile.families.items():
        for point in points:
            value = curves.value_ns(family, point.series, point.x)
            if value and point.mean_ns > 0:
                found.setdefault(family, []).append(math.log(value / point.mean_ns))
    return {family: tuple(values) for family, values in found.items()}
