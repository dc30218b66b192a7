"""The fitted costs of a device, read from the parameters that its profile stores."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from cltrace.events.cost_names import CostName
from cltrace.kernels.demand import Pipe, is_conversion, pipe_of
from cltrace.profile import Parameter

_WAIT: Final = "wait "


@dataclass(frozen=True, slots=True)
class Costs:
    """Fitted costs of a device, in ns unless a constant's unit says otherwise.

    `constants` are costs of launches and memory by name. `operations` are the costs of an operation of a
    warp among independent ones, `waits` those of waiting for its result.
    """

    constants: Mapping[str, float]
    operations: Mapping[CostName, float]
    waits: Mapping[CostName, float]
    special_instruction: float = field(init=False)
    """An instruction of the special functions' pipe: the fastest function; infinite where none is."""

    def __post_init__(self) -> None:
        """Find the fastest special function."""
        special = [
            cost
            for name, cost in self.operations.items()
            if pipe_of(name) is Pipe.SPECIAL and not is_conversion(name)
        ]
        object.__setattr__(self, "special_instruction", min(special, default=math.inf))

    @classmethod
    def of(cls, parameters: Mapping[str, Parameter]) -> "Costs":
        """Return the costs that stored parameters hold. Raises: `ValueError` for a damaged name."""
        constants: dict[str, float] = {}
        operations: dict[CostName, float] = {}
        waits: dict[CostName, float] = {}
        for key, parameter in parameters.items():
            match parameter.own_family:
                case "throughput":
                    operations[CostName.parse(key)] = parameter.value
                case "latency":
                    waits[CostName.parse(key.removeprefix(_WAIT))] = parameter.value
                case _:
                    constants[key] = parameter.value
        return cls(constants, operations, waits)

    def __getitem__(self, name: str) -> float:
        """Return a constant."""
        return self.constants[name]

    def with_constants(self, values: Mapping[str, float]) -> "Costs":
        """Return the costs with other values for some constants."""
        return replace(self, constants={**self.constants, **values})

    def with_slower_operations(self, factor: float) -> "Costs":
        """Return the costs where each operation takes longer by a factor."""
        return replace(
            self, operations={name: cost * factor for name, cost in self.operations.items()}
        )


def operation_key(name: CostName) -> str:
    """Return the key under which a profile stores the cost of an operation."""
    return str(name)


def wait_key(name: CostName) -> str:
    """Return the key under which a profile stores the cost of waiting for an operation."""
    return f"{_WAIT}{name}"
