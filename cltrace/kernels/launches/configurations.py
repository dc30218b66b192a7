"""Configurations of the launches of a trace, with what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from cltrace.errors import KernelError
from cltrace.kernels.arguments import Argument, BufferArgument
from cltrace.kernels.compiler import CodeForm, Target
from cltrace.kernels.counts.count_cache import ConfigurationKeys, Key
from cltrace.kernels.counts.records import KernelCounts
from cltrace.kernels.counts.traced_launches import (
    LaterUse,
    TracedLaunch,
    TracedProgram,
    usual_local_size,
)
from cltrace.kernels.launch_results import nd_range
from cltrace.kernels.launches.count_store import (
    ArgumentDigests,
    CountStore,
    KernelInputs,
    Outcome,
    code_key,
    configuration_key,
    kernel_key,
    program_key,
)
from cltrace.kernels.launches.settings import CountingSettings
from cltrace.kernels.launches.tasks import CodeTask, CountTask, InputsTask, Result, Task
from cltrace.kernels.machine import Machine
from cltrace.kernels.program import KernelCode


@dataclass(slots=True)
class CountedKernel:
    """The counts of a kernel by configuration. `tasks` has the task of each."""

    keys: ConfigurationKeys
    counts: dict[Key, KernelCounts] = field(default_factory=dict)
    as_written: dict[Key, KernelCounts] = field(default_factory=dict)
    """The counts that include the code as written."""
    tasks: dict[Key, CountTask] = field(default_factory=dict)


class LaunchConfigurations:
    """Configurations of launches, and the results of tasks, from this process or kept on disk."""

    def __init__(
        self, machine: Machine, settings: CountingSettings, targets: tuple[Target, ...]
    ) -> None:
        """`targets` are the GPUs on which the registers of kernels are found."""
        self._targets = targets
        self._machine = machine
        self._cpu_s = settings.cpu_s
        self._store = CountStore(settings.cache)
        self._digests = ArgumentDigests()
        self.programs: dict[str, TracedProgram] = {}
        self._program_keys: dict[int, tuple[TracedProgram, str]] = {}
        self._inputs: dict[str, KernelInputs] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._codes: dict[str, KernelCode] = {}
        self._kernels: dict[tuple[str, str], CountedKernel] = {}
        """The kernels by the key of their program: the same for a program that is built again."""

    def program_key(self, launch: TracedLaunch) -> str:
        """Return the key of a launch's program. Raises: `KernelError` if there is none."""
        if launch.program is None:
            raise KernelError("the trace has no source of its program")
        return self._key_of(launch.program)

    def _key_of(self, traced: TracedProgram) -> str:
        cached = self._program_keys.get(id(traced))
        if cached is None:
            cached = self._program_keys[id(traced)] = traced, program_key(traced)
            self.programs.setdefault(cached[1], traced)
        return cached[1]

    def inputs_task(self, launch: TracedLaunch) -> InputsTask | None:
        """Return a task that finds the inputs of a launch's kernel, or of one that ran before it.

        None if all are known.

        Raises: `KernelError` for a launch without a program.
        """
        own = LaterUse(launch.program, launch.kernel, 0)
        for use in (own, *chain.from_iterable(launch.later_uses.values())):
            if use.program is None:
                continue
            program = self._key_of(use.program)
            key = kernel_key(program, use.kernel)
            if key not in self._inputs:
                inputs = self._store.find_inputs(key)
                if inputs is None:
                    return InputsTask(program, {use.kernel: key})
                self._inputs[key] = inputs
        return None

    def configuration(self, launch: TracedLaunch) -> tuple[CountedKernel, Key]:
        """Return a launch's kernel, whose inputs are known, and its configuration.

        Raises: `KernelError` for a kernel that cannot be counted, and for sizes that do not fit.
        """
        program = self.program_key(launch)
        kernel = self._kernels.get((program, launch.kernel))
        if kernel is None:
            inputs = self._inputs[kernel_key(program, launch.kernel)].read()
            kernel = CountedKernel(ConfigurationKeys(inputs))
            self._kernels[program, launch.kernel] = kernel
        local_size = launch.local_size or usual_local_size(launch.global_size, self._machine)
        sizes = (launch.global_size, local_size, launch.global_offset)
        try:
            nd_range(*sizes)
        except ValueError as error:
            raise KernelError(f"{error}") from error
        arguments = self.current_arguments(launch)
        key = kernel.keys.key(*sizes, arguments)
        if key not in kernel.tasks:
            kernel.tasks[key] = self._count_task(launch, arguments, program, local_size)
        return kernel, key

    def current_arguments(self, launch: TracedLaunch) -> Sequence[Argument]:
        """Return the arguments of a launch, without contents that a kernel before it may have changed."""
        arguments = list(launch.arguments)
        for position, uses in launch.later_uses.items():
            argument = arguments[position]
            if isinstance(argument, BufferArgument) and any(map(self._writes, uses)):
                arguments[position] = replace(argument, contents=None)
        return arguments

    def _writes(self, use: LaterUse) -> bool:
        """Return whether a kernel may write the memory of a parameter."""
        if use.program is None:
            return True
        inputs = self._inputs.get(kernel_key(self._key_of(use.program), use.kernel))
        return inputs is None or inputs.written is None or use.position in inputs.written

    def _count_task(
        self,
        launch: TracedLaunch,
        arguments: Sequence[Argument],
        program: str,
        local_size: tuple[int, ...],
    ) -> CountTask:
        """Return the task of a configuration, with the arguments of its first launch."""
        sizes = (launch.global_size, local_size, launch.global_offset)
        return CountTask(
            program=program,
            key=configuration_key(
                program, launch.kernel, self._machine, sizes, arguments, self._digests
            ),
            kernel=launch.kernel,
            global_size=launch.global_size,
            local_size=local_size,
            global_offset=launch.global_offset,
            arguments=arguments,
            machine=self._machine,
            cpu_s=self._cpu_s,
            form=CodeForm.OPTIMISED,
        )

    def find_outcome(self, task: CountTask) -> Outcome | None:
        """Return the outcome of a configuration; None if it is not known."""
        outcome = self._outcomes.get(task.key)
        if outcome is None:
            outcome = self._store.find_outcome(task.key, task.cpu_s)
            if outcome is not None:
                self._outcomes[task.key] = outcome
        return outcome

    def code_task(self, launch: TracedLaunch) -> CodeTask:
        """Return the task that finds the code of a launch's kernel. Raises: `KernelError`."""
        program = self.program_key(launch)
        key = code_key(program, launch.kernel, self._targets)
        return CodeTask(program, key, launch.kernel, self._targets)

    def find_code(self, task: CodeTask) -> KernelCode | None:
        """Return the code of a kernel; None if it is not known."""
        code = self._codes.get(task.key)
        if code is None:
            code = self._store.find_code(task.key, self.programs[task.program].source)
            if code is not None:
                self._codes[task.key] = code
        return code

    def remember(self, task: Task, result: Result) -> None:
        """Remember the result of a task."""
        match task:
            case CountTask(key=key):
                assert isinstance(result, Outcome)
                self._outcomes[key] = result
            case CodeTask(key=key):
                assert isinstance(result, KernelCode)
                self._codes[key] = result
            case InputsTask(keys=keys):
                assert not isinstance(result, Outcome | KernelCode)
                for name, inputs in result.items():
                    self._inputs[keys[name]] = inputs
