"""One slip in a command line: the fix, typed as it stands, gives the answer that was meant, with every other word."""

import json
import random
import re
import shlex
from itertools import product

from command_lines import alone
from corpus import called
from rows import each

FORMULAS = [
    ("a*b", {"a": "3", "b": "2"}),
    ("a**2 *2", {"a": "-1.5"}),
    ("sin(x) * y", {"x": "0.5", "y": "2e3"}),
    ("-x + y*z", {"x": "1", "y": "2", "z": "3"}),
    ("sum(w**2)*x", {"w": "[1, 2]", "x": "4"}),
]
OPTIONS = ([], ["--json"], ["--precision", "4"], ["--precision", "3", "--json"])
OPTION = {
    "--wrt": "wrt -wrt --wrtt -w —wrt --wtr",
    "--precision": "precision -precision --precison",
    "--json": "-json json --jsno",
}
FILES = {"notes.txt": "", "data.csv": "x,y,z\n1,2,3\n4,5,6\n"}
OTHERS = {"bare.csv": "1,2,3\n4,5,6\n", "titled.csv": "What was measured\n\nx,y\n1,2\n"}


# Each with the fix; what that prints is the answer.
LINES = {
    'agrad eval "x^2" x=3 -d x': 'agrad eval "x^2" x=3 --wrt x',
    'agrad eval "print(x)" x=3': 'echo "print(x)" | agrad run - -D x=3',
    'agrad eval "solve z^2 == 4 for z from 1"': 'echo "solve z^2 == 4 for z from 1" | agrad run -',
    'agrad eval "x^2;" x=3': 'agrad eval "x^2" x=3',
    'agrad map "x*k" data.csv': 'agrad map "x*k" data.csv -D k=1',
    "agrad map data.csv": "agrad map --help",
    'agrad plot "x^2 for x in 0..1" --to p.svg': "echo 'plot x^2 for x in 0..1 to \"p.svg\"' | agrad run -",
    'agrad fit "z ~ a*x" data.csv': 'agrad fit "z ~ a*x" data.csv --over a=1',
    'agrad fit "z = a*x" data.csv --over a=1': 'agrad fit "z ~ a*x" data.csv --over a=1',
    'agrad fit "z ~ x^a" data.csv --over a': 'agrad fit "z ~ x^a" data.csv --over a=1',
    'agrad fit "z ~ a*t" data.csv -c t=y': 'agrad fit "z ~ a*t" data.csv -c t=y --over a=1',
    'agrad fit "w ~ a*u" bare.csv --columns u,v,w': 'agrad fit "w ~ a*u" bare.csv --columns u,v,w --over a=1',
    'agrad map "cumsum(k)" data.csv -c k=y': 'agrad eval "cumsum(k)" k=@data.csv:y',
    'agrad map "v*u" bare.csv': 'agrad map "v*u" bare.csv --columns u,v,c2',
    'agrad map "x*y" titled.csv': 'agrad map "x*y" titled.csv --skip 2',
    "agrad eval x x=bare.csv": "agrad eval x x=@bare.csv",
    "agrad fit k*x data.csv --over k=1": 'agrad fit "k*x" data.csv --over k=1 --y y',
}


def with_slips(command, text, given, options):
    """The words of a command line, and those of the same with a slip."""
    names, data = list(given), ["data.csv"] * (command == "map")
    constants = [] if data else [f"{name}={value}" for name, value in given.items()]
    by = ["--wrt", ",".join(names)]
    right = [command, text, *data, *constants, *by, *options]
    yield right, [command, *text.split(), *data, *constants, *by, *options]
    if "*" in text.split():
        globbed = [one for word in text.split() for one in (FILES if word == "*" else [word])]
        yield right, [command, *globbed, *data, *constants, *by, *options]
    if len(names) > 1:
        yield right, [command, text, *data, *constants, "--wrt", *names, *options]
        yield right, [command, text, *data, *constants, "--wrt", *", ".join(names).split(), *options]
    for place, word in enumerate(right):
        for wrong in OPTION.get(word, "").split():
            yield right, [*right[:place], wrong, *right[place + 1 :]]
    if data:
        yield right, [command, *data, text, *by, *options]
        for wrong in (["k=2"], ["k:2"], ["k==2"], ["k2"]):
            line = [command, f"({text})*k", *data]
            yield [*line, "-D", "k=2", *by, *options], [*line, *wrong, *by, *options]
        return
    for wrong in ("evla", "calc", "eavl") if command == "eval" else ():
        yield right, [wrong, *right[1:]]
    yield right, [command, text, ",".join(constants), *by, *options] if "[" not in "".join(constants) else right
    for place, (name, value) in enumerate(given.items(), 2):
        for wrong in ("{}{}", "{}:{}", "{}=={}", "{}:={}", "{} = {}", "{}= {}", "{} ={}", "-D {}={}", "-D{}={}"):
            if wrong == "{}{}" and value[0] in "-[":
                continue
            yield right, [*right[:place], *shlex.split(wrong.format(name, shlex.quote(value))), *right[place + 1 :]]


