"""The kinds of errors as a document: docs/errors.md. Its programs are run when it is made."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from agrad.engine.core.context import Context, enter
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.help.error_kinds import KINDS
from agrad.grammar.help.functions_doc import prose
from agrad.grammar.results import Noted, Result
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

_HEAD = """\
# Errors

Made by `make docs` from the table of kinds, by running each program; `help errors` lists the kinds, and `help freed`
explains one.

An error has a kind: `error[freed]` in a session, `"kind": "freed"` with `--json`, `error.kind` in Python. The statement
`fails freed: backward y` holds if the rest of the line fails with an error of that kind. An error names the place, and
says what to type instead. A statement that fails changes nothing.
"""


def markdown() -> str:
    """Every kind of error: what it is about, a program that causes one, and how it goes on."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for name, kind in KINDS.items():
        meaning = " ".join(kind.meaning.split())
        yield f"## {name}\n\n{prose(meaning[0].upper() + meaning[1:])}.\n"
        if kind.program:
            session = enter(Context(), Session)  # whatever the limits of this process
            session.steps.depth = DEPTH  # as at the prompt
            with without(kind.missing):
                yield from ("```agrad", *_transcript(session, kind.program), "```\n", "What to type then:\n")
            if kind.shell:
                yield f"```sh\n{kind.shell}\n```\n"
            yield from ("```agrad", *_transcript(session, kind.fix), "```\n")


@contextmanager
def without(library: str) -> Iterator[None]:
    """As if a library were not installed; its modules are found again afterwards."""
    hidden = [name for name in sys.modules if name.partition(".")[0] == library] if library else []
    kept = {name: sys.modules.pop(name) for name in hidden}
    if library:
        sys.modules[library] = None  # type: ignore[assignment]  # what Python takes for: there is none
    try:
        yield
    finally:
        if library:
            del sys.modules[library]
        sys.modules.update(kept)


def _transcript(session: Session, statements: Iterable[str]) -> Iterator[str]:
    """Each statement behind a prompt, and what it answers."""
    for typed in statements:
        yield f"agrad> {typed}"
        answers: list[Result] = []
        try:
            session.run(typed, answers.append)
        except AgradError as error:
            yield from (line.rstrip() for line in render(error).split("\n"))
        for answer in answers:
            yield render(answer.note) if isinstance(answer, Noted) else answer.text(session.settings)
