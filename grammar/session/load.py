"""`load`: another script, run as a part of the statement that loads it."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from agrad.engine.core.context import current
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.ops.data_files import note_read, require_files
from agrad.engine.text import printable
from agrad.grammar.commands.registry import Call
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.files import beside, read_text

if TYPE_CHECKING:
    from agrad.grammar.commands.host import Session


def load(session: Session, call: Call) -> None:
    """Run the script that `load "model.ag"` names. Raises AgradError, which says where it was loaded."""
    source = script(call.values[0], call.operand(0).span, session.loading)
    statement = current().statement
    try:
        session.include(source)
    except AgradError as problem:
        problem.at = problem.at or problem.labels[0].origin  # what does not parse has not run
        problem.labels.append(Label(call.span, "loaded here"))
        raise
    finally:
        current().statement = statement


# What reads a file of data, by its ending.
_READERS = {
    **dict.fromkeys((".csv", ".tsv", ".dat", ".jsonl", ".ndjson", ".arrow", ".feather", ".parquet", ".pq"), "load_csv"),
    **dict.fromkeys((".npy", ".npz"), "load_npy"),
}
DEPTH = 50  # scripts that run at once, besides the first


def script(path: str, span: Span, loading: list[str]) -> Source:
    """The script that is loaded at `span` while those in `loading` run, each loaded by the one before it.

    Raises AgradError of kind `file` for what cannot be read, and for a script that would load itself; of kind `limit`
    for loads nested too deep.
    """
    try:
        require_files("load")
        if not path or "\0" in path:
            raise AgradError("file", "load: that is not the name of a file")
        refuse_data(path, "load")
        found = beside(path, span)
        _refuse_cycle(found, loading)
        if len(loading) > DEPTH:
            raise AgradError("limit", f"scripts load each other at most {DEPTH} deep, and this one would be deeper")
        if os.path.exists(found) and not os.path.isfile(found):
            what = "it is a folder" if os.path.isdir(found) else "it is not a regular file"
            raise AgradError("file", f"cannot read {found}: {what}")
        note_read(found)
        text = read_text(found)
        refuse_page(found, text, "load")
        return Source(found, text, 1, True)
    except AgradError as problem:
        problem.labels.append(Label(span))
        raise


def refuse_data(path: str, word: str) -> None:
    """Refuse to run a file of data, by the ending of its name. Raises AgradError of kind `file`."""
    if (reader := _READERS.get(os.path.splitext(path)[1].lower())) is not None:
        line = f'data = {reader}("{printable(path)}")'
        fixes = [line if word == "load" else Hint(f"{line}   in a script, or in agrad repl")]
        raise AgradError("file", f"{word} runs a script, and {printable(path)} is a file of data", fixes=fixes)


def refuse_page(path: str, text: str, word: str) -> None:
    """Refuse to run what `save` has written as a page. Raises AgradError of kind `file`."""
    if text.startswith("<!-- saved by agrad"):
        name = os.path.basename(os.path.splitext(path)[0])
        fixes = [Hint(f'save "{printable(name)}.ag"   in the session writes a script')]
        message = f"{word} runs a script, and {printable(path)} is a page that save wrote, to be read"
        raise AgradError("file", message, fixes=fixes)


def _refuse_cycle(path: str, loading: list[str]) -> None:
    real = os.path.realpath(path)
    for position, name in enumerate(loading):
        if os.path.realpath(name) == real:
            chain = " -> ".join([*loading[position:], path])
            raise AgradError("file", f"{path} would load itself: {chain}")
