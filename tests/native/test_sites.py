"""Source lines of call sites in compiled code, with and without debug information."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from cltrace.events.records import Kernel, Site
from cltrace.events.tables import CIRCUMSTANCES
from cltrace.trace.native_sites import SourcePlace, refine_sites
from tests.native.conftest import RecordedRun, Toolbox

pytestmark = pytest.mark.opencl


def _launch_site(run: RecordedRun) -> Site:
    """Return the site of the launch of `scale`, refined."""
    spool = run.spool
    kernel = next(kernel.id for kernel in spool.records(Kernel) if kernel.name == "scale")
    row = next(row for row in spool.rows(CIRCUMSTANCES) if row[1] == kernel)
    return refine_sites(spool.records(Site))[int(row[CIRCUMSTANCES.index("site_id")])]


def test_debug_information_gives_file_and_line(toolbox: Toolbox, tmp_path: Path) -> None:
    run = toolbox.record(tmp_path / "parts", [str(toolbox.program("endings")), "return"])
    site = _launch_site(run)
    assert (Path(site.file).name, site.function) == ("common.c", "launch")
    lines = Path(site.file).read_text().splitlines()
    assert "clEnqueueNDRangeKernel" in lines[site.line - 1]


def test_symbols_give_the_function(toolbox: Toolbox, tmp_path: Path) -> None:
    program = tmp_path / "undebugged"
    program.write_bytes(toolbox.program("endings").read_bytes())
    program.chmod(0o700)
    subprocess.run(["strip", "--strip-debug", str(program)], check=True)
    site = _launch_site(toolbox.record(tmp_path / "parts", [str(program), "return"]))
    assert (site.file, site.line, site.function) == (str(program), 0, "launch")


def test_a_stripped_program_has_module_and_offset(toolbox: Toolbox, tmp_path: Path) -> None:
    program = tmp_path / "stripped"
    program.write_bytes(toolbox.program("endings").read_bytes())
    program.chmod(0o700)
    subprocess.run(["strip", str(program)], check=True)
    site = _launch_site(toolbox.record(tmp_path / "parts", [str(program), "return"]))
    assert (site.file, site.line) == (str(program), 0)
    assert site.function.startswith("+0x")


def _find_nothing(_: Path, addresses: Sequence[int]) -> list[SourcePlace]:
    return [SourcePlace("", "", 0)] * len(addresses)


def test_without_binutils_symbols_serve(toolbox: Toolbox) -> None:
    program = toolbox.program("endings")
    symbols = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True)
    address = next(
        int(line.split()[0], 16)
        for line in symbols.stdout.splitlines()
        if line.endswith(" T launch")
    )
    site = Site(1, f"{program}+{address + 8:#x}", 0, "", 0)
    refined = refine_sites([site], _find_nothing)
    assert refined[1].function == "launch"


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 200])
def test_a_damaged_module_gives_no_names(content: bytes, tmp_path: Path) -> None:
    module = tmp_path / "module.so"
    module.write_bytes(content)
    refined = refine_sites([Site(1, f"{module}+0x20", 0, "", 0)])
    assert (refined[1].file, refined[1].function) == (str(module), "+0x20")


def test_sites_of_python_are_left_alone() -> None:
    site = Site(1, "/tmp/program.py", 12, "main", 0)
    assert refine_sites([site, Site(2, "<string>", 0, "main", 0)]) == {}
