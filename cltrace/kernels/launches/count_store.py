"""Kept counts, and the keys under which they are kept.

A key is a hash of everything that counts depend on: the source, its headers and options, the kernel, the
sizes, every argument with its contents, the machine, the compiler, numpy, and the code that counts.
"""

import hashlib
import json
import logging
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import (
    KernelError,
    KernelExecutionError,
    KernelLimitError,
    UnsupportedKernelError,
)
from cltrace.kernels.arguments import (
    Argument,
    BufferArgument,
    ImageArgument,
    LocalArgument,
    SamplerArgument,
    StructArgument,
)
from cltrace.kernels.compiler import RegisterUse, Target
from cltrace.kernels.compiler.cache import DiskCache
from cltrace.kernels.compiler.clang import find_clang
from cltrace.kernels.compiler.ptx_loops import LoopRegisters
from cltrace.kernels.counts.records import KernelCounts, WrittenCounts
from cltrace.kernels.counts.stored_counts import decode_counts, decode_written
from cltrace.kernels.counts.traced_launches import TracedProgram
from cltrace.kernels.flow.dependencies import SliceInputs
from cltrace.kernels.limits import DEPTH_MESSAGE
from cltrace.kernels.machine import Machine
from cltrace.kernels.program import KernelCode

MAX_BYTES: Final = 64 << 20
"""The size limit of the kept counts."""
_ERRORS: Final[Mapping[str, type[KernelError]]] = {
    error.__name__: error
    for error in (KernelError, KernelExecutionError, KernelLimitError, UnsupportedKernelError)
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The counts of a configuration, or the reason for which there are none, as text.

    `cpu_s` is the limit that the configuration exceeded, None for another reason.
    """

    counts: str = ""
    error: str = ""
    message: str = ""
    cpu_s: float | None = None

    def read(self) -> KernelCounts:
        """Return the counts. Raises: `KernelError`; `ValueError` for a text of another version."""
        return decode_counts(self._text())

    def read_written(self) -> WrittenCounts:
        """Return the counts of the code as written. Raises: as `read`."""
        return decode_written(self._text())

    def _text(self) -> str:
        if not self.counts:
            raise _ERRORS.get(self.error, KernelError)(self.message)
        return self.counts


@dataclass(frozen=True, slots=True)
class KernelInputs:
    """The arguments that decide a kernel's counts, or the reason for which it cannot be counted.

    `written` are the parameters whose memory it may write, by index; None if it may write any.
    """

    slice: SliceInputs | None
    error: str = ""
    message: str = ""
    written: frozenset[int] | None = None

    def read(self) -> SliceInputs:
        """Return the arguments. Raises: `KernelError`."""
        if self.slice is None:
            raise _ERRORS.get(self.error, KernelError)(self.message)
        return self.slice


def failed(error: Exception) -> tuple[str, str]:
    """Return name and message of an error. Those that no kernel should raise are logged."""
    if isinstance(error, KernelError):
        return type(error).__name__, str(error)
    if isinstance(error, MemoryError):
        return KernelError.__name__, "counting takes more memory than there is"
    if isinstance(error, RecursionError):
        return KernelError.__name__, DEPTH_MESSAGE
    logging.getLogger(__name__).debug("internal error", exc_info=error)
    return KernelError.__name__, f"internal error: {type(error).__name__}: {error}"


class CountStore:
    """Kept counts on disk. Without a directory it keeps nothing."""

    def __init__(self, directory: Path | None) -> None:
        self._cache = (
            None
            if directory is None
            else DiskCache(directory, suffix=".counts.z", max_bytes=MAX_BYTES)
        )

    def find_outcome(self, key: str, cpu_s: float | None) -> Outcome | None:
        """Return the outcome of a configuration; None if none is kept that holds within `cpu_s`."""
        text = self._cache.get(key) if self._cache is not None else None
        with suppress(ValueError, TypeError):
            if text is not None and text.startswith("["):
                return Outcome(counts=text)
            if text is not None:
                outcome = Outcome(**json.loads(text))
                limit = outcome.cpu_s
                if limit is None or (cpu_s is not None and cpu_s <= limit):
                    return outcome
        return None

    def keep_outcome(self, key: str, outcome: Outcome) -> None:
        """Keep an outcome."""
        if self._cache is not None:
            text = outcome.counts or json.dumps(
                {"error": outcome.error, "message": outcome.message, "cpu_s": outcome.cpu_s}
            )
            self._cache.put(key, text)

    def find_inputs(self, key: str) -> KernelInputs | None:
        """Return the inputs of a kernel; None if they are not kept."""
        text = self._cache.get(key) if self._cache is not None else None
        with suppress(ValueError, TypeError, KeyError):
            if text is not None:
                stored = json.loads(text)
                if "parameters" not in stored:
                    return KernelInputs(None, str(stored["error"]), str(stored["message"]))
                parameters = frozenset(map(int, stored["parameters"]))
                contents = frozenset(
                    root if isinstance(root, int) else str(root) for root in stored["contents"]
                )
                written = stored["written"]
                return KernelInputs(
                    SliceInputs(parameters, contents),
                    written=None if written is None else frozenset(map(int, written)),
                )
        return None

    def keep_inputs(self, key: str, inputs: KernelInputs) -> None:
        """Keep the inputs of a kernel."""
        if self._cache is None:
            return
        if inputs.slice is None:
            stored: dict[str, object] = {"error": inputs.error, "message": inputs.message}
        else:
            stored = {
                "parameters": sorted(inputs.slice.parameters),
                "contents": sorted(inputs.slice.contents, key=str),
                "written": None if inputs.written is None else sorted(inputs.written),
            }
        self._cache.put(key, json.dumps(stored))

    def find_code(self, key: str, source: str) -> KernelCode | None:
        """Return the code of a kernel of the program `source`; None if it is not kept."""
        text = self._cache.get(key) if self._cache is not None else None
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            if text is not None:
                stored = json.loads(text)
                registers = {
                    Target(target): None if use is None else _register_use(use)
                    for target, use in stored["registers"].items()
                }
                return KernelCode(source, int(stored["line"]), registers)
        return None

    def keep_code(self, key: str, code: KernelCode) -> None:
        """Keep the code of a kernel, without its source."""
        if self._cache is not None:
            registers = {
                target: None if use is None else asdict(use)
                for target, use in code.registers.items()
            }
            self._cache.put(key, json.dumps({"line": code.line, "registers": registers}))


def _register_use(stored: Mapping[str, Any]) -> RegisterUse:
    loops = tuple(LoopRegisters(**loop) for loop in stored["loops"])
    return RegisterUse(**{**stored, "loops": loops})


class ArgumentDigests:
    """Digests of buffers' contents, computed once per array. Contents must not change."""

    def __init__(self) -> None:
        self._digests: dict[int, tuple[NDArray[np.generic], str]] = {}

    def of(self, contents: NDArray[np.generic] | None) -> str:
        """Return the digest of contents; "" if they are unknown."""
        if contents is None:
            return ""
        cached = self._digests.get(id(contents))
        if cached is None or cached[0] is not contents:
            raw = np.ascontiguousarray(contents)
            digest = hashlib.sha256(raw.view(np.uint8).data).hexdigest()
            cached = contents, f"{raw.dtype.str}{raw.shape}{digest}"
            self._digests[id(contents)] = cached
        return cached[1]


def program_key(program: TracedProgram) -> str:
    """Return the key of a program. Raises: `CompilerMissingError`."""
    headers = [part for item in sorted(program.headers.items()) for part in item]
    options = [str(len(program.options)), *program.options]
    return _hash([_counting_version(), find_clang().version, program.source, *options, *headers])


def kernel_key(program: str, kernel: str) -> str:
    """Return the key of the inputs of a kernel of the program with key `program`."""
    return _hash(["inputs", program, kernel])


def code_key(program: str, kernel: str, targets: Iterable[Target]) -> str:
    """Return the key of the code of a kernel, with its registers on `targets`."""
    return _hash(["code", program, kernel, *targets])


def configuration_key(
    program: str,
    kernel: str,
    machine: Machine,
    sizes: tuple[tuple[int, ...] | None, ...],
    arguments: Sequence[Argument],
    digests: ArgumentDigests,
) -> str:
    """Return the key of a launch configuration. `sizes` are the global and local size, and the offset."""
    described = [_describe_argument(argument, digests) for argument in arguments]
    return _hash(["counts", program, kernel, _describe_machine(machine), repr(sizes), *described])


@cache
def _describe_machine(machine: Machine) -> str:
    return repr(astuple(machine))


def _describe_argument(argument: Argument, digests: ArgumentDigests) -> str:
    match argument:
        case BufferArgument(size_bytes, contents):
            return f"buffer {size_bytes} {digests.of(contents)}"
        case ImageArgument():
            shape = (argument.width, argument.height, argument.depth, argument.channels)
            texels = (argument.channel_dtype, argument.is_normalised)
            kind = (argument.channel_type, argument.channel_order)
            return f"image {shape} {texels} {kind} {digests.of(argument.contents)}"
        case np.generic():
            return f"number {argument.dtype.str} {argument.tobytes().hex()}"
        case LocalArgument() | SamplerArgument() | StructArgument() | int() | float() | None:
            # The text of a float determines it.
            return f"{type(argument).__name__} {argument!r}"


def _hash(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


@cache
def _counting_version() -> str:
    """Return a hash of the code that counts, and of the libraries that it computes with."""
    libraries = (np.__version__, sys.version, platform.machine())
    digest = hashlib.sha256(repr(libraries).encode())
    room = Path(__file__).parents[1]
    for path in sorted(room.rglob("*")):
        if path.suffix in {".py", ".h"}:
            digest.update(path.relative_to(room).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
