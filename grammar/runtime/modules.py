"""The modules that a script of Python can import: each is a list of names, whatever else the real one has.

Where what a name does could not be stopped, or would change something that no statement could take back, it is written
here anew, or left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from types import BuiltinFunctionType, FunctionType
from typing import Any

from agrad.engine.core.context import current, remember_entry
from agrad.engine.errors import AgradError
from agrad.engine.ops.creation import generator
from agrad.engine.ops.data_files import unreadable
from agrad.grammar.diagnostics import suggest
from agrad.grammar.reach import PACKAGES, REACH, member, names_in

_MOST = 100_000  # of which a factorial, or a number of choices, is computed
_TURNS = 1000  # between two readings of the clock


def through(values: Iterable[Any]) -> Iterator[Any]:
    """Values one by one, each through code of Python, which can be stopped: by a signal, or by the clock."""
    for place, one in enumerate(values):
        if not place % _TURNS:
            look()
        yield one


def look() -> None:
    """Raise TimeUp if time is up, where no signal says so."""
    if (script := current().script) is not None and script.watch.polled:
        script.watch.look(list)


class Module:
    """What an import gives: its attributes are the names of the module."""

    def __init__(self, name: str, members: dict[str, Any]) -> None:
        vars(self).update(members)
        vars(self)[".name"] = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"module {vars(self).get('.name')!r} has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<module {vars(self)['.name']!r}>"


def named(function: Any, name: str, check: Callable[..., object] = lambda *_, **__: None) -> Any:
    """A function under the name that a script knows; `check` is called with its arguments before it."""

    def call(*args: Any, **options: Any) -> Any:
        check(*args, **options)
        return function(*args, **options)

    call.__name__, call.__module__ = name, "builtins"  # so an error of a call names it
    call.__qualname__ = function.__qualname__ if isinstance(function, BuiltinFunctionType) else name
    return call


def _filed(function: Any, *parameters: str) -> Any:
    """`torch.save` or `torch.load` of what is named, or of what only these have written."""
    name = f"torch.{function.__name__}"

    def check(*args: Any, **options: Any) -> None:
        given = dict(zip(parameters, args, strict=False)) | options
        place = given.get("f")
        if type(place) is not str and not isinstance(place, import_module("io").BytesIO):
            raise TypeError(f"{name} needs the name of a file, or an io.BytesIO()")
        if given.keys() - {*parameters} or given.get("weights_only", True) is not True:
            raise TypeError(f"{name} takes weights alone here")
        if type(place) is str and current().files.on and (why := unreadable(place)):
            raise AgradError("file", f"{name}: {place} cannot be opened: {why}")

    return named(function, function.__name__, check)


_FILED = {"torch.save": ("obj", "f"), "torch.load": ("f", "map_location", "weights_only")}


class Package(Module):
    """A module of agrad's own, whose names are looked up when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        full = f"{vars(self)['.name']}.{name}"
        if full == "numpy.newaxis":
            return None
        if full in PACKAGES:
            found: Any = Package(full, {})
        else:
            found = member(vars(self)[".name"], name)
            found = _filed(found, *_FILED[full]) if full in _FILED else found
        vars(self)[name] = super().__getattr__(name) if found is None else found
        return found


def version(package: Package) -> str:
    """The version of a package that stands for a real one."""
    return str(getattr(import_module(f"agrad.{vars(package)['.name']}"), "__version__", ""))


def as_array(found: Any) -> Any:
    """What NumPy has made, as an array of agrad's."""
    return import_module("agrad.numpy.arrays").wrapped(found)


