"""The errors for a name without a value, and for a call of something that is not a function."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, UnknownName, typed
from agrad.engine.lazy import pattern
from agrad.engine.text import divided
from agrad.engine.values import Shape, format_number
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.pytorch import libraries
from agrad.grammar.pytorch.libraries import USUAL, told
from agrad.grammar.pytorch.names import (
    KNOWN_ELSEWHERE,
    OF_DEGREES,
    OWN_FORMS,
    PREFIXES,
    READERS,
    RECIPROCALS,
    RENAMED,
    canonical,
    names_in,
)
from agrad.grammar.runtime.builtins import CONSTANTS
from agrad.grammar.runtime.graph_fixes import apart, edits
from agrad.grammar.runtime.operations import describe_value
from agrad.grammar.syntax.errors.foreign import OPTION_WORDS, near
from agrad.grammar.syntax.errors.messages import corrected, derivative_of, short, syntax_error
from agrad.grammar.syntax.errors.notation import LEIBNIZ, by_leibniz, primed, raised
from agrad.grammar.syntax.keywords import COMMAND_WORDS, COMMANDS_ELSEWHERE, SHAPES
from agrad.grammar.syntax.parser import can_be_read


def unknown(name: str, span: Span, known: Collection[str]) -> AgradError:
    """The error for an unknown name, with similar names: those that are known, and agrad's own."""
    if name in SHAPES and alone(span):
        behind = Span(span.source, span.end, span.end)
        problem = syntax_error("shape", behind, word=name, usage=SHAPES[name])
        problem.at = behind
        return problem
    called = re.compile(r"[ \t]*\(").match(span.source.text, span.end) is not None
    if called and name in SHAPES:
        return _called_command(name, span)
    if name in PREFIXES and not called:
        message = f"{name} is not a value: it is a prefix of functions, as in {name}.sin(x)"
        return AgradError("name", message, labels=[Label(span)], facts=UnknownName(name, True))
    if name in USUAL and span.source.text.startswith(".", span.end):
        return of_a_module(name, USUAL[name], span)
    close = _in_words(name, span) or _option(name, span) or _elsewhere(name, span, called, known)
    close = close or _quotient(name, span, known) or _joined(name, span, called, known)
    if not close and name in SHAPES and not called:
        close = [Hint(SHAPES[name])]
    elif not close and called and name in COMMANDS_ELSEWHERE:
        word = COMMANDS_ELSEWHERE[name]
        close = [corrected(span, word) if word == "print" else Hint(f"{word} …")]
    elif not close:
        found = suggest(name, {*known, *CONSTANTS, *FUNCTIONS}) or suggest(name, COMMAND_WORDS)
        close = [Hint(f"did you mean {' or '.join(found)}?")] if found else []
    if not close and called:
        given = ", ".join("xyzuvw"[: len(arguments(span) or "x")])
        close = [Hint(f"def {name}({given}) = …   defines it"), "help   lists the functions"]
    fixes = close or _over_a_range(span, name) or [Hint(f"give it one: {name} = {_compared(span) or 1}")]
    message = f"there is no function {name}" if called else f"{name} has no value"
    return AgradError("name", message, labels=[Label(span)], fixes=fixes, facts=UnknownName(name, bool(close)))


def _called_command(name: str, span: Span) -> AgradError:
    """The error for `budget(y)`: a command is written without brackets, and has no value."""
    given = arguments(span)
    plain = " ".join([name, *given])
    fixes = [plain if len(given) < 2 and can_be_read(plain) else Hint(SHAPES[name])]
    message = f"{name} is a command, which is written without brackets"
    return AgradError("name", message, labels=[Label(span)], fixes=fixes, facts=UnknownName(name, True))


def _in_words(name: str, span: Span) -> list[str]:
    """`grad y wrt x`, and a file name without quotes, as `load_csv(data.csv)`, with what is typed."""
    text = span.source.text
    if name == "wrt" and (found := re.compile(r"[ \t]+(\w+)").match(text, span.end)):
        before = re.search(r"grad[ \t]+(\w+)[ \t]+$", text[: span.start])
        if before is not None:
            return [corrected(Span(span.source, before.start(), found.end()), f"grad({before[1]}, {found[1]})")]
    named = re.compile(r"(?:\.\w+)*\.(?:csv|tsv|txt|dat|jsonl|parquet|npy|npz)(?=[ \t]*[,)])").match(text, span.end)
    if named is not None and re.search(r"\bload\w*\([ \t]*$", text[: span.start]):
        return [corrected(Span(span.source, span.start, named.end()), f'"{name}{named[0]}"')]
    return []


