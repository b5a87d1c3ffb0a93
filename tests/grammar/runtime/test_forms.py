"""`x as hex` and the other forms of a number: each is read as that number again."""

import math
import random

import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

ANSWERS = """
255 as hex | 0xff
-255 as hex | -0xff
2^64 as hex | 0x10000000000000000
5 as bin | 0b101
8 as oct | 0o10
0.75 as fraction | 3/4
1/3 + 1/3 as fraction | 2/3
-2.5 as fraction | -5/2
0.1 + 0.2 as fraction | 3/10
4 as fraction | 4
0.25 as percent | 25%
0.25 ± 0.01 as percent | (25.0 ± 1.0)%
pi/4 as deg | 45°
[10, 255] as hex | [0xa, 0xff]
[[0.5, 0.25], [1, 2]] as fraction | [[1/2, 1/4], [1, 2]]
[0.5, 0.25] as percent | [50%, 25%]
2 + 3 as bin | 0b101
255 to hex | 0xff
30 deg to deg | 30 deg
5 km as m | 5000 m
f"{12 as hex}, {(13 as hex)}" | 0xc, 0xd
"""
REFUSED = """
2.5 as hex | 2.5 is not a whole number, which hex, bin and oct write
[1, 2.5] as bin | 2.5 is not a whole number, which hex, bin and oct write
pi as fraction | 3.141592654 is no fraction with a denominator up to 100000
inf as hex | inf is not a whole number, which hex, bin and oct write
nan as fraction | nan is no fraction with a denominator up to 100000
-inf as fraction | -inf is no fraction with a denominator up to 100000
5e-324 as fraction | 4.940656458e-324 is no fraction with a denominator up to 100000
2.0 ± 0.1 as hex | `as hex` writes numbers without an uncertainty
"a" as hex | `as hex` writes numbers, and this is the text "a"
5 km as deg | 5 km is a length, in km: that is not converted to deg
255 as hexx | `hexx` is no form of a number: these are hex, bin, oct, fraction, percent and deg
"""


def rows(text: str) -> list[list[str]]:
    return [row.split(" | ") for row in text.strip().split("\n")]


def answer(text: str) -> str:
    session, lines = Session(), list[str]()
    session.run(text, lambda result: lines.append(result.text(session.settings)))
    return "\n".join(lines)


@each("text, written", rows(ANSWERS))
def test_a_number_is_written_in_a_form(text: str, written: str) -> None:
    assert answer(text) == written


@each("text, reason", rows(REFUSED))
def test_what_a_form_cannot_write_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(AgradError) as caught:
        answer(text)
    assert (caught.value.message, bool(caught.value.labels)) == (reason, True)


def test_the_nearest_form_is_proposed() -> None:
    with pytest.raises(AgradError) as caught:
        answer("y = 255 as hexx")
    assert caught.value.fixes == ["y = 255 as hex"]


@each("form", "hex bin oct fraction percent deg".split())
def test_each_text_is_read_as_the_number_again(form: str) -> None:
    made = random.Random(form)
    for _ in range(100):
        whole = float(made.choice((-1, 1)) * made.getrandbits(made.randint(1, 80)))
        x = whole if form in ("hex", "bin", "oct") else made.randint(-999, 999) / made.randint(1, 999)
        session = Session()
        session.settings.precision = None
        text = session.evaluate(f"({x!r}) as {form}")
        again = session.evaluate(str(text))
        assert math.isclose(float(again), x, rel_tol=0 if form in ("hex", "bin", "oct") else 1e-15), text


def test_the_last_answer_is_the_number() -> None:
    assert answer("7; 255 as hex\n_ + 1") == "0xff\n256"


def test_words_of_forms_stay_names() -> None:
    assert answer("hex = 2; bin = hex + 1; print bin, hex as bin") == "3 0b10"
