"""Access sites and private variables of a kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

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
from cltrace.kernels.ir.types import (
    GENERIC,
    LOCAL,
    PointerType,
    Type,
    VectorType,
    size_bytes,
    stored_bytes,
    type_name,
)

_MAX_REQUEST_BYTES: Final = 16
"""Bytes of the widest access of an instruction of a GPU."""
_MAX_ELEMENTS: Final = 4
"""Elements of the longest vector that it moves."""


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
        alignment_bytes: int = 0,
    ) -> int:
        """Add a site and return its number.

        `indices` are further slots that its address depends on. The address is a multiple of
        `alignment_bytes`, 0 if nothing is known but its type.
        """
        number = len(self._sites)
        self._sites.append(
            Site(
                number=number,
                place=instruction.place,
                block=block,
                access=access,
                space=space,
                access_bytes=stored_bytes(kind),
                request_bytes=_request_bytes(kind, 0 if space == LOCAL else alignment_bytes),
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
                    self._sites[number], access_bytes=size, request_bytes=size, element=element
                )

    def allocate(self, instruction: Allocate) -> np.int64:
        """Add a private variable and return its address."""
        address = np.int64(self._next_object << SHIFT)
        self._next_object += 1
        self._private.append(instruction)
        return address


def _request_bytes(kind: Type, alignment_bytes: int) -> int:
    """Return the bytes that an instruction of a GPU moves of an access.

    NVIDIA's compiler splits vectors into at most four elements and 16 bytes, and into elements where it
    does not know that their address is aligned, as that of `vload4`. Up to 16 aligned bytes are joined.
    It aligns arrays in local memory.
    """
    size = stored_bytes(kind)
    aligned = min(alignment_bytes or size, _MAX_REQUEST_BYTES)
    if size <= aligned or not isinstance(kind, VectorType):
        return size
    element = size_bytes(kind.element)
    return max(min(aligned, _MAX_ELEMENTS * element), element)


def space_of(call: Call, argument: int) -> int:
    """Return the address space of a call's pointer argument."""
    kind = call.argument_types[argument]
    return kind.space if isinstance(kind, PointerType) else GENERIC


def private_bytes(instruction: Allocate) -> int:
    """Return the size of a private variable per work-item."""
    return size_bytes(instruction.type) * instruction.count
