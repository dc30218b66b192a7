"""Made-up samples of runs: three kernels with log-normal noise, and changes of them."""

from collections.abc import Callable

import numpy as np

from cltrace.regress.counters import CounterKey, CounterKind
from cltrace.regress.run_records import DeviceIdentity, KernelKey, KernelTime, Round, RunSample
from cltrace.regress.work import SizedKernel

DEVICE = DeviceIdentity("board", "platform", "1.0", "OpenCL 3.0")
LAUNCHES = CounterKey(CounterKind.LAUNCHES, SizedKernel("heavy", "[64]"))
BUILDS = CounterKey(CounterKind.BUILDS)
HEAVY, LIGHT, TINY = (KernelKey(name, "[64]", "board") for name in ("heavy", "light", "tiny"))
MS = {HEAVY: 5.0, LIGHT: 1.0, TINY: 0.01}


def run_of(
    factors: dict[KernelKey, float], launches: int = 10, device: DeviceIdentity = DEVICE
) -> RunSample:
    kernels = {
        key: KernelTime(
            launches, launches, MS[key] * 1e6 * factor, launches * MS[key] * 1e6 * factor
        )
        for key, factor in factors.items()
    }
    return RunSample((device,), kernels, {LAUNCHES: launches, BUILDS: 1})


def round_of(
    seed: int, changes: dict[KernelKey, float], pairs: int = 12, launches: int = 10
) -> Round:
    chooser = np.random.default_rng(seed)

    def noisy(change: Callable[[KernelKey], float]) -> dict[KernelKey, float]:
        return {key: change(key) * float(np.exp(chooser.normal(0, 0.03))) for key in MS}

    return Round(
        tuple(run_of(noisy(lambda _: 1.0)) for _ in range(pairs)),
        tuple(run_of(noisy(lambda key: changes.get(key, 1.0)), launches) for _ in range(pairs)),
    )
