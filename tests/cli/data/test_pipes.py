"""Values that come through a pipe of a shell: `x=@-`, `x=@/dev/stdin`, `x=@<(seq 3)`; scripts in UTF-16; other programs."""

import subprocess
import sys
from shutil import which

import pytest
from rows import each

pytestmark = pytest.mark.long  # a process of its own for each, since a pipe of the shell is open in its children alone


@each(
    "line, shown",
    [
        ("seq 3 | agrad eval 'sum(x)' x=@-", "6"),
        ("seq 3 | agrad eval 'sum(x)' x=@/dev/stdin", "6"),
        ("agrad eval 'sum(x)' x=@<(seq 3)", "6"),
        ("agrad eval 'x+y' x=@<(seq 1) y=@<(seq 2 2)", "[[3]]"),
        (r"printf 'a,b\n1,2\n3,4\n' | agrad eval 'sum(x*y)' x=@-:b y=@-:a", "14"),
        ("seq 3 > s.csv; agrad eval 'sum(x)' x=@/dev/stdin < s.csv", "6"),
        ("echo hello | agrad eval x x=@-", "error[file]: load_csv: there are no numbers in <stdin>"),
        ("echo a | agrad eval x x=@-:b", "error[file]: <stdin> has no column b"),
        ("agrad eval x x=@- < /dev/null", "error[file]: load_csv: <stdin> is empty"),
        ("agrad run <(echo 'print 1 + 1')", "2"),
        ("echo 'sin?' | agrad repl", "sin(x)\n  The sine of an angle in radians."),
        ("agrad eval 1,5+1 2>&1 > /dev/null", "note: 1,5 is two numbers: the decimal mark is a point"),
        ("agrad eval 'x*2' x=1,5 2>&1 > /dev/null", "note: 1,5 is two numbers: the decimal mark is a point"),
        (r"printf 'print \"é\"\n' | iconv -t UTF-16 > wide.ag; agrad run wide.ag", "é"),
    ],
)
def test_a_value_comes_through_a_pipe(line, shown, environment, tmp_path):
    assert run_by("bash", line, environment, tmp_path).startswith(shown)


@pytest.mark.parametrize(
    ("program", "line", "shown"),
    [
        ("zsh", "agrad eval 'sum(x)' x=@<(seq 3)", "6"),
        ("zsh", "agrad map 'x*2' =(printf 'x\n1\n')", "value\n2\n"),
        ("fish", "agrad eval 'sum(x)' x=@(seq 3 | psub)", "6"),
        ("jq", "agrad eval 'x**2' x=3 --wrt x --json | jq .grad.x", "6\n"),
        ("mlr", "printf 'x\n1\n' | agrad map 'x*2' - | mlr --icsv --ojsonl cat", '{"value": 2}\n'),
        ("make", "printf 'a:\n\t@agrad eval 1+1\n' | make --no-print-directory -f -", "2\n"),
        ("env", 'env -i "$(command -v agrad)" eval 1+1', "2\n"),
    ],
)
def test_other_shells_and_programs(program, line, shown, environment, tmp_path):
    shell = program if program in ("zsh", "fish") else "bash"
    if not which(program):
        pytest.skip(f"{program} is not installed")
    assert run_by(shell, line, environment, tmp_path).startswith(shown)


def run_by(shell, line, environment, tmp_path):
    """What a line shows, on both streams, where `agrad` is a command."""
    if not which(shell):
        pytest.skip(f"needs {shell}")
    (tmp_path / "agrad").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agrad "$@"\n')
    (tmp_path / "agrad").chmod(0o755)
    path = {"PATH": f"{tmp_path}:{environment['PATH']}"}
    done = subprocess.run([shell, "-c", line], capture_output=True, text=True, env=environment | path, cwd=tmp_path)
    return done.stdout + done.stderr
