"""Work of a recorded piece of a program, with its counters as properties."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cltrace.regress.counters import CounterDirection, CounterKey, CounterKind
from cltrace.regress.run_records import RunSample
from cltrace.regress.work import KernelWork, SizedKernel, WorkKind


@dataclass(frozen=True, slots=True)
class RecordedWork:
    """The OpenCL work of a test. `sample` holds all of it."""

    sample: RunSample

    @property
    def launches(self) -> int:
        """The number of kernel launches."""
        return sum(self.by_size.values())

    @property
    def kernels(self) -> Mapping[str, int]:
        """The number of launches by kernel name."""
        launches: dict[str, int] = {}
        for key, count in self.by_size.items():
            launches[key.kernel] = launches.get(key.kernel, 0) + count
        return launches

    @property
    def by_size(self) -> Mapping[SizedKernel, int]:
        """The number of launches by kernel and global size."""
        return {
            key.subject: count
            for key, count in self.sample.counters.items()
            if isinstance(key.subject, SizedKernel)
        }

    @property
    def bytes_to_device(self) -> int:
        """The bytes that the host wrote into buffers and images."""
        key = CounterKey(CounterKind.BYTES, CounterDirection.TO_DEVICE)
        return self.sample.counters.get(key, 0)

    @property
    def bytes_from_device(self) -> int:
        """The bytes that the host read from buffers and images."""
        key = CounterKey(CounterKind.BYTES, CounterDirection.FROM_DEVICE)
        return self.sample.counters.get(key, 0)

    @property
    def builds(self) -> int:
        """The number of programs built."""
        return self._sum(CounterKind.BUILDS)

    @property
    def failures(self) -> int:
        """The number of calls and commands that failed."""
        return self._sum(CounterKind.FAILURES)

    def counted(self, kernel: str = "*") -> Mapping[SizedKernel, KernelWork]:
        """Return the counted work of the kernels whose names fit a pattern."""
        if self.sample.work is None:
            return {}
        return {
            key: work
            for key, work in self.sample.work.kernels.items()
            if fnmatchcase(key.kernel, kernel)
        }

    def total(self, kind: WorkKind, kernel: str = "*") -> float:
        """Return the total work of a kind of the kernels whose names fit a pattern."""
        return sum(work.amounts[kind].total for work in self.counted(kernel).values())

    def _sum(self, kind: CounterKind) -> int:
        return sum(value for key, value in self.sample.counters.items() if key.kind is kind)
