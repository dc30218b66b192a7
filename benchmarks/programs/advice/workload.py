"""Common parts of the programs of advice: a queue, kernels, host work, and a case per mistake.

    python benchmarks/programs/advice/waits.py CASE before|after [warm]
    python benchmarks/programs/advice/waits.py CASE compare ROUNDS

The first runs a variant once; with `warm` after a run of it that is not recorded. The second runs both in
turn, and prints their times as JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

import cltrace

SOURCE = """
kernel void spin(global float *x, int rounds) {
    float value = x[get_global_id(0)];
    for (int i = 0; i < rounds; i++) value = value * 1.0001f + 0.5f;
    x[get_global_id(0)] = value;
}
kernel void row(global float *x, int width, int at) {
    x[at * width + get_global_id(0)] += 1.0f;
}
kernel void rows(global float *x, int width) {
    x[get_global_id(1) * width + get_global_id(0)] += 1.0f;
}
kernel void advance(global float *x, int at) { x[get_global_id(0)] = 0.5f * x[get_global_id(0)] + at; }
kernel void weigh(global const float *weights, global float *x) {
    x[get_global_id(0)] *= weights[get_global_id(0)];
}
kernel void advance_all(global float *x, int count) {
    for (int at = 0; at < count; at++) x[get_global_id(0)] = 0.5f * x[get_global_id(0)] + at;
}
"""
ITEMS = 4096

Variant = Callable[[], object]


class Case(NamedTuple):
    """A mistake and its remedy. `rule` is the rule of advice that finds it."""

    rule: str
    before: Variant
    after: Variant


CASES: dict[str, Case] = {}
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build()
flags = cl.mem_flags
kernels = {
    name: cl.Kernel(program, name)
    for name in ("spin", "row", "rows", "advance", "advance_all", "weigh")
}


def case(name: str, rule: str) -> Callable[[Callable[[], tuple[Variant, Variant]]], None]:
    """Return a decorator that adds a case, whose function returns both variants."""

    def add(make: Callable[[], tuple[Variant, Variant]]) -> None:
        if name in sys.argv or "--list" in sys.argv:
            CASES[name] = Case(rule, *make())

    return add


def buffer(size_bytes: int) -> cl.Buffer:
    """Return a buffer."""
    return cl.Buffer(context, flags.READ_WRITE, size_bytes)


def spin(x: cl.Buffer, rounds: int, items: int = ITEMS, local: Any = None) -> cl.Event:
    """Launch a kernel that takes a while."""
    return kernels["spin"](queue, (items,), local, x, np.int32(rounds))


def work(rounds: int = 2000) -> int:
    """Work on the host, in one thread."""
    return sum(range(rounds))


def took_ns(variant: Variant) -> int:
    """Run a variant to its end, and return its time."""
    queue.finish()
    begin = time.perf_counter_ns()
    variant()
    queue.finish()
    return time.perf_counter_ns() - begin


def run_unrecorded(variant: Variant) -> None:
    """Run a variant to its end while recording is paused."""
    cltrace.pause()
    variant()
    queue.finish()
    cltrace.resume()


def warm_up() -> None:
    """Launch each kernel once: drivers compile at first launches, which are no part of a mistake."""
    x, one = buffer(1 << 20), np.int32(1)
    for items in (256, ITEMS):
        spin(x, 1, items)
    kernels["row"](queue, (64,), None, x, one, one)
    kernels["rows"](queue, (64, 64), None, x, one)
    kernels["advance"](queue, (256,), None, x, one)
    kernels["advance_all"](queue, (256,), None, x, one)
    kernels["weigh"](queue, (ITEMS,), None, x, buffer(1 << 20))
    queue.finish()


def main() -> None:
    """Run what the command line names."""
    if "--list" in sys.argv:
        print(json.dumps({name: each.rule for name, each in CASES.items()}))
        return
    name, way = sys.argv[1:3]
    chosen = CASES[name]
    warm_up()
    if way != "compare":
        variant = chosen.before if way == "before" else chosen.after
        if "warm" in sys.argv:
            run_unrecorded(variant)
        print(json.dumps({"ns": took_ns(variant)}))
        return
    variants = [chosen.before, chosen.after]
    for variant in variants:
        variant()
    times: list[list[int]] = [[], []]
    for at in range(int(sys.argv[3])):
        for which in ((0, 1), (1, 0))[at % 2]:
            times[which].append(took_ns(variants[which]))
    print(json.dumps({"before_ns": times[0], "after_ns": times[1]}))
