"""The commands `fit`, which finds the parameters of models, and `last`, which says more about the latest fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from math import inf, isfinite, nan
from typing import Any, NamedTuple

from agrad.engine.autodiff.uncertainty import (
    correlations,
    derived,
    link,
    sources,
    uncertain,
    uncertainty,
)
from agrad.engine.autodiff.uncertainty import together as entries_of
from agrad.engine.core.arguments import number_of
from agrad.engine.core.context import remember_entry
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Note
from agrad.engine.ops.solvers import fit_quality
from agrad.engine.ops.solvers.errors_in_x import METHODS
from agrad.engine.ops.solvers.fitting import Data, Errors, is_linear, together
from agrad.engine.ops.solvers.least_squares import Fit, Within, with_unit
from agrad.engine.ops.solvers.losses import LOSSES, Loss
from agrad.engine.ops.tables import Table
from agrad.engine.units.infer import bare
from agrad.engine.units.quantity import in_unit, of_unit, over_unit, scaled, unit_of
from agrad.engine.units.unit import Unit
from agrad.engine.values import Array, coerce, format_number, np, shape_of, size_of
from agrad.grammar.commands.fit_units import Given, Scales, scales_of
from agrad.grammar.commands.operands import EXPRESSION, VALUE
from agrad.grammar.commands.registry import NOTHING, Call, Session, command
from agrad.grammar.commands.solving import TIED, plain
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Estimated, Noted
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, Definition
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.syntax.ast import Attribute, Each, Expr, Index, Lambda, Name, Tuple, loads, replaced
from agrad.grammar.syntax.errors.messages import corrected
from agrad.grammar.syntax.parser import parse_expression
from agrad.grammar.values.lists import List


class LastFit(NamedTuple):
    """The latest fit of a session: the model, its parameters, and what was measured."""

    model: Closure  # of the parameters, and of all else that it uses
    used: dict[str, Any]
    name: str
    y: Array
    parameters: Sequence[Tensor] = ()
    dof: float = inf
    u: Any = None  # of what was measured; None where that is not known
    unit: Unit | None = None  # in which the numbers of y and u are
    told: Any = None  # the Fit itself, and what was said of it
    others: Sequence[LastFit] = ()  # the other sets of data

    def at(self, count: int, **others: Any) -> Any:
        """So many numbers of the model, with other values for what it uses. Raises AgradError where it has others."""
        value = over_unit(as_array(self.model(*self.parameters, **{**self.used, **others})), self.unit)
        return value + np.zeros(count)


def _set_of(model: Closure, name: str, y: Array) -> LastFit:
    """A set of data, with what its model uses now; parts of names, as `t.x` and `x[:50]`, are names of their own."""
    given, used = model.definition.parameters, dict[str, Any]()
    bound = {*given}  # names that have another value each time

    def function(tree: Expr, parameters: tuple[str, ...] = ()) -> Closure:
        definition = Definition(tree.span.text, parameters, (), tree, tree.span)
        return Closure(definition, (), model.machine, model.scopes)

    def named(node: Any) -> Name | None:
        if isinstance(node, Each | Lambda):
            bound.update(_names(node.target) if isinstance(node, Each) else [one.name for one in node.parameters])
        base = node
        while isinstance(base, Attribute | Index):
            base = base.value
        if not isinstance(base, Name) or not any(base.id in names for names in model.scopes) or _names(node) & bound:
            return None
        part = Name(node.span.text, span=node.span)
        used[part.id] = function(node)()
        return part

    tree = replaced(parse_expression(Source("model", model.__name__)), named)
    return LastFit(function(tree, (*given, *used)), used, name, y)


def _names(tree: Any) -> set[str]:
    """What an expression looks up."""
    return {one.id for one in loads(tree)}


def mistaken_constants(text: str) -> Iterator[tuple[str, str]]:
    """The constants in a model that might be meant as parameters, each with the words of a note.

    That is not e where it is the base of a power.
    """
    for name in sorted(_names(parse_expression(Source("model", text))) & {"tau", "e"}):
        if re.search(rf"\b{name}\b(?!\s*(\*\*|\^))", text):
            yield name, f"fit: {name} is the constant {format_number(CONSTANTS[name])} here, and no parameter"


def _note_constants(session: Session, call: Call, function: Closure) -> None:
    for name, message in mistaken_constants(function.__name__):
        if name not in function.definition.parameters and not any(name in names for names in function.scopes):
            fix = re.sub(r"\bover\s+", f"over {name}, ", started(call, {name: "1"}), count=1)
            session.emit(Noted(Note(message, fixes=[fix])))


class Asked(NamedTuple):
    """What `fit` is asked to do: the models of all parameters, then those that others give, and what was measured."""

    names: list[str]
    tied: list[str]
    models: list[Closure]
    ties: list[Closure]
    measured: list[Any]

    @classmethod
    def of(cls, call: Call) -> Asked:
        """The operands of a command. Raises AgradError of kind `shape`."""
        tied = str(call.options.get("tied", "")).split()
        count = len(call.values) - len(tied)
        models, ties = call.values[:count:2], call.values[count:]
        names = [name for name in models[0].definition.parameters if name not in tied]
        known = [(as_array(value), plain(call, "what was measured", value)) for value in call.values[1:count:2]]
        measured: list[Any] = [value if isinstance(value, Tensor) else number for value, number in known]
        for place, y in enumerate(measured):
            if len(shape_of(y)) != 1 and not (len(measured) > 1 and not shape_of(y)):
                raise call.wrong("shape", "fit: what was measured must be a vector")
            if not shape_of(y):
                measured[place] = OPS["reshape"].call(y, (1,))
        return cls(names, tied, models, ties, measured)

    def every(self, parameters: Sequence[Any]) -> list[Any]:
        """The parameters, and those that they give."""
        return [*parameters, *[as_array(tie(*parameters)) for tie in self.ties]]


def _plain(x: Any) -> Any:
    """A value without its graph."""
    return x.value if isinstance(x, Tensor) else np.asarray(x)


def _given(call: Call, said: str, value: Any, written: Expr | None, beside: Expr | None = None) -> Given:
    """A value of a command, written in it, or else what the parameter is now that the words in an error begin with."""
    if written is None:
        return Given(said, as_array(value), call.node, lambda text: started(call, {said.partition(" ")[0]: text}))
    return Given(said, as_array(value), written, partial(corrected, written.span), beside)


def _scales(call: Call, asked: Asked, starts: Mapping[str, Any], used: Sequence[Any]) -> Scales:
    """The units of the fit. Raises AgradError of kind `unit`."""
    pairs = zip(call.node.operands[::2], call.node.operands[1::2], asked.measured, strict=False)
    measured = [_given(call, f"{one.span.text} is", y, one, model) for model, one, y in pairs]
    given = dict[str, list[Given]]()
    for name in starts:
        value, pair = call.options.get(f"from {name}", call.names.get(name)), call.option(f"in {name}")
        start = _given(call, f"{name} starts at", value, call.option(f"from {name}"))
        ends: Any = zip(call.options[f"in {name}"], pair.items, strict=True) if isinstance(pair, Tuple) else ()
        given[name] = [start] * (value is not None) + [_given(call, f"{name} is bounded by", *end) for end in ends]
    models = [lambda *xs, model=model: as_array(model(*asked.every(xs))) for model in asked.models]
    return scales_of(models, starts, measured, given, [*map(unit_of, used)])


def started(call: Call, texts: Mapping[str, str]) -> str:
    """The command with more starts."""
    typed, span = call.node.span.text, call.node.span
    given = [one.span.end - span.start for word, one in call.node.options if one and word.startswith("from ")]
    end, more = max(given, default=len(typed)), ", ".join(f"{name}={text}" for name, text in texts.items())
    return f"{typed[:end]}{',' if given else ' from'} {more}{typed[end:]}"


@command(
    changes="session",
    operands=EXPRESSION,
    options={
        "over": NOTHING,
        "sigma": VALUE,
        "from": VALUE,
        "tied": VALUE,
        "loss": dict.fromkeys(LOSSES, "as SciPy has it"),
        "beyond": VALUE,
        "errors": METHODS,
    },
)
def _fit(session: Session, call: Call) -> None:
    """fit y ~ a*exp(-b*x) over a, b [with sigma s] [from a=1, b=0.1]
    fit y ~ a*x, z ~ b*x over a in 0..1, b [tied c = 2*a] [loss huber beyond 1] [errors orthogonal]

    Finds the parameters of models with the least sum of squares, as correlated uncertain values.

    over: the names of the parameters, with bounds: a in 0..1
    sigma: the standard uncertainties of y, or its covariance matrix
    from: where to start, with units where there are any: a=1, b=2 m/s
    tied: parameters that others give: c = 2*a
    loss: counts large residuals less: huber, soft_l1, cauchy or arctan
    beyond: the residual from which on they count less, in units of sigma if that is known: 1
    errors: uses the uncertainties of x, too: orthogonal or effective
    as typed: fit y ~ a*x over a [sigma s] [from a=1]
    example: x = [0, 1, 2, 3]; y = [2.1, 1.2, 0.8, 0.4]; fit y ~ a*exp(-b*x) over a, b from a=1, b=1; a/b; plot fit
    """
    asked = Asked.of(call)
    for model in asked.models:
        _note_constants(session, call, model)
    starts, bounds = _starts(call, asked.names)
    named = zip(asked.models, call.node.operands[1::2], asked.measured, strict=False)
    parts = [_set_of(model, written.span.text, _plain(y)) for model, written, y in named]
    for part in parts:
        _require_all(call, part)
    used = [as_array(x) for part in parts for x in part.used.values() if isinstance(x, Tensor | List)]
    scales = _scales(call, asked, starts, used)
    shapes = [() if value is None else shape_of(value) for value in starts.values()]
    every = [f"{name}{one}" for name, shape in zip(asked.names, shapes, strict=True) for one in _indices(shape)]
    columns, data = _data(call, asked, parts, shapes, scales)

    def has_one_minimum() -> bool:
        models = [one.model for one in data if "loss" not in call.options and one.errors is None]
        try:
            return len(models) == len(data) and all(is_linear(model, [1.0] * len(every)) for model in models)
        except AgradError:  # which the fit itself will tell, once it begins
            return False

    first, within = within_of(starts, bounds, scales, partial(started, call), has_one_minimum)
    try:
        found = together(data, every, first, within._replace(loss=_loss(call, data, every, first, scales)))
        if found.problem:
            raise found.failure("from " + ", ".join(f"{name}=…" for name in asked.names) + "   starts elsewhere")
    except AgradError as error:
        kept = [name for name in asked.names if name in CONSTANTS and name not in call.names]
        error.notes += [f"{name} is still the constant {format_number(CONSTANTS[name])}" for name in kept]
        raise
    if scales.is_mixed:
        found = found._replace(rss=nan, r2=nan)
    values = leaves_of(found, shapes)
    _follow(session, call, asked, found, values, scales)
    others = asked.every(values)[len(values) :]
    ties = {name: (x, tie.__name__) for name, x, tie in zip(asked.tied, others, asked.ties, strict=True)}
    found = with_tied(found, ties)
    for name, value in zip([*asked.names, *asked.tied], [*values, *others], strict=True):
        session.machine.bind(call.names, name, value)
    own: dict[str, Any] = {"parameters": [*values, *others], "dof": _dof(found)}
    latest, *rest = [
        part._replace(y=one.y, u=np.sqrt(np.diag(one.sigma)) if np.ndim(one.sigma) > 1 else one.sigma, unit=unit, **own)
        for part, one, unit in zip(parts, data, scales.measured, strict=True)
    ]
    remember_entry(vars(session), "fit")
    session.fit = latest._replace(told=fit_quality.Told(found), others=rest)  # for `plot fit`, `last fit`, `report`
    session.emit(Estimated(found))
    _note_unused(session, call, asked, parts, values, columns)


def _indices(shape: Any) -> list[str]:
    """What stands behind the name of a parameter for each of its entries."""
    return [f"[{place}]" for place in range(size_of(shape))] if shape else [""]


def _data(
    call: Call, asked: Asked, parts: Sequence[LastFit], shapes: Sequence[Any], scales: Scales
) -> tuple[list[str], list[Data]]:
    """The columns whose uncertainties are used, and the sets of data, with what the models of `parts` use."""
    sigmas = _sigmas(call, asked.measured, scales)
    given = _errors(call, parts, asked.names) if "errors" in call.options else [(None, [])] * len(parts)
    size = sum(map(size_of, shapes))

    def model_of(part: LastFit, columns: Sequence[str], unit: Unit | None) -> Callable[..., Any]:
        def model(*xs: Any) -> Any:
            own = asked.every(scales.entered(_joined(xs[:size], shapes)))
            moved = {name: scales.alike(x, part.used[name]) for name, x in zip(columns, xs[size:], strict=True)}
            return bare(scaled(as_array(part.model(*own, **part.used | moved)), unit))

        return model

    data = [
        Data(model_of(part, columns, unit), scaled(part.y, unit), sigma, errors)
        for part, (errors, columns), sigma, unit in zip(parts, given, sigmas, scales.measured, strict=True)
    ]
    return [*chain(*[columns for _, columns in given])], data


def _require_all(call: Call, part: LastFit) -> None:
    """Refuse data with nan, with a line that leaves these points out. Raises AgradError of kind `domain`."""
    arrays = {name: _plain(as_array(x)) for name, x in part.used.items() if isinstance(x, Tensor | List)}
    columns = {part.name: part.y} | {name: x for name, x in arrays.items() if np.shape(x) == part.y.shape}
    missing = [name for name, x in columns.items() if np.isnan(x).any()]
    if not missing:
        return
    kept = "ok" if "ok" not in call.names else "kept"
    sigma = call.option("sigma")
    each = [*columns, *([sigma.span.text] if sigma is not None and shape_of(call.options["sigma"]) else [])]
    line = call.node.span.text
    for name in each:
        line = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w(\[])", f"{name}[{kept}]", line)
    fix = f"{kept} = isfinite({' + '.join(columns)}); {line}"
    message = f"fit: {' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} nan in some places"
    raise call.wrong("domain", message, fix)


def _joined(xs: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
    """Numbers as parameters, some of which are vectors."""
    found, rest = [], list(xs)
    for shape in shapes:
        own, rest = rest[: size_of(shape)], rest[size_of(shape) :]
        found.append(OPS["stack"].call(own) if shape else own[0])
    return found


def _dof(found: Fit) -> float:
    """The degrees of freedom of the uncertainties of the parameters."""
    return inf if found.is_weighted else float(found.dof)


def with_tied(found: Fit, tied: Mapping[str, tuple[Any, str]]) -> Fit:
    """A fit with what its parameters give, and the texts that say how."""
    known = dict[str, tuple[Any, Any, str, Unit | None]]()
    for name, (x, text) in tied.items():
        unit = unit_of(x)
        known[name] = in_unit(coerce(_plain(x)), unit), scaled(uncertainty(x), unit), text, unit
    return found._replace(tied=known)


def leaves_of(found: Fit, shapes: Sequence[Any]) -> list[Tensor]:
    """The parameters as correlated uncertain values; those at their bounds are plain numbers."""
    dof, ends = _dof(found), np.cumsum([0, *map(size_of, shapes)]).tolist()
    values, kept = list[Tensor](), np.zeros(ends[-1], dtype=bool)
    for begin, end, shape in zip(ends, ends[1:], shapes, strict=False):
        x, u = (part[begin:end] if shape else float(part[begin]) for part in (found.values, found.u))
        kept[begin:end] = found.free[begin:end].any()
        values.append(of_unit(uncertain(x, u, dof) if kept[begin] else x, found.units[begin]))
    nodes = [x.node for x in values if x.node.uncertainty is not None]
    if nodes:
        link(nodes, correlations(found.covariance[np.ix_(kept, kept)]))
    return values


def _follow(session: Session, call: Call, asked: Asked, found: Fit, values: Sequence[Tensor], scales: Scales) -> None:
    """Correlate the parameters with what was measured, where that has uncertainties of its own."""
    sets = zip(asked.measured, scales.measured, strict=True)
    own = [over_unit(y, unit) for y, unit in sets if uncertainty(y) is not None]
    leaves = [x for x in values if x.node.uncertainty is not None]
    if not own or "sigma" in call.options or not leaves:
        return
    y = own[0] if len(own) == 1 else FUNCTIONS["concat"].call(own)
    if y.size > TIED or found.loss is not None:
        why = "with a loss" if found.loss is not None else "of so many values"
        are = "are" if len(asked.names) > 1 else "is"
        session.emit(Noted(Note(f"fit: {why}, {' and '.join(asked.names)} {are} taken to be independent")))
        return
    gains = [found.covariance @ fit_quality.weighed(table[:-1], sigma) for table, _, sigma in found.points()]
    ends = np.cumsum([x.size for x in values])[:-1]
    split = zip(np.split(np.concatenate(gains, axis=1), ends), values, scales.parameters, strict=True)
    rows = [scaled(part, unit, -1) for part, x, unit in split if x.node.uncertainty is not None]
    derived(leaves, y, np.concatenate(rows))


def _errors(call: Call, parts: Sequence[LastFit], names: Sequence[str]) -> list[tuple[Errors | None, list[str]]]:
    """For each model, the columns in it that have uncertainties, and their names."""
    method, found = call.choice("errors", ""), list[tuple[Errors | None, list[str]]]()
    for part in parts:
        arrays = {name: as_array(value) for name, value in part.used.items() if isinstance(value, Tensor | List)}
        u = {name: uncertainty(x) for name, x in arrays.items() if shape_of(x) == part.y.shape}
        columns = [name for name, one in u.items() if one is not None and name not in names]
        known = [np.broadcast_to(np.asarray(u[name]), part.y.shape) for name in columns]
        errors = Errors(method, [arrays[name].value for name in columns], known) if columns else None
        found.append((errors, columns))
    if not any(columns for _, columns in found):
        raise call.wrong(
            "domain", "fit: no column of the model has uncertainties", Hint("x = normal(x, 0.1)   gives some")
        )
    return found


class Typed(NamedTuple):
    """How the options of a fit are typed: the sign before their words, errors about them, the line with another one."""

    sign: str
    wrong: Callable[..., Exception]  # of a message and fixes
    again: Callable[[str, str], str]


def loss_of(
    name: str | None, beyond: float | None, has_sigma: bool, typed: Typed, likely: Callable[[], str] = lambda: "0.1"
) -> Loss | None:
    """The loss that is asked for. Raises what `typed` has where nothing says which residuals are large.

    `likely`: a residual from which on they are.
    """
    if name is None:
        if beyond is not None:
            raise typed.wrong(f"fit: {typed.sign}beyond is an option of a loss", typed.again("loss", "huber"))
        return None
    if beyond is None and not has_sigma:
        needs = f"a loss needs {typed.sign}beyond: the residual from which on it counts less"
        raise typed.wrong(f"fit: without {typed.sign}sigma, {needs}", typed.again("beyond", likely()))
    scale = 1.0 if beyond is None else beyond
    if not 0.0 < scale < inf:
        raise typed.wrong(f"fit: {typed.sign}beyond is positive and finite, not {format_number(scale)}")
    return Loss(name, scale)


def middle_of(name: str, low: float, high: float, typed: Typed, turned: Callable[[], str], held: str) -> float | None:
    """The middle of bounds, None where one is infinite.

    Refuses those that end before they begin: a fix turns them, or a hint says what holds a parameter.
    """
    if not low < high:
        if low != low or high != high:
            raise typed.wrong(f"fit: the bounds of {name} are numbers, -inf or inf, and not nan")
        fix = turned() if high < low else Hint(held)
        raise typed.wrong(f"fit: the bounds of {name} end before they begin", fix)
    return (low + high) / 2 if isfinite(low) and isfinite(high) else None


def _typed(call: Call) -> Typed:
    return Typed("", partial(call.wrong, "domain"), lambda word, value: f"{call.node.span.text} {word} {value}")


def _loss(
    call: Call, data: Sequence[Data], names: Sequence[str], start: Sequence[float], scales: Scales
) -> Loss | None:
    """The loss that is asked for. Raises AgradError where nothing says which residuals are large."""
    unit = scales.measured[0] if data[0].sigma is None else None

    def likely() -> str:
        left = np.concatenate([np.abs(y - table[-1]) for table, y, _ in together(data, names, start).points()])
        size = format_number(1.4826 * float(np.median(left)), 2)  # that of normal errors (Hampel, JASA 69, 1974)
        return with_unit(size if float(size) > 0.0 else "0.1", unit)

    name = call.choice("loss", "huber") if "loss" in call.options else None
    beyond = number_of("fit", "beyond", call.options["beyond"], True) if "beyond" in call.options else None
    if beyond is not None:
        given = _given(call, "beyond is", call.options["beyond"], call.option("beyond"))
        beyond = float(scales.option(given, unit))
    return loss_of(name, beyond, data[0].sigma is not None, _typed(call), likely)


def _note_unused(
    session: Session,
    call: Call,
    asked: Asked,
    parts: Sequence[LastFit],
    values: Sequence[Tensor],
    columns: Sequence[str],
) -> None:
    """Tell which uncertainties were not used, with what uses those of columns."""
    for model, part in zip(asked.models, parts, strict=True):
        known = [(name, as_array(x)) for name, x in part.used.items() if isinstance(x, Tensor | List | tuple)]
        named = {name: behind for name, x in known if name not in asked.names and (behind := sources(x))}
        others = sources(as_array(model(*asked.every(values))), [*values, *chain(*named.values())])
        arrays = {name for name, x in known if shape_of(x) == part.y.shape}
        for name in [*named, *[x.node.spell() for x in others]]:
            if name in columns:
                continue
            fixes = (
                [f"{call.node.span.text} errors orthogonal"] if name in arrays and "errors" not in call.options else []
            )
            told = f"fit: the uncertainty of {name} is not used: only that of what was measured is"
            session.emit(Noted(Note(told, fixes=fixes)))


def _starts(call: Call, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, tuple[float, float]]]:
    """Where the search for each parameter begins, and its bounds, in SI units.

    That is as given, at the present value, or in the middle of finite bounds; None where nothing says it.
    """
    starts, bounds = dict[str, Any](), dict[str, tuple[float, float]]()
    for name in names:
        low, high = (number_of("fit", "a bound", end, True) for end in call.options.get(f"in {name}", (-inf, inf)))
        pair: Any = call.option(f"in {name}")

        def turned(pair: Any = pair) -> str:
            return corrected(pair.span, "..".join(one.span.text for one in reversed(pair.items)))

        kept = pair and pair.items[0].span.text
        held = f"{name} = {kept} before the fit keeps it, without {name} after over"
        middle = middle_of(name, low, high, _typed(call), turned, held)
        value = call.options.get(f"from {name}", call.names.get(name))
        start = None if value is None else plain(call, name, value)
        if start is None or len(shape_of(start)) > 1:
            start = middle
        elif f"from {name}" not in call.options:  # the present value may be outside
            start = np.clip(start, low, high) if shape_of(start) else min(max(float(start), low), high)
        starts[name], bounds[name] = start, (low, high)
    return starts, bounds


def within_of(
    starts: Mapping[str, Any],
    bounds: Mapping[str, tuple[float, float]],
    scales: Scales,
    started: Callable[[Mapping[str, str]], str],
    has_one_minimum: Callable[[], bool],
) -> tuple[list[float], Within]:
    """Where the search begins and its bounds, for each entry of the parameters in its unit.

    Where a parameter has no start, that is 0 if the sum of squares `has_one_minimum`. Else it raises AgradError of kind
    `name`: `started` gives the line with some.
    """
    of = dict(zip(starts, scales.parameters, strict=True))
    missing = {name: with_unit("1", of[name]) for name, start in starts.items() if start is None}
    if missing and has_one_minimum():
        starts = {**starts, **dict.fromkeys(missing, 0.0)}
    elif missing:
        message = f"fit: {' and '.join(missing)} {'have' if len(missing) > 1 else 'has'} no number to start from"
        raise AgradError("name", message, fixes=[started(missing)])
    counts = {name: size_of(shape_of(start)) for name, start in starts.items()}
    each = [name for name, count in counts.items() for _ in range(count)]
    first = [x for name, start in starts.items() for x in np.ravel(in_unit(start, of[name])).tolist()]
    ends: Any = [[in_unit(end, of[name]) for end in bounds[name]] for name in each]
    measured = None if scales.is_mixed else scales.measured[0]
    return first, Within.of(ends)._replace(units=[of[x] for x in each], measured=measured, is_mixed=scales.is_mixed)


def _sigmas(call: Call, measured: Sequence[Tensor], scales: Scales) -> list[Any]:
    """The uncertainties of what was measured: as given, or its own, as a matrix if these are correlated.

    None where they are not known.
    """
    if scales.is_mixed and ("sigma" in call.options or any(uncertainty(y) is None for y in measured)):
        message = "fit: squares of residuals of different units have no sum without the uncertainties of each set"
        raise call.wrong("unit", message, Hint("y = normal(y, s)   before gives y uncertainties"))
    if "sigma" in call.options:
        power = len(shape_of(plain(call, "sigma", call.options["sigma"])))
        if len(measured) > 1 and power > 0:
            raise call.wrong(
                "shape", "fit: of several sets of data, sigma is one number", Hint("y = normal(y, s)   before")
            )
        given = _given(call, "sigma is", call.options["sigma"], call.option("sigma"))
        return [scales.option(given, unit, max(power, 1)) for unit in scales.measured]
    if len(measured) > 1:
        sums = [over_unit(OPS["sum"].call(y), unit) for y, unit in zip(measured, scales.measured, strict=True)]
        known = [(x, u) for x in sums if (u := uncertainty(x))]
        whole: Any = uncertainty(sum(x / u for x, u in known)) or 0.0  # each of which has the uncertainty 1
        if not np.isclose(whole, len(known) ** 0.5, rtol=1e-6):
            fixes = [Hint("concat([y, z]) ~ concat([a*x, b*x])   fits them as one, with their covariances")]
            raise AgradError("domain", "fit: the sets of data are correlated with each other", fixes=fixes)
    return [_own(y, unit) for y, unit in zip(measured, scales.measured, strict=True)]


def _own(y: Tensor, unit: Unit | None) -> Any:
    u: Any = uncertainty(y)
    whole: Any = uncertainty(OPS["sum"].call(y))
    if u is None or np.isclose(whole, np.linalg.norm(u), rtol=1e-6, atol=0.0):
        return scaled(u, unit)
    if y.size > TIED:
        fixes = [Hint("sigma s   at the end gives uncertainties without correlations")]
        raise AgradError("domain", "fit: so many measured values are correlated", fixes=fixes)
    _, u, matrix = entries_of([y])
    return scaled(matrix * np.outer(u, u), unit, 2)


# The latest fit


@command(changes="session", options={"as": NOTHING, "coverage": VALUE})
def _last(session: Session, call: Call) -> None:
    """last fit [as f] [profile] [coverage 0.95]

    Says more about the latest fit: chi2, its p-value, AIC, BIC, R2.

    as: makes a table of the points: predicted, residual, standardized, leverage, bands, da_dy
    profile: intervals of the parameters where the model is curved, by the profile likelihood
    coverage: of intervals and bands: 0.95
    example: x = [0, 1, 2, 3]; y = [2.1, 1.2, 0.8, 0.4]; fit y ~ a + b*x over a, b from a=1, b=1; last fit
    """
    latest = session.fit
    if latest is None:
        raise call.wrong("name", "last fit: there is no fit yet", Hint("fit y ~ a*x over a   comes first"))
    coverage = number_of("last", "coverage", call.options.get("coverage", fit_quality.COVERAGE))
    if not 0.0 < coverage < 1.0:
        raise call.wrong("domain", "last fit: coverage is between 0 and 1")
    told = latest.told._replace(coverage=coverage, intervals=())
    if "profile" in call.options:
        told = told._replace(intervals=fit_quality.profile(told.found, coverage))
        remember_entry(vars(session), "fit")
        session.fit = latest._replace(told=told)  # for `report`
    if "as" in call.options:
        if told.found.within.is_mixed:
            raise call.wrong("unit", "last fit: the points have different units", Hint("last fit   without a table"))
        of, points = fit_quality.units_of(told.found), told.points()
        columns = {name: of_unit(x, of.get(name)) for name, x in points.items()}
        session.machine.bind(call.names, str(call.options["as"]), Table(columns, columns.values(), "the fit"))
    session.emit(Estimated(told))
