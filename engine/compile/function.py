"""`Compiled`: a function that was traced, with its value and derivatives, and all of these over columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import urandom
from typing import Any

from agrad.engine.compile import dask_arrays, derive
from agrad.engine.compile.arguments import PART, Arguments, Result, Unlike, copied, filled, matched, row_of
from agrad.engine.compile.cost import explained, lowered
from agrad.engine.compile.derive import GRADIENT, HVP, JVP, ROWS, VALUE, VJP, Derivation, NotBatched, TooLong
from agrad.engine.compile.hessian import Hessian
from agrad.engine.compile.llvm.backend import Lowered
from agrad.engine.compile.registry import AUTO, load, require_choice
from agrad.engine.compile.rows import Columns, Layout
from agrad.engine.compile.specializations import TRACING, Eager, Specialization, Specializations, code_size, is_of_data
from agrad.engine.core.context import afford
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.ir import Diverged, Program, guards_first, key, optimised
from agrad.engine.program.rolled import rolled
from agrad.engine.program.trace import check_kept, plain, sole, trace, traced
from agrad.engine.text import Lines
from agrad.engine.values import Array, Shape, Value, describe, format_shape, np, shape_of, size_of

_UNROLLED = 15_000  # steps, up to which there is machine code for the gradient
_SMALL = 1_000  # entries of an intermediate result, up to which several products at once take less time
_FEW = 10_000  # entries: up to so many, comparing bytes is faster


class Compiled:
    """A compiled function: see `compile`. Arguments are numbers and arrays of the shapes of the examples.

    They are given by place or by name. An argument, and a result, may consist of such parts, in tuples, dicts and
    lists; a derivative by it has the same structure.
    """

    def __init__(
        self, f: Callable[..., Any], examples: Sequence[object], wrt: Any, backend: str, keywords: Mapping[str, object]
    ) -> None:
        if not callable(f):
            raise AgradError("type", f"compile needs a function, not {describe(f)}")
        require_choice(backend)
        if not examples and not keywords:
            raise AgradError("arity", "compile needs an example of each argument", fixes=[Hint("compile(f, 2.0)")])
        if backend != AUTO:
            load(backend).require()
        self.function = f
        self.backend = backend
        self.identity = urandom(16).hex()  # the same in all processes
        self.planned: float | None = None  # see Columns
        self.arguments = Arguments(f, examples, keywords)
        self.names = self.arguments.names
        self._examples = self.arguments.leaves
        self._of_numbers = not any(self.arguments.shapes)
        self._is_plain = self._of_numbers and self.arguments.is_flat and not keywords
        self._wrt, self._single = self.arguments.chosen(wrt)
        self._places = tuple([leaf for place in self._wrt for leaf in self.arguments.places[place]])
        self._shapes_by = [self.arguments.shapes[leaf] for leaf in self._places]  # of what it is differentiated by
        self._value, self._gradient, self._rows = map(self._family, (VALUE, GRADIENT, ROWS))
        self._products: dict[object, Specializations] = {}
        self._unit: dict[object, derive.Products] = {}  # with unit vectors, for a Jacobian
        self._quick: Callable[..., Any] | None = None  # value and gradients by machine code
        self._quick_rows: Callable[..., Any] | None = None  # the Jacobian by it, or None for other arguments
        self._columns: Columns | None = None
        self._hessian: Hessian | None = None
        self._is_verified = False
        self._unrolled: int | None = None  # a hash of the program in which no loop is one operation, where it is
        self._trace, self._template = self._traced_at(self._examples)
        self._program = optimised(self._trace, again=True)

    # The public methods

    def value(self, *args: object, **keywords: object) -> Any:
        """The value of the function: a float, a new array, or what consists of them."""
        used, found = self._value.found(self._entered(args, keywords))
        return found[0] if used.template is PART else filled(used.template, iter(found))

    def value_and_grad(self, *args: object, **keywords: object) -> tuple[float, Any]:
        """The value and its gradients: a tuple of them, or one alone by a single argument.

        Raises AgradError of kind `shape` where the value is not one number.
        """
        if keywords or self._quick is None:
            return self._value_and_grad(*args, **keywords)
        found: tuple[float, Any] = self._quick(*args)
        return found

    def grad(self, *args: object, **keywords: object) -> Any:
        """The gradients alone: see `value_and_grad`."""
        return self.value_and_grad(*args, **keywords)[1]

    def jacobian(self, *args: object, **keywords: object) -> Any:
        """The derivatives of all entries of the value: in its shape followed by that of the argument.

        A tuple of them, or one alone by a single argument; in the structure of the result, if that has several parts.
        """
        quick = self._quick_rows(*args) if self._quick_rows is not None and not keywords else None
        if quick is not None and self._single and self._template is PART:
            return quick[0]
        template, found = (self._template, quick) if quick is not None else self._rows_at(self._entered(args, keywords))
        count = len(found) // max(len(self._places), 1)
        return filled(template, iter([self._derived(found[place::count]) for place in range(count)]))

    def hessian(self, *args: object, **keywords: object) -> Any:
        """The second derivatives, as `hessian` returns them: a matrix for numbers, for one array its shape twice.

        By several arrays, or parts of arguments, the blocks: in the structure of what it is differentiated by, twice.
        Raises AgradError of kind `arity` where `wrt` has an argument twice, and of kind `shape` as `value_and_grad`
        does.
        """
        for place in self._wrt:
            if self._wrt.count(place) > 1:
                message = f"hessian: wrt has {self.names[place]} twice"
                raise AgradError("arity", message, fixes=[Hint("wrt with each argument once")])
        if self._hessian is None:
            given = Result(self.arguments), self._places, self.backend, self._products_of(HVP, self._shapes_by)
            self._hessian = Hessian(*given, is_dense=self._unrolled is not None)
        matrix = self._hessian.call(self._entered(args, keywords))
        shapes = self._shapes_by
        if self.arguments.is_flat and (self._single or not any(shapes)):
            shape = shapes[0] * 2 if self._single else matrix.shape
            return matrix.reshape(shape) if shape else float(matrix[0, 0])
        return self._derived([self._derived(line) for line in derive.blocks(matrix, shapes, shapes)])

    def jvp(self, x: Any, v: Any) -> Any:
        """The derivative of the result at x in the direction v: the Jacobian times v, in the structure of the result.

        x is the argument, or a tuple of all arguments of a function of several; v has the structure of what it is
        differentiated by.
        """
        values = self._entered(*self._at(x))
        return self._product(JVP, values, self._direction(v))

    def vjp(self, x: Any, u: Any) -> Any:
        """u, which has the structure of the result at x, times the Jacobian: the gradient of sum(u*result)."""
        values = self._entered(*self._at(x))
        template, shapes = self._template, self._shapes_of(self._program)
        if self._trace.checks:
            used, _ = self._value.found(values)
            template, shapes = used.template, used.shapes
        try:
            given = [*matched(template, u)]
        except Unlike:
            raise AgradError("type", f"u has other parts than the result: it is {describe(u)}") from None
        given = [plain(part) for part in given]
        for one, shape in zip(given, shapes, strict=True):
            if shape_of(one) != shape:
                have, expected = format_shape(shape_of(one)), format_shape(shape)
                raise AgradError("shape", f"u has shape {have}, and the result {expected}")
        return self._product(VJP, values, given)

    def hvp(self, x: Any, v: Any) -> Any:
        """The Hessian at x times v, without the Hessian."""
        values = self._entered(*self._at(x))
        return self._product(HVP, values, self._direction(v))

    def map(self, *columns: object, out: Any = None, threads: int | None = None, **keywords: object) -> tuple[Any, Any]:
        """The value of each row of some columns, and a column for each gradient; into `out`, if it is given.

        A column has a row along its first axis for each call, and what has the shape of the example is the same in
        each. `threads` is for machine code: all cores if None. A function of several numbers has no gradient: compile
        it with `wrt=()` for the values alone.

        If a column is an array of Dask's, or a column of its data frames, the results are arrays of Dask's with the
        blocks of rows that the columns have in common: nothing is computed yet. They get the bits of one call with all
        rows, where these are numbered, as all computers of a cluster with the same processors and libraries compute
        them. `threads` is then for each block: 1 if None.

        Raises AgradError of kind `shape` if the columns have different lengths, and of kind `type` or `domain` if there
        are no such `threads`.
        """
        listed = self.arguments.listed(columns, keywords, "columns")
        parts = self.arguments.split(listed, range(len(listed)))
        mapped = partial(dask_arrays.mapped, self) if any(map(dask_arrays.is_later, parts)) else self.mapped
        values, gradients = mapped(parts, out, threads)
        return filled(self._template, iter(values)), self.arguments.nested(gradients, self._wrt)

    def map_partitions(self, frame: Any, **keywords: object) -> Any:
        """A data frame with a column `value`, and one `d/dx` for each gradient, of the columns called as the arguments.

        The frame is one of pandas, or one of Dask, whose partitions are computed later; the result has its index.
        `keywords`: numbers for arguments that are the same in each row. A result of several parts has a column for
        each. Raises AgradError of kind `name` if a column is missing, and of kind `type` or `shape` if an argument or a
        part of the result is no number.
        """
        return dask_arrays.of_frame(self, frame, keywords)

    def mapped(self, parts: Sequence[Any], out: Any, threads: int | None) -> tuple[list[Array], list[Array]]:
        """The parts of the value of each row, and a column for each gradient: see `map`."""
        if self._columns is None:
            family = self._gradient if self._places else self._value
            if self._unrolled is not None:  # machine code for columns takes several rows at once, but no loops
                family = self._family(GRADIENT if self._places else VALUE, not self._of_numbers)
            self._columns = Columns(self.arguments, family, self.layout, self.planned)
        given = self._columns.given(parts)
        if len(given[0]):
            self._verify(row_of(given, 0))
        return self._columns.mapped(given, out, threads)

    @property
    def layout(self) -> Layout:
        """What `map` gives for each row."""
        names = [self.arguments.leaf_names[leaf] for leaf in self._places]
        return Layout(self._template, self._shapes_of(self._program), names, self._shapes_by)

    def restart(self) -> None:
        """Forget the specialisations that `map` has added to that of the first row it was ever given.

        So what `map` returns for some columns depends on those alone, bit for bit, and not on what was computed before;
        machine code is not made again.
        """
        if self._columns is not None:
            self._columns.restart()

    def source(self, backend: str | None = None) -> str:
        """The code of value and gradients (of the value alone, if it is no number), as of the latest specialisation."""
        require_choice(backend or AUTO)
        return self._latest().source(backend)

    def explain(self) -> str:
        """The ways to compute the function, with what a call is estimated to take or why it is none, and the one taken.

        The estimates are counted, and about the value alone; what is derived of it is computed in the same way. Where
        loops are the cheapest, their parts follow; and after a call of `hessian`, how that is computed.
        """
        found = f"{explained(self._program)}\ncomputed by {self._latest().state()}"
        for family in (self._value, self._gradient):
            if family.together is not None:
                code = family.together.code
                found += f"\n{len(code.members)} specialisations are one function of {code.length} {code.unit}"
        if self._hessian is not None and self._hessian.told:
            found += f"\nthe Hessian is computed {self._hessian.told}"
        return Lines(found)

    def __repr__(self) -> str:
        return repr(self.arguments)

    def __reduce__(self) -> Any:
        """A copy, or a pickle, contains the arguments of `compile`, and is compiled again, once in each process."""
        return self.remade(self.planned, self.backend)

    def __dask_tokenize__(self) -> object:
        """What Dask names results by."""
        return type(self).__name__, self.identity

    def remade(self, planned: float | None, backend: str) -> tuple[Callable[..., Compiled], tuple[Any, ...]]:
        """A function that compiles it again, once in each process, and its arguments. `planned`: see Columns."""
        wrt = self._wrt[0] if self._single else self._wrt
        given, count = self.arguments.values, self.arguments.by_place
        keywords = dict(zip(self.names[count:], given[count:], strict=True))
        return again, (Compiled, self.identity, planned, self.function, given[:count], wrt, backend, keywords)

    # How

    def _latest(self) -> Specialization:
        family = self._gradient if self._shapes_of(self._program) == [()] else self._value
        return family.known[0] if family.known else family.at(self._examples)

    def _family(self, derived: Derivation, has_loops: bool = True, at_once: bool = False) -> Specializations:
        made = partial(self._specialized, derived=derived, has_loops=has_loops, at_once=at_once)
        return Specializations(made, _one_by_one if at_once else partial(self._eagerly, derived))

    def _eagerly(self, derived: Derivation, given: tuple[Value, ...]) -> tuple[Eager, tuple[Value, ...]] | None:
        """What is derived, from the graph of one call; None where tracing may say that there is no derivative."""
        result, places = Result(self.arguments), () if derived is VALUE else self._places
        count, reads = len(self._examples), list[tuple[Any, Any]]()
        with TRACING, traced(result, given[:count], places, self.arguments.leaf_names, reads) as (ys, xs):
            if reads or (len(ys) != 1 and derived in (GRADIENT, HVP)):
                return None
            xs = [*xs, *map(tensor, given[count:])]
            found = derived.made(ys, xs, [(place,) for place in places], False)
            return Eager(result.template, [y.shape for y in ys]), tuple([copied(one.value) for one in found])

    def _specialized(
        self, given: tuple[Value, ...], derived: Derivation, has_loops: bool = True, at_once: bool = False
    ) -> Specialization:
        """A specialisation of the value, or of what is derived of it; products with it take more than the arguments.

        With `at_once`, these have a new first axis, for several products. Raises NotBatched.
        """
        given = tuple(map(copied, given))
        count = len(self._examples)
        values, more = given[:count], given[count:]
        places = () if derived is VALUE else self._places
        traced, template = self._trace_at(values) if has_loops else self._traced_at(values, _UNROLLED)
        check_kept(traced, Result(self.arguments), values, places, self.arguments.leaf_names)
        if derived in (GRADIENT, HVP):
            sole(traced)  # a program of its entries has others
        if at_once:
            more = row_of([np.asarray(x) for x in more], 0)
        about = self.backend, is_of_data(traced), template, self._shapes_of(traced)

        def exact() -> Program:
            made = derived.program(traced, (*values, *more), [(place,) for place in places])
            if at_once:
                made = derive.batched(optimised(made), given, range(count, len(given)), shape_of(given[count])[0])
            return guards_first(made if at_once else optimised(made))

        def shared(as_loops: bool = False) -> Lowered:
            short = self._program if traced is self._trace else optimised(traced, again=True)
            return lowered(short, given, places, derived, as_loops)

        if at_once:
            program = exact()
            loops = partial(Lowered, program, name="loops")
            return Specialization(lambda: program, loops, code_size(program), *about)
        return Specialization(exact, shared, code_size(self._program, derived.factor), *about)

    def _derived(self, parts: Sequence[Any]) -> Any:
        """What there is for each part of what it is differentiated by, in its structure."""
        found = self.arguments.nested(parts, self._wrt)
        return found[0] if self._single else tuple(found)

    def _at(self, x: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """All arguments, in order, as those of a call."""
        names, count = self.names, self.arguments.by_place
        if len(names) == 1:
            args: Sequence[Any] = (x,)
        elif isinstance(x, tuple) and len(x) == len(names):
            args = x
        else:
            raise AgradError("arity", f"{self!r} takes a tuple of {len(names)} arguments here, not {describe(x)}")
        return args[:count], dict(zip(names[count:], args[count:], strict=True))

    def _direction(self, v: Any) -> tuple[Value, ...]:
        parts = [v] if self._single else v
        if not isinstance(parts, list | tuple) or len(parts) != len(self._wrt):
            raise AgradError("arity", f"each of {len(self._wrt)} arguments needs a direction; this is {describe(v)}")
        return self.arguments.of(parts, self._wrt, "the direction")

    def _found(
        self, derived: Derivation, values: tuple[Value, ...], more: Sequence[Value], at_once: bool = False
    ) -> tuple[Specialization | Eager, Sequence[Value]]:
        """A product with a derivative, or with `at_once` several, and the specialisation that computes it."""
        key = derived, at_once, tuple(map(shape_of, more))
        family = self._products.get(key) or self._products.setdefault(key, self._family(derived, at_once=at_once))
        return family.found((*values, *more))

    def _product(self, derived: Derivation, values: tuple[Value, ...], more: Sequence[Value]) -> Any:
        used, found = self._found(derived, values, more)
        return filled(used.template, iter(found)) if derived is JVP else self._derived(found)

    def _rows_at(self, values: tuple[Value, ...]) -> tuple[Any, Sequence[Any]]:
        """The structure of the result, and the Jacobian of each of its parts by each part of the arguments."""
        if self._unit:
            return self._rows_by_products(values)
        try:
            used, found = self._rows.found(values)
        except TooLong:
            return self._rows_by_products(values)
        if self._is_verified and used.native is not None and len(self._rows.known) == 1 and self.arguments.is_flat:
            self._quick_rows = used.native.shortcut(lambda *_: None, None, True, used.checks)
        return used.template, found

    def _rows_by_products(self, values: tuple[Value, ...]) -> tuple[Any, Sequence[Any]]:
        """The same by compiled columns, or by rows if there are fewer of them."""
        used, _ = self._value.found(values)
        shapes, by = used.shapes, self._shapes_by
        rows, columns = (sum(map(size_of, given)) for given in (shapes, by))
        afford("the Jacobian", (rows, columns))
        key = "rows" if rows < columns else "columns", tuple(shapes)
        if key not in self._unit:
            self._unit[key] = self._products_of(*((VJP, shapes) if rows < columns else (JVP, by)))
        few = min(rows, columns)
        found = self._unit[key].of(values, np.eye(few)).reshape(few, max(rows, columns))
        parts = derive.blocks(found if rows < columns else found.T, shapes, by)
        return used.template, [part for column in zip(*parts, strict=True) for part in column]

    def _products_of(self, derived: Derivation, shapes: Sequence[Shape]) -> derive.Products:
        """Products of a derivative with directions, of these shapes."""
        steps = self._program.steps
        largest = max([size_of(step.shape) for step in steps], default=1)
        several = None  # several at once may need more memory than the caches have
        if largest <= _SMALL or any(step.op is OPS["matmul"] for step in steps):
            several = partial(self._found, derived, at_once=True)
        return derive.Products(partial(self._found, derived), several, shapes, largest)

    def _value_and_grad(self, *args: object, **keywords: object) -> tuple[float, Any]:
        used, (value, *gradients) = self._gradient.found(self._entered(args, keywords))
        if used.native is not None and len(self._gradient.known) == 1:
            known: Any = None if self._is_verified else self._examples
            if self.arguments.is_flat and self.arguments.by_place == len(self.names) and self._template is PART:
                self._quick = used.native.shortcut(self._value_and_grad, known, self._single, used.checks)
        return filled(used.template, iter([value])), self._derived(gradients)

    def _traced_at(self, values: tuple[Value, ...], unrolled: int = 0) -> tuple[Program, Any]:
        """The program of the results at some values, and their structure; a shorter one keeps its loops unrolled."""
        result = Result(self.arguments)
        program = trace(result, values, self.arguments.leaf_names, self._places)
        short = rolled(program, values, self._places) if len(program.steps) > unrolled else program
        if short is not program:
            self._unrolled = hash(key(program)) if self._unrolled is None else self._unrolled
        return short, result.template

    def _trace_at(self, values: tuple[Value, ...]) -> tuple[Program, Any]:
        """The program as it was traced, at values where a guard may have another outcome than at first."""
        if self._program.checks:
            try:
                self._program.run(*values)
            except Diverged:
                return self._traced_at(values)
        return self._trace, self._template

    def _shapes_of(self, program: Program) -> list[Shape]:
        return [program.shape(slot) for slot in program.outputs]

    def _verify(self, values: tuple[Value, ...]) -> None:
        """At the first other values, compare the program with the function, which may be impure."""
        examples = self._examples
        if self._is_verified or (values == examples if self._of_numbers else all(map(_is_example, values, examples))):
            return
        self._is_verified = True
        try:
            found = self._program.run(*values)
        except Diverged:
            return
        expected: Sequence[Value]
        if self._unrolled is not None:
            with TRACING:
                again = trace(Result(self.arguments), values, self.arguments.leaf_names, self._places)
            if hash(key(again)) == self._unrolled:
                return  # the very same operations: a loop of them may only round differently
            expected = again.run(*values)
        else:
            with TRACING, traced(Result(self.arguments), values, self._places, self.arguments.leaf_names) as (ys, _):
                expected = [y.value for y in ys]
        is_rolled = self._unrolled is not None  # a loop may pass a matrix to BLAS in another layout
        same = partial(_same, but_for_rounding=is_rolled)
        if len(found) != len(expected) or not all(map(same, found, expected)):
            message = "the function cannot be compiled: its result depends on more than its arguments"
            notes = ["random numbers, counters and outside values would become constants"]
            raise AgradError("guard", message, notes=notes, fixes=["compile a function of its arguments only"])

    def _entered(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Value, ...]:
        """The arguments as values of the shapes that the function was compiled for."""
        arguments = self.arguments
        if self._is_plain and len(args) == len(self._examples) and {*map(type, args)} == {float} and not keywords:
            values: tuple[Value, ...] = args  # type: ignore[assignment]
        else:
            values = arguments.entered(arguments.listed(args, keywords))
        self._verify(values)
        return values


def _one_by_one(given: tuple[Value, ...]) -> None:
    """Several products at once have no graph: each is computed by itself where nearly every call is traced."""
    raise NotBatched


def _same(x: Value, y: Value, but_for_rounding: bool = False) -> bool:
    if shape_of(x) != shape_of(y):
        return False
    is_close = but_for_rounding and np.allclose(x, y, 1e-8, 1e-12, equal_nan=True)
    return is_close or bool(np.array_equal(x, y, equal_nan=True))


def _is_example(x: Value, y: Value) -> bool:
    """A faster comparison; it may differ for equal values such as 0 and -0, which does no harm."""
    if isinstance(x, float) or isinstance(y, float) or x.size > _FEW:
        return _same(x, y)
    return x.shape == y.shape and x.tobytes() == y.tobytes()


# Compiled functions that are asked for again, as those of other processes are: each is compiled once in a process.

_KEPT = 64  # of very many, the latest
_REMADE: dict[tuple[str, float | None, str], Compiled] = {}  # in the order of their use


def again(make: Callable[..., Compiled], identity: str, planned: float | None, *given: Any) -> Compiled:
    """The function of an `identity`, which is made of the rest when it first comes. `planned`: see Columns."""
    _, _, _, backend, _ = given
    name = identity, planned, backend
    with TRACING:
        found = _REMADE.pop(name, None)
        if found is None:
            found = make(*given)
            found.identity, found.planned = identity, planned
        _REMADE[name] = found
        while len(_REMADE) > _KEPT:
            del _REMADE[next(iter(_REMADE))]
    return found
