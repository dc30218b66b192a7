"""Programs that must do the same traced and untraced: a table per subject, of code by name."""

HEAD = """\
import atexit, contextlib, faulthandler, gc, os, resource, signal, sys, threading, time, warnings, weakref
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void k(global int *a) { a[0] = 7; }").build()
kernel = cl.Kernel(program, "k")
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
def launch(): return kernel(queue, (1,), None, memory)
def say(*words): print(*words, flush=True)
class Noisy:
    def __init__(self, name, other=None): self.name, self.other = name, other
    def __del__(self): say("del", self.name)
launch().wait()
"""
"""Code that all programs begin with."""
