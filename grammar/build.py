"""Builds the table of the parser: `python -m agrad.grammar.build`, after each change of agrad.lark."""

from __future__ import annotations

import io
import pickle

import lark

from agrad.grammar.parser import TABLE, from_grammar


def table() -> bytes:
    """What agrad.table should hold: lark's own saved parser, and the version of lark that made it."""
    saved = io.BytesIO()
    from_grammar().save(saved)
    content = pickle.loads(saved.getvalue())
    return pickle.dumps({"lark": lark.__version__, **content}, protocol=5)


if __name__ == "__main__":
    with open(TABLE, "wb") as file:
        file.write(table())
