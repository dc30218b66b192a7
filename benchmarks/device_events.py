"""Whether a device records the events that the executor records: docs/explore.md.

    python benchmarks/device_events.py here --device Portable [--json FILE]

executes each kernel of the tests' corpus on a device of this machine and compares. For a device of
another machine, which needs no compiler of ours:

    python benchmarks/device_events.py prepare LAUNCHES
    python benchmarks/device_events.py run LAUNCHES LOGS --device NVIDIA       (there)
    python benchmarks/device_events.py compare LOGS [--json FILE]

Compared are the digits of each work-item's conditions, all events of memory with their lines, kinds,
sizes, objects, offsets and epochs, the work-items that make an access together, and the operations. The
buffers after the launch are held against those that the kernel itself leaves on the device.
"""

import argparse
import json
import lzma
import multiprocessing
import pickle
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyopencl as cl

sys.path.insert(0, str(Path(__file__).parent.parent))

from cltrace.errors import CltraceError
from cltrace.events.event_logs import EventLog
from cltrace.measure.devices import find_device
from cltrace.measure.instrumented_launch import (
    InstrumentedDevice,
    InstrumentedLaunch,
    make_input,
)

ALL = 1 << 40
ITEM_LIMIT = 1 << 26
WORKERS = 4
PATIENCE_S = 120


@dataclass(frozen=True)
class Job:
    """A case: its launch, instrumented, and the kernel as it is."""

    launch: InstrumentedLaunch
    source: str
    kernel: str
    options: str


@dataclass(frozen=True)
class Result:
    """The log of a launch, and what the kernel as it is leaves in the buffers, by argument."""

    log: EventLog
    outputs: Mapping[int, np.ndarray]


@dataclass(frozen=True)
class Verdict:
    """What a device did with a case. `differences` are empty where it did the same as the executor."""

    case: str
    refusal: str = ""
    other_buffers: str = ""
    differences: tuple[str, ...] = ()
    work_items: int = 0
    events: int = 0


def run_job(job: Job, device_name: str) -> Result:
    """Execute a launch with a log of all its work-groups, and the kernel as it is."""
    launch, device = job.launch, find_device(device_name)
    instrumented = InstrumentedDevice(device, launch)
    groups = np.arange(launch.groups)
    counts = instrumented.count_words(groups, ITEM_LIMIT).counts
    log = instrumented.record(groups, np.concatenate([[0], np.cumsum(counts)]), ITEM_LIMIT)
    return Result(log, plain_outputs(job, device))


def plain_outputs(job: Job, device: cl.Device) -> Mapping[int, np.ndarray]:
    """Return the bytes of the buffers after the kernel as it is."""
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, job.source).build(job.options.split())
    inputs = [make_input(context, item) for item in job.launch.inputs]
    kernel = cl.Kernel(program, job.kernel)
    kernel.set_args(*inputs)
    cl.enqueue_nd_range_kernel(
        queue, kernel, job.launch.global_size, job.launch.local_size, job.launch.global_offset
    )
    outputs = {}
    for position, item in enumerate(inputs):
        if isinstance(item, cl.Buffer):
            outputs[position] = np.empty(item.size, np.uint8)
            cl.enqueue_copy(queue, outputs[position], item)
    return outputs


def run_all(
    launches: Mapping[str, Job | str], device_name: str
) -> Iterator[tuple[str, Result | str]]:
    """Yield the log of each launch, or why there is none. Each has a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, context, max_tasks_per_child=1) as pool:
        pending = {
            name: launch if isinstance(launch, str) else pool.submit(run_job, launch, device_name)
            for name, launch in launches.items()
        }
        for name, result in pending.items():
            try:
                yield name, result if isinstance(result, str) else result.result(PATIENCE_S)
            except Exception as error:  # noqa: BLE001 - whatever happens to one says nothing of the others
                yield name, f"{type(error).__name__}: {error}"


def prepare() -> Iterator[tuple[str, Job | str]]:
    """Yield the instrumented launch of each case, or why there is none."""
    from cltrace.runs.device_events import prepare_launch  # noqa: PLC0415 - a compiler is there
    from tests.kernels.catalogue import CASES  # noqa: PLC0415 - a compiler is there
    from tests.kernels.device_launches import device_launch  # noqa: PLC0415 - a compiler is there

    for case in CASES:
        try:
            launch = prepare_launch(device_launch(case))
            yield case.name, Job(launch, case.text, case.kernel, case.options)
        except CltraceError as error:
            yield case.name, str(error)


def compare(logs: Iterator[tuple[str, Result | str]]) -> Iterator[Verdict]:
    """Yield the verdict of each case."""
    from tests.kernels.catalogue import case_named  # noqa: PLC0415 - a compiler is there
    from tests.kernels.device_launches import device_launch, event_differences, executor_events  # noqa: PLC0415 - a compiler is there

    for name, result in logs:
        case = case_named(name)
        if isinstance(result, str):
            yield Verdict(name, refusal=result)
            continue
        log = result.log
        other = [
            position
            for position, contents in result.outputs.items()
            if not np.array_equal(contents, log.outputs[position])
        ]
        events, expected = device_launch(case).events(log, ALL), executor_events(case)
        yield Verdict(
            name,
            other_buffers=", ".join(f"argument {position}" for position in other),
            differences=tuple(event_differences(expected, events)),
            work_items=len(expected.items.item),
            events=len(expected.accesses.row)
            + int(expected.streams.length[expected.items.stream].sum()),
        )


def report(verdicts: list[Verdict], device: str, path: Path | None) -> None:
    """Print the verdicts, and write them."""
    for verdict in verdicts:
        for what in (verdict.refusal, verdict.other_buffers, "; ".join(verdict.differences)):
            if what:
                print(f"{verdict.case}: {what[:200]}")
    groups = Counter(
        "refused" if item.refusal else "different" if item.differences else "equal"
        for item in verdicts
    )
    print(f"{device}: " + ", ".join(f"{count} {group}" for group, count in groups.items()))
    print(
        f"{sum(item.work_items for item in verdicts):,} work-items, "
        f"{sum(item.events for item in verdicts):,} events"
    )
    if path is not None:
        facts = {"device": device, "verdicts": [asdict(item) for item in verdicts]}
        path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description="Compare events of a device with the executor's.")
    parser.add_argument("step", choices=["here", "prepare", "run", "compare"])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--device", default="")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    match given.step:
        case "prepare":
            given.files[0].write_bytes(pickle.dumps(dict(prepare())))
        case "run":
            launches = pickle.loads(given.files[0].read_bytes())
            device = find_device(given.device)
            logs = dict(run_all(launches, given.device))
            text = pickle.dumps((f"{device.name}, driver {device.driver_version}", logs))
            given.files[1].write_bytes(lzma.compress(text))
        case "compare":
            name, logs = pickle.loads(lzma.decompress(given.files[0].read_bytes()))
            report(list(compare(iter(logs.items()))), name, given.json)
        case _:
            device = find_device(given.device)
            name = f"{device.name}, driver {device.driver_version}"
            verdicts = compare(run_all(dict(prepare()), given.device))
            report(list(verdicts), name, given.json)


if __name__ == "__main__":
    main()
