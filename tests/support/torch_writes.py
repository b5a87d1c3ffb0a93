"""Programs with every form of write on every kind of target, and what torch leaves behind them.

`python tests/support/torch_writes.py`, where torch is installed, prints the table in tests/grammar/values/writes.txt.
"""

import sys

START = """import torch
x = torch.tensor([1., 2.])
z = torch.tensor([3., 4.])
s = torch.tensor(5.)
m = torch.tensor([[1., 2.], [3., 4.]])
w = torch.tensor([6., 7.], requires_grad=True)
(w*w).sum().backward()
y = w*2
xs = [x, z]
ps = [w, s]
deep = [[x, z], [w]]
t = (x, w)
def same(a):
    return a
def row(a):
    return a[0]
"""
SEEN = "xyzsmw"

# A target: what stands before the write (indented where that ends with a colon), and the target itself.
TARGETS = {
    "a name": ("", "x"),
    "another name": ("a = x", "a"),
    "a name of a number": ("a = s", "a"),
    "a leaf": ("", "w"),
    "another name of a leaf": ("a = w", "a"),
    "a computed value": ("", "y"),
    "an entry of a list": ("", "xs[0]"),
    "the last entry of a list": ("", "xs[-1]"),
    "a leaf in a list": ("", "ps[0]"),
    "a number in a list": ("", "ps[1]"),
    "an entry of a list in a list": ("", "deep[0][1]"),
    "a leaf in a list in a list": ("", "deep[1][0]"),
    "an entry of a new list": ("", "[x, z][0]"),
    "an entry of a tuple": ("", "t[0]"),
    "a leaf in a tuple": ("", "t[1]"),
    "an entry of a slice of a list": ("", "xs[1:][0]"),
    "a loop over a list": ("for p in xs:", "p"),
    "a loop over a new list": ("for p in [w, s]:", "p"),
    "a loop over a tuple": ("for p in t:", "p"),
    "a loop over lists": ("for q in deep:", "q[0]"),
    "a loop over a matrix": ("for r in m:", "r"),
    "a loop over a vector": ("for v in x:", "v"),
    "a loop over a leaf": ("for v in w:", "v"),
    "a loop over a call": ("for v in same(m):", "v"),
    "a name from a list": ("a, b = xs", "b"),
    "a name from a matrix": ("a, b = m", "b"),
    "an appended entry": ("us = []; us.append(x)", "us[0]"),
    "an entry of a list put together": ("us = [] + [x]; us += [w]", "us[1]"),
    "an entry of a list of views": ("us = [m[0], m[1]]", "us[1]"),
    "a popped entry": ("us = [z, x]; a = us.pop()", "a"),
    "the data": ("", "x.data"),
    "the data of a leaf": ("", "w.data"),
    "a detached leaf": ("a = w.detach()", "a"),
    "the gradient": ("", "w.grad"),
    "a named gradient": ("g = w.grad", "g"),
    "a row": ("", "m[0]"),
    "a column": ("", "m[:, 0]"),
    "a named row": ("a = m[1]", "a"),
    "a named number": ("a = x[1]", "a"),
    "a named number of a leaf": ("a = w[1]", "a"),
    "a row of a row": ("a = m[0:2][1]", "a"),
    "a transpose": ("", "m.T"),
    "a named transpose": ("a = m.t()", "a"),
    "a view": ("", "m.view(4)"),
    "a named view": ("a = m.view(4)", "a"),
    "a view of a view": ("a = m.view(4).view(2, 2)[1]", "a"),
    "a reshaped one": ("a = torch.reshape(m, (4,))", "a"),
    "a flat one": ("a = m.flatten()", "a"),
    "a squeezed one": ("a = m.unsqueeze(0).squeeze()", "a"),
    "a view of data": ("a = m.data[0]", "a"),
    "a view of a leaf": ("a = w.view(2)", "a"),
    "a view of a computed value": ("a = y[0:1]", "a"),
    "a selection": ("a = m[m > 1]", "a"),
    "a clone": ("a = m.clone()", "a"),
    "a call": ("", "same(x)"),
    "a call of a view": ("", "row(m)"),
    "a named call": ("a = row(m)", "a"),
    "a parameter": ("def write(a):", "a", "write(x)"),
    "a parameter that is a leaf": ("def write(a):", "a", "write(ps[0])"),
    "a parameter that is a view": ("def write(a):", "a", "write(m[0])"),
    "an entry of a parameter": ("def write(a):", "a[0]", "write(xs)"),
    "an attribute": ("class A: pass; a = A(); a.w = x", "a.w"),
    "an attribute that is a leaf": ("class A: pass; a = A(); a.w = w", "a.w"),
    "an attribute that is a view": ("class A: pass; a = A(); a.w = m[0]", "a.w"),
    "an entry of a dictionary": ("d = {'k': x}", "d['k']"),
    "a leaf in a dictionary": ("d = {'k': w}", "d['k']"),
    "a view in a dictionary": ("d = {'k': m[0]}", "d['k']"),
    "a loop over a dictionary": ("for p in {'k': x, 'l': w}.values():", "p"),
}
FORMS = {
    "=": "{} = torch.tensor([8., 9.])",
    "+=": "{} += 1",
    "-= of itself": "{0} -= 0.5*{0}",
    "**=": "{} **= 2",
    "[0] =": "{}[0] = 9",
    "[...] =": "{}[...] = 9",
    "[0] +=": "{}[0] += 1",
    "zero_": "{}.zero_()",
    "add_": "{}.add_(1)",
    "mul_": "{}.mul_(2)",
    "copy_": "{0}.copy_({0}*3)",
    "fill_": "{}.fill_(3)",
    "clamp_": "{}.clamp_(max=1)",
    "ReLU": "torch.nn.ReLU(inplace=True)({}*1)",
    "ReLU of itself": "torch.nn.ReLU(inplace=True)({})",
    "LeakyReLU": "torch.nn.LeakyReLU(-2, inplace=True)({})",
    "data =": "{}.data = torch.tensor([8., 9.])",
    "data +=": "{}.data += 1",
    "data[0] =": "{}.data[0] = 9",
    "data.add_": "{}.data.add_(1)",
    "detach().mul_": "{}.detach().mul_(2)",
    "grad = None": "{}.grad = None",
    "grad =": "{0}.grad = torch.ones_like({0})",
    "grad.zero_": "{}.grad.zero_()",
    "del": "del {}",
    "requires_grad_": "{}.requires_grad_()",
    "chain": "{}.add_(1).mul_(2)",
}


