"""Programs with every form of write on every kind of target, and what torch leaves behind them.

`python tests/support/torch_writes.py`, where torch is installed, prints the table in tests/grammar/values/writes.txt.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "support"))  # for Python; pytest adds it by itself
from transcript import sections  # noqa: E402

TEXTS = {name: text for name, (text,) in sections(ROOT / "grammar" / "values" / "torch_writes.txt").items()}
START = TEXTS["start"]
SEEN = "xyzsmw"

# A target: what stands before the write (indented where that ends with a colon), and the target itself.
TARGETS = {name: tuple(rest) for name, *rest in (line.split(" | ") for line in TEXTS["targets"].splitlines())}
FORMS = dict(line.split(" | ") for line in TEXTS["forms"].splitlines())


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
