"""The messages of all syntax errors, in one table: the text, and how to correct the error.

A new syntax error takes three changes. Here, an entry of MESSAGES:

    "triple equals": "agrad has one sign for equality",

In examples.txt, below its name, texts that have it: a ‸ shows where the caret is.

    triple equals
      'a ==‸= b'

And, in recognisers.py, a function that is added to the list at the end of that file; its place there is its priority:

    def _triple_equals(context: ErrorContext) -> AgradError | None:
        if context.joined() != "===":
            return None
        return context.wrong("triple equals", context.place, fixes=[f"{context.head} == {context.following}"])

The lexer and the builder of the syntax tree raise the errors that they find themselves. The tests parse every example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agrad.engine.errors import AgradError, Hint, Label, SyntaxMistake
from agrad.engine.text import truncate
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax.keywords import SUPERSCRIPTS
from agrad.lazy import pattern

# A message, with placeholders in braces, and after it how to correct the error in words; where they are filled with
# nothing these are left out. A fix, which is text to type, depends on the statement: it is passed to `syntax_error`;
# what stands behind `else:` is said where there is none.
MESSAGES = {
    # Characters
    "unknown character": "`{character}` means nothing in agrad",
    "look-alike": "agrad does not use the character `{character}`  fix: type {sign} instead",
    "bad number": "`{number}` is not a number  fix: write numbers as 2, 2.5, .5 or 1e-3",
    "number and name": "an operator is missing between `{number}` and `{name}`",
    "unterminated string": "this string does not end on its line  fix: close it with the quote it begins with",
    "single brace": "a single `}}` is not allowed inside an f-string  fix: for the character itself write }}}}",
    "nested format": "the format after the colon is plain text in agrad, without braces",
    "braces": "agrad has no blocks in braces: a block is indented, behind a colon",
    "points": "what `plot` draws is separated by commas, x first: plot x, y",
    "fit option": "`{word}` is not an option of `fit`, which has over, sigma and from",
    "fit start": "the names follow `over`, and the values they start from follow `from`",
    "one equals sign": "the two sides of an equation have `==` between them",
    "uncertain sum": "a sum after `{sign}` needs brackets, which say to what it belongs",
    "no unknowns": "`{word}` needs the names that it changes  else: {word} … over a, b",
    "no equation": "`solve` takes equations  fix: solve x**2 == 2 for x from 1",
    # Brackets
    "unclosed bracket": "this `{bracket}` is never closed  fix: add a {closer}",
    "stray bracket": "this `{bracket}` closes nothing  fix: delete it, or open one before it",
    "mismatched bracket": "this `{bracket}` does not match the `{opener}` before it  fix: close it with {closer}",
    # Lines and blocks
    "tabs and spaces": "this line and the one above it mix tabs and spaces differently in their indentation"
    "  fix: indent both with spaces",
    "dedent": "this line is indented less than the one above it, but not as any block around it",
    "first indent": "the first line is indented more than one below it  fix: begin both in the same column",
    "indent": "this line is indented, but the line above it does not open a block",
    "no block": "a block must follow this `:`  fix: indent the next line, or write a statement after the :",
    "kind": "there is no kind of error called {name}  fix: {usage}",
    "block in line": "`{word}` opens a block, so it cannot follow a `{sign}` on the same line"
    "  fix: put it on the next line{where}",
    "missing colon": "a `:` is missing here, before the block",
    "else without if": "this `{word}` has no `if`"
    "  fix: put it directly after the block of an if, indented like that if",
    "else if": "`else if` is written as one word  fix: elif",
    "if without else": "an `if` inside an expression needs an `else`  fix: a if c else b",
    "return outside": "this `{word}` is outside a function",
    "break outside": "this `{word}` is outside a loop",
    "new statement": "`{word}` begins a new statement  fix: put it on the next line, or after a ;",
    # Words
    "reserved": "`{word}` is a reserved word of {owner}, so it cannot be a name  fix: choose another name",
    "command value": "`{word}` is a command, which has no value that could be assigned",
    "absent": "agrad has no `{word}`  fix: {instead}",
    "python": "`{word}` is Python's, and read from an import on",
    "comprehension": "a `for` in brackets stands behind the one expression in them"
    "  fix: sum(i*j for i in 1..3 for j in 1..3)   for two of them",
    "walrus": "agrad has no `:=`  fix: assign it on the line before: {name} = ...",
    "becomes": "agrad has no `:=`",
    "brackets": "the argument of `{name}` must be in brackets",
    "equation": "`solve(A, b)` is for linear systems; an equation is solved by a command"
    "  else: solve x**2 == 4 for x from 1",
    "declaration": "agrad has no `{word}`: a value is assigned to the name alone",
    "modulo": "agrad has no `{word}`: the operator is `{sign}`",
    "percent": "agrad has no percentages: `%` is the remainder of a division  else: {number}/100 for {number} percent",
    "root of a power": "it is not clear whether `√` includes this power",
    "factorial": "agrad has no sign for the factorial  else: gamma(n + 1) for n!",
    "units": "agrad has no units of measurement  fix: multiply by the factor between them",
    "imaginary": "agrad has no complex numbers, and `{number}` would be one"
    "  fix: {instead}   if {name} is one of your names",
    "at": "agrad has no `{word}`: a name gets its value before it is used",
    "derivative of": "agrad has no `{word}`: it differentiates a function, at a point",
    "file name": "`{word}` takes the name of a file in quotes",
    "leibniz": "agrad has no `d/d{by}`: it differentiates a function, at a point",
    "prime": "agrad has no `{name}`: a derivative is written with grad"
    "  else: grad({function}, x), grad(f)(2) of a function f, or {function}.T transposed",
    "arrow": "agrad has no `->`",
    "defining word": "agrad has no `{word}`: a function is defined with `def`",
    "help": "agrad does not ask with `?`",
    "conditional": "agrad has no `? :`  fix: a if c else b",
    "magic": "`{word}` is a command of IPython, for notebooks of Python",
    "several leaves": "`{word}` is followed by one name  else: a var for each name, on its own line",
    "rows": "a `;` does not end a row  else: put each row in its own brackets: [[1, 2], [3, 4]]",
    "chain": "`~=`, `in` and `is` compare two values and cannot be part of a chain  fix: a ~= b and b ~= c",
    "annotation": "an annotation alone does nothing: it needs a value  fix: {instead}",
    "string prefix": 'agrad has no strings that begin with `{name}`  fix: "text", or f"loss {{loss}}"',
    "no command": "agrad has no command `{word}`",
    "shell command": "`{text}` is a command of the shell, not a statement  fix: quit ends a session, and then: {text}",
    "option": "`{word}` is not an option of `{command}`",
    "shape": "`{word}` is written `{usage}`",
    "def": "a function is written `def f(x, y=2) = x**y`, or `def f(x):` with a block",
    # Signs
    "= for ==": "`=` gives a value to a name; to compare write `==`",
    "== for =": "`==` compares; to give a value write `=`",
    "misspelt sign": "`{sign}` is not an operator",
    "arrow sign": "`->` is not an operator  fix: def f(x) = x**2   for a function",
    "by entry": "agrad has no dot before an operator or a bracket: both work entry by entry without it",
    "anonymous": "`{sign}` makes no function in agrad: `lambda x: x**2` is one without a name",
    "range of numbers": "agrad has no `:` for the numbers from one to another"
    "  else: arange(1, 4) is 1, 2, 3; linspace(0, 1, 11) are 11 numbers from 0 to 1",
    "missing operand": "a value is missing {place}",
    "missing operator": "{what} is missing between `{left}` and `{right}`",
    "missing name": "a name must follow the dot",
    # Targets and arguments
    "call as target": "`{text}` is a call, which cannot be given a value"
    "  else: to define a function: def {name}(x) = ...",
    "value as target": "`{text}` is a value, not a name, so nothing can be assigned to it"
    "  fix: name = value to name it, == to compare",
    "bad target": "`{text}` cannot be given a value",
    "positional after keyword": "an argument without a name cannot follow one with a name",
    "repeated keyword": "`{name}` is given twice",
    "depth": "a depth counts operations, and {text} is not a whole number  fix: graph d depth 3",
    "range": "`{text}` is not a range of numbers: a curve is drawn from one end to the other",
    "undo": "`undo` takes back a number of statements, and {text} is not one  fix: undo 3",
    "set option": "`set` gives a leaf new data, turns `echo` on or off, or says how `plots` are drawn"
    "  fix: set {choices}",
    "redo": "`redo` brings back a number of statements, and {text} is not one  fix: redo 3",
    "again": "`again` runs a line by its number, and {text} is not one  fix: again 5",
    "history": "`history` shows a number of statements, and {text} is not one  fix: history 9",
    "repeated parameter": "the parameter `{name}` appears twice",
    "parameter order": "`{name}` needs a default, because a parameter before it has one",
    "step without names": "`step` needs the leaves to update  fix: step sgd w b lr=0.1",
    "no complement": "agrad has no `~` before a mask: the opposite of a mask is mask == 0  fix: x[isnan(x) == 0]",
    # The whole text
    "empty": "an expression is missing: there is nothing to compute",
    "not an expression": "expected one expression here, not a statement",
    "unexpected token": "`{text}` does not fit here",
}
# What is written after the caret; a terminal may have no such character as a `code` names.
_LABELS = {"look-alike": "{code}", "first indent": "this indentation"}


def syntax_error(message: str, span: Span, *edits: str, fixes: Sequence[str] = (), **words: str) -> AgradError:
    """The error with one message of the table, at a place; `words` fill the braces.

    `edits` are what may be typed there instead, `fixes` whole lines.
    """
    # A usage is agrad's own text, which is never too long.
    shown = {key: word if key == "usage" else _shown(word) for key, word in words.items()}
    text, _, always = MESSAGES[message].partition("  fix: ")
    text, _, otherwise = text.partition("  else: ")
    hint = (always or ("" if edits or fixes else otherwise)).format(**shown)
    return AgradError(
        "syntax",
        text.format(**shown),
        labels=[Label(span, _LABELS.get(message, "").format(**shown))],
        fixes=[*short([*(corrected(span, edit) for edit in edits), *fixes]), *([Hint(hint)] if hint else [])],
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
_PRIMED = pattern(r"([^\W\d]\w*)('+)(?=[ \t]*\()")
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

    def written(found: re.Match[str]) -> str:
        is_kept = found["sign"] is not None or _EXPONENT.fullmatch(found[0]) is not None
        return found[0] if is_kept else f"{found['number']}*{found['name']}"

    return _PRODUCT.sub(written, text)


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
    # `f(x) = 3*x + 1` is the definition of a function
    return [f"def {line}" if _DEFINITION.match(line) and not re.search("[\"']", line) else line for line in lines]


def several_values(place: Span) -> list[str]:
    """`x = 2, y = 3`, and `var x = 2, y = 3`: the line of a place as two statements; nothing if it is neither."""
    line = corrected(Span(place.source, place.start, place.start), "")
    word = found[0] if (found := re.match(r"var[ \t]+", line)) else ""
    return [re.sub(r",[ \t]*", f"; {word}", line)] if _SEVERAL.fullmatch(line.removeprefix(word)) else []


def primed(place: Span) -> AgradError | None:
    """`f'(x)`, whose `'` is at a place: the derivative of f. None if what stands there is another quote."""
    text, start = place.source.text, place.start
    begin = re.search(r"(?<!\w)[^\W\d]\w*'*$", text[:start])
    found = re.compile(r"([^\W\d]\w*)('+)([ \t]*\()?").match(text, begin.start()) if begin is not None else None
    if found is None or text[start : start + 1] != "'":
        return None
    whole, name = Span(place.source, found.start(), found.end(2)), found[1]
    if not found[3]:
        return syntax_error("prime", whole, name=found[0], function=name)
    line = corrected(whole, whole.text)  # f'' is grad(grad(f))
    fix = _PRIMED.sub(lambda one: f"{'grad(' * len(one[2])}{one[1]}{')' * len(one[2])}", line)
    return syntax_error("prime", whole, fixes=[fix], name=whole.text, function=name)
