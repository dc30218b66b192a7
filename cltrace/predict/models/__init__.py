"""Models that predict the time of a launch from its counts and a device's profile."""

from collections.abc import Mapping
from typing import Final

from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.prediction import Cache, FittedModel, Model, Part, Prediction
from cltrace.predict.models.roofline import RooflineModel
from cltrace.predict.models.thesis import THESIS

__all__ = ["DEFAULT", "MODELS", "Cache", "FittedModel", "Model", "Part", "Prediction"]

_ALL: Final[tuple[Model, ...]] = (OVERLAP, THESIS, RooflineModel())
MODELS: Final[Mapping[str, Model]] = {model.name: model for model in _ALL}
"""The models by name, the default first."""
DEFAULT: Final = OVERLAP.name
