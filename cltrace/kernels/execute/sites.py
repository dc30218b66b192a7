"""Access sites and private variables of a kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cltrace.kernels.execute.memory import SHIFT
from cltrace.kernels.execute.state import Site
from cltrace.kernels.ir.instructions import (
    Access,
    Allocate,
    AtomicExchange,
    AtomicUpdate,
    Call,
    Load,
    Store,
    Touch,
)
from cltrace.kernels.ir.types import GENERIC, PointerType, Type, size_bytes, stored_bytes, type_name


class SiteTable:
    """Numbers of access sites and private variables, in the order of their addition.

    Memory objects are numbered from 1: variables of the program, parameters, private variables.
    """

    def __init__(self, preceding_objects: int, constants: Mapping[int, int]) -> None:
        """Start an empty table. `constants` maps the slots of integer constants to their values."""
        self._constants = constants
        self._next_object = preceding_objects + 1
        self._sites: list[Site] = []
        self._private: list[Allocate] = []

    @property
    def sites(self) -> Sequence[Site]:
        """All sites, by number."""
        return tuple(self._sites)

    @property
    def private(self) -> Sequence[Allocate]:
        """The private variables that stay in memory, in the order of their numbers."""
        return tuple(self._private)

    def add(
        self,
        instruction: Load | Store | Touch | AtomicUpdate | AtomicExchange | Call,
        block: int,
        access: Access,
        space: int,
        kind: Type,
        pointer: int,
        *indices: int,
    ) -> int:
        """Add a site and return its number. `indices` are further slots that its address depends on."""
        number = len(self._sites)
        self._sites.append(
            Site(
                number=number,
                place=instruction.place,
                block=block,
                access=access,
                space=space,
                access_bytes=stored_bytes(kind),
                element=type_name(kind),
                pointer=pointer,
                indices=indices,
            )
        )
        return number

    def widen(self, numbers: Sequence[int], length: int) -> None:
        """Set the access size of sites to the bytes given by the constant in slot `length`."""
        size = self._constants.get(length)
        if size is not None:
            for number in numbers:
                element = f"char[{size}]"
                self._sites[number] = replace(
                    self._sites[number], access_bytes=size, element=element
                )

    def allocate(self, instruction: Allocate) -> np.int64:
        """Add a private variable and return its address."""
        address = np.int64(self._next_object << SHIFT)
        self._next_object += 1
        self._private.append(instruction)
        return address


def space_of(call: Call, argument: int) -> int:
    """Return the address space of a call's pointer argument."""
    kind = call.argument_types[argument]
    return kind.space if isinstance(kind, PointerType) else GENERIC


def private_bytes(instruction: Allocate) -> int:
    """Return the size of a private variable per work-item."""
    return size_bytes(instruction.type) * instruction.count
