"""Mutations of files: bytes that were damaged or forged, and JSON of another shape."""

import io
import json
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

_WORDS: Final = (
    b"\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\0",
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\xc3\x28\xf0\x9f",
    b"\x1b[2J",
    b"99999999999999999999",
    b"nan",
    b"-",
    b"\n",
    b'"',
)
_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, 0, -1, 1.5, 1 << 31, 1 << 63, 1 << 70, -(1 << 63), 1e308, float("nan"), float("inf")),
    *("", "x", "\ud800", "\x1b[2J", "a\0b", "9" * 5000, "%s{0}", "../../x"),
    *([], {}, [[]], [None], {"": None}, [1] * 50, [[[[[[[[1]]]]]]]]),
)  # fmt: skip


def mutate_bytes(content: bytes, chooser: Random) -> bytes:
    """Return a content with some bytes changed, removed, repeated or cut off."""
    changed = bytearray(content or b"\0")
    for _ in range(chooser.choice([1, 1, 2, 4, 16, 64])):
        near_begin = chooser.random() < 0.3
        at = chooser.randrange(min(len(changed), 8192) if near_begin else len(changed))
        match chooser.randrange(7):
            case 0 | 1:
                changed[at] ^= 1 << chooser.randrange(8)
            case 2:
                changed[at : at + 8] = chooser.randbytes(8)
            case 3:
                del changed[at : at + chooser.choice([1, 8, 16, 4096])]
            case 4:
                other = chooser.randrange(len(changed))
                changed[at : at + 64] = changed[other : other + 64]
            case 5:
                word = chooser.choice(_WORDS)
                changed[at : at + len(word)] = word
            case _:
                if chooser.random() < 0.1:
                    del changed[at:]
        changed += b"\0" * (not changed)
    return bytes(changed)


def mutate_json(text: str, chooser: Random) -> str:
    """Return JSON in which some values, keys or list lengths are others."""
    value = json.loads(text)
    for _ in range(chooser.choice([1, 1, 2, 4])):
        places = list(_places(value))
        holder, key = chooser.choice(places)
        match chooser.randrange(4):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, holder[key])
            case 2 if isinstance(holder, dict):
                holder[f"{key}x"] = holder.pop(key)
            case _:
                holder[key] = deepcopy(chooser.choice(_VALUES))
        if not value:
            break
    return json.dumps(value)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container below a value with a key or position in it; of a long list the first."""
    keys: Any = list(value) if isinstance(value, dict) else range(min(len(value), 20))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)) and value[key]:
            yield from _places(value[key])


def mutate_file(path: Path, chooser: Random) -> None:
    """Change a file, as bytes or as JSON if it is that."""
    content = path.read_bytes()
    if zipfile.is_zipfile(io.BytesIO(content)) and chooser.random() < 0.9:
        path.write_bytes(mutate_archive(content, chooser))
    elif path.suffix == ".json" and _is_json(content) and chooser.random() < 0.7:
        path.write_text(mutate_json(content.decode(), chooser), "utf-8", "surrogatepass")
    else:
        path.write_bytes(mutate_bytes(content, chooser))


def mutate_archive(content: bytes, chooser: Random) -> bytes:
    """Return an archive in which one member is another: JSON, or a column of numpy, or damaged."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = chooser.choice([chooser.choice(list(members)), next(iter(members))])
    if _is_json(members[name]):
        members[name] = mutate_json(members[name].decode(), chooser).encode(
            "utf-8", "surrogatepass"
        )
    elif chooser.random() < 0.7:
        column = np.load(io.BytesIO(members[name]), allow_pickle=False).astype(np.int64)
        if len(column):
            column[chooser.randrange(len(column))] = chooser.choice(
                [-1, 0, 7, 1 << 20, 1 << 31, 1 << 62]
            )
        changed = io.BytesIO()
        np.save(changed, column)
        members[name] = changed.getvalue()
    else:
        members[name] = mutate_bytes(members[name], chooser)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return packed.getvalue()


def _is_json(content: bytes) -> bool:
    """Return whether a content is JSON with members: an earlier mutation may have damaged it."""
    try:
        return content[:1] in {b"{", b"["} and bool(json.loads(content.decode()))
    except ValueError:
        return False
