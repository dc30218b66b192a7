"""What the page costs to write, and how smooth it is: a table of docs/performance.md.

    python benchmarks/page.py [--commands 100000,1000000] [--rounds 3] [--json FILE]

Traces a graph of commands, writes its page, and opens it in headless Chromium, which zooms through it
frame by frame. Without Chromium or playwright only the writing is measured.
"""

import argparse
import json
import platform
import statistics
import sys
import tempfile
from pathlib import Path

from browsers import chromium, open_tab
from samples import PROGRAMS, clock_reading_ns, spread, use

import cltrace

CLTRACE = [sys.executable, "-m", "cltrace"]
MB = 1_000_000
ZOOM = """async () => {
    const {timeline} = cltrace, frames = [];
    timeline.paintTimes.length = 0;
    let last = performance.now();
    for (let step = 0; step < 120; step += 1) {
        await new Promise(done => requestAnimationFrame(done));
        frames.push(performance.now() - last);
        last = performance.now();
        timeline.zoom(step < 60 ? 1.1 : 1 / 1.1);
    }
    const begin = performance.now();
    cltrace.search.set("stencil");
    const at = (list, share) => [...list].sort((a, b) => a - b)[Math.floor(share * (list.length - 1))];
    return {
        "paint, median and 95 %, ms": [at(timeline.paintTimes, 0.5), at(timeline.paintTimes, 0.95)],
        "frame, median and 95 %, ms": [at(frames, 0.5), at(frames, 0.95)],
        "search, ms": performance.now() - begin,
        "memory, MB": performance.memory.usedJSHeapSize / 1e6,
    };
}"""


def main() -> None:
    """Trace, write, open, print."""
    parser = argparse.ArgumentParser(description="What the page costs.")
    parser.add_argument("--commands", default="100000,1000000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    whole: dict[str, object] = {
        "machine": platform.platform(),
        "cltrace": cltrace.__version__,
        "clock_reading_ns": clock_reading_ns(),
    }
    for commands in map(int, arguments.commands.split(",")):
        with tempfile.TemporaryDirectory() as scratch:
            whole[str(commands)] = figures(commands, Path(scratch), max(arguments.rounds, 2))
    print(json.dumps(whole, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(whole, indent=2) + "\n")


def figures(commands: int, scratch: Path, rounds: int) -> dict[str, object]:
    """What a page of about so many commands takes."""
    trace, page = scratch / "graph.cltrace", scratch / "graph.html"
    use([*CLTRACE, "run", "-q", "-o", trace, sys.executable, PROGRAMS / "graph.py", str(commands)])
    with cltrace.load(trace) as opened:
        count = opened.rows("SELECT count(*) FROM v_command")[0][0]
    used = [use([*CLTRACE, "view", "-f", "-o", page, trace]) for _ in range(rounds)]
    return {
        "commands": count,
        "written in": f"{spread([one.wall_ns / 1e9 for one in used])} s",
        "memory": f"{statistics.median(one.peak_bytes for one in used) / MB:.0f} MB",
        "file": f"{page.stat().st_size / MB:.2f} MB",
        "browser": in_browser(page),
    }


def in_browser(page: Path) -> dict[str, object]:
    """How the page does in a browser; empty without one."""
    with chromium() as browser:
        if browser is None:
            return {}
        tab = open_tab(browser)
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready=yes]", state="attached", timeout=120_000)
        found: dict[str, object] = tab.evaluate(ZOOM)
        ready_ms = tab.evaluate("performance.getEntriesByName('ready')[0].startTime")
    return {"ready, ms": ready_ms, **found}


if __name__ == "__main__":
    main()
