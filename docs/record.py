"""Recorder of the output that the README, the tutorial and the guides show.

    python docs/record.py            run the commands and rewrite the pages
    python docs/record.py --check    run them and exit 1 if their output contradicts the pages
    python docs/record.py tutorial   the same for this page only

A block of output stands between `<!-- recorded: NAME -->` and `<!-- end -->`. Times differ from run to
run, so a check compares the command, its exit status, and the lines that `recorded_steps.py` declares.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from docs.recorded_steps import PAGES, Step  # noqa: E402 - found in a checkout only
from tests.platform import select_pocl  # noqa: E402 - as above

_BLOCK = re.compile(r"(<!-- recorded: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_COLUMNS = "80"


def main() -> int:
    """Rewrite or check the pages. Return the exit status."""
    parser = argparse.ArgumentParser(description="Record the output that pages show.")
    parser.add_argument("page", nargs="*", help="record these pages only")
    parser.add_argument(
        "--check", action="store_true", help="change no page; exit 1 on a contradiction"
    )
    arguments = parser.parse_args()
    select_pocl()
    faults = []
    for page in arguments.page or PAGES:
        path = path_of(page)
        with tempfile.TemporaryDirectory(prefix="cltrace-docs-") as directory:
            outputs = run_steps(PAGES[page], Path(directory))
        if not arguments.check:
            path.write_text(with_outputs(path.read_text(), outputs))
        faults += [
            f"{page}: {fault}" for fault in find_faults(PAGES[page], path.read_text(), outputs)
        ]
    print("".join(f"{fault}\n" for fault in faults), end="")
    return int(bool(faults))


def path_of(page: str) -> Path:
    """Return the file of a page by its name in `PAGES`."""
    return ROOT / "README.md" if page == "README" else ROOT / "docs" / f"{page}.md"


def with_outputs(text: str, outputs: dict[str, tuple[int, str]]) -> str:
    """Return the text of a page with these outputs in its blocks."""
    return _BLOCK.sub(lambda match: match[1] + outputs[match[2]][1] + match[4], text)


def run_steps(steps: tuple[Step, ...], directory: Path) -> dict[str, tuple[int, str]]:
    """Run commands in `directory`. Return exit status and block of each step by its name."""
    for path in sorted((ROOT / "examples" / "tutorial").iterdir()):
        if path.is_file():
            shutil.copy(path, directory)
    shutil.copy(ROOT / "tests" / "data" / "h200-mixture.cltrace", directory / "mixture.cltrace")
    outputs = {}
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in steps:
        done = subprocess.run(
            ["sh", "-c", step.command],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": _COLUMNS, "PATH": binaries, "PYTHONPATH": str(ROOT)},
        )
        shown = [f"$ {step.command}", *_shown_lines(step, done.stdout.splitlines())]
        block = "".join(f"    {line}".rstrip() + "\n" for line in shown)
        outputs[step.name] = done.returncode, block
    return outputs


def _shown_lines(step: Step, lines: list[str]) -> Iterator[str]:
    """Yield the lines of an output that a block shows, with … for those after it."""
    starts = [at for at, line in enumerate(lines) if line.startswith(step.first)]
    begin = starts[0] if starts else 0
    ends = [at for at, line in enumerate(lines) if step.last and line.startswith(step.last)]
    end = next((at for at in ends if at > begin), len(lines))
    yield from "\n".join(lines[begin:end]).rstrip().splitlines()
    if end < len(lines):
        yield "…"


def find_faults(
    steps: tuple[Step, ...], text: str, outputs: dict[str, tuple[int, str]]
) -> Iterator[str]:
    """Yield what is wrong with a page of this text whose commands gave these outputs."""
    blocks = {match[2]: match[3] for match in _BLOCK.finditer(text)}
    for step in steps:
        status, output = outputs[step.name]
        shown = blocks.get(step.name, "")
        if status != step.status:
            yield f"{step.command}: status {status}, not {step.status}:\n{output}"
        if f"    $ {step.command}\n" not in shown:
            yield f"{step.command}: has no block of its own"
        yield from _find_text_faults(step, output, "output")
        yield from _find_text_faults(step, shown, "page")


def _find_text_faults(step: Step, text: str, place: str) -> Iterator[str]:
    """Yield which texts of a step are missing in a block, or must not appear there."""
    words = " ".join(text.split())
    for wanted in step.steady:
        if wanted not in words:
            yield f"{step.command}: {wanted!r} is missing in the {place}"
    for unwanted in step.absent:
        if unwanted in words:
            yield f"{step.command}: {unwanted!r} must not appear in the {place}"


if __name__ == "__main__":
    sys.exit(main())
