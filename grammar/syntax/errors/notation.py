"""The notation of school mathematics: `f'(x)`, `d/dx x^2`, `ln x`, `|x|`, `x -> x^2`; and plots and fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Hint
from agrad.engine.text import beside, divided
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax.errors.context import ErrorContext, Recognisers
from agrad.grammar.syntax.errors.messages import corrected, short, syntax_error
from agrad.grammar.syntax.keywords import OPTIONS, SHAPES
from agrad.grammar.syntax.lexer import OPERAND_ENDS


def arrow(context: ErrorContext) -> AgradError | None:
    """`x -> x^2`, a function without a name."""
    bad, previous = context.bad, context.previous
    if bad.type != "ARROW" or previous.type != "NAME":
        return None
    limits = rewritten(context.across(previous, bad))
    if context.head == "limit":
        limits = spelled_out("limit", context.rest_of_line(context.head.end_pos))
    if limits:
        return context.wrong("arrow", bad, fixes=limits)
    fix = corrected(context.across(previous, bad), f"lambda {previous}:")
    if named := re.fullmatch(r"([^\W\d]\w*)[ \t]*:[ \t]*lambda (\w+):(.*)", fix):  # `f: x -> x^2`
        fix = f"def {named[1]}({named[2]}) ={named[3]}"
    return context.wrong("arrow", bad, fixes=[fix])


def defined(context: ErrorContext) -> AgradError | None:
    """`function f(x) = x^2`, and `let f(x) = x^2`."""
    head, bad = context.head, context.bad
    if len(context.statement) != 1 or head not in _DEFINING or bad.type != "NAME" or context.next_type != "LPAR":
        return None
    line = context.rest_of_line(bad.start_pos)
    if re.match(r"\w+[ \t]*\([\w, \t]*\)[ \t]*:?=", line) is None:
        return None
    fix = re.sub(r"[ \t]*:=[ \t]*", " = ", corrected(context.until(head, bad.start_pos), "def "), count=1)
    return context.wrong("defining word", head, fixes=[fix], word=head)


_DEFINING = frozenset("let const function func fun fn define".split())
RECOGNISERS = (arrow, defined)


# Recognisers of how other programs write what is drawn and what is fitted.

_OPERAND = r"[\w.]+(?:\[[^\[\]]*\])*"  # as x, t.x, t["time (s)"]
_VERSUS = re.compile(rf"\s*({_OPERAND})\s+(?:vs\.?|versus|against|over)\s+({_OPERAND})\s*")
_APART = re.compile(rf"\s*({_OPERAND}(?:\s+{_OPERAND})+)\s*")
_FILE = re.compile(r"\s*(\"[^\"]*\"|'[^']*')\s+(?:u|using)\s+(\d+):(\d+).*")
_END = re.compile(r"""(?:"[^"\n\r]*"|'[^'\n\r]*'|[^;#\n\r"'])*""")


def drawn(context: ErrorContext) -> AgradError | None:
    """`plot y vs x`, `plot x y`, `plot "a.csv" using 1:2`."""
    if context.head.type != "PLOT" or context.open or context.previous is context.head:
        return None
    head = context.head.end_pos
    found = _END.match(context.source.text, head)
    place = Span(context.source, head, found.end() if found else head)  # to the end of the statement
    if found := _FILE.fullmatch(place.text):
        path, x, y = found.groups()
        whole = context.until(context.head, place.end)
        fixes = [corrected(whole, f"t = load_csv({path}); plot t[{int(x) - 1}], t[{int(y) - 1}]")]
        return context.wrong("points", context.place, fixes=fixes if min(int(x), int(y)) else [])
    versus, apart = _VERSUS.fullmatch(place.text), _APART.fullmatch(place.text)
    operands = [versus[2], versus[1]] if versus else re.findall(_OPERAND, apart[1]) if apart else []
    if not operands or (not versus and not {*operands}.isdisjoint({*OPTIONS["plot"], "for", "in", "fit"})):
        return None
    return context.wrong("points", context.place, fixes=[corrected(place, f" {', '.join(operands)}")])


