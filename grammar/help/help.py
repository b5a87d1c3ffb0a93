"""The text of `help`, made from the tables of commands and functions. The command line shows the same.

What it says of words that are in no other table is in the tables below: terms, extras, attributes and methods, lists,
names elsewhere, kinds of errors.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from keyword import iskeyword

from agrad.engine.core.op import ALIASES, FUNCTIONS, Entry, Kink
from agrad.engine.errors import AgradError
from agrad.engine.struct import Struct
from agrad.engine.text import align, beside, fit, paragraphs
from agrad.engine.units import unit
from agrad.grammar import syntax
from agrad.grammar.commands.registry import Command
from agrad.grammar.diagnostics import suggest
from agrad.grammar.elsewhere import KNOWN_ELSEWHERE, MODULES, NO_METHODS, RENAMED
from agrad.grammar.runtime.attributes import ATTRIBUTES, METHODS, NODE_ATTRIBUTES
from agrad.grammar.runtime.builtins import CONSTANTS
from agrad.grammar.runtime.operations import BINARY, COMPARE
from agrad.grammar.syntax.keywords import ABSENT, COMMANDS_ELSEWHERE, NO_COMMANDS, PYTHONS

HEADING = "The value and derivative of a function where it has a kink, an end or a pole"
FOOTING = """\
Elsewhere derivatives are exact, in all orders. A branch that a condition did not select contributes exactly 0;
a 0 that was computed follows IEEE arithmetic: 0*inf is nan. A backward that meets an inf or a nan notes once
where it began."""


def all_kinks() -> list[Kink]:
    """The kinks of all functions, in the order of the functions; one that several functions share is listed once."""
    return list(dict.fromkeys(kink for entry in FUNCTIONS.values() for kink in entry.kinks))


WIDTH = 80
WIDEST = 110  # of lines of text: longer ones are hard to read
_WIDEST = 50  # a column
_BESIDE = 25  # where it is said what a command does, beside how it is typed


def _texts(name: str) -> list[str]:
    """The parts of a text of help, which lies beside this file."""
    return paragraphs(beside(__file__, f"{name}.txt"))


# What to type first; what the overview says of statements; the help for each that is not a command; operators, and what
# each is.
START = beside(__file__, "start.txt").rstrip("\n")
STATEMENTS = beside(__file__, "overview.txt").rstrip("\n")
STATEMENT_HELP = dict(one.split(": ", 1) for one in _texts("statements"))
OPERATORS = [tuple(row.split("  ->  ")) for row in _texts("operators")]

# In the order in which a new user needs them; a family that is not here comes last.
FAMILIES = (
    *("arithmetic", "elementary", "learning", "special", "selection", "comparison", "reductions", "shapes"),
    *("linear algebra", "complex numbers", "creation", "graph", "derivatives"),
)
_SHORT = {"linalg": "linear algebra", "complex": "complex numbers"}  # one-word names of families
_BY_NAME = {family: short for short, family in _SHORT.items()}


def help_on(word: str, commands: Mapping[str, Command]) -> str:
    """Help on a command, function, operator or constant, on one of the TOPICS, or on anything else that a word means.

    Raises AgradError of kind `name` where there is none, with what may have been meant.
    """
    parts = []
    name = {**BINARY, **COMPARE, "^": "pow"}.get(word, word)
    if word in TOPICS:
        parts.append(TOPICS[word](commands) if word in ("commands", "everything") else TOPICS[word]())
    if word in commands:
        command, example = commands[word], commands[word].example.replace("; ", "\n           ")
        parts.append(f"{command.usage}\n  {command.help}\n  example: {example}")
    if name in FUNCTIONS:
        parts.append(_of_function(FUNCTIONS[name]))
    if word in STATEMENT_HELP:
        parts.append(STATEMENT_HELP[word])
    if word in CONSTANTS and word != repr(CONSTANTS[word]):
        parts.append(f"{word} = {CONSTANTS[word]!r}")
    parts = parts or _otherwise(word)
    parts += [_told_of(f"error[{name}]", kind.meaning, _tried(kind)) for name, kind in KINDS.items() if word == name]
    if word in PARTS:
        parts.append(STATEMENT_HELP[PARTS[word]])
    parts += told(word, commands, bool(parts))
    parts += _of_unit(word)
    if not parts:
        close = [*suggest(word, [*topics(commands), *KINDS]), *_mentioning(word, commands)]
        fixes = [f"help {one}" for one in [*dict.fromkeys(close)][:3]] or ["help"]
        raise AgradError("name", f"there is no help on {word}", fixes=fixes)
    return "\n\n".join(parts)


def _mentioning(word: str, commands: Mapping[str, Command]) -> list[str]:
    """The commands, and then the functions, whose help has a word in it; the first three."""
    texts = {command.word: command.help for command in commands.values()}
    texts |= {name: first_sentence(entry.doc) for name, entry in FUNCTIONS.items()}
    wanted = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    return [name for name, text in texts.items() if wanted.search(text)][:3]


def _otherwise(word: str) -> list[str]:
    """Help on a family of functions, an operator without one, an attribute or method."""
    parts = []
    prefix, _, name = word.rpartition(".")
    asked = {**{known: one.meaning for known, one in ATTRIBUTES.items()}, **NODE_ATTRIBUTES}
    if word in _SHORT or word in dict(families()):
        parts.append("\n".join(_of_family(_SHORT.get(word, word))))
    if iskeyword(word) or not word[:1].isalpha():
        parts += [_told_of(usage, meaning) for usage, meaning in OPERATORS if word in usage.split()]
    if name in asked:
        parts.append(_told_of(f"x.{name}", asked[name]))
    elif name in METHODS:
        parts.append(_told_of(METHODS[name].form.usage, METHODS[name].meaning))
    elif prefix and name in FUNCTIONS:
        parts.append(_of_function(FUNCTIONS[name]))
    return parts


def _of_unit(word: str) -> list[str]:
    """Help on a unit, such as `km/h`; on a name of several, what they are."""
    if syntax.units.end_of_unit(word, 0, ()) < len(word):
        return []
    try:
        return [f"{word}\n  {unit.described(word)}"]
    except AgradError as problem:
        return [f"{word}\n  {_sentence(problem.message)}"]


def _tried(kind: ErrorKind) -> str:
    """A program that ends in an error of a kind, and how it goes on; empty if there is none."""
    example, then = "\n           ".join(kind.program), "\n        ".join([*filter(None, [kind.shell]), *kind.fix])
    return f"\n  example: {example}\n  then: {then}" if kind.fix else ""


def _told_of(usage: str, meaning: str, more: str = "") -> str:
    """How something is written and, as a sentence, its meaning."""
    sentence = meaning if meaning.startswith("x ") else meaning[0].upper() + meaning[1:]
    return f"{usage}\n  {sentence.rstrip('.')}.{more}"


def _of_family(family: str) -> list[str]:
    """A family of functions, one line each."""
    entries = dict(families())[family]
    return [family, *_table((entry.signature.usage, first_sentence(entry.doc)) for entry in entries)]


def start() -> str:
    """What to type first, and where more is said, on one screen."""
    *pages, last = TOPICS
    more = ["help WORD explains more: help solve, help sin, help for", f"pages: {', '.join(pages)}"]
    return "\n".join(["what to type first", START, "", *more, f"help {last}: all that there is"])


def overview(commands: Mapping[str, Command], width: int = WIDTH) -> str:
    """Everything that there is help on, one line or one word each; in a wide terminal, in fewer lines."""
    width = max(WIDTH, min(width, WIDEST))
    lines = ["statements", STATEMENTS, "", "commands", _commands(commands, width), ""]
    for family, entries in families():
        lines += _wrapped(family, [entry.name for entry in entries], width)
    lines += _wrapped("constants", list(CONSTANTS), width)
    *pages, pytorch, last = TOPICS
    more = ["help WORD explains more: help backward, help sin, help for", f"and help on {', '.join(pages)},"]
    more.append(f"{pytorch} and {last}")
    return "\n".join([*lines, "", *more])


def topics(commands: Mapping[str, Command]) -> dict[str, str]:
    """Every word that there is help on, with a short description."""
    return {
        **dict.fromkeys(TOPICS, "a page"),
        **{word: first_sentence(command.help) for word, command in commands.items()},
        **{word: text.partition("\n")[0] for word, text in STATEMENT_HELP.items()},
        **{name: first_sentence(entry.doc) for name, entry in sorted(FUNCTIONS.items())},
        **dict.fromkeys(CONSTANTS, "constant"),
        **{family: "functions" for family in dict(families()) if family.isidentifier() and family not in commands},
    }


def statement(word: str) -> tuple[str, str]:
    """How a statement that begins with a word is written, and what it does; empty for other words."""
    usage, _, meaning = STATEMENT_HELP.get(word, "").partition("\n")
    return usage, first_sentence(meaning.strip().partition("\n")[0]) if meaning else ""


def families() -> list[tuple[str, list[Entry]]]:
    """The functions by family."""
    places = {family: place for place, family in enumerate(FAMILIES)}
    entries = sorted(FUNCTIONS.values(), key=lambda entry: (places.get(entry.family, len(places)), entry.family))
    return [(family, list(group)) for family, group in groupby(entries, key=lambda entry: entry.family)]


def facts(entry: Entry) -> Iterator[tuple[str, str]]:
    """The other facts about a function, each with its label."""
    if entry.derivative:
        legend = " (g: the gradient of the result)" if re.search(r"\bg\b", entry.derivative) else ""
        yield "derivative", entry.derivative + legend
    if entry.domain:
        yield "domain", entry.domain
    for kink in entry.kinks:
        yield "kink", _told(kink)
    if entry.example:
        yield "example", entry.example


def functions() -> str:
    """All functions by family, one line each."""
    lines = [line for family, _ in families() for line in (*_of_family(family), "")]
    return "\n".join([*lines, "help WORD explains more: help sin"])


def kinks() -> str:
    """The values and derivatives of functions at kinks, ends and poles."""
    rows = [textwrap.fill(_told(kink), WIDTH, initial_indent="  ", subsequent_indent=" " * 6) for kink in all_kinks()]
    return "\n".join([HEADING, "", *rows, "", textwrap.fill(FOOTING, WIDTH)])


def _told(kink: Kink) -> str:
    """`sqrt, cbrt at 0: value 0, derivative inf`."""
    told = [("value", kink.value), ("derivative", kink.derivative)]
    return f"{kink.at}: {', '.join(f'{word} {text}' for word, text in told if text)}"


def _commands(commands: Mapping[str, Command], width: int = WIDTH) -> str:
    """All commands, how each is typed and what it does."""
    return "\n".join(line for command in commands.values() for line in _beside(command.usage, command.help, width))


def operators() -> str:
    """The operators, those that bind tightest first."""
    rows = _table(OPERATORS)
    return "\n".join(["operators, the tightest first", *rows, "", "help ** names the function of an operator"])


def lists() -> str:
    """Lists and vectors, and when + puts two lists together."""
    told = [textwrap.fill(text, 80, initial_indent="  ", subsequent_indent="  ") for text, _ in LISTS]
    shown = ["    " + example.replace("; ", "\n    ") for _, example in LISTS]
    return "\n".join(["lists", *(line for pair in zip(told, shown, strict=True) for line in pair)])


def pytorch() -> str:
    """The names of PyTorch that are read, and agrad's names for them."""
    ours: dict[str, list[str]] = {}
    for theirs, name in RENAMED.items():
        ours.setdefault(name, []).append(theirs)
    rows = [(name, f"also {', '.join(theirs)}") for name, theirs in sorted(ours.items())]
    return "\n".join(
        ["if you come from PyTorch", *_texts("pytorch"), "", "functions with several names", *_table(rows)]
    )


