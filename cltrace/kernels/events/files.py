"""Files of events, `NAME.events`: columns of numpy in a zip archive, and a header in JSON.

`numpy.load` reads the columns without cltrace. A file from a stranger is hostile input: its members,
their sizes, types, lengths and references are checked before anything uses them.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from tokenize import TokenError
from typing import Any, Final, TypeVar

import numpy as np
from numpy.lib import format as numpy_format
from numpy.typing import NDArray

from cltrace.errors import KernelError
from cltrace.files import read_input, write_atomically
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.events.annotations import Binding, Chart, Emission
from cltrace.kernels.events.records import (
    AccessTable,
    Continuation,
    Decision,
    DecisionKind,
    DroppedEvents,
    EventKind,
    EventMemory,
    EventSite,
    ItemTable,
    LaunchEvents,
    StreamTable,
    ValueTable,
)
from cltrace.kernels.machine import ItemLoops, Machine

SCHEMA: Final = 1
"""Version of the file format. Newer files are refused."""
_HEADER: Final = "header.json"
_REALS: Final = "values.value"
"""The column of real numbers; the others are integers."""
_MAX_FILE_BYTES: Final = 1 << 28
_MAX_COLUMN_BYTES: Final = 1 << 30
_MAX_HEADER_BYTES: Final = 64 << 20
_MAX_UNIT: Final = 1 << 12
"""Largest warp, sector, bank, and number of banks of a device."""
_MAX_EPOCHS: Final = 1 << 22
_MAX_ACCESS_BYTES: Final = 1 << 12
_MAX_REQUESTS: Final = 16
"""Requests of an access: the elements of the longest vector of OpenCL. Others are joined to so many."""
_DAMAGES: Final = (
    OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RecursionError, EOFError, OverflowError,
    KeyError, TypeError, ValueError, AttributeError, RuntimeError, SyntaxError, TokenError,
)  # fmt: skip
"""Errors of what reads an archive, JSON and columns of numpy that are damaged."""
_TABLES: Final[Mapping[str, type]] = {
    "items": ItemTable,
    "streams": StreamTable,
    "accesses": AccessTable,
    "values": ValueTable,
}
_Table = TypeVar("_Table")


def is_events_file(path: Path) -> bool:
    """Return True if a file is one of events. It may still be damaged."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            header = json.loads(_read_member(archive, _HEADER, _MAX_HEADER_BYTES))
            return isinstance(header, dict) and "cltrace_events" in header
    except _DAMAGES:
        return False


def write_events(events: LaunchEvents, path: Path) -> None:
    """Write events atomically. Raises: `OutputError`."""
    write_atomically(pack_events(events), path)


def pack_events(events: LaunchEvents) -> bytes:
    """Return the contents of a file of events."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_HEADER, json.dumps(_header(events), ensure_ascii=True))
        for name, column in _columns(events).items():
            raw = io.BytesIO()
            numpy_format.write_array(raw, _narrow(column), allow_pickle=False)
            archive.writestr(f"{name}.npy", raw.getvalue())
    return packed.getvalue()


def read_events(path: Path) -> LaunchEvents:
    """Read a file of events. Raises: `KernelError` if it is not one, or damaged, or newer."""
    try:
        raw = read_input(path, _MAX_FILE_BYTES)
    except (OSError, ValueError) as error:
        raise KernelError(f"{path} cannot be read as a file of events: {error}") from error
    try:
        return _unpack_events(raw)
    except _NewerFileError:
        raise KernelError(
            f"{path} was written by a newer version of cltrace: update cltrace to read it"
        ) from None
    except _DAMAGES as error:
        raise KernelError(f"{path} is no file of events, or it is damaged: {error}") from error


class _NewerFileError(Exception):
    """The file has a newer format."""


def _header(events: LaunchEvents) -> Mapping[str, Any]:
    return {
        "cltrace_events": SCHEMA,
        "kernel": events.kernel,
        "source": events.source,
        "form": events.form.value,
        "device": events.device,
        "global_size": events.global_size,
        "local_size": events.local_size,
        "machine": asdict(events.machine),
        "begin": asdict(events.begin),
        "decisions": [asdict(decision) for decision in events.decisions],
        "sites": [asdict(site) for site in events.sites],
        "memories": [asdict(memory) for memory in events.memories],
        "emissions": [asdict(emission) for emission in events.emissions],
        "bindings": [asdict(binding) for binding in events.bindings],
        "dropped": asdict(events.dropped),
        "notes": events.notes,
    }


def _columns(events: LaunchEvents) -> Mapping[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {"warps.operations": events.warp_operations}
    for table_name in _TABLES:
        table = getattr(events, table_name)
        for field in fields(table):
            columns[f"{table_name}.{field.name}"] = getattr(table, field.name)
    return columns


def _narrow(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of the narrowest signed type that holds its values; reals stay as they are."""
    if column.dtype.kind == "f":
        return column
    if not len(column):
        return column.astype(np.int8)
    low, high = int(column.min()), int(column.max())
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return column.astype(dtype)
    return column.astype(np.int64)


