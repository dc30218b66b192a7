"""Runs a program or `-m MODULE`, with all arguments of kernels set one by one.

loopy sets the arguments of a kernel by `Kernel._set_arg_multi` and its kin, which cltrace does not
see: its launches had none.
"""

import runpy
import sys
from typing import Any

import numpy as np
import pyopencl as cl


def set_all(kernel: cl.Kernel, pairs: tuple[Any, ...]) -> None:
    """In place of `_set_arg_multi` and `_set_arg_buf_multi`: index, argument, index, ..."""
    for index, argument in zip(pairs[::2], pairs[1::2], strict=True):
        kernel.set_arg(index, argument)


def set_all_packed(kernel: cl.Kernel, triples: tuple[Any, ...]) -> None:
    """In place of `_set_arg_buf_pack_multi`: index, character of the type, number, index, ..."""
    for index, kind, number in zip(triples[::3], triples[1::3], triples[2::3], strict=True):
        kernel.set_arg(index, np.dtype(kind).type(number))


cl.Kernel._set_arg_multi = set_all
cl.Kernel._set_arg_buf_multi = set_all
cl.Kernel._set_arg_buf_pack_multi = set_all_packed

del sys.argv[0]
if sys.argv[0] == "-m":
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    runpy.run_path(sys.argv[0], run_name="__main__")
