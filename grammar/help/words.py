"""What `help` says of words that are in no other table: terms, options, extras, names elsewhere, kinds of errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from agrad.engine.core.op import ALIASES, FUNCTIONS
from agrad.engine.struct import Struct
from agrad.grammar.commands.registry import Command
from agrad.grammar.pytorch.libraries import STAND_INS
from agrad.grammar.pytorch.names import IGNORED, KNOWN_ELSEWHERE, NO_METHODS, PREFIXES, RENAMED, table
from agrad.grammar.syntax.keywords import ABSENT, COMMANDS_ELSEWHERE, NO_COMMANDS

# The terms of the documents and messages.
GLOSSARY = {
    "_": "The last value that was shown at the prompt, without its graph unless it is uncertain; `ans` is the same, "
    "and `_5` that of line 5.",
    "False": "The number 0.",
    "True": "The number 1.",
    "_5": "The result of line 5 at the prompt, as the line says that was numbered so; `again 5` runs that line again.",
    "_version": "x._version counts how often the data of x were written in place.",
    "__init__": "The method of a class that is called when an object is made: it assigns the attributes.",
    "agrad": "An autograd calculator: it records how values are computed, and differentiates them exactly.",
    "ans": "The last value that was shown at the prompt, without its graph unless it is uncertain; `_` is the same.",
    "arrow": "A format of tables: `agrad map … --to arrow`, or `-o out.arrow`; it is read, too.",
    "args": "In a script, the words behind its name on the command line, as texts: float(args[0]) is a number.",
    "NA": "A text that stands for a missing number in many files: `agrad map … --na NA` reads it as nan.",
    "autograd": "Automatic differentiation: operations are recorded as a graph, and `backward y` applies the chain "
    "rule to it. The derivatives are exact, up to rounding.",
    "back": "In `agrad learn`: returns to the task before.",
    "backend": "What computes a compiled function, python or llvm: `agrad map … --backend llvm`.",
    **dict.fromkeys(
        ("backprop", "backpropagation"),
        "The chain rule from a result back to the leaves: `backward y`; `backward y trace` shows each step.",
    ),
    "chain": "The chain rule: the derivative of sin(x**2) is cos(x**2), of the outer function, times 2*x, of the inner "
    "one. `explain y` shows these factors with numbers, for each path from a leaf to y.",
    "fixes": "What an error says to type instead. Those in words are called hints.",
    "freed": "A backward frees the nodes that it visits, unless `retain` is given: what they saved is gone. `forward` "
    "computes it again.",
    "gradient": "The derivatives of one number by each entry of a leaf. `backward y` adds them to x.grad, `grad x` "
    "shows them, `zero_grad` clears them.",
    "guard": "A choice that depended on values, such as the condition of an `if`. A replay in which it comes out "
    "differently is refused.",
    "hint": "In `agrad learn`: helps with the task.",
    "hints": "What an error says to do, in words; what can be typed as it stands is called a fix.",
    "import": "`import torch`, `from torch import sin` are read, and have no effect.",
    "jsonl": "JSON lines, an object on each line: `agrad map … --to jsonl`, or `-o out.jsonl`; they are read, too.",
    "kind": "Every error has one, as in error[freed]; `help errors` lists them.",
    "leaf": "A value that was given, not computed: `var x = 2` makes one that requires a gradient.",
    "inf": "More than the largest float64, as 1/0 or 1e308*10: what it stands for is lost.",
    "map_partitions": "f.map_partitions(frame), in Python: a compiled function for each row of a data frame.",
    "nan": "Not a number: 0/0, inf - inf, or 0*inf. All that is computed from it is nan; a note names the first "
    "operation that gave one, also in a backward pass.",
    "node": "An operation in a graph, with what it saves for its derivative.",
    "numbers": "Every number is a float64: 16 significant digits, whole numbers exactly up to 2**53. 1e-3, 1_000, 0x1F "
    "and 0b101 are numbers too.",
    "pass": "A statement that does nothing.",
    "replay": "Computing a graph again on new data of its leaves: `set x = 3`, then `forward y`.",
    "retain_graph": "y.backward(retain_graph=True) is `backward y retain`: the graph is kept for another backward.",
    "scalar": "A single number, of shape ().",
    "seed": "What random numbers begin with: manual_seed(1) sets it, so that a run can be repeated.",
    "skip": "In `agrad learn`: types the answer.",
    "stale": "Said of a value when what it was computed from has changed since; `forward y` computes it again.",
    "threads": "How many parts of a file are computed at once: `agrad map … --threads 2`. The results are the same.",
    "torch": "A prefix of functions that is left out, as `np` and `F` are; `help pytorch` says what is read.",
}

# The extras: what `pip install "agrad[jit]"` adds.
EXTRAS = {
    "science": "SciPy's special functions, such as digamma, erfinv and the Bessel functions",
    "plot": "plots and graphs as files: SVG, PNG and PDF",
    "jit": "compilation to machine code, with llvmlite; the last digits of functions and of sums may differ",
    "data": "Parquet files, and CSV files at pyarrow's speed",
    "dask": "agrad map on several processes or machines, with Dask",
    "jupyter": "agrad in notebooks: agrad kernel, and %%agrad in cells of Python, with ipykernel",
    "lsp": "agrad lsp, the language server for editors, with pygls",
}

# Words of Python, each with the statement that it belongs to.
PARTS = {
    **dict.fromkeys(("break", "continue", "in"), "for"),
    **dict.fromkeys(("elif", "else"), "if"),
    "return": "def",
    "with": "no_grad",
}


def told(word: str, commands: Mapping[str, Command], is_known: bool) -> Iterator[str]:
    """What a word means; several texts for a word with several meanings.

    `is_known`: whether a function, a command or the like has that name, so that names elsewhere are not meant.
    """
    if word in GLOSSARY:
        yield f"{word}\n  {GLOSSARY[word]}"
    yield from _options(word, commands)
    yield from _arguments(word)
    if word in EXTRAS:
        yield f'pip install "agrad[{word}]"\n  An extra: {EXTRAS[word]}.'
    if not is_known:
        yield from _in_names(word)
    if not is_known and word not in GLOSSARY:
        yield from _elsewhere(word)
        yield from _of_python(word)


def _options(word: str, commands: Mapping[str, Command]) -> Iterator[str]:
    """The options of commands that a word is, and the words that may follow a command, as in `step sgd`."""
    for command in commands.values():
        if word in command.options:
            yield f"{command.word} … {word}\n  {_sentence(command.options[word].meaning)}"
        for example, meaning in command.keywords.items():
            if example.startswith(f"{word}="):
                yield f"{command.word} … {example}\n  {_sentence(meaning)}"
        if word in command.choices:
            yield f"{command.word} {word} …\n  {_sentence(command.choices[word])}"
        for first, following in command.after.items():
            for key in {word, f"{word}="} & following.keys():
                yield f"{command.word} {first} {key}\n  {_sentence(following[key])}"
        for name, option in command.options.items():
            if word in option.choices:
                yield f"{command.word} … {name} {word}\n  {_sentence(option.choices[word])}"


def _in_names(word: str) -> Iterator[str]:
    """The functions whose names have a word in them, as `load_csv` has `csv`."""
    names = [name for name in FUNCTIONS if "_" in name and word in name.split("_")]
    if names:
        yield f"{word}\n  In the name of {_first(names)}: help {names[0]}"


def _first(names: Sequence[str]) -> str:
    """Some names; of many, the first."""
    return ", ".join(names[:8]) + (" and others" if len(names) > 8 else "")


def _arguments(word: str) -> Iterator[str]:
    """The functions that have an argument of that name."""
    name = ALIASES.get(word, word)
    takers = [entry.name for entry in FUNCTIONS.values() if name in entry.signature.attributes]
    if takers:
        yield f"{word}=\n  {f'Read as {name}=, an' if name != word else 'An'} argument of {_first(takers)}."


def _elsewhere(word: str) -> Iterator[str]:
    """What a name of PyTorch, NumPy or another language is here."""
    if word in STAND_INS:
        yield f"{word}\n  A module of Python; {STAND_INS[word]}."
    here = {**KNOWN_ELSEWHERE, **COMMANDS_ELSEWHERE, **NO_COMMANDS}
    if word in RENAMED:
        yield f"{word}\n  Another name of {RENAMED[word]}: help {RENAMED[word]}"
    elif word in here:
        yield f"{word}\n  Here: {here[word]}"
    elif word in IGNORED:
        yield f"{word}\n  A type; it has no effect, since every number is a float64."
    elif word in PREFIXES:
        yield f"{word}.\n  A prefix of functions; it is left out."
    elif word in NO_METHODS:
        yield f"x.{word}\n  {_sentence('; '.join(NO_METHODS[word]))}"
    elif word in ABSENT:
        yield f"{word}\n  A word of Python that agrad has no use for" + (f"; {ABSENT[word]}" if ABSENT[word] else ".")
    else:
        yield from _of_libraries(word)


def _of_libraries(word: str) -> Iterator[str]:
    """The modules of PyTorch, NumPy and Python behind which a name is read."""
    places = {f"{prefix}.{word}": names[word] for prefix, names in table().items() if word in names}
    for place, here in places.items():
        what = f"A {here} of" if here in ("class", "function") else f"Read as {here}, as in"
        library = {"torch": "PyTorch", "np": "NumPy"}.get(place.partition(".")[0], "Python")
        yield f"{place}\n  {what} {library}; `help pytorch` says what is read."


def _of_python(word: str) -> Iterator[str]:
    """The functions and classes of the Python library that are not functions of the language."""
    import agrad.engine as ag  # here, since only a question for such a name needs all of it

    found = vars(ag).get(word) if word in ag.__all__ and word not in FUNCTIONS else None
    if found is not None:
        first = " ".join((found.__doc__ or "").partition("\n\n")[0].split())
        yield f"ag.{word}, in Python after import agrad.engine as ag\n  {first}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


# Lists, for `help lists` and docs/language.md: what they are, with lines that show it and that a test runs.

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


# The kinds of errors: what each is about, a program that causes one, and how it goes on.


class ErrorKind(Struct):
    """What errors of a kind are about; statements of which the last one fails, and what to type then.

    `shell`: what to type in a shell before that; `missing`: the library without which the program fails.
    """

    meaning: str
    program: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    shell: str = ""
    missing: str = ""


# The fields of each kind behind its name, on a line each; statements have `; ` between them.
_KINDS = """
syntax: the text is not valid; none of it has run
  y = 2*(3 + 4))
  y = 2*(3 + 4)
