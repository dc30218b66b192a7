"""Source lines of call sites in compiled code.

The layer records such a site as `MODULE+0xOFFSET`, with the return address's offset in the module and
line 0. Debug information of the module gives the source file and line, its symbol table the function.
Both may be missing, and so may `addr2line` of binutils: the site is then named by module and offset.
"""

import mmap
import re
import shutil
import struct
import subprocess
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cltrace.events.records import Site
from cltrace.spool.reader import ProcessSpool

_PLACE: Final = re.compile(r"(/.*)\+0x([0-9a-f]{1,16})")
_TIMEOUT_S: Final = 60
_MAX_MODULE_BYTES: Final = 1 << 30
_SYMBOL_TABLES: Final = (2, 11)
"""Types of the sections of symbols: of all symbols, and of those for dynamic linking."""
_FUNCTION: Final = 2
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Function, file and line of an address; empty and 0 where unknown."""

    function: str
    file: str
    line: int


FindPlaces = Callable[[Path, Sequence[int]], Sequence[SourcePlace]]
"""A function that returns the places of addresses in a module, in their order."""


def find_places_by_debug_information(module: Path, addresses: Sequence[int]) -> list[SourcePlace]:
    """Return the places of addresses, as `addr2line` reads them from the module."""
    unknown = [SourcePlace("", "", 0)] * len(addresses)
    program = shutil.which("addr2line")
    if program is None:
        return unknown
    try:
        output = subprocess.run(
            [program, "-f", "-C", "-e", str(module)],
            input="".join(f"{address:#x}\n" for address in addresses),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=True,
        ).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return unknown
    if len(output) != 2 * len(addresses):
        return unknown
    return [_parse_place(*lines) for lines in zip(output[::2], output[1::2], strict=True)]


def refine_sites(
    sites: Iterable[Site], find_places: FindPlaces = find_places_by_debug_information
) -> dict[int, Site]:
    """Return the sites of compiled code among `sites` with source places, by number."""
    modules: dict[Path, list[tuple[Site, int]]] = {}
    for site in sites:
        match = _PLACE.fullmatch(site.file) if site.line == 0 else None
        if match is not None:
            modules.setdefault(Path(match[1]), []).append((site, int(match[2], 16)))
    refined = {}
    for module, located in modules.items():
        # The call is before the address to which it returns.
        addresses = [offset - 1 for _, offset in located]
        places = find_places(module, addresses) if _is_readable(module) else ()
        symbols = _Symbols.of(module)
        for position, (site, offset) in enumerate(located):
            place = places[position] if position < len(places) else SourcePlace("", "", 0)
            name = place.function or site.function or symbols.name_of(offset - 1)
            refined[site.id] = replace(
                site,
                file=place.file or str(module),
                line=place.line,
                function=name or f"+{offset:#x}",
            )
    return refined


def with_source_places(spool: ProcessSpool) -> ProcessSpool:
    """Return a spool whose sites of compiled code have source places."""
    refined = refine_sites(spool.records(Site))
    if not refined:
        return spool
    return replace(
        spool,
        all_records=tuple(
            refined.get(record.id, record) if isinstance(record, Site) else record
            for record in spool.all_records
        ),
    )


def _parse_place(function: str, location: str) -> SourcePlace:
    """Return the place in two lines of `addr2line`: `main` and `/src/a.c:12 (discriminator 2)`."""
    path, _, line = location.split(" (discriminator", maxsplit=1)[0].rpartition(":")
    is_known = line.isdigit() and not path.startswith("?")
    return SourcePlace(
        "" if function == "??" else function,
        path if is_known else "",
        int(line) if is_known else 0,
    )


def _is_readable(module: Path) -> bool:
    try:
        return module.is_file() and module.stat().st_size <= _MAX_MODULE_BYTES
    except OSError:
        return False


class _Symbols:
    """Functions of a module, from its own symbol tables. Without any, nothing has a name."""

    def __init__(self, functions: Mapping[int, tuple[int, str]]) -> None:
        """Take the size and name of each function by its address."""
        self._addresses = sorted(functions)
        self._functions = functions

    @classmethod
    def of(cls, module: Path) -> "_Symbols":
        """Return the symbols of a 64-bit little-endian ELF file; none of any other file."""
        try:
            if _is_readable(module):
                with (
                    module.open("rb") as file,
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
                ):
                    return cls(_read_functions(content))
        except (OSError, struct.error, ValueError, IndexError, OverflowError):
            pass
        return cls({})

    def name_of(self, address: int) -> str:
        """Return the name of the function at an address; empty if it is in none."""
        position = bisect_right(self._addresses, address) - 1
        if position < 0:
            return ""
        begin = self._addresses[position]
        size, name = self._functions[begin]
        return name if address < begin + size else ""


def _read_functions(content: mmap.mmap) -> dict[int, tuple[int, str]]:
    if content[:6] != b"\x7fELF\x02\x01":
        return {}
    (table_offset,) = struct.unpack_from("<Q", content, 40)
    entry_size, count = struct.unpack_from("<HH", content, 58)
    sections = [
        _SECTION.unpack_from(content, table_offset + position * entry_size)
        for position in range(count)
    ]
    functions = {}
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind not in _SYMBOL_TABLES:
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, _SYMBOL.size):
            name, info, _, _, address, length = _SYMBOL.unpack_from(content, at)
            if info & 15 == _FUNCTION and address:
                end = content.find(b"\0", names + name)
                text = content[names + name : end].decode("utf-8", "replace")
                functions[address] = (length, text)
    return functions
