"""Gather the inputs of `tests/corpus.txt` anew, and write it: `python tests/support/collect.py`.

They come from the documents, the tables of messages, commands, functions and error kinds, the lesson, the examples, the
tests of the language, and random texts. Left out is what takes long, and what does not answer the same in two processes.
"""

from __future__ import annotations

import ast
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import pasted
import sentences
import tutorials
from corpus import FILE, Entry, machine, read
from transcript import blocks, statements

from agrad.cli.lesson.chapters import chapters
from agrad.cli.main import COMMANDS as SHELL_COMMANDS
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.errors import AgradError
from agrad.grammar.commands import COMMANDS
from agrad.grammar.diagnostics import Source
from agrad.grammar.help import words
from agrad.grammar.help import words as meanings
from agrad.grammar.help.error_kinds import KINDS
from agrad.grammar.help.help import OPERATORS, topics
from agrad.grammar.pytorch import names as pytorch
from agrad.grammar.syntax.errors.messages import CARET, MESSAGES
from agrad.grammar.syntax.keywords import ABSENT, COMMANDS_ELSEWHERE, NO_COMMANDS
from agrad.grammar.syntax.parser import parse

ROOT = Path(__file__).parents[2]
SECONDS = 0.12  # of a text from a test; of all others SLOW
SLOW = 1.5
LARGEST = 4000  # characters of what a text from a test answers
RANDOM = 250
TOGETHER = 8  # texts in a session
DANGER = re.compile(
    r"/etc|/proc|/dev|~/|://|\.\./|/tmp|limit |while True|while 1\b|while x\b|input\(|1000000|10\*\*[5-9]|\d{7}|\de[6-9]|5_000"
)
HEAVY = "hostile budget interruption random_statements no_escape several_sessions native_loops bits_of_loops".split()

USUAL = """\
manual_seed(1); var x = [1, 2]; var s = 2; var W = [[1, 2, 3], [4, 5, 6]]; k = [3, -4]; n = 0; m = k > 0; p = (1, [2, 3])
y = sum(x**2)*s; z = W*s; v = exp(s)
def f(t) = t*x"""

DATA = {
    "points.csv": "x,y,t\n1,2,5\n3,4,6\n-1,1,7\n0.5,0.25,8\n",
    "named.csv": 'name,x (m),y (m)\na,1,2\nb,0.5,-1\n"c, d",3,1e-3\n',
    "german.csv": "x;y\n1,5;2\n2,5;-3\n3;4,25\n",
    "gaps.csv": "x,y\n1,2\nNA,3\n,4\n5,6\n",
    "tabs.tsv": "# a comment\nx\ty\n1\t2\n3\t4\n",
    "bad.csv": "x,y\n1,2\n3,?\n5,6\n",
    "bare.csv": "1,2\n3,4\n5,7\n",
    "rows.jsonl": '{"x": 1, "y": 2, "at": {"lat": 52.5}}\n{"x": 3, "y": null, "at": {"lat": 10}}\n',
    "decay.csv": "t,n,s\n0,100,5\n1,61,4\n2,37,3\n3,22,3\n4,14,2\n5,8,2\n",
    "slips.ag": "x = 2\ny = sin(x) + z\nbackwrad y\n",
    "some.ag": "print 1\nprint q\nprint 2\n",
    "tell.ag": 'print f"{args[0]}: rate {rate:.2f}"\n',
    "all.ag": 'var a = 3\nb = log(a - 3)\na**2\nprint "text", "with \\"quotes\\""\nbackward b\ngrad a\ngraph b\nsin\n[1, nan]\ncheck a**2\n'
    "plot [1, 4, 9]\nm = 2 +/- 0.1\nm*3\nbudget m*3\nt = (1, [2, 3])\nt\nexplain a**2\ninfo a\nnames\nq\n",
}


def inputs(texts: list[str] | tuple[str, ...], sign: str = ">") -> list[tuple[str, str]]:
    return [(sign, text) for text in texts]


