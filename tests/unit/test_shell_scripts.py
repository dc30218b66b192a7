"""Programs that a shell starts without tracing are recognised."""

import pytest

from cltrace.intercept.shell_scripts import is_shell_command, script_fault


@pytest.mark.parametrize(
    ("script", "by_hooks", "by_layer"),
    [
        ("python app.py", False, False),
        ("env -i PATH=/bin python app.py", True, True),
        ("env -u X - python app.py", True, True),
        ("cd /srv && PYTHONPATH=lib python app.py", True, False),
        ("python3.11 -u -I app.py", True, False),
        ("python -c 'print(1)'", False, False),
        ("environment -i", False, False),
        ("echo PATH=1; python app.py -S", False, False),
        ("unset A PYTHONPATH; python app.py", True, False),
        ("env --unset=PYTHONPATH python app.py", True, False),
        ("env -uOPENCL_LAYERS -u CLTRACE_SESSION python app.py", True, True),
        ("unset OPENCL_LAYERS; python app.py", True, True),
        ("OPENCL_LAYERS= python app.py", True, True),
        ("bash -c sudo python app.py", True, True),
        ("cd /srv; exec -c python app.py", True, True),
        ("setpriv --nnp --reset-env python app.py", True, True),
        ("echo sudo make; unset A; python app.py", False, False),
    ],
)
def test_scripts(script: str, by_hooks: bool, by_layer: bool) -> None:
    assert bool(script_fault(script, uses_layer=False)) is by_hooks
    assert bool(script_fault(script, uses_layer=True)) is by_layer


def test_shells() -> None:
    assert is_shell_command(["/bin/sh", "-c", "true"])
    assert is_shell_command(["env", "-i"])
    assert not is_shell_command(["python", "app.py"])
    assert not is_shell_command([])
