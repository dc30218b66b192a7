"""Predicting one launch from its source: what editors, autotuners and notebooks ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels import Argument, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.models import DEFAULT, MODELS, Cache
from cltrace.profile import DeviceProfile


@dataclass(frozen=True, slots=True)
class LaunchPrediction:
    """What a launch should take, in ns: in all, at least and at most, and each part of it by name.

    `limiter` names the part that takes longest; `assumptions` are the places of the source that rest on
    contents which are not known, in words. `interval_ns` is None for models that state none.
    """

    duration_ns: float
    interval_ns: tuple[float, float] | None
    limiter: str
    parts: Mapping[str, float]
    assumptions: tuple[str, ...]


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
    """What a launch of `kernel_name` takes on the device of `profile`, without running it.

    `arguments` are the kernel's in order: numbers, `cltrace.kernels.BufferArgument` and its like; what
    depends on contents that are not given is assumed, and the interval is wider. `cache` is what the
    device's caches hold at the beginning.

    Raises: `KernelError` for what cannot be counted, `ProfileError` for a profile that is not fitted,
    `ValueError` for sizes, a kernel or a model that do not exist.
    """
    if model not in MODELS:
        raise ValueError(f"there is no model {model!r}; there are {', '.join(MODELS)}")
    fitted = MODELS[model].fitted(profile)
    counts = count(
        parse(source, build_options),
        kernel_name,
        tuple(global_size),
        tuple(local_size),
        arguments,
        machine=machine_of(profile.device),
    )
    found = fitted.predict(counts, Cache(cache))
    return LaunchPrediction(
        duration_ns=found.duration_ns,
        interval_ns=found.interval_ns,
        limiter=found.limiter,
        parts={part.name: part.time_ns for part in found.parts},
        assumptions=tuple(f"{one.place}: {one.what}" for one in counts.assumptions),
    )
