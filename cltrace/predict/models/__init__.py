"""Models that predict the time of a launch from its counts and a device's profile."""

from collections.abc import Mapping
from typing import Final

from cltrace.kernels.compiler import BOTH_FORMS, CodeForm
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.prediction import Cache, FittedModel, Model, Part, Prediction
from cltrace.predict.models.roofline import RooflineModel
from cltrace.predict.models.thesis import THESIS

__all__ = ["DEFAULT", "MODELS", "Cache", "FittedModel", "Model", "Part", "Prediction", "forms_of"]

_ALL: Final[tuple[Model, ...]] = (OVERLAP, THESIS, RooflineModel())
MODELS: Final[Mapping[str, Model]] = {model.name: model for model in _ALL}
"""The models by name, the default first."""
_MODELS_AS_WRITTEN: Final = frozenset({THESIS.name})
"""The models that need counts of the code as written."""
DEFAULT: Final = OVERLAP.name


def forms_of(model: str) -> frozenset[CodeForm]:
    """Return the code forms whose counts a model needs, by its name."""
    return BOTH_FORMS if model in _MODELS_AS_WRITTEN else frozenset({CodeForm.OPTIMISED})
