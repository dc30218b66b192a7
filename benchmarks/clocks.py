"""How well device clocks are known: the figures of docs/clocks.md.

    python benchmarks/clocks.py [--seconds 40] [--json FILE]

Traces a mixed program and prints the clock of its device. PoCL's device clock is CLOCK_MONOTONIC_RAW,
which cltrace reads beside the host's clock: there the true start of every command is known, and the
errors are printed too. Then constant drifts are put into the stamps and the clocks are fitted anew.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from samples import PROGRAMS

import cltrace
from cltrace.timeline.clock_map import clock_maps
from cltrace.timeline.reading import read_activity, read_commands
from cltrace.timeline.timekeeping import fit_device_clocks
from cltrace.trace.reader import Trace

DRIFTS_PPM = (0, 200, -50)


def main() -> None:
    """Trace, fit, print."""
    parser = argparse.ArgumentParser(description="How well device clocks are known.")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="where to keep the trace")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = arguments.keep or Path(scratch) / "mixed.cltrace"
        program = [sys.executable, PROGRAMS / "mixed.py", str(arguments.seconds)]
        recorder = [sys.executable, "-m", "cltrace", "run", "-f", "-q", "-o", path, "--"]
        subprocess.run([*recorder, *program], check=True)
        with cltrace.load(path) as trace:
            found = figures(trace)
    for one in found["clocks"]:
        print(json.dumps(one, indent=2))
    print(json.dumps(found["errors"], indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


def figures(trace: Trace) -> dict[str, Any]:
    """What is known of the clocks in a trace."""
    activity = read_activity(trace)
    devices = trace["v_device"].to_dict("records")
    clocks = [asdict(one) for clock in activity.clocks.values() for one in clock.segments]
    return {
        "machine": platform.platform(),
        "cltrace": cltrace.__version__,
        "devices": [
            {key: one[key] for key in ("name", "platform", "driver_version", "timer_resolution_ns")}
            for one in devices
        ],
        "commands": len(activity.commands),
        "seconds": (int(activity.commands.return_ns.max()) - int(activity.commands.enter_ns.min()))
        / 1e9,
        "clocks": clocks,
        "errors": [errors(trace, ppm) for ppm in DRIFTS_PPM]
        if any("Portable" in str(one["platform"]) for one in devices)
        else [],
    }


def errors(trace: Trace, drift_ppm: float) -> dict[str, float | str]:
    """The errors of START with a drift put into the stamps, against CLOCK_MONOTONIC_RAW."""
    found, queues = read_commands(trace)
    anchors = trace.columns(
        {"host": "host_ns", "raw": "raw_host_ns"}, "v_host_clock ORDER BY host_ns"
    )
    origin = int(anchors["raw"][0])
    start = found.commands["start_device_ns"]
    offsets = (anchors["host"] - anchors["raw"]) - (anchors["host"][0] - origin)
    shift = np.interp(start - origin, anchors["raw"] - origin, offsets).round().astype(np.int64)
    true_ns = start - origin + int(anchors["host"][0]) + shift
    for stage in ("queued", "submit", "start", "end"):
        stamps = found.commands[f"{stage}_device_ns"]
        drifted = ((stamps - origin) * (drift_ppm * 1e-6)).round().astype(np.int64)
        found.commands[f"{stage}_device_ns"] = stamps + drifted
    kept = fit_device_clocks(found, queues)
    (clock,) = clock_maps(kept.segments).values()
    placed = clock.host_ns(found.commands["start_device_ns"], found.commands["enter_host_ns"])
    bound = clock.bound_ns(found.commands["start_device_ns"], found.commands["enter_host_ns"])
    off = placed - true_ns
    return {
        "drift_ppm": drift_ppm,
        "states": ", ".join(sorted({one.state.value for one in kept.segments})),
        "median_error_ns": float(np.median(off)),
        "most_error_ns": float(np.abs(off).max()),
        "median_bound_ns": float(np.median(bound)),
        "outside_of_bound": int((np.abs(off) > bound).sum()),
    }


if __name__ == "__main__":
    main()