def _unpack_events(raw: bytes) -> LaunchEvents:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        header = json.loads(_read_member(archive, _HEADER, _MAX_HEADER_BYTES))
        if _natural(header["cltrace_events"]) > SCHEMA:
            raise _NewerFileError
        events = LaunchEvents(
            kernel=_text(header["kernel"]),
            source=_text(header["source"]),
            form=CodeForm(header["form"]),
            device=_text(header.get("device", "")),
            global_size=_sizes(header["global_size"]),
            local_size=_sizes(header["local_size"]),
            machine=_machine(header["machine"]),
            begin=_continuation(header["begin"]),
            decisions=tuple(map(_decision, header["decisions"])),
            sites=tuple(map(_site, header["sites"])),
            memories=tuple(map(_memory, header["memories"])),
            items=_read_table(archive, "items", ItemTable),
            warp_operations=_read_column(archive, "warps.operations"),
            streams=_read_table(archive, "streams", StreamTable),
            accesses=_read_table(archive, "accesses", AccessTable),
            emissions=tuple(map(_emission, header["emissions"])),
            bindings=tuple(map(_binding, header["bindings"])),
            values=_read_table(archive, "values", ValueTable),
            dropped=_dropped(header["dropped"]),
            notes=tuple(map(_text, header["notes"])),
        )
    _check_references(events)
    return events


def _read_member(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    info = archive.getinfo(name)
    if info.file_size > max_bytes:
        raise ValueError(f"{name} has {info.file_size:,} bytes, more than {max_bytes:,}")
    with archive.open(info) as member:
        content = member.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"{name} has more than {max_bytes:,} bytes")
    return content


def _read_column(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    raw = io.BytesIO(_read_member(archive, f"{name}.npy", _MAX_COLUMN_BYTES))
    numpy_format.read_magic(raw)
    shape, _, dtype = numpy_format.read_array_header_1_0(raw)
    length = shape[0] if len(shape) == 1 else -1
    if dtype.kind not in ("f" if name == _REALS else "iu") or length < 0:
        raise ValueError(f"the column {name} is no list of numbers")
    content = raw.read()
    if len(content) != length * dtype.itemsize:
        raise ValueError(f"the column {name} has not the {length:,} entries of its header")
    return np.frombuffer(content, dtype).astype(np.float64 if name == _REALS else np.int64)


def _read_table(archive: zipfile.ZipFile, name: str, kind: Callable[..., _Table]) -> _Table:
    names = [field.name for field in fields(_TABLES[name])]
    columns = [_read_column(archive, f"{name}.{column}") for column in names]
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"the columns of {name} have different lengths")
    return kind(*columns)


def _check_references(events: LaunchEvents) -> None:
    """Check that numbers that refer to other rows refer to rows that exist."""
    _check_streams(events.streams)
    _check_paths(events)
    accesses, items = events.accesses, events.items
    if len(events.local_size) != len(events.global_size) or (np.diff(items.warp) < 0).any():
        raise ValueError("its work-items are not in order")
    for what, column, count in (
        ("stream", items.stream, len(events.streams.parent)),
        ("warp", items.warp, len(events.warp_operations)),
        ("row", accesses.row, len(items.item)),
        ("site", accesses.site, len(events.sites)),
        ("memory", accesses.memory + 1, len(events.memories) + 1),
        ("value's row", events.values.row, len(items.item)),
        ("value", events.values.emission, len(events.emissions)),
        ("epoch", accesses.epoch, _MAX_EPOCHS),
    ):
        if len(column) and (column.min() < 0 or column.max() >= count):
            raise ValueError(f"a {what} refers to nothing")


def _check_streams(streams: StreamTable) -> None:
    """Check that the streams are a tree of bits."""
    parent = streams.parent
    if not len(parent) or parent[0] != -1 or (parent >= np.arange(len(parent))).any():
        raise ValueError("the streams are no tree")
    if (parent[1:] < 0).any() or not np.isin(streams.bit, (0, 1)).all():
        raise ValueError("the streams are no tree of bits")