def fitted(context: ErrorContext) -> AgradError | None:
    """`fit y ~ a*x weights w`, `fit y ~ a*x over a bounds a > 0`: options of `fit` as other programs have them."""
    written = [*map(str, context.statement)]
    if context.head.type != "FIT" or context.open or "~" not in written:
        return None
    for before, token in pairwise([*context.statement[written.index("~") :], context.bad]):
        ends = before.type in OPERAND_ENDS or before == "with"
        if ends and token.type == "NAME" and str(token) in _elsewhere():
            return foreign_option(context.span(token))
    previous = context.previous
    if previous == "with" and context.next_type == "_EQUAL":  # with b = 2
        return context.wrong("fit option", previous, "from", word="with")
    return None


def started(context: ErrorContext) -> AgradError | None:
    """`fit y ~ a*x over a=1`, as `agrad fit --over a=1` has it."""
    tokens = context.statement
    over = next((n for n, token in enumerate(tokens) if token.type == "OVER"), len(tokens))
    if context.head.type != "FIT" or context.open or context.bad.type != "_EQUAL":
        return None
    if not tokens[over + 1 :] or any(token.type not in ("NAME", "_COMMA") for token in tokens[over + 1 :]):
        return None
    place = context.span(tokens[over])
    behind = _END.match(context.source.text, place.end)
    given, *rest = re.split(r"(?<!\s)\s+(?=(?:with|sigma|from)\b)", behind[0].strip() if behind else "", maxsplit=1)
    parts = [part.strip() for part in divided(given)]
    whole = Span(context.source, place.start, behind.end() if behind else place.end)
    names = ", ".join(part.split("=")[0].strip() for part in parts)
    starts = ", ".join(part for part in parts if "=" in part)
    fixes: list[str] = [corrected(whole, " ".join([f"over {names}", *rest, f"from {starts}"]))]
    if any(part.count("=") > 1 for part in parts) or re.search(r"\bfrom\b", " ".join(rest)):
        fixes = [Hint("over a, b from a=1, b=1")]
    return context.wrong("fit start", context.place, fixes=fixes)


def _one_name(text: str) -> str:
    """The name in an expression that is no function, if there is one alone."""
    text = re.sub(r"(?<![\w.])[\d.]+(?=[^\W\d])(?![eE][-+\d])", "", text)  # of 2x
    names = set(re.findall(r"(?<![\w.])[^\W\d]\w*(?![\w(])", text)) - FUNCTIONS.keys() - {"pi", "e"}
    return names.pop() if len(names) == 1 and not names & {"True", "False", "None"} else ""


_END_OF_RANGE = r"(-?[\w.*/]+?)"
_RANGE = rf"[\[(]?{_END_OF_RANGE} ?(?:to|\.\.|,|:) ?{_END_OF_RANGE}[\])]?"
_BY = r"(?:,|(?: for| wrt| over| by| at))"
_STARTED = "(?:from|near|at|start|guess)"
_PARTS = {
    "RANGE": _RANGE,
    "BY": _BY,
    "STARTED": _STARTED,
    "TERM": r"(\w+|\([^()]*\))",
    "MATRIX": r"([\w.]+|\([^()]*\)|\[[^=;\\]*\])",
    "FUNCTION": r"\b(a?(?:sin|cos|tan)h?|exp|log|log10|log2|sqrt|abs)",
}


@cache
def _forms() -> dict[str, list[tuple[re.Pattern[str], str]]]:
    """What forms.txt has: for a command, or for a line, forms with what is typed instead."""
    found: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for line in beside(__file__, "forms.txt").splitlines():
        if line and line[0] != "#":
            head, form, instead = line.split("  ->  ")
            form = re.sub(r"<([A-Z]+)>", lambda part: _PARTS[part[1]], form)
            found.setdefault(head, []).append((re.compile(form), instead))
    return found


@cache
def _elsewhere() -> dict[str, str]:
    """What other programs call the options of `fit`, and what is typed in their place."""
    of_words = [(form.pattern, fix) for form, fix in _forms()["option"]]
    of_words += [(form.pattern, Hint(fix)) for form, fix in _forms()["hint"]]
    return {word: fix for words, fix in of_words for word in words.split()}


_PLOTTED = re.compile(rf"(?:\w+ ?= ?)?([^,=]+?)(?: from {_RANGE})?")
_BETWEEN = re.compile(rf"([^=]+=[^=]+?),? (?:in|on|between) {_RANGE}")
_SECOND = re.compile(r"(.+?) order 2")
_INTO = re.compile(r"(.+?) (?:to|as|into) [\"']?([\w./~-]+\.\w+)[\"']?")


