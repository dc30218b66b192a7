"""PoCL's wheel on processors that it does not know: the fault is named, and a device that works."""

from pathlib import Path

import pytest

from cltrace.installation import suggest_install
from cltrace.runs.trial_builds import (
    POCL,
    TrialBuild,
    choose_working_device,
    describe_pocl_fault,
    find_pocl_fault,
    name_working_device,
    try_builds,
    warn_of_pocl,
)


def cpu_facts(vendor: str, family: int, model: int) -> str:
    first = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: x\n"
    return f"processor\t: 0\n{first}\nprocessor\t: 1\nvendor_id\t: Genu"


@pytest.mark.parametrize(
    ("vendor", "family", "model", "version", "fault"),
    [
        ("AuthenticAMD", 25, 0x11, "3.0", "Zen 4"),
        ("AuthenticAMD", 25, 0x61, "3.0", "Zen 4"),
        ("AuthenticAMD", 25, 0x74, "3.0.1", "Zen 4"),
        ("AuthenticAMD", 25, 0xA0, "3.0", "Zen 4"),
        ("AuthenticAMD", 26, 0x02, "3.0", "Zen 5"),
        ("AuthenticAMD", 26, 0x44, "3.0", "Zen 5"),
        ("AuthenticAMD", 25, 0x01, "3.0", ""),  # Zen 3
        ("AuthenticAMD", 25, 0x50, "3.0", ""),
        ("AuthenticAMD", 23, 0x71, "3.0", ""),  # Zen 2
        ("AuthenticAMD", 26, 0x02, "6.0", ""),
        ("GenuineIntel", 6, 207, "3.0", ""),
        ("GenuineIntel", 19, 1, "3.0", "GenuineIntel, family 19"),
        ("HygonGenuine", 24, 1, "3.0", "HygonGenuine, family 24"),
        ("CentaurHauls", 7, 59, "3.0", "CentaurHauls, family 7"),
    ],
)
def test_processors_that_the_wheel_does_not_know(
    vendor: str, family: int, model: int, version: str, fault: str
) -> None:
    described = find_pocl_fault(cpu_facts(vendor, family, model), version)
    assert fault in described
    assert bool(described) == bool(fault)


@pytest.mark.parametrize("text", ["", "model", ":::", "vendor_id: AuthenticAMD\ncpu family: x"])
def test_facts_that_say_nothing(text: str) -> None:
    assert find_pocl_fault(text, "3.0") == ""


BROKEN = TrialBuild(0, 0, POCL, "pthread-AMD", "builds nothing: unknown target CPU 'generic'")
WORKING = TrialBuild(1, 0, "Intel(R) OpenCL", "AMD EPYC", "")


def test_a_device_that_works_is_named() -> None:
    assert "PYOPENCL_CTX=1:0 chooses AMD EPYC" in name_working_device([BROKEN, WORKING], None)
    runtime = Path("lib") / "libintelocl.so"
    assert f"OCL_ICD_VENDORS={runtime}" in name_working_device([BROKEN], runtime)
    assert suggest_install("intel") in name_working_device([BROKEN], None)


def test_only_a_confirmed_fault_is_told() -> None:
    text = describe_pocl_fault("PoCL 3.0 builds nothing", [BROKEN, WORKING], None)
    assert text.startswith("PoCL 3.0 builds nothing: PYOPENCL_CTX=1:0")
    assert describe_pocl_fault("PoCL 3.0 builds nothing", [WORKING], None) == ""
    assert describe_pocl_fault("", [BROKEN], None) == ""


def test_nothing_is_told_where_the_user_chose_drivers() -> None:
    assert warn_of_pocl("PoCL 3.0 builds nothing", {"OCL_ICD_VENDORS": "x"}) == ""
    assert warn_of_pocl("", {}) == ""


@pytest.mark.opencl
def test_trials_confirm_or_refute(monkeypatch: pytest.MonkeyPatch) -> None:
    device = {"name": "pthread"}
    survey = {"platforms": [{"name": POCL, "devices": [device]}]}
    assert [build.fault for build in try_builds(survey)] == [""]
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "--no-such-flag")
    (broken,) = try_builds(survey)
    assert "builds nothing" in broken.fault
    assert "a fault: " in warn_of_pocl("a fault", {})


@pytest.mark.opencl
def test_a_chosen_device_is_warned_of_where_none_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    chosen = {"PYOPENCL_CTX": "0"}
    assert warn_of_pocl("a fault", chosen) == ""  # PoCL works
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "--no-such-flag")
    assert "a fault: " in warn_of_pocl("a fault", chosen)


@pytest.mark.opencl
def test_a_program_of_cltrace_gets_a_device_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    runtime = Path("lib") / "libintelocl.so"
    chosen = {"OCL_ICD_VENDORS": str(runtime)}
    assert choose_working_device("", runtime, {}) == {}  # PoCL works
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "--no-such-flag")
    assert choose_working_device("", runtime, {}) == chosen
    assert choose_working_device("a fault", None, {}) == {}
    assert choose_working_device("", runtime, {"PYOPENCL_CTX": "0"}) == {}
    monkeypatch.setenv("OCL_ICD_VENDORS", "/no/such/directory")
    assert choose_working_device("", runtime, {}) == chosen  # no platform at all
