"""What Python does with texts and agrad does not, and how long a text may be."""

from rows import each

from agrad.grammar.session.session import Session


@each(
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


@each("number", [12, -12, 0, 3, 1234567, 1_000_000, 10**15])
@each("spec", ["05", "5", ",", "_", "+", " ", "08,", "<9", "*^12,", "=+9", "#7", "#>6", "-"])
def test_a_whole_number_is_formatted_as_pythons(number, spec):
    said = []
    session = Session()
    session.run(f'print f"[{{{number}:{spec}}}]"', lambda result: said.append(result.text(session.settings)))
    assert said == [f"[{format(number, spec)}]"]
