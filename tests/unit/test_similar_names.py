"""Suggestions for mistyped names, wherever a name is given."""

from pathlib import Path

import pytest

from cltrace.similar_names import suggest_name
from tests.conftest import Runner

GOLDEN = Path(__file__).parents[1] / "golden" / "schema-5.cltrace"


def test_the_most_similar_name_is_suggested() -> None:
    assert suggest_name("gemmm", ["gemm", "gemver", "syrk"]) == ": did you mean gemm?"
    assert suggest_name("NVIDA", ["nvidia", "pocl"]) == ": did you mean nvidia?"
    assert suggest_name("abc", ["xyz"]) == ""
    assert suggest_name("abc", []) == ""


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("profile", "show", "nvidia-h20"), "did you mean nvidia-h200?"),
        (("profile", "show", "zzz"), "there is no profile zzz; there are: "),
        (("accuracy", "--set", "unrestricte"), "did you mean unrestricted?"),
        (("power", "lst"), "did you mean list?"),
        (("kernel", "k.cl", "--global-size", "64", "--kernel", "sclae"), "did you mean scale?"),
        (("kernel", GOLDEN, "--kernel", "sclae"), "did you mean scale?"),
        (
            ("query", GOLDEN, "SELECT * FROM v_comand"),
            "no such table: v_comand: did you mean v_command?",
        ),
        (("query", GOLDEN, "SELECT c.kernl FROM v_command c"), "did you mean kernel?"),
        (
            ("summary", GOLDEN.with_name("shema-5.cltrace")),
            "does not exist: did you mean schema-5.cltrace?",
        ),
        (("summary", GOLDEN.with_name("zzz")), "zzz does not exist\n"),
        (
            ("predict", GOLDEN, "--profile", "pthraed-device=pocl-cpu"),
            "did you mean pthread-device?",
        ),
    ],
)
def test_a_mistyped_name_gets_a_suggestion(
    words: tuple[str | Path, ...], answer: str, run: Runner, tmp_path: Path
) -> None:
    (tmp_path / "k.cl").write_text("kernel void scale(global float *a) { a[0] *= 2; }")
    done = run(*words)
    assert (done.status, answer in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("verb", ["timeline", "summary"])
def test_a_mistyped_kernel_of_a_report_gets_a_suggestion(verb: str, run: Runner) -> None:
    note = "note: no kernel that ran matches sclae: did you mean scale?"
    assert note in run(verb, GOLDEN, "--kernel", "sclae").stdout
    assert "no kernel that ran" not in run(verb, GOLDEN, "--kernel", "scal?").stdout