def fix_of(out, err):
    """The words behind `agrad` of the first command line that is to be typed; none where that is a help."""
    fixes = json.loads(out)["error"]["fixes"] if out else re.findall("^  fix: (agrad .*)", err, re.MULTILINE)
    return shlex.split(fixes[0])[1:] if fixes and "--help" not in fixes[0] else []


@each("line, fix", LINES.items())
def test_the_fix_of_a_slip_can_be_typed(line, fix):
    with alone():
        for name, content in (FILES | OTHERS).items():
            with open(name, "w") as file:
                file.write(content)
        _, err, code = called(shlex.split(line)[1:], "")
        assert code
        found = [one.partition("   ")[0] for one in re.findall("^  fix: (.*)", err, re.MULTILINE)]
        assert found == [fix]
        echoed, _, command = fix.rpartition(" | ")
        text = "".join(f"{word}\n" for word in shlex.split(echoed)[1:])
        assert called(shlex.split(command)[1:], text)[2] == 0


def test_a_fix_of_a_slip_gives_the_answer_that_was_meant():
    lines = [
        line
        for command, (text, given), options in product(["eval", "check", "map"], FORMULAS, OPTIONS)
        if command != "map" or ({*given} <= {*"xyz"} and "--json" not in options)
        if command != "check" or "--json" not in options
        for line in with_slips(command, text, given, options)
    ]
    failed = []
    with alone():
        for name, text in FILES.items():
            with open(name, "w") as file:
                file.write(text)
        for right, wrong in random.Random(1).sample(lines, 300):
            meant, typed, answer = called(right, ""), wrong, called(wrong, "")
            while answer[2] == 2 and (fix := fix_of(*answer[:2])) not in ([], typed):  # or the next true message
                typed, answer = fix, called(fix, "")
            if (answer[0], answer[2]) != (meant[0], meant[2]):
                failed.append(f"{shlex.join(wrong)}   {shlex.join(typed)}   {answer}")
    assert not failed, "\n".join(failed)


@each(
    "line, meant",
    [
        ('eval "sin(30 deg)"', 'eval "sin(pi/6)"'),
        ('eval "derivative(x**2*2)" x=3', 'eval "4*x" x=3'),
        ('eval "derivative(x**2*a, x)" x=3 a=5', 'eval "30"'),
        ('eval "a*b" a=three b=2', 'eval "6"'),
        ('eval "a*b" a=three b=two --wrt b', 'eval "a*b" a=3 b=2 --wrt b'),
        ('check "a*b" a=three b=2', 'check "a*b" a=3 b=2'),
    ],
)
def test_a_fix_of_a_slip_in_a_formula_gives_the_answer_that_was_meant(line, meant):
    typed = shlex.split(line)
    for _ in range(3):
        out, err, code = called(typed, "")
        if not code:
            break
        (fix,) = re.findall("^  fix: (.*)", err, re.MULTILINE)
        typed = shlex.split(fix)[1:] if fix.startswith("agrad ") else [typed[0], fix, *typed[2:]]
    assert (out, code) == (called(shlex.split(meant), "")[0], 0)


@each("claims, code", [(["x=y", "y=x"], 0), (["x=y", "y=2"], 1), (["x=2", "y=x"], 1), (["y=3"], 1), ([], 0)])
def test_one_claim_that_disagrees_is_enough_to_fail(claims, code):
    words = [word for claim in claims for word in ("--claim", claim)]
    assert called(["check", "x*y", "x=5", "y=7", *words], "")[2] == code


@each("slip", ["x**2 - 2 for x", "x*y = 2, x = y for x, y"])
def test_solve_without_a_start_has_a_fix_that_solves(slip):
    _, err, _ = called(["run", "-"], f"solve {slip}\n")
    (fix,) = re.findall("^  fix: (.*)", err, re.MULTILINE)
    assert called(["run", "-"], f"{fix}\nassert max(x**2) ~= 2 +- 1e-9\n")[2] == 0


@each("words", [["solve", "x^2 == a for x from 1", "a=2"], ["solve", "x^2 == a*b", "b=1", "a=2"]])
def test_the_values_behind_a_statement_come_before_it_in_its_fix(words):
    _, err, code = called(words, "")
    (text,) = re.findall(r'^  fix: echo "(.*)" \| agrad run -$', err, re.MULTILINE)
    assert (text, code) == (f"{'; '.join(words[2:])}; {' '.join(words[:2])}", 2)