class Modules:
    """The modules of a session, each made when it is imported."""

    def __init__(self, guards: Any) -> None:
        self.guards = guards
        self.known: dict[str, Module] = {}

    def imported(
        self, name: str, names: object = None, own: object = None, wanted: tuple[str, ...] | None = (), level: int = 0
    ) -> Any:
        """What `import` calls. Raises ImportError."""
        first, *inner = name.split(".")
        root = self.root(first)
        found: Any = root
        for place, part in enumerate(inner, 2):
            found = getattr(found, part, None) if part[0] != "_" else None
            if not isinstance(found, Module):
                raise ModuleNotFoundError(f"No module named {'.'.join(name.split('.')[:place])!r}")
        for one in wanted or ():
            if one[0] in "_." or not hasattr(found, one):
                close = suggest(one, names_in(name))
                told = f". Did you mean: {close[0]!r}?" if close else ""
                raise ImportError(f"cannot import name {one!r} from {name!r}{told}")
        return found if wanted else root

    def root(self, name: str) -> Module:
        """A module. Raises ModuleNotFoundError where a script has none of this name."""
        if name not in self.known:
            if name in PACKAGES:
                self.known[name] = Package(name, {})
            elif name in REACH["modules"]:
                own = _OWN.get(name, lambda guards: {})(self.guards)
                for one, value in own.items():
                    if type(value) is FunctionType:
                        value.__qualname__ = one  # as an error of a call names it
                real = None if name in _DRAWING else import_module(name)
                members = {one: own.get(one, getattr(real, one, None)) for one in REACH["modules"][name].split()}
                self.known[name] = Module(name, {one: value for one, value in members.items() if value is not None})
            else:
                raise ModuleNotFoundError(f"No module named {name!r}")
        return self.known[name]


def _math(guards: Any) -> dict[str, Any]:
    real = import_module("math")

    def limited(name: str) -> Any:
        def check(*args: Any) -> None:
            if any(map(_above, args)):
                raise guards.large(f"{name} of numbers above {_MOST}")

        return named(getattr(real, name), name, check)

    def prod(iterable: Any, /, *, start: Any = 1) -> Any:
        for one in iterable:
            start = guards.mult(start, one)
        return start

    return {"prod": prod, **{name: limited(name) for name in ("factorial", "comb", "perm")}}


def _random(guards: Any) -> dict[str, Any]:
    """The functions of one generator of the session, whose state is logged.

    A script that does not seed it gets what follows from the seed of the session's own, which a log has.
    """
    made, state = import_module("random").Random(), {"seeded": False}

    def restore(before: Any) -> None:
        made.setstate(before[0])
        state["seeded"] = before[1]

    def method(name: str) -> Any:
        def check(*args: Any, **options: Any) -> None:
            guards.log_state("random", lambda: (made.getstate(), state["seeded"]), restore)
            if not state["seeded"] and name != "seed":
                made.seed(repr(generator().bit_generator.state))
            state["seeded"] = True
            if name == "shuffle":
                guards.logged(args[0] if args else options.get("x"))
            if name == "getrandbits" and args and args[0] > _MOST:
                raise guards.large("so many bits")

        return named(getattr(made, name), name, check)

    return {name: method(name) for name in REACH["modules"]["random"].split()}


def _itertools(guards: Any) -> dict[str, Any]:
    """Those that give many values, as generators of Python: each value can be stopped at."""
    real = import_module("itertools")

    def each(function: Any, name: str, is_sized: bool = False) -> Any:
        def check(*args: Any, **options: Any) -> None:
            if is_sized and (options.get("repeat", 0) > _MOST or any(map(_above, args[1:2]))):
                raise guards.large(f"{name} of so many")

        return named(lambda *args, **options: through(function(*args, **options)), name, check)

    sized = "cycle product permutations combinations combinations_with_replacement zip_longest".split()
    made = {
        name: each(getattr(real, name), name, name in sized) for name in (*sized, "count", "repeat", "chain", "islice")
    }
    made["chain"].from_iterable = each(real.chain.from_iterable, "from_iterable")
    return made


def _above(value: Any) -> bool:
    return isinstance(value, int) and value > _MOST


