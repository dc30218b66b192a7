"""Words of command lines that look like secrets are masked, and others are not."""

import json
from pathlib import Path

import pytest

import cltrace
from cltrace.spool.secret_words import mask_text, mask_words
from tests.conftest import Runner

SECRETS = [
    (["--token", "abc"], "abc"),
    (["--api-key=abc123"], "abc123"),
    (["--db-password", "hunter2"], "hunter2"),
    (["API_KEY=abc123"], "abc123"),
    (["https://me:hunter2@host/path"], "hunter2"),
    (["https://host/path?access_token=abc123&x=1"], "abc123"),
    (["-H", "Authorization: Bearer abcdefgh12345678"], "abcdefgh12345678"),
    (["ghp_0123456789abcdefghijABCDEFGHIJ"], "0123456789abcdefghij"),
    (["AKIAIOSFODNN7EXAMPLE"], "IOSFODNN7"),
    (["-c", "password = 'hunter2'; run()"], "hunter2"),
    (["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc"], "eyJzdWIi"),
    (["a8Fk29dLq0ZxP3mVt7Rw51YbNc6Hs4Ju"], "a8Fk29"),
    (["--password=eins zwei_phrase"], "zwei_phrase"),
    (["--password=a&b;hunter2"], "hunter2"),
    (["--password", "-hunter2"], "hunter2"),
    (["--pass", "hunter2"], "hunter2"),
    (["DB_PASS=hunter2"], "hunter2"),
    (["-H", "Authorization: Token abc123def"], "abc123def"),
    (["bash", "-c", "run --password hunterzwei now"], "hunterzwei"),
    (["bash", "-c", "run '--secret=my long_phrase' now"], "long_phrase"),
    (['{"password": "my secret words"}'], "words"),
    (["https://user:p@ss@host"], "ss@host"),
    (["https://tok3n@github.com"], "tok3n"),
    (["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"], "MIIE"),
]
HARMLESS = [
    "python",
    "app.py",
    "--size=4096",
    "--tokens-per-second",
    "/home/me/a-very-long-path/with-Many-Parts-1234/and/more/of/them.py",
    "0123456789abcdef0123456789abcdef01234567",
    "http://host:8080/path",
    "-DN=16",
    "--kernel=gaussian_blur_horizontal_float4_local",
    "monkey=3",
    "--max-tokens=128",
    "--num_tokens=32",
    "--tokenizer=gpt2",
    "--author=Jane",
    "--auth-mode=basic",
    "--passwd-file=/etc/x",
    "data_v1_Large_2x3_4y5_Fold3_seed42_run7_cfg",
    "ssh://git@github.com/x",
    "x" * 100,
]


@pytest.mark.parametrize(("words", "secret"), SECRETS)
def test_secrets_are_masked(words: list[str], secret: str) -> None:
    masked = mask_words(("python", *words, "last"))
    assert secret not in " ".join(masked)
    assert "***" in " ".join(masked)
    assert (masked[0], masked[-1]) == ("python", "last")


def test_other_words_stay() -> None:
    assert [mask_text(word) for word in HARMLESS] == HARMLESS
    assert mask_words(["a", "--token", "-v", "b"]) == ("a", "--token", "-v", "b")
    for words in (["--max-tokens", "128"], ["--max-token", "128"], ["--compass", "north"]):
        assert list(mask_words(words)) == words


@pytest.mark.parametrize("layer", ["auto", "off"])
@pytest.mark.opencl
def test_traces_hold_no_secret_unless_asked(layer: str, run: Runner, tmp_path: Path) -> None:
    code = "import sys, pyopencl as cl; cl.get_platforms(); print(sys.argv[2])"
    (tmp_path / "app.py").write_text(code)
    words = ("--layer", layer, "-q", "-f", "-o", "t.cltrace", "app.py", "--token", "hunter2hunter2")
    for flags, is_kept in (((), False), (("--keep-secrets",), True)):
        done = run("run", *flags, *words)
        assert (done.status, done.stdout) == (0, "hunter2hunter2\n"), done.stderr
        assert (b"hunter2hunter2" in (tmp_path / "t.cltrace").read_bytes()) == is_kept
        with cltrace.load(tmp_path / "t.cltrace") as trace:
            command = json.loads(trace.meta["command"] or "")
            argv = trace.rows("SELECT argv FROM v_process")
        assert (command[-1] == "***") != is_kept
        assert ("***" in argv[0][0]) != is_kept
