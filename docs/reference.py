"""The pages that are made from the same tables as `help`: functions, language, errors, PyTorch's names."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby

from agrad.cli.repl.printer import SAYS
from agrad.engine.core.context import Context, enter
from agrad.engine.core.op import ALIASES, FUNCTIONS, Entry, Signature
from agrad.engine.errors import AgradError
from agrad.grammar.commands import COMMANDS
from agrad.grammar.commands.registry import Command
from agrad.grammar.diagnostics import render
from agrad.grammar.help.help import (
    FOOTING,
    HEADING,
    KINDS,
    LISTS,
    OPERATORS,
    STATEMENT_HELP,
    STATEMENTS,
    all_kinks,
    facts,
    families,
)
from agrad.grammar.prompt.changes import Changes
from agrad.grammar.pytorch.libraries import HERE, STAND_INS
from agrad.grammar.pytorch.names import DIFFERING, IGNORED, KNOWN_ELSEWHERE, OWN_FORMS, RENAMED, table
from agrad.grammar.results import Noted, Result
from agrad.grammar.runtime.attributes import ATTRIBUTES, METHODS, NODE_ATTRIBUTES
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.keywords import OPTIONS, SOFT, read_grammar

_MADE = "Made by `make docs` from the table of functions; `help sin` in a session, and `agrad help sin`, say the same."


def functions_page() -> str:
    """All functions by family, and the table of kinks."""
    lines = ["# Functions", "", _MADE, ""]
    groups = families()
    lines += [f"* [{family}](#{family.replace(' ', '-')})" for family, _ in groups]
    lines += ["* [kinks](#kinks)", "* [index](#index)", ""]
    for family, entries in groups:
        lines += [f"## {family}", ""]
        for entry in entries:
            lines += _lines(entry)
        lines.append("")
    return "\n".join([*lines, *_kinks(), *_index(groups)]) + "\n"


def _lines(entry: Entry) -> Iterator[str]:
    """One function: how it is called and what it computes, then its other facts."""
    yield f"* `{entry.signature.usage}`: {escaped(entry.doc)}"
    for word, text in facts(entry):
        yield f"  * {word}: {f'`{text}`' if word == 'example' else escaped(text)}"


def _kinks() -> Iterator[str]:
    yield from ("## kinks", "", f"{escaped(HEADING)}.", "", "| at | value | derivative |", "|---|---|---|")
    for kink in all_kinks():
        yield f"| {escaped(kink.at)} | {escaped(kink.value)} | {escaped(kink.derivative)} |"
    yield from ("", escaped(FOOTING))


def _index(groups: Iterable[tuple[str, list[Entry]]]) -> Iterator[str]:
    """All functions by name, each with a link to its family."""
    places = {entry.name: family for family, entries in groups for entry in entries}
    yield from ("", "## index", "")
    for initial, names in groupby(sorted(places, key=str.lower), key=lambda name: name[0].upper()):
        links = [f"[{escaped(name)}](#{places[name].replace(' ', '-')})" for name in names]
        yield f"* {initial}: {', '.join(links)}"


def prose(text: str) -> str:
    """A text in which nothing is markup but `code`."""
    return re.sub(r"`[^`]*`|[^`]+", lambda part: part[0] if part[0][0] == "`" else escaped(part[0]), text)


def escaped(text: str) -> str:
    """A text with its markup escaped."""
    return re.sub(r"([\\`*_\[<|])", r"\\\1", text)


# The language: docs/language.md

_LANGUAGE = """\
# The language

Made by `make docs` from the table of commands and the grammar; `help backward` in a session, and `agrad help backward`,
say the same. The functions are in [functions.md](functions.md), the kinds of errors in [errors.md](errors.md).

