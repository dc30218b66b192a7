"""Running the score's benchmarks on a device: times, results checked against references, rate limits."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import DeviceError
from cltrace.events.benchmarks import (
    Arrays,
    Benchmark,
    BenchmarkBuffer,
    LimitProbe,
    RateLimit,
    Step,
)
from cltrace.profile import DeviceFacts
from cltrace.regress.host import host_facts
from cltrace.regress.score import BenchmarkResult, ScoreFile, Sequential
from cltrace.suite.score import SUITE
from cltrace.version import __version__

if TYPE_CHECKING:
    from cltrace.measure.sequential import SequentialRun
    from cltrace.measure.whole_runs import WholeRuns

_PACKAGES: Final = ("numpy", "pyopencl")
_LIMIT_RUNS: Final = 10


class ScoreDevice(Protocol):
    """A device that runs benchmarks as programs do."""

    @property
    def facts(self) -> DeviceFacts:
        """The device."""

    def time_runs(
        self, source: str, buffers: Sequence[BenchmarkBuffer], steps: Sequence[Step], counted: int
    ) -> "WholeRuns":
        """Time `counted` runs. Raises: `DeviceError`."""


class SequentialCode(Protocol):
    """A compiler of C that runs a benchmark on one thread of the host."""

    @property
    def version(self) -> str:
        """The version that the compiler prints."""

    def time_run(
        self,
        source: str,
        buffers: Sequence[NDArray[np.generic]],
        items: int,
        repeats: int,
        max_runs: int,
    ) -> "SequentialRun | None":
        """Compile and time up to `max_runs` runs; None where it cannot be compiled."""


@dataclass(frozen=True, slots=True)
class ScoreRunner:
    """Runner of the score's benchmarks on a device, with `counted` runs each.

    `compiler` is None where no C is compiled for comparison; `report` is called with the progress. The
    host does the same work `host_runs` times at most.
    """

    device: ScoreDevice
    counted: int
    compiler: SequentialCode | None
    report: Callable[[str], None]
    host_runs: int = 3

    def run(self, benchmarks: Sequence[Benchmark], probes: Sequence[LimitProbe]) -> ScoreFile:
        """Run benchmarks, and the probes of their limits.

        A benchmark that cannot run has a result that says why.
        """
        needed = {limit for benchmark in benchmarks for limit in benchmark.amounts}
        limits = self._measure_limits([probe for probe in probes if probe.limit in needed])
        results = tuple(self._run_benchmark(benchmark, limits) for benchmark in benchmarks)
        versions = {"cltrace": __version__, **_package_versions()}
        if self.compiler is not None and any(result.sequential.c_s for result in results):
            versions["C compiler"] = self.compiler.version
        return ScoreFile(
            suite=SUITE,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            host=host_facts(),
            device=self.device.facts,
            versions=versions,
            limits=limits,
            results=results,
        )

    def _measure_limits(self, probes: Sequence[LimitProbe]) -> Mapping[RateLimit, float]:
        limits: dict[RateLimit, float] = {}
        for probe in probes:
            self.report(f"limit: {probe.limit}")
            best = limits.get(probe.limit, 0.0)
            # Vectors of eight suit a CPU and not a GPU, or the other way round: one run shows which.
            with suppress(DeviceError):  # a device with too little memory has no such limit
                if best == 0.0 or self._measure_rate(probe, 1) > best / 2:
                    limits[probe.limit] = max(self._measure_rate(probe, _LIMIT_RUNS), best)
        return limits

    def _measure_rate(self, probe: LimitProbe, runs: int) -> float:
        """Return the highest rate per second of `runs` runs, after a discarded one.

        Raises: `DeviceError`.
        """
        measured = self.device.time_runs(probe.source, probe.buffers, probe.steps, runs)
        return probe.amount / min(measured.counted_s)

    def _run_benchmark(
        self, benchmark: Benchmark, limits: Mapping[RateLimit, float]
    ) -> BenchmarkResult:
        self.report(benchmark.name)
        try:
            return self._measure(benchmark, limits)
        except DeviceError as error:
            why = str(error)
        except MemoryError:
            why = "it cannot run: the host has not enough memory"
        return BenchmarkResult(
            name=benchmark.name,
            kind=benchmark.kind,
            seconds=(),
            wrong=why,
            sequential=Sequential(None, None),
            limit=None,
            limit_share=None,
        )

    def _measure(self, benchmark: Benchmark, limits: Mapping[RateLimit, float]) -> BenchmarkResult:
        """Run a benchmark and check its results. Raises: `DeviceError`, `MemoryError`."""
        from cltrace.measure.sequential import time_shortest  # noqa: PLC0415 - beside pyopencl

        runs = self.device.time_runs(
            benchmark.source, benchmark.buffers, benchmark.run_steps, self.counted
        )
        before = [np.ascontiguousarray(buffer.contents()) for buffer in benchmark.buffers]
        numpy_s, expected = time_shortest(
            lambda: lambda: benchmark.reference(before), benchmark.repeats, self.host_runs
        )
        c_s, c_results = self._run_c(benchmark, before)
        wrong = find_mismatch(benchmark, runs.after, expected)
        if not wrong and c_results:
            # C returns the bytes of every buffer; the reference has the buffers' types.
            typed = {index: c_results[index].view(array.dtype) for index, array in expected.items()}
            wrong = find_mismatch(benchmark, runs.after, typed)
            wrong = f"{wrong}, by C" if wrong else ""
        limit, limit_share = _closest_limit(benchmark, min(runs.counted_s), limits)
        return BenchmarkResult(
            name=benchmark.name,
            kind=benchmark.kind,
            seconds=runs.counted_s,
            wrong=wrong,
            sequential=Sequential(numpy_s, c_s),
            limit=limit,
            limit_share=limit_share,
        )

    def _run_c(self, benchmark: Benchmark, before: Arrays) -> tuple[float | None, Arrays]:
        """Return the time of C in s, and the buffers after it; None and nothing where C did not run."""
        if self.compiler is None:
            return None, ()
        run = self.compiler.time_run(
            benchmark.c_source, before, benchmark.items, benchmark.repeats, self.host_runs
        )
        return (None, ()) if run is None else (run.seconds, run.after)


def find_mismatch(
    benchmark: Benchmark,
    results: Mapping[int, NDArray[np.generic]],
    expected: Mapping[int, NDArray[np.generic]],
) -> str:
    """Return how the results differ from the expected ones, "" if they do not."""
    for index, array in expected.items():
        mismatch = _compare_buffer(results[index].view(array.dtype), array, benchmark)
        if mismatch:
            return mismatch
    return ""


def _compare_buffer(
    result: NDArray[np.generic], expected: NDArray[np.generic], benchmark: Benchmark
) -> str:
    if not benchmark.tolerance:
        differ = int((result.view(np.uint32) != expected.view(np.uint32)).sum())
        return f"{differ:,} of {result.size:,} results are wrong" if differ else ""
    scale = float(np.abs(expected.astype(np.float64)).max()) or 1.0
    off = np.abs(result.astype(np.float64) - expected.astype(np.float64)) / scale
    worst = float(off.max()) if np.isfinite(off).all() else float("inf")
    return f"a result is off by {worst:.2g} of the largest" if worst > benchmark.tolerance else ""


def _closest_limit(
    benchmark: Benchmark, best_s: float, limits: Mapping[RateLimit, float]
) -> tuple[RateLimit | None, float | None]:
    """Return the limit that a benchmark comes closest to, and the share of it that it reaches."""
    shares = {
        limit: benchmark.repeats * amount / limits[limit] / best_s
        for limit, amount in benchmark.amounts.items()
        if limit in limits
    }
    if not shares:
        return None, None
    closest = max(shares, key=lambda limit: shares[limit])
    return closest, shares[closest]


def _package_versions() -> Mapping[str, str]:
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions
