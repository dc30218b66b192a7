"""Trials of the drivers on this machine, and PoCL's wheel on processors that it does not know.

`pocl-binary-distribution` 3.0 has LLVM 14, which names processors by vendor and family. It calls the
others "generic", AMD's Zen 5 among them, and builds nothing on them. It ends the process at vectors of 16
elements on Zen 4, which it takes for a Zen 3 with more instructions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cltrace.installation import suggest_install
from cltrace.runs.child_json import run_for_json

POCL: Final = "Portable Computing Language"
_FAULTY_VERSION: Final = "3.0"
_CPU_FACTS: Final = Path("/proc/cpuinfo")
_MAX_FACTS_BYTES: Final = 8 << 10
"""Enough for the first processor of the file."""
_AMD: Final = "AuthenticAMD"
_ZEN_3_AND_4, _ZEN_5 = 25, 26
_NAMED_FAMILIES: Final = {"GenuineIntel": {6, 15}, _AMD: {15, 16, 20, 21, 22, 23, _ZEN_3_AND_4}}
"""64-bit processors that LLVM 14 names (`llvm::sys::getHostCPUName`)."""
_ZEN_4_MODELS: Final = (range(0x10, 0x20), range(0x60, 0x80), range(0xA0, 0xB0))
_VENDORS, _CONTEXT = "OCL_ICD_VENDORS", "PYOPENCL_CTX"
_CHOICES: Final = frozenset({_VENDORS, _CONTEXT})
"""Variables by which a user chooses a device."""


@dataclass(frozen=True, slots=True)
class TrialBuild:
    """Trial of a device: its place in pyopencl's lists, and what is wrong; empty if nothing is."""

    platform_index: int
    device_index: int
    platform: str
    device: str
    fault: str

    @property
    def choice(self) -> str:
        """Value of `PYOPENCL_CTX` that chooses the device."""
        return f"{self.platform_index}:{self.device_index}"


def try_builds(survey: Mapping[str, Any]) -> Iterator[TrialBuild]:
    """Build and run a kernel on each device of a survey, each in a process of its own."""
    for platform_index, platform in enumerate(survey["platforms"]):
        for device_index, device in enumerate(platform["devices"]):
            indices = (str(platform_index), str(device_index))
            fault, problem = run_for_json(("-m", "cltrace.intercept.trial_build", *indices))
            wrong = str(fault or "") or (f"builds nothing: {problem}" if problem else "")
            yield TrialBuild(platform_index, device_index, platform["name"], device["name"], wrong)


def find_pocl_fault(cpu_facts: str, pocl_version: str) -> str:
    """Return what PoCL's wheel of a version cannot do on a processor; empty if nothing is known.

    `cpu_facts` is the text of `/proc/cpuinfo`.
    """
    lines = (line.partition(":") for line in reversed(cpu_facts.splitlines()))
    facts = {name.strip(): value.strip() for name, _, value in lines}
    family, model = (_as_integer(facts.get(name)) for name in ("cpu family", "model"))
    vendor = facts.get("vendor_id", "")
    if not vendor or family < 0 or not pocl_version.startswith(_FAULTY_VERSION):
        return ""
    if family not in _NAMED_FAMILIES.get(vendor, set()):
        is_zen_5 = vendor == _AMD and family >= _ZEN_5
        name = "AMD Zen 5 or newer" if is_zen_5 else f"{vendor}, family {family}"
        return f"PoCL {pocl_version} builds nothing on this processor ({name})"
    is_zen_3_or_4 = vendor == _AMD and family == _ZEN_3_AND_4
    if is_zen_3_or_4 and any(model in models for models in _ZEN_4_MODELS):
        return (
            f"PoCL {pocl_version} ends the process at vectors of 16 elements on this processor "
            "(AMD Zen 4)"
        )
    return ""


def find_fault_here() -> str:
    """Return what the installed wheel of PoCL cannot do on this processor; empty if nothing is known."""
    try:
        with _CPU_FACTS.open("rb") as file:
            facts = file.read(_MAX_FACTS_BYTES).decode("ascii", "replace")
    except OSError:
        return ""
    if not find_pocl_fault(facts, _FAULTY_VERSION):
        return ""
    # Imported for these processors only: it takes longer than the rest of the start.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return find_pocl_fault(facts, version("pocl-binary-distribution"))
    except PackageNotFoundError:
        return ""


def find_intel_runtime() -> Path | None:
    """Return the library of Intel's CPU runtime, if it is installed in this environment."""
    from importlib.metadata import PackageNotFoundError, files  # noqa: PLC0415 - as above

    try:
        installed = files("intel-opencl-rt") or ()
    except PackageNotFoundError:
        return None
    libraries = (Path(str(file.locate())) for file in installed if file.name == "libintelocl.so")
    return next((path.resolve() for path in libraries if path.exists()), None)


def name_working_device(builds: Sequence[TrialBuild], intel_runtime: Path | None) -> str:
    """Return the way to a device that works, in words."""
    for build in builds:
        if not build.fault:
            return f"{_CONTEXT}={build.choice} chooses {build.device}, which works"
    if intel_runtime is not None:
        return f"{_VENDORS}={intel_runtime} chooses Intel's CPU runtime"
    return f"{suggest_install('intel')} installs Intel's CPU runtime, which runs on AMD's processors, too"


def choose_working_device(
    fault: str, intel_runtime: Path | None, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return variables with which a program runs on a device that works; empty if it does without.

    Devices are tried if a `fault` of PoCL is known on this processor, or Intel's runtime is installed.
    The runtime is chosen if no device works: its wheel registers it with no loader.
    """
    if has_choice(environment) or not (fault or intel_runtime):
        return {}
    survey, _ = run_for_json(["-m", "cltrace.intercept.survey"])
    builds = try_builds(survey) if survey is not None else iter(())
    working = next((build for build in builds if not build.fault), None)
    if working is not None:
        is_default = working.platform_index == working.device_index == 0
        return {} if is_default else {_CONTEXT: working.choice}
    return {_VENDORS: str(intel_runtime)} if intel_runtime is not None else {}


def has_choice(environment: Mapping[str, str]) -> bool:
    """Return True if the user chose a device by a variable."""
    return bool(_CHOICES & environment.keys())


def warn_of_pocl(fault: str, environment: Mapping[str, str]) -> str:
    """Return a warning that PoCL does not work here; empty if it does, or the user chose other drivers.

    Trials confirm a `fault` that is known of the processor: PoCL may have been repaired. A device that
    the user chose among several is taken for one that works, if any does.
    """
    if not fault or _VENDORS in environment:
        return ""
    survey, _ = run_for_json(["-m", "cltrace.intercept.survey"])
    builds = list(try_builds(survey)) if survey is not None else []
    if _CONTEXT in environment and not all(build.fault for build in builds):
        return ""
    return describe_pocl_fault(fault, builds, find_intel_runtime())


def describe_pocl_fault(
    fault: str, builds: Sequence[TrialBuild], intel_runtime: Path | None
) -> str:
    """Return a known fault of PoCL and the way out, if the trials confirm it; else an empty text."""
    if not fault or not any(build.platform == POCL and build.fault for build in builds):
        return ""
    return f"{fault}: {name_working_device(builds, intel_runtime)}"


def _as_integer(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else -1
