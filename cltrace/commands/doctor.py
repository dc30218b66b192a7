"""`cltrace doctor`: check what can be traced on this machine, and what is missing."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.used_settings import find_used_settings
from cltrace.errors import ExitStatus, LayerError
from cltrace.installation import suggest_install
from cltrace.intercept.native.build import build_layer
from cltrace.report.environment import CheckResult, environment_report
from cltrace.runs.child import traced_environment
from cltrace.runs.child_json import ANSWER_TIMEOUT_S, run_for_json
from cltrace.runs.trial_builds import (
    POCL,
    TrialBuild,
    describe_pocl_fault,
    find_fault_here,
    find_intel_runtime,
    name_working_device,
    try_builds,
)
from cltrace.spool.layout import process_directories, untraced_reasons
from cltrace.spool.settings import Settings
from cltrace.trace import recording


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `doctor`."""
    parser.add_argument(
        "--no-surcharge",
        action="store_true",
        help="do not measure the cost of the driver's profiling (a second or two per device)",
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Check everything that tracing needs, and print the results."""
    configuration = _check_configuration()
    survey, problem = _survey(with_surcharge=not arguments.no_surcharge)
    results = [
        _check_pyopencl(survey, problem),
        *_check_platforms(survey),
        *_check_builds(survey),
        _check_injection(),
        *_check_layer(survey),
        configuration,
    ]
    if survey is not None:
        results += [
            _check_answer(
                "queue profiling",
                survey["constructors"],
                "queues get profiling",
                "queues have profiling only if the program asks for it",
            ),
            _check_answer(
                "memory tracking",
                survey["destructors"],
                "destruction of memory is seen",
                "peak and leaks are not known",
            ),
        ]
    document = environment_report(results, survey)
    print_document(document, color=arguments.color, output_format=arguments.format)
    can_trace = all(result.is_ok or not result.is_needed for result in results)
    return int(ExitStatus.OK if can_trace else ExitStatus.USAGE)


def _check_configuration() -> CheckResult:
    """Check the settings of every verb. Raises: `UsageError` for a wrong one."""
    places, problem = find_used_settings()
    if places is None:
        return CheckResult(
            "defaults", is_ok=False, is_needed=False, detail=f"not checked: {problem}"
        )
    return CheckResult("defaults", is_ok=True, detail=", ".join(places) or "cltrace's own")


def _survey(*, with_surcharge: bool) -> tuple[dict[str, Any] | None, str]:
    """Return the survey of pyopencl by a separate process; or None, with the reason."""
    words = ["-m", "cltrace.intercept.survey"]
    if with_surcharge:
        survey, problem = run_for_json([*words, "--surcharge"])
        if survey is not None:
            return survey, problem
        # Measuring launches kernels, and a driver that answers everything else may crash at that.
    return run_for_json(words)


def _check_pyopencl(survey: dict[str, Any] | None, problem: str) -> CheckResult:
    if survey is None:
        remedy = f"{sys.executable} -m pip install pyopencl"
        return CheckResult("pyopencl", is_ok=False, detail=problem, remedy=remedy)
    return CheckResult("pyopencl", is_ok=True, detail=survey["pyopencl_version"])


def _check_platforms(survey: dict[str, Any] | None) -> list[CheckResult]:
    if survey is None:
        return []
    count = sum(len(platform["devices"]) for platform in survey["platforms"])
    names = ", ".join(platform["name"] for platform in survey["platforms"])
    if count:
        return [
            CheckResult("OpenCL device", is_ok=True, detail=f"{count} on {names}"),
            *_check_linker(names),
        ]
    return [
        CheckResult(
            "OpenCL device",
            is_ok=False,
            detail=f"none on {names}" if names else "no platform",
            remedy=_platform_remedy(),
        )
    ]


def _platform_remedy() -> str:
    """Return the way to a device, where a loader finds none."""
    runtime = find_intel_runtime()
    if runtime is not None:
        return name_working_device([], runtime)
    return f"install the vendor's OpenCL driver, or a CPU device: {suggest_install('pocl')}"


def _check_linker(platforms: str) -> list[CheckResult]:
    """Check for the system's linker, with which PoCL links kernels."""
    if POCL not in platforms:
        return []
    linker = shutil.which("ld")
    if linker:
        return [CheckResult("linker for PoCL", is_ok=True, detail=linker)]
    return [CheckResult("linker for PoCL", is_ok=False, detail="no ld", remedy="install binutils")]


def _check_builds(survey: dict[str, Any] | None) -> Iterator[CheckResult]:
    """Check that each device's driver builds a kernel and runs it."""
    builds = list(try_builds(survey)) if survey is not None else []
    for build in builds:
        yield CheckResult(
            "trial build",
            is_ok=not build.fault,
            detail=f"{build.device} {build.fault or 'builds a kernel, which runs'}",
            remedy=_build_remedy(build, builds),
        )


def _build_remedy(build: TrialBuild, builds: Sequence[TrialBuild]) -> str:
    """Return the remedy for a device whose driver builds nothing."""
    if build.platform != POCL:
        return f"update or reinstall the OpenCL driver of {build.platform}, or use another device"
    fault = describe_pocl_fault(find_fault_here(), builds, find_intel_runtime())
    if fault:
        return fault
    return (
        "PoCL compiles with its own LLVM, which must support the processor, and links with "
        "ld: install a newer PoCL, from the system's packages or conda-forge, and binutils; "
        f"or {name_working_device(builds, find_intel_runtime())}"
    )


def _check_injection() -> CheckResult:
    """Check that an interpreter started as `run` starts it reports in."""
    with tempfile.TemporaryDirectory(prefix="cltrace-") as directory:
        begun = recording.begin(
            Path(directory) / "test.cltrace",
            ["python"],
            Settings(),
            recorder_pid=0,
            overwrite=False,
        )
        try:
            subprocess.run(
                [sys.executable, "-c", ""],
                env=traced_environment(os.environ, begun.parts, follow_children=True),
                capture_output=True,
                timeout=ANSWER_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return CheckResult("injection", is_ok=False, detail="the test program did not end")
        if process_directories(begun.parts):
            return CheckResult("injection", is_ok=True, detail="a Python program reports in")
        reasons = next(
            iter(untraced_reasons(begun.parts).values()), ["the test program did not report in"]
        )
        return CheckResult("injection", is_ok=False, detail="; ".join(reasons))


def _check_layer(survey: dict[str, Any] | None) -> Iterator[CheckResult]:
    """Check that the OpenCL layer can be built, and that pyopencl's loader takes it in."""
    try:
        detail, remedy, is_built = f"built, in {build_layer().parent}", "", True
    except LayerError as error:
        problem, _, remedy = str(error).partition("; ")
        detail = f"programs without Python are not traced: {problem}"
        is_built = False
    yield CheckResult("OpenCL layer", is_built, detail, remedy, is_needed=False)
    if survey is None:
        return
    is_ok, text = survey["loader"]
    yield CheckResult(
        "loader with layers",
        is_ok=bool(is_ok),
        detail=text if is_ok else f"hooks record pyopencl's calls: {text}",
        remedy="install pyopencl's wheel, whose loader takes layers, or ocl-icd 2.3 or newer",
        is_needed=False,
    )


def _check_answer(name: str, answer: list[Any], if_ok: str, if_not: str) -> CheckResult:
    is_ok, why = answer
    detail = if_ok if is_ok else f"{if_not}: {why}"
    return CheckResult(name, is_ok=bool(is_ok), detail=detail)
