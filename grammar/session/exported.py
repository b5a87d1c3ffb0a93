"""An expression as a function in another language, with its derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import Value
from agrad.grammar.diagnostics import Source
from agrad.grammar.runtime.builtins import CONSTANTS, FUNCTIONS
from agrad.grammar.runtime.bytecode import Do
from agrad.grammar.runtime.compiler import compile_expression
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.session.bindings import refuse_call
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import parse_expression

_POINT = 0.5  # at which the expression is traced, where a name has no value


def exported(session: Session, text: str, wrt: Sequence[str], order: int, language: str, name: str) -> str:
    """The source of a function of that name: the value of an expression, and its derivatives up to an order.

    Its arguments are the names in the expression that have no value, which are numbers, and those in `wrt`, which may
    have one that shows their shape; without `wrt`, it is differentiated by all arguments. Other names keep the values
    that they have. Raises AgradError.
    """
    from agrad.engine.compile.export.choices import paths  # here: an error in the expression does not need it
    from agrad.engine.compile.export.derive import derived
    from agrad.engine.compile.export.languages import LANGUAGES
    from agrad.engine.program.trace import plain

    code = compile_expression(parse_expression(Source("expression", text)))
    names: dict[str, None] = {}
    for do, word, span in code.instructions:
        if do is not Do.LOAD or (word in session.names and word not in wrt) or word in FUNCTIONS:
            continue
        if word in wrt or word not in CONSTANTS:
            refuse_call(word, span, session.names)
            names[word] = None
    names |= dict.fromkeys(wrt)
    if not names and order:
        raise AgradError("name", "there is no name to differentiate by", fixes=[Hint("use a name that has no value")])
    examples: list[Value] = [plain(session.names.get(word, _POINT)) for word in names]
    places = [list(names).index(word) for word in wrt] or range(len(names))

    def function(*values: Any) -> Any:
        session.names.update(zip(names, values, strict=True))
        return as_array(session.machine.run(code))

    before = dict(session.names)
    try:
        programs = paths(function, examples, list(names), places)
    finally:
        session.names.clear()
        session.names.update(before)
    return LANGUAGES[language](derived(programs, examples, places, order), name, text)


def constant(value: Any) -> Any:
    """A value without its graph: a number where it is one."""
    if not isinstance(value, Tensor):
        return value
    return value.detach() if value.shape else value.item()
