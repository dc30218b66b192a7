"""Words of command lines that look like secrets are masked, and others are not."""

import json
import time
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
    (["--apiKey", "hunter2"], "hunter2"),
    (["--clientSecret=hunter2"], "hunter2"),
    (["--pass-phrase", "hunter2"], "hunter2"),
    (["--pw=hunter2"], "hunter2"),
    (["/password:hunter2"], "hunter2"),
    (["-passin", "pass:hunter2"], "hunter2"),
    (["--secret-id", "hunter2hunter2"], "hunter2"),
    (["--token-hf", "hunter2hunter2"], "hunter2"),
    (["--key=hunter2hunter2"], "hunter2"),
    (["OPENAI_KEY=hunter2hunter2"], "hunter2"),
    (["--encryption-key", "hunter2"], "hunter2"),
    (["AccountName=a;AccountKey=hunter2==;x"], "hunter2"),
    (["https://h/c?sv=2020&sig=hunter2hunter2%3D"], "hunter2"),
    (["https://user:hunter2/zwei@host"], "zwei"),
    (["user:hunter2@host/db"], "hunter2"),
    (["mysql", "-phunter"], "hunter"),
    (["app.py", "-pSECRET"], "SECRET"),
    (["sshpass", "-p", "hunter2", "ssh", "h"], "hunter2"),
    (["curl", "-u", "me:hunter2", "http://h"], "hunter2"),
    (["curl", "--user=me:hunter2"], "hunter2"),
    (["bash", "-c", "curl -u me:hunter2 http://h"], "hunter2"),
    (["-H", "Cookie: session=hunter2"], "hunter2"),
    (["--env=MYSQL_PASSWORD=eins zwei_phrase"], "zwei_phrase"),
    (["-DAPI_KEY=hunter2"], "hunter2"),
    (["bash", "-c", r"x --password=a\ zwei_phrase y"], "zwei_phrase"),
    (["bash", "-c", "x --password 'it is' --password=a\"b zwei_phrase\" y"], "zwei_phrase"),
    ([r"{\"password\":\"hunter2\"}"], "hunter2"),
    (['{"auth": {"token": "hunter2"}}'], "hunter2"),
    (["-c", "api_key: str = 'hunter2'"], "hunter2"),
    (["-c", "os.environ['API_KEY']='hunter2'"], "hunter2"),
    (["-c", "environ.setdefault('API_KEY', 'hunter2')"], "hunter2"),
    (["-c", "set_password(b'hunter2')"], "hunter2"),
    (["-c", "x = 1; password = r'hunter2'"], "hunter2"),
    (["-c", "x = 1; password = '''hunter2'''"], "hunter2"),
    (["https://hooks.slack.com/services/T0/B0/abcDEFghi"], "abcDEF"),
    (["x_ghp_0123456789abcdefghijABCDEFGHIJ"], "0123456789abcdefghij"),
    (["-kghp_0123456789abcdefghijABCDEFGHIJ"], "0123456789abcdefghij"),
    (["xapp-1-A0B-123-abcdef0123"], "abcdef0123"),
    (["sk_live_abcDEF123abcDEF123"], "abcDEF123"),
    (["npm_abcDEF123abcDEF123abcDEF123abcDEF1"], "abcDEF123"),
    (["ASIAIOSFODNN7EXAMPLE"], "IOSFODNN7"),
    (["hvs.CAESIabcDEF123abcDEF123abcDEF"], "abcDEF123"),
    (["snmpget", "-A", "hunter1", "-X", "hunter2"], "hunter2"),
    (["docker", "login", "-u", "me", "-p", "hunter"], "hunter"),
    (["mongosh", "--username", "a", "-p", "hunter"], "hunter"),
    (["redis-cli", "-h", "x", "-a", "hunter"], "hunter"),
    (["ldapsearch", "-D", "cn=x", "-w", "hunter"], "hunter"),
    (["smbclient", "//h/s", "-U", "DOMAIN\\me%hunter"], "hunter"),
    (["openssl", "enc", "-k", "hunter"], "hunter"),
    (["unzip", "-P", "hunter", "a.zip"], "hunter"),
    (["7z", "x", "-phunter", "a.7z"], "hunter"),
    (["sqlplus", "scott/hunter@orcl"], "hunter"),
    (["jdbc:oracle:thin:scott/hunter@h:1521"], "hunter"),
    (["htpasswd", "-b", "f", "me", "hunter"], "hunter"),
    (["wpa_passphrase", "ssid", "hunter"], "hunter"),
    (["xfreerdp", "/u:x", "/p:hunter"], "hunter"),
    (["http", "-a", "me:hunter", "GET", "h"], "hunter"),
    (["curl", "-su", "me:hunter", "http://h"], "hunter"),
    (["curl", "-u", "me:12345", "http://h"], "12345"),
    (["curl", "--user", "me:eins zwei_phrase", "http://h"], "zwei_phrase"),
    (["bash", "-c", "docker login -u me -p hunter h"], "hunter"),
    (["bash", "-c", "echo hunter | sudo -S run"], "hunter"),
    (["bash", "-c", "printf 'hunter' | docker login --password-stdin"], "hunter"),
    (["aws", "configure", "set", "aws_secret_access_key", "hunter"], "hunter"),
    (["npm", "config", "set", "//registry.npmjs.org/:_authToken", "hunter"], "hunter"),
    (["machine h login me password hunter"], "hunter"),
    (["-H", 'Proxy-Authorization: Digest username="x", response="hunter2"'], "hunter2"),
    (["-H", "Ocp-Apim-Subscription-Key: hunter"], "hunter"),
    (["-c", "password => 'hunter'"], "hunter"),
    (["<password>hunter</password>"], "hunter"),
    (['{"tokens": ["hunter2hunter2"]}'], "hunter2"),
    (["jdbc:sqlserver://h;user=sa;password={hunt;er}"], "hunt;er"),
    (["password%3Dhunter"], "hunter"),
    (["%22password%22%3A%22hunter%22"], "hunter"),
    (["https://h/?u=https%3A%2F%2Fme%3Ahunter%40host"], "hunter"),
    (["--encryption_key_base64", "YWJjZGVm"], "YWJj"),
    (["--dbpass=hunter"], "hunter"),
    (["DBPWD=hunter"], "hunter"),
    (["keytool", "-storepass", "hunter"], "hunter"),
    (["--totp", "123456"], "123456"),
    (["--mfa-code=123456"], "123456"),
    (["sk-or-v1-0123456789abcdef0123456789abcdef"], "0123456789abcdef"),
    (["https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz1234567/x"], "AAabc"),
    (["dckr_pat_abcdefghijklmnopqrstuvwxyz0"], "abcdef"),
    (["nvapi-abcdefghijklmnopqrstuvwxyz0123456789"], "abcdef"),
    (["key-0123456789abcdef0123456789abcdef"], "0123456789abcdef"),
    (["w7alr3Xt/FE1I/K7M2NG9bPx5fiC8Eq4MPz/KE0Y"], "K7M2NG9b"),
    (["<password value='hunter2'/>"], "hunter2"),
    (['<add key="ApiToken" value="hunter2"/>'], "hunter2"),
    (['<input name="q" type="password" value=hunter2>'], "hunter2"),
    (['<param name="db.password">hunter2</param>'], "hunter2"),
    ([r"<password value=\"hunter2\"/>"], "hunter2"),
    (["token:", "hunter"], "hunter"),
    (["bash", "-c", "sudo -S run <<< hunter"], "hunter"),
    (["bash", "-c", "docker login --password-stdin <<<'hunter zwei'"], "hunter"),
    (["unknown", "-p", "Tr0ub4dor&3"], "Tr0ub4dor"),
    (["unknown", "-k", "xK9qT2mZ4b"], "xK9qT2mZ4b"),
    (["bash", "-c", "unknown -p 'S3cr3t!Pass' now"], "S3cr3t"),
    (["-----BEGIN PGP PRIVATE KEY BLOCK-----\nMIIE"], "MIIE"),
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
    "--sort-key=name",
    "--pass=2",
    "-DMAX_PASS=2",
    "-DSECRET=1",
    "-p8080",
    "-pthread",
    "-u1000:1000",
    "repo/image:tag@sha256:0123",
    "http://host:8080/a@2x.png",
    "--name=ResNet50v2FinetunedOnImageNet2012Run17Epoch3",
    "Mesh3D-N128-P4-Re1000-CFL05-T10-run7",
    "password = None",
    "password == other",
    "def f(token: str): ...",
    "export PASSWORD=$PASSWORD",
    "550e8400-e29b-41d4-a716-446655440000",
    "basic example1234 of it",
    "-DKEY_BITS=32",
    "-DKEY=ulong4x2",
    "-DTOKEN=float4",
    "-DSALT=0x9e3779b9",
    "-DSIG=float(int)",
    "-DPASS=horizontal",
    "-DSESSION=run12345",
    "-DKEY=material12",
    "--session=run12345",
    '<item name="width" value="Large123"/>',
    '<key name="order" value="by_size_2024"/>',
    "run -p ResNet50v2 now",
    "run -k TestFoo2Bar now",
    "run -p Mesh3D-N128-P4-Re1000-CFL05-T10-run7 now",
    "run -o tmpA8f3kQ2x now",
    "-DAUTH=none",
    "--by-pass=yes",
    "--forward-pass=fused",
    "--lowpass=butter",
    "--token=-",
    "docker run -p 8080:80 image",
    "https://host/path?next=%2Fhome%2Fme",
    "site-packages/Cython/Includes/Deprecated/python_Bool2Dict3Ext.pxd",
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