def program(target, form, recording):
    """One write on one target."""
    before, name, *after = TARGETS[target]
    write = FORMS[form].format(name)
    inside = before.endswith(":")
    lines = [*before.split("; "), f"    {write}" if inside else write, *after]
    if not recording:
        lines = ["with torch.no_grad():", *(f"    {line}" for line in lines if line)]
    return START + "\n".join(line for line in lines if line) + "\n"


def cases():
    """Every program, by its name."""
    for target in TARGETS:
        for form in FORMS:
            for recording in (True, False):
                yield f"{target} | {form} | {'recorded' if recording else 'no_grad'}", program(target, form, recording)


def seen(value, gradient):
    """A value and its gradient as a text."""
    return f"{value} {gradient}" if gradient is not None else f"{value}"


def of_torch(text):
    """What torch leaves under each of the first names; nothing where Python or torch refuses the program."""
    import warnings

    import torch

    names = {}
    try:
        code = compile(text, "program", "exec")
    except SyntaxError:
        return None
    torch.set_default_dtype(torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(code, names)
        except Exception:
            return None
        found: dict[str, str] = {}
        for name in SEEN:
            value = names.get(name)
            if not isinstance(value, torch.Tensor):
                found[name] = "gone"
                continue
            gradient = value.grad if value.is_leaf else None
            found[name] = seen(value.tolist(), None if gradient is None else gradient.tolist())
    return found


def changed(found, before):
    """Those of the first names that a program changed, on one line."""
    return "; ".join(f"{name} {found[name]}" for name in SEEN if found[name] != before[name]) or "-"


if __name__ == "__main__":
    start = of_torch(START)
    for name, text in cases():
        left = of_torch(text)
        if left is not None:
            sys.stdout.write(f"{name} | {changed(left, start)}\n")
