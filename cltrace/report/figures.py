"""Writing of figures, all in the same style."""

from pathlib import Path
from typing import TYPE_CHECKING

from cltrace.errors import OutputError

if TYPE_CHECKING:  # slow to load: loaded by the code that draws
    from matplotlib.figure import Figure


def write_figure(figure: "Figure", path: Path) -> Path:
    """Write a figure in its path's format, without frames and dates. Raises: `OutputError`."""
    for axis in figure.axes:
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error
    return path
