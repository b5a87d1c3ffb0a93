"""`Compiled`: a function that was traced, with its value, gradients, Hessian, and all of these over columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agrad.engine.autodiff.transforms import jacobian
from agrad.engine.compile.hessian import Hessian, as_values
from agrad.engine.compile.lower.packed import Packed
from agrad.engine.compile.lower.plan import Derive, Lowered, TooLong, explained, gradient, lowered, rows
from agrad.engine.compile.lower.plan import value as value_of
from agrad.engine.compile.registry import AUTO, load, require_choice
from agrad.engine.compile.specializations import TRACING, Specialization, Specializations, is_of_data
from agrad.engine.compile.vmap import Vmap
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.passes import optimised
from agrad.engine.program.trace import Diverged, Program, check_kept, data_of, plain, trace, traced
from agrad.engine.values import Array, Value, coerce, describe, format_shape, np, shape_of, whole

_FEW = 10_000  # entries: up to so many, comparing bytes is faster


class Compiled:
    """A compiled function: see `compile`. Arguments are numbers and arrays of the shapes of the examples."""

    def __init__(self, f: Callable[..., Any], examples: Sequence[object], wrt: Any, backend: str) -> None:
        if not callable(f):
            raise AgradError("type", f"compile needs a function, not {describe(f)}")
        require_choice(backend)
        if not examples:
            raise AgradError("arity", "compile needs an example of each argument", fixes=[Hint("compile(f, 2.0)")])
        if backend != AUTO:
            load(backend).require()
        self.function = f
        self.backend = backend
        self.names = names_of(f, len(examples))
        self._examples = tuple([_copied(plain(x)) for x in examples])
        self._shapes = [shape_of(x) for x in self._examples]
        self._of_numbers = not any(self._shapes)
        self._places, self._single = self._chosen(wrt)
        self._value = Specializations(lambda values: self._specialized(values, value_of))
        self._gradient = Specializations(lambda values: self._specialized(values, gradient))
        self._rows = Specializations(lambda values: self._specialized(values, rows))
        self._quick: Callable[..., Any] | None = None  # value and gradients by machine code
        self._quick_rows: Packed | None = None  # the Jacobian by it
        self._vmap: Vmap | None = None
        self._hessian: Hessian | None = None
        self._is_verified = False
        self._trace = trace(f, self._examples, self.names, self._places)
        self._program = optimised(self._trace, again=True)

    # The public methods

    def value(self, *args: object) -> Any:
        """The value of the function: a float, or a new array."""
        values = self._entered(args)
        self._verify(values)
        return self._value.call(values)[0]

    def value_and_grad(self, *args: object) -> tuple[float, Any]:
        """The value and its gradients: a tuple of them, or one alone by a single argument.

        Raises AgradError of kind `shape` where the value is not one number.
        """
        found: tuple[float, Any] = (self._quick or self._value_and_grad)(*args)
        return found

    def jacobian(self, *args: object) -> Any:
        """The derivatives of all entries of the value: in its shape followed by that of the argument.

        A tuple of them, or one alone by a single argument.
        """
        quick = self._quick_rows.quickly(args) if self._quick_rows is not None else None
        found = self._rows_at(args) if quick is None else quick
        return found[0] if self._single else tuple(found)

    def hessian(self, *args: object) -> Any:
        """The second derivatives, as `hessian` returns them: a matrix for numbers, for one array its shape twice.

        By several arrays the blocks, a tuple of tuples. Raises AgradError of kind `arity` where `wrt` has an argument
        twice, and of kind `shape` as `value_and_grad` does.
        """
        for place in self._places:
            if self._places.count(place) > 1:
                name = self.names[place]
                fixes = [Hint("wrt with each argument once")]
                raise AgradError("arity", f"hessian: wrt has {name} twice", fixes=fixes)
        if self._hessian is None:
            self._hessian = Hessian(self.function, self.names, self._shapes, self._places, self.backend)
        values = self._entered(args)
        self._verify(values)
        return self._hessian.call(values, self._single)

    def map(self, *columns: object, out: Any = None, threads: int | None = None) -> tuple[Array, list[Array]]:
        """The value of each row of some columns, and a column for each gradient; into `out`, if it is given.

        A number means a column of equal entries. `threads` is for machine code: all cores if None. Raises
        AgradError of kind `shape` if the columns have different lengths, or the function is not one of numbers, and of
        kind `type` or `domain` if there are no such `threads`.
        """
        if not self._of_numbers:
            raise AgradError("shape", "map is for a function of numbers, and the examples were arrays")
        threads = _several(threads)
        given = self._columns_of(columns)
        rows = len(given[0])
        values, gradients = _results(out, rows, len(self._places))
        if self._vmap is None:
            self._vmap = Vmap(self._gradient)
        outs = [values, *gradients]
        if out is not None:
            given = [x.copy() if any(np.may_share_memory(x, one) for one in outs) else x for x in given]
        if rows:
            self._verify(tuple([float(x[0]) for x in given]))
        self._vmap.fill(given, outs, threads)
        return values, gradients

    def source(self, backend: str | None = None) -> str:
        """The code of value and gradients (of the value alone, if it is an array), as of the latest specialisation."""
        if backend is not None:
            require_choice(backend)
        family = self._value if self._program.shape(self._program.outputs[0]) else self._gradient
        known = family.known
        latest = known[0] if known else family.at(self._examples)
        return latest.source(backend)

    def explain(self) -> str:
        """The ways to compute the function, with what a call is estimated to take or why it is none, and the one taken.

        The estimates are counted, and about the value alone; what is derived of it is computed in the same way.
        """
        family = self._value if self._program.shape(self._program.outputs[0]) else self._gradient
        latest = family.known[0] if family.known else family.at(self._examples)
        return f"{explained(self._program)}\ncomputed by {latest.state()}"

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name} of shape {format_shape(shape)}" if shape else name
            for name, shape in zip(self.names, self._shapes, strict=True)
        )
        return f"<compiled {getattr(self.function, '__name__', 'function')} of {given}>"

    def __reduce__(self) -> Any:
        """A copy, or a pickle, contains the arguments of `compile`, and is compiled again."""
        wrt = self._places[0] if self._single else self._places
        return Compiled, (self.function, self._examples, wrt, self.backend)

    # How

    def _specialized(self, values: tuple[Value, ...], derive: Derive) -> Specialization:
        """A specialisation of the value, of value and gradients, or of the Jacobian."""
        wrt = () if derive is value_of else self._places
        values = tuple(map(_copied, values))
        traced = self._trace_at(values)
        check_kept(traced, self.function, values, wrt, self.names)

        def exact() -> Program:
            return optimised(derive(traced, values, [(place,) for place in wrt]))

        def shared() -> Lowered:
            short = self._program if traced is self._trace else optimised(traced, again=True)
            return lowered(short, values, wrt, derive)

        size = len(self._program.steps) * (1 if derive is value_of else 3)
        return Specialization(exact, shared, size, self.backend, is_of_data(traced))

    def _rows_at(self, args: tuple[object, ...]) -> Sequence[Any]:
        values = self._entered(args)
        self._verify(values)
        try:
            used, found = self._rows.found(values)
        except TooLong:  # then each call builds a graph
            derived: tuple[Any, ...] = as_values(jacobian(self.function, self._places)(*values))
            return derived
        if self._is_verified and isinstance(used.native, Packed) and not used.checks:
            self._quick_rows = used.native
        return found

    def _value_and_grad(self, *args: object) -> tuple[float, Any]:
        values = self._entered(args)
        self._verify(values)
        used, (value, *gradients) = self._gradient.found(values)
        if used.native is not None and not used.checks:
            known: Any = None if self._is_verified else self._examples
            self._quick = used.native.shortcut(self._value_and_grad, known, self._single)
        return value, gradients[0] if self._single else tuple(gradients)  # type: ignore[return-value]

    def _trace_at(self, values: tuple[Value, ...]) -> Program:
        """The program of the value as it was traced, at values where a guard may have another outcome than at first."""
        try:
            self._program.run(*values)
        except Diverged:
            return trace(self.function, values, self.names, self._places)
        return self._trace

    def _verify(self, values: tuple[Value, ...]) -> None:
        """At the first other values, compare the program with the function, which may be impure."""
        if self._is_verified or (
            values == self._examples if self._of_numbers else all(map(_is_example, values, self._examples))
        ):
            return
        self._is_verified = True
        try:
            (found,) = self._program.run(*values)
        except Diverged:
            return
        with TRACING, traced(self.function, values, self._places, self.names) as (y, _):
            expected = y.value
        if not _same(found, expected):
            raise AgradError(
                "guard",
                "the function cannot be compiled: its result depends on more than its arguments",
                notes=["random numbers, counters and outside values would become constants"],
                fixes=["compile a function of its arguments only"],
            )

    def _chosen(self, wrt: Any) -> tuple[tuple[int, ...], bool]:
        """The places of the arguments to differentiate by, and whether it is a single one."""
        count = len(self.names)
        if wrt is None:
            return tuple(range(count)), count == 1
        single = not isinstance(wrt, tuple | list)
        places = []
        for one in (wrt,) if single else wrt:
            if isinstance(one, str):
                if one not in self.names:
                    raise AgradError(
                        "name", f"there is no argument {one}", fixes=[Hint(f'wrt="{x}"') for x in self.names]
                    )
                place = self.names.index(one)
            else:
                place = whole(one, "compile: the number of an argument")
            if not -count <= place < count:
                raise AgradError("arity", f"compile: wrt has argument {place}, and the function takes {count}")
            places.append(place % count)
        return tuple(places), single

    def _entered(self, args: tuple[object, ...]) -> tuple[Value, ...]:
        """The arguments as values of the shapes that the function was compiled for."""
        if self._of_numbers and len(args) == len(self._shapes) and {*map(type, args)} == {float}:
            return args  # type: ignore[return-value]
        if len(args) != len(self._shapes):
            raise AgradError("arity", f"{self!r} takes {len(self._shapes)} arguments, and was given {len(args)}")
        values = tuple([plain(x) for x in args])
        for name, value, shape in zip(self.names, values, self._shapes, strict=True):
            if shape_of(value) != shape:
                have, was = format_shape(shape_of(value)), format_shape(shape)
                raise AgradError(
                    "shape",
                    f"{name} has shape {have}, and the function was compiled for {was}",
                    fixes=[Hint(f"compile it with an example of shape {have}")],
                )
        return values

    def _columns_of(self, columns: tuple[object, ...]) -> list[Array]:
        if len(columns) != len(self._shapes):
            raise AgradError("arity", f"{self!r} takes {len(self._shapes)} columns, and was given {len(columns)}")
        given = [coerce(data_of(x), copy=False) for x in columns]
        lengths = sorted({len(x) for x in given if not isinstance(x, float)})
        for name, x in zip(self.names, given, strict=True):
            if len(shape_of(x)) > 1:
                raise AgradError("shape", f"{name} has shape {format_shape(shape_of(x))}: a column has one axis")
        if len(lengths) > 1:
            listed = ", ".join(map(str, lengths))
            raise AgradError("shape", f"the columns must have one length, not {listed}")
        rows = lengths[0] if lengths else 1
        return [np.full(rows, x) if isinstance(x, float) else np.asarray(x) for x in given]


def names_of(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the arguments of a function."""
    code = getattr(f, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    if names and getattr(f, "__self__", None) is not None:
        del names[0]
    names = names[:count]
    rest = "x" if count - len(names) == 1 and "x" not in names else ""
    return names + [rest or f"x{place}" for place in range(len(names), count)]


def _several(threads: object) -> int | None:
    """The requested number of threads; None for all cores."""
    if threads is None:
        return None
    count = whole(threads, "map: the number of threads")
    if count < 1:
        raise AgradError("domain", f"map needs at least 1 thread, not {count}", fixes=[Hint("threads=1")])
    return count


def _copied(x: Value) -> Value:
    return x if isinstance(x, float) else x.copy()


def _same(x: Value, y: Value) -> bool:
    return shape_of(x) == shape_of(y) and bool(np.array_equal(x, y, equal_nan=True))


def _is_example(x: Value, y: Value) -> bool:
    """A faster comparison; it may differ for equal values such as 0 and -0, which does no harm."""
    if isinstance(x, float) or isinstance(y, float) or x.size > _FEW:
        return _same(x, y)
    return x.shape == y.shape and x.tobytes() == y.tobytes()


def _results(out: Any, rows: int, count: int) -> tuple[Array, list[Array]]:
    """The arrays that results are written into."""
    if out is None:
        return np.empty(rows), [np.empty(rows) for _ in range(count)]
    fixes = [Hint("out=(values, [gradient, …]), each a contiguous array of float64 with an entry for each row")]
    try:
        values, gradients = out
        arrays = [values, *gradients]
    except (TypeError, ValueError):
        raise AgradError("type", f"results cannot be written into {describe(out)}", fixes=fixes) from None
    if len(arrays) != count + 1:
        raise AgradError("arity", f"there are {count} gradients, and {len(arrays) - 1} arrays for them", fixes=fixes)
    for one in arrays:
        fits = isinstance(one, np.ndarray) and one.dtype == np.float64 and one.shape == (rows,)
        if not fits or not (one.flags.writeable and one.flags.c_contiguous):
            raise AgradError("shape", f"results of {rows} rows cannot be written into {describe(one)}", fixes=fixes)
    if any(np.may_share_memory(one, other) for place, one in enumerate(arrays) for other in arrays[:place]):
        raise AgradError("type", "two arrays for results share their memory", fixes=fixes)
    return values, list(gradients)
