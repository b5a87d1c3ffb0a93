"""Trees as code objects of Python: what a text can reach, what names mean, and how deeply code may be nested."""

import tracemalloc

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session


def said(text):
    session, lines = Session(), []
    session.run(text, lambda result: lines.append(result.text(session.settings)))
    assert not [name for name in session.names if name[0] == "." or name == "__builtins__"]
    return lines


def refusal(text):
    with pytest.raises(AgradError) as caught:
        said(text)
    return caught.value.message


def test_a_text_that_looks_like_a_detail_of_code_is_a_text():
    assert said('x = "\\x000"; len(x)\nx == "\\x000"') == ["2", "True"]


@pytest.mark.parametrize("name", ["open", "__build_class__", "__import__", "exec", "globals", "vars2"])
def test_builtins_of_python_have_no_value(name):
    assert refusal(f"y = {name}") == f"{name} has no value"
    assert refusal(f"def f():\n    def g() = {name}\n    return g()\nf()") == f"{name} has no value"


def test_no_fix_gives_a_name_of_pythons_own_a_value():
    with pytest.raises(AgradError) as caught:
        said("y = __file__")
    assert caught.value.fixes == []


@pytest.mark.parametrize(
    "text",
    [
        "{} = 3",
        "for {} in range(2): pass",
        "var {} = 2",
        "def {}() = 1",
        "f({}) = 2",
        "def f(*{}): pass",
        "[{} for {} in [1]]",
        "root({} - 1, 0..2)",
    ],
)
def test_the_builtins_of_code_cannot_be_replaced(text):
    for name in ("__builtins__", "__name__", "__debug__", "__class__"):
        assert refusal(text.replace("{}", name)) == f"{name} cannot be given a value"


def test_a_name_that_a_function_has_yet_to_bind_is_that_outside_of_it():
    assert said("n = 1\ndef f():\n    n = n + 1\n    return n\nf()\nf()\nn") == ["2", "2", "1"]
    nested = "def f(n):\n    def g():\n        n = n + 1\n        return n\n    return g() + n\nf(1)"
    assert said(nested) == ["3"]
    assert refusal("def f():\n    if 0: q = 1\n    return q\nf()") == "q has no value"


def test_what_fails_in_a_function_takes_back_its_names():
    assert said("def f(x):\n    fails name:\n        x = 2\n        nothing\n    return x\nf(1)") == ["1"]


def test_a_vector_becomes_a_list_under_all_names_of_functions():
    assert said("def g(v): v.append(3)\ndef f():\n    v = [1, 2]\n    w = v\n    g(v)\n    return w\nf()") == [
        "[1, 2, 3]"
    ]


def test_loops_are_nested_as_deeply_as_python_lets_them():
    loops = "".join(f"{' ' * depth}for i{depth} in range(1):\n" for depth in range(20))
    assert said(f"{loops}{' ' * 20}x = 3\nx") == ["3"]
    assert (
        refusal(f"{loops}{' ' * 20}while 0:\n{' ' * 21}x = 3") == "loops and with blocks are nested more than 20 deep"
    )


def test_an_operand_that_is_computed_first_is_computed_once():
    assert said("def f(x):\n    print x\n    return x\ndef g(x): return f(x)**2*f(3)\ng(2)") == ["2", "3", "12"]


LOOPS = [  # what is before a loop, and its body
    ("x = 1", "x = x + sqrt(i)*2"),
    ("x = 1", "x = 3*x % 7 - i // 2 - -x"),
    ("x = 1\na = 0", "x = x/a + i"),
    ("x = 2**53 + 2", "x = x % 10 + i"),
    ("x = [1, 2]", "x = x*i + 1"),
    ("var x = 2", "x = x/(i + 1) + sqrt(i)"),
    ("x = 1\ndef sqrt(y) = [y]", "x = x + sqrt(i)"),
    ("x = 1", "if x % 2 == 0: x = x // 2\n    else: x = maximum(3*x, 1) + 1"),
    ("x = 1\ndef f(y) = y*0.5", "x = x + f(i)"),
    ("x = 3\ndef range(n) = [2, 5]", "x = x - i"),
    ("x = 1\ne = None", "x = x + 1\n    if i < 0: e = e + 1"),
    ("x = 1", "x = x + i + 0*unknown"),
    ("x = 1", "if i > 0: x = x + later\n    later = 2"),
]


def test_a_loop_of_arithmetic_gives_the_same_for_numbers_as_for_any_values():
    def found(text):
        session, told = Session(), []
        try:
            session.run(text, lambda result: told.append(result.text(session.settings)))
        except AgradError as error:
            told.append((error.message, error.fixes))
        return told, repr(session.names.get("x"))

    for before, body in LOOPS:
        loop = f"for i in range(2):\n    {body}\n"
        inside = loop.replace("\n", "\n    ")
        turns = "" if "range" in before else f"i = 0\nwhile i < 2:\n    {body}\n    i += 1\n"
        for text in (loop, f"def g(x):\n    {inside}return x\nx = g(x)\n", turns):
            other = text.replace("range(2):\n", "range(2):\n[0]\n").replace("i < 2:\n", "i < 2:\n[0]\n")
            other = other.replace("\n[0]", "\n        j = [0]" if "def g" in text else "\n    j = [0]")
            given = found(f"{before}\n{text}"), found(f"{before}\n{other}")
            assert given[0] == given[1] and (other != text or not turns), given
    assert found("x = 1\nfor sqrt in range(2): x = x + sqrt(4)")[0][0][0] == "the number 0 cannot be called"
    assert found("x = 1\nfor i in range(3): x = x + i % 2 + 7 // 2") == ([], "11.0")


def test_what_a_loop_went_through_takes_no_memory_after_it():
    loop = "    for r in ones(4, 100000): s = s + 1\n"
    said("ones(4)")
    tracemalloc.start()
    said(f"def f():\n    s = 0\n{loop * 5}    return s\nf()")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 4 * 100000 * 8