HIDDEN = """
import os, subprocess, sys
import pyopencl as cl
secret = os.environ.pop("PLAIN")
context = cl.create_some_context(interactive=False)
program = cl.Program(context, "kernel void k() { }")
program.build(options=["-DN=3", "-DAPI_TOKEN=" + secret, "-I", "token=" + secret])
subprocess.run([sys.executable, "-I", "-c", "pass", "--password", secret])
subprocess.run(["env", "-i", "true", "--api-key=" + secret])
"""


@pytest.mark.parametrize("layer", ["auto", "off"])
@pytest.mark.opencl
def test_options_variables_and_paths_hold_no_secret(
    layer: str, run: Runner, tmp_path: Path
) -> None:
    place = tmp_path / "password=hunter2hunter2"
    place.mkdir()
    (place / "app.py").write_text(HIDDEN)
    variables = {"PLAIN": "hunter2hunter2", "PYOPENCL_API_TOKEN": "hunter2hunter2"}
    words = ("run", "-q", "-f", "--layer", layer, "-o", "../t.cltrace", "app.py")
    for flags, is_kept in (((), False), (("--keep-secrets",), True)):
        done = run(*words[:1], *flags, *words[1:], env=variables, cwd=place)
        assert done.status == 0, done.stderr
        assert (b"hunter2" in (tmp_path / "t.cltrace").read_bytes()) == is_kept
    assert run("info", tmp_path / "t.cltrace").status == 0


@pytest.mark.parametrize(
    "unit",
    [
        "a:",
        "a=",
        "token=",
        "key=key:",
        "://",
        "http://a:",
        "sk-",
        "a.",
        "'",
        "\"a',",
        "mysql ",
        "<a ",
        "<a b=",
        "<a b='",
        "-p ",
    ],
)
def test_long_words_are_masked_at_once(unit: str) -> None:
    # A pattern that tries each place anew at each place would take hours of processor time.
    resource_limit = time.process_time() + 15
    mask_words([unit * (100_000 // len(unit))])
    assert time.process_time() < resource_limit
