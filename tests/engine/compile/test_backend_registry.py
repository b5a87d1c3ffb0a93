"""The table of backends: its rows can be loaded, and whatever lists the backends reads it."""

import sys
from types import SimpleNamespace

import pytest
from backends import USABLE
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.compile import registry
from agrad.engine.compile.python_backend import Compiled, PythonBackend
from agrad.engine.compile.registry import Backend


class OfSmall(PythonBackend):
    """A backend for programs of at most two steps; it counts what it compiles."""

    compiled = 0

    def supports(self, program):
        return None if len(program.steps) <= 2 else f"it has {len(program.steps)} steps"

    def compile(self, program):
        self.compiled += 1
        return Compiled(program)


@pytest.fixture
def small(monkeypatch):
    made = OfSmall()
    monkeypatch.setitem(sys.modules, "small_backend", SimpleNamespace(BACKEND=made))
    monkeypatch.setitem(registry.BACKENDS, "small", ("small_backend", "of small programs"))
    monkeypatch.setattr(registry, "CHOICES", (*registry.CHOICES, "small"))
    return made


@each("name", registry.BACKENDS)
def test_each_row_has_its_backend_and_says_what_it_does(name):
    assert isinstance(registry.load(name), Backend)
    assert f"{name}: {registry.BACKENDS[name][1]}" in registry.described("; ").split("; ")


def test_the_policy_is_over_backends_of_the_table():
    assert {registry.REFERENCE, registry.NATIVE} <= set(registry.BACKENDS)
    assert registry.AUTO not in registry.BACKENDS


@each("call", [lambda x: ag.compile(ag.sin, 1.0, backend=x), ag.compile(ag.sin, 1.0).source])
def test_an_unknown_backend_lists_those_of_the_table(call, small):
    caught = refuses(lambda: call("gpu"), "there is no backend 'gpu'")
    assert caught.fixes == [f'backend="{name}"' for name in registry.CHOICES]
    assert 'backend="small"' in caught.fixes


def test_a_backend_computes_what_it_supports_on_numbers_and_columns(small):
    f = ag.compile(lambda x: x * 3.0, 2.0, wrt=(), backend="small")
    assert (f.value(4.0), small.compiled) == (12.0, 1)
    assert f.map([1.0, 2.0])[0].tolist() == [3.0, 6.0]
    assert small.compiled == 2
    assert f.source() == f.source("python")


def test_python_computes_what_another_backend_does_not_support_and_the_source_says_so(small):
    f = ag.compile(lambda x: ag.sin(x) * x, 2.0, backend="small")
    assert f.value_and_grad(4.0) == ag.compile(lambda x: ag.sin(x) * x, 2.0, backend="python").value_and_grad(4.0)
    assert small.compiled == 0
    first, rest = f.source().split("\n", 1)
    assert first.startswith("# not by small: it has ") and first.endswith(" steps")
    assert rest == f.source("python")


def test_machine_code_is_not_made_where_another_backend_was_asked_for(small):
    f = ag.compile(lambda x: x * 3.0, 2.0, backend="small")
    assert f.source("llvm") == "# no machine code: the backend is small\n" + f.source("python")


@each("backend", USABLE)
def test_auto_names_the_code_that_computes(backend):
    f = ag.compile(lambda x: x * 3.0, 2.0, backend=backend)
    f.value_and_grad(5.0)
    assert f.source("auto") == f.source()
