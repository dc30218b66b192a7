"""Predicted times of launches and transfers: calibration, models, and their accuracy.

Predict one launch from its source:

    profile = load_profile("nvidia-h200")
    arguments = [BufferArgument(4 << 20), 2.0]
    prediction = predict_launch(source, "scale", (1 << 20,), (256,), arguments, profile)
    prediction.duration_ns, prediction.interval_ns, prediction.limiter
"""

from typing import TYPE_CHECKING, Any

from cltrace.profile import load_profile

if TYPE_CHECKING:  # slow to load, and not needed to read a profile
    from cltrace.predict.launches import LaunchPrediction, predict_launch
    from cltrace.predict.models import MODELS, Cache
    from cltrace.predict.traces import PredictedTrace, predict_trace

__all__ = [
    "MODELS",
    "Cache",
    "LaunchPrediction",
    "PredictedTrace",
    "load_profile",
    "predict_launch",
    "predict_trace",
]

_MODULES = {
    "MODELS": "cltrace.predict.models",
    "Cache": "cltrace.predict.models",
    "LaunchPrediction": "cltrace.predict.launches",
    "predict_launch": "cltrace.predict.launches",
    "PredictedTrace": "cltrace.predict.traces",
    "predict_trace": "cltrace.predict.traces",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only where a name is used

    return getattr(import_module(module), name)
