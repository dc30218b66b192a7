"""Decisions of domain iterations beside measurements: right choices, and the time that wrong ones cost.

    python benchmarks/domain.py --device NVIDIA -o domain-h200.json
    python benchmarks/domain.py --profile pocl.json --kernels 30 --max-exponent 24

Random iterations of both sets, each over 2^10 elements and more. Host and device are measured side by
side: rounds of numpy, C and the device follow each other, each with transfers, and medians are compared.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cltrace.domain.decisions import decide, made_up_arrays, resized
from cltrace.domain.declarations import Declarations, declared_iteration
from cltrace.domain.host.c_program import CProgram
from cltrace.domain.host.numpy_evaluation import evaluate_with_numpy
from cltrace.domain.iterations import Iteration
from cltrace.domain.language.scopes import FileScope
from cltrace.domain.place_times import COPY_SIZES, DeviceCalls, DeviceTimes, Residency, RunPlace
from cltrace.domain.random_functions import (
    FUNCTION,
    GeneratorSettings,
    random_functions,
    restricted,
)
from cltrace.domain.shapes import Box
from cltrace.errors import IterationError
from cltrace.measure import find_device
from cltrace.measure.domain_device import DomainDevice
from cltrace.profile import load_profile, profile_for

MIN_EXPONENT = 10
FAR = 1.5
"""Host and device differ by half or more."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="", help="part of the device's name")
    parser.add_argument("--profile", help="name or path; default: the device's own")
    parser.add_argument("--kernels", type=int, default=30)
    parser.add_argument("--max-exponent", type=int, default=26)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--seconds", type=float, default=540.0, help="end after this time")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    device = DomainDevice(find_device(arguments.device))
    profile = load_profile(arguments.profile) if arguments.profile else profile_for(device.facts)
    times = DeviceTimes(
        profile, DeviceCalls(device.call_ns(), tuple(device.copy_times(COPY_SIZES)))
    )
    end = time.monotonic() + arguments.seconds
    rows: list[dict[str, Any]] = []
    # All kernels at a size before the next size, so that a budget leaves out sizes and not kernels.
    for exponent in range(MIN_EXPONENT, arguments.max_exponent + 1):
        for iteration in iterations(arguments.kernels, arguments.seed):
            if time.monotonic() > end:
                break
            rows.append(compare(resized(iteration, exponent), device, times, arguments.rounds))
            rows[-1] |= {"exponent": exponent}
    summary = summarise(rows) | {
        "device": device.facts.name,
        "profile": profile.device.name,
        "kernels": arguments.kernels,
        "exponents": sorted({row["exponent"] for row in rows}),
    }
    print(json.dumps(summary, indent=1))
    if arguments.output is not None:
        arguments.output.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1))


def iterations(count: int, seed: int) -> list[Iteration]:
    """Return random iterations, half of them restricted, over a square."""
    settings = GeneratorSettings(generated_examples=(count + 1) // 2)
    functions = [
        *random_functions(settings, seed),
        *random_functions(restricted(settings), seed + 1),
    ][:count]
    return [
        declared_iteration(
            FileScope(each.text, f"{number}.py").function(FUNCTION),
            Box((1024, 1024)),
            Declarations({}, {}),
        )
        for number, each in enumerate(functions)
    ]


def compare(
    iteration: Iteration, device: DomainDevice, times: DeviceTimes, rounds: int
) -> dict[str, Any]:
    """Decide on an iteration and measure it at all places."""
    arrays = made_up_arrays(iteration.arguments.arrays)
    decision = decide(iteration, times, arrays, {}, Residency())
    measured = measure(runs(iteration, arrays, device), rounds)
    host = min(value for place, value in measured.items() if place != RunPlace.DEVICE)
    chosen = decision.place
    return {
        "elements": iteration.domain.elements,
        "function": iteration.function.places.file,
        "place": str(chosen),
        "is_certain": decision.is_certain,
        "predicted_ns": {str(each.place): each.time_ns for each in decision.times},
        "interval_ns": {str(each.place): each.interval_ns for each in decision.times},
        "measured_ns": measured,
        "host_ns": host,
        "device_ns": measured[RunPlace.DEVICE],
        "chosen_ns": measured[str(chosen)],
        "is_right": chosen.is_host == (host < measured[RunPlace.DEVICE]),
    }


def runs(
    iteration: Iteration, arrays: Mapping[str, Any], device: DomainDevice
) -> dict[str, Callable[[], object]]:
    """Return a function for each place that computes the result from arrays on the host."""
    tree, domain = iteration.tree, iteration.domain
    kernel = iteration.kernel(device.facts.max_group_items)
    result = iteration.result_type

    def on_device() -> object:
        buffers = [device.upload(arrays[array.name]) for array in kernel.arrays]
        buffer = device.launch(
            (kernel.source, kernel.name, iteration.options),
            (kernel.group.global_items, kernel.group.group_items),
            buffers,
            result.size_bytes,
        )
        return device.download(buffer, result.dtype, result.shape)

    places: dict[str, Callable[[], object]] = {
        str(RunPlace.NUMPY): lambda: evaluate_with_numpy(tree, domain, arrays, {}),
        str(RunPlace.DEVICE): on_device,
    }
    try:
        program = CProgram(tree, domain)
        places[str(RunPlace.C)] = lambda: program.evaluate(arrays, {})
    except IterationError:
        pass
    return places


def measure(places: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median time of each place, in ns; a first run of each is left out."""
    samples: dict[str, list[float]] = {name: [] for name in places}
    for number in range(rounds + 1):
        for name, run in places.items():
            began_ns = time.perf_counter_ns()
            run()
            if number:
                samples[name].append(time.perf_counter_ns() - began_ns)
    return {name: statistics.median(values) for name, values in samples.items()}


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the share of right decisions, and what the decisions cost beyond the best place."""
    ratios = [row["host_ns"] / row["device_ns"] for row in rows]
    far = [row for row, ratio in zip(rows, ratios, strict=True) if ratio >= FAR or ratio <= 1 / FAR]
    best = sum(min(row["host_ns"], row["device_ns"]) for row in rows)
    chosen = sum(row["chosen_ns"] for row in rows)
    relative = [row["chosen_ns"] / min(row["host_ns"], row["device_ns"]) - 1 for row in rows]
    errors = {
        place: float(
            np.median(
                [
                    row["predicted_ns"][place] / row["measured_ns"][place]
                    for row in rows
                    if place in row["predicted_ns"]
                ]
            )
        )
        for place in ("numpy", "C", "device")
        if rows and place in rows[0]["predicted_ns"]
    }
    return {
        "points": len(rows),
        "far": len(far),
        "right_of_far": sum(row["is_right"] for row in far) / max(len(far), 1),
        "right": sum(row["is_right"] for row in rows) / max(len(rows), 1),
        "total_regret": chosen / best - 1 if rows else None,
        "mean_relative_regret": float(np.mean(relative)) if rows else None,
        "median_predicted_over_measured": errors,
        "device_faster": sum(ratio > 1 for ratio in ratios),
    }


if __name__ == "__main__":
    main()
