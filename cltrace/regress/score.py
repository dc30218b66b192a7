"""One honest number for a device and its driver: how fast it does the suite, by a reference.

After Barba and others, A benchmark for OpenCL (2016): a benchmark's peak is its best run and its average
the mean of all; its ratio is the reference's time by its own; a score is the harmonic mean of ratios, so
that it is inversely proportional to time. A benchmark with a wrong result has no ratio, and then neither
has a score that it belongs to.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cltrace.errors import SampleFileError
from cltrace.events.benchmarks import Kind, Limit
from cltrace.profile import DeviceFacts
from cltrace.regress.host import HostFacts


@dataclass(frozen=True, slots=True)
class Sequential:
    """The same on one thread: by numpy, and by compiled C, in s; None where it was not done."""

    numpy_s: float | None
    c_s: float | None


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Times of a benchmark's counted runs in s, in order. `wrong` says what is wrong, "" for nothing.

    `limit` is what of the device's own limits a run comes nearest to, `limit_share` how near at its best;
    None where no limit is about what it does.
    """

    name: str
    kind: Kind
    seconds: tuple[float, ...]
    wrong: str
    sequential: Sequential
    limit: Limit | None
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
        """Whether it counts."""
        return bool(self.seconds) and not self.wrong


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """The suite on a device, and what it ran on. `limits` are amounts each second, measured beside it.

    `suite` is the version of its benchmarks: times of another one do not compare. `versions` are those of
    cltrace, Python packages and of the C compiler, by name.
    """

    suite: int
    date: str
    host: HostFacts
    device: DeviceFacts
    versions: Mapping[str, str]
    limits: Mapping[Limit, float]
    results: tuple[BenchmarkResult, ...]

    @property
    def label(self) -> str:
        """A short name of what was measured."""
        return f"{self.device.name} ({self.device.platform})"


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast as the reference: by the best runs, and by the means of runs."""

    peak: float
    average: float


def ratio(own: BenchmarkResult, reference: BenchmarkResult) -> Ratio | None:
    """None where a result is wrong or missing."""
    times = (own.peak_s, own.average_s, reference.peak_s, reference.average_s)
    peak, average, reference_peak, reference_average = times
    if not own.is_right or not reference.is_right:
        return None
    if peak is None or average is None or reference_peak is None or reference_average is None:
        return None
    return Ratio(reference_peak / peak, reference_average / average)


def check_suites(files: Mapping[str, ScoreFile], suite: int | None = None) -> None:
    """See that scores, by names, are of the same benchmarks, or of `suite`. Raises: `SampleFileError`."""
    suites = {one.suite for one in files.values()}
    if suite is not None and suites - {suite}:
        named = ", ".join(
            f"{name} of suite {one.suite}" for name, one in files.items() if one.suite != suite
        )
        raise SampleFileError(f"benchmarks are suite {suite} here, but {named}; make it anew")
    if len(suites) > 1:
        named = ", ".join(f"{name} of suite {one.suite}" for name, one in files.items())
        raise SampleFileError(f"these scores are of different suites: {named}; make them anew")


def ratios(own: ScoreFile, reference: ScoreFile) -> Mapping[str, Ratio | None]:
    """The ratio of each benchmark that both have, by its name."""
    known = {one.name: one for one in reference.results}
    return {one.name: ratio(one, known[one.name]) for one in own.results if one.name in known}


def harmonic(found: Iterable[Ratio | None]) -> Ratio | None:
    """The harmonic means; None where one is missing, or there are none."""
    whole = list(found)
    present = [one for one in whole if one is not None]
    if not present or len(present) < len(whole):
        return None
    return Ratio(
        statistics.harmonic_mean([one.peak for one in present]),
        statistics.harmonic_mean([one.average for one in present]),
    )


@dataclass(frozen=True, slots=True)
class Score:
    """The scores of a device: over all, and of each class; None where a result is wrong or missing.

    `failed` and `missing` are the device's benchmarks, `unreferred` those that the reference has no right
    result of.
    """

    overall: Ratio | None
    kinds: Mapping[Kind, Ratio | None]
    failed: tuple[str, ...]
    missing: tuple[str, ...]
    unreferred: tuple[str, ...]


def score(own: ScoreFile, reference: ScoreFile) -> Score:
    """Scores by a reference: of a class, and over all, where both have each benchmark of either."""
    found = ratios(own, reference)
    results = [*reference.results, *own.results]
    names = {
        kind: dict.fromkeys(one.name for one in results if one.kind is kind)
        for kind in dict.fromkeys(one.kind for one in results)
    }
    kinds = {
        kind: harmonic(found.get(name) for name in mine)
        for kind, mine in names.items()
        if any(name in found for name in mine)
    }
    failed = tuple(one.name for one in own.results if not one.is_right)
    missing = tuple(one.name for one in reference.results if one.name not in found)
    known = {one.name for one in reference.results if one.is_right}
    unreferred = tuple(one.name for one in own.results if one.name not in known)
    overall = None if failed or missing or unreferred else harmonic(found.values())
    return Score(overall, kinds, failed, missing, unreferred)


def speed_ups(one: BenchmarkResult) -> tuple[float | None, float | None]:
    """How many times as fast as numpy, and as C, the mean of runs is."""
    if one.average_s is None or not one.is_right:
        return None, None
    by_numpy, by_c = one.sequential.numpy_s, one.sequential.c_s
    return (
        by_numpy / one.average_s if by_numpy is not None else None,
        by_c / one.average_s if by_c is not None else None,
    )


def common(files: Sequence[ScoreFile]) -> tuple[str, ...]:
    """The names of the benchmarks that all have, in the first one's order."""
    names = [{one.name for one in file.results} for file in files]
    return tuple(one.name for one in files[0].results if all(one.name in mine for mine in names))
