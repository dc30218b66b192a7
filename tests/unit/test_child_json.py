"""Questions to a process of its own: whatever that process does, there is an answer or a reason."""

import pytest

from cltrace.runs.child_json import run_for_json


def test_an_answer_is_an_answer() -> None:
    assert run_for_json(["-c", "print('[1, 2]')"]) == ([1, 2], "")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import time; time.sleep(60)", "it did not answer within 0.5 s"),
        ("import os; os.abort()", "it was killed by signal 6: a driver crashed"),
        (
            "import os; os.write(2, b'\\nno ld\\nbye\\n'); os.abort()",
            "it was killed by signal 6: a driver crashed, saying: no ld",
        ),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)", "no reason given"),
        ("print('hello'); print('[1]')", "a driver wrote into its answer"),
        ("import os; os.write(1, bytes([255]))", "a driver wrote into its answer"),
    ],
)
def test_a_process_that_fails_is_a_reason(code: str, reason: str) -> None:
    timeout_s = 0.5 if "sleep" in code else 60
    assert run_for_json(["-c", code], timeout_s) == (None, reason)