def spelled_out(command: str, text: str) -> list[str]:
    """A command that is written in words of its own, as `backward y step` and `plot x^2 from -2 to 2`."""
    text = text.partition(";")[0].strip()
    if command in ("plot", "graph", "export") and (found := _INTO.fullmatch(text)):
        return [f'{command} {found[1]} to "{found[2]}"']
    for form, fix in _forms().get(command, ()):
        if found := form.fullmatch(text):
            fix = fix.format(*found.groups())
            return [fix.replace(" for ", " = 0 for ", 1) if command == "solve" and "=" not in fix else fix]
    if command == "solve" and _one_name(text):
        return [f"solve {text} = 0"]
    if command == "solve" and (found := _BETWEEN.fullmatch(text)) and (name := _one_name(found[1])):
        return [f"solve {found[1]} for {name} in {found[2]}..{found[3]}"]
    if command == "formula" and (found := _SECOND.fullmatch(text)):
        return [Hint(f"formula grad({found[1]}, x)   by a leaf x")]
    found = _PLOTTED.fullmatch(text) if command == "plot" else None
    if found is not None and (name := _one_name(found[1])):
        return [f"plot {found[1]} for {name} in {found[2] or -2}..{found[3] or 2}"]
    return []


def solved(target: Span) -> list[str]:
    """`x^2 = 4`, which is no assignment, as an equation to be solved, where one name is in it."""
    line = corrected(Span(target.source, target.start, target.start), "solve ")
    return [line] if re.search(r"[^=]=[^=]*$", line) and _one_name(line.removeprefix("solve ")) else []


def rewritten(place: Span) -> list[str]:
    """The line of a place as it is typed here, where that is another: `2 sin x cos x`, `(a + b)!`, `|x| + |y|`."""
    line = new = corrected(Span(place.source, place.start, place.start), "")
    head = re.match(r"\w+(?=[ \t]|$)", line)
    is_other = not short([line]) or (head is not None and head[0] in SHAPES)
    if not is_other and (head is None or head[0] == "run" or re.search("[\"']", line) is None):
        for form, instead in _forms()["line"]:
            new = form.sub(instead, new)
    return [new] if new != line else []


def foreign_option(place: Span) -> AgradError:
    """The error for an option of `fit` that has another name here, or is not there."""
    word, fix = place.text, _elsewhere()[place.text]
    if not isinstance(fix, Hint):
        behind = _END.match(place.source.text, place.end)
        rest, size = behind[0] if behind else "", 0
        if "{}" in fix:
            value = re.split(r"\b(?:over|from|with)\b", rest)[0].rstrip()
            size, fix = len(value), fix.format(value.lstrip("= ") or word)
        elif fix == "sigma" and (equals := re.match(r"\s*=\s*", rest)):
            size, fix = equals.end(), "sigma "
        fix = corrected(Span(place.source, place.start, place.end + size), fix)
    return syntax_error("fit option", place, fixes=[fix], word=word)


def misread_option(names: Sequence[Span]) -> AgradError | None:
    """The error for `over a, b yerr s`, with no comma before what is no parameter; None where there is none."""
    for before, place in pairwise(names):
        between = place.source.text[before.end : place.start]
        if "," not in between and place.text in _elsewhere():
            return foreign_option(place)
    return None


def without_parameters(model: Span, starts: list[str], word: str) -> AgradError:
    """The error for `fit y ~ a*x`, which does not say what changes: what has a start, or one of the names in it."""
    fixes: list[str] = []
    if starts:
        fixes = [corrected(Span(model.source, model.end, model.end), f" over {', '.join(starts)}")]
    else:
        found = re.findall(r"(?<![\w.\"'])[^\W\d]\w*\b(?!\s*[(.\[])", model.text)
        names = [name for name in dict.fromkeys(found) if name not in {*FUNCTIONS, "pi", "e", model.text}]
        parameters = [name for name in names if word != "fit" or name not in ("x", "t", "X", "T")]  # which are data
        is_sure = word != "fit" or len(parameters) < len(names)
        begin = f" from {', '.join(f'{name}=1' for name in parameters)}" if word == "fit" and is_sure else ""
        whole = corrected(Span(model.source, model.end, model.end), f" over {', '.join(parameters)}{begin}")
        fixes = [whole if is_sure else Hint(f"{whole}   without those that are data")] if parameters else []
    return syntax_error("no unknowns", model, fixes=fixes, word=word)


OF_PROGRAMS: Recognisers = (drawn, fitted, started)
