"""The counting layer: what a program really asks of the OpenCL loader, whoever asked."""

import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cltrace

SOURCE = Path(__file__).with_name("counting_layer.c")

SAME_THING = {"clCreateCommandQueueWithProperties": "clCreateCommandQueue"}
"""Two entry points that a trace has under one name."""


@dataclass(frozen=True, slots=True)
class CountingLayer:
    """The compiled layer and the file in which it counts."""

    library: Path
    counts_file: Path

    @property
    def environment(self) -> dict[str, str]:
        """What makes the loader of a program put the layer below it."""
        return {"OPENCL_LAYERS": str(self.library), "COUNTING_LAYER_FILE": str(self.counts_file)}

    def counts(self) -> Counter[str]:
        """What was counted since `restart`, by entry point."""
        counters = np.fromfile(self.counts_file, np.uint64)
        counts: Counter[str] = Counter()
        for name, position in _entry_points().items():
            if counters[position]:
                counts[SAME_THING.get(name, name)] += int(counters[position])
        return counts

    def restart(self) -> None:
        """Count from nothing."""
        self.counts_file.unlink(missing_ok=True)


def compiled_layer(directory: Path) -> Path:
    """The layer, compiled into `directory`."""
    from tests.conftest import needs  # noqa: PLC0415 - conftest imports this module

    compiler = shutil.which("cc") or shutil.which("gcc")
    needs(compiler is not None, "a C compiler")
    library = directory / f"counting_layer-{os.getpid()}.so"
    command = [str(compiler), "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, SOURCE]
    subprocess.run([*map(str, command)], check=True)
    return library


def traced_counts(path: Path) -> Counter[str]:
    """What a trace has, by entry point, calls that failed included."""
    counts: Counter[str] = Counter()
    with cltrace.load(path) as trace:
        for name, count in trace.rows("SELECT api, count(*) FROM v_api_call GROUP BY api"):
            counts[SAME_THING.get(name, name)] += count
    return counts


def countable() -> set[str]:
    """Return the entry points that the layer counts, under the names that `counts` uses."""
    return {SAME_THING.get(name, name) for name in _entry_points()}


def _entry_points() -> dict[str, int]:
    """Names and positions of what the layer counts, read from its source."""
    found = {}
    for line in SOURCE.read_text().splitlines():
        words = line.replace("X(", " ").replace(",", " ").replace(")", " ").split()
        if line.startswith("    X(cl"):
            found[words[0]] = int(words[1])
    return found
