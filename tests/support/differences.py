"""Derivatives two ways: by the rules, to any order, and by differences of the exact order below."""

from itertools import count

import numpy as np

import agrad.engine as ag


def weights(shape, number):
    """Numbers without pattern, the same each time: a seed of ones would hide wrong entries."""
    values = np.cos(np.arange(1, np.prod(shape, dtype=int) + 1) * 1.7 + number) + 0.3
    return values.reshape(shape) if shape else float(values[0])


def leaf(value):
    return ag.tensor(value, requires_grad=True)


def outputs(result):
    return [y for y in (result if isinstance(result, tuple) else (result,)) if isinstance(y, ag.Tensor)]


def weighted(results, numbers):
    """One number from several results; None where none of them requires grad."""
    terms = [ag.sum(y * weights(y.shape, next(numbers))) for y in results if y.requires_grad]
    return sum(terms[1:], terms[0]) if terms else None


def lowered(function, order):
    """The function as one number, with `order` derivatives taken, each along fixed directions."""

    def value(*xs):
        return weighted(outputs(function(*xs)), count())

    def derivative(lower):
        def next_value(*xs):
            y = lower(*xs)
            return None if y is None else weighted(gradients(y, xs, True), count(5))

        return next_value

    for _ in range(order):
        value = derivative(value)
    return value


def gradients(y, xs, create_graph=False):
    """By every operand that the value depends on; zeros stand for the rest."""
    found = []
    for x in xs:
        try:
            found.append(ag.grad(y, x, create_graph=create_graph))
        except ag.AgradError as error:
            if error.kind != "grad":
                raise
            found.append(ag.tensor(np.zeros(x.shape) if x.shape else 0.0))
    return found


def exact(function, xs, order):
    """The gradient of the (order-1)-th derivative, by the rules."""
    leaves = [leaf(x) for x in xs]
    y = lowered(function, order - 1)(*leaves)
    return None if y is None else [np.asarray(g.data) for g in gradients(y, leaves)]


def differences(function, xs, order):
    """The same by central differences, two step widths combined, the step chosen for each entry."""
    lower = lowered(function, order - 1)

    def at(place, index, moved):
        arrays = [np.array(x, dtype=float) for x in xs]
        arrays[place][index] = moved
        y = lower(*(leaf(x) for x in arrays))
        return float(np.asarray(y.data).reshape(()))

    found = []
    for place, x in enumerate(xs):
        x = np.array(x, dtype=float)
        slopes = np.zeros(x.shape)
        for index in np.ndindex(*x.shape):
            h = 1e-3 * max(1.0, abs(x[index]))
            wide, narrow = (
                (at(place, index, x[index] + step) - at(place, index, x[index] - step)) / (2 * step)
                for step in (h, h / 2)
            )
            slopes[index] = (4 * narrow - wide) / 3
        found.append(slopes)
    return found


def error_of(function, xs, order):
    """The largest difference, relative to the size of the gradient; None where there is no derivative."""
    rules = exact(function, xs, order)
    if rules is None:
        return None
    errors = [0.0]
    for by_rule, by_difference in zip(rules, differences(function, xs, order), strict=True):
        assert by_rule.shape == by_difference.shape
        if by_rule.size:
            size = 1.0 + max(np.abs(by_rule).max(), np.abs(by_difference).max())
            errors.append(float(np.abs(by_rule - by_difference).max() / size))
    return max(errors)


def eager(f, values):
    """The value of a function and its gradients, by a graph and a backward."""
    leaves = [ag.tensor(value, requires_grad=True) for value in values]
    y = f(*leaves)
    if isinstance(y, ag.Tensor) and y.requires_grad:
        y.backward()
    return [y, *[x.grad if x.grad is not None else 0.0 * np.zeros(x.shape) for x in leaves]]
