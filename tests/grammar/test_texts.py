"""What Python does with texts and agrad does not, and how long a text may be."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.session import Session

NO_PERCENT = "a text has no % in agrad: values are put into it by an f-string"
NO_FORMAT = "a text has no .format in agrad: values are put into it by an f-string"

WHOLE = {
    '"{}".format(3)': f"""\
error[name]: {NO_FORMAT}
  session line 1 | "{{}}".format(3)
                 | ^^^^^^^^^^^^^^
  fix: f"{{x}}\"""",
    '"loss {:.3f} after {1}".format(3, 2)': f"""\
error[name]: {NO_FORMAT}
  session line 1 | "loss {{:.3f}} after {{1}}".format(3, 2)
                 | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  fix: f"loss {{x:.3f}} after {{y}}\"""",
    '"a".upper()': """\
error[name]: a text has no .upper in agrad
  session line 1 | "a".upper()
                 | ^^^^^^^^^^^""",
    '"%f" % 3': f"""\
error[type]: {NO_PERCENT}
  session line 1 | "%f" % 3
                 | ^^^^^^^^
  fix: f"{{3:f}}\"""",
    'k = 3; print "%5.1f of %d %s" % (k, k, pi)': f"""\
error[type]: {NO_PERCENT}
  session line 1 | k = 3; print "%5.1f of %d %s" % (k, k, pi)
                 |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  fix: f"{{k:5.1f}} of {{k:d}} {{pi}}\"""",
    '"%g%%" % 3': f"""\
error[type]: {NO_PERCENT}
  session line 1 | "%g%%" % 3
                 | ^^^^^^^^^^
  fix: f"{{3:g}}%\"""",
    '"a" + "b"': """\
error[type]: a number is needed here, not the text "a"
  session line 1 | "a" + "b"
                 | ^^^^^^^^^
  fix: f"{a}{b}"   joins texts and values""",
}


@pytest.mark.parametrize("text", WHOLE)
def test_the_message_names_what_python_has_and_agrad_has_not(text):
    with pytest.raises(AgradError) as caught:
        Session().run(text)
    assert render(caught.value) == WHOLE[text]


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
