"""Work that a recording loses when its program is killed, idle, under load, and with the GIL held.

    python benchmarks/kill_losses.py [--kills 10] [--json FILE]

Kills a program that launches all the time, at random moments. The loss is the time from the return of the
first launch that is not in the trace to that of the last one that the program made.
"""

import argparse
import json
import mmap
import os
import platform
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cltrace

PROGRAM = """
import ctypes, mmap, struct, sys, threading, time
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k() { }").build(), "k")
file = open(sys.argv[1], "r+b")
words = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
if sys.argv[2] == "gil":
    def hold():
        while True: ctypes.PyDLL(None).usleep(300_000); time.sleep(0.1)
    threading.Thread(target=hold, daemon=True).start()
if sys.argv[2] == "busy":
    def work():
        while True: pass
    threading.Thread(target=work, daemon=True).start()
clock, count = time.perf_counter_ns, 0
while True:
    for _ in range(100):
        kernel(queue, (1,), None)
        count += 1
        words[count] = clock()
        words[0] = count
    queue.finish()
"""
"""Launches, and writes the number of launches and the time after each into a file in memory."""

MAX_LAUNCHES = 1 << 22
CASES = {
    "idle machine": ("plain", 0),
    "two busy processes per core": ("plain", 2 * (os.cpu_count() or 1)),
    "a busy thread of Python": ("busy", 0),
    "a thread that holds the GIL for 300 ms": ("gil", 0),
}


def main() -> None:
    """Kill, and print the losses."""
    parser = argparse.ArgumentParser(description="What a kill loses.")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures = {}
    for layer in ("auto", "off"):
        for name, (how, busy) in CASES.items():
            losses = [_loss_ms(how, busy, layer, seed) for seed in range(arguments.kills)]
            figures[f"{name}, {'layer' if layer == 'auto' else 'hooks'}"] = {
                "median_ms": round(statistics.median(losses), 1),
                "max_ms": round(max(losses), 1),
            }
    whole = {
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "cltrace": cltrace.__version__,
        "kills": arguments.kills,
        "figures": figures,
    }
    print(json.dumps(whole, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(whole, indent=2) + "\n")


def _loss_ms(how: str, busy: int, layer: str, seed: int) -> float:
    """Kill a program once, and return what its recording lost."""
    with tempfile.TemporaryDirectory(prefix="cltrace-kill-") as directory, _load(busy):
        path, shared = Path(directory) / "t.cltrace", Path(directory) / "times"
        shared.write_bytes(bytes(8 * (MAX_LAUNCHES + 1)))
        flags = ("run", "-q", "--layer", layer, "-o", str(path))
        words = (sys.executable, "-c", PROGRAM, str(shared), how)
        with subprocess.Popen([sys.executable, "-m", "cltrace", *flags, *words]) as process:
            _wait_for_launches(shared, process)
            time.sleep(0.5 + random.Random(seed).random())
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            os.kill(int(children.split()[-1]), signal.SIGKILL)
        with cltrace.load(path) as trace:
            recorded = trace.rows("SELECT count(*) FROM v_command WHERE kernel = 'k'")[0][0]
        return _lost_ms(shared, int(recorded))


def _wait_for_launches(shared: Path, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None and struct.unpack("<q", _bytes_at(shared, 0))[0] < 1000:
        time.sleep(0.01)


def _lost_ms(shared: Path, recorded: int) -> float:
    with shared.open("rb") as file:
        words = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast("q")
        count = words[0]
        return 0.0 if recorded >= count else (words[count] - words[recorded + 1]) / 1e6


def _bytes_at(path: Path, word: int) -> bytes:
    with path.open("rb") as file:
        file.seek(8 * word)
        return file.read(8)


@contextmanager
def _load(count: int) -> Iterator[None]:
    """Keep processors busy by so many processes."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
