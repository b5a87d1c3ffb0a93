"""The target machine of the code: the lanes of its vectors, the functions for vectors, and its cores.

glibc's libmvec has the elementary functions for vectors of 2, 4 and 8 numbers, within 4 ulp and with the edges of
those for one number. Where it is absent, or lacks one, the function for one number is called for each lane. Code
releases Python's lock, so that `in_pieces` computes rows in parallel in threads.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from threading import Thread
from typing import Any

from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra

NEEDED = "llvmlite 0.45 or later"
_OLDEST = 20  # the LLVM in it
_LANES = {8: ("avx512f", "e"), 4: ("avx2", "d"), 2: ("sse4.2", "b")}  # the needed features, libmvec's letter
_ELSEWHERE = 2  # lanes on processors whose features have other names: all have vectors of two numbers
_QUICK, _FULL = 0, 2  # how hard LLVM works at the choice of instructions and registers
_PURE = "nounwind willreturn memory(none)"


@cache
def binding() -> Any:
    """llvmlite's binding, ready to compile; None without it."""
    try:
        return _loaded()
    except AgradError:
        return None


def llvmlite() -> Any:
    """The same; AgradError, which says what to install, without it."""
    return binding() or _loaded()  # which raises the error


def _loaded() -> Any:
    """The module. Raises AgradError of kind `extra`."""
    llvm = extra("llvmlite.binding", "machine code", NEEDED, "jit", ['backend="python"'])  # 0.03 s
    try:
        found = llvm.llvm_version_info[0]
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except Exception as problem:  # another version does without these, or raises anything
        raise _unfit(f"{type(problem).__name__}: {problem}") from None
    if found < _OLDEST:
        raise _unfit(f"this one has LLVM {found}, not {_OLDEST}")
    for library in ("libm.so.6", "libmvec.so.1"):
        with suppress(RuntimeError):  # there are systems without them
            llvm.load_library_permanently(library)
    return llvm


def _unfit(reason: str) -> AgradError:
    """The error for a version of llvmlite that cannot be used."""
    from importlib.metadata import PackageNotFoundError, version  # here, since it is hardly ever needed

    try:
        installed = f"llvmlite {version('llvmlite')}"
    except PackageNotFoundError:
        installed = "another llvmlite"
    fixes = [Hint('pip install --upgrade "agrad[jit]"'), 'backend="python"']
    return AgradError("extra", f"machine code needs {NEEDED}; {installed} is installed", notes=[reason], fixes=fixes)


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor: its name and features as LLVM knows them, and its vectors."""

    name: str
    features: str
    lanes: int
    letter: str  # of libmvec's functions for so many lanes; "" where there are none

    def vector_name(self, function: str, arguments: int) -> str | None:
        """libmvec's function for whole vectors, if there is one."""
        return self.vector_names(function, arguments).get(self.lanes)

    def vector_names(self, function: str, arguments: int) -> dict[int, str]:
        """Those for vectors of up to so many numbers, by how many."""
        names = {n: f"_ZGV{x}N{n}{'v' * arguments}_{function}" for n, (_, x) in _LANES.items() if n <= self.lanes}
        return {n: name for n, name in names.items() if self.letter and llvmlite().address_of_symbol(name)}


@cache
def machine() -> Machine:
    """The processor of this machine."""
    llvm = llvmlite()
    features = llvm.get_host_cpu_features()
    name, text = llvm.get_host_cpu_name(), features.flatten()
    for lanes, (needs, letter) in _LANES.items():
        if features.get(needs):
            return Machine(name, text, lanes, letter)
    return Machine(name, text, _ELSEWHERE, "")


def processor(fast: bool) -> Any:
    """The machine as LLVM makes code for it; with `fast`, LLVM works harder at instructions and registers."""
    here = machine()
    target, level = llvmlite().Target.from_default_triple(), _FULL if fast else _QUICK
    return target.create_target_machine(cpu=here.name, features=here.features, opt=level, jit=True)


def missing(functions: Mapping[str, int]) -> str | None:
    """A function that the C library of this machine lacks, of those called."""
    return next((name for name in sorted(functions) if not llvmlite().address_of_symbol(name)), None)


def target(function: str, arguments: int, lanes: int) -> str:
    """The name to call for a function of the C library, on so many lanes."""
    if lanes == 1:
        return function
    return machine().vector_name(function, arguments) or f"lanes.{function}"


