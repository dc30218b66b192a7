"""What the metadata of a module says: places in the source, and facts about kernels."""

import re
from collections.abc import Callable
from typing import Final

from cltrace.kernels.ir.module import KernelFacts
from cltrace.kernels.ir.source_places import Place

_NODE: Final = re.compile(r"^!(\d+) = (.*)$", re.MULTILINE)
_FIELD: Final = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|!(\d+)|(\d+))')
_STRING: Final = re.compile(r'!"((?:[^"\\]|\\.)*)"')
_ATTACHED: Final = re.compile(r"!(\w+) !(\d+)")


class Metadata:
    """The numbered nodes of a module, read when they are asked for."""

    def __init__(self, text: str, file_name: Callable[[str], str]) -> None:
        """`text` is the module's. `file_name` makes names that the compiler knows those of users."""
        self._nodes = dict(_NODE.findall(text))
        self._file_name = file_name
        self._places: dict[str, Place] = {}
        self._files: dict[str, str] = {}

    def place(self, node: str) -> Place:
        """The place that a `!dbg` node describes."""
        return self._place(node, 0)

    def _place(self, node: str, depth: int) -> Place:
        known = self._places.get(node)
        if known is not None:
            return known
        fields = self._fields(node)
        at = fields.get("inlinedAt")
        caller = self._place(at, depth + 1) if at is not None and depth < 64 else None
        file = self._file(fields["scope"]) if "scope" in fields else ""
        place = Place(file, int(fields.get("line", 0)), int(fields.get("column", 0)), caller)
        self._places[node] = place
        return place

    def _fields(self, node: str) -> dict[str, str]:
        text = self._nodes.get(node, "")
        return {
            key: quoted or other or number for key, quoted, other, number in _FIELD.findall(text)
        }

    def _file(self, scope: str) -> str:
        known = self._files.get(scope)
        if known is None:
            fields = self._fields(scope)
            if "filename" in fields:
                known = self._file_name(_unescaped(fields["filename"]))
            else:
                parent = fields.get("file", fields.get("scope"))
                known = self._file(parent) if parent is not None and parent != scope else ""
            self._files[scope] = known
        return known

    def kernel_facts(self, attached: str) -> KernelFacts:
        """What the source says of a kernel. `attached` is the metadata on its line."""
        nodes = dict(_ATTACHED.findall(attached))
        sizes = self._numbers_of(nodes.get("reqd_work_group_size", ""))
        return KernelFacts(
            names=self._strings(nodes.get("kernel_arg_name", "")),
            types=self._strings(nodes.get("kernel_arg_type", "")),
            access=self._strings(nodes.get("kernel_arg_access_qual", "")),
            qualifiers=self._strings(nodes.get("kernel_arg_type_qual", "")),
            required_local_size=sizes or None,
        )

    def _strings(self, node: str) -> tuple[str, ...]:
        return tuple(_unescaped(text) for text in _STRING.findall(self._nodes.get(node, "")))

    def _numbers_of(self, node: str) -> tuple[int, ...]:
        return tuple(int(number) for number in re.findall(r"i32 (\d+)", self._nodes.get(node, "")))


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text)