name: a name or an attribute does not exist
  x = 2; y = sine(x)
  y = sin(x)
arity: too many or too few arguments, or values for names
  y = atan2(1)
  y = atan2(1, 2)
type: a text, a tuple or a function where a number is needed,   and the like
  x = 2; y = x + sin
  y = x + sin(x)
shape: shapes do not fit together; an index or an axis is out of range
  x = [1, 2, 3]; y = x + [10, 20]
  y = x + [10, 20, 30]
domain: there is no result, as for the inverse of a singular matrix
  A = [[1, 2], [2, 4]]; inv(A)
  A[1, 1] = 5; inv(A)
freed: an earlier backward freed the graph
  var x = 2; y = x**2; backward y; backward y
  undo; backward y retain; backward y
stale: what a value was computed from has changed since
  var x = 2; y = x**2; set x = 3; backward y
  forward y; backward y
leaf: a leaf that requires grad is written to while recording
  var w = 2; backward w**2; w -= 0.1*w.grad
  no_grad: w -= 0.1*w.grad
grad: there is no gradient: no path leads to a leaf that requires grad
  x = 2; y = x**2; backward y
  var x = 2; y = x**2; backward y
guard: in a replay a guard, such as the condition of an `if`, has another outcome
  var x = 2; y = x**2 if x > 0 else -x; set x = -1; forward y
  y = x**2 if x > 0 else -x
limit: too much memory or time, too many nodes, or nested too deep
  limit memory="1 MB"; x = zeros(1000, 1000)
  limit memory="10 MB"; x = zeros(1000, 1000)
file: a file cannot be read or written
  x = load_csv("examples/chunk.csv")
  x = load_csv("examples/chunks.csv")
extra: a library that is needed is not installed, or does not load
  expm([[0, 1], [0, 0]])
  expm([[0, 1], [0, 0]])
  pip install "agrad[science]"
  scipy
assert: an assertion does not hold
  y = 0.1 + 0.2; assert y == 0.3
  assert y ~= 0.3
internal: an error in agrad itself; the statement is taken back
"""


def _kind(meaning: str, program: str = "", fix: str = "", shell: str = "", missing: str = "") -> ErrorKind:
    statements = [tuple(text.split("; ") if text else ()) for text in (program, fix)]
    return ErrorKind(meaning, statements[0], statements[1], shell, missing)


_ROWS = (kind.partition(": ") for kind in re.split(r"\n(?! )", _KINDS.strip()))
KINDS = {name: _kind(*fields.split("\n  ")) for name, _, fields in _ROWS}
