"""The OpenCL platform of the tests: PoCL of this environment, beside whatever the machine has."""

import os
from importlib.util import find_spec
from pathlib import Path

_VARIABLE = "OCL_ICD_VENDORS"


def select_pocl() -> None:
    """Make PoCL's wheel the only platform of this process and its children.

    Call it before the first OpenCL call: the loader looks for platforms then.
    A program that asks for a platform then has one to choose. If `OCL_ICD_VENDORS` is set already, it
    decides: tests marked `gpu` run with it. Without the wheel, the machine's platforms stay.
    """
    if _VARIABLE in os.environ:
        return
    spec = find_spec("pyopencl")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        for library in sorted((Path(folder) / ".libs").glob("libpocl-*.so")):
            os.environ[_VARIABLE] = str(library)
            return


def add_platform(library: Path, directory: Path) -> dict[str, str]:
    """Return the environment in which programs have a platform besides those of pyopencl's wheel.

    The wheel's loader reads `OCL_ICD_VENDORS` first, and then its own PoCL. `directory` gets the file
    that names `library`.
    """
    (directory / "added.icd").write_text(f"{library}\n")
    return {_VARIABLE: str(directory)}
