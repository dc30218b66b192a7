"""Prediction of a single launch from its source, for editors, autotuners and notebooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels import Argument, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.caveats import profile_caveats
from cltrace.predict.models import DEFAULT, MODELS, Cache, FittedModel, forms_of
from cltrace.profile import DeviceProfile


@dataclass(frozen=True, slots=True)
class LaunchPrediction:
    """Predicted time of a launch, its interval, and its parts by name, in ns.

    `limiter` names the longest part. `assumptions` describe the places of the source that depend on
    unknown contents, `caveats` are reasons to doubt the profile. `interval_ns` is None for models that
    state none.
    """

    duration_ns: float
    interval_ns: tuple[float, float] | None
    limiter: str
    parts: Mapping[str, float]
    assumptions: tuple[str, ...]
    caveats: tuple[str, ...] = ()


def predict_launch(
    source: str,
    kernel_name: str,
    global_size: Sequence[int],
    local_size: Sequence[int],
    arguments: Sequence[Argument],
    profile: DeviceProfile,
    *,
    build_options: str = "",
    model: str = DEFAULT,
    cache: Cache = Cache.WARM,
) -> LaunchPrediction:
    """Predict the time of a launch of `kernel_name` on the device of `profile`, without running it.

    `arguments` are the kernel's in order: numbers, `cltrace.kernels.BufferArgument` and similar ones.
    Where the launch depends on contents that are not given, assumptions are made, and the interval is
    wider. `cache` is the state of the device's caches when the launch begins.

    Raises: `KernelError` for a kernel that cannot be counted, `ProfileError` for a profile that is not
    fitted, `ValueError` for invalid sizes, or a kernel or a model that does not exist.
    """
    fitted = _fitted_model(model, profile)
    counts = count(
        parse(source, build_options),
        kernel_name,
        *(tuple(global_size), tuple(local_size)),
        arguments,
        machine=machine_of(profile.device),
        forms=forms_of(model),
    )
    prediction = fitted.predict(counts, Cache(cache))
    return LaunchPrediction(
        duration_ns=prediction.duration_ns,
        interval_ns=prediction.interval_ns,
        limiter=prediction.limiter,
        parts={part.name: part.time_ns for part in prediction.parts},
        assumptions=tuple(f"{item.place}: {item.what}" for item in counts.assumptions),
        caveats=tuple(map(str, profile_caveats(profile))),
    )


def _fitted_model(name: str, profile: DeviceProfile) -> FittedModel:
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}; there are {', '.join(MODELS)}")
    return MODELS[name].for_device(profile)