def definitions(functions: Mapping[str, int], lanes: int, has_variants: bool = False) -> Iterator[str]:
    """The declarations and definitions for such calls.

    With `has_variants`, the vectorizer for straight-line code is told what libmvec has for several calls of a function,
    which may have other last digits.
    """
    number, known = "double" if lanes == 1 else f"<{lanes} x double>", list[str]()
    for function, arguments in sorted(functions.items()):
        name = target(function, arguments, lanes)
        if name == f"lanes.{function}":
            yield "\n".join(_lane_by_lane(function, lanes, arguments))
            continue
        variants = machine().vector_names(function, arguments) if has_variants else {}
        mapped = ",".join([f"{one}({one})" for one in variants.values()])
        told = f' "vector-function-abi-variant"="{mapped}"' if mapped else ""
        yield f"declare {number} @{name}({', '.join([number] * arguments)}) {_PURE}{told}"
        for width, one in variants.items():
            yield f"declare <{width} x double> @{one}({', '.join([f'<{width} x double>'] * arguments)}) {_PURE}"
        known += variants.values()
    if known:  # nothing else refers to them before they are called
        names = ", ".join([f"ptr @{one}" for one in known])
        yield f'@llvm.compiler.used = appending global [{len(known)} x ptr] [{names}], section "llvm.metadata"'


def _lane_by_lane(function: str, lanes: int, arguments: int) -> Iterator[str]:
    number = f"<{lanes} x double>"
    yield f"declare double @{function}({', '.join(['double'] * arguments)}) {_PURE}"
    given = ", ".join(f"{number} %x{i}" for i in range(arguments))
    yield f"define internal {number} @lanes.{function}({given}) noinline {{"
    vector = "poison"
    for lane in range(lanes):
        for i in range(arguments):
            yield f"  %a{lane}.{i} = extractelement {number} %x{i}, i64 {lane}"
        given = ", ".join(f"double %a{lane}.{i}" for i in range(arguments))
        yield f"  %r{lane} = call double @{function}({given})"
        yield f"  %v{lane} = insertelement {number} {vector}, double %r{lane}, i64 {lane}"
        vector = f"%v{lane}"
    yield f"  ret {number} {vector}\n}}"


PIECE = 1 << 15  # rows: few enough that a thread can be stopped soon


def cores() -> int:
    """How many cores this process may use."""
    known = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(known(0)) if known is not None else os.cpu_count() or 1


def in_pieces(rows: int, work: Callable[[int, int], object], threads: int | None = None) -> None:
    """Call `work(first, end)` for pieces that make up all rows, on so many threads; on all cores if None.

    If it is interrupted, or a piece fails, no further piece begins; it waits for those that have begun, and raises.
    """
    pieces = iter(range(0, rows, PIECE))
    failures: list[BaseException] = []

    def take() -> None:
        try:
            for first in pieces:  # each piece once, in any thread
                if failures:
                    return
                work(first, min(first + PIECE, rows))
        except BaseException as error:  # a thread has nobody to tell: the caller raises it
            failures.append(error)

    helpers: list[Thread] = []
    try:
        with suppress(RuntimeError):  # as many as the system allows
            for _ in range(min(threads or cores(), -(-rows // PIECE)) - 1):
                helper = Thread(target=take, daemon=True)
                helper.start()
                helpers.append(helper)
        take()
        for helper in helpers:
            helper.join()
    except BaseException as error:  # an interruption during the wait
        failures.append(error)
        for helper in helpers:
            helper.join()
    if failures:
        raise failures[0]


LONG = 8_000  # steps from which on full optimization takes seconds: the time is quadratic


def compiled(text: str, fast: bool, level: int = 0, is_vectorized: bool = False, has_loops: bool = False) -> Any:
    """The LLVM engine with the code of a module, with the small functions of the loop put in place.

    Other passes of LLVM have no effect on straight-line code without repetition; its vectorizer for such code takes
    seconds for thousands of lines, without gain. With `is_vectorized`, it is used; with `has_loops`, that for loops.
    """
    llvm = llvmlite()
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.slp_vectorization, options.loop_vectorization, options.loop_unrolling = is_vectorized, has_loops, False
    options.loop_interleaving = has_loops
    builder = llvm.create_pass_builder(processor(fast), options)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, processor(fast))
    engine.finalize_object()
    return engine


def function(engine: Any, name: str, *kinds: Any) -> Any:
    """A function of an engine, which lives as long as that; `kinds` are those of its result and its arguments."""
    found = ctypes.CFUNCTYPE(*kinds)(engine.get_function_address(name))
    found.engine = engine  # type: ignore[attr-defined]
    return found
