"""Launches whose events are recorded, and what is recorded of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.arguments import Argument
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.program import Program


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """A launch with its program and all arguments. Sizes have an entry per dimension.

    `global_offset` is None for zeros.
    """

    program: Program
    kernel: str
    global_size: Sequence[int]
    local_size: Sequence[int]
    arguments: Sequence[Argument]
    global_offset: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSelection:
    """Selection of the events of a launch.

    Attributes:
        form: the code to execute.
        watched: the arguments and variables whose accesses are recorded, beside those that the source
            watches; all if there are none.
        emissions: values to record, as `NAME[INDEX]=EXPRESSION@LINE`, beside those that the source emits.
    """

    form: CodeForm = CodeForm.WRITTEN
    watched: Collection[str] = ()
    emissions: Sequence[str] = ()


ALL_EVENTS: Final = EventSelection()
"""All events of the code as written."""
