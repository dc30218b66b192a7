"""Names of what operations cost: series of a calibration, parameters of models, classes of energy."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CostName:
    """Name of the cost of an operation: the type that it works on, and what it does.

    `type` has no space in it. `operation` is a class of operations ("multiply-add"), a function
    ("native_sin"), or several words ("compare and select"). `str()` gives the text that profiles store
    and reports show, "float multiply-add"; `parse` reads that text.
    """

    type: str
    operation: str

    def __post_init__(self) -> None:
        if " " in self.type:
            raise ValueError(f"the type of a cost has a space in it: {self.type!r}")

    def __str__(self) -> str:
        return f"{self.type} {self.operation}"

    @classmethod
    def parse(cls, text: str) -> "CostName":
        """Return the name whose `str()` is `text`. Raises: `ValueError` for a text of one word."""
        kind, space, operation = text.partition(" ")
        if not space:
            raise ValueError(f"{text!r} is no name of a cost: it needs a type and an operation")
        return cls(kind, operation)
