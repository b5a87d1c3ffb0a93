"""What holds of any text at all: `check(text)` runs it in a new session, and fails with an AssertionError where it does not.

* It gives results, or an AgradError of a known kind whose message is a sentence: no name of a token, no Python.
* The report of an error can be drawn, and 10,000 characters are read and judged in under a second.
* A statement that fails, or is interrupted, leaves the session as it was, in every detail that can be asked for.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from agrad.engine.core.context import Context, current, scope
from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Kind
from agrad.grammar.diagnostics import Source, render
from agrad.grammar.results import Quit
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import keywords, parser

START = Path(__file__).with_suffix(".ag").read_text("utf-8")

KINDS = frozenset(get_args(Kind))
SECONDS = 1.0  # to read a text of 10,000 characters
PATIENCE = 0.3  # with what a statement computes
TERMINALS = re.compile(
    r"\b(?:"
    + "|".join({*keywords.saved()["keywords"].values(), *keywords.saved()["signs"]})
    + r"|\$END|_[A-Z]{3,}|TOPIC)\b"
)
PYTHON = re.compile(
    r" object at 0x|<class |<function|<built-in|Traceback|\bTensor\(|\bToken\(|\bSpan\(|np\.\w+\(|\barray\("
)


# Functions from which nothing can be raised: of hypothesis, of a WeakSet, and of what is taken out of memory.
UNHEARD = ("gc_callback", "_remove", "__del__")


class Slow(KeyboardInterrupt):
    """A statement that has had its time: for the session it is a Ctrl-C."""


def nodes_of(values: list[Any]) -> list[Node]:
    """Every node that the values are computed from, their gradients included, in the order of their making."""
    found: dict[int, Node] = {}
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, Tensor):
            value = value.node
        if isinstance(value, tuple):
            pending += value
        elif isinstance(value, Node) and id(value) not in found:
            found[id(value)] = value
            pending += value.inputs
            pending += [value.grad.value] if value.grad is not None else []
    return sorted(found.values(), key=lambda node: node.seq)


def facts_of(node: Node) -> tuple[Any, ...]:
    """All about a node that a statement could have changed."""
    gradient, storage = node.grad, node.storage
    collected = gradient and (id(gradient.value), repr(gradient.value), gradient.calls, gradient.parts)
    version = (storage.version, storage.stamp, storage.successor) if storage else (0, 0, 0)
    shape = (id(node), node.name, node.shape, node.requires_grad, node.recorded, node.keeps_grad)
    # The entries of an array are compared as those of the names; a computed node keeps them or not as rules read them.
    value = repr(node.value) if node.op is None or node.shape == () else ""
    return (*shape, value, node.stamp, id(node.freed), collected, version, tuple(map(id, node.inputs)))


def state_of(session: Session) -> dict[str, Any]:
    """All that a failing statement must leave alone, in a form that can be compared."""
    switches = {name: getattr(current(), name) for name in Context.__slots__}
    with scope(guard=None):  # what is read here as plain data is no guard of the caller's
        return {**_contents(session), "switches": switches}


def _contents(session: Session) -> dict[str, Any]:
    values = [*(value for _, value in sorted(session.names.items())), session.answer]
    generator = session.context.random.generator
    return {
        "names": {name: id(value) for name, value in session.names.items()},
        "values": [repr(value.tolist()) if isinstance(value, Tensor) else repr(value) for value in values],
        "answer": id(session.answer),
        "nodes": [facts_of(node) for node in nodes_of(values)],
        "random": None if generator is None else repr(generator.bit_generator.state),
        "settings": repr(session.settings),
        "choices": {name: id(guard) for name, guard in session.chosen.items()},
    }


def pieces(text: str) -> Iterator[str]:
    """The statements of a text, one after the other."""
    source = Source("session", text)
    for statement in parser.parse(source):
        start = statement.span.start
        line = text.rfind("\n", 0, start) + 1
        yield text[start if text[line:start].strip() else line : statement.span.end]


def judge(error: AgradError, text: str) -> None:
    """An error is of a known kind, in words, and can be drawn."""
    assert error.kind in KINDS, error.kind
    labels = [label.text for label in error.labels]
    said = "\n".join([error.message, *error.notes, *error.fixes, *labels])
    assert error.message.strip() == error.message != "", repr(error.message)
    clean(said, text)
    assert all(found in text for found in TERMINALS.findall(said)), f"a token is named: {said}"
    drawn = render(error)
    assert drawn.replace("\n", "").isprintable(), f"a control character is drawn: {drawn!r}"
    assert str(error)


def clean(said: str, text: str) -> None:
    """No Python in what is said, but for what the text itself has."""
    found = PYTHON.search(said)
    asked = found is None or found.group() in text or (found.group().startswith("np.") and re.search(r"\bnp\b", text))
    assert asked, f"Python is shown: {said}"


def read(text: str) -> list[str]:
    """The statements of a text, none if it is an error; either in good time."""
    parser.tokens(text)
    most = SECONDS * max(1, len(text) / 10_000)
    for _ in range(3):  # on a busy machine, one may take long that is quick
        start = time.process_time()
        found: list[str] = []
        try:
            found = list(pieces(text))
        except AgradError as error:
            assert error.kind == "syntax"
            judge(error, text)
        spent = time.process_time() - start
        if spent < most:
            break
    assert spent < most, f"{spent:.2f} s for {len(text)} characters"
    parser.needs_more(text)
    return found


def check(text: str) -> None:
    """The claims above, of one text."""
    session = Session()
    session.run(START)
    for piece in read(text):
        before = state_of(session)
        try:
            with alarm():
                session.run(piece, lambda result: clean(result.text(session.settings), text))
            continue
        except AgradError as error:
            judge(error, text)
        except (Quit, Slow):
            pass
        after = state_of(session)
        changed = {part: (before[part], after[part]) for part in before if before[part] != after[part]}
        assert not changed, f"{sorted(changed)} have changed, although this failed: {piece!r}: {changed}"


@contextmanager
def alarm() -> Iterator[None]:
    """What needs longer than its time is interrupted, as by Ctrl-C; warnings are errors, and no file is touched."""

    def ring(number: int, frame: Any) -> None:
        if any(one.f_code.co_name in UNHEARD for one, _ in traceback.walk_stack(frame)):
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.001)
        else:
            raise Slow

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    _guard.on = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        _guard.on = False
        signal.signal(signal.SIGVTALRM, before)


class _Guard:
    """Refuses every file but Python's and agrad's own while it is on: a random text may name any.

    Libraries, which read files of their own, are loaded in other threads.
    """

    on = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on or event != "open" or threading.current_thread() is not threading.main_thread():
            return
        path = Path(str(args[0]))
        is_text = path.suffix == ".txt" and path.parent.name in ("errors", "help", "pytorch")  # of agrad
        if path.suffix not in (".py", ".pyc", ".so", ".table", ".lark") and not is_text:
            raise PermissionError(13, "a random text opens no files")


_guard = _Guard()
sys.addaudithook(_guard)
