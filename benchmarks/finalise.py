"""What finalising a recording costs: time, memory and bytes of trace per launch.

    python benchmarks/finalise.py [--launches 1000000] [--shapes plain,mixed] [--json FILE]

Makes up the spool of each shape, and makes a trace of it in a process of its own. Then merges the trace
with a copy of itself.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from large_spools import SHAPES, write_large_recording
from samples import clock_reading_ns, use

import cltrace

FINALISE = """
import sys
from pathlib import Path
from cltrace.timeline.timekeeping import finalise
finalise(Path(sys.argv[1]), Path(sys.argv[2]))
"""
MERGE = """
import sys
from pathlib import Path
from cltrace.trace.merge import merge
*paths, target = map(Path, sys.argv[1:])
merge(paths, target)
"""
MB = 1_000_000


def main() -> None:
    """Make spools, finalise, print."""
    parser = argparse.ArgumentParser(description="What finalising costs.")
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated names")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    whole = {
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "cltrace": cltrace.__version__,
        "launches": arguments.launches,
        "clock_reading_ns": clock_reading_ns(),
        "figures": {
            name: figures(name, arguments.launches) for name in arguments.shapes.split(",")
        },
    }
    print(json.dumps(whole, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(whole, indent=2) + "\n")


def figures(shape: str, launches: int) -> dict[str, float]:
    """Seconds, CPU time, memory and bytes of one shape of recording."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "t.cltrace"
        parts = write_large_recording(path, launches, SHAPES[shape])
        spool_bytes = sum(file.stat().st_size for file in parts.rglob("*") if file.is_file())
        used = use([sys.executable, "-c", FINALISE, parts, path])
        copy = shutil.copy(path, Path(scratch) / "copy.cltrace")
        merged = use([sys.executable, "-c", MERGE, path, copy, Path(scratch) / "both.cltrace"])
        return {
            "seconds": round(used.wall_ns / 1e9, 2),
            "cpu_us_per_launch": round(used.cpu_ns / launches / 1e3, 2),
            "peak_mb": round(used.peak_bytes / MB),
            "trace_bytes_per_launch": round(path.stat().st_size / launches, 1),
            "spool_bytes_per_launch": round(spool_bytes / launches, 1),
            "merge_cpu_us_per_launch": round(merged.cpu_ns / launches / 2e3, 2),
            "merge_peak_mb": round(merged.peak_bytes / MB),
        }


if __name__ == "__main__":
    main()
