"""Tasks of counting: finding the inputs of kernels, and counting a configuration."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cltrace.errors import (
    CompilerFailedError,
    CompilerMissingError,
    KernelError,
    KernelLimitError,
)
from cltrace.kernels.arguments import Argument
from cltrace.kernels.compiler import CodeForm, Compiler, Target
from cltrace.kernels.counts.count import count, count_written
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis, analyse_kernel
from cltrace.kernels.counts.stored_counts import encode_counts, encode_written
from cltrace.kernels.counts.traced_launches import TracedProgram
from cltrace.kernels.flow.dependencies import UNKNOWN_ROOT
from cltrace.kernels.launches.count_store import CountStore, KernelInputs, Outcome, failed
from cltrace.kernels.limits import limit_counting, limit_reading
from cltrace.kernels.machine import Machine
from cltrace.kernels.program import KernelCode, Program, parse

_MAX_PROGRAMS: Final = 64
"""Number of programs that are kept parsed."""
_NO_KERNEL: Final = "its program has no such kernel"


@dataclass(frozen=True, slots=True)
class InputsTask:
    """Find the inputs of kernels of a program. `keys` has the key of each kernel by its name."""

    program: str
    keys: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountTask:
    """Count a configuration of a kernel of a program, within `cpu_s` seconds of CPU time.

    `form` is the counted code form.
    """

    program: str
    key: str
    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    global_offset: tuple[int, ...] | None
    arguments: Sequence[Argument]
    machine: Machine
    cpu_s: float | None
    form: CodeForm


def task_as_written(task: CountTask) -> CountTask:
    """Return the task that counts the code as written of a configuration."""
    return replace(task, key=f"{task.key}-written", form=CodeForm.WRITTEN)


@dataclass(frozen=True, slots=True)
class CodeTask:
    """Find a kernel's place in its source, and its registers on `targets`.

    `key` is the key of the result.
    """

    program: str
    key: str
    kernel: str
    targets: tuple[Target, ...]


Task = InputsTask | CountTask | CodeTask
Result = Mapping[str, KernelInputs] | Outcome | KernelCode


class TaskRunner:
    """A runner of tasks, which keeps their results in a store.

    `programs` maps keys to programs and may grow between tasks. The programs used last stay parsed.
    """

    def __init__(
        self, directory: Path | None, programs: Mapping[str, TracedProgram], compiler: Compiler
    ) -> None:
        self._store = CountStore(directory)
        self._traced = programs
        self._compiler = compiler
        self._parsed: OrderedDict[str, Program | KernelError] = OrderedDict()

    def run(self, task: Task) -> Result:
        """Run a task. Its errors are part of the result."""
        match task:
            case InputsTask():
                return {name: self._find_inputs(task, name) for name in task.keys}
            case CountTask():
                return self._count(task)
            case CodeTask():
                return self._read_code(task)

    def program(self, key: str) -> Program:
        """Return a program, parsed. Raises: `KernelError`."""
        parsed = self._parsed.pop(key, None)
        if parsed is None:
            traced = self._traced[key]
            try:
                parsed = parse(
                    traced.source, traced.options, headers=traced.headers, compiler=self._compiler
                )
            except KernelError as error:
                parsed = error
        self._parsed[key] = parsed
        while len(self._parsed) > _MAX_PROGRAMS:
            self._parsed.popitem(last=False)
        if isinstance(parsed, KernelError):
            raise parsed
        return parsed

    def _find_inputs(self, task: InputsTask, kernel: str) -> KernelInputs:
        try:
            program = self.program(task.program)
            if kernel in program.kernels:
                with limit_reading():
                    analysis = analyse_kernel(program, kernel, CodeForm.OPTIMISED)
                    inputs = KernelInputs(
                        analysis.slice_inputs, written=_written_parameters(analysis)
                    )
            else:
                inputs = KernelInputs(None, KernelError.__name__, _NO_KERNEL)
        except Exception as error:  # noqa: BLE001 - a defect with one kernel spares the others
            inputs = KernelInputs(None, *failed(error))
            if not _is_lasting(error):
                return inputs
        self._store.keep_inputs(task.keys[kernel], inputs)
        return inputs

    def _read_code(self, task: CodeTask) -> KernelCode:
        try:
            code = self.program(task.program).code(task.kernel, task.targets)
        except (KernelError, KeyError):  # the counts' own error says why
            return KernelCode(self._traced[task.program].source, 0, {})
        self._store.keep_code(task.key, code)
        return code

    def _count(self, task: CountTask) -> Outcome:
        try:
            with limit_counting(task.cpu_s):
                outcome = Outcome(counts=_count_form(task, self.program(task.program)))
        except KernelLimitError as error:
            outcome = Outcome("", *failed(error), cpu_s=task.cpu_s)
        except Exception as error:  # noqa: BLE001 - a defect with one launch spares the others
            outcome = Outcome("", *failed(error))
            if not _is_lasting(error):
                return outcome
        self._store.keep_outcome(task.key, outcome)
        return outcome


def _count_form(task: CountTask, program: Program) -> str:
    """Return the counts of a task's code form as text. Raises: `KernelError`."""
    launch = (program, task.kernel, task.global_size, task.local_size, task.arguments)
    offset, machine = task.global_offset, task.machine
    if task.form is CodeForm.WRITTEN:
        return encode_written(count_written(*launch, global_offset=offset, machine=machine))
    forms = {CodeForm.OPTIMISED}
    return encode_counts(count(*launch, global_offset=offset, machine=machine, forms=forms))


def _written_parameters(analysis: KernelAnalysis) -> frozenset[int] | None:
    """Return the parameters whose memory a kernel may write; None if it may write any."""
    roots = analysis.written_roots
    if UNKNOWN_ROOT in roots:
        return None
    return frozenset(root for root in roots if isinstance(root, int))


def _is_lasting(error: Exception) -> bool:
    """Return True if an error follows from the program and the launch alone."""
    return isinstance(error, KernelError) and not isinstance(
        error, CompilerMissingError | CompilerFailedError | KernelLimitError
    )