def of_a_module(name: str, module: str, span: Span) -> AgradError:
    """The error for a name that was imported from a module which agrad does not have."""
    instead = told(module)
    message = f"{name} {'is a module' if name == module else f'comes from {module}'}, and agrad has nothing of it"
    fixes: list[str] = [Hint(instead)] if instead else []
    inside = re.compile(r"(?:\.[^\W\d]\w*)*\.([^\W\d]\w*)").match(span.source.text, span.end)
    if inside is not None and (last := inside[1]) in KNOWN_ELSEWHERE:  # scipy.optimize.curve_fit
        fixes = _instead(last, Span(span.source, *inside.span(1)), span.start) or [Hint(KNOWN_ELSEWHERE[last])]
    return AgradError("name", message, labels=[Label(span)], fixes=fixes, facts=UnknownName(name, True))


def _option(name: str, span: Span) -> list[str]:
    """`graph d sa dot`, where sa could be an operand, too: the line with the option that is meant."""
    _, column = span.source.position(span.start)
    before = re.match(r"(?:.*;)?[ \t]*(\w+)[ \t]+[^ \t]", span.source.line_at(span.start)[: column - 1])
    options = OPTION_WORDS.get(before[1], ()) if before is not None else ()
    return [corrected(span, option) for option in near(name, options)]


def _elsewhere(name: str, span: Span, called: bool, known: Collection[str]) -> list[str]:
    """What a name of other languages is in agrad: the line in agrad, if that can be determined."""
    if name in ("agrad", "learn"):
        return [Hint("agrad learn   in the shell begins the lesson; here, help explains")]
    if (derivative := LEIBNIZ.match(_rest(span))) and derivative["text"][0] in "([":
        return [by_leibniz(derivative, known)[1]]
    if name not in KNOWN_ELSEWHERE or (name in ("d", "D") and not called):  # these may be names as well
        full = [f"{module}.{name}" for module in ("torch", "np") if called]
        there = [one for one in full if one in OWN_FORMS or name in libraries.names_in(one.partition(".")[0])]
        return [corrected(span, one) for one in there[:1]]
    return _instead(name, span) or [Hint(KNOWN_ELSEWHERE[name])]


def _quotient(name: str, span: Span, known: Collection[str]) -> list[str]:
    """`dy/dx`, of a value y and a leaf x: `grad(y, x)`."""
    if second := re.match(r"d2([^\W\d]\w*)[ \t]*/[ \t]*d(?:\1|[^\W\d]\w*?)2\b", _rest(span)):
        x = second[0].rpartition("d")[2][:-1]
        return [Hint(f"hessian({second[1]}, {x})   of a value {second[1]} that was computed from a leaf {x}")]
    found = re.match(r"d([^\W\d]\w*)[ \t]*/[ \t]*d([^\W\d]\w*)", _rest(span))
    if found is None or found[0].partition("/")[0].strip() != name:
        return []
    y, x = found.groups()
    names = set(known)
    if y in names and x in names:
        return [corrected(Span(span.source, span.start, span.start + found.end()), f"grad({y}, {x})")]
    return [Hint(f"grad({y}, {x})   of a value {y} that was computed from a leaf {x}; grad(f)(2) of a function f")]


def _joined(name: str, span: Span, called: bool, known: Collection[str]) -> list[str]:
    """`sinx` is `sin(x)`, and `xsin(x)` is `x*sin(x)`, of a name that has a value."""
    names = {one for one in known if one not in FUNCTIONS}
    firsts, seconds, between = (names, FUNCTIONS, "{}*{}") if called else (FUNCTIONS, names, "{}({})")
    for first in sorted((one for one in firsts if name.startswith(one)), key=len):
        if (rest := name[len(first) :]) in seconds:
            return [corrected(span, between.format(first, rest))]
    return []


