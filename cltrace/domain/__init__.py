"""Domain iterations: a plain Python function over a domain, run where it is predicted to be fastest.

    def blurred(x, y, image):
        return (image[x - 1, y] + image[x, y]) / 2 if x > 0 else image[x, y]

    result = iterate(blurred, image.shape, image=image)
    numpy.asarray(result)

The function is read as text. `docs/domain.md` has what can be said in it. It means what Python and numpy
make of it, so that calling it for one position gives the same number.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cltrace.domain.shapes import Projection, ltriag, trace, utriag

if TYPE_CHECKING:  # slow to load
    from cltrace.domain.arrays import DomainArray, share
    from cltrace.domain.decisions import Decision

__all__ = ["DomainArray", "decide", "iterate", "ltriag", "share", "trace", "utriag"]


def iterate(
    function: Callable[..., object],
    shape: int | Sequence[int] | Projection,
    /,
    *,
    where: str = "auto",
    device: str = "",
    profile: str | None = None,
    local: Sequence[str] = (),
    keep: bool = False,
    **arrays: Any,
) -> "DomainArray":
    """Compute `function` for each position of a domain, on the host or on a device.

    The first parameters of `function` are the indices; the others have the names of `arrays`, which are
    arrays or numbers. `shape` is a number, a tuple, or `trace(n)`, `utriag(n)` or `ltriag(n)`. `where` is
    `host`, `device`, or `auto`: where it is predicted to be fastest, with the transfers that it needs.
    `device` is part of a device's name, `profile` the name or path of its profile, by default its own.
    `local` names arrays that each work-group copies to local memory. With `keep`, reading the result is
    not counted. The result stays where it was computed until it is read.

    An array of `share`, a result, or a read-only numpy array is copied to the device once.

    Raises: `cltrace.errors.CltraceError`, among them `IterationSourceError` for a function that a kernel
    cannot compute, with its line and column.
    """
    from cltrace.domain.running import runner_for  # noqa: PLC0415 - slow to load

    runner = runner_for(device, profile)
    names = tuple(local)
    return runner.iterate(function, shape, arrays, where=where, local=names, keeps_result=keep)


def decide(
    function: Callable[..., object],
    shape: int | Sequence[int] | Projection,
    /,
    *,
    device: str = "",
    profile: str | None = None,
    local: Sequence[str] = (),
    keep: bool = False,
    **arrays: Any,
) -> "Decision":
    """Return the predicted times of an iteration on the host and on a device, the fastest first.

    Arguments and errors are those of `iterate`. Nothing is run but samples on the host.
    """
    from cltrace.domain.running import runner_for  # noqa: PLC0415 - slow to load

    runner = runner_for(device, profile)
    return runner.decide(function, shape, arrays, local=tuple(local), keeps_result=keep)


def __getattr__(name: str) -> Any:
    if name not in {"DomainArray", "share"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cltrace.domain import arrays  # noqa: PLC0415 - imports numpy

    return getattr(arrays, name)
