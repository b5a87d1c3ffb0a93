"""What Python does with texts and agrad does not, and how long a text may be."""

import re

from rows import each
from sessions import said

from agrad.grammar.session.session import Session


@each(
    "text",
    [
        '"%d: %5.1f|%-6s|%e|%g|%x|%%|%+d" % (3, 2.5, "ab", 1500.0, 0.25, 255, 7)',
        '"%.3f" % 0.12345',
        '"{:.3f} {:>6} {:<6}| {x:d}".format(0.12345, "ab", "c", x=3)',
        '"{1} {0} {1}".format("a", "b")',
        '"{{}} {!r:>5}".format("a")',
        """f"{'ab'!r:>6} {'ab'!s}" """.strip(),
        "'a' 'b' \"c\"",
    ],
)
def test_a_text_is_formatted_as_in_python(text):
    assert said(f"print({text})") == [eval(text)]


@each("number", [12, -12, 0, 3, 1234567, 1_000_000, 10**15])
@each("spec", ["05", "5", ",", "_", "+", " ", "08,", "<9", "*^12,", "=+9", "#7", "#>6", "-"])
def test_a_whole_number_is_formatted_as_pythons(number, spec):
    assert said(f'print f"[{{{number}:{spec}}}]"') == [f"[{format(number, spec)}]"]


TEXTS = 'str({0}) repr({0}) "%s"%{0} "%r"%{0} "{{}}".format({0}) "{{!r}}".format({0}) f"{{{0}}}" f"{{{0}!r}}"'
NUMBERS = '"{{:>25}}".format({0}) f"{{{0}:>25}}"'


@each("text", [*TEXTS.split(), *NUMBERS.split()])
@each("shown", ["x", "v", "[x, v]", "[x, 'a']", "tensor([x, x])[0]"])
def test_a_text_of_a_value_has_the_digits_that_are_set(text, shown):
    if ">" in text and shown[0] == "[":
        return  # a width is for numbers
    session = Session()
    session.run(f"x = 0.1 + 0.2; var v = 0.1 + 0.2; shown = {shown}")
    for digits, number in ((None, "0.30000000000000004"), (10, "0.3"), (3, "0.3")):
        session.settings.precision = digits
        session.run(f"told = {text.format('shown')}")
        meant = re.sub(r"\b[xv]\b", number, shown) if shown[0] == "[" else number
        assert session.names["told"].strip() == meant