_WORDS = {"exit": "quit", "true": "True", "false": "False", "null": "None", "π": "pi", "M_PI": "pi"}
_WORDS |= {"TRUE": "True", "FALSE": "False", "NULL": "None"}
# Functions of other libraries, how many arguments they have there, which of these is a name, and the same in agrad.
# `term`: the first argument, in brackets unless it is one word.
_FORMS: list[tuple[str, int, int | None, str]] = [
    ("diff derivative derive d", 2, 1, "grad({0}, {1})"),
    ("derivative derive", 2, 0, "grad({0})({1})"),
    ("D", 1, 0, "grad({0})"),
    ("diff", 1, None, "{term}[1:] - {term}[:-1]"),
    ("factorial", 1, None, "gamma({0} + 1)"),
    ("ufloat", 2, None, "({0} ± {1})"),
    *((name, 1, None, f"(1/{ours}({{0}}))") for name, ours in RECIPROCALS.items()),
    *((name, 1, None, f"{ours}({{term}}*pi/180)") for name, ours in OF_DEGREES.items()),
]


def _of_form(name: str, given: list[str]) -> str:
    """What a call with these arguments is by the forms; empty where it is none of them."""
    for names, count, place, form in _FORMS:
        if name in names.split() and len(given) == count and (place is None or given[place].isidentifier()):
            return form.format(*given, term=given[0] if re.fullmatch(r"[\w.]+", given[0]) else f"({given[0]})")
    return ""


def _instead(name: str, at: Span, start: int | None = None) -> list[str]:
    """The line with agrad's equivalent of a function of other libraries, or a name; nothing if that cannot be read.

    `at`: its place, which the arguments follow; `start`: where its module begins, which goes with it.
    """
    call, given = _call(at), arguments(at)
    if len(given) == 3 and name in ("nDeriv", "nderiv") and given[1].isidentifier():
        return [derivative_of(given[0], given[1], given[2])]
    replacement, elsewhere = _WORDS.get(name) or _of_form(name, given), KNOWN_ELSEWHERE[name]
    if not replacement and given and name in READERS:
        replacement = f"load_csv({given[0]})"  # the other arguments have other names
    elif not replacement and given and elsewhere.endswith("(…)"):
        replacement = elsewhere.removesuffix("(…)") + call
    elif elsewhere.startswith(("plot ", "histogram ")):
        plain = [one for part in given if "=" not in (one := part.removeprefix("yerr="))]
        places = dict(zip("xyu", plain, strict=False))
        drawn = re.sub(r"\b[xyu]\b", lambda found: places.get(found[0], ""), elsewhere)
        replacement = drawn if len(places) > elsewhere.count(",") else ""
    fixed = corrected(Span(at.source, at.start if start is None else start, at.end + len(call)), replacement)
    return short([fixed]) if replacement and can_be_read(fixed) else []


def _rest(span: Span) -> str:
    """The rest of the statement, from a place on."""
    found = re.compile(r"""("[^"\n\r]*"|'[^'\n\r]*'|[^;#\n\r])*""").match(span.source.text, span.start)
    return found[0] if found is not None else ""


def _call(span: Span) -> str:
    """The arguments after a name with their brackets, as typed on one line; empty if there are none."""
    behind = _rest(Span(span.source, span.end, span.end))
    depth = 0
    for place, sign in enumerate(behind if behind.startswith("(") else ""):
        depth += (sign in "([") - (sign in ")]")
        if not depth:
            return behind[: place + 1]
    return ""


def arguments(span: Span) -> list[str]:
    """The arguments of a call of the name at a place, as typed."""
    return [argument.strip() for argument in divided(_call(span)[1:-1]) if argument.strip()]


def _over_a_range(span: Span, name: str) -> list[str]:
    """`plot sin(x)`, where x has no value: the curve over a range."""
    _, column = span.source.position(span.start)
    drawn = re.match(r"(.*;[ \t]*)?plot\b", span.source.line_at(span.start)[: column - 1])
    rest = _rest(span)
    if drawn is None or re.search(r"\b(for|to)\b", rest) or len(rest) == len(name):
        return []
    return [corrected(Span(span.source, span.start, span.start + len(rest)), f"{rest.rstrip()} for {name} in -2..2")]


def _compared(span: Span) -> str:
    """The other side, if the statement only compares the name, as in `x == 2` and R's `x <- 2`; else nothing."""
    text = span.source.text
    before = re.split(r"[;:\n\r]", text[: span.start])[-1]
    found = re.match(r"[ \t]*(?:==|<-(?=[ \t]))([^;#\n\r]+)", text[span.end :])
    if before.strip() or found is None or re.search(r"[=<>~\"']|\b(and|or|not|is|if)\b", found[1]):
        return ""
    value = found[1].strip()
    return value if all(value.count(opener) == value.count(closer) for opener, closer in ("()", "[]")) else ""