def _functools(guards: Any) -> dict[str, Any]:
    real = import_module("functools")

    def wraps(wrapped: Any) -> Callable[[Any], Any]:
        return lambda wrapper: guards.renamed(wrapper, wrapped) if guards.is_function(wrapper) else wrapper

    def cached(most: float, function: Any, typed: bool = False) -> Any:
        known: dict[Any, Any] = {}

        def call(*args: Any, **options: Any) -> Any:
            key: Any = (args, tuple(options.items())) if options else args
            if typed:
                key = key, tuple(map(type, (*args, *options.values())))
            elif not options and len(args) == 1 and type(args[0]) in (int, str):
                key = args[0]  # 1 is not 1.0 then, in Python, either
            if key in known:
                known[key] = found = known.pop(key)  # the youngest now
                return found
            found = function(*args, **options)
            remember_entry(known, key)
            known[key] = found
            if len(known) > most:
                remember_entry(known, oldest := next(iter(known)))
                del known[oldest]
            return found

        return guards.renamed(call, function)

    def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
        if callable(maxsize):
            return cached(128, maxsize, typed)
        return partial(cached, float("inf") if maxsize is None else max(maxsize, 0), typed=typed)

    class cached_property(real.cached_property):  # type: ignore[misc, name-defined]  # noqa: N801
        """One whose value is logged."""

        def __get__(self, x: Any, kind: Any = None) -> Any:
            return super().__get__(x if x is None else guards.on_mine(x, self.attrname), kind)

    ordering = _of_class(guards, real.total_ordering, "total_ordering")
    made = {"cache": partial(cached, float("inf")), "lru_cache": lru_cache, "cached_property": cached_property}
    return made | {"total_ordering": ordering, "wraps": wraps}


def _contextlib(guards: Any) -> dict[str, Any]:
    """Kinds of the session's own, which a script may change."""
    real = import_module("contextlib")
    reals = (real._GeneratorContextManager, real.suppress, real.nullcontext)
    made, suppress, nullcontext = [type(kind.__name__, (kind,), {}) for kind in reals]
    guards.classes |= {made, suppress, nullcontext}

    def contextmanager(function: Any) -> Any:
        return guards.renamed(lambda *args, **options: made(function, args, options), function)

    return {"contextmanager": contextmanager, "suppress": suppress, "nullcontext": nullcontext}


def _of_class(guards: Any, decorate: Callable[[Any], Any], name: str) -> Any:
    """A decorator of classes that the script has made."""

    def check(cls: Any) -> None:
        if not isinstance(cls, type) or cls not in guards.classes:
            raise TypeError(f"{name} decorates a class of the script")

    return named(decorate, name, check)


def _copy(guards: Any) -> dict[str, Any]:
    """Copies without a memo of the script's own, which could put anything in the place of their parts."""
    return {"deepcopy": lambda x: import_module("copy").deepcopy(x)}


def _collections(guards: Any) -> dict[str, Any]:
    real = import_module("collections")

    class defaultdict(real.defaultdict[Any, Any]):  # type: ignore[misc, name-defined]  # noqa: N801
        """One whose new entries are logged."""

        def __missing__(self, key: Any) -> Any:
            guards.logged(self)
            return super().__missing__(key)

    defaultdict.__module__ = "collections"
    defaultdict.__qualname__ = "defaultdict"
    guards.add_kind(defaultdict, dict)
    guards.table[defaultdict] = guards.table[dict] | {"default_factory": "read"}

    def namedtuple(typename: str, field_names: Any, *, rename: bool = False, defaults: Any = None) -> Any:
        made = real.namedtuple(typename, field_names, rename=rename, defaults=defaults, module="__main__")
        guards.named.add(made)
        guards.table[made] = dict.fromkeys([*made._fields, *OF_TUPLES], "read")
        return made

    return {"defaultdict": defaultdict, "namedtuple": namedtuple}


OF_TUPLES = "_fields _replace _asdict _make _field_defaults count index".split()


def _dataclasses(guards: Any) -> dict[str, Any]:
    real = import_module("dataclasses")
    allowed = {"init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only"}

    def made(cls: Any, **options: Any) -> Any:
        notes = vars(cls).get("__annotations__", {})  # texts: which of them mean no field, nothing else can tell
        for name in [name for name, kind in notes.items() if re.match(r"(typing\.|\w\.)?ClassVar\b", kind)]:
            del notes[name]
        return real.dataclass(cls, **options)

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        if not options.keys() <= allowed:
            raise TypeError(f"dataclass has no {next(iter(options.keys() - allowed))} here")

        decorate = _of_class(guards, lambda cls: made(cls, **options), "dataclass")
        return decorate if cls is None else decorate(cls)

    return {"dataclass": dataclass}


