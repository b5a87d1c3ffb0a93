"""Values that come through a pipe of a shell: `x=@-`, `x=@/dev/stdin`, `x=@<(seq 3)`; and scripts in UTF-16."""

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
        (r"printf 'print \"é\"\n' | iconv -t UTF-16 > wide.ag; agrad run wide.ag", "é"),
    ],
)
def test_a_value_comes_through_a_pipe(line, shown, environment, tmp_path):
    if not which("bash"):
        pytest.skip("needs bash")
    (tmp_path / "agrad").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agrad "$@"\n')
    (tmp_path / "agrad").chmod(0o755)
    path = {"PATH": f"{tmp_path}:{environment['PATH']}"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment | path, cwd=tmp_path)
    assert (done.stdout + done.stderr).startswith(shown)
