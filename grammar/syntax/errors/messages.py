"""The messages of all syntax errors, in one table: the text, how to correct the error, and examples.

The table is also the test: in each example a ‸ shows where the caret of its message is.

A new syntax error takes two changes. Here, an entry of MESSAGES:

    "triple equals": SyntaxMessage(
        "agrad has one sign for equality",
        examples=("a ==‸= b",),
    ),

And, in recognisers.py, a function that is added to the list at the end of that file; its place there is its priority:

    def _triple_equals(context: ErrorContext) -> AgradError | None:
        if context.joined() != "===":
            return None
        return syntax_error("triple equals", context.place, fixes=[f"{context.head} == {context.following}"])

The lexer and the builder of the syntax tree raise the errors that they find themselves. The tests parse every example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agrad.engine.errors import AgradError, Hint, Label, SyntaxMistake
from agrad.engine.lazy import pattern
from agrad.engine.struct import Struct
from agrad.engine.text import truncate
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax.keywords import SUPERSCRIPTS

CARET = "‸"


class SyntaxMessage(Struct):
    """A message, with placeholders in braces, and example texts.

    `label` is written after the caret. A `hint` says in words how to correct the error; an empty one is left out.
    A fix, which is text to type, depends on the statement: it is passed to `syntax_error`.
    """

    message: str
    hint: str = ""
    label: str = ""
    examples: tuple[str, ...] = ()


MESSAGES: dict[str, SyntaxMessage] = {
    # Characters
    "unknown character": SyntaxMessage(
        "`{character}` means nothing in agrad",
        examples=("2 ‸$ 3", "a‸\x00b", "‸\ud800", "1 + ‸\\\n2"),
    ),
    "look-alike": SyntaxMessage(
        "agrad does not use the character `{character}`",
        hint="type {sign} instead",
        label="{code}",  # where a terminal has no such character
        examples=(
            *("2 ‸✕ 3", "3 ‸– 1", "6‸⁄2", "print ‸“hello”", "a ‸&& b", "‸!x", "x‸\xa0+ 1"),
            *("x ‸＝ 1", "1 ‸＋ 2", "x = ‸１２", "x = ‸٣", "2‸＊x", "‸［1, 2］", "n‸！", "‸①"),
        ),
    ),
    "bad number": SyntaxMessage(
        "`{number}` is not a number",
        hint="write numbers as 2, 2.5, .5 or 1e-3",
        examples=("‸1.2.3", "‸1e", "2 + ‸0xG", "‸0x", "‸0b102", "‸0x1.8", "‸1__0", "x = ‸1..2", "‸5_"),
    ),
    "number and name": SyntaxMessage(
        "an operator is missing between `{number}` and `{name}`",
        examples=("2‸x", "3‸sin(x)", "y = 2.5‸pi*r", "1‸if x else 2", "2 * 2‸x**2"),
    ),
    "unterminated string": SyntaxMessage(
        "this string does not end on its line",
        hint="close it with the quote it begins with",
        examples=(
            'print ‸"loss',
            "x = ‸'",
            'print ‸f"loss {x}',
            'print ‸f"a',
            'print ‸"a\\"',
            'print ""‸"long',
        ),
    ),
    "single brace": SyntaxMessage(
        "a single `}}` is not allowed inside an f-string",
        hint="for the character itself write }}}}",
        examples=('print f"a ‸} b"',),
    ),
    "nested format": SyntaxMessage(
        "the format after the colon is plain text in agrad, without braces",
        examples=('print f"{x:‸{w}}"',),
    ),
    "braces": SyntaxMessage(
        "agrad has no blocks in braces: a block is indented, behind a colon",
        examples=("if x ‸{ y }",),
    ),
    "points": SyntaxMessage(
        "what `plot` draws is separated by commas, x first: plot x, y",
        examples=("plot t ‸n", "plot y ‸vs x", 'plot "a.csv" ‸using 1:2', 'plot t["time (s)"] ‸t.v'),
    ),
    "fit option": SyntaxMessage(
        "`{word}` is not an option of `fit`, which has over, sigma and from",
        examples=(
            "fit y ~ a*x over a ‸bounds a > 0",
            "fit y ~ a*x over a, b ‸guess a=1",
            "fit y ~ a*x over a ‸fix b",
            "fit y ~ a*x over a sigma s ‸robust",
            "fit y ~ a*x over a with ‸weights w",
            "fit y ~ a*x over a ‸yerr s",
            "fit y ~ a*x over a ‸with a=1",
            "fit y ~ a*x ‸vary a",
        ),
    ),
    "fit start": SyntaxMessage(
        "the names follow `over`, and the values they start from follow `from`",
        examples=(
            "fit y ~ a*x over a‸=1",
            "fit y ~ a*x + b over a ‸= 1, b = 0 sigma s",
            "fit y ~ a*x over a‸=1 from b=1",
        ),
    ),
    "one equals sign": SyntaxMessage(
        "the two sides of an equation have `==` between them",
        examples=("solve f(x) ‸= 20 for x from 1", "solve x + y ‸= 3, x - y == 1 for x, y from 0, 0"),
    ),
    "uncertain sum": SyntaxMessage(
        "a sum after `{sign}` needs brackets, which say to what it belongs",
        examples=("‸2 ± 0.1 + 1", "y = ‸x +- u - 1", "f(‸2 +/- s[0] + (1 - x), 3)"),
    ),
    "no unknowns": SyntaxMessage(
        "`{word}` needs the names that it changes",
        hint="{word} … over a, b",
        examples=("fit y ~ ‸a*x", "minimize ‸loss"),
    ),
    "no equation": SyntaxMessage(
        "`solve` takes equations",
        hint="solve x**2 == 2 for x from 1",
        examples=("solve ‸x**2 - 2 for x from 1",),
    ),
    # Brackets
    "unclosed bracket": SyntaxMessage(
        "this `{bracket}` is never closed",
        hint="add a {closer}",
        examples=(
            "‸(2+3",
            "f‸(2, 3",
            "x‸[0",
            "‸[1, 2",
            "f‸(2\ny = 3",
            "x = ‸(2 +\ny = 3",
            'print f"‸{x"',
            "y = f‸((x)",
            "if ‸(x:\n  y",
            "for i in range‸(3: y",
            "x = ‸(1 + 2\ny = 3\nz = (4)",
            "x = ‸[1, 2\ny = [3, 4]",
            "y = f(‸[1, 2\n  3, 4)",
            'x = 1\ny = ‸(2\n3 4\nprint f"{x}", (5)',
        ),
    ),
    "stray bracket": SyntaxMessage(
        "this `{bracket}` closes nothing",
        hint="delete it, or open one before it",
        examples=("2+3‸)", "x = 1‸]", "f(2)‸)", "‸)", "2 + ‸)"),
    ),
    "mismatched bracket": SyntaxMessage(
        "this `{bracket}` does not match the `{opener}` before it",
        hint="close it with {closer}",
        examples=("‸(2 + 3]", "f‸[2)"),
    ),
    # Lines and blocks
    "tabs and spaces": SyntaxMessage(
        "this line and the one above it mix tabs and spaces differently in their indentation",
        hint="indent both with spaces",
        examples=("if x:\n\ty = 1\n‸    z = 2", "if x:\n    y = 1\n‸\tz = 2"),
    ),
    "dedent": SyntaxMessage(
        "this line is indented less than the one above it, but not as any block around it",
        examples=("if x:\n    y = 1\n‸  z = 2",),
    ),
    "first indent": SyntaxMessage(
        "the first line is indented more than one below it",
        hint="begin both in the same column",
        label="this indentation",
        examples=("‸  x = 1\ny = 2", "# a\n\n‸  x = 1\n y = 2", "‸  if x:\n    y\nz", "‸\tx = 1\ny = 2"),
    ),
    "indent": SyntaxMessage(
        "this line is indented, but the line above it does not open a block",
        examples=("x = 1\n  ‸y = 2", "if x: y = 1\n    ‸z = 2"),
    ),
    "no block": SyntaxMessage(
        "a block must follow this `:`",
        hint="indent the next line, or write a statement after the :",
        examples=("if x‸:\ny = 1", "def f(x)‸:", "if x:\n    while y‸:\nz = 1", "time‸:", "time‸: \nx = 1"),
    ),
    "kind": SyntaxMessage(
        "there is no kind of error called {name}",
        hint="{usage}",
        examples=("fails ‸zork: x", "fails ‸fred: backward e", "def f(x):\n    fails ‸zork:\n        x"),
    ),
    "block in line": SyntaxMessage(
        "`{word}` opens a block, so it cannot follow a `{sign}` on the same line",
        hint="put it on the next line{where}",
        examples=("for i in x: ‸if i: y = 1", "no_grad: ‸for i in x: w -= 1", "time: ‸while x: y", "x = 1; ‸time: y"),
    ),
    "missing colon": SyntaxMessage(
        "a `:` is missing here, before the block",
        examples=(
            "if x‸\n  y = 1",
            "while x < 3‸",
            "for i in range(3)‸",
            "if x: y\nelse‸",
            "if x ‸y = 1",
            "if x:\n  y\nelse‸\n  z",
        ),
    ),
    "else without if": SyntaxMessage(
        "this `{word}` has no `if`",
        hint="put it directly after the block of an if, indented like that if",
        examples=(
            "‸else: x = 1",
            "‸elif x: y",
            "if x:\n    y = 1\n    ‸else:\n    z = 1",
            "for i in x: y = 1\n‸else: z = 1",
        ),
    ),
    "else if": SyntaxMessage(
        "`else if` is written as one word",
        hint="elif",
        examples=("if x: y\nelse ‸if z: w",),
    ),
    "if without else": SyntaxMessage(
        "an `if` inside an expression needs an `else`",
        hint="a if c else b",
        examples=("x = 1 if y‸", "print 1 if y‸"),
    ),
    "return outside": SyntaxMessage(
        "this `{word}` is outside a function",
        examples=("‸return 3", "for i in x: ‸return i"),
    ),
    "break outside": SyntaxMessage(
        "this `{word}` is outside a loop",
        examples=("‸break", "if x: ‸continue", "for i in x:\n    def f(y):\n        ‸break"),
    ),
    "new statement": SyntaxMessage(
        "`{word}` begins a new statement",
        hint="put it on the next line, or after a ;",
        examples=("x = 3 ‸print x", "x ‸backward y", "f(x) ‸return", "x = 1 ‸y = 2", "x ‸explain d"),
    ),
    # Words
    "reserved": SyntaxMessage(
        "`{word}` is a reserved word of {owner}, so it cannot be a name",
        hint="choose another name",
        examples=(
            "‸backward = 3",
            "‸plot = 1",
            "‸explain = 3",
            "‸if = 3",
            "x = ‸if + 1",
            "def ‸if(x) = x",
            "def ‸print(x) = x",
            "var ‸vars = 3",
            "x = 2*‸explain",
            "forward d, ‸if",
            "info ‸print",
            "‸help = 3",
            "‸quit = 3",
            "‸print += 1",
            "def ‸print(x): y",
            "f(‸while=3)",
            "for ‸print in x: y",
            "2 * ‸print",
        ),
    ),
    "command value": SyntaxMessage(
        "`{word}` is a command, which has no value that could be assigned",
        examples=(
            "b = ‸budget y",
            "e = ‸explain y",
            "p = ‸plot y",
            "v = ‸var 3",
            "g = ‸grad w",
            "s = ‸save 's.ag'",
            "d = ‸load 'a.csv'",
            "m = ‸fit y ~ a*x over a",
            "x = 1; q = ‸formula x",
        ),
    ),
    "absent": SyntaxMessage(
        "agrad has no `{word}`",
        hint="{instead}",
        examples=(
            "‸try:\n    x",
            "‸global x",
            "‸raise x",
            "‸async def f(): x",
        ),
    ),
    "decorator": SyntaxMessage(
        "agrad knows no decorator `@{text}` here",
        hint="@torch.no_grad(), and @staticmethod in a class",
        examples=("@‸foo\ndef f(x): return x", "@‸staticmethod\ndef f(x): return x"),
    ),
    "class body": SyntaxMessage(
        "a class consists of methods and of values that it gives to names",
        hint="def f(self): …   or x = 3",
        examples=("class A:\n    ‸print 3", "class A:\n    ‸for i in range(3): x = i", "class A: ‸y.z = 3"),
    ),
    "bases": SyntaxMessage(
        "{name} can inherit from one class only",
        hint="class {name}(nn.Module): …",
        examples=("class A(B, ‸C): pass",),
    ),
    "comprehension": SyntaxMessage(
        "a `for` in brackets stands behind the one expression in them",
        hint="sum(i*j for i in 1..3 for j in 1..3)   for two of them",
        examples=("max(1, x ‸for x in y)",),
    ),
    "walrus": SyntaxMessage(
        "agrad has no `:=`",
        hint="assign it on the line before: {name} = ...",
        examples=("(x ‸:= 3)", "if x ‸:= 3: y"),
    ),
    "becomes": SyntaxMessage(
        "agrad has no `:=`",
        examples=("x ‸:= 3", "f(x) ‸:= x^2", "set x ‸:= 5", "x = 1; w[0] ‸:= 5"),
    ),
    "brackets": SyntaxMessage(
        "the argument of `{name}` must be in brackets",
        examples=("sin ‸x", "sqrt ‸4  # two", "exp ‸x + 1", "2 + sin ‸x"),
    ),
    "equation": SyntaxMessage(
        "`solve(A, b)` is for linear systems; an equation is solved by a command",
        hint="{instead}",
        examples=("solve(x**2 - 2 ‸= 0, x)", "y = solve(2*x ‸= 2)"),
    ),
    "declaration": SyntaxMessage(
        "agrad has no `{word}`: a value is assigned to the name alone",
        examples=("‸let z = 4", "‸const k = 3", "x = 1; ‸int n = 2"),
    ),
    "modulo": SyntaxMessage(
        "agrad has no `{word}`: the operator is `{sign}`",
        examples=("5 ‸mod 3", "x = (7 ‸mod 4) + 1", "5 ‸div 3"),
    ),
    "percent": SyntaxMessage(
        "agrad has no percentages: `%` is the remainder of a division",
        hint="{instead}",
        examples=("20‸% of 50", "x = 12.5‸% of 3 + 1", "50 + 20‸%", "20‸%"),
    ),
    "root of a power": SyntaxMessage(
        "it is not clear whether `√` includes this power",
        examples=("√x‸²", "y = 2*√x‸**3 + 1", "√√2 ‸^ 2"),
    ),
    "factorial": SyntaxMessage(
        "agrad has no sign for the factorial",
        hint="{instead}",
        examples=("5‸!", "x = n‸! + 1", "(2 + 3)‸!"),
    ),
    "units": SyntaxMessage(
        "agrad has no units of measurement",
        hint="multiply by the factor between them",
        examples=("3 ‸km to m", "20 ‸C in F", "3 ‸m s"),
    ),
    "imaginary": SyntaxMessage(
        "agrad has no complex numbers, and `{number}` would be one",
        hint="{instead}   if {name} is one of your names",
        examples=("1+2‸i", "3‸j", "2.5‸i * x"),
    ),
    "at": SyntaxMessage(
        "agrad has no `{word}`: a name gets its value before it is used",
        examples=("x**2 ‸at x=3", "sin(x) ‸where x = 2"),
    ),
    "derivative of": SyntaxMessage(
        "agrad has no `{word}`: it differentiates a function, at a point",
        examples=("‸derivative of x**2", "‸gradient of sin(t)*t", "‸derivative x**2", "‸differentiate x**2"),
    ),
    "file name": SyntaxMessage(
        "`{word}` takes the name of a file in quotes",
        examples=("save ‸lesson.ag", "load ‸lesson.ag  # mine"),
    ),
    "leibniz": SyntaxMessage(
        "agrad has no `d/d{by}`: it differentiates a function, at a point",
        examples=("‸d/dx x^2", "‸d/dt sin(t)", "x = 1; ‸d/dx 3x^2 + 2x"),
    ),
    "prime": SyntaxMessage(
        "agrad has no `{name}`: a derivative is written with grad",
        hint="{instead}",
        examples=("‸f'(x)", "‸h''(2)", "y = 2*‸g'(x) + 1", "‸y'", "‸h'(x) + g'(x)"),
    ),
    "arrow": SyntaxMessage(
        "agrad has no `->`",
        examples=("f = x ‸-> x^2", "root(x ‸-> x^2 - 2, 1)", "x ‸-> y", "f = (x ‸-> x**2)"),
    ),
    "defining word": SyntaxMessage(
        "agrad has no `{word}`: a function is defined with `def`",
        examples=("‸let f(x) = x^2", "‸function f(x, y) = x*y", "‸define f(x) := x^2"),
    ),
    "help": SyntaxMessage(
        "agrad does not ask with `?`",
        examples=("sin(x)‸?", "sin‸?", "x = ‸?", "y = 2*x‸?", "‸?sin"),
    ),
    "conditional": SyntaxMessage(
        "agrad has no `? :`",
        hint="a if c else b",
        examples=("x > 0 ‸? x : -x", "y = x == 2 ‸? 1 : 0", "f(x > 0 ‸? 1 : 2)"),
    ),
    "magic": SyntaxMessage(
        "`{word}` is a command of IPython, for notebooks of Python",
        examples=("‸%matplotlib inline", "x = 1; ‸%time sin(x)", "‸%%timeit\nx = 1"),
    ),
    "several leaves": SyntaxMessage(
        "`{word}` is followed by one name",
        hint="{instead}",
        examples=("‸var (a,b) = (1,2)", "‸var (a) = 1", "‸var (a, b) = f(x)"),
    ),
    "rows": SyntaxMessage(
        "a `;` does not end a row",
        hint="{instead}",
        examples=("x = [1, 2‸; 3, 4]", "det([a, b‸; c, d])", "[f(1), 2‸; 3, 4]"),
    ),
    "chain": SyntaxMessage(
        "`~=`, `in` and `is` compare two values and cannot be part of a chain",
        hint="a ~= b and b ~= c",
        examples=("a ~= b ‸~= c", "a < b ‸~= c", "a ~= b ‸== c", "‸x is None == y", "‸1 < x in y"),
    ),
    "alias": SyntaxMessage(
        "an import does not define names in agrad: `{module}` cannot be called `{name}`",
        hint="{instead}",
        examples=(
            "import torch.nn.functional as ‸G",
            "import numpy as ‸xp",
            "from torch.nn import functional as ‸G",
            "from torch import exp, sin as ‸s",
            "if 1:\n    import math as ‸m",
        ),
    ),
    "annotation": SyntaxMessage(
        "an annotation alone does nothing: it needs a value",
        hint="{instead}",
        examples=("x‸: int", "self.x‸: float", "x‸: y + 1"),
    ),
    "string prefix": SyntaxMessage(
        "agrad has no strings that begin with `{name}`",
        hint='"text", or f"loss {{loss}}"',
        examples=('print ‸r"a"', 'x = ‸b"a"'),
    ),
    "no command": SyntaxMessage(
        "agrad has no command `{word}`",
        examples=(
            "‸forwrd az",
            "‸explian d",
            "‸tiem: x = 3",
            "‸no_gard: x = 3",
            "‸backwrd loss",
            "‸infoo x",
            "‸foo bar",
        ),
    ),
    "shell command": SyntaxMessage(
        "`{text}` is a command of the shell, not a statement",
        hint="quit ends a session, and then: {text}",
        examples=("‸agrad learn", '‸agrad eval "x**2" x=2', "‸agrad run file.ag"),
    ),
    "option": SyntaxMessage(
        "`{word}` is not an option of `{command}`",
        examples=(
            "backward y ‸retian",
            "backward y retain ‸frsh",
            "backward d trace ‸trac",
            "backward y ‸sede [1, 2]",
            "forward y ‸wiht x=3",
            "forward y z ‸wth x=3, y=4",
            "graph d ‸dpeth 3",
            "graph d from a ‸dept 3",
            'graph d as dot ‸ot "d.gv"',
            "explain d ‸wtr a",
            "check f(x) ‸wtr x",
        ),
    ),
    "shape": SyntaxMessage(
        "`{word}` is written `{usage}`",
        examples=(
            "var x‸",
            "var ‸2 = 3",
            "var x‸, y = 2",
            "set x‸",
            "set x‸[0] = 3",
            "backward‸",
            "backward d ‸keep",
            "backward(y, retain_graph‸=True)",
            "grad ‸2",
            "retain a ‸+ b",
            "graph d as‸",
            "graph d as ‸3",
            "graph d depth‸",
            "graph d depth ‸x",
            "graph d depth ‸-1",
            "graph d from‸",
            "graph d from ‸2",
            "graph d to‸",
            "graph d to ‸file",
            "forward ‸3",
            "forward d ‸+ 1",
            "forward d with‸",
            "forward d with x‸",
            "forward d with x ‸3",
            "forward d with ‸3",
            "info ‸3",
            "info x ‸+ 1",
            "info x ‸print",
            "explain‸",
            "explain d ‸e",
            "explain d wrt‸",
            "explain d wrt ‸2",
            "time ‸x",
            "time ‸3",
            "step sgd‸",
            "step ‸0.1",
            "check x wrt‸",
            "check x ‸y",
            "check f(x) wrt ‸2",
            "check f(x) wrt x‸[0]",
            "vars ‸x",
            "quit ‸now",
            "help sin ‸cos",
            "zero_grad‸(x)",
            "del x ‸+ 1",
            "for i‸: x",
            "import‸",
            "from torch‸",
            "fails freed: grad ‸3",
            "fails‸: x",
        ),
    ),
    "def": SyntaxMessage(
        "a function is written `def f(x, y=2) = x**y`, or `def f(x):` with a block",
        examples=(
            "def f x = 3",
            "def ‸(x) = x",
            "def f(‸2) = x",
            "def f(x)‸",
            "def f(*x, ‸*y) = x",
            "def f(x) ‸x**2",
            "def‸",
        ),
    ),
    # Signs
    "= for ==": SyntaxMessage(
        "`=` gives a value to a name; to compare write `==`",
        examples=(
            "if x ‸= 3: y",
            "assert x ‸= 3",
            "while x ‸= 3: y",
            "f(2 ‸= 3)",
            "if x:\n  y\nelif z ‸= 3: y",
            "x = (2 +\ny ‸= 3)",
            "if (x and\n    y ‸= 3): z",
        ),
    ),
    "== for =": SyntaxMessage(
        "`==` compares; to give a value write `=`",
        examples=("var x ‸== 3", "set x ‸== 3", "def f(x) ‸== x**2"),
    ),
    "misspelt sign": SyntaxMessage(
        "`{sign}` is not an operator",
        hint="{instead}",
        examples=(
            *("x ‸=< 3", "x ‸=> 3", "f = x ‸=> x**2", "x ‸<> y", "x‸++", "x ‸<< 2", "x ‸>> 2", "3 ‸-> x"),
            *("x ‸=== 2", "if x ‸!== 2: y", "7 ‸%% 2", "A ‸%*% v", "(7 ‸%/% 2)", "x ‸%in% v"),
        ),
    ),
    "by entry": SyntaxMessage(
        "agrad has no dot before an operator or a bracket: both work entry by entry without it",
        examples=("v ‸.* w", "A‸.^2", "y = sin‸.(v) .+ 1", "(v ‸./ w)", "x‸.(2)"),
    ),
    "anonymous": SyntaxMessage(
        "`{sign}` makes no function in agrad: `lambda x: x**2` is one without a name",
        examples=("f = ‸@(x) x^2", "f <- ‸function(x) x^2", "root(‸@(x) x^2 - 2, 1)", "‸function(x) x^2"),
    ),
    "range of numbers": SyntaxMessage(
        "agrad has no `:` for the numbers from one to another",
        hint="{instead}",
        examples=("x = 1‸:5", "0:0.1‸:1", "sum(1‸:n)"),
    ),
    "missing operand": SyntaxMessage(
        "a value is missing {place}",
        examples=(
            "2*‸",
            "2 ±‸",
            "2 + ‸* 3",
            "‸* 3",
            "x =‸ ",
            "x =‸ # comment",
            "f(1, ‸, 2)",
            "(2 + ‸)",
            "x[‸]",
            "not‸",
            "if ‸: x",
            "x = 3 +‸\ny = 2",
            'print f"{‸}"',
            "print 1,‸",
            "x +=‸ ",
            "assert‸",
            "a and ‸or b",
            "‸, 2",
            "x = ‸= 3",
            "a ~= b +-‸ ",
            "def f(x) =‸",
            "return ‸* 2",
            "[1, ‸, 2]",
            "x if ‸else 3",
            "f(1,\n  2,\n  ‸,3)",
        ),
    ),
    "missing operator": SyntaxMessage(
        "{what} is missing between `{left}` and `{right}`",
        examples=(
            "3 ‸4",
            "x ‸y",
            "2 ‸x",
            "2 + a ‸x",
            "(1 + 2) ‸x",
            "(1) ‸2",
            "[1 ‸2]",
            "f(x ‸y)",
            "x = 2 ‸y",
            'print "loss" ‸x',
            "if x ‸y: z",
            "x[0] ‸3",
            "2 ‸None",
            "x = (1 +\n  2 ‸3)",
            "x = [1, 2,\n     3, 4\n     ‸5, 6]",
            "loss = mean((w*x + b\n        - y)**2 ‸zork)",
            "x = [1,\n 2\n ‸3]\ny = [4,\n 5 6]",
            "x = (1\n ‸2 + 3x)",
        ),
    ),
    "missing name": SyntaxMessage(
        "a name must follow the dot",
        examples=("x.‸", "y = x. ‸+ 2", "x.‸if"),
    ),
    # Targets and arguments
    "call as target": SyntaxMessage(
        "`{text}` is a call, which cannot be given a value",
        hint="{instead}",
        examples=("‸f(x) = x**2", "a = ‸f(x) = 3"),
    ),
    "value as target": SyntaxMessage(
        "`{text}` is a value, not a name, so nothing can be assigned to it",
        hint="name = value to name it, == to compare",
        examples=(
            "‸2 = x",
            "‸x + 1 = 2",
            "‸-x = 2",
            "‸True = 2",
            "a, ‸2 = x",
            "‸a == b = 3",
            "for ‸2 in x: y",
            "‸2 += 1",
        ),
    ),
    "bad target": SyntaxMessage(
        "`{text}` cannot be given a value",
        examples=(
            "‸[a, b] += x",
            "[a, ‸None] = x",
            "‸None = 3",
            '‸"a" = 3',
            "‸(a, b) += 1",
            "(a, (b, ‸...)) = x",
        ),
    ),
    "positional after keyword": SyntaxMessage(
        "an argument without a name cannot follow one with a name",
        examples=("f(a=1, ‸2)", "step sgd lr=0.1 ‸w"),
    ),
    "repeated keyword": SyntaxMessage(
        "`{name}` is given twice",
        examples=(
            "f(a=1, ‸a=2)",
            "forward d with x=1, ‸x=2",
            "graph d as dot ‸as text",
            "graph d depth 1 from a ‸depth 2",
        ),
    ),
    "depth": SyntaxMessage(
        "a depth counts operations, and {text} is not a whole number",
        hint="graph d depth 3",
        examples=("graph d depth ‸2.5", "graph d from a depth ‸1e-3"),
    ),
    "range": SyntaxMessage(
        "`{text}` is not a range of numbers: a curve is drawn from one end to the other",
        examples=(
            "plot f(x) for x in ‸range(-2, 2)",
            "plot f(x) for x in ‸[0, 2*pi]",
            "plot f(x) for x in ‸xs",
            'plot x**2 for x in ‸(0, 1) to "f.svg"',
        ),
    ),
    "undo": SyntaxMessage(
        "`undo` takes back a number of statements, and {text} is not one",
        hint="undo 3",
        examples=("undo ‸2.5", "undo ‸0"),
    ),
    "set option": SyntaxMessage(
        "`set` gives a leaf new data, turns `echo` or `noise` on or off, or says how `plots` are drawn",
        hint="set {choices}",
        examples=("set ‸x y", "set ‸echo maybe", "set ‸plots big"),
    ),
    "redo": SyntaxMessage(
        "`redo` brings back a number of statements, and {text} is not one",
        hint="redo 3",
        examples=("redo ‸2.5", "redo ‸0"),
    ),
    "again": SyntaxMessage(
        "`again` runs a line by its number, and {text} is not one",
        hint="again 5",
        examples=("again ‸2.5", "again 2..‸0"),
    ),
    "history": SyntaxMessage(
        "`history` shows a number of statements, and {text} is not one",
        hint="history 9",
        examples=("history ‸2.5", "history ‸0"),
    ),
    "repeated parameter": SyntaxMessage("the parameter `{name}` appears twice", examples=("def f(x, ‸x) = x",)),
    "parameter order": SyntaxMessage(
        "`{name}` needs a default, because a parameter before it has one",
        examples=("def f(x=1, ‸y) = x",),
    ),
    "step without names": SyntaxMessage(
        "`step` needs the leaves to update",
        hint="step sgd w b lr=0.1",
        examples=("step sgd ‸lr=0.1",),
    ),
    "with": SyntaxMessage(
        "agrad reads `with torch.no_grad():`, enable_grad, inference_mode, set_grad_enabled and detect_anomaly only",
        examples=("with ‸f(x): y", "with ‸x: y"),
    ),
    "no complement": SyntaxMessage(
        "agrad has no `~` before a mask: the opposite of a mask is mask == 0",
        hint="x[isnan(x) == 0]",
        examples=("x[‸~m]", "y = ‸~isnan(x)", "x[1, ‸~m]"),
    ),
    # The whole text
    "empty": SyntaxMessage("an expression is missing: there is nothing to compute", examples=()),
    "not an expression": SyntaxMessage("expected one expression here, not a statement", examples=()),
    "unexpected token": SyntaxMessage("`{text}` does not fit here", examples=("x[0] ‸: y", "break ‸+ 2", "pass ‸x")),
}


def syntax_error(message: str, span: Span, *, fixes: Sequence[str] = (), **words: str) -> AgradError:
    """The error with one message of the table, at a place; `words` fill the braces, `fixes` can be typed."""
    entry = MESSAGES[message]
    # A usage is agrad's own text, which is never too long.
    shown = {key: word if key == "usage" else _shown(word) for key, word in words.items()}
    hint = entry.hint.format(**shown)
    return AgradError(
        "syntax",
        entry.message.format(**shown),
        labels=[Label(span, entry.label.format(**shown))],
        fixes=[*short(fixes), *([Hint(hint)] if hint else [])],
        facts=SyntaxMistake(message),
    )


def _shown(word: str) -> str:
    """A piece of the text for a message: short, and without control characters."""
    word = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in word)
    return truncate(word, 60)


# The texts of fixes: the line of a mistake with something else in the place of it, as it can be typed.

_LONGEST = 200  # characters of a line that is proposed
# The rest of a line up to its comment, and the comment; a # in quotes does not begin one.
_COMMENT = r"""^((?:[^#"']|"[^"]*"|'[^']*')*)#.*$"""
# A product without its sign; `sign` before it may divide by all of it, or by the number alone.
_PRODUCT = pattern(
    r"(?P<sign>(?:\^|\*\*|/|%|÷|√)[ \t]*-?[ \t]*)?(?<![\w.])(?P<number>\d+(?:\.\d*)?|\.\d+)(?P<name>[^\W\d]\w*)"
)
# What belongs to the second factor: a call, and a power.
_FACTOR = pattern(rf"(?:\([^()\n]*\))?(?:[ \t]*(?:\^|\*\*)[ \t]*[\w.]+|[{''.join(SUPERSCRIPTS)}]+)?(?![\w.(\[])")
_IN_BRACES = pattern(r"(\^|\*\*)\{([^{}]*)\}")
_EXPONENT = pattern(r"\d+(?:\.\d*)?[eE]\d*")
_DEFINITION = pattern(r"[^\W\d]\w*\([^\W\d]\w*(?:, ?[^\W\d]\w*)*\)[ \t]*=[^=]")
_SEVERAL = pattern(r"[^\W\d]\w*[ \t]*=[^=,;()\[\]{}\"']+(?:,[ \t]*[^\W\d]\w*[ \t]*=[^=,;()\[\]{}\"']+)+")


def short(fixes: Iterable[str]) -> list[str]:
    """Those fixes that are short enough to be shown as they are typed."""
    return [fix for fix in fixes if fix.isprintable() and len(fix) <= _LONGEST]


def corrected(span: Span, text: str) -> str:
    """The line of a place, with another text there; without its indentation and its comment."""
    source = span.source
    whole, start = source.line_at(span.start), source.position(span.start)[1] - 1
    behind = whole[start + span.end - span.start :]
    return (whole[:start] + text + re.sub(_COMMENT, r"\1", behind)).strip()


def derivative_of(text: str, by: str, point: str = "1", order: int = 1) -> str:
    """The derivative of an expression at a point, or one of higher order."""
    function = text[: -len(f"({by})")] if re.fullmatch(rf"[^\W\d]\w*\({by}\)", text) else f"lambda {by}: {text}"
    return f"{'grad(' * order}{function}{')' * order}({point})"


def multiplied(text: str) -> str:
    """A text with the operators that are left out in `3x^2 + 2x`.

    An exponent such as that of 1e5 stays, and so does a product that may be read in two ways: `1/2x`.
    """
    return _PRODUCT.sub(lambda found: found[0] if _is_kept(found) else f"{found['number']}*{found['name']}", text)


def _is_kept(found: re.Match[str]) -> bool:
    return found["sign"] is not None or _EXPONENT.fullmatch(found[0]) is not None


def readings(number: Span, name: str) -> list[str]:
    """The line of `2x` with its sign; two lines where `1/2x` may be `1/(2*x)` or `1/2*x`. The name follows at once."""
    source, end = number.source, number.end + len(name)
    line_start = number.start - source.position(number.start)[1] + 1
    before = re.search(r"(?:\^|\*\*|/|%|÷|√)[ \t]*(-?)[ \t]*$", source.text[line_start : number.start])
    product = f"{number.text}*{name}"
    lines = [corrected(Span(source, number.start, end), product)]
    behind = _FACTOR.match(source.text, end)
    if before is not None and behind is not None:
        start = number.start - len(before[0]) + before.start(1) - before.start()
        lines.insert(0, corrected(Span(source, start, behind.end()), f"({before[1]}{product}{behind[0]})"))
    lines = [multiplied(_IN_BRACES.sub(r"\1(\2)", line)) for line in lines]
    if any(found["sign"] for found in _PRODUCT.finditer(lines[0])):
        return [Hint(f"{product}, and brackets around what divides or is a power: 1/(2*x), e^(2*x)")]
    return [line if re.search("[\"']", line) else as_definition(line) for line in lines]


def as_definition(line: str) -> str:
    """`f(x) = 3*x + 1` as the definition that it is; another line as it is."""
    return f"def {line}" if _DEFINITION.match(line) else line


def several_values(place: Span) -> list[str]:
    """`x = 2, y = 3`, and `var x = 2, y = 3`: the line of a place as two statements; nothing if it is neither."""
    line = corrected(Span(place.source, place.start, place.start), "")
    word = found[0] if (found := re.match(r"var[ \t]+", line)) else ""
    return [re.sub(r",[ \t]*", f"; {word}", line)] if _SEVERAL.fullmatch(line.removeprefix(word)) else []
