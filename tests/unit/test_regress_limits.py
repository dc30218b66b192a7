"""Limits of a piece of work: exact, of the kernels that they are about, and nothing that is not known."""

from dataclasses import replace
from pathlib import Path

import pytest

from cltrace.errors import SampleFileError
from cltrace.regress.counters import CounterDirection, CounterKey, CounterKind, FailureKind
from cltrace.regress.limits import find_violations, parse_limits
from cltrace.regress.recorded_tests import compare_test, read_tests, write_tests
from cltrace.regress.recorded_work import RecordedWork
from cltrace.regress.run_records import (
    DeviceIdentity,
    KernelKey,
    KernelTime,
    PredictedTime,
    RunSample,
)
from cltrace.regress.work import Amount, KernelWork, RunWork, SizedKernel, WorkKind
from cltrace.report.recorded_work import difference_text, work_text

DEVICE = DeviceIdentity("board", "platform", "1.0", "OpenCL 3.0")
HEAVY, LIGHT = KernelKey("heavy", "[64]", "board"), KernelKey("light", "[32]", "board")


def amounts(operations: float, transactions: float, doubt: str = "") -> dict[WorkKind, Amount]:
    return {
        WorkKind.OPERATIONS: Amount(operations, 0.0),
        WorkKind.TRANSACTIONS: Amount(transactions, 0.0, doubt),
        WorkKind.LOCAL_ROUNDS: Amount(0.0, 0.0),
    }


RUN = RunSample(
    (DEVICE,),
    {HEAVY: KernelTime(3, 3, 6e6, 18e6), LIGHT: KernelTime(2, 2, 1e6, 2e6)},
    {
        CounterKey(CounterKind.LAUNCHES, SizedKernel("heavy", "[64]")): 3,
        CounterKey(CounterKind.LAUNCHES, SizedKernel("light", "[32]")): 2,
        CounterKey(CounterKind.BYTES, CounterDirection.TO_DEVICE): 1000,
        CounterKey(CounterKind.BYTES, CounterDirection.FROM_DEVICE): 10,
        CounterKey(CounterKind.BUILDS): 2,
        CounterKey(CounterKind.FAILURES, FailureKind.CALLS): 1,
        CounterKey(CounterKind.FAILURES, FailureKind.COMMANDS): 1,
    },
    RunWork(
        "clang 22",
        {
            SizedKernel("heavy", "[64]"): KernelWork(3, amounts(300.0, 30.0)),
            SizedKernel("light", "[32]"): KernelWork(2, amounts(20.0, 2.0, "assumed: an address")),
        },
        {},
    ),
    {HEAVY: PredictedTime(2e6, 1e6, 3e6), LIGHT: PredictedTime(1e6, 0.9e6, 1.1e6)},
)


def said(run: RunSample = RUN, /, **limits: object) -> list[str]:
    return list(find_violations(parse_limits(limits), RecordedWork(run)))


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"max_launches": 4}, "5 launches, at most 4"),
        ({"max_launches": 2, "kernel": "h*"}, "3 launches, at most 2"),
        ({"max_bytes_to_device": 999}, "1,000 bytes to the device, at most 999"),
        ({"max_builds": 1}, "2 builds, at most 1"),
        ({"max_failures": 1}, "2 failures, at most 1"),
        ({"max_operations": 319}, "320 operations, at most 319"),
        ({"max_transactions": 29, "kernel": "heavy"}, "30 memory transactions, at most 29"),
        ({"max_transactions": 99}, "memory transactions of light [32] are not certain: assumed"),
        ({"max_over_model": 2.9}, "heavy takes 3 times what the model says, at most 2.9"),
    ],
)
def test_what_goes_over_a_limit_is_said(limits: dict[str, object], text: str) -> None:
    (found,) = said(**limits)
    assert found.startswith(text)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_launches": 5}, {"max_launches": 3, "kernel": "h*"}, {"max_bytes_to_device": 1000},
        {"max_builds": 2}, {"max_failures": 2}, {"max_operations": 320}, {"max_over_model": 3.1},
        {"max_transactions": 30, "kernel": "heavy"}, {"max_over_model": 1, "kernel": "light"},
        {"kernel": "none", "max_launches": 0}, {},
    ],
)  # fmt: skip
def test_what_is_within_is_not(limits: dict[str, object]) -> None:
    assert said(**limits) == []


def test_a_limit_on_what_is_not_known_is_not_kept() -> None:
    assert "no compiler" in said(replace(RUN, work=None), max_operations=1e9)[0]
    assert "no model of board" in said(replace(RUN, modelled={}), max_over_model=9)[0]
    assert said(kernel="none", max_operations=9) == [
        "no launch of kernel none: its limits check nothing"
    ]
    assert "without profiling" in said(replace(RUN, kernels={}), max_over_model=9)[0]
    refused = RunWork(
        "clang 22", {}, {SizedKernel("heavy", "[64]"): "it uses what is not supported"}
    )
    found = said(replace(RUN, work=refused), max_operations=1e9)
    assert found[0].endswith("are not known: it uses what is not supported")
    assert found[1].endswith("its arguments or its source are not known")


@pytest.mark.parametrize(
    "limits", [{"max_time": 1}, {"max_builds": -1}, {"max_builds": "1"}, {"max_builds": True},
               {"max_operations": float("nan")}, {"kernel": 5}],
)  # fmt: skip
def test_what_is_no_limit_is_refused(limits: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"no limit|no amount|no pattern"):
        parse_limits(limits)


def test_what_was_recorded_has_names() -> None:
    found = RecordedWork(RUN)
    assert found.launches == 5
    assert found.builds == 2
    assert found.failures == 2
    assert (found.bytes_to_device, found.bytes_from_device) == (1000, 10)
    assert found.kernels == {"heavy": 3, "light": 2}
    assert found.total(WorkKind.OPERATIONS, "l*") == 20.0
    text = work_text(found)
    assert "heavy" in text
    assert "300" in text
    assert text.isascii()


def test_tests_are_kept_and_compared(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    write_tests({"a::b": RUN}, path)
    assert read_tests(path) == {"a::b": RUN}
    assert not compare_test(RUN, RUN).has_more
    more = replace(RUN, counters={**RUN.counters, CounterKey(CounterKind.BUILDS): 3})
    found = compare_test(RUN, more)
    assert found.has_more
    assert "builds" in difference_text(found)
    for text in ("", "{}", "[]", '{"cltrace_tests": 2}', '{"cltrace_tests": 1, "tests": {"a": 1}}'):
        path.write_text(text)
        with pytest.raises(SampleFileError):
            read_tests(path)