def alone(span: Span) -> bool:
    """Whether a place is the whole of its statement, like a command without its operands."""
    text = span.source.text
    before = re.split(r"[;:\n\r]", text[: span.start])[-1]
    behind = re.split(r"[;#\n\r]", text[span.end :], maxsplit=1)[0]
    return not before.strip() and not behind.strip()


def unknown_in(module: str, name: str, span: Span) -> AgradError:
    """The same for a name with the prefix of a module: torch.sni, torch.foo.sin."""
    if name in FUNCTIONS or name in CONSTANTS or name in RENAMED:
        first = canonical(module).partition(".")[0]
        library = {"torch": "PyTorch", "np": "NumPy", "math": "Python"}.get(first, module.partition(".")[0])
        there = [prefix for prefix in libraries.modules() if name in libraries.names_in(prefix)]
        there.sort(key=lambda prefix: (prefix.partition(".")[0] != first, len(prefix)))  # those of the same library
        instead = [f"{prefix}.{name}" for prefix in there] or [name]
        message = f"{library} has no {module}.{name}"
        return AgradError("name", message, labels=[Label(span)], fixes=edits(span, *instead[:2]))
    close = suggest(name, names_in(module) or [*FUNCTIONS, *CONSTANTS])
    fixes: list[str] = [Hint(f"did you mean {' or '.join(close)}?")] if close else ["help   lists all names"]
    if name in KNOWN_ELSEWHERE:
        fixes = _instead(name, span) or [Hint(KNOWN_ELSEWHERE[name])]
    elif not close and names_in(module):
        fixes = [Hint(f"{module} has {', '.join(names_in(module))}")]
    return AgradError("name", f"agrad has no {module}.{name}", labels=[Label(span)], fixes=fixes)


def not_called(value: Any, args: tuple[Any, ...], span: Span) -> AgradError:
    """The error for a call of something that is not a function: `x(3)`, where `x*(3)` may be meant."""
    name, given = apart(span.text)
    fixes: list[str] = []
    if isinstance(value, str) and (derivative := primed(Span(span.source, span.start + 1, span.start + 2))):
        return derivative  # `f'(x) + g'(x)`, and `f''(x)`, where `f'` begins a text
    if isinstance(value, float) and (power := _power_of(value, given, span)):
        fixes = [power]
    elif isinstance(value, Tensor) and (places := _from_one(given, value.shape)):
        fixes = [f"{corrected(span, f'{name}[{places}]')}   an entry: the first has the index 0"]
    elif name in FUNCTIONS:
        fixes = [f"del {name}   brings the function back"]
    elif len(args) == 1 and "," not in given and all(isinstance(one, Tensor | float) for one in (value, *args)):
        fixes = [corrected(span, f"{name}*{given}")]
        if name.isidentifier() and name != "x":
            fixes.append(Hint(f"def {name}(x) = …   makes a function of it"))
    elif given == "()":
        fixes = [corrected(span, name)]
    fixes = [fix for fix in short(fixes) if isinstance(fix, Hint) or can_be_read(typed([fix])[0])]
    return AgradError("type", f"{describe_value(value)} cannot be called", labels=[Label(span)], fixes=fixes)


def _from_one(given: str, shape: Shape) -> str:
    """`(1, 2)` of a shape, which counts from 1 as MATLAB does, counted from 0; empty where it is no such place."""
    numbers = [int(one) for one in re.findall(r"\d+", given)] if re.fullmatch(r"\([\d, ]{1,40}\)", given) else []
    fits = len(numbers) <= len(shape) and all(0 < one <= length for one, length in zip(numbers, shape, strict=False))
    return ", ".join(str(one - 1) for one in numbers) if fits else ""


_RAISED = pattern(r"(?<!\w)([^\W\d]\w*)[ \t]*(?:(?:\^|\*\*)[ \t]*(?:(-)[ \t]*)?|(⁻))?$")


def _power_of(value: float, given: str, span: Span) -> str:
    """`sin^2(x)`: the line with `sin(x)^2`, and with `asin(x)` for `sin^-1(x)`; else empty."""
    before = _RAISED.search(span.source.text[: span.start])
    if before is None or before[1] not in FUNCTIONS:
        return ""
    instead = raised(before[1], given, format_number(value), bool(before[2] or before[3]))
    return corrected(Span(span.source, before.start(), span.end), instead)