def errors() -> str:
    """The kinds of errors, as `error[name]` and `fails name:` have them."""
    return "\n".join(
        ["kinds of errors", *_table((name, kind.meaning) for name, kind in KINDS.items()), "", STATEMENT_HELP["fails"]]
    )


def contents() -> str:
    """The topics of help."""
    pages = [(word, first_sentence(page.__doc__ or "")) for word, page in TOPICS.items()]
    named = [family for family, _ in families()]
    lines = ["pages", *_table(pages), "", *_wrapped("statements", list(STATEMENT_HELP))]
    return "\n".join([*lines, *_wrapped("families of functions", [_BY_NAME.get(name, name) for name in named])])


TOPICS: dict[str, Callable[..., str]] = {
    "commands": _commands,
    "errors": errors,
    "functions": functions,
    "kinks": kinks,
    "lists": lists,
    "operators": operators,
    "pytorch": pytorch,
    "topics": contents,
    "everything": overview,
}


def _table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Indented lines whose cells are aligned; a cell that is much longer than the others shifts its line."""
    return align(rows, widest=_WIDEST, margin="  ")


def first_sentence(doc: str) -> str:
    """What a function computes, without the remarks."""
    return doc.partition(". ")[0].rstrip(".") + "."


def _beside(usage: str, text: str, width: int) -> list[str]:
    """How a command is typed and, next to or below that, what it does, within the width."""
    margin = " " * _BESIDE
    first = f"  {usage}".ljust(len(margin))
    told = textwrap.wrap(text, width, initial_indent=margin, subsequent_indent=margin)
    return [first + told[0][len(margin) :], *told[1:]] if len(first) == len(margin) else [first, *told]


def fitted(text: str, width: int | None) -> str:
    """A page in a width: where it is narrow, what stands beside how something is typed stands below it."""
    if width is None or max(map(len, text.split("\n"))) <= width:
        return text
    folded, lines = [], text.split("\n")
    while lines:
        line, told = lines.pop(0), []
        beside = re.fullmatch(rf"(  \S.*?) +(?<=^.{{{_BESIDE}}})(\S.*)", line)
        listed = re.match(r"\S[^.:]*: \S", line)
        while lines and re.match(rf" {{{_BESIDE if not listed else 5}}}\S", lines[0]):
            told.append(lines.pop(0).strip())
        if listed:
            whole = " ".join([line, *told])
            folded.append(textwrap.fill(whole, width, subsequent_indent=" " * 5, break_long_words=False))
        elif told or (beside is not None and len(line) > width):
            usage, first = (beside[1], [beside[2]]) if beside is not None else (line, [])
            margin = " " * 6
            below = textwrap.fill(" ".join([*first, *told]), width, initial_indent=margin, subsequent_indent=margin)
            folded += [fit(usage, width), below]
        else:
            folded.append(fit(line, width))
    return "\n".join(folded)


def _wrapped(title: str, names: list[str], width: int = WIDTH) -> list[str]:
    """A family and its functions, on lines that fit the width."""
    return textwrap.wrap(
        " ".join(names), width, initial_indent=f"{title}: ", subsequent_indent=" " * 5, break_on_hyphens=False
    )


def _of_function(entry: Entry) -> str:
    lines = [entry.signature.usage, f"  {entry.doc}", *(f"  {word}: {text}" for word, text in facts(entry))]
    return "\n".join(lines)


# The terms of the documents and messages.
GLOSSARY = {
    word: meaning for words, meaning in (one.split(": ", 1) for one in _texts("glossary")) for word in words.split(", ")
}
# The extras: what `pip install "agrad[jit]"` adds.
EXTRAS = dict(one.split(": ", 1) for one in _texts("extras"))

# Words of Python, each with the statement that it belongs to.
PARTS = {
    **dict.fromkeys(("break", "continue", "in"), "for"),
    **dict.fromkeys(("elif", "else"), "if"),
    "return": "def",
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
    here = {**KNOWN_ELSEWHERE, **COMMANDS_ELSEWHERE, **NO_COMMANDS}
    if word in RENAMED:
        yield f"{word}\n  Another name of {RENAMED[word]}: help {RENAMED[word]}"
    elif word in here:
        yield f"{word}\n  Here: {here[word]}"
    elif word in MODULES:
        yield f"{word}\n  A module of Python, which is read from an import on: {MODULES[word]}"
    elif word in PYTHONS:
        yield f"{word}\n  A word of Python, which is read from an import on: import torch"
    elif word in NO_METHODS:
        yield f"x.{word}\n  {_sentence('; '.join(NO_METHODS[word]))}"
    elif word in ABSENT:
        yield f"{word}\n  A word of Python that agrad has no use for" + (f"; {ABSENT[word]}" if ABSENT[word] else ".")
    else:
        torch = import_module("agrad.torch")
        owner = next((one for one in (torch.Tensor, torch) if word[0] != "_" and hasattr(one, word)), None)
        if owner is not None:
            place = f"torch.{word}" if owner is torch else f"x.{word}"
            yield f"{place}\n  PyTorch's, which is read from an import on: import torch"


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
LISTS = [one.split("\n  ") for one in _texts("lists")]


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


def _kind(meaning: str, program: str = "", fix: str = "", shell: str = "", missing: str = "") -> ErrorKind:
    statements = [tuple(text.split("; ") if text else ()) for text in (program, fix)]
    return ErrorKind(meaning, statements[0], statements[1], shell, missing)


# errors.txt has the fields of each kind behind its name, on a line each; statements have `; ` between them.
KINDS = {name: _kind(*fields.split("\n  ")) for name, fields in (one.split(": ", 1) for one in _texts("errors"))}
