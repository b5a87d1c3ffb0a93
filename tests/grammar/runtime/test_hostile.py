"""Whatever is typed ends in an answer or a clear message, within two seconds and 1 GB.

The inputs run one after the other in processes of their own, which have both limits; each says what it came to. Time is
that of the processor, so that other work on the machine does not count.
"""

import json
import os
import re
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.long

SECONDS = 2.0
ENDLESS = 1.0  # after which what does not end is stopped
BYTES = 1e9
LONGEST = 20_000  # characters of an answer that are looked at

BIG = "x = ones(1e5)\n"
HUGE = "x = ones(1e6)\n"

# What is typed, and how it ends: the kind of the error, or None for an answer.
HOSTILE = {
    # Numbers
    "a tower of powers": ("9**9**9", None),
    "a deep tower of powers": ("**".join(["9"] * 20_000), None),
    "a number of many digits": ("9" * 1_000_000, None),
    "a number of many underscores": ("1" + "_1" * 300_000, None),
    "an exponent beyond all": ("1e999999999999", None),
    "a small exponent beyond all": ("1e-999999999999", None),
    "a huge factorial": ("gamma(1e300)", None),
    "a remainder of the huge": ("1e308 % 1e-308", None),
    "a negative seed": ("manual_seed(-1e300)", "domain"),
    "a huge seed": ("manual_seed(1e300); rand()", None),
    "a seed that is no number": ("manual_seed(nan)", "type"),
    "a cumprod that overflows": ("cumprod(full((1e5,), 1e300))", None),
    "nan in order": ("sort([nan, 1, nan, -inf, inf])", None),
    # Length
    "a long sum": ("+".join(["1"] * 30_000), None),
    "a long name": ("a" * 1_000_000, "name"),
    "a long assignment": ("a" * 1_000_000 + " = 1", None),
    "a long text": ('"' + "a" * 1_000_000 + '"', None),
    "a long comment": ("1 #" + "a" * 3_000_000, None),
    "a line of statements": (";".join(["1"] * 20_000), None),
    "many lines": ("\n" * 300_000 + "1", None),
    "many arguments": ("max(" + "1," * 20_000 + "1)", None),
    "many parameters": ("def f(" + ",".join(f"a{i}" for i in range(5000)) + ") = a0", None),
    "many comparisons": ("<".join(["1"] * 20_000), None),
    "many branches": ("if 0: 1\n" + "elif 0: 2\n" * 5000 + "else: 3", None),
    "a long chain of attributes": ("x = [1]\nx" + ".T" * 20_000, None),
    "a long chain of methods": ("x = [1]\nx" + ".sin()" * 5000, None),
    "a long list": ("[" + ",".join(["1"] * 30_000) + "]", None),
    "a power of a long name": ("a" * 50_000 + " = 2\n2(3)", "type"),
    "a long name before a mistake": ("a" * 50_000 + " = 1\n2 x", "syntax"),
    "a long name before a quote": ("a" * 50_000 + " 'x", "syntax"),
    "a function of many digits": ("sin " + "2" * 50_000 + "x", "syntax"),
    "many arguments of an unknown function": ("ln(" + "1," * 20_000 + "1)", "name"),
    "many blanks before a start of a fit": ("fit y ~ a*x over a" + " " * 50_000 + "=1", "syntax"),
    "many parameters of a fit with a start": ("fit y ~ a*x over " + "a, " * 20_000 + "a=1", "syntax"),
    "a gradient at a long name": ("var " + "a" * 50_000 + " = 0\nbackward sqrt(" + "a" * 50_000 + ")", None),
    # Depth
    "deep brackets": ("(" * 3000 + "1" + ")" * 3000, None),
    "brackets without an end": ("(" * 30_000, "syntax"),
    "brackets without a beginning": (")" * 100_000, "syntax"),
    "deep lists": ("[" * 3000 + "1" + "]" * 3000, "limit"),
    "deep tuples": ("(" * 3000 + "1" + ",)" * 3000, "limit"),
    "deep tuples by a loop": ("x = ()\nfor i in range(1e5): x = (x,)\nx", "limit"),
    "deep indices": ("x = [0]\n" + "x[" * 3000 + "0" + "]" * 3000, None),
    "deep minuses": ("-" * 50_000 + "1", None),
    "deep nots": ("not " * 20_000 + "1", None),
    "deep conditions": ("1 if 0 else " * 10_000 + "2", None),
    "deep calls": ("sin(" * 5000 + "1" + ")" * 5000, None),
    "deep calls with a graph": ("var x = 1\ny = " + "sin(" * 5000 + "x" + ")" * 5000 + "\nbackward y\nx.grad", None),
    "deep blocks": ("".join(" " * i + "if 1:\n" for i in range(1000)) + " " * 1000 + "1", "limit"),
    "deep functions": ("".join(" " * i + "def f():\n" for i in range(1000)) + " " * 1000 + "1", "limit"),
    "a deep f-string": ('print f"{' + "(" * 3000 + "1" + ")" * 3000 + '}"', None),
    "a deep derivative": ("g = sin\nfor i in range(2000): g = grad(g)\ng(1)", "limit"),
    "a huge margin": ("if 1:\n" + " " * 1_000_000 + "1", None),
    "a staircase of margins": ("".join(" " * i + "1\n" for i in range(500)), "syntax"),
    # Characters
    "a null byte": ("1 + \x00", "syntax"),
    "half a surrogate pair": ("x = \ud800", "syntax"),
    "half a pair in a text": ('print "\ud800"', None),
    "marks of direction": ("x \u202e= 1\u2066", "syntax"),
    "accents piled up": ("a" + "\u0301" * 100_000, "name"),
    "a look-alike of a keyword": ("ｉｆ 1: 2", "syntax"),
    "only marks": ("‼" * 50_000, "syntax"),
    "an escape of the terminal": ("\x1b[31mred", "syntax"),
    # Loops, recursion, growth
    "a loop without an end": ("while 1: pass", "limit"),
    "a loop without an end in a function": ("def f():\n  while 1: pass\nf()", "limit"),
    "a loop over a huge range": ("for i in range(2**53): pass", "limit"),
    "a loop in no_grad": ("no_grad:\n  while 1: x = sin(1)", "limit"),
    "a loop that expects its errors": ("while 1:\n  fails name: q", "limit"),
    "a timed loop": ("time: y = sum(arange(10)**2); z = f(1)", "name"),
    "recursion": ("def f(x) = f(x)\nf(1)", "limit"),
    "recursion of two": ("def f(x) = g(x)\ndef g(x) = f(x)\nf(1)", "limit"),
    "recursion through a derivative": ("def f(x) = grad(f)(x)\nf(1)", "limit"),
    "recursion through jvp": ("def f(x) = jvp(f, x, 1)\nf(1)", "limit"),
    "recursion like a tree": ("def f(n) = f(n-1) + f(n-1) if n > 0 else 1\nf(60)", "limit"),
    "a graph without an end": ("var x = 1\ny = x\nlimit nodes=1e5\nwhile 1: y = y + x", "limit"),
    "arrays that double": ("x = [1]\nwhile 1: x = concat([x, x])", "limit"),
    "lists that double": ("x = [1]\nwhile 1: x = [x, x]", "limit"),
    "a list of the large": (HUGE + "2*[" + ", ".join(["x"] * 60) + "]", "limit"),
    "arrays that are kept": ("x = ()\nfor i in range(1e6): x = (x, ones(1e6))", "limit"),
    "tuples that double": ("x = (1, 1)\nfor i in range(60): x = (x, x)\nprint len(x)", "limit"),
    "a text that doubles": ('x = "ab"\nfor i in range(60): x = f"{x}{x}"', "limit"),
    "a text times a number": ('"ab" * 1e12', "limit"),
    "products that grow": ("x = [1, 2]\nfor i in range(9): x = outer(x, x)", "limit"),
    "kron in a tower": ("x = [1, 2]\nfor i in range(60): x = kron(x, x)", "limit"),
    # Results that are too large
    "zeros": ("zeros(1e12)", "limit"),
    "zeros of no entry": ("zeros(0, 1e300)", "limit"),
    "eye": ("eye(1e7)", "limit"),
    "rand": ("rand(1e10)", "limit"),
    "arange": ("arange(0, 1e18)", "limit"),
    "arange by nothing": ("arange(0, 1, 1e-300)", "limit"),
    "linspace": ("linspace(0, 1, 1e12)", "limit"),
    "outer": (HUGE + "outer(x, x)", "limit"),
    "broadcasting": (HUGE + "reshape(x, -1, 1) + x", "limit"),
    "a comparison": (HUGE + "reshape(x, -1, 1) < x", "limit"),
    "where": (HUGE + "where(x > 0, reshape(x, -1, 1), 0)", "limit"),
    "a product of matrices": (HUGE + "reshape(x, -1, 1) @ reshape(x, 1, -1)", "limit"),
    "kron": (BIG + "kron(x, x)", "limit"),
    "einsum": (BIG + 'einsum("i,j->ij", x, x)', "limit"),
    "einsum over all": (BIG + 'einsum("ab,cd->", reshape(x, 100, 1000), reshape(x, 100, 1000))', None),
    "einsum over more": (HUGE + 'einsum("a,b->", x, concat([x, x]))', "limit"),
    "einsum of many letters": ('einsum("abcdefghijklmnopqrstuvwxyz", 1)', "shape"),
    "tile": ("tile([1, 2], 1e9)", "limit"),
    "repeat": ("repeat([1, 2], 1e9)", "limit"),
    "expand": ("sum(expand(1, 1e12))", "limit"),
    "stack": ("x = ones(5e7)\nstack([x, x, x])", "limit"),
    "an index of places": ("x = ones(1, 1e5)\nx[zeros(1e5)]", "limit"),
    "diag": (BIG + "diag(x)", "limit"),
    "hessian": ("var x = ones(1e5)\nhessian(sum(x**3), x)", "limit"),
    "jacobian": (BIG + "jacobian(sin)(x)", "limit"),
    "many axes": ("zeros(" + "1, " * 65 + ")", "limit"),
    "matrix_power": ("matrix_power([[1, 1], [0, 1]], 1e18)", None),
    "split": ("split(ones(3), 1e18)", "limit"),
    "reshape with two unknowns": ("reshape(ones(4), -1, -1)", "shape"),
    "reshape to the huge": ("reshape(ones(4), 1e300, -1)", "limit"),
    "replay of the large": ("var x = ones(1e6)\ny = sum(x**2)\nfor i in range(20): forward y with x=x.data", None),
    # Indices
    "nan as an index": ("[1, 2][nan]", "type"),
    "inf as an index": ("[1, 2][inf]", "type"),
    "nan in a slice": ("[1, 2][nan:]", "type"),
    "a slice of the huge": ("[1, 2][-1e300:1e300:1e300]", None),
    "a step of nothing": ("[1, 2][::0]", "type"),
    "a tuple as an index": ("[1, 2][0, 0, 0]", "shape"),
    "an index beyond all": ("[1, 2][1e300]", "shape"),
    "many new axes": ("x = [1]\nx[" + "None, " * 70 + "0]", "shape"),
    # Formats
    "a huge width": ('f"{1:>1000000000}"', "limit"),
    "a huge precision": ('f"{1:.1000000000f}"', "limit"),
    "a large array in a wide format": (HUGE + 'f"{x:999}"', "limit"),
    "the old way to format": ('"%999999999d" % 1', "limit"),
    "the other old way to format": ('"{:>999999999}".format(1)', "limit"),
    "a conversion in a format": ('f"{1!r}"', None),
    "a nested format": ('f"{1:{9}}"', "syntax"),
    "formats without an end": ('f"' + "{" * 10_000, "syntax"),
    "many formats": ('f"' + "{1}" * 10_000 + '"', None),
    "a large array in a format": (BIG + 'print f"{x:.3f}"', None),
    "an attribute in a format": ('x = [1]\nf"{x.__class__}"', "name"),
    "an index in a format": ('f"{(1).__class__.__mro__[1]}"', "name"),
    # Python, behind the language
    "a class": ("x = [1]\nx.__class__", "name"),
    "a class of a number": ("(1).__class__", "name"),
    "a private method": ("x = [1]\nx._write", "name"),
    "a node": ("x = [1]\nx.node", "name"),
    "a node of a function": ("sin.__globals__", "name"),
    "code of a function": ("def f(x) = x\nf.definition.code", "name"),
    "an attribute that is written": ("x = [1]\nx.__class__ = 3", "type"),
    "an attribute of a range": ("range(3).__class__", "name"),
    "an attribute of a text": ('"a".format', "type"),
    "an attribute through torch": ("torch.__builtins__", "name"),
    "a module of numpy": ("np.os.system", "name"),
    "a function of numpy": ("np.fromfile(3)", "name"),
    "the builtins": ("__builtins__", "name"),
    "an import": ("import os\nos.remove", "name"),
    "an import by name": ('__import__("os")', "name"),
    "an evaluation": ('eval("1")', "name"),
    "an opened file": ('open("/etc/passwd")', "name"),
    "a name of Python's own": ("__class__ = 3; __class__", None),
    "a method of a method": ("x = [1]\nx.sum.__self__", "type"),
    # Files
    "passwords": ('load_csv("/etc/passwd")', "file"),
    "a file without an end": ('load_csv("/dev/zero")', "file"),
    "a pickle": ('load_npy("pickled.npy")', "file"),
    "a large header": ('load_npy("header.npy")', "file"),
    "a large table": ('x = load_csv("large.csv")', None),
    "a line without an end": ('load_csv("line.csv")', None),
    "a file with a null in its name": ('load_csv("a\\x00b")', "file"),
    "a folder": ('load_csv("/")', "file"),
    "a graph written over a device": ('var x = 1\ny = x*2\ngraph y to "/dev/null.txt"', None),
}
# These depend on the machine: any end will do, as long as it is one.
ANY = {"a graph written over a device", "einsum over all", "deep tuples", "deep tuples by a loop"}


