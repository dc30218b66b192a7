"""Record two devices of one host at once, and compare what traces say with what the programs did.

    python benchmarks/two_devices.py --out results                      # two GPUs of NVIDIA, 4 minutes
    python benchmarks/two_devices.py --platform Portable --small --out results  # two parts of a CPU
    python benchmarks/two_devices.py --out results --compare-only       # compare again, elsewhere

Each scenario is a program of `programs/pair/`, which records what it enqueued on which device and reads
the boards' own energy counters, while cltrace records it. `results.json` has both side by side, and the
traces lie beside it. A scenario that fails does not stop the others.
"""

import argparse
import datetime
import json
import platform
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.pair_comparison import compare_scenario
from benchmarks.pair_scenarios import Scenario, Sizes, run_scenario, scenarios
from cltrace.power.registry import find_readers
from cltrace.version import __version__

_LIMIT_S: Final = 285.0


def main() -> None:
    """Run the scenarios, compare, and write and print the results."""
    parser = argparse.ArgumentParser(description="Compare traces of two devices with the truth.")
    parser.add_argument("--platform", default="NVIDIA", help="use the platform of this name")
    parser.add_argument("--out", type=Path, required=True, help="write results and traces there")
    parser.add_argument("--only", default="", help="run these scenarios: names with commas")
    parser.add_argument("--small", action="store_true", help="run small sizes, to rehearse")
    parser.add_argument("--limit", type=float, default=_LIMIT_S, help="start nothing after S s")
    parser.add_argument(
        "--power", default="nvml", help="read power with this reader; none for none"
    )
    parser.add_argument("--compare-only", action="store_true", help="read the traces of --out")
    given = parser.parse_args()
    sizes = Sizes.SMALL if given.small else Sizes.USUAL
    if not given.compare_only and given.power not in {"none", *find_readers()}:
        parser.error(f"no reader {given.power!r}: install cltrace, whose entry points name readers")
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "results.json"
    chosen = [
        scenario
        for scenario in scenarios(given.platform, given.out, sizes, given.power)
        if not given.only or scenario.name in given.only.split(",")
    ]
    results = json.loads(path.read_text()) if path.exists() else {"runs": {}}
    if not given.compare_only:
        results["provenance"] = _provenance(given)
        _run_all(chosen, results, path, given.limit)
    _compare_all(chosen, results, path)


def _run_all(chosen: list[Scenario], results: dict[str, Any], path: Path, limit_s: float) -> None:
    until = time.monotonic() + limit_s
    for scenario in chosen:
        left_s = until - time.monotonic()
        if left_s < scenario.seconds:
            results["runs"][scenario.name] = {"skipped": f"{left_s:.0f} s were left"}
            continue
        begin = time.monotonic()
        try:
            run = run_scenario(scenario, left_s)
        except Exception:  # noqa: BLE001 - a scenario that fails must not stop the others
            run = {"traceback": traceback.format_exc()}
        results["runs"][scenario.name] = {"wall_s": round(time.monotonic() - begin, 2), **run}
        path.write_text(json.dumps(results, indent=1))
        print(f"{scenario.name}: {results['runs'][scenario.name]['wall_s']} s", flush=True)


def _compare_all(chosen: list[Scenario], results: dict[str, Any], path: Path) -> None:
    results["comparison"] = {}
    for scenario in chosen:
        rows = compare_scenario(scenario)
        results["comparison"][scenario.name] = rows
        print(f"\n{scenario.name}")
        for row in rows:
            mark = {True: "agrees", False: "DIFFERS", None: ""}[row["agrees"]]
            print(f"  {mark:8}{row['check']}: expected {row['expected']}; trace {row['trace']}")
    path.write_text(json.dumps(results, indent=1))


def _provenance(given: argparse.Namespace) -> dict[str, str]:
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cltrace": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "platform": given.platform,
        "small": str(given.small),
    }


if __name__ == "__main__":
    main()
