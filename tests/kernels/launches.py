"""Cases on our own executor: their results."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.arguments import Argument as KernelArgument
from cltrace.kernels.arguments import BufferArgument, LocalArgument, StructArgument
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.launch_results import execute
from cltrace.kernels.program import Program, parse
from tests.kernels.cases import Array, Case, Local, Vector


def program_of(case: Case) -> Program:
    return _program(case.text, case.options)


@cache
def _program(text: str, options: str) -> Program:
    return parse(text, options)


def local_size_of(case: Case) -> tuple[int, ...]:
    return case.local_size or (1,) * len(case.global_size)


def arguments_of(case: Case) -> Sequence[KernelArgument]:
    found: list[KernelArgument] = []
    for argument in case.inputs():
        if isinstance(argument, Local):
            found.append(LocalArgument(argument.size))
        elif isinstance(argument, Vector):
            found.append(StructArgument(argument.values.tobytes()))
        elif isinstance(argument, np.ndarray):
            found.append(BufferArgument(argument.nbytes, argument))
        else:
            found.append(argument)
    return found


def executed(case: Case, form: CodeForm) -> tuple[list[Array | None], frozenset[str]]:
    """The final contents of a case's buffers, and what the executor says went wrong."""
    outputs, notes = execute(
        program_of(case), case.kernel, case.global_size, local_size_of(case), arguments_of(case),
        form=form,
    )  # fmt: skip
    return contents_of(case, outputs), notes


def contents_of(case: Case, outputs: Mapping[int, NDArray[np.uint8]]) -> list[Array | None]:
    """The contents of a case's buffers, from the bytes by number of argument."""
    contents: list[Array | None] = []
    for number, argument in enumerate(case.inputs()):
        if isinstance(argument, np.ndarray):
            raw = outputs[number][: argument.nbytes]
            contents.append(raw.view(argument.dtype).reshape(argument.shape))
        else:
            contents.append(None)
    return contents
