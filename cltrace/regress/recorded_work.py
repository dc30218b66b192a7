"""What a piece of a program did, with its counters by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cltrace.regress.counters import CounterKey, CounterKind
from cltrace.regress.runs import RunSample
from cltrace.regress.work import KernelWork, WorkKey, WorkKind


@dataclass(frozen=True, slots=True)
class RecordedWork:
    """The OpenCL work of a test. `sample` has all of it."""

    sample: RunSample

    @property
    def launches(self) -> int:
        """How many kernels were launched."""
        return sum(self.by_size.values())

    @property
    def kernels(self) -> Mapping[str, int]:
        """How often each kernel was launched, by its name."""
        found: dict[str, int] = {}
        for key, count in self.by_size.items():
            found[key.kernel] = found.get(key.kernel, 0) + count
        return found

    @property
    def by_size(self) -> Mapping[WorkKey, int]:
        """How often each kernel was launched with each global size."""
        return {
            _key(key): count for key, count in self.sample.counters.items()
            if key.kind is CounterKind.LAUNCHES and key.subject
        }  # fmt: skip

    @property
    def bytes_to_device(self) -> int:
        """How many bytes the host wrote into buffers and images."""
        return self.sample.counters.get(CounterKey(CounterKind.BYTES, "to device"), 0)

    @property
    def bytes_from_device(self) -> int:
        """How many bytes the host read from buffers and images."""
        return self.sample.counters.get(CounterKey(CounterKind.BYTES, "from device"), 0)

    @property
    def builds(self) -> int:
        """How many programs were built."""
        return self._total(CounterKind.BUILDS)

    @property
    def failures(self) -> int:
        """How many calls and commands failed."""
        return self._total(CounterKind.FAILURES)

    def counted(self, kernel: str = "*") -> Mapping[WorkKey, KernelWork]:
        """What kernels had to do whose names fit a pattern, as far as it was counted."""
        if self.sample.work is None:
            return {}
        return {
            key: one for key, one in self.sample.work.kernels.items()
            if fnmatchcase(key.kernel, kernel)
        }  # fmt: skip

    def total(self, kind: WorkKind, kernel: str = "*") -> float:
        """How much of a kind kernels had to do whose names fit a pattern."""
        return sum(one.amounts[kind].total for one in self.counted(kernel).values())

    def _total(self, kind: CounterKind) -> int:
        return sum(value for key, value in self.sample.counters.items() if key.kind is kind)


def _key(key: CounterKey) -> WorkKey:
    kernel, _, size = key.subject.partition(" ")
    return WorkKey(kernel, size)
