"""Every construct of the language at work: what is typed, and what is printed or said."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

NUMBERS = {
    "2": "2",
    "2.5": "2.5",
    "2.": "2",
    ".5": "0.5",
    "1e-3": "0.001",
    "1_000": "1000",
    "True": "True",
    "False": "False",
    "None": "",
    "pi": "3.141592654",
    "e": "2.718281828",
    "inf": "inf",
    "nan": "nan",
    "e = 3; print e": "3",
    "[1, 2, 3]": "[1, 2, 3]",
    "[[1, 2], [3, 4]]": "[[1, 2], [3, 4]]",
    "a = 2; [a, a**2, sin(0)]": "[2, 4, 0]",
    "var a = 2; v = [a, a*3]; backward v[1]; a.grad": "3",
}

ARITHMETIC = {
    "(2, 3)": "(2, 3)",
    "ones(2, 3).shape == (2, 3)": "True",
    "(1, 2) == [1, 2]": "[1, 1]",
    "7 // 2": "3",
    "7 % 3": "1",
    "-7 // 2": "-4",
    "-7 % 3": "2",
    "7/2": "3.5",
    "2^10": "1024",
    "[[1, 2], [3, 4]] @ [1, 1]": "[3, 7]",
    "-2**2": "-4",
    "2**3**2": "512",
    "2**-1": "0.5",
    "1 < 2 < 3": "True",
    "3 > 2 > 2": "False",
    "1 != 2": "True",
    "2 >= 2": "True",
    "1 and 0": "0",
    "0 or 3": "3",
    "not 1": "False",
    "not 0 and 2": "2",
    "3 if 0 else 4": "4",
    "x = None; print x is None, x is not None": "True False",
}

CALLS = {
    "A = ones(2, 3); A.shape == (2, 3)": "True",
    "x = [4, 5]; i = 1; x[i]": "5",
    "x = [3, 1, 2]; values, index = topk(x, 2); print values, index": "[3, 2] [0, 2]",
    "def f(x) = x**2; x = 3; v = 2; jvp(f, x, v)": "12",
    "def f(x) = x**2; x = [1, 3]; u = [1, 2]; vjp(f, x, u)": "[2, 12]",
    "var x = 3; y = x**2; y.backward(retain_graph=True); y.backward(retain_graph=True); x.grad": "12",
    "x = 1; y = 2; print x, y": "1 2",
    "sum([[1, 2], [3, 4]], axis=0)": "[4, 6]",
    "[[1, 2], [3, 4]].sum(axis=0)": "[4, 6]",
    "[1, 2, 3].mean()": "2",
    "A = [[1, 2, 3], [4, 5, 6]]; A[0, 1:]": "[2, 3]",
    "A = [[1, 2, 3], [4, 5, 6]]; A[:, -1]": "[3, 6]",
    "A = [[1, 2, 3], [4, 5, 6]]; A[::-1, ::2]": "[[4, 6], [1, 3]]",
    "A = [[1, 2, 3], [4, 5, 6]]; A[..., 0]": "[1, 4]",
    "A = [[1, 2, 3], [4, 5, 6]]; A[1]": "[4, 5, 6]",
    "x = arange(6); x[1:5:2]": "[1, 3]",
    "x = [3, -1, 2]; x[x > 0]": "[3, 2]",
    "x = [3, -1]; x[0.5]": "error[type]: an index must be a whole number, not the number 0.5",
    "var x = 3; y = x**2; backward y; print x.grad, x.data, x.shape, x.requires_grad, x.is_leaf, y.is_leaf": "6 3 () True True False",
    "var x = 3; x.grad_fn": "x.grad_fn = none",
    "var x = 3; y = x*2; y.grad_fn": "<MulBackward>",
    "var x = 3; y = x*2; y.grad_fn.next_functions": "((<AccumulateGrad>, 0), (None, 0))",
    "[[1, 2], [3, 4]].T": "[[1, 3], [2, 4]]",
    "x = [5, 6, 7]; print x[0], x[-1], x[1:], x[::-1]": "5 7 [6, 7] [7, 6, 5]",
    "A = eye(2); A[1, 0] = 5; A[:, 1] = [7, 8]; A": "[[1, 7], [5, 8]]",
    "x = [1, 2, 3]; x[[0, 2]]": "[1, 3]",
    "print [4, 9].sqrt(), [1, 2].exp().log(), (-2).abs(), [3, 1].sort()": "[2, 3] [1, 2] 2 [1, 3]",
    "len([1, 2])": "2",
}

DERIVATIVES = {
    "var x = 3; y = x**3; grad(y, x)": "27",
    "var x = 2; y = x**3; grad(grad(y, x), x)": "12",
    "grad(sin)(0)": "1",
    "def f(x, y) = x*y**2\ngrad(f)(2, 3)": "9",
    "def f(x, y) = x*y**2\ngrad(f, 1)(2, 3)": "12",
    "def f(x, y) = x*y**2\ngrad(f, (0, 1))(2, 3)": "(9, 12)",
    "grad(grad(sin))(1) == -sin(1)": "True",
    "jacobian(square)([1, 2])": "[[2, 0], [0, 4]]",
    "def f(x) = sum(x**3)\nhessian(f)([1, 2])": "[[6, 0], [0, 12]]",
    "jvp(square, [1, 2], [1, 0])": "[2, 0]",
    "vjp(square, [1, 2], [1, 1])": "[2, 4]",
    "def f(x):\n    s = 0\n    for i in range(3):\n        if i == 1: continue\n        s = s + x**i\n    return s\nprint hessian(f)(2), grad(f)(2)": "2 4",
    "def f(x):\n    if x > 1: return x**3\n    return x\nprint hessian(f)(2), grad(f)(0.5), grad(grad(f))(2)": "12 1 12",
    "def f(x):\n    while x < 100: x = x*x\n    return x\ngrad(f)(3)": "17496",
    "def f(v) = v[0]*v[1]\njacobian(grad(f))([2, 3])": "[[0, 1], [1, 0]]",
    "def f(x, y) = x*y\nhessian(f, (0, 1))(2, 3)": "[[0, 1], [1, 0]]",
    "x = 3\ngrad(x**2, x)": "error[type]: grad needs a function, or a value with a graph: the number 9 has no graph",
}

TEXTS = {
    "q, r = qr([[2, 0], [0, 3]]); print q @ r": "[[2, 0], [0, 3]]",
    "values, index = topk([3, 1, 2], 2); print values, index": "[3, 2] [0, 2]",
    "a = b = 3; print a, b": "3 3",
    'loss = 0.12345; print f"loss {loss:.4f}"': "loss 0.1235",
    "print f\"{1 + 1} {[1, 2][0]:>5} {f'{3}'}\"": "2     1 3",
    'x = 2; print f"{x=} {x = :.1f}"': "x=2 x = 2.0",
    'print f"{{}}"': "{}",
    "2 + 3; _*2": "10",
    "2 + 3; ans + 1": "6",
    "_": "error[name]: _ is the last answer, and there is none yet",
    '"text" + 1': 'error[type]: a number is needed here, not the text "text"',
    "2x": "error[syntax]: an operator is missing between `2` and `x`",
    "3 4": "error[syntax]: an operator is missing between `3` and `4`",
    "(2+3": "error[syntax]: this `(` is never closed",
    "2+3)": "error[syntax]: this `)` closes nothing",
    "2+": "error[syntax]: a value is missing after `+`",
    "nothing": "error[name]: nothing has no value",
    'x = [1, 2.5]; print f"{x=:.1f} {x:>4} {3:<2}|{1/3:^14}|{7:d}"': "x=[1.0, 2.5] [   1,  2.5] 3 | 0.3333333333 |7",
    'print f"{2:08.3f} {0.5:e} {65:c}"': "0002.000 5.000000e-01 A",
    'print "a\\tb", \'it\' == "it"': "a\tb True",
}

PYTORCH = {
    "torch.sin(0)": "0",
    "np.exp(0)": "1",
    "numpy.pi": "3.141592654",
    "math.sqrt(4)": "2",
    "import torch": "",
    "from torch.autograd import Variable": "",
    "Variable(torch.rand(1, 4), requires_grad=True).shape": "(1, 4)",
    "var x = 3; y = x**2; y.backward(retain_graph=True); y.backward(); x.grad": "12",
    "var x = 3; (x**2).backward(); x.grad.zero_(); x.grad": "0",
    'x = tensor(2.5); print(f"{x.item():.4f}")': "2.5000",
    "var w = 1\nwith torch.no_grad(): w -= 0.5\nw": "0.5",
    "var w = 1\nwith no_grad(): w -= 0.5\nw": "0.5",
    "var w = 1\nno_grad: w -= 0.5\nw": "0.5",
}

STATEMENTS = {
    "var x = 2\nx.requires_grad": "True",
    "k = 3\nk.requires_grad": "False",
    "var w = 1\nw -= 1": "error[leaf]: a leaf that requires grad is being used in an in-place operation: w",
    "x = [1, 2]; x[0] = 5; x += 1; x": "[6, 3]",
}

FUNCTIONS = {
    "def f(x, y) = x**2 + y**3 - sin(x*y)\nf(0, 2)": "8",
    "def f(x, y=2) = x**y\nprint f(3), f(3, 3), f(y=3, x=2)": "9 27 8",
    "def fact(n):\n    if n < 2: return 1\n    return n*fact(n - 1)\nfact(5)": "120",
    "def outer(k):\n    def inner(x) = k*x\n    return inner\ntriple = outer(3)\ntriple(2)": "6",
    "def outer(x):\n    def inner(y):\n        return x + y\n    return inner(1)\nouter(2)": "3",
    "def f(x): return\nprint f(1)": "None",
    "def f(x) = x\nf(1, 2)": "error[arity]: f takes 1 argument, and got 2: f(x)",
}

CONTROL = {
    "for i in range(5):\n    if i == 1: continue\n    elif i == 3: break\n    else: pass\n    print i": "0\n2",
    "n = 0\nwhile n < 3: n += 1\nn": "3",
    "while 1:\n    break": "",
    "for row in [[1, 2], [3, 4]]: print row": "[1, 2]\n[3, 4]",
    "for a, b in [[1, 2], [3, 4]]: print a + b": "3\n7",
    'x = 3\nif x > 5: print "big"\nelif x > 2: print "middle"\nelse: print "small"': "middle",
    "for i, v in enumerate([5]): print i": "0",
    "def f(n):\n    if n < 1: return 0\n    return 1 + f(n - 1)\nf(1000)": "1000",
    "for i in range(2):\n    for j in range(2):\n        if j > i: break\n        print i, j": "0 0\n1 0\n1 1",
    "x = 1\nif x:\n    pass\nelse:\n    x = 2\nx": "1",
}

ASSERTIONS = {
    'print "epoch", 3, 0.5': "epoch 3 0.5",
    "print": "",
    "assert 3*2 == 6": "",
    "assert 1 == 2": "error[assert]: the assertion does not hold",
    'assert 1 == 2, "no"': "error[assert]: the assertion does not hold: no",
    "assert 12.0000000001 ~= 12": "",
    "assert 12.1 ~= 12 +- 0.2": "",
    "assert 12.1 ~= 12": "error[assert]: the assertion does not hold",
    'assert [1, 2] ~= [1, 2.1] +- 0.2, "message"': "",
    "assert [1, 2] == [1, 2, 3]": "error[shape]: shapes (2) and (3) cannot be compared entry by entry",
    'fails domain: sqrt("a")': 'error[type]: a number is needed here, not the text "a"',
    'fails type: sqrt("a")': "",
    "var a = 2\ne = a**2\nbackward e\nfails freed: backward e": "",
    "fails name: nothing": "",
    "fails shape: [1, 2] + [1, 2, 3]": "",
    "fails type: 1": "1\nerror[assert]: expected an error of kind type, and there was none",
}

LINES = {
    "del x": "error[name]: x has no value",
    "x = 1; del x; x": "error[name]: x has no value",
    "1; 2": "2",
    "1;": "",
    "manual_seed(1)": "",
    "5+-0.1": "note: 5+-0.1 is 5 + (-0.1), as in Python\n4.9",
    "x = 1; x <- 3": "note: x <- 3 compares x with -3, as in Python\nFalse",
    "x = 1; x < -3; x <-3": "False",
    "5 +- 0.1": "5.00 ± 0.10",
    "(1 +\n2)": "3",
    "[1,\n\n2]": "[1, 2]",
    "x = 1 # set\n# all\nx": "1",
    "#!/usr/bin/agrad\n1": "1",
    "print(1, 2)": "1 2",
    "print (1 + 2)/3": "1",
}

WORDS = {
    "backward = 3": "error[syntax]: `backward` is a reserved word of agrad, so it cannot be a name",
    "grad = 3; grad*2": "6",
    "step = 2; time = 3; step*time": "6",
    "var(3)": "0",
    "var([1, 2, 3])": "0.6666666667",
    "break": "error[syntax]: this `break` is outside a loop",
    "return 3": "error[syntax]: this `return` is outside a function",
    "if 1:\nx = 1": "error[syntax]: a block must follow this `:`",
    "x = 1\n  y = 2": "error[syntax]: this line is indented, but the line above it does not open a block",
    "set = 4; set": "4",
}

OUTPUT = {
    "x = 0.1 + 0.2; x": "0.3",
    "1e-12": "1e-12",
    "1/3": "0.3333333333",
    "1e20": "1e20",
    "-0.0, -1*0": "(0, 0)",
    "10**15 + 1, 2**50, -2**53, 2**54": "(1000000000000001, 1125899906842624, -9007199254740992, 1.801439851e16)",
    "[1/3, 100]": "[0.3333333333, 100]",
    "[[0.5, 10], [-3, 4]]": "[[0.5, 10], [-3, 4]]",
    "1e300*10, 1e16, 123456789012": "(1e301, 1e16, 123456789012)",
    "tensor(2)": "2",
    "(1,)": "(1,)",
    "()": "()",
    "True + True": "2",
}

REFUSED = {
    "x = 3\nx.backward()": "error[grad]: x does not require grad: it depends on no leaf that does",
    "var x = 2\nx**2\nbackward _": "4\nerror[grad]: _ is what was shown, without its graph",
    "var y = 2\ny.value": "error[name]: agrad has no .value: a name alone is its value",
    "var x = [1, 2]\nbackward x": "error[shape]: x has shape (2): backward starts from one number, or needs a seed",
    "x = [1,2]\nx.nothing": "error[name]: there is no attribute .nothing",
    "sin(1, 2)": "error[arity]: sin got one argument too many: sin(x)",
    "sin()": "error[arity]: sin needs x: sin(x)",
    "def f(x=1, y) = x": "error[syntax]: `y` needs a default, because a parameter before it has one",
    "f(a=1, 2)": "error[syntax]: an argument without a name cannot follow one with a name",
    "(1, 2) + 1": "error[type]: tuples and ranges have no arithmetic",
    "range(3)": "range(0, 3)",
    "sin": "function sin(x)",
    "5 % 0": "nan\nnote: 5 % 0 is nan",
    "1/0": "inf",
    "log(-1)": "nan\nnote: log(-1) is nan",
    "1 ~= 1 +- 0.5": "True",
    "1 < 2 ~= 3": "error[syntax]: `~=`, `in` and `is` compare two values and cannot be part of a chain",
    "x = 1; x in [1]": "True",
    "x = 2; x is 3": "error[type]: `is` tells objects apart; numbers and texts are compared with ==",
    "lambda x: x": "function lambda(x)",
    "[x for x in [1]]": "[1]",
    "{1}": "{1}",
    "x := 3": "error[syntax]: agrad has no `:=`",
    '"a"': "a",
    "'it' == 'it'": "True",
    'print "a\\tb"': "a\tb",
}


EXAMPLES = {
    text: said
    for table in (
        NUMBERS,
        ARITHMETIC,
        CALLS,
        DERIVATIVES,
        TEXTS,
        PYTORCH,
        STATEMENTS,
        FUNCTIONS,
        CONTROL,
        ASSERTIONS,
        LINES,
        WORDS,
        OUTPUT,
        REFUSED,
    )
    for text, said in table.items()
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_what_is_typed_and_what_comes_of_it(text):
    session = Session()
    said = []
    try:
        session.run(text, lambda result: said.append(result.text(session.settings)))
    except AgradError as error:
        said.append(f"error[{error.kind}]: {error.message}")
    assert "\n".join(said) == EXAMPLES[text]


# Lines as they are pasted from scripts for PyTorch, with x a leaf: what is said of them and to be typed instead; "" if
# they are understood.
PASTED = {
    "import torch.nn.functional as F": "",
    "import numpy as np, torch.nn as nn, math": "",
    "from torch.nn import functional as F": "",
    "torch.manual_seed(0)": "",
    "t = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)": "",
    "t = torch.arange(0, 4, dtype=torch.float32)": "",
    "h = F.relu(x)": "",
    "h = torch.nn.functional.softmax(x, dim=0)": "",
    'y = x.to("cuda")': "",
    "y = x.detach().cpu().numpy()": "",
    "y = x.mean(dim=0, keepdim=True)": "",
    "x.data -= 0.1*x.grad": "",
    "g, = torch.autograd.grad((x**2).sum(), [x])": "",
    "y = torch.linalg.inv([[2, 0], [0, 1]])": "",
    "class Net(nn.Module): pass": "",
    "model = torch.nn.Linear(2, 1)": "",
    "model = nn.Linear(2, 1)": "",
    "w = torch.nn.Parameter(torch.zeros(2))": "",
    "loss = torch.nn.MSELoss()(x, x)": "",
    "optimizer = torch.optim.SGD([x], lr=0.1)": "",
    "optimizer = torch.optim.Adam([x])": "",
    "optimizer = torch.optim.LBFGS([x])": "agrad has no torch.optim.LBFGS; torch.optim has Adam, AdamW, Optimizer, RMSprop, SGD",
    "optimizer.step()": "optimizer has no value; step sgd w b lr=0.1",
    "torch.autograd.backward(x.sum())": "agrad has no torch.autograd.backward; backward y",
    "torch.set_default_dtype(torch.float64)": "agrad has no torch.set_default_dtype; leave it out: every number is a float64",
    "@torch.no_grad()\ndef f(x): return x": "",
    "with torch.enable_grad(): y = x": "",
    'print("loss %.3f after %d" % (x, y))': "y has no value; give it one: y = 1",
}


@pytest.mark.parametrize("text", PASTED)
def test_a_pasted_line_is_understood_or_says_by_name_what_is_not(text):
    session = Session()
    session.run("var x = [1, 2]\nx.sum().backward()")
    said = ""
    try:
        session.run(text)
    except AgradError as error:
        said = "; ".join([error.message, *error.fixes])
    assert said == PASTED[text]
