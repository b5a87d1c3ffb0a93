"""Whatever a command is given: it does something, or says why not in an error of agrad."""

from functools import partial

import pytest
from thinned import thinned

from agrad.engine.errors import AgradError
from agrad.grammar.commands import COMMANDS
from agrad.grammar.session.session import Session

GIVEN = "var a = 3; b = 2*a; c = b*a; m = 2 ± 0.1; n = 3 ± 0.1; x = [1, 2, 3]; y = [1, 2, 4]"
VALUES = """"" None [1,2] sin "a" (1,2) 1e400 -1 nan [] [[1],[2,3]] x (lambda~x:~x) True m {} 0 1.5 q b""".split()
FORMS = """
backward {} ; backward c seed {} ; retain {} ; grad {} ; zero_grad {} ; info {} ; set a = {} ; forward {} ; forward c with a={}
check {} ; explain {} ; graph {} ; graph c depth {} ; graph c from {} ; graph c vs {} ; graph {} vs c ; graphs {} ; export {} to "f.c" ; watch {} ; watch c as {}
step sgd a lr={} ; step adam a lr={} ; step {} a ; budget {} ; budget m order {} ; budget m samples {} ; budget m coverage {} ; budget m k {} ; budget {}, m ; budget m, n samples {}
correlate m n {} ; correlate m {} 0.5 ; correlate {} n 0.5 ; fit y ~ k*x over k from k={} ; fit y ~ k*x over k sigma {} from k=1
fit y ~ k*x over k loss huber beyond {} from k=1 ; fit y ~ k*x over k in {}..9 from k=1 ; fit y ~ k*x, {} ~ k over k from k=1
fit y ~ k*x over k tied z = {} from k=1 ; last fit coverage {} ; fit {} ~ k*x over k from k=1 ; fit y ~ {} over k from k=1 ; solve q**2 == 4 for q from {} ; solve q**2 == {} for q from 1
solve q**2 == 4 for q in {}..3 ; solve q**2 == 4 for q in 0..{} ; minimize {} over a ; minimize (a-1)**2 over a until {}
minimize (a-1)**2 over a in {}..1 ; maximize -c*c over a method {} ; maximize {} over a ; formula {} ; formula c wrt {}
plot {} ; plot sin(t) for t in {}..3 ; plot sin(t) for t in 0..{} ; plot sin(t) for t in {}..3 log ; plot {} logy ;
contour {} for p in 0..1, q in 0..1 ; contour p*q for p in {}..1, q in 0..{} ; contour p*q for p in 0..1, q in 0..1 levels {}
contour p*q for p in 0..1, q in 0..1 levels {} ; histogram {} ; histogram x bins {} ; limit time={} ; limit memory={} ; limit nodes={}
study {} for t in 0..2 ; study t*t for t in {}..3 ; study t*t for t in 0..{} ; area {}, t for t in 0..2 ; area t for t in {}..3
unit zz = {} ; use constants {} ; tangent {} at 2 ; tangent t^2 at {} ; tangent t^2 at t = {} ; plot {} for t in 0..2 marks
history {} ; undo {} ; redo {} ; again {} ; print {} ; var w = {} ; time: {} ; vars {} ; del {} ; assert {} ; help {}
"""
STATEMENTS = [form.strip() for line in FORMS.strip().split("\n") for form in line.split(" ; ")]
# What ends a session or begins it anew, and what reads and writes files.
ELSEWHERE = {"quit", "reset", "load", "save", "report", "calculator"}


def test_every_command_is_here():
    words = {form.split(maxsplit=1)[0].strip(":") for form in STATEMENTS}
    assert set(COMMANDS) - words == ELSEWHERE


def text_of(result, settings):
    return result.text(settings)


@pytest.mark.parametrize("form", thinned(STATEMENTS, 8))
def test_a_command_takes_any_operand_or_says_why_not(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in VALUES:
        session = Session()
        session.run(GIVEN)
        session.watch.time = 20
        try:
            session.run(form.replace("{}", value.replace("~", " ")), partial(text_of, settings=session.settings))
        except AgradError as error:
            assert error.kind != "limit" or "time" not in error.message, form
