"""Calls that do not depend on each other are made together, and give what they give one by one."""

import math
import re
from itertools import product

import numpy as np
import pytest
from rows import each

import agrad.engine as ag

pytest.importorskip("llvmlite")

from agrad.engine.compile.llvm.ir_builder import Code, Grouped
from agrad.engine.compile.llvm.target import machine

needs_vectors = pytest.mark.skipif(machine().vector_name("tanh", 1) is None, reason="there is no libmvec here")


def code_of(chains, depth, function="tanh"):
    """So many chains of calls, each of the one before."""
    code = Code(1)
    for chain in range(chains):
        x = f"%x{chain}"
        for _ in range(depth):
            x = code.library(function, (code.binary("add", x, code.literal(0.5)),))
    return code


@needs_vectors
@each("chains, depth", [(3, 1), (8, 2), (9, 3), (20, 1)])
def test_calls_side_by_side_become_one(chains, depth):
    grouped = Grouped(code_of(chains, depth))
    text = "\n".join(grouped.lines)
    lanes = machine().lanes
    whole, rest = divmod(chains, lanes)
    assert text.count(f"call <{lanes} x double>") == depth * (whole + (rest >= 3))
    assert text.count("call double @tanh") == depth * (rest if rest < 3 else 0)
    assert f"{64 * lanes}" in grouped.attributes
    known = {f"%x{chain}" for chain in range(chains)}
    for line in grouped.lines:  # nothing is used before it is computed
        name, *operands = re.findall(r"%[\w.]+", line)
        assert set(operands) <= known
        known.add(name)


@each("chains, depth", [(1, 5), (2, 3)])
def test_a_few_calls_stay_as_they_are(chains, depth):
    code = code_of(chains, depth)
    grouped = Grouped(code)
    assert (grouped.lines, grouped.declared, grouped.attributes) == (code.lines, [], "")


@each("size, name", list(product([1, 2, 3, 7, 8, 9, 17], ["tanh", "exp", "sin", "log1p"])), short=3)
def test_a_loop_gives_what_python_gives(name, size):
    f = getattr(ag, name)

    def run(start, rows):
        def step(state, row):
            state = f(0.3 * f(0.5 * state * state) + row * row)
            return state, ag.sum(state)

        last, sums = ag.scan(step, start, rows)
        return ag.sum(last) + ag.sum(sums)

    start, rows = np.linspace(0.1, 1.0, size), np.linspace(0.2, 0.8, 5 * size).reshape(5, size)
    compiled = ag.compile(run, start, rows, backend="llvm")
    for scale in (1.0, 1.1):
        value, gradients = compiled.value_and_grad(scale * start, scale * rows)
        xs = [ag.tensor(scale * x, requires_grad=True) for x in (start, rows)]
        expected = run(*xs)
        expected.backward()
        assert value == pytest.approx(expected.item(), rel=1e-13)
        for found, x in zip(gradients, xs, strict=True):
            np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-12)


def test_edges_are_those_of_the_c_library():
    edges = np.array([0.0, -0.0, 1e-320, 710.0, -746.0, math.inf, -math.inf, math.nan, 1.0])

    def run(start):
        def step(state, _):
            return ag.exp(state), ag.tanh(state)

        return ag.scan(step, start, np.zeros(1))[1]

    compiled = ag.compile(run, edges, backend="llvm")
    compiled.value(0.5 * edges)
    np.testing.assert_allclose(compiled.value(edges)[0], np.tanh(edges), rtol=1e-15)
