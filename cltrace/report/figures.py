"""Writing of figures, all in the same style."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from cltrace.files import write_atomically

if TYPE_CHECKING:  # slow to load: loaded by the code that draws
    from matplotlib.figure import Figure


def write_figure(figure: "Figure", path: Path) -> Path:
    """Write a figure in its path's format, without frames and dates. Raises: `OutputError`."""
    for axis in figure.axes:
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix.removeprefix("."), metadata={"Date": None})
    write_atomically(drawn.getvalue(), path)
    return path
