"""Whatever is typed gives a result or an AgradError of a known kind: no other exception leaves the language."""

import warnings
from pathlib import Path

from answers import answers
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

START = """
var x = [1, 2]
var s = 2
y = sum(x**2)
A = ones(2, 3)
E = zeros(0, 2)
def pair(x) = x, x
def gives(x) = sin
"""

# What is typed, and the kind of the error; none where there is a result.
KINDS = answers(Path(__file__).with_name("kinds_of_errors.txt"))


@each("text, kind", KINDS.items())
def test_a_result_or_an_error_of_a_known_kind(text, kind):
    session = Session()
    session.run(START)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            session.run(text)
        except AgradError as error:
            assert error.kind == kind, error.message
        else:
            assert kind == ""
