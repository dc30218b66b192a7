"""Completion in real shells: candidates and descriptions of command lines, as a shell offers them."""

import os
import pty
import re
import shutil
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.conftest import clean_environment, needs
from tests.patience import HANG_S

Candidates = dict[str, str]
"""Descriptions by candidate. A description is empty where the shell shows none."""

BASH: Final = r"""
source "$1"
[[ $(complete -p cltrace) =~ -F\ ([^ ]+) ]]
complete_words=${BASH_REMATCH[1]}
while read -r -a COMP_WORDS; do
  COMP_WORDS=("${COMP_WORDS[@]//<>/}")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  echo ">"
  COMPREPLY=()
  "$complete_words"
  ((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
done
exit 0
"""
FISH: Final = r"""
source $argv[1]
while read -l typed
  echo '>'
  complete -C $typed
end
exit 0
"""
ZSH: Final = r"""
fpath=($CLTRACE_DIRECTORY $fpath)
autoload -Uz compinit
compinit -u -D
exec {matches}>$CLTRACE_DIRECTORY/matches
compadd() {
  if (( ${argv[(I)-[OAD]]} )); then
    builtin compadd "$@"
    return
  fi
  local -a candidates labels
  local position=${argv[(I)-d]}
  (( position )) && labels=("${(@P)argv[position+1]}")
  builtin compadd -A candidates -D labels "$@"
  for ((position = 1; position <= $#candidates; ++position)); do
    print -ru $matches -- "${(Q)candidates[position]}"$'\t'"${labels[position]#*-- }"
  done
  builtin compadd "$@"
}
_list_matches() { _main_complete; compstate[insert]=; compstate[list]= }
zle -C _list_matches complete-word _list_matches
_complete_lines() {
  local typed
  while IFS= read -r typed; do
    BUFFER=$typed CURSOR=$#typed
    print -ru $matches -- ">"
    zle _list_matches
  done <$CLTRACE_DIRECTORY/lines
  exit
}
zle -N zle-line-init _complete_lines
"""


def complete_in_bash(script: Path, lines: Sequence[str], directory: Path) -> list[Candidates]:
    """Return the candidates of lines in bash. Its readline splits words at = and :, too."""
    needs(shutil.which("bash") is not None, "bash")
    words = (re.sub(r" $", " <>", line) for line in lines)
    typed = "".join(re.sub(r"([=:]+)", r" \1 ", line) + "\n" for line in words)
    command = ["bash", "--norc", "-c", BASH, "bash", str(script)]
    return _parse(_output(command, typed, directory))


def complete_in_fish(script: Path, lines: Sequence[str], directory: Path) -> list[Candidates]:
    """Return the candidates of lines in fish, without the `--flag=` before values."""
    needs(shutil.which("fish") is not None, "fish")
    command = ["fish", "--no-config", "-c", FISH, str(script)]
    output = _output(command, "".join(f"{line}\n" for line in lines), directory)
    return _parse(re.sub(r"^--[^=\s]*=", "", output, flags=re.MULTILINE))


def complete_in_zsh(script: Path, lines: Sequence[str], directory: Path) -> list[Candidates]:
    """Return the candidates of lines in zsh, whose completion needs a terminal."""
    needs(shutil.which("zsh") is not None, "zsh")
    home = script.parent / f"zsh-{script.name}"
    home.mkdir(exist_ok=True)
    shutil.copy(script, home / "_cltrace")
    (home / "lines").write_text("".join(f"{line}\n" for line in lines))
    (home / ".zshrc").write_text(ZSH)
    variables = {"ZDOTDIR": str(home), "CLTRACE_DIRECTORY": str(home)}
    screen = _run_in_terminal(["zsh", "--no-global-rcs", "-i"], variables, directory)
    candidates = _parse((home / "matches").read_text())
    assert len(candidates) == len(lines), screen
    return candidates


SHELLS: Final[Mapping[str, Callable[[Path, Sequence[str], Path], list[Candidates]]]] = {
    "bash": complete_in_bash,
    "zsh": complete_in_zsh,
    "fish": complete_in_fish,
}


def _output(command: Sequence[str], typed: str, directory: Path) -> str:
    done = subprocess.run(
        command,
        input=typed,
        cwd=directory,
        env={**clean_environment(), "HOME": str(directory), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_S,
    )
    assert done.stderr == ""
    return done.stdout


def _run_in_terminal(command: Sequence[str], variables: Mapping[str, str], directory: Path) -> str:
    """Run a command in a pseudo-terminal until it ends, and return its output."""
    terminal, end = pty.openpty()
    termios.tcsetwinsize(end, (1000, 1000))
    process = subprocess.Popen(
        command,
        stdin=end,
        stdout=end,
        stderr=end,
        cwd=directory,
        env={**clean_environment(), **variables, "TERM": "dumb", "LC_ALL": "C.UTF-8"},
        start_new_session=True,
    )
    os.close(end)
    output = b""
    try:
        while chunk := os.read(terminal, 65536):
            output += chunk
    except OSError:
        pass  # Linux's sign that no process has the terminal open any more.
    finally:
        os.close(terminal)
        process.wait(timeout=HANG_S)
    return output.decode(errors="replace")


def _parse(output: str) -> list[Candidates]:
    """Return the candidates of each block of lines that begins with `>`."""
    blocks: list[Candidates] = []
    for line in output.splitlines():
        if line == ">":
            blocks.append({})
        else:
            candidate, _, description = line.partition("\t")
            blocks[-1].setdefault(candidate.strip().rstrip("/"), description.strip())
    return blocks
