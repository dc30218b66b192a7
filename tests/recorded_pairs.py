"""Traces of two H200s of one host, as `benchmarks/two_devices.py` recorded them."""

import lzma
from pathlib import Path
from typing import Final

_DATA: Final = Path(__file__).parent / "data"

LABELS: Final = ("NVIDIA H200 00:06.0", "NVIDIA H200 00:07.0")
UUIDS: Final = ("4504e2ca3070666e7b729d94e9580140", "bd003fdc4d2c0aee5aafee4ae899d43a")


def unpack_pair(name: str, directory: Path) -> Path:
    """Write a trace of two H200s into a directory, and return its path."""
    path = directory / f"{name}.cltrace"
    with lzma.open(_DATA / f"h200-pair-{name}.cltrace.xz") as packed:
        path.write_bytes(packed.read())
    return path
