"""What Python does with texts and agrad does not, and how long a text may be."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.session.session import Session

WHOLE = {
    '"a".uper()': """\
error[name]: a text has no .uper in agrad
  session line 1 | "a".uper()
                 | ^^^^^^^^^^
  fix: .upper(…)""",
    '"%d %d" % 3': """\
error[arity]: the text has more places than the 1 values behind %
  session line 1 | "%d %d" % 3
                 | ^^^^^^^^^^^""",
    '"%d" % (3, 4)': """\
error[arity]: the text has 1 place for the 2 values behind %
  session line 1 | "%d" % (3, 4)
                 | ^^^^^^^^^^^^^""",
    '"%d" % "a"': """\
error[type]: %d needs a number, not the text "a"
  session line 1 | "%d" % "a"
                 | ^^^^^^^^^^""",
    '"{} {}".format(3)': """\
error[arity]: the text has a place 1, and format got 1 values
  session line 1 | "{} {}".format(3)
                 | ^^^^^^^^^^^^^^^^^""",
    '"{a}".format(b=3)': """\
error[name]: format got no value a
  session line 1 | "{a}".format(b=3)
                 | ^^^^^^^^^^^^^^^^^""",
    '"a" + 1': """\
error[type]: a number is needed here, not the text "a"
  session line 1 | "a" + 1
                 | ^^^^^^^
  fix: f"{a}{b}"   joins texts and values""",
}


@pytest.mark.parametrize("text", WHOLE)
def test_the_message_names_what_python_has_and_agrad_has_not(text):
    with pytest.raises(AgradError) as caught:
        Session().run(text)
    assert render(caught.value) == WHOLE[text]


@pytest.mark.parametrize(
    "text",
    [
        '"%d: %5.1f|%-6s|%e|%g|%x|%%|%+d" % (3, 2.5, "ab", 1500.0, 0.25, 255, 7)',
        '"%.3f" % 0.12345',
        '"%(a)s and %(b).2f" % {"a": "x", "b": 2.0}',
        '"{:.3f} {:>6} {:<6}| {x:d}".format(0.12345, "ab", "c", x=3)',
        '"{1} {0} {1}".format("a", "b")',
        '"{{}} {!r:>5}".format("a")',
        """f"{'ab'!r:>6} {'ab'!s}" """.strip(),
        "'a' 'b' \"c\"",
    ],
)
def test_a_text_is_formatted_as_in_python(text):
    session = Session()
    said = []
    session.run(f"print({text})", lambda result: said.append(result.text(session.settings)))
    assert said == [eval(text)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('f"{ones(1e6):999}"', "this text needs 999 MB; the limit is 100 MB"),
        ('f"{ones(1e6):.900f}"', "this text needs 900 MB; the limit is 100 MB"),
        ('f"{1:1000000000}"', 'the format "1000000000" asks for more than 999 characters'),
    ],
)
def test_a_format_keeps_to_the_memory_there_is(text, message):
    session = Session()
    session.run('limit memory="100 MB"')
    with pytest.raises(AgradError) as caught:
        session.run(text)
    assert (caught.value.kind, caught.value.message) == ("limit", message)


@pytest.mark.parametrize("number", [12, -12, 0, 3, 1234567, 1_000_000, 10**15])
@pytest.mark.parametrize("spec", ["05", "5", ",", "_", "+", " ", "08,", "<9", "*^12,", "=+9", "#7", "#>6", "-"])
def test_a_whole_number_is_formatted_as_pythons(number, spec):
    said = []
    session = Session()
    session.run(f'print f"[{{{number}:{spec}}}]"', lambda result: said.append(result.text(session.settings)))
    assert said == [f"[{format(number, spec)}]"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{2.5:05}", "002.5"),
        ("{12:.1f}", "12.0"),
        ("{12:.3}", "12.0"),
        ("{12:06.1f}", "0012.0"),
        ("{12:e}", "1.200000e+01"),
        ("{12:d}", "12"),
        ("{inf:06}", "000inf"),
        ("{[1, 22]:04}", "[0001, 0022]"),
    ],
)
def test_any_other_format_is_that_of_a_float(text, expected):
    said = []
    session = Session()
    session.run(f'print f"{text}"', lambda result: said.append(result.text(session.settings)))
    assert said == [expected]
