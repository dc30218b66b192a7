"""What launches and transfers should cost: calibration, models, and how well they hold.

profile = load_profile("nvidia-h200")
found = predict_launch(source, "scale", (1 << 20,), (256,), [BufferArgument(4 << 20), 2.0], profile)
found.duration_ns, found.interval_ns, found.limiter
"""

from typing import TYPE_CHECKING, Any

from cltrace.profile import load_profile

if TYPE_CHECKING:  # slow to load, and not needed to read a profile
    from cltrace.predict.launches import LaunchPrediction, predict_launch
    from cltrace.predict.models import MODELS, Cache
    from cltrace.predict.traces import PredictedTrace, predicted_trace

__all__ = [
    "MODELS",
    "Cache",
    "LaunchPrediction",
    "PredictedTrace",
    "load_profile",
    "predict_launch",
    "predicted_trace",
]

_HOMES = {
    "MODELS": "cltrace.predict.models",
    "Cache": "cltrace.predict.models",
    "LaunchPrediction": "cltrace.predict.launches",
    "predict_launch": "cltrace.predict.launches",
    "PredictedTrace": "cltrace.predict.traces",
    "predicted_trace": "cltrace.predict.traces",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only where something is asked for

    return getattr(import_module(home), name)
