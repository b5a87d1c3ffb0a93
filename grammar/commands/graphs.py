"""The commands that show a graph, those that put new data into it, and those that write it as code and as formulas."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from os.path import splitext
from typing import Any

from agrad.engine import inspect, program, units
from agrad.engine.compile import export
from agrad.engine.core.context import current
from agrad.engine.core.graph import Units, collect
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.errors import AgradError, Hint, Label, UnknownName
from agrad.engine.program.replay import forward
from agrad.engine.text import align, fit, printable
from agrad.grammar import commands
from agrad.grammar import session as sessions
from agrad.grammar.commands.operands import ANY, COMPUTED, EXPRESSION, FILE, LEAVES, VALUE, has_graph, is_leaf
from agrad.grammar.commands.registry import (
    NOTHING,
    Call,
    Operands,
    Session,
    all_graphed,
    command,
    graphed,
    with_graph,
    wrong,
)
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.files import beside, replacing, write_text
from agrad.grammar.results import Graph, Printed, Settings, Table, unheard
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.operations import as_array, describe_value
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.keywords import SETTABLE

# What each form of a graph is for.
FORMS = {
    "text": "one line for each node, operands first",
    "tree": "the result at the root, operands indented below",
    "boxes": "boxes and lines, for a small graph",
    "dot": "for Graphviz",
    "mermaid": "for Markdown that draws it",
    "program": "the computation as straight-line code",
    "svg": "a picture",
    "page": "a page for web browsers that steps through it",
    "json": "for other programs",
}
# The forms that only a file can hold.
PICTURES = ("png", "pdf")
DRAWN = ("svg", *PICTURES)
# The forms of a graph by the endings of the files that hold them.
ENDINGS = {".txt": "text", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid", ".json": "json"}
ENDINGS |= {".svg": "svg", ".png": "png", ".pdf": "pdf", ".html": "page"}
# The forms that are read line by line, and may be folded where a terminal is narrow.
_LINES = frozenset({"text", "tree"})


def _form(call: Call) -> str:
    """The form asked for; only pictures have boxes that open, and gradients. Raises AgradError as `_named` does."""
    form = _named(call)
    for option in {"open", "gradients"} & call.options.keys() if form not in DRAWN else ():
        names = "".join(f' open "{name}"' for name in call.options.get("open", ())[:1])
        fixes = [f'graph {" ".join(_typed(call))}{" gradients" * ("gradients" in call.options)}{names} to "graph.svg"']
        raise call.wrong("name", f"`{option}` is for pictures: svg, png and pdf", *fixes)
    return form


def _named(call: Call) -> str:
    """The form asked for, by name or by the ending of the file. Raises AgradError of kind `name` or `file`."""
    form, path, known = call.options.get("as"), call.options.get("to"), [*FORMS]
    if form in known or (form in PICTURES and path is not None):
        if path is not None and (told := told_otherwise(str(form), str(path))):
            raise _contradiction(call, told)
        return str(form)
    if form is None and path is None:
        return "text"
    ending = splitext(str(path))[1].lower() if form is None else ""
    if ending in ENDINGS:
        return ENDINGS[ending]
    name, wanted = " ".join(_typed(call)), form or ending[1:]
    if form in PICTURES:
        operand, message = call.operand(0), f"a graph as {form} is written to a file"
        fixes = [f'graph {name} to "{operand.id if isinstance(operand, ast.Name) else "graph"}.{form}"']
        raise AgradError("name", message, labels=call.labels("as"), fixes=fixes)
    fixes = [f"graph {name} as {close}" for close in suggest(wanted, known)]
    listed = f"as {', '.join(known[:-1])} or {known[-1]}"
    if form is not None:
        message = f"a graph is not shown as {form}; the forms are {listed}"
        raise AgradError("name", message, labels=call.labels("as"), fixes=fixes)
    message, notes = extension_unknown(path), [f"without one of these, say {listed}"]
    raise AgradError("file", message, labels=call.labels("to"), notes=notes, fixes=fixes)


_OPTIONS: dict[str, Operands | Mapping[str, str]] = {"vs": COMPUTED, "as": FORMS, "depth": VALUE, "from": ANY}
_OPTIONS |= {"open": NOTHING, "to": FILE}


@command(operands=COMPUTED, options=_OPTIONS, check=_form)
def _graph(session: Session, call: Call) -> None:
    """graph d … [vs e …] [as text | tree | boxes | dot | mermaid | program | svg | page | json] [depth 3]
    [from a b] [gradients] [open "f"] [to "d.gv"]

    Shows the graph of d, or of several values as one: its operations, and what is saved or freed. `vs`: compared with
    another graph, what is the same in both, changed (~), only in the first (-) and only in the second (+); `depth`: at
    most so many operations back; `from`: only what is between these values and d; `to`: into a file, whose extension
    gives the form. A picture groups nodes where letters would be too small for a projector: the boxes with a + are of
    a function, class or statement, and `open` shows what is in them, or with "all" everything. `gradients`: with what
    each operation passes back to its operands.

    vs: compared with the graph of others
    as: another form: tree, boxes, dot, …
    depth: at most so many operations back
    from: only what is between these and d
    gradients: a picture with gradients on its edges
    open: the boxes of a picture that are open, or "all"
    to: into a file, whose extension gives the form
    as typed: graph d [vs e] [as text|tree|boxes|dot|mermaid|program|svg|page|json] [depth 3] [from a b] [to "d.gv"]
    example: var a = 3; d = a**2*2; graph d
    """
    form, path, depth = _form(call), call.options.get("to"), call.options.get("depth")

    def picture(form: str) -> str | bytes:
        roots, names, since = all_graphed(call), _typed(call), _listed(call, "from")
        compared, back = call.option("vs"), None if depth is None else int(depth)
        if isinstance(compared, ast.Tuple):
            ends = names, [item.span.text for item in compared.items]
            made: inspect.dump.Dump = inspect.compare.Comparison(roots, _listed(call, "vs"), ends, back, since)
        else:
            made = inspect.dump.dump(roots, names, back, since)
        made.opened, made.gradients = call.options.get("open", ()), "gradients" in call.options
        return shown(made, form, session.settings, session)

    found = picture(form)
    if path is None:
        assert isinstance(found, str)  # as `_form` sees to
        lines, width = form in _LINES, session.settings.width  # boxes that do not fit are drawn as text
        is_folded = lines or (form == "boxes" and not session.settings.wide)
        session.emit(Graph(fit(found, width) if is_folded else found, lines, form, picture))
        return
    write_graph(path, found)
    session.emit(Printed(f"wrote {printable(path)}"))


def extension_unknown(path: object) -> str:
    """The message about a file whose extension is none of ENDINGS."""
    return f"the extension of {path} does not give the form of a graph; these do: {' '.join(ENDINGS)}"


def _typed(call: Call) -> list[str]:
    """The operands as typed."""
    return [operand.span.text for operand in call.node.operands]


def drawn(
    root: Tensor,
    name: str,
    form: str,
    settings: Settings,
    depth: int | None = None,
    session: Session | None = None,
    opened: Sequence[str] = (),
    gradients: bool = False,
) -> str | bytes:
    """The graph behind a value in a form, as `shown` gives it. Raises AgradError as `dump` does, too."""
    made = inspect.dump.dump(root, name, depth)
    made.opened, made.gradients = opened, gradients
    return shown(made, form, settings, session)


def shown(made: inspect.dump.Dump, form: str, settings: Settings, session: Session | None) -> str | bytes:
    """A graph in a form: bytes for one of PICTURES. Pages and pictures have what `session` knows of its nodes, too.

    Raises AgradError of kind `extra` where a library is missing that draws png or pdf, and as `drawing` does.
    """
    made.width = sys.maxsize if settings.wide else settings.width or made.width
    if session is not None and form in ("page", *DRAWN):
        commands.info.tell_of_nodes(made, session)
    if form in PICTURES:
        return made.picture(form, settings.precision)
    return str(getattr(made, form)(settings.precision))


def write_graph(path: str, drawn: str | bytes) -> None:
    """Write what `drawn` gave to a file, whole or not at all. Raises AgradError of kind `file`."""
    if isinstance(drawn, str):
        write_text(path, f"{drawn}\n")
        return
    with replacing(path) as file:
        file.write(drawn)


def told_otherwise(form: str, path: str) -> str:
    """The form that the extension of a file means, if it is another; a file with text may have any extension."""
    ending = splitext(path)[1].lower()
    told = ENDINGS.get(ending, form)
    return told if told not in (form, "text") else ""


def _contradiction(call: Call, told: str) -> AgradError:
    """A file whose extension contradicts its form: one of the two must be a mistake."""
    name, form, path = " ".join(_typed(call)), call.options["as"], call.options["to"]
    endings = [ending for ending, known in ENDINGS.items() if known == form]
    fixes = [f'graph {name} to "{path}"', *(f'graph {name} to "{splitext(path)[0]}{one}"' for one in endings[:1])]
    message = f"{path} means {told} by its extension, and {form} by `as`"
    return AgradError("file", message, labels=call.labels("to"), fixes=fixes)


def _listed(call: Call, word: str) -> list[Tensor]:
    """The values after an option, `from` or `vs`."""
    written = call.option(word)
    if not isinstance(written, ast.Tuple):
        return []
    values = call.options[word]
    return [with_graph(value, item, f"graph … {word}") for value, item in zip(values, written.items, strict=True)]


@command(logged=False)
def _graphs(session: Session, call: Call) -> None:
    """graphs

    Lists the graphs that live: their nodes, what they save, and what keeps them: a name, a gradient, a hook, a branch,
    undo. Values that share an operation have one graph.

    example: var a = 3; d = a**2*2; e = a + 1; graphs
    """
    session.emit(Table(commands.info.list_graphs(session), True))


@command(operands=Operands(has_graph, others=True), logged=False)
def _info(session: Session, call: Call) -> None:
    """info x …

    Describes a value: what it is, its shape, gradient and graph, what refers to it, and how often it was written.

    as typed: info x
    example: var x = 2; y = x**2; info x y
    """
    for written, value in zip(call.node.operands, call.values, strict=True):
        session.emit(Table(commands.info.describe(written.span.text, value, session), True))


@command(changes="graph", operands=LEAVES, after=SETTABLE)
def _set(session: Session, call: Call) -> None:
    """set x = 5
    set precision 4
    set echo off
    set plots braille
    set rounding pdg
    set decimal ","

    New data of the same shape for a leaf. Every graph that used the old data is then stale. `set precision 4`: so many
    significant digits are shown, or with `full` all. `set echo off`: at a terminal, no more lines that say what a
    statement has changed; `set echo on` shows them again. `set plots`: how a terminal draws, `braille` or, as pictures,
    `kitty`; `auto` is `kitty` where the terminal says that it knows it. `set rounding`: uncertainties with `one` digit
    or `two`, or by the rule of the Particle Data Group, `pdg`. `set decimal ","`: what is typed and shown has decimal
    commas, and in brackets `;` separates; scripts, files and Python keep the point. The other settings of config.toml
    are set likewise for a session: `live`, `color`, `ascii`, `edit`, `pager`. `set` alone lists them all.

    as typed: set, set x = 5, set precision 4, set echo off, or set plots braille
    example: var x = 2; y = x**2; set x = 5; x
    """
    if not call.node.operands and not call.options:
        session.emit(Table(_settings(session.settings)))
        return
    for option in SETTABLE.keys() & call.options.keys():
        word = call.options[option]
        _switch(session.settings, option, _SAID.get(word, int(word) if word.isdecimal() else word))
        return
    name = call.operand(0).span
    _leaf(session, call, name.text, name).set_(as_array(call.values[0]))


_SAID = {"on": True, "off": False, "full": None, '","': ",", '"."': "."}


def _switch(settings: Settings, name: str, value: bool | int | str | None) -> None:
    """Change how the terminal shows things, so that `undo` takes it back."""
    log, own = current().undo_log, hasattr(settings, name)
    change = partial(setattr, settings, name) if own else partial(settings.changed, name)
    if log is not None:
        log.remember((id(settings), name), partial(change, getattr(settings, name) if own else settings.found(name)))
    change(value)


def _settings(settings: Settings) -> str:
    """A line for each setting, as it is typed, and what else it may be."""
    said = {value: word for word, value in _SAID.items()}
    rows = []
    for name, words in SETTABLE.items():
        value = getattr(settings, name, "")
        value = settings.found(name) if value == "" else value
        is_said = isinstance(value, bool) or value in (",", ".") or (value is None and name == "precision")
        word = said[value] if is_said else str(value or "")
        others = [one for one in words if one != word]
        others = [others[0], "…", *others[-2:]] if len(others) > 4 else others
        rows.append((f"set {name} {word}", ", ".join(others)))
    return "\n".join([*align(rows), "limit   shows those of memory, time and nodes"])


@command(changes="graph", operands=COMPUTED, options={"with": Operands(is_leaf, given="=…")})
def _forward(session: Session, call: Call) -> None:
    """forward d … [with x=3, y=4]

    Computes d again from the current values of the leaves, or from the values given, which the leaves keep. The graph
    is then ready for another backward, also if an earlier one has freed it.

    with: new data for leaves first
    as typed: forward d, or forward d with x=3, y=4
    example: var x = 2; y = x**2; forward y with x=5; y
    """
    roots = all_graphed(call)
    for name, written in call.node.options:
        assert written is not None
        leaf = _leaf(session, call, name, written.span)
        try:
            leaf.set_(as_array(call.options[name]))
        except AgradError as error:
            error.message = error.message.replace("set:", "forward:", 1)
            error.labels = error.labels or [Label(written.span)]
            raise
    kept = len(current().undefined or [])
    session.told.clear()  # the values are others
    forward(*roots)
    inspect.undefined.tell_of_replay(roots, kept)


def _leaf(session: Session, call: Call, name: str, span: Span) -> Tensor:
    """The leaf of a name, to write into. Raises AgradError of kind `name` or `leaf`."""
    target = call.names.get(name, session.names.get(name))
    if target is None:
        problem = session.machine.unknown(name, span)
        if isinstance(problem.facts, UnknownName) and not problem.facts.close:
            text = call.node.span.text
            fix = f"var{text[3:]}" if text.startswith("set ") else Hint(f"var {name} = …   makes a leaf")
            problem.fixes = [" ".join(text.replace("=", " ").split()) if name in SETTABLE else fix]
        raise problem
    if isinstance(target, Tensor) and target.node.op is None:
        return target
    what = "was computed" if isinstance(target, Tensor) else f"is {describe_value(target)}"
    message = f"{call.node.word} writes into a leaf, and {name} {what}"
    raise wrong("leaf", message, span, Hint(f"{name} = …   binds a new value"))


# Source code and formulas

_FORMULAS = {"text": "in the language; the default", "latex": "in LaTeX"}


@command(operands=Operands(has_graph, others=True), options={"to": FILE}, writes=True)
def _export(session: Session, call: Call) -> None:
    """export d to "d.c" [hessian]

    Writes d, as a function of the leaves behind it, or a function, as source code that needs no agrad: with its
    gradient, and with `hessian` its second derivatives. The extension of the file gives the language: .c (C99), .js,
    .py or .ag; .tex are formulas in LaTeX. What it takes and gives are numbers of the units of the leaves and of d.

    to: the file, whose extension gives the language: .c, .js, .py, .ag or .tex
    hessian: also the second derivatives
    example: def f(x, y) = x**2*sin(y)
      export f to "f.c"
    """
    operand, path, place = call.operand(0), call.options.get("to", ""), call.option("to")
    language = export.languages.LANGUAGES.get(splitext(path)[1][1:].lower())
    name = operand.id if isinstance(operand, ast.Name) else "f"
    if language is None:
        fix, where = f'export {operand.span.text} to "{name}.c"', place.span if place is not None else call.span
        raise wrong("file", "export writes a file that ends in .c, .js, .py, .ag or .tex", where, fix)
    try:
        derived, told = _derived(session, call, 2 if "hessian" in call.options else 1)
        text = language(derived, name, _remark(call) + told)
    except AgradError as problem:
        problem.labels = problem.labels or [Label(operand.span)]
        raise
    write_text(beside(path, None), text)
    session.emit(Printed(f"wrote {printable(path)}"))


def _remark(call: Call) -> str:
    """The text of what is exported, for a comment."""
    value, text = call.values[0], call.operand(0).span.text
    if isinstance(value, Closure):
        return value.definition.span.text.partition("\n")[0]  # type: ignore[no-any-return]
    origin = graphed(call, 0).node.origin
    return f"{text} = {origin.text}" if origin is not None and hasattr(origin, "text") else text


def _derived(session: Session, call: Call, order: int) -> tuple[export.derive.Derived, str]:
    """A function with its derivatives, and in which units its arguments and its value are."""
    value = call.values[0]
    if isinstance(value, Closure):
        given: dict[str, Any] = dict.fromkeys(value.definition.parameters)
        if Units.exist:
            given |= zip(value.definition.defaulted, value.defaults, strict=True)
        emit, session.emit = session.emit, unheard  # it runs once or more for each path
        try:
            made, told = sessions.formulas.programs(value, given, range(len(given)))
        finally:
            session.emit = emit
        return export.derive.derived(*made, range(len(given)), order), told
    root = graphed(call, 0).node
    leaves = [node for node in reversed(collect([root])) if node.op is None and node.requires_grad]
    if not leaves:
        message = f"{call.operand(0).span.text} depends on no leaf"
        raise AgradError("grad", message, fixes=[Hint("make a leaf with var, and compute it again")])
    xs = [bare(node) for node in leaves]
    names = [x.name if x.name and x.name.isidentifier() else f"x{place}" for place, x in enumerate(leaves)]
    traced = program.trace.extract([bare(root)], xs, names)
    made, told = ([traced], [*map(program.trace.plain, xs)]), ""
    if Units.exist and not traced.checks:  # which are refused below
        (unit,) = units.quantity.infer([root])

        def function(*xs: Tensor) -> Tensor:
            (found,) = program.trace.inlined(traced, xs)
            found.node.unit = unit
            return found

        made, told = sessions.formulas.programs(function, dict(zip(names, xs, strict=True)), range(len(leaves)))
    return export.derive.derived(*made, range(len(leaves)), order), told


@command(operands=EXPRESSION, options={"wrt": Operands(others=True), "as": _FORMULAS})
def _formula(session: Session, call: Call) -> None:
    """formula y [wrt x] [as latex]

    Writes what y is computed by as one expression of the leaves and of the names that have no value, with like terms
    collected, and its derivatives. `formula grad(y, x)` writes the derivative alone.

    wrt: the names to differentiate by
    as: how it is written
    example: formula x**2*sin(x) wrt x
    """
    form = call.choice("as", "text")
    inner, outer = (str(call.options.get(word, "")).split() for word in ("grad", "wrt"))
    for line in sessions.formulas.formula(session.machine, call.values[0].definition, call.names, inner, outer, form):
        session.emit(Printed(line))
