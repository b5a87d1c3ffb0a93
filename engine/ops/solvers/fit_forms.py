"""The result of a fit as text, and for JSON."""

from __future__ import annotations

from math import isfinite
from typing import Any

from agrad.engine.ops.solvers.fitting import Fit
from agrad.engine.text import align
from agrad.engine.values import format_number, format_uncertain


def text(fit: Fit, sign: str) -> str:
    """The parameters with their uncertainties, their correlations, and how well they fit."""
    values = zip(fit.names, fit.values.tolist(), fit.u.tolist(), strict=True)
    lines = [f"{name} = {format_uncertain(value, u, sign=sign)}" for name, value, u in values]
    if len(fit.names) > 1:
        table = [[name, *[f"{r:.3f}" for r in row]] for name, row in zip(fit.names, fit.correlation, strict=True)]
        lines += ["", *align([["correlation", *fit.names], *table], right=range(1, len(fit.names) + 1))]
    quality = f"s = {format_number((fit.rss / fit.dof) ** 0.5, 4)}"
    if fit.is_weighted:
        quality = f"chi2/dof = {format_number(fit.chi2 / fit.dof, 4)}"
    r2 = f", R2 = {format_number(fit.r2, 6)}" if isfinite(fit.r2) else ""
    return "\n".join([*lines, "", f"{quality}{r2}, {fit.dof} degrees of freedom"])


def fields(fit: Fit) -> dict[str, Any]:
    """The result for JSON; what is not finite is null."""
    values = zip(fit.names, fit.values.tolist(), fit.u.tolist(), strict=True)
    return {
        "parameters": {name: {"value": _or_none(value), "u": _or_none(u)} for name, value, u in values},
        "rss": _or_none(fit.rss),
        "chi2": _or_none(fit.chi2),
        "dof": fit.dof,
        "r2": _or_none(fit.r2),
        "correlation": [[_or_none(r) for r in row] for row in fit.correlation.tolist()],
        "converged": not fit.problem,
        "iterations": fit.iterations,
        **({"problem": fit.problem} if fit.problem else {}),
    }


def _or_none(number: float) -> float | None:
    return float(number) if isfinite(number) else None
