"""Lists, for `help lists` and docs/language.md: what they are, with lines that show it and that a test runs."""

from __future__ import annotations

LISTS = (
    ("Of plain numbers, brackets make a vector: + - * / go entry by entry.", "[1, 2, 3] + [4, 5, 6] == [5, 7, 9]"),
    (
        "Else they make a list of these very values: a loop over it, an index and a method of a list reach them.",
        "var w = 2; for p in [w]: p.grad = None",
    ),
    (
        "A list is changed as in Python: by append, extend, insert, pop, remove, clear, reverse, sort, del, +=.",
        "losses = []; losses.append(2); losses += [1]; losses == [2, 1]",
    ),
    (
        "In arithmetic, and as the argument of a function of arrays, a list is the array of its entries; it is an "
        "error if these have different shapes. A tuple, (w, b), is never an array.",
        "var a = 3; xs = [a, 1]; 2*xs == [6, 2]; mean(xs) == 2",
    ),
    (
        "A list that began empty, that a method or += has changed, or that list, sorted or tolist made, is put "
        "together with another by +, and repeated by *, as in Python; so is a for in brackets by +. One that was "
        "written in brackets is a vector there, and its sum with [x] of one entry is an error.",
        "xs = []; xs += [1, 2]; xs + [3] == [1, 2, 3]; [1, 2] + [3, 4] == [4, 6]; [0] + [k for k in 1..2] == [0, 1, 2]",
    ),
    (
        "x[0], x.T, x.view(4) and the rows of a loop are copies. A write into one is an error while what it was taken "
        "from is in use, since PyTorch would change that; of a plain number there is a note.",
        "m = ones(2, 2); r = m[0]; fails type: r += 1",
    ),
)


def page() -> str:
    """Lists and vectors, and when + puts two lists together."""
    import textwrap  # here, since only help needs it

    told = [textwrap.fill(text, 80, initial_indent="  ", subsequent_indent="  ") for text, _ in LISTS]
    shown = ["    " + example.replace("; ", "\n    ") for _, example in LISTS]
    return "\n".join(["lists", *(line for pair in zip(told, shown, strict=True) for line in pair)])
