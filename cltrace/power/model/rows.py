"""The rows in which energy is told: those of the 2014 thesis's table 6.1, and where memory comes from."""

from collections.abc import Mapping
from typing import Final

UNIT: Final = "active unit"
"""The name of the energy of a compute unit that is active for a second."""
GROUPS: Final = (
    "integer", "integer division", "float", "float division", "special", "double",
    "double division", "double special", "other", "local memory", "near cache", "shared cache",
    "memory", "atomics", "launches", "active units",
)  # fmt: skip
"""The rows, in the order in which they are shown."""
_PLACES: Final[Mapping[str, str]] = {
    "local memory": "local memory", "barrier": "local memory", "near cache": "near cache",
    "near cache banks": "near cache", "near cache lines": "near cache",
    "near cache sectors": "near cache", "private memory": "near cache",
    "shared cache": "shared cache", "memory": "memory", "atomic": "atomics",
    "work-group": "launches", UNIT: "active units",
}  # fmt: skip
_DIVISIONS: Final = frozenset({"divide", "remainder", "divide by a literal"})
_PLAIN: Final = frozenset(
    {"add", "multiply", "multiply-add", "logic", "shift", "compare and select"}
)


def group_of(name: str) -> str:
    """The row that a class belongs to."""
    if name in _PLACES:
        return _PLACES[name]
    kind, _, rest = name.partition(" ")
    base = "integer" if kind in {"int", "long"} else kind
    if rest in _DIVISIONS:
        return f"{base} division"
    if rest in _PLAIN:
        return base
    if kind in {"float", "double"}:
        return "special" if kind == "float" else "double special"
    return "other"