* [statements](#statements)
* [commands](#commands)
* [lists](#lists)
* [operators](#operators)
* [grammar](#grammar)

## Statements

Statements stand on a line each, or several with `;` between them. A value followed by `;` is not shown. A block is
indented, or stands on the line after its `:`. `#` starts a comment.
"""
_CHANGES = {
    "nothing": "",
    "graph": "Changes gradients, or the graph behind them.",
    "session": "Changes names, values or settings.",
}


def language_page() -> str:
    """Every statement, command and operator, and the rules of the grammar."""
    return "\n".join([_LANGUAGE, *_statements(), *_commands(), *_lists(), *_operators(), *_grammar()]) + "\n"


def _statements() -> Iterator[str]:
    statements = "\n".join(line.removeprefix("  ") for line in STATEMENTS.split("\n"))
    yield f"```text\n{statements}\n```\n"
    for word, text in STATEMENT_HELP.items():
        usage, _, meaning = text.partition("\n")
        yield f"### {escaped(word)}\n\n```text\n{usage}\n```\n\n{prose(_joined(meaning))}\n"


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    for word, command in COMMANDS.items():
        yield f"### {escaped(word)}\n\n```text\n{command.usage}\n```\n\n{prose(command.help)}"
        yield from _options(command)
        if _CHANGES[command.changes]:
            yield f"\n{_CHANGES[command.changes]}"
        yield f"\n```agrad\n{command.example.replace('; ', chr(10))}\n```\n"


def _options(command: Command) -> Iterator[str]:
    """The words that may follow the operands of a command, and `name=value`, each with its meaning."""
    rows = [(word, option.meaning) for word, option in command.options.items()]
    for choices in (command.keywords, command.choices, *(option.choices for option in command.options.values())):
        rows += choices.items()
    if rows:
        yield "\n| option | meaning |\n|---|---|"
        yield from (f"| `{word}` | {prose(_joined(meaning))} |" for word, meaning in rows)


def _lists() -> Iterator[str]:
    yield "## Lists\n"
    for told, shown in LISTS:
        lines = shown.replace("; ", "\n")
        yield f"{prose(told)}\n\n```text\n{lines}\n```\n"


def _operators() -> Iterator[str]:
    yield "## Operators\n\nThe tightest first.\n\n| operator | meaning |\n|---|---|"
    for usage, meaning in OPERATORS:
        yield f"| {', '.join(f'`{form}`' for form in re.split(r' {3}', usage))} | {prose(meaning)} |"


def _grammar() -> Iterator[str]:
    """The rules of agrad.lark, with words and signs in the place of its terminals."""
    text = read_grammar()
    written = _terminals(text)
    yield "\n## Grammar\n\nThe rules of `grammar/agrad.lark`, with words and signs in the place of its terminals.\n"
    yield "```text"
    for name, body in re.findall(r"^[?!]*([a-z_]+): (.*(?:\n {2,}\|.*)*)", text, re.MULTILINE):
        body = re.sub(r" -> \w+", "", body)
        body = re.sub(r"\b_?[A-Z][A-Z_]*\b", lambda found: written.get(found[0], found[0].lstrip("_")), body)
        lines = [line.strip() for line in body.split("\n")]
        yield f"{name}: " + f"\n{' ' * len(name)}".join(lines)
    yield "```"


def _terminals(text: str) -> dict[str, str]:
    """How each terminal that stands for words or signs is written."""
    signs: dict[str, str] = dict(re.findall(r'^(_?[A-Z_]+)(?:\.\d+)?: ("[^\n]*")$', text, re.MULTILINE))
    options: dict[str, list[str]] = {}
    for words in OPTIONS.values():
        for word, terminal in words.items():
            options.setdefault(terminal, []).append(f'"{word}"')
    written = {word.upper(): f'"{word}"' for word in SOFT}
    written |= {terminal: " | ".join(dict.fromkeys(words)) for terminal, words in options.items()} | signs
    return {name: f"({form})" if " | " in form else form for name, form in written.items()}


def _joined(text: str) -> str:
    """Lines as one."""
    return " ".join(text.split())


# The kinds of errors: docs/errors.md. Its programs are run when it is made.

_ERRORS = """\
# Errors

Made by `make docs` from the table of kinds, by running each program; `help errors` lists the kinds, and `help freed`
explains one.

An error has a kind: `error[freed]` in a session, `"kind": "freed"` with `--json`, `error.kind` in Python. The statement
`fails freed: backward y` holds if the rest of the line fails with an error of that kind. An error names the place, and
says what to type instead. A statement that fails changes nothing.
"""


def errors_page() -> str:
    """Every kind of error: what it is about, a program that causes one, and how it goes on."""
    return "\n".join([_ERRORS, *_sections()])


def _sections() -> Iterator[str]:
    for name, kind in KINDS.items():
        meaning = " ".join(kind.meaning.split())
        yield f"## {name}\n\n{prose(meaning[0].upper() + meaning[1:])}.\n"
        if kind.program:
            session = enter(Context(), Session)  # whatever the limits of this process
            session.steps.depth, session.by_entry, session.settings.echo = DEPTH, True, True  # as at the prompt
            with without(kind.missing):
                yield from ("```agrad", *_transcript(session, kind.program), "```\n", "What to type then:\n")
            if kind.shell:
                yield f"```sh\n{kind.shell}\n```\n"
            yield from ("```agrad", *_transcript(session, kind.fix), "```\n")


@contextmanager
def without(library: str) -> Iterator[None]:
    """As if a library were not installed; its modules are found again afterwards."""
    if not library:
        yield
        return
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == library}
    sys.modules[library] = None  # type: ignore[assignment]  # what Python takes for: there is none
    try:
        yield
    finally:
        del sys.modules[library]
        sys.modules.update(kept)


def _transcript(session: Session, statements: Iterable[str]) -> Iterator[str]:
    """Each statement behind a prompt, and what it answers and changes."""
    changes = Changes(session)
    for typed in statements:
        yield f"agrad {session.line}> {typed}"
        changes.begin()
        answers: list[Result] = []
        try:
            session.run(typed, answers.append)
        except AgradError as error:
            yield from (line.rstrip() for line in render(error).split("\n"))
        for answer in answers:
            yield render(answer.note) if isinstance(answer, Noted) else answer.text(session.settings)
        if not SAYS.match(typed):
            yield from filter(None, changes.line(typed).split("\n"))


# PyTorch's names: docs/pytorch.md, made from the tables by which they are read

# What has another meaning: in PyTorch, in agrad, and lines that show it.
_DIFFERENT = """
numbers are integers, or floats of several sizes
every number is a float64
torch.tensor([7, 2]) / 2 == [3.5, 1]

of masks, `m + n` is true where one is, and `1 - m` is an error
masks are numbers, 1 and 0: `m + n` counts, and as an index both are refused
x = tensor([1, 2]); sum((x > 0) + (x > 1)) == 3 and sum(1 - (x > 1)) == 1

float32 overflows above 3.4e38
above 1.8e308: an inf or nan that is one of float32 may not arise
isfinite(torch.exp(tensor(100.))) == 1

`std` and `var` divide by n - 1
by n, as in NumPy; with `torch.` before them by n - 1
std([1, 3]) == 1

`x.max(0)` and `x.min(0)` return values and indices
the values alone; `torch.max(x, 0)` returns both
tensor([1, 3]).max(0) == 3

`x.sort()` returns values and indices
the values alone; `torch.sort(x)` returns both
tensor([3, 1]).sort() == [1, 3]

`x.norm(1)`, `x.norm(2)` of a matrix are norms of all its entries
norms of the matrix, as in NumPy; `torch.norm(x, 1)` is the norm of all entries
x = tensor([[1, 5], [3, 4]]); x.norm(1) == 9 and torch.norm(x, 1) == 13

`x.split(2)` makes pieces of 2
2 pieces, as in NumPy; `torch.split(x, 2)` makes pieces of 2
x = arange(6); len(x.split(2)) == 2 and len(torch.split(x, 2)) == 3

`x.equal(y)` is one truth value
one for each entry, as `x == y`; `torch.equal(x, y)` is one
tensor([1, 2]).equal([1, 3]) == [1, 0]

`x.repeat(2, 1)` repeats the whole of `x`
it repeats each row or entry, along an axis; `x.tile(2, 1)` repeats the whole
x = tensor([[1, 2]]); x.repeat(2, 1) == [[1, 1, 2, 2]]

`x.svd()` ends with V
with its transpose, as in NumPy; `torch.svd(x)` ends with V
x = tensor([[1, 2], [3, 4]]); torch.svd(x)[2] == x.svd()[2].T

`x.cross(y)` is along the first axis that has three entries
along the last, as in NumPy; `torch.cross(x, y)` along the first
x = tensor([[1, 5], [3, 4], [0, 2]]); torch.cross(x, x + 1).shape == (3, 2)

of equal entries one gets the gradient of `max` along an axis
all share it
grad(max)([3, 3]) == [0.5, 0.5]

`median` of four entries is the second smallest
the mean of the second and the third; `torch.median` is the second, with an axis also its index
median([1, 2, 3, 4]) == 2.5 and torch.median([1, 2, 3, 4]) == 2

a gradient is differentiable with `create_graph=True`
`grad(y, x)` always is
grad(grad(square))(5) == 2

`grad` gives a tuple
`grad(y, x)` gives a value, `torch.autograd.grad(y, x)` a tuple
grad(square)(3) == 6

`x[0]`, `x.view(2)` and `x.T` share the data of `x`
each is a copy; a write into one is an error, or a note if it is a plain number
x = zeros(4); y = x.view(2, 2); fails type: y += 1

`where` passes on the nan of a branch that was not selected
that branch contributes exactly 0
def f(x) = where(x > 0, log(x), 0); grad(f)(0) == 0

the derivative of `log(x)` below 0 is 1/x, though `log(x)` is nan; so of `log1p`, `atanh`, `acosh` below -1
it is nan, too; `backward y as pytorch` shows both
isnan(grad(log)(-1))

`binary_cross_entropy` takes no logarithm below -100, so that no entry is above 100
it is the formula: inf where a probability is 0 and its target is not
binary_cross_entropy(0, 1) == inf

a backward frees the nodes that saved something
it frees every node that it visits, unless `retain_graph=True`
var x = 2; y = x + 1; y.backward(); fails freed: y.backward()

`g = x.grad` follows later passes, and `x.grad.zero_()`
it keeps the gradient of then
var x = 3; y = x*x; backward y retain; g = x.grad; backward y; g == 6 and x.grad == 12

`enumerate(xs)`, `zip(xs, ys)`, `map(f, xs)`, in Python, take the entries as a loop gets to them
all at once
xs = [1, 2]; z = zip(xs, xs); xs.append(3); len(z) == 2

`[lambda: k for k in range(3)]`, in Python, gives functions that all find the last k
each has the k with which it was made; those of a `for` loop find the last
fs = [lambda: k for k in range(3)]; fs[0]() == 0
"""
DIFFERENT = [tuple(row.split("\n")) for row in _DIFFERENT.strip().split("\n\n")]


def pytorch_page() -> str:
    """The names of PyTorch that are read, what they mean, and what differs."""
    parts = [_prefixes(), _names(), _methods(), _without_effect(), _differences(), _absent()]
    return "\n".join(line for part in parts for line in [*part, ""])


def _prefixes() -> Iterator[str]:
    yield from ("# PyTorch's names", "", "Made by `make docs` from the tables by which agrad reads them.", "")
    yield "A snippet of PyTorch or NumPy can be pasted: a name of theirs is agrad's function of that name, or of that"
    yield "in the tables below. A name that they do not have in that module, such as `torch.foo.sin`, is an error."
    yield from ("", "| module | names |", "|---|---|")
    for prefix, names in table().items():
        yield f"| `{prefix}` | {', '.join(_row(name, here) for name, here in sorted(names.items()))} |"
    yield "\n`F` is `torch.nn.functional`, and `numpy` is `np`."


def _row(name: str, here: str) -> str:
    """A name, and in brackets what it is here if that is another function or type."""
    return f"`{name}`" if here == name or "(" in here or here in ("class", "function") else f"`{name}` ({here})"


def _names() -> Iterator[str]:
    head = "| PyTorch or NumPy | agrad |", "|---|---|"
    yield from ("## Other names", "", "Names of functions, and of methods of a value.", "", *head)
    for name, ours in sorted(RENAMED.items()):
        yield f"| `{name}` | `{ours}` |"
    yield from ("", "Of arguments:", "", *head)
    for name, ours in ALIASES.items():
        yield f"| `{name}=` | `{ours}=` |"
    yield from ("", "With PyTorch's or NumPy's meaning under the full name, and after `from torch import std`:", "")
    for name, (form, _) in OWN_FORMS.items():
        yield f"* `{Signature(name, form).usage}`"


def _methods() -> Iterator[str]:
    told = "Every function of one value is also a method of it. The other methods are:"
    yield from ("## Methods and attributes", "", told, "")
    for method in METHODS.values():
        yield f"* `{method.form.usage}`"
    yield from ("", f"Attributes of a value: {_listed(ATTRIBUTES)}; of its `grad_fn`: {_listed(NODE_ATTRIBUTES)}.")


def _without_effect() -> Iterator[str]:
    yield from ("## Accepted without effect", "")
    yield f"* imports of {_listed(sorted(HERE))}, and of what is in them"
    yield "* other imports; a note says what stands in for them:"
    for module, told in STAND_INS.items():
        yield f"  * `{module}`: {escaped(told)}"
    yield f"* types, as in `dtype=torch.float64`: {_listed(sorted(IGNORED))}"
    typed = [name for name, entry in FUNCTIONS.items() if "dtype" in entry.signature.attributes]
    yield f"* `dtype=` in {_listed(typed)}"
    same = METHODS["cpu"].run
    yield f"* the methods {_listed(name for name, method in METHODS.items() if method.run is same)}"


def _differences() -> Iterator[str]:
    yield f"## What differs\n\nAfter `import torch`, the methods {_listed(sorted(DIFFERING))} of an array are"
    yield "PyTorch's, so that a script gives its numbers. Where NumPy is imported, too, those that its arrays have as"
    yield "well need a name that says which is meant, such as `dim=` or `axis=`; the error says what to write."
    yield from ("", "| in PyTorch | in agrad | shown by |", "|---|---|---|")
    for theirs, ours, lines in DIFFERENT:
        yield f"| {theirs} | {ours} | `{lines}` |"


def _absent() -> Iterator[str]:
    yield from ("## What is written differently", "", "| instead of | write |", "|---|---|")
    for name, ours in sorted(KNOWN_ELSEWHERE.items(), key=lambda pair: pair[0].lower()):
        if name not in RENAMED:
            yield f"| `{name}` | {escaped(ours)} |"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
