"""Extras that are missing, broken or too old: named, with what to install, and no traceback."""

import importlib.abc
import signal
import sys
from importlib.metadata import version

import pytest
from refused import refuses

import agrad.engine as ag
from agrad.engine.compile.llvm import target
from agrad.engine.compile.llvm.backend import supports
from agrad.engine.data.csv_tables import CsvTable
from agrad.engine.data.tables import Wanted
from agrad.engine.extras import extra
from agrad.engine.ops.scalar import special
from agrad.engine.program.trace import trace
from agrad.grammar.session.session import Session

FAULTS = {
    "missing": ModuleNotFoundError,
    "broken": RuntimeError,
    "of another numpy": ImportError,
    "half removed": AttributeError,
    "without its library": OSError,
}
USES = {
    "scipy.linalg": ("science", lambda: ag.expm([[0.0, 1.0], [0.0, 0.0]])),
    "scipy.integrate": ("science", lambda: ag.grad(ag.gammainc, 0)(1.5, 2.0)),
    "pyarrow": ("data", lambda: ag_parquet()),
    "scipy": ("science", lambda: special.from_scipy("erfinv", "erfinv")(0.5)),
    "llvmlite": ("jit", lambda: ag.compile(lambda x: x * x, 2.0, backend="llvm")),
    "matplotlib": ("plot", lambda: Session().run('plot sin(x) for x in 0..1 to "p.svg"')),
}


def ag_parquet():
    """Read a Parquet file."""
    from agrad.engine.data.formats import open_table

    with open("t.parquet", "wb"):
        pass
    return open_table("t.parquet")


@pytest.fixture
def without(monkeypatch, tmp_path):
    """Let a library fail when it is imported."""
    monkeypatch.chdir(tmp_path)

    def fail(use, problem):
        library = use.partition(".")[0]

        class Finder(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] != library:
                    return
                if problem is ModuleNotFoundError:
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
                raise problem("it was built for something else\nand more")

        for name in [name for name in sys.modules if name.partition(".")[0] == library]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
        target.binding.cache_clear()
        special.scipy_special.cache_clear()

    yield fail
    monkeypatch.undo()
    target.binding.cache_clear()
    special.scipy_special.cache_clear()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("library", USES)
def test_an_extra_that_does_not_load_is_named_with_what_to_install(without, library, fault):
    group, use = USES[library]
    without(library, FAULTS[fault])
    caught = refuses(use)
    problem = caught
    assert problem.kind == "extra"
    assert f'"agrad[{group}]"' in problem.fixes[0]
    if fault == "missing":
        assert problem.message.endswith("which is not installed")
    else:
        assert problem.message.endswith("which is installed but does not load")
        assert problem.notes == [f"{FAULTS[fault].__name__}: it was built for something else"]


def test_settings_of_matplotlib_that_are_no_text_are_what_is_to_be_changed(without):
    without("matplotlib", lambda _: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"))
    (fix,) = refuses(USES["matplotlib"][1]).fixes
    assert "matplotlibrc" in fix


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_without_them_goes_on(without, tmp_path, fault):
    for library in USES:
        without(library, FAULTS[fault])
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    table = CsvTable("t.csv")
    wanted = Wanted(["x"])
    found = [table.piece(part, wanted).columns["x"].tolist() for part in table.parts(wanted)]
    table.close()
    assert found == [[1.0, 2.0]]
    f = ag.compile(lambda x: x * x, 2.0)
    assert f.map([1.0, 3.0])[0].tolist() == [1.0, 9.0]
    assert ag.erf(ag.tensor([0.0])).tolist() == [0.0]


def refused(function):
    """A stand-in for a function that another version refuses to run."""

    def call():
        raise RuntimeError(f"{function} is not supported any more")

    return call


@pytest.mark.parametrize(
    ("name", "stand_in", "reason"),
    [
        ("llvm_version_info", (15, 0, 7), "this one has LLVM 15, not 20"),
        ("llvm_version_info", None, "TypeError: 'NoneType' object is not subscriptable"),
        ("initialize_native_target", refused("it"), "RuntimeError: it is not supported any more"),
    ],
)
def test_an_llvmlite_of_another_version_is_told_with_that_and_how_to_do_without(monkeypatch, name, stand_in, reason):
    binding = pytest.importorskip("llvmlite.binding")
    monkeypatch.setattr(binding, name, stand_in)
    target.binding.cache_clear()
    try:
        caught = refuses(target.llvmlite)
        assert supports(trace(lambda x: x * x, (0.3,))) == f"{target.NEEDED} is not installed"
        assert ag.compile(lambda x: x * x, 2.0).map([1.0, 3.0])[0].tolist() == [1.0, 9.0]
    finally:
        target.binding.cache_clear()
    problem = caught
    assert problem.kind == "extra"
    assert problem.message == f"machine code needs {target.NEEDED}; llvmlite {version('llvmlite')} is installed"
    assert problem.notes == [reason]
    assert problem.fixes == ['pip install --upgrade "agrad[jit]"', 'backend="python"']


def test_running_out_of_memory_is_not_taken_for_a_broken_library(without):
    without("scipy", MemoryError)
    with pytest.raises(MemoryError):
        extra("scipy.special", "this", "SciPy", "science")


def test_a_library_can_be_used_that_was_interrupted_while_it_loaded(monkeypatch, tmp_path):
    (tmp_path / "interrupted").mkdir()
    (tmp_path / "interrupted" / "part.py").write_text("x = 1\n")
    (tmp_path / "interrupted" / "__init__.py").write_text(
        "import interrupted.part, signal\n"
        "if not signal.called:\n"
        "    signal.called = True\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "y = interrupted.part.x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(signal, "called", False, raising=False)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background of a shell
    try:
        with pytest.raises(KeyboardInterrupt):
            extra("interrupted", "this", "it", "none")
    finally:
        signal.signal(signal.SIGINT, before)
    assert extra("interrupted", "this", "it", "none").y == 1
