"""The pages of the documentation that are installed with cltrace."""

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path


def find_pages() -> dict[str, Traversable]:
    """Return the pages by topic, from the package's data or, in a checkout, from `docs/`."""
    root: Traversable = resources.files("cltrace") / "docs"
    if not root.is_dir():
        root = Path(__file__).parents[3] / "docs"
    folders = [folder for folder in (root, root / "guides") if folder.is_dir()]
    paths = [path for folder in folders for path in folder.iterdir()]
    pages = {path.name.removesuffix(".md"): path for path in paths if path.name.endswith(".md")}
    return dict(sorted(pages.items()))
