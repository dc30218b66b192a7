"""Running the score's benchmarks on a device: times, results held against references, limits."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import DeviceError
from cltrace.events.benchmarks import Arrays, Benchmark, Limit, LimitProbe
from cltrace.regress.host import host_facts
from cltrace.regress.score import BenchmarkResult, ScoreFile, Sequential
from cltrace.suite.score import SUITE
from cltrace.version import __version__

if TYPE_CHECKING:
    from cltrace.measure.bench import Bench
    from cltrace.measure.sequential import CCompiler
    from cltrace.measure.whole_runs import HowMany

_PACKAGES: Final = ("numpy", "pyopencl")
_LIMIT_RUNS: Final = 10


@dataclass(frozen=True, slots=True)
class Scoring:
    """The score's benchmarks on a device. `compiler` is None where nothing is compiled."""

    bench: "Bench"
    how_many: "HowMany"
    compiler: "CCompiler | None"
    tell: Callable[[str], None]

    def score(self, benchmarks: Sequence[Benchmark], probes: Sequence[LimitProbe]) -> ScoreFile:
        """All of it. A benchmark that cannot run is a result that says why."""
        asked = {limit for one in benchmarks for limit in one.amounts}
        limits = self._limits([one for one in probes if one.limit in asked])
        results = tuple(self._result(one, limits) for one in benchmarks)
        versions = {"cltrace": __version__, **_versions()}
        if self.compiler is not None and any(one.sequential.c_s for one in results):
            versions["C compiler"] = self.compiler.version
        return ScoreFile(
            suite=SUITE,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            host=host_facts(),
            device=self.bench.facts,
            versions=versions,
            limits=limits,
            results=results,
        )

    def _limits(self, probes: Sequence[LimitProbe]) -> Mapping[Limit, float]:
        found: dict[Limit, float] = {}
        for one in probes:
            self.tell(f"limit: {one.limit}")
            known = found.get(one.limit, 0.0)
            # Vectors of eight suit a CPU and not a GPU, or the other way round: a run tells that.
            with suppress(DeviceError):  # a device without so much memory has no such limit
                if known == 0.0 or self._rate(one, 1) > known / 2:
                    found[one.limit] = max(self._rate(one, _LIMIT_RUNS), known)
        return found

    def _rate(self, one: LimitProbe, runs: int) -> float:
        """The most of so many runs, a second, after one that does not count. Raises: `DeviceError`."""
        from cltrace.measure.whole_runs import HowMany, whole_runs  # noqa: PLC0415 - pyopencl

        found = whole_runs(self.bench, one.source, one.memories, one.steps, HowMany(1, runs))
        return one.amount / min(found.counted_s)

    def _result(self, one: Benchmark, limits: Mapping[Limit, float]) -> BenchmarkResult:
        self.tell(one.name)
        try:
            return self._measured(one, limits)
        except DeviceError as error:
            why = str(error)
        except MemoryError:
            why = "it cannot run: the host has not enough memory"
        return BenchmarkResult(one.name, one.kind, (), why, Sequential(None, None), None, None)

    def _measured(self, one: Benchmark, limits: Mapping[Limit, float]) -> BenchmarkResult:
        """Raises: `DeviceError`, `MemoryError`."""
        from cltrace.measure.sequential import shortest  # noqa: PLC0415 - beside pyopencl
        from cltrace.measure.whole_runs import whole_runs  # noqa: PLC0415 - pyopencl

        runs = whole_runs(self.bench, one.source, one.memories, one.run_steps, self.how_many)
        before = [np.ascontiguousarray(memory.contents()) for memory in one.memories]
        numpy_s, expected = shortest(lambda: lambda: one.reference(before), one.repeats)
        c_s, by_c = self._by_c(one, before)
        wrong = wrong_in(one, runs.after, expected)
        if not wrong and by_c:
            # C has the bits of every buffer, and the reference says what they are.
            theirs = {at: by_c[at].view(wanted.dtype) for at, wanted in expected.items()}
            wrong = wrong_in(one, runs.after, theirs)
            wrong = f"{wrong}, by C" if wrong else ""
        limit, limit_share = _nearest(one, min(runs.counted_s), limits)
        return BenchmarkResult(
            one.name, one.kind, runs.counted_s, wrong, Sequential(numpy_s, c_s), limit, limit_share
        )

    def _by_c(self, one: Benchmark, before: Arrays) -> tuple[float | None, Arrays]:
        """How long C takes, and the buffers after it; nothing where it is not compiled."""
        from cltrace.measure.sequential import sequential_run  # noqa: PLC0415 - beside pyopencl

        if self.compiler is None:
            return None, ()
        run = sequential_run(self.compiler, one.c_source, before, one.items, one.repeats)
        return (None, ()) if run is None else (run.seconds, run.after)


def wrong_in(
    one: Benchmark,
    after: Mapping[int, NDArray[np.generic]],
    expected: Mapping[int, NDArray[np.generic]],
) -> str:
    """What of results is not as the reference has it, "" for nothing."""
    for number, wanted in expected.items():
        wrong = _wrong(after[number].view(wanted.dtype), wanted, one)
        if wrong:
            return wrong
    return ""


def _wrong(found: NDArray[np.generic], wanted: NDArray[np.generic], one: Benchmark) -> str:
    if not one.tolerance:
        differ = int((found.view(np.uint32) != wanted.view(np.uint32)).sum())
        return f"{differ:,} of {found.size:,} results are wrong" if differ else ""
    scale = float(np.abs(wanted.astype(np.float64)).max()) or 1.0
    off = np.abs(found.astype(np.float64) - wanted.astype(np.float64)) / scale
    worst = float(off.max()) if np.isfinite(off).all() else float("inf")
    return f"a result is off by {worst:.2g} of the largest" if worst > one.tolerance else ""


def _nearest(
    one: Benchmark, best_s: float, limits: Mapping[Limit, float]
) -> tuple[Limit | None, float | None]:
    """The limit that a benchmark comes nearest to, and how near."""
    shares = {
        limit: one.repeats * amount / limits[limit] / best_s
        for limit, amount in one.amounts.items()
        if limit in limits
    }
    if not shares:
        return None, None
    limit = max(shares, key=lambda known: shares[known])
    return limit, shares[limit]


def _versions() -> Mapping[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
