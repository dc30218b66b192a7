"""Regenerate the corpus of OpenCL programs that public libraries build.

Makes a virtual environment, installs the libraries and cltrace in it, gets their source
distributions, and runs examples and tests of theirs under `cltrace run`. What the traces hold of
programs goes to `DIR/programs/<sha256>.json` and, in summary, to `DIR/corpus.json`. Started again it
makes only the runs that are missing. An example that fails is no trouble: its programs count.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from libraries import LIBRARIES, Library

TIMEOUT_STATUS = 124

HERE = Path(__file__).resolve().parent

CONSTRAINTS = HERE / "constraints.txt"
"""The exact version of everything that is installed."""

DRIVERS = HERE / "drivers"
"""Programs of our own, for libraries that come without examples and tests."""

ENVIRONMENT = {
    "PYOPENCL_CTX": "0",
    "PYOPENCL_TEST": "0",
    "PYOPENCL_DEVICE": "0",
    "PYOPENCL_NO_CACHE": "1",
    "PYTHONHASHSEED": "0",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "MPLBACKEND": "Agg",
}
"""Fixed for all runs: one device, no window, and no program that is made from a cached binary."""


@dataclass(frozen=True, slots=True)
class Run:
    """One command under cltrace: where its trace lies and how it ended."""

    library: str
    version: str
    command: str
    trace: str
    status: int


class Workplace:
    """The directory in which everything is made."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.python = directory / "venv" / "bin" / "python"
        self._runs_path = directory / "runs.json"

    def install(self, cltrace: str) -> None:
        """Make the virtual environment, with cltrace as pip knows it by `cltrace`."""
        if not self.python.exists():
            venv.create(self.python.parents[1], with_pip=True)
            self._pip("install", "pip>=25.1")
        requirements = [requirement for one in LIBRARIES for requirement in one.requirements]
        self._pip("install", "--constraint", str(CONSTRAINTS), cltrace, *requirements)

    def _pip(self, *words: str) -> None:
        subprocess.run([str(self.python), "-m", "pip", "-q", *words], check=True)

    def sources_of(self, library: Library) -> Path:
        """The directory of the unpacked source distribution of `library`."""
        place = self.directory / "sources" / library.name
        if not place.exists():
            archives = self.directory / "archives" / library.name
            words = ("--no-deps", "--no-binary", library.name, "--dest", str(archives))
            self._pip("download", *words, f"{library.name}=={library.version}")
            (archive,) = archives.glob("*.tar.gz")
            with tarfile.open(archive) as opened:
                # Pythons before 3.11.4 have no filters.
                opened.extraction_filter = getattr(tarfile, "data_filter", None)
                opened.extractall(place)
        (root,) = place.iterdir()
        return root

    def runs(self) -> list[Run]:
        """The runs that were made."""
        if not self._runs_path.exists():
            return []
        return [Run(**run) for run in json.loads(self._runs_path.read_text())]

    def trace(self, library: Library, command: str, timeout: int) -> Run:
        """Run a command of `library` under cltrace and note it."""
        runs = self.runs()
        number = 1 + max((int(Path(one.trace).stem[-3:]) for one in runs), default=0)
        trace = Path("traces") / f"{library.name}-{number:03}.cltrace"
        (self.directory / "traces").mkdir(exist_ok=True)
        recording = f"run -q -f --no-env -o {shlex.quote(str(self.directory / trace))} --"
        words = [str(self.python), "-m", "cltrace", *shlex.split(recording), "timeout"]
        words += ["--signal=INT", "--kill-after=20", str(timeout), str(self.python)]
        root = self.sources_of(library) if library.source_distribution else self.directory
        log = (self.directory / trace).with_suffix(".log")
        with log.open("w") as output:
            done = subprocess.run(
                [*words, *shlex.split(command.format(drivers=DRIVERS))],
                cwd=root,
                env=os.environ | ENVIRONMENT | self._caches(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        run = Run(library.name, library.version, command, str(trace), done.returncode)
        self._runs_path.write_text(json.dumps([asdict(one) for one in (*runs, run)], indent=1))
        return run

    def _caches(self) -> dict[str, str]:
        caches = self.directory / "caches"
        return {"XDG_CACHE_HOME": str(caches), "POCL_CACHE_DIR": str(caches / "pocl")}

    def extract(self) -> None:
        """Write the corpus out of all traces, with the cltrace that recorded them."""
        words = (str(self.python), str(HERE / "extract.py"), str(self.directory))
        subprocess.run(words, check=True)


def say(text: str) -> None:
    """Print `text` on stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def capture(place: Workplace, libraries: Iterable[Library], timeout: int) -> None:
    """Make all runs of `libraries` that are missing."""
    made = {(run.library, run.version, run.command) for run in place.runs()}
    for library in libraries:
        for command in library.commands:
            if (library.name, library.version, command) not in made:
                run = place.trace(library, command, timeout)
                ended = "timed out" if run.status == TIMEOUT_STATUS else f"exited {run.status}"
                say(f"{library.name}: python {command}: {ended}")


def main() -> None:
    """Do what the command line says."""
    names = [library.name for library in LIBRARIES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIR", help="where everything is made")
    parser.add_argument(
        "--cltrace",
        default="cltrace[pocl]",
        help="what pip installs as cltrace, say '/path/to/checkout[pocl]' (default %(default)s)",
    )
    parser.add_argument(
        "--library", action="append", choices=names, help="only this one (repeatable)"
    )
    parser.add_argument("--timeout", type=int, default=300, help="seconds a command may take")
    parser.add_argument("--install-only", action="store_true", help="stop before the first run")
    parser.add_argument("--no-install", action="store_true", help="take the environment as it is")
    parser.add_argument("--extract-only", action="store_true", help="make no runs")
    arguments = parser.parse_args()
    place = Workplace(arguments.directory.resolve())
    place.directory.mkdir(parents=True, exist_ok=True)
    if not (arguments.no_install or arguments.extract_only):
        place.install(arguments.cltrace)
    if arguments.install_only:
        return
    if not arguments.extract_only:
        wanted = arguments.library or names
        chosen = [library for library in LIBRARIES if library.name in wanted]
        capture(place, chosen, arguments.timeout)
    place.extract()


if __name__ == "__main__":
    main()