def _typing(guards: Any) -> dict[str, Any]:
    """What annotations are made of, which are texts: none of it does anything."""

    class Type:
        """`List`, `Optional[int]`."""

        def __init__(self, name: str) -> None:
            self.name = name

        def __getitem__(self, index: Any) -> Any:
            return self

        def __or__(self, other: Any) -> Any:
            return self

        __ror__ = __or__

        def __repr__(self) -> str:
            return f"typing.{self.name}"

    made: dict[str, Any] = {name: Type(name) for name in REACH["modules"]["typing"].split()}
    guards.generic.update((made["Generic"], made["Protocol"], NAMED))
    made |= {"TypeVar": lambda name, *_, **__: Type(name), "cast": named(lambda kind, value: value, "cast")}
    return made | dict.fromkeys(("final", "override"), named(lambda made: made, "final")) | {"NamedTuple": NAMED}


NAMED: Any = import_module("typing").NamedTuple  # from which the classes of a script may be derived


def _re(guards: Any) -> dict[str, Any]:
    real = import_module("re")

    def check(*args: Any, **options: Any) -> None:
        for one in (*args, *options.values()):
            if isinstance(one, int) and not isinstance(one, bool) and one & 128:
                raise ValueError("re.DEBUG prints by itself")

    words = "compile search match fullmatch split findall finditer sub subn".split()
    return {name: named(getattr(real, name), name, check) for name in words}


def _io(guards: Any) -> dict[str, Any]:
    """Files in memory, which `torch.save` writes, and nothing else."""
    made = import_module("io").BytesIO
    guards.table[made] = dict.fromkeys(("seek", "tell", "getvalue", "close"), "read")
    return {"BytesIO": lambda: made()}


def _sys(guards: Any) -> dict[str, Any]:
    """What a script gets of its command line and of floats; what it writes is printed."""
    session, real = guards.session, import_module("sys")
    names = "max min epsilon dig mant_dig max_exp min_exp"
    info = Module("sys.float_info", {name: getattr(real.float_info, name) for name in names.split()})

    def stream(name: str) -> Module:
        def write(text: str) -> int:
            guards.print(text, end="", file=made)
            return len(text)

        made = Module(f"sys.{name}", {"write": write, "flush": lambda: None})
        return made

    streams = {name: stream(name) for name in ("stdout", "stderr")}
    argv = [*session.loading[:1], *map(str, session.names.get("args", ()))] or [""]
    return {"argv": argv, "exit": guards.exit, "float_info": info, **streams}


def _matplotlib(guards: Any) -> dict[str, Any]:
    """`pyplot`, which draws with agrad's own plots."""
    session = guards.session
    figure = import_module("agrad.grammar.runtime.figures").Figure(lambda plot: session.emit(plot), session.draw)

    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            guards.log_state("figure", lambda: dict(vars(figure)), vars(figure).update)
            figure.curves = [*figure.curves]
            return function(*args, **options)

        return call

    members = {name: logged(function) for name, function in figure.members().items()}

    def subplots(nrows: int = 1, ncols: int = 1, **style: Any) -> Any:
        if nrows != 1 or ncols != 1:
            members["subplots"](nrows, ncols)  # which refuses several
        axes = {**members, **{f"set_{name}": members[name] for name in ("xlabel", "ylabel", "title")}}
        axes |= {f"set_{name}": lambda *_, **__: None for name in ("xlim", "ylim", "xscale", "yscale", "aspect")}
        return Module("Figure", {**members}), Module("Axes", axes)

    pyplot = Module("matplotlib.pyplot", members | {"subplots": subplots})
    return {"pyplot": pyplot, "use": lambda *_, **__: None}


def _torchviz(guards: Any) -> dict[str, Any]:
    """`make_dot(y).render("g")`: the graph of a value, written to a file."""
    picture = import_module("agrad.grammar.runtime.figures").Picture
    guards.table[picture] = dict.fromkeys(("render", "source"), "read")

    def make_dot(var: Any, params: Any = None, **_: Any) -> Any:
        return picture(var, guards.session.write)

    return {"make_dot": make_dot}


_DRAWING = frozenset({"matplotlib", "torchviz"})  # which only agrad's own are of
_OWN: dict[str, Callable[[Any], dict[str, Any]]] = {
    "io": _io,
    "sys": _sys,
    "matplotlib": _matplotlib,
    "torchviz": _torchviz,
    "math": _math,
    "random": _random,
    "itertools": _itertools,
    "functools": _functools,
    "contextlib": _contextlib,
    "copy": _copy,
    "collections": _collections,
    "dataclasses": _dataclasses,
    "typing": _typing,
    "re": _re,
}