PROCESSES = 10  # so that tests in several processes do not all wait for all of them


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """How an input ended, as the process that ran it and its neighbours says."""
    pytest.importorskip("resource")
    folder = tmp_path_factory.mktemp("hostile")
    files(folder)
    known = {}

    def end_of(name):
        if name not in known:
            known.update(run_apart(share(name), folder))
        return known[name]

    return end_of


def share(name):
    """The number of the process that runs an input."""
    return list(HOSTILE).index(name) * PROCESSES // len(HOSTILE)


def run_apart(number, folder):
    """How the inputs of a process ended, by their names."""
    command = [sys.executable, os.path.abspath(__file__), str(number)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"it ended after {found[-1] if found else 'nothing'}: {done.stderr[-2000:]}"
    return {end["name"]: end for end in found}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_input_ends_in_an_answer_or_a_clear_message(ends, name):
    end, kind = ends(name), HOSTILE[name][1]
    assert end["seconds"] < SECONDS
    assert end["bytes"] < BYTES
    assert end["kind"] == kind or name in ANY, end["said"]
    assert kind is None or len(end["said"]) < 2000
    unclear = r"Traceback|object at 0x|<class|numpy\.|_NEWLINE|LPAR|\bNoneType\b"
    assert not re.search(unclear, end["said"]), end["said"]


def test_there_are_enough_of_them():
    assert len(HOSTILE) >= 60


def files(folder):
    """What the inputs read."""
    import pickle

    import numpy as np

    class Call:
        def __reduce__(self):
            return os.system, ("touch unpickled",)

    (folder / "pickled.npy").write_bytes(pickle.dumps(Call()))
    header = np.lib.format.magic(1, 0) + b"v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (9" + b"9" * 63
    (folder / "header.npy").write_bytes(header + b",), }\n")
    (folder / "large.csv").write_text("1.5,2.5,3.5\n" * 100_000)
    (folder / "line.csv").write_text("1," * 200_000 + "1\n")


def run_all(number):
    """In a child: its share of them, with limits, a line of JSON for each."""
    from agrad.cli.main import limit_memory
    from agrad.engine.errors import AgradError
    from agrad.grammar.diagnostics import render
    from agrad.grammar.session.session import Session

    limit_memory(4e8)
    for name, (text, kind) in HOSTILE.items():
        if share(name) != number:
            continue
        session, said = Session(), []
        session.watch.end_in(ENDLESS if kind == "limit" else 10.0)
        began = time.process_time()
        try:
            session.run(text, lambda result, said=said, session=session: said.append(result.text(session.settings)))
            kind = None
        except AgradError as error:
            kind, said = error.kind, [render(error)]
        seconds = time.process_time() - began
        text = "\n".join(said)[:LONGEST]
        end = {"name": name, "kind": kind, "seconds": seconds, "bytes": peak(), "said": text}
        sys.stdout.write(f"{json.dumps(end)}\n")
        sys.stdout.flush()


def peak():
    """The most bytes that this process has had so far.

    On Linux not as `getrusage` tells it, which counts what the process that started this one had by then.
    """
    import resource

    if os.path.exists("/proc/self/status"):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    run_all(int(sys.argv[1]))
