"""Predictions from a noisy or foreign profile say so in their head, wherever they are printed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cltrace.kernels import Argument, BufferArgument
from cltrace.predict import predict_launch
from cltrace.profile import DeviceProfile, LeftOut, load_profile, write_profile
from tests.conftest import Runner

TRACE = Path(__file__).parents[1] / "data" / "h200-mixture.cltrace"
NOISY = "100% of"
SCALE = "__kernel void scale(__global float *a, float f) { a[get_global_id(0)] *= f; }"


def noisy_profile(profile: DeviceProfile) -> DeviceProfile:
    families = {
        name: tuple(replace(point, is_settled=False) for point in points)
        for name, points in profile.families.items()
    }
    left_out = (LeftOut("latency", 40), LeftOut("strides", 2, 3))
    return replace(
        profile, families=families, provenance=replace(profile.provenance, left_out=left_out)
    )


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose profile of the trace's device is noisy."""
    path = tmp_path / "cltrace" / "profiles" / "nvidia-h200.json"
    path.parent.mkdir(parents=True)
    write_profile(noisy_profile(load_profile("nvidia-h200")), path)
    return {"XDG_DATA_HOME": str(tmp_path)}


@pytest.mark.parametrize(
    "words",
    [
        ("predict", TRACE),
        ("predict", TRACE, "--profile", "nvidia-h200"),
        ("summary", TRACE, "--predict"),
        ("accuracy", "--trace", TRACE),
    ],
    ids=lambda words: " ".join(map(str, words)).replace(str(TRACE), "TRACE"),
)
def test_a_noisy_profile_is_in_the_head(
    run: Runner, home: dict[str, str], words: tuple[str | Path, ...]
) -> None:
    done = run(*words, env=home)
    assert done.status == 0, done.stderr
    head = done.stdout.split("\n\n")[0]
    assert "noisy profile" in head
    assert NOISY in head
    assert "no time for 45 probes" in " ".join(head.split())
    document = json.loads(run(*words, "--format", "json", env=home).stdout)
    assert NOISY in document["facts"]["noisy_profile"]


def test_the_page_and_exports_say_it(run: Runner, home: dict[str, str], tmp_path: Path) -> None:
    assert run("view", TRACE, "-o", "page.html", env=home).status == 0
    assert NOISY in (tmp_path / "page.html").read_text()
    assert run("export", TRACE, "-o", "trace.json", env=home).status == 0
    assert NOISY in (tmp_path / "trace.json").read_text()


def test_counts_of_kernels_with_times_say_it(run: Runner, home: dict[str, str]) -> None:
    done = run("kernel", TRACE, "--top", "1", "--format", "json", env=home)
    (document,) = json.loads(done.stdout)["launches"]
    assert NOISY in document["facts"]["noisy_profile"]


def test_the_python_interface_says_it() -> None:
    arguments: list[Argument] = [BufferArgument(4 << 20), 2.0]
    profile = load_profile("nvidia-h200")
    for each, count in ((profile, 0), (noisy_profile(profile), 2)):
        found = predict_launch(SCALE, "scale", (1 << 20,), (256,), arguments, each)
        assert len(found.caveats) == count


def test_a_foreign_profile_is_in_the_head(run: Runner, tmp_path: Path) -> None:
    own = load_profile("nvidia-h200")
    write_profile(
        replace(own, device=replace(own.device, driver="1.0", compute_units=4)),
        tmp_path / "other.json",
    )
    for name, is_foreign in (("nvidia-h200", False), ("other.json", True), ("pocl-cpu", True)):
        done = run("predict", TRACE, "--profile", name, "--format", "json")
        facts = json.loads(done.stdout)["facts"]
        assert ("foreign_profile" in facts) is is_foreign, name
        assert ("noisy_profile" in facts) is (name == "pocl-cpu")
