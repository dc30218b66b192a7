"""A trace as a full sample: its times and counters, its work, and the times that a model predicts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cltrace.predict.trace_profile import predict_on_own_devices
from cltrace.regress.run_records import KernelKey, PredictedTime, RunSample
from cltrace.regress.samples import DEFAULT_DROP, SampleDetail, read_sample
from cltrace.trace.reader import Trace


def read_modelled_sample(
    trace: Trace, drop: int = DEFAULT_DROP, detail: SampleDetail = SampleDetail.WORK
) -> RunSample:
    """Return a trace as a sample, with predicted times where `detail` is `WORK`. Raises: `TraceError`."""
    sample = read_sample(trace, drop, detail)
    if detail is SampleDetail.TIMES:
        return sample
    return replace(sample, modelled=predict_kernels(trace))


def predict_kernels(trace: Trace, max_s: float = 20.0) -> Mapping[KernelKey, PredictedTime]:
    """Predict the launches of a trace on its own devices; nothing of a device without a profile.

    The prediction of a kernel is the mean over its configurations of one size on devices of one name,
    weighted by their number of launches. Predicting ends after `max_s` seconds; the rest is left out.
    Raises: `TraceError`.
    """
    rows_by_kernel: dict[KernelKey, list[tuple[int, float, float, float]]] = {}
    for prediction in predict_on_own_devices(trace, max_s):
        for predicted in prediction.launches:
            bounds = predicted.prediction.interval_ns
            if bounds is not None and predicted.launch.calls and min(bounds) > 0:
                size = str(list(predicted.launch.global_size))
                key = KernelKey(predicted.launch.kernel, size, prediction.profile.device.name)
                row = (predicted.launch.calls, predicted.prediction.duration_ns, *bounds)
                rows_by_kernel.setdefault(key, []).append(row)
    return {key: _weighted_mean(rows) for key, rows in sorted(rows_by_kernel.items())}


def _weighted_mean(rows: Sequence[tuple[int, float, float, float]]) -> PredictedTime:
    calls = sum(row[0] for row in rows)
    return PredictedTime(
        *(sum(row[0] * row[column] for row in rows) / calls for column in (1, 2, 3))
    )
