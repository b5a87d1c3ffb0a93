"""Scripts of PyTorch that are pasted at the prompt, line by line, print what they print from a file."""

import pytest
from tutorials import SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_at_a_piped_prompt_what_torch_prints(name, agrad):
    script, printed = SCRIPTS[name]
    assert agrad("repl", given=script) == (printed.lstrip("\n"), "", 0)


@pytest.mark.parametrize("name", ["own_function", "train_and_test"])
def test_a_script_prints_this_also_where_it_is_pasted_as_a_whole(name, typed):
    script, printed = SCRIPTS[name]
    out, err = typed(f"\x1b[200~{script}\x1b[201~\r\x04")
    assert err == ""
    assert printed.strip() in out


DECORATED = """@torch.no_grad()
# such as this one
def f(w):
    w -= 1

class A:
    n = 2

    @staticmethod
    def g(x):
        return x*2
    @property
    def m(self): return 5

w = torch.ones(2, requires_grad=True)
f(w)
print(w.tolist(), A.g(3), A().m)
"""


def test_a_decorator_waits_for_its_function(agrad):
    assert agrad("repl", given=DECORATED) == ("[0, 0] 6 5\n", "", 0)


def test_a_decorator_without_a_function_is_an_error(agrad):
    out, err, _ = agrad("repl", given="@torch.no_grad()\n\nprint(3)\n")
    assert out == "3\n"
    assert err.startswith("error[syntax]")
