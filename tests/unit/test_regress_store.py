"""Samples are read as they were written, and nothing else is."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cltrace
from cltrace.errors import SampleFileError
from cltrace.regress.run_records import PredictedTime, Round
from cltrace.regress.sample_files import SampleFile, Side, read_samples, write_samples
from cltrace.regress.samples import WHOLE_RUN, SampleDetail, read_sample
from cltrace.regress.work import Amount, KernelWork, RunWork, SizedKernel, WorkKind

WORK = KernelWork(3, {kind: Amount(5.0, 0.5, "a doubt") for kind in WorkKind})
GOLDEN = Path(__file__).parents[1] / "golden" / "schema-3.cltrace"


@pytest.fixture(scope="module")
def samples() -> SampleFile:
    with cltrace.load(GOLDEN) as trace:
        run = read_sample(trace, detail=SampleDetail.WORK)
    assert run.work is not None
    assert run.work.kernels or run.work.refused
    work = RunWork(
        "clang 22", {SizedKernel("k", "[1]"): WORK}, {SizedKernel("other", "[1]"): "why"}
    )
    modelled = {key: PredictedTime(2.0, 1.0, 3.0) for key in run.kernels}
    run = replace(run, work=work, modelled=modelled, energy_j={WHOLE_RUN: 2.5})
    side = Side(("python", "app.py"), "/work", "abc123", is_dirty=False)
    return SampleFile(
        date="2026-11-22",
        host="here",
        processor="some processor",
        cltrace="0.1.0",
        dropped=5,
        head=side,
        base=replace(side, is_dirty=True),
        rounds=(Round((run, run), (run, run)), Round((run,), (run,))),
    )


def test_samples_are_read_as_they_were_written(samples: SampleFile, tmp_path: Path) -> None:
    path = tmp_path / "samples.json"
    write_samples(samples, path)
    assert read_samples(path) == samples
    alone = replace(samples, base=None, rounds=())
    write_samples(alone, path)
    assert read_samples(path) == alone


def test_what_is_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.json"
    for text in (b"", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"cltrace_samples": 1}'):
        path.write_bytes(text)
        with pytest.raises(SampleFileError):
            read_samples(path)
    path.write_text('{"cltrace_samples": 99}')
    with pytest.raises(SampleFileError, match="another version"):
        read_samples(path)
    with pytest.raises(SampleFileError, match="No such file"):
        read_samples(tmp_path / "none.json")
    with pytest.raises(SampleFileError, match="is it a trace"):
        read_samples(GOLDEN)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("median_ns", float("1e30")), ("median_ns", 0), ("median_ns", "5"), ("launches", -1),
        ("launches", True), ("counted", 1.5), ("kernel", 5), ("device", None),
    ],
)  # fmt: skip
def test_impossible_values_are_refused(
    samples: SampleFile, tmp_path: Path, key: str, value: object
) -> None:
    path = tmp_path / "samples.json"
    write_samples(samples, path)
    stored: dict[str, Any] = json.loads(path.read_text())
    stored["rounds"][0]["head"][0]["kernels"][0][key] = value
    path.write_text(json.dumps(stored))
    with pytest.raises(SampleFileError, match="holds no samples"):
        read_samples(path)
