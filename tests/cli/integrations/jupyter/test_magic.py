"""`%%agrad`: a cell of agrad in a notebook of Python."""

import re

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from rows import each

import agrad
import agrad.engine as ag
from agrad.cli.integrations.jupyter.magic import CellError, run_cell


class Shell:
    """The names of a notebook."""

    def __init__(self, **names):
        self.user_ns = names

    def push(self, names):
        self.user_ns |= names

    def run(self, line, cell):
        run_cell(line, cell, self)
        return self


def address(array):
    return array.__array_interface__["data"][0]


def test_arrays_go_in_and_come_back_without_being_copied(capsys):
    a, b = np.arange(4.0), np.array([[1.0], [2.0]])
    cell = "y = a*b\nz = sum(y)\nsame = b"
    shell = Shell(a=a, b=b).run("-i a,b -o y,z", cell)
    assert np.array_equal(shell.user_ns["y"], a * b)
    assert (shell.user_ns["z"], type(shell.user_ns["z"])) == (18.0, float)
    assert shell.user_ns["y"].flags.writeable
    assert capsys.readouterr().err == ""
    assert "same" not in shell.user_ns


def test_the_data_of_an_input_are_shared():
    from agrad.engine.interop.notebook import given, taken

    array = np.arange(5.0)
    leaf, why = given(array, True)
    assert (address(leaf.value), why) == (address(array), "")
    result = leaf * 2
    back, why = taken(result, [("a", leaf)])
    assert (address(back), why) == (address(result.value), "")


@each(
    "value, said",
    [
        (np.array([1, 2, 3]), "int64 to float64"),
        (np.array([1, 2, 3], dtype=np.float32), "float32 to float64"),
        (np.array([True, False, True]), "bool to float64"),
        (np.arange(6.0)[::2], "whose entries are not next to each other"),
        ([1, 2, 3], "a list"),
    ],
)
def test_what_is_copied_is_said(value, said, capsys):
    shell = Shell(a=value).run("-i a -o y", "y = 2*a")
    assert np.array_equal(shell.user_ns["y"], 2 * np.asarray(value, dtype=float))
    assert capsys.readouterr().err == f"copied: a, {said}\n"
    Shell(a=value).run("-q -i a", "y = a")
    assert capsys.readouterr().err == ""


def test_a_result_with_the_data_of_another_is_copied(capsys):
    a = np.arange(3.0)
    shell = Shell(a=a).run("-i a -o b,y,z", "b = a\ny = a + 1\nz = y")
    assert capsys.readouterr().err == "copied: b, which has the data of a\ncopied: z, which has the data of y\n"
    for name in ("b", "y", "z"):
        shell.user_ns[name][0] = 9
    assert np.array_equal(a, [0, 1, 2])


def test_a_cell_that_writes_to_an_input_writes_to_its_own_copy():
    a = np.arange(3.0)
    shell = Shell(a=a).run("-i a -o a2,y", "a[0] = 7\na += 1\na2 = a\ny = 2*a")
    assert np.array_equal(a, [0, 1, 2])
    assert a.flags.writeable
    assert np.array_equal(shell.user_ns["a2"], [8, 2, 3])
    assert np.array_equal(shell.user_ns["y"], [16, 4, 6])


def test_gradients_of_inputs():
    a = np.array([1.0, 2.0])
    shell = Shell(a=a, n=3).run("-w a -i n -o g", "y = sum(a**n)\nbackward y\ng = a.grad")
    assert np.array_equal(shell.user_ns["g"], [3, 12])


def test_numbers_texts_and_tensors_go_in():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    shell = Shell(n=2, t="text", x=x).run("-i n,t -i x -o y,u", "y = n*x\nu = t")
    assert np.array_equal(shell.user_ns["y"], [2, 4])
    assert shell.user_ns["u"] == "text"
    assert x.grad is None


def test_a_cell_has_a_session_of_its_own():
    shell = Shell().run("", "x = 1")
    with pytest.raises(CellError, match=re.escape("error[name]: x has no value")):
        shell.run("", "x")


def test_results_are_shown(capsys):
    Shell(a=np.arange(2.0)).run("-i a", 'print "one"\nlog(-1)\na')
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "one"
    assert "note" in err


@each(
    "line, message",
    [
        ("-i zz", "%%agrad -i zz: the notebook has no zz"),
        ("-i 2x", "%%agrad: 2x is not a name"),
        ("--nothing", "unrecognized arguments: --nothing"),
    ],
)
def test_wrong_options(line, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        Shell().run(line, "x = 1")


@each(
    "line, cell, message",
    [
        ("-o zz", "x = 1", "error[name]: the cell gives zz no value"),
        ("-i backward", "x = 1", "error[syntax]: backward is a reserved word of agrad; choose another name"),
        ("-i d", "x = 1", "error[type]: numbers are needed here"),
        ("", "x = 1\ny = (x", "error[syntax]: this `(` is never closed"),
    ],
)
def test_errors_have_the_look_of_agrads(line, cell, message):
    with pytest.raises(CellError, match=re.escape(message)) as failed:
        Shell(backward=1, d={}).run(line, cell)
    assert message.partition(": ")[2] in re.sub(r"\x1b\[\d*m", "", "\n".join(failed.value._render_traceback_()))


def test_the_extension_registers_the_magic(capsys):
    shell = InteractiveShell()
    try:
        agrad.load_ipython_extension(shell)
        shell.user_ns["a"] = np.arange(3.0)
        shell.run_cell("%%agrad -i a -o y\ny = a + 1\nprint sum(y)").raise_error()
        assert np.array_equal(shell.user_ns["y"], [1, 2, 3])
        assert capsys.readouterr().out == "6\n"
        shown = shell.run_cell("%%agrad\ny = unknown")
        assert isinstance(shown.error_in_exec, CellError)
        assert "y = unknown" in capsys.readouterr().out
    finally:
        shell.history_manager.end_session()
        InteractiveShell.clear_instance()
