"""Code that runs traced behind a common head, for tests of what a trace says of it."""

import sys
from pathlib import Path

import cltrace
from cltrace.trace.reader import Trace
from tests.conftest import Finished, Runner

HEAD = """
import gc, os, signal, subprocess, sys, threading, time
import numpy as np
import pyopencl as cl
flags = cl.mem_flags
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
source = "kernel void k(global int *a) { a[0] = 7; }"
kernel = cl.Kernel(cl.Program(context, source).build(), "k")
def buffer(size=4096): return cl.Buffer(context, flags.READ_WRITE, size)
"""


class After:
    """Runs code behind `HEAD`, traced, and opens the trace."""

    def __init__(self, run: Runner, directory: Path) -> None:
        self._run = run
        self._path = directory / "after.cltrace"
        self.done = Finished(0, "", "")

    def __call__(self, code: str, *flags: str) -> Trace:
        words = ("run", "-q", "-f", "-o", self._path, *flags, sys.executable, "-c", HEAD + code)
        self.done = self._run(*words, for_trace=True)
        assert self.done.status == 0, self.done.stderr
        trace: Trace = cltrace.load(self._path)
        return trace
