"""What may be typed next where Python is read: names, attributes, modules, arguments by name; how a call is written.

No code of a script runs for that: attributes are found without calling anything.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.grammar import reach
from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.help.completion import Candidate, described, likeliest
from agrad.grammar.help.help import first_sentence
from agrad.grammar.runtime import modules
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import readings
from agrad.grammar.syntax.typed import tokens
from agrad.lazy import pattern

_WORD = pattern(r"[^\W\d]\w*$")
_PATH = pattern(r"((?:[^\W\d]\w*\.)+)$")
_POINT = pattern(r"(?<![\d.])\.$|[^\W\d]\w*\.$")
_MODULE = pattern(r"(?:^|[;\n])[ \t\f]*(?:from|import)[ \t]+(?:[\w. ]+,[ \t]*)*((?:\w+\.)*)$")
_MEMBER = pattern(r"(?:^|[;\n])[ \t\f]*from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?(?:[\w ]+,\s*)*$")
_CALLED = pattern(r"([^\W\d][\w.]*)\((?:[^()\[\]{}]|\([^()]*\)|\[[^\[\]]*\])*$")
_CLOSED = pattern(r"""(?is)[rbfu]*(\"{3}.*\"{3}|'{3}.*'{3}|"(?!"{2}).*"|'(?!'{2}).*')""")  # a string to its end
_OF_TENSORS = frozenset("data grad requires_grad is_leaf grad_fn shape dtype ndim T".split())


def completions(text: str, session: Session, others: Mapping[str, str]) -> tuple[str, list[Candidate]]:
    """The word that a text ends with, perhaps empty, and what it may become: the likeliest first.

    `others`: names that may have any value.
    """
    kind, start, end = (tokens(text, True) or [("", 0, 0)])[-1]
    if end == len(text) and (kind == "comment" or (kind == "string" and not _CLOSED.fullmatch(text, start))):
        return "", []
    found = _WORD.search(text)
    word = found[0] if found else ""
    known: dict[str, Candidate] = {}
    for candidate in _candidates(text.removesuffix(word), bool(word), session, others):
        if word[:1] == "_" or candidate.text[:1] != "_":
            known.setdefault(candidate.text, candidate)
    return word, likeliest(word, list(known.values()))


def _candidates(before: str, begun: bool, session: Session, others: Mapping[str, str]) -> Iterator[Candidate]:
    """All words that fit behind a text."""
    if found := _MEMBER.search(before):
        yield from (Candidate(name, meaning=f"of {found[1]}") for name in reach.names_in(found[1]))
    elif found := _MODULE.search(before):
        names = {*reach.names(), *reach.PACKAGES}
        inside = {one.removeprefix(found[1]).split(".")[0] for one in names if one.startswith(found[1])}
        yield from (Candidate(name, meaning="a module") for name in sorted(inside))
    elif _POINT.search(before):
        found = _PATH.search(before)
        value = value_of(found[1][:-1], session) if found is not None else "" if before[-2:-1] in "\"'" else None
        for name in sorted(_machine(session).names_of(value)) if value is not None else ():
            yield _told(name, _attribute(value, name), session)
    else:
        if found := _CALLED.search(before):
            yield from _arguments(value_of(found[1], session))
        yield from (_told(name, session.names[name], session) for name in reversed(session.names))
        yield from (Candidate(name, name, meaning) for name, meaning in others.items())
        is_start = not before.rpartition("\n")[2].rpartition(";")[2].strip()
        if is_start:
            yield from (Candidate(word, COMMANDS[word].usage, first_sentence(COMMANDS[word].help)) for word in _words())
        if begun or not is_start:
            there = session.python.builtins
            yield from (_told(name, there[name], session) for name in sorted(there) if name[0] not in "._")
        yield from (Candidate(word) for word in keyword.kwlist if word not in ("async", "await") and begun)


def _machine(session: Session) -> Any:
    """The machine of Python's reading."""
    return session.python


def _words() -> Iterable[str]:
    """The commands that are words in Python."""
    return [word for word in COMMANDS if word in readings.WORDS]


def _told(name: str, value: Any, session: Session) -> Candidate:
    """A name with what it has."""
    if isinstance(value, modules.Module):
        return Candidate(name, name, "a module")
    if callable(value) and not isinstance(value, Tensor):
        text = getattr(value, "__doc__", None)
        lines = text.strip().split("\n") if isinstance(text, str) else []
        meaning = first_sentence(lines[0]) if lines else "function"
        return Candidate(name, usage_of(name, value), meaning)
    return Candidate(name, name, "" if value is None else described(value, session))


def usage_of(name: str, value: Any) -> str:
    """`f(x, y=2)`: how a function is called."""
    try:
        given = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{name}(…)"
    parts = [str(one.replace(annotation=inspect.Parameter.empty)) for one in given.parameters.values()]
    return f"{name}({', '.join(parts)})" if parts[-1:] != ["**keywords"] else f"{name}(…)"


def told(path: str, session: Session) -> str | None:
    """How what a path leads to is called, and what it does; None where that is not known."""
    value = value_of(path, session)
    if value is None or not callable(value) or isinstance(value, Tensor):
        return f"{path}\n  a module" if isinstance(value, modules.Module) else None
    text = getattr(value, "__doc__", None)
    usage = usage_of(path, value)
    return f"{usage}\n  {text.strip()}" if isinstance(text, str) and text.strip() else usage


def _arguments(function: Any) -> Iterator[Candidate]:
    """The arguments of a function by name."""
    try:
        given = inspect.signature(function).parameters if callable(function) else {}
    except (TypeError, ValueError):
        return
    for name, one in given.items():
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            default = "…" if one.default is one.empty else repr(one.default)
            yield Candidate(f"{name}=", f"{name}={default}", f"argument of {getattr(function, '__name__', 'it')}")


def value_of(path: str, session: Session) -> Any:
    """The value of `a.b.c`; None where it is not known without running code."""
    first, *rest = path.split(".")
    found = session.names.get(first, session.python.builtins.get(first))
    for name in rest:
        found = _attribute(found, name)
    return found


def _attribute(value: Any, name: str) -> Any:
    """An attribute that is found without calling anything."""
    if isinstance(value, modules.Module) or (isinstance(value, Tensor) and name in _OF_TENSORS):
        return getattr(value, name, None)
    try:
        found = inspect.getattr_static(value, name)
    except AttributeError:
        found = (getattr(value, "_modules", None) or {}).get(name) if hasattr(type(value), "_modules") else None
    return None if isinstance(found, property) else getattr(found, "__func__", found)
