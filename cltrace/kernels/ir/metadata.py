"""Metadata of a module: source locations, and facts about kernels."""

import re
from collections.abc import Callable
from typing import Final

from cltrace.kernels.ir.module import KernelFacts
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.tokens import decoded_text

_NODE: Final = re.compile(r"^!(\d+) = (.*)$", re.MULTILINE)
_FIELD: Final = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|!(\d+)|(\d+))')
_STRING: Final = re.compile(r'!"((?:[^"\\]|\\.)*)"')
_ATTACHED: Final = re.compile(r"!(\w+) !(\d+)")
_LOOP: Final = re.compile(r"!llvm\.loop !(\d+)")
_REFERENCE: Final = re.compile(r"!(\d+)")
_KEEPS_LOOP: Final = '!"llvm.loop.unroll.disable"'
_MAX_SCOPES: Final = 256


class Metadata:
    """The numbered metadata nodes of a module, read on demand."""

    def __init__(self, text: str, file_name: Callable[[str], str]) -> None:
        """`text` is the module's. `file_name` maps the compiler's file names to the user's."""
        self._nodes = dict(_NODE.findall(text))
        self._file_name = file_name
        self._places: dict[str, Place] = {}
        self._files: dict[str, str] = {}

    def place(self, node: str) -> Place:
        """Return the source location that a `!dbg` node describes."""
        return self._nested_place(node, 0)

    def _nested_place(self, node: str, depth: int) -> Place:
        """Return the location of a node that is nested `depth` calls deep in inlined code."""
        cached = self._places.get(node)
        if cached is not None:
            return cached
        fields = self._fields(node)
        call = fields.get("inlinedAt")
        caller = self._nested_place(call, depth + 1) if call is not None and depth < 64 else None
        scope = fields.get("scope")
        file = self._file_of(scope) if scope is not None else ""
        line = int(fields.get("line", 0))
        if line or scope is None:
            place = Place(file, line, int(fields.get("column", 0)), caller)
        else:
            place = Place(file, self._line_of(scope), 0, caller, is_merged=True)
        self._places[node] = place
        return place

    def _fields(self, node: str) -> dict[str, str]:
        text = self._nodes.get(node, "")
        return {
            key: quoted or reference or number
            for key, quoted, reference, number in _FIELD.findall(text)
        }

    def _file_of(self, scope: str) -> str:
        """Return the file that a scope node belongs to."""
        name = self._files.get(scope)
        if name is None:
            fields = self._fields(scope)
            if "filename" in fields:
                name = self._file_name(decoded_text(fields["filename"]))
            else:
                parent = fields.get("file", fields.get("scope"))
                name = self._file_of(parent) if parent is not None and parent != scope else ""
            self._files[scope] = name
        return name

    def _line_of(self, scope: str) -> int:
        """Return the first line of a scope, or of the nearest one around it that has a line."""
        for _ in range(_MAX_SCOPES):
            fields = self._fields(scope)
            if "line" in fields:
                return int(fields["line"])
            if "scope" not in fields:
                break
            scope = fields["scope"]
        return 0

    def keeps_loop(self, line: str) -> bool:
        """Return True for the line of a branch back in a loop that is not to be unrolled any further."""
        attached = _LOOP.search(line)
        if attached is None:
            return False
        facts = _REFERENCE.findall(self._nodes.get(attached[1], ""))
        return any(_KEEPS_LOOP in self._nodes.get(fact, "") for fact in facts)

    def kernel_facts(self, attached: str) -> KernelFacts:
        """Return the facts about a kernel. `attached` is the metadata of its `define` line."""
        nodes = dict(_ATTACHED.findall(attached))
        sizes = self._integers(nodes.get("reqd_work_group_size", ""))
        return KernelFacts(
            names=self._strings(nodes.get("kernel_arg_name", "")),
            types=self._strings(nodes.get("kernel_arg_type", "")),
            access=self._strings(nodes.get("kernel_arg_access_qual", "")),
            qualifiers=self._strings(nodes.get("kernel_arg_type_qual", "")),
            required_local_size=sizes or None,
        )

    def _strings(self, node: str) -> tuple[str, ...]:
        return tuple(decoded_text(text) for text in _STRING.findall(self._nodes.get(node, "")))

    def _integers(self, node: str) -> tuple[int, ...]:
        return tuple(int(number) for number in re.findall(r"i32 (\d+)", self._nodes.get(node, "")))
