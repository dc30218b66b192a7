"""Times on an H200 that benchmarks measured, and those that its profile predicts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cltrace.events.workloads import Workload
from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

_H200 = load_profile("nvidia-h200")


def measured_ns(benchmark: str) -> Mapping[str, Any]:
    """Return what a benchmark measured: the times of the file `h200-BENCHMARK.json`."""
    path = Path(__file__).parent / "data" / f"h200-{benchmark}.json"
    times: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["ns"]
    return times


def counts_on_h200(work: Workload) -> KernelCounts:
    """Return the counts of a launch on an H200."""
    return WorkloadCounter(_H200.device).count(work)


def predicted_ns(counts: KernelCounts) -> float:
    """Return the duration that is predicted for a launch."""
    return OVERLAP.for_device(_H200).predict(counts).duration_ns


def near_cache_ns(counts: KernelCounts) -> float:
    """Return the time of the near caches and of the units for images in a prediction."""
    parts = OVERLAP.for_device(_H200).predict(counts).parts
    return next(part.time_ns for part in parts if part.name == "L1")


def distance(quotient: float) -> float:
    """Return how far a quotient is from 1, as a factor of at least 1."""
    return float(np.exp(abs(np.log(quotient))))
