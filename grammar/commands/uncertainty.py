"""Commands about uncertain values: `budget`, `correlate`."""

from __future__ import annotations

from agrad.engine.autodiff.uncertainty import correlate
from agrad.engine.core.arguments import number_of, small
from agrad.engine.inspect.budget import budget, sampled
from agrad.engine.ops.creation import generator
from agrad.grammar.commands.operands import EXPRESSION, REQUIRING, VALUE
from agrad.grammar.commands.registry import Call, Session, command, graphed
from agrad.grammar.results import LINES, Curve, Estimated, Plot

FORMS = {"text": "a table", "json": "one object", "csv": "a line for each source", "latex": "a table for a paper"}


@command(operands=EXPRESSION, options={"order": VALUE, "samples": VALUE, "coverage": VALUE, "as": FORMS}, logged=False)
def _budget(session: Session, call: Call) -> None:
    """budget y [order 2] [samples 1e6] [coverage 0.95] [as json|csv|latex]

    Shows what each uncertain value contributes to the uncertainty of y.

    order: 2 adds the terms of the second order, and the bias
    samples: so many random samples check the result (JCGM 101)
    coverage: of the expanded uncertainty: 0.95
    as: text, json, csv or latex
    example: m = 2.0 ± 0.1; h = 3.00(5); budget 9.81*m*h
    """
    value, options, form = call.values[0], call.options, call.choice("as", "text")
    coverage = number_of("budget", "coverage", options.get("coverage", 0.95))
    order = small("budget", "order", options.get("order", 1))
    samples = small("budget", "samples", options.get("samples", 0))
    value = value if isinstance(value, int | float) else graphed(call, 0)
    found = budget(value, coverage, order)
    found, curves = sampled(found, value, samples, generator()) if samples else (found, [])
    session.emit(Estimated(found, form))
    if curves and form == "text":
        drawn = [Curve(*curve, style) for curve, style in zip(curves, LINES, strict=False)]
        session.emit(Plot(tuple(drawn), found.name))


@command(changes="graph", operands=REQUIRING)
def _correlate(session: Session, call: Call) -> None:
    """correlate a b 0.8

    Sets the correlation of two uncertain numbers.

    example: a = 1 ± 0.1; b = 2 ± 0.1; correlate a b 0.8; a - b
    """
    correlate(graphed(call, 0), graphed(call, 1), number_of("correlate", "the correlation", call.values[2]))
