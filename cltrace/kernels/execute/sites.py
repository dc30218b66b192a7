"""The places of a kernel at which memory is accessed, and its private variables."""

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
from cltrace.kernels.ir.types import GENERIC, PointerType, Type, name_of, size_bytes, stored_bytes


class SiteTable:
    """Numbers access sites and private variables as they are met.

    Objects of memory are numbered from 1 on: variables of the program, parameters, private variables.
    """

    def __init__(self, objects_before: int, constants: Mapping[int, int]) -> None:
        """`constants` are the slots of integer constants with their values."""
        self._constants = constants
        self._next_object = objects_before + 1
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
        """A new site, and its number. `indices` are slots that its addresses depend on besides."""
        number = len(self._sites)
        self._sites.append(
            Site(
                number=number,
                place=instruction.place,
                block=block,
                access=access,
                space=space,
                access_bytes=stored_bytes(kind),
                element=name_of(kind),
                pointer=pointer,
                indices=indices,
            )
        )
        return number

    def widen(self, numbers: Sequence[int], length: int) -> None:
        """Sites that access as many bytes at once as the constant in the slot `length` says."""
        size = self._constants.get(length)
        if size is not None:
            for number in numbers:
                element = f"char[{size}]"
                self._sites[number] = replace(
                    self._sites[number], access_bytes=size, element=element
                )

    def allocate(self, instruction: Allocate) -> np.int64:
        """The address of a private variable."""
        address = np.int64(self._next_object << SHIFT)
        self._next_object += 1
        self._private.append(instruction)
        return address


def space_of(call: Call, argument: int) -> int:
    """The address space that an argument of a call points into."""
    kind = call.argument_types[argument]
    return kind.space if isinstance(kind, PointerType) else GENERIC


def private_bytes(instruction: Allocate) -> int:
    """How much a private variable takes for one work-item."""
    return size_bytes(instruction.type) * instruction.count
