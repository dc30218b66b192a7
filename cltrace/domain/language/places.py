"""Places in a source, and refusals that name them."""

import ast
from dataclasses import dataclass
from typing import NoReturn

from cltrace.errors import IterationSourceError


@dataclass(frozen=True, slots=True)
class SourcePlaces:
    """Places of a source: its file, and the lines that come before the text that was read.

    Attributes:
        file: name of the file for messages.
        lines_before: lines of the file before the text.
        columns_before: columns of each line that the text lacks, because it was indented.
    """

    file: str
    lines_before: int = 0
    columns_before: int = 0

    def place(self, node: ast.AST) -> str:
        """Return FILE:LINE:COLUMN of a node, both counted from 1."""
        line = getattr(node, "lineno", 1) + self.lines_before
        column = getattr(node, "col_offset", 0) + 1 + self.columns_before
        return f"{self.file}:{line}:{column}"

    def refuse(self, node: ast.AST, message: str) -> NoReturn:
        """Raise: `IterationSourceError` with the node's place."""
        raise IterationSourceError(self.place(node), message)