def shell(words: str, given: str = "", origin: str = "") -> Entry:
    lines = given.removesuffix("\n").split("\n") if given else []
    return Entry("cli", origin, [("$", words), *inputs(lines, "<")])


def data(name: str, text: str) -> Entry:
    return Entry("data", name, inputs(text.removesuffix("\n").split("\n"), "<"))


def of_documents() -> Iterator[Entry]:
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for path in documents:
        text = path.read_text("utf-8")
        for number, block in enumerate(blocks(text), 1):
            typed = statements(block) or [block.removesuffix("\n")]
            yield Entry("session", f"{path.name} {number}", inputs(typed))
    for path in sorted((ROOT / "tests" / "transcripts").glob("*.txt")):
        yield Entry("session", path.name, inputs(statements(path.read_text("utf-8"))))


def of_consoles() -> Iterator[Entry]:
    """The command lines of the documents, with the files that they make."""
    seen = set()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in re.findall(r"^```console\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
                for part in re.split(r"; (?=printf|agrad|echo)", line):
                    part = part.replace('; echo "exit code $?"', "")
                    made = re.fullmatch(r"printf ('.*?') > (\S+)", part)
                    fed = re.fullmatch(r"(?:printf|echo) ('.*?'|\".*?\") \| agrad (.*)", part)
                    if re.search(r"timeout|max-memory|dask|random", part):
                        continue
                    with suppress(ValueError):
                        if made and "/" not in made[2]:
                            yield data(made[2], shlex.split(made[1])[0].replace("\\n", "\n"))
                        elif fed and not re.search(r"[|>$]", fed[2]):
                            yield shell(fed[2], shlex.split(fed[1])[0].replace("\\n", "\n"), path.name)
                        elif (
                            part.startswith("agrad ") and not re.search(r" [|]|&&| in\b|\$x", part) and part not in seen
                        ):
                            seen.add(part)
                            yield shell(part[6:], "", path.name)
    for name, text in DATA.items():
        yield data(name, text)


def of_tables() -> Iterator[Entry]:
    for name, message in MESSAGES.items():
        if message.examples:
            yield Entry("each", f"syntax {name}", inputs([one.replace(CARET, "") for one in message.examples]))
    for name, command in COMMANDS.items():
        yield Entry("session", f"command {name}", inputs(command.example.split("; ")))
    for name, kind in KINDS.items():
        if kind.program:
            yield Entry("session", f"error {name}", inputs((*kind.program, *kind.fix)))
    for name, entry in FUNCTIONS.items():
        if entry.example:
            text, _, before = entry.example.partition("# with ")
            yield Entry(
                "session", f"function {name}", inputs([*filter(None, [before]), text.strip(), f"assert {text}"])
            )


def literal(value: object) -> str:
    """A sample's operand as it is typed. Raises ValueError for one that cannot be."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, bool | str | None):
        return repr(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' * (len(value) == 1)})"
    if hasattr(value, "value"):
        return literal(value.value)
    raise ValueError(value)


def of_samples() -> Iterator[Entry]:
    """Each function at its samples: the value, the gradient, the second derivatives, and its code in other languages."""
    for name, entry in FUNCTIONS.items():
        for number, sample in enumerate(entry.samples):
            *operands, attributes = sample if isinstance(sample[-1], dict) else (*sample, {})
            try:
                typed = [literal(operand) for operand in operands]
                named = [f"{key}={literal(value)}" for key, value in attributes.items()]
            except ValueError:
                continue
            letters = [f"a{place}" for place in range(len(typed))]
            given = f"[{', '.join(letters)}]" if entry.signature.variadic else ", ".join(letters)
            call = f"{name}({', '.join([given, *named])})"
            fixed = [text[0] in "('\"" or text in ("None", "True", "False") for text in typed]
            leaves = [f"{letter} = {text}" for letter, text in zip(letters, typed, strict=True)]
            leaves = [one if plain else f"var {one}" for one, plain in zip(leaves, fixed, strict=True)]
            second = f"h = hessian(lambda a0: sum({call})*1.5)(a0)"
            rest = [f"y = {call}", "graph y as program", "backward sum(y*y) retain", *([second] if letters else [])]
            yield Entry("session", f"sample {name} {number}", inputs([*leaves, *rest]))
            if number == 0 and name in OPS and all(re.fullmatch(r"-?[\d.e-]+", text) for text in typed):
                for language in ("py", "c", "js", "tex"):
                    yield shell(
                        shlex.join(["export", call, "--to", language, *(["--hessian"] if language == "py" else [])]),
                        "",
                        "sample",
                    )


def of_help() -> Iterator[Entry]:
    known = {*topics(COMMANDS), *KINDS, *words.GLOSSARY, *words.EXTRAS, *words.PARTS}
    known |= {*meanings.ATTRIBUTES, *meanings.METHODS, *meanings.NODE_ATTRIBUTES}
    known |= {
        *COMMANDS_ELSEWHERE,
        *NO_COMMANDS,
        *ABSENT,
        *pytorch.RENAMED,
        *pytorch.OWN_FORMS,
        *pytorch.KNOWN_ELSEWHERE,
    }
    known |= {word for usage, _ in OPERATORS for word in usage.split()}
    known |= {option for command in COMMANDS.values() for option in (*command.options, *command.keywords)}
    yield Entry(
        "each", "help", inputs(["help", *(f"help {word}" for word in sorted(map(str, known)) if "\n" not in word)])
    )
    for name in SHELL_COMMANDS:
        yield shell(f"{name} --help")
        yield shell(f"help {name}")
    for line in ["--help", "--version", "help", "functions", "examples", "config", "config --path", "completion bash", "completion fish",
                 "completion zsh", "sessions", "learn --list", "learn --print 2", "help nothing", "help sinus", "functions --pytorch",
                 "nothing", "evl 2", "--json", "diff x**2", "eval --jsn 2", "man"]:  # fmt: skip
        yield shell(line)


def of_lesson() -> Iterator[Entry]:
    """Each chapter, with every wrong answer and every other right one, as it is played from a pipe."""
    for chapter in chapters():
        typed: list[str] = []
        for step in chapter.steps:
            for reply in step.replies:
                typed += [*reply.tried, "repeat"]
            for hint in step.hints:
                typed += ["hint"] * bool(hint)
            for other in step.also:
                typed += [*other, "back"]
            typed += [one.statement + ("\n" if "\n" in one.statement else "") for one in step.answer]
        yield shell(f"learn {chapter.number}", "\n".join(typed) + "\nquit\n", chapter.key)


def of_files() -> Iterator[Entry]:
    for path in [*sorted((ROOT / "examples").glob("*.ag")), *sorted((ROOT / "examples").glob("*.py"))]:
        yield Entry("file", path.name, inputs(path.read_text("utf-8").removesuffix("\n").split("\n")))
        if path.suffix == ".ag":
            yield shell(f"run examples/{path.name} --json")
    for name, (text, _) in tutorials.SCRIPTS.items():
        yield Entry("file", f"{name}.py", inputs(text.strip("\n").split("\n")))
    for name, text in pasted.SNIPPETS.items():
        yield Entry("file", f"{name}.py", inputs((pasted.HEAD + text.strip("\n")).split("\n")))
    for path in sorted((ROOT / "tests" / "fuzz" / "corpus").glob("*.ag")):
        yield Entry("session", path.name, inputs([path.read_text("utf-8").removesuffix("\n")]))


EXPRESSIONS = [
    ("a**2*2", "a=3", "a"),
    ("x**2*sin(x) + y", "x=2 y=-1", "x,y"),
    ("sum(A @ v)*k", "'A=[[1, 2], [3, 4]]' 'v=[5, 6]' k=7", "A,v,k"),
    ("[r*cos(t), r*sin(t)]", "r=2 t=pi/6", "r,t"),
    ("log(x) if x > 1 else x**3", "x=0.5", "x"),
    ("sqrt(x - 1)", "x=1", "x"),
    ("x/0", "x=1", "x"),
    ("m*9.81*h", "m=2+/-0.1 h=3+/-0.05", "m,h"),
    ("logsumexp(v)", "'v=[1, 2, 3.5]'", "v"),
    ("det(M)", "'M=[[2, 1], [1, 3]]'", "M"),
]


def of_command_lines() -> Iterator[Entry]:
    for text, values, by in EXPRESSIONS:
        base = f"{shlex.quote(text)} {values}"
        for more in ("", f"--wrt {by}", f"--wrt {by} --json", f"--wrt {by} --format csv", f"--wrt {by} --format latex", f"--wrt {by} --order 2 --json",
                     f"--wrt {by} --hessian", f"--wrt {by} --hessian --json", f"--wrt {by} --hessian --format csv", f"--wrt {by} --jacobian --json",
                     f"--wrt {by} --jacobian --format csv", "-q --precision full", "--precision 3 --budget", f"--wrt {by} --ascii", f"--wrt {by} --color always"):  # fmt: skip
            yield shell(f"eval {base} {more}".strip())
        for form in ("text", "tree", "boxes", "dot", "mermaid", "program", "json", "svg", "tikz", "page"):
            yield shell(f"graph {base} --as {form}")
        yield shell(f"graph {base} --depth 1 -o g.json")
        for more in ("", "--json", f"--claim {by.split(',')[0]}=7", f"--wrt {by.split(',')[0]} --precision 4"):
            yield shell(f"check {base} {more}".strip())
        for language in ("c", "js", "py", "ag", "tex"):
            for more in ("", "--hessian"):
                yield shell(
                    f"export {shlex.quote(text)} {values if '[' in values else ''} --wrt {by} --to {language} {more}".strip()
                )
    for line in ["eval '2*'", "eval q", "eval 'x*2' 'x=[1, 2]' --wrt x", "eval -f nowhere", "eval 'sin(x)' 'x=[[1], [2, 3]]'", "eval 'x' x=", "eval",
                 "eval 2 --wrt x", "eval x x=2 --order 0", "eval x x=2 --jvp y=1", "eval 'x*y' x=2 y=3 --jvp x=1", "eval 'x*y' x=2 y=3 --jvp x=1 --json",
                 "eval 'x**2' 'x=[3, 4]' --wrt x --vjp '[1, 1]'", "eval 'x**2' 'x=[3, 4]' --wrt x --vjp '[1, 1]' --json", "eval -e 'u = x**2 + 1' -e 'log(u)' -e 'u**3' x=2 --wrt x",
                 "eval 'mean(y)' y=@examples/chunks.csv:price", "eval 'x' x=@nowhere.csv", "eval 'x' x=@points.csv:q", "eval 'x' x=2 --precision 0", "eval 'exp(1)' --precision 17",
                 "eval 2 3", "eval x y=2", "eval 'x=2'", "eval '2x' x=1", "eval -", "eval 'plot x' x=1", "eval -e 'var x = 2' -e 'x**2' --wrt x", "eval 'x' x=2 --no-files --graph g.svg",
                 "eval 'x**2' x=2 --graph g.dot", "run slips.ag", "run --check slips.ag", "run --check slips.ag --json", "run some.ag", "run --keep-going some.ag", "run --keep-going some.ag --json",
                 "run -D rate=0.1 tell.ag -- hello", "run tell.ag", "run all.ag", "run all.ag --json", "run all.ag --echo", "run all.ag --precision 3", "run nowhere.ag", "run --no-files examples/chunks.ag",
                 "all.ag", "repl all.ag", "fit 'a*exp(-b*t)' decay.csv --y n --over a=90,b=0.4", "fit 'a*exp(-b*t)' decay.csv --y n --over a=90,b=0.4 --sigma s",
                 "fit 'a*exp(-b*t)' decay.csv --y n --over a=90,b=0.4 --sigma s --json", "fit 'a*t' decay.csv --y q --over a=1", "fit 'a*q' decay.csv --y n --over a=1", "fit 'a*t' decay.csv --y n",
                 "fit 'a - b*width' examples/chunks.csv --y price --over a=1,b=1 --json", "fit 'a*x' bad.csv --y y --over a=1", "map", "map x", "map x nowhere.csv", "map q points.csv"]:  # fmt: skip
        yield shell(line)
    for more in ("", "--wrt x", "--wrt x,y", "--wrt x,y --order 2", "--wrt x,y --hessian", "--wrt x --json", "--wrt x --to jsonl", "--keep t", "--keep all --value z", "--where 'x > 0'",
                 "--backend python --wrt x", "--backend llvm --wrt x", "--precision 3", "-D k=3", "-o out.csv", "-o out.jsonl --wrt x", "-o out.npy", "--u x=0.1 --u y=@t", "--threads 1 --wrt x,y",
                 "--on-error null", "--columns a,b,c", "--header 0", "--skip 1"):  # fmt: skip
        for file in ("points.csv", "bad.csv") if "o out" not in more else ("points.csv",):
            yield shell(f"map 'x*y + sin(x)' {file} {more}".strip())
    for line in ["'x*v' named.csv -c 'v=y (m)' -c 'x=x (m)' --keep name --wrt v", "'x*y' german.csv --wrt x", "'x*y' german.csv --decimal , --delimiter ';'", "'x + y' gaps.csv", "'x + y' gaps.csv --na NA,",
                 "'x*y' tabs.tsv --wrt y", "'a*b' bare.csv --columns a,b", "'a*b' bare.csv", "'x*\"at.lat\"' rows.jsonl", "'x*\"at.lat\"' rows.jsonl --json --wrt x", "-e a='x*y' -e b='x + y' points.csv --wrt x --where 'x > 0'",
                 "'[x*y, x + y]' points.csv --wrt x,y --jacobian", "'(x - mean(x))/std(x)' points.csv --whole mean,std --wrt x", "'x if x > 0 else -x**2' points.csv --wrt x", "'log(x)' points.csv --wrt x",
                 "'x*w' points.csv -D 'w=[1, 2]'", "'sum([x, y]*w)' points.csv -D 'w=[1, 2]' --wrt x,y", "'scan(lambda s, r: s*x + r, 0, [1, 2, 3])' points.csv --wrt x", "'x**2' - --wrt x"]:  # fmt: skip
        yield shell(f"map {line}", "x,y\n1,2\n3,4\n" if " - " in line else "")
    yield shell(
        "repl", "var x = 3\nx**2\nbackward x**2\nx.grad\nq\nfor i in range(2):\n    print i\n\n2+*\nundo\nnames\n"
    )
    yield shell("run -", 'var a = 3\na**2\nprint "a is", a\nbackward a**2\ngrad a\nplot x**2 for x in -1..1\n')
    yield shell("run - --json", 'var a = 3\na**2\nprint "a is", a\nbackward a**2\ngrad a\nplot x**2 for x in -1..1\n')


def kept_of(text: str) -> bool:
    """Whether a text of a test is likely a text of the language."""
    if not 3 <= len(text) <= 900 or DANGER.search(text) or re.fullmatch(r"[\w.… -]*", text):
        return False
    try:
        return bool(parse(Source("session", text)))
    except AgradError:
        return False


def of_tests() -> Iterator[Entry]:
    seen: set[str] = set()
    for path in sorted((ROOT / "tests" / "grammar").rglob("test_*.py")):
        if any(word in path.stem for word in HEAVY):
            continue
        module = ast.parse(path.read_text("utf-8"))
        loose: list[str] = []
        prelude: list[str] = []
        for node in module.body:
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                prelude += [node.value.value.removesuffix("\n")] * (
                    node.targets[0].id in ("START", "BEGIN", "BEFORE", "SETUP", "HEAD")
                )
            doc = ast.get_docstring(node, clean=False) if isinstance(node, ast.FunctionDef | ast.ClassDef) else None
            inside = {id(one) for part in getattr(node, "body", []) for one in ast.walk(part)}
            session: list[str] = []
            for one in ast.walk(node):
                if (
                    isinstance(one, ast.Constant)
                    and isinstance(one.value, str)
                    and one.value != doc
                    and kept_of(one.value)
                ):
                    (session if id(one) in inside and isinstance(node, ast.FunctionDef) else loose).append(one.value)
            in_calls = [
                word.value
                for call in sorted(
                    (one for one in ast.walk(node) if isinstance(one, ast.Call) and id(one) in inside),
                    key=lambda one: (one.lineno, one.col_offset),
                )
                for word in call.args
                if isinstance(word, ast.Constant) and isinstance(word.value, str) and word.value in session
            ]
            if in_calls:
                yield Entry("session", f"{path.name} {node.name}", inputs(in_calls))
        loose = [text for text in dict.fromkeys(loose) if text not in seen]
        seen |= {*loose}
        name = ""
        if prelude:
            name = path.stem
            yield Entry("prelude", name, inputs(prelude))
        needy = (
            []
            if prelude
            else [text for text in loose if any(map(wants, re.findall(r"\b[a-zA-Z]\b", text), [text] * 9))]
        )
        for start in range(0, len(needy), TOGETHER):
            yield Entry("session", f"{path.name} {start}", inputs([USUAL, *needy[start : start + TOGETHER]]))
        for text in loose:
            if text not in needy:
                yield Entry("each", name, inputs([text]))


def wants(name: str, text: str) -> bool:
    """Whether a text reads a name of USUAL that it does not give a value."""
    return name in "xsWknmpyzvf" and not re.search(rf"\b{name}(, \w)* =[^=]|\b(def|for|lambda|import) {name}\b", text)


def of_random() -> Iterator[Entry]:
    dice = random.Random(7)
    texts = [sentences.SENTENCES.text(dice, "simple").strip() for _ in range(RANDOM)]
    texts += [sentences.mutate(dice.choice(sentences.STORE), dice).strip("\n") for _ in range(RANDOM)]
    texts += [sentences.fitting(dice) for _ in range(RANDOM)]
    texts = [text for text in texts if text.strip() and len(text) < 400 and not DANGER.search(text)]
    for start in range(0, len(texts), TOGETHER):
        yield Entry("session", f"random {start}.py test_", inputs([USUAL, *texts[start : start + TOGETHER]]))


def of_prompts() -> Iterator[Entry]:
    texts = ["", "s", "sin", "x.", "x.gr", "y.re", "backward ", "backward y ", "graph ", "graph y as ", "step ", "step sgd x ", "help ", "set ", "limit ", "f(", "sum(x, ", "torch.", "torch.nn.", "np.", "for i in ",
             "if x", "print f\"{x", "plot x for ", "plot t[\"", "save \"", "fit y ~ a*x over ", "minimize ", "solve ", "def g(a):\n    ret", "nn.Lin", "optim.", "zer", "conv", "softmx", "W[0, ", "x ** ", "del ", "check ", "explain "]  # fmt: skip
    yield Entry("complete", "usual", inputs(texts))
    wrong = ast.parse((ROOT / "tests" / "grammar" / "lint" / "test_lint.py").read_text("utf-8"))
    found = [
        one.value.replace(CARET, "")
        for one in ast.walk(wrong)
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and "agrad" not in one.value
    ]
    found += [path.read_text("utf-8") for path in sorted((ROOT / "examples").glob("*.ag"))]
    yield Entry(
        "lint",
        "",
        inputs([text for text in dict.fromkeys(found) if len(text) > 3 and not re.fullmatch(r"[a-z ]*", text)]),
    )


def gathered() -> list[Entry]:
    usual = Entry("prelude", "usual", inputs([USUAL]))
    parts = [
        of_documents,
        of_consoles,
        of_tables,
        of_samples,
        of_help,
        of_lesson,
        of_files,
        of_command_lines,
        of_prompts,
        of_tests,
        of_random,
    ]
    return [usual, *(entry for part in parts for entry in part())]


class Late(BaseException):
    """An entry took too long."""


def late(*_: object) -> None:
    raise Late


def trial(entries: list[Entry]) -> list[tuple[list[str], float]]:
    """Each entry's lines and seconds, in this process; [] for one that takes too long."""
    from time import process_time

    from corpus import Runner, workshop

    found = []
    signal.signal(signal.SIGPROF, late)
    with workshop() as folder:
        runner = Runner(folder)
        for entry in entries:
            begun = process_time()
            signal.setitimer(signal.ITIMER_PROF, 3)
            try:
                lines = runner.answered(entry)
                signal.setitimer(signal.ITIMER_PROF, 0)
            except (Late, Exception) as problem:
                signal.setitimer(signal.ITIMER_PROF, 0)
                os.chdir(folder)
                sys.stderr.write(f"{entry.head}: {problem!r} {entry.inputs[:2]}\n")
                lines = []
            found.append((lines, process_time() - begun))
    return found


def text_of(entries: list[Entry]) -> str:
    from corpus import escaped, lines_of

    def one(entry: Entry) -> str:
        made = [entry.head]
        for sign, text in entry.inputs:
            made += lines_of(sign, text, ".") if sign == ">" else [f"{sign} {escaped(text)}".rstrip()]
        return "\n".join(made)

    return "\n\n".join(map(one, entries)) + "\n"


def main() -> None:
    entries = gathered()
    if len(sys.argv) > 1:  # a trial: `collect.py FILE OUT`
        Path(sys.argv[2]).write_text(repr(trial(read(Path(sys.argv[1]).read_text("utf-8")))), "utf-8")
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "inputs.txt")
        source.write_text(text_of(entries), "utf-8")
        entries = read(source.read_text("utf-8"))
        made = {seed: Path(folder, seed) for seed in "12"}
        begun = [
            subprocess.Popen(
                [sys.executable, __file__, source, out], env=os.environ | {"PYTHONHASHSEED": seed}, cwd="/"
            )
            for seed, out in made.items()
        ]
        if any(process.wait() for process in begun):
            sys.exit("a trial failed")
        runs = [ast.literal_eval(out.read_text("utf-8")) for out in made.values()]
    kept = []
    for entry, (one, spent), (other, _) in zip(entries, *runs, strict=True):
        from_tests = (entry.kind == "each" and len(entry.inputs) == 1) or ".py test_" in entry.origin
        if one != other or not one:
            differing = next((pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]), "")
            sys.stderr.write(f"not the same: {entry.head}: {differing}\n")
        elif spent > (SECONDS * (1 + len(entry.inputs) / 4) if from_tests else SLOW):
            sys.stderr.write(f"{spent:.2f} s: {entry.head} {entry.inputs[:2]!r:.150}\n")
        elif from_tests and sum(map(len, one)) > LARGEST * len(entry.inputs):
            sys.stderr.write(f"large: {entry.head}\n")
        else:
            kept.append((entry, one, spent))
    FILE.write_text("\n\n".join([f"# {machine()}", *("\n".join(one) for _, one, _ in kept)]) + "\n", "utf-8")
    by_kind: dict[str, list[float]] = {}
    for entry, one, spent in kept:
        figures = by_kind.setdefault(f"{entry.kind} {entry.origin.split()[0] if entry.origin else ''}"[:14], [0, 0, 0])
        for place, more in enumerate((1, spent, sum(map(len, one)))):
            figures[place] += more
    for name, (count, spent, size) in sorted(by_kind.items(), key=lambda pair: -pair[1][1]):
        sys.stderr.write(f"{name:16} {count:6} {spent:8.2f} s {size:9}\n")
    sys.stderr.write(f"{sum(f[1] for f in by_kind.values()):.1f} s\n")


if __name__ == "__main__":
    main()
