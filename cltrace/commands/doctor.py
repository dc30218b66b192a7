"""`cltrace doctor`: what can be traced here, and what is missing."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.errors import ExitStatus
from cltrace.report.environment import Finding, readiness
from cltrace.runs.child import traced_environment
from cltrace.runs.probe_process import MOST_SECONDS, asked
from cltrace.spool.layout import process_directories, untraced_reasons
from cltrace.spool.settings import Settings
from cltrace.trace import recording

_POCL: Final = "Portable Computing Language"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `doctor`."""
    parser.add_argument(
        "--no-surcharge",
        action="store_true",
        help="do not measure what the driver's profiling costs (takes a second or two a device)",
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Look at everything that tracing needs, and say what was found."""
    survey, problem = _survey(with_surcharge=not arguments.no_surcharge)
    findings = [
        _pyopencl(survey, problem),
        *_platforms(survey),
        *_trial_builds(survey),
        _injection(),
    ]
    if survey is not None:
        findings += [
            _answered(
                "queue profiling",
                survey["constructors"],
                "queues get profiling",
                "queues have profiling only if the program asks for it",
            ),
            _answered(
                "memory tracking",
                survey["destructors"],
                "destruction of memory is seen",
                "peak and leaks are not known",
            ),
        ]
    document = readiness(findings, survey)
    print_document(document, color=arguments.color, form=arguments.format)
    can_trace = all(one.is_well for one in findings)
    return int(ExitStatus.OK if can_trace else ExitStatus.USAGE)


def _survey(*, with_surcharge: bool) -> tuple[dict[str, Any] | None, str]:
    """What pyopencl offers, asked in a process of its own; or why there is no answer."""
    words = ["-m", "cltrace.intercept.survey"]
    if with_surcharge:
        survey, problem = asked([*words, "--surcharge"])
        if survey is not None:
            return survey, problem
        # What is measured is launched, and a driver may crash there that answers all else.
    return asked(words)


def _pyopencl(survey: dict[str, Any] | None, problem: str) -> Finding:
    if survey is None:
        remedy = f"{sys.executable} -m pip install pyopencl"
        return Finding("pyopencl", is_well=False, found=problem, remedy=remedy)
    return Finding("pyopencl", is_well=True, found=survey["pyopencl_version"])


def _platforms(survey: dict[str, Any] | None) -> list[Finding]:
    if survey is None:
        return []
    count = sum(len(platform["devices"]) for platform in survey["platforms"])
    names = ", ".join(platform["name"] for platform in survey["platforms"])
    if count:
        return [
            Finding("OpenCL device", is_well=True, found=f"{count} on {names}"),
            *_linker(names),
        ]
    return [
        Finding(
            "OpenCL device",
            is_well=False,
            found=f"none on {names}" if names else "no platform",
            remedy="install the vendor's OpenCL driver, or a CPU device: pip install cltrace[pocl]",
        )
    ]


def _linker(platforms: str) -> list[Finding]:
    """PoCL links kernels with the system's linker."""
    if _POCL not in platforms:
        return []
    found = shutil.which("ld")
    if found:
        return [Finding("linker for PoCL", is_well=True, found=found)]
    return [Finding("linker for PoCL", is_well=False, found="no ld", remedy="install binutils")]


def _trial_builds(survey: dict[str, Any] | None) -> Iterator[Finding]:
    """Whether each device's driver builds a kernel and runs it."""
    for place, platform in enumerate(survey["platforms"] if survey else ()):
        for number, device in enumerate(platform["devices"]):
            words = ("-m", "cltrace.intercept.trial_build", str(place), str(number))
            fault, problem = asked(words)
            wrong = str(fault or "") or (f"builds nothing: {problem}" if problem else "")
            yield Finding(
                "trial build",
                is_well=not wrong,
                found=f"{device['name']} {wrong or 'builds a kernel, which runs'}",
                remedy=_remedy(platform["name"]),
            )


def _remedy(platform: str) -> str:
    """What to do where a platform's driver builds nothing."""
    if platform == _POCL:
        return (
            "PoCL compiles with an LLVM of its own, which must know the processor, and links with "
            "ld: install a newer PoCL, from the system's packages or conda-forge, and binutils"
        )
    return f"update or reinstall the OpenCL driver of {platform}, or use another device"


def _injection() -> Finding:
    """Whether an interpreter started as `run` does reports in."""
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
                timeout=MOST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Finding("injection", is_well=False, found="the test program did not end")
        if process_directories(begun.parts):
            return Finding("injection", is_well=True, found="a Python program reports in")
        said = next(
            iter(untraced_reasons(begun.parts).values()), ["the test program did not report in"]
        )
        return Finding("injection", is_well=False, found="; ".join(said))


def _answered(what: str, answer: list[Any], if_well: str, if_not: str) -> Finding:
    is_well, why = answer
    found = if_well if is_well else f"{if_not}: {why}"
    return Finding(what, is_well=bool(is_well), found=found)
