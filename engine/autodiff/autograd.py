"""What PyTorch has in `torch.autograd`, by its names there: `ag.autograd`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from agrad.engine.autodiff.backward import grad
from agrad.engine.autodiff.function import Function
from agrad.engine.autodiff.gradcheck import check
from agrad.engine.core.arguments import number_of, truth_of
from agrad.engine.core.context import Context, current, scope
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import format_number, np

__all__ = ["Function", "detect_anomaly", "grad", "gradcheck", "set_detect_anomaly"]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    eps: Any = 1e-6,
    atol: Any = 1e-5,
    rtol: Any = 1e-3,
    raise_exception: Any = True,
) -> bool:
    """Whether the derivatives of a function agree with differences, within atol + rtol*|difference|, at some inputs.

    The steps are chosen for each entry, so that `eps` has no effect. Raises AgradError of kind `grad` if they do not,
    unless `raise_exception` is false.
    """
    points = list(inputs) if isinstance(inputs, tuple | list) else [inputs]
    absolute, relative = number_of("gradcheck", "atol", atol), number_of("gradcheck", "rtol", rtol)
    number_of("gradcheck", "eps", eps)
    moving = [x for x in points if isinstance(x, Tensor) and x.requires_grad]
    if not moving:
        raise AgradError("grad", "gradcheck: at least one of the inputs must require grad")

    def summed(*given: Tensor) -> Any:
        rest = iter(given)
        return _mixed(func(*[next(rest) if isinstance(x, Tensor) and x.requires_grad else x for x in points]))

    report = check(summed, *[x.detach() for x in moving])
    for found in report.findings:
        apart = abs(found.exact - found.difference)
        if not apart <= absolute + relative * abs(found.difference):
            if not raise_exception:
                return False
            both = f"{format_number(found.exact)}, and the difference is {format_number(found.difference)}"
            raise AgradError("grad", f"gradcheck: the derivative by {found.entry} is {both}")
    return True


def _mixed(value: Any) -> Any:
    """One number from all entries of a result, each with a weight of its own, so that no two mistakes cancel."""
    if isinstance(value, tuple | list):
        return sum(_mixed(part) * (1.0 + place / 7) for place, part in enumerate(value))
    if not isinstance(value, Tensor) or not value.shape:
        return value
    weights = np.cos(np.arange(float(value.size))).reshape(value.shape) + 1.5
    return FUNCTIONS["sum"].call(value * weights)


class detect_anomaly(scope):  # noqa: N801 - PyTorch's name
    """`with detect_anomaly():` a backward that gives nan is an error, which names the operation."""

    __slots__ = ()

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(anomalies=bool(check_nan))


def set_detect_anomaly(mode: Any, check_nan: Any = True) -> None:
    """From now on, or no longer, a backward that gives nan is an error."""
    on = truth_of("set_detect_anomaly", "mode", mode) and truth_of("set_detect_anomaly", "check_nan", check_nan)
    _switch("anomalies", on)


def set_grad_enabled(mode: Any) -> None:
    """From now on operations are recorded, or no longer."""
    _switch("recording", truth_of("set_grad_enabled", "mode", mode))


def _switch(name: str, on: bool) -> None:
    """Switch something on or off, also after the statement, and the blocks, that this is called in."""
    context: Context | None = current()
    log = current().undo_log
    while context is not None:
        if log is not None:
            log.remember((context, name), partial(setattr, context, name, getattr(context, name)))
        setattr(context, name, on)
        context = context.outer
