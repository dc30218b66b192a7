"""Score of a device with its driver: the speed of the benchmark suite relative to a reference.

After Barba and others, A benchmark for OpenCL (2016): a benchmark's peak is its best run, its average the
mean of all runs, its ratio the reference's time by its own. A score is the harmonic mean of ratios: it
is inversely proportional to time. A benchmark with a wrong result has no ratio, and its class and the
device have no score.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cltrace.errors import SampleFileError
from cltrace.events.benchmarks import BenchmarkKind, RateLimit
from cltrace.profile import DeviceFacts
from cltrace.regress.host import HostFacts


@dataclass(frozen=True, slots=True)
class Sequential:
    """Time of the same work on one thread, by numpy and by compiled C, in s; None if it was not run."""

    numpy_s: float | None
    c_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkResult:
    """Result of a benchmark.

    Attributes:
        name: the benchmark's name.
        kind: its class.
        seconds: the time of each counted run, in order.
        wrong: the error in the results, "" for none.
        sequential: the time of the same work on one thread.
        limit: the device's limit that a run comes closest to, None where none applies.
        limit_share: the share of that limit that the best run reaches.
    """

    name: str
    kind: BenchmarkKind
    seconds: tuple[float, ...]
    wrong: str
    sequential: Sequential
    limit: RateLimit | None
    limit_share: float | None

    @property
    def peak_s(self) -> float | None:
        """The best run, None without any."""
        return min(self.seconds) if self.seconds else None

    @property
    def average_s(self) -> float | None:
        """The mean of all runs, None without any."""
        return statistics.fmean(self.seconds) if self.seconds else None

    @property
    def deviation_s(self) -> float | None:
        """The standard deviation of runs, None with fewer than two."""
        return statistics.stdev(self.seconds) if len(self.seconds) > 1 else None

    @property
    def is_right(self) -> bool:
        """True if it ran and its results are right."""
        return bool(self.seconds) and not self.wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFile:
    """Results of the suite on a device, with the machine.

    Attributes:
        suite: the version of the benchmarks: times of different versions are not comparable.
        date: UTC, as YYYY-MM-DD.
        host: the machine.
        device: the device.
        versions: the versions of cltrace, of Python packages and of the C compiler, by name.
        limits: the device's limits, measured beside the benchmarks, as amounts per second.
        results: the results, one per benchmark.
    """

    suite: int
    date: str
    host: HostFacts
    device: DeviceFacts
    versions: Mapping[str, str]
    limits: Mapping[RateLimit, float]
    results: tuple[BenchmarkResult, ...]

    @property
    def label(self) -> str:
        """A short name of the device."""
        return f"{self.device.name} ({self.device.platform})"


@dataclass(frozen=True, slots=True)
class Ratio:
    """Speed relative to the reference: by the best runs, and by the means of runs."""

    peak: float
    average: float


def compute_ratio(own: BenchmarkResult, reference: BenchmarkResult) -> Ratio | None:
    """Return the ratio of a benchmark, None where a result is wrong or missing."""
    times = (own.peak_s, own.average_s, reference.peak_s, reference.average_s)
    peak, average, reference_peak, reference_average = times
    if not own.is_right or not reference.is_right:
        return None
    if peak is None or average is None or reference_peak is None or reference_average is None:
        return None
    return Ratio(reference_peak / peak, reference_average / average)


def check_suites(files: Mapping[str, ScoreFile], suite: int | None = None) -> None:
    """Check that scores, by name, are of one version of the suite, and of `suite` where it is given.

    Raises: `SampleFileError`.
    """
    suites = {file.suite for file in files.values()}
    if suite is not None and suites - {suite}:
        others = ", ".join(
            f"{name} of suite {file.suite}" for name, file in files.items() if file.suite != suite
        )
        raise SampleFileError(
            f"{others}, but this cltrace has suite {suite}: run `cltrace score` again"
        )
    if len(suites) > 1:
        others = ", ".join(f"{name} of suite {file.suite}" for name, file in files.items())
        raise SampleFileError(
            f"these scores are of different suites: {others}; run `cltrace score` again"
        )


def compute_ratios(own: ScoreFile, reference: ScoreFile) -> Mapping[str, Ratio | None]:
    """Return the ratio of each benchmark that both have, by its name."""
    references = {result.name: result for result in reference.results}
    return {
        result.name: compute_ratio(result, references[result.name])
        for result in own.results
        if result.name in references
    }


def harmonic_mean(ratios: Iterable[Ratio | None]) -> Ratio | None:
    """Return the harmonic means of ratios; None where one is missing, or there are none."""
    ratios = list(ratios)
    present = [ratio for ratio in ratios if ratio is not None]
    if not present or len(present) < len(ratios):
        return None
    return Ratio(
        statistics.harmonic_mean([ratio.peak for ratio in present]),
        statistics.harmonic_mean([ratio.average for ratio in present]),
    )


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of a device.

    Attributes:
        overall: the score over all benchmarks, None where a result is wrong or missing.
        kinds: the score of each class, None likewise.
        failed: the device's benchmarks with a wrong result.
        missing: the reference's benchmarks that the device did not run.
        unreferred: the device's benchmarks without a right result of the reference.
    """

    overall: Ratio | None
    kinds: Mapping[BenchmarkKind, Ratio | None]
    failed: tuple[str, ...]
    missing: tuple[str, ...]
    unreferred: tuple[str, ...]


def compute_score(own: ScoreFile, reference: ScoreFile) -> Score:
    """Return the scores relative to a reference: of each class, and over all.

    A score exists where both files have all of its benchmarks.
    """
    ratios = compute_ratios(own, reference)
    results = [*reference.results, *own.results]
    names_by_kind = {
        kind: dict.fromkeys(result.name for result in results if result.kind is kind)
        for kind in dict.fromkeys(result.kind for result in results)
    }
    kinds = {
        kind: harmonic_mean(ratios.get(name) for name in names)
        for kind, names in names_by_kind.items()
        if any(name in ratios for name in names)
    }
    failed = tuple(result.name for result in own.results if not result.is_right)
    missing = tuple(result.name for result in reference.results if result.name not in ratios)
    referred = {result.name for result in reference.results if result.is_right}
    unreferred = tuple(result.name for result in own.results if result.name not in referred)
    overall = None if failed or missing or unreferred else harmonic_mean(ratios.values())
    return Score(overall, kinds, failed, missing, unreferred)


def speedups(result: BenchmarkResult) -> tuple[float | None, float | None]:
    """Return the speed of the mean of runs relative to numpy and to C."""
    if result.average_s is None or not result.is_right:
        return None, None
    numpy_s, c_s = result.sequential.numpy_s, result.sequential.c_s
    return (
        numpy_s / result.average_s if numpy_s is not None else None,
        c_s / result.average_s if c_s is not None else None,
    )


def common_benchmarks(files: Sequence[ScoreFile]) -> tuple[str, ...]:
    """Return the names of the benchmarks that all files have, in the first one's order."""
    names = [{result.name for result in file.results} for file in files]
    return tuple(
        result.name
        for result in files[0].results
        if all(result.name in file_names for file_names in names)
    )