def _check_paths(events: LaunchEvents) -> None:
    """Check that every stream leads from decision to decision."""
    following = np.asarray([way.decision for way in events.ways], np.int64)
    if following.max() >= len(events.decisions):
        raise ValueError("a decision refers to nothing")
    successors = following[1:].tolist()
    decisions = [events.begin.decision]
    parents, bits = events.streams.parent[1:].tolist(), events.streams.bit[1:].tolist()
    for parent, bit in zip(parents, bits, strict=True):
        source = decisions[parent]
        if source < 0:
            raise ValueError("a stream goes on after its end")
        decisions.append(successors[2 * source + bit])


def _sizes(values: Sequence[object]) -> tuple[int, ...]:
    sizes = tuple(map(_positive, values))
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"a launch has no {len(sizes)} dimensions")
    return sizes


def _text(value: object) -> str:
    """Return a text in which lone surrogates are replaced."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _natural(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise ValueError(f"{value!r} is no size")
    return value


def _positive(value: object) -> int:
    if _natural(value) == 0:
        raise ValueError("a size is 0")
    return _natural(value)


def _dropped(stored: Mapping[str, Any]) -> DroppedEvents:
    numbers = {"stopped_items": 0, **stored}
    return DroppedEvents(
        **{field.name: _natural(numbers[field.name]) for field in fields(DroppedEvents)}
    )


def _machine(stored: Mapping[str, Any]) -> Machine:
    loops = stored["item_loops"]
    numbers = {name: _natural(value) for name, value in stored.items() if name != "item_loops"}
    machine = Machine(**numbers, item_loops=None if loops is None else ItemLoops(loops))
    sizes = (machine.warp_width, machine.sector_bytes, machine.banks, machine.bank_bytes)
    is_possible = min(sizes) >= 1 and max(*sizes, machine.line_bytes) <= _MAX_UNIT
    if not is_possible or machine.line_bytes < machine.sector_bytes:
        raise ValueError("its device has impossible warps, sectors or banks")
    return machine


def _continuation(stored: Mapping[str, Any]) -> Continuation:
    decision = _natural(stored["decision"] + 1) - 1
    lines, blocks = (tuple(map(_natural, stored[name])) for name in ("lines", "blocks"))
    if not blocks:
        raise ValueError("a way has no block")
    is_within_block = stored.get("is_within_block") is True
    return Continuation(decision, lines, blocks, is_within_block=is_within_block)


def _decision(stored: Mapping[str, Any]) -> Decision:
    return Decision(
        file=_text(stored["file"]),
        line=_natural(stored["line"]),
        column=_natural(stored["column"]),
        kind=DecisionKind(stored["kind"]),
        depth=_natural(stored["depth"]),
        if_false=_continuation(stored["if_false"]),
        if_true=_continuation(stored["if_true"]),
        text=_text(stored.get("text", "")),
    )


def _emission(stored: Mapping[str, Any]) -> Emission:
    return Emission(_text(stored["name"]), _text(stored["type"]), _natural(stored["line"]))


def _binding(stored: Mapping[str, Any]) -> Binding:
    names = tuple(map(_text, stored["names"]))
    if not names:
        raise ValueError("a chart has no name")
    return Binding(Chart(stored["chart"]), names, _natural(stored.get("width", 0)))


def _site(stored: Mapping[str, Any]) -> EventSite:
    access_bytes = min(_natural(stored["access_bytes"]), _MAX_ACCESS_BYTES)
    request_bytes = max(
        min(_natural(stored.get("request_bytes", access_bytes)), access_bytes),
        -(-access_bytes // _MAX_REQUESTS),
    )
    return EventSite(
        file=_text(stored["file"]),
        line=_natural(stored["line"]),
        column=_natural(stored["column"]),
        kind=EventKind(stored["kind"]),
        element=_text(stored["element"]),
        access_bytes=access_bytes,
        request_bytes=request_bytes,
        is_assumed=stored["is_assumed"] is True,
    )


def _memory(stored: Mapping[str, Any]) -> EventMemory:
    sides = tuple(map(_positive, stored.get("sides", ())))
    if len(sides) not in {0, 3}:
        raise ValueError(f"an image has no {len(sides)} sides")
    return EventMemory(
        _text(stored["name"]),
        _text(stored["space"]),
        _natural(stored["size_bytes"]),
        sides,
        min(_natural(stored.get("element_bytes", 0)), _MAX_ACCESS_BYTES),
    )
