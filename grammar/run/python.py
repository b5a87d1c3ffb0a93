"""Python's reading: CPython's own tree of a script, with guards where a statement could reach or change too much.

CPython parses the text and compiles the tree. In between, attributes, writes, calls of methods, imports, handlers of
exceptions and what one step can make large become calls of helpers (`guards`), whose names begin with a dot, so that
no text can spell them. All that is not named here as safe is refused. Commands of agrad are words only where Python
has no use for them, as in `graph y`: their places in the text are blanked before Python reads it.

A text of a session, or of a script of agrad, is read as Python from its first import on, up to a line `calculator`.

The columns of the nodes become spans in the text, as in the code of the calculator's reading.
"""

from __future__ import annotations

import _ast as py
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from types import CodeType
from typing import Any, NamedTuple, NoReturn

from agrad.engine.errors import AgradError, Hint, Label
from agrad.grammar import syntax
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.run import modules
from agrad.grammar.run.code import binds, deeply
from agrad.grammar.run.places import File
from agrad.grammar.syntax import ast, parser
from agrad.grammar.syntax.keywords import COMMAND_WORDS, HEADERS
from agrad.lazy import pattern

LOAD, STORE, DELETE = py.Load(), py.Store(), py.Del()
# The special methods that a class may define, and that may be called by their names.
SPECIAL = frozenset(
    "abs add and bool call ceil complex contains delitem divmod enter eq exit float floor floordiv format ge getitem"
    " gt hash iadd iand ifloordiv ilshift imatmul imod imul index init int invert ior ipow irshift isub iter itruediv"
    " ixor le len lshift lt matmul missing mod mul ne neg next or pos post_init pow radd rand rdivmod repr reversed"
    " rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setitem str sub truediv"
    " trunc xor".split()
)
TOLD = frozenset(
    {"name", "qualname", "doc", "module", "class", "dict", "version"}
)  # what else may be read as an attribute
# Methods that change nothing, of texts and of containers: whatever else has such an attribute may give it away.
NATIVE = frozenset(
    "upper lower strip lstrip rstrip split rsplit splitlines startswith endswith find rfind index count title"
    " capitalize isdigit isalpha isalnum isspace isupper islower partition rpartition get keys values items".split()
)
_NAMED = frozenset({"__name__", "__doc__", "__qualname__"})  # of functions, which may be assigned to
_READ = frozenset({"name"})  # `__name__`, which has a value of its own
_IN_CLASS = SPECIAL | {"match_args", "doc"}
_IDENTIFIERS = frozenset({"id", "arg", "attr", "name", "asname", "module", "rest", "names", "kwd_attrs"})
_KNOWN = frozenset(
    "Module FunctionDef ClassDef Return Delete Assign AugAssign AnnAssign For While If With Match Raise Try Assert"
    " Import ImportFrom Global Nonlocal Expr Pass Break Continue BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict Set"
    " ListComp SetComp DictComp GeneratorExp Yield YieldFrom Compare Call FormattedValue JoinedStr Constant Attribute"
    " Subscript Starred Name List Tuple Slice comprehension ExceptHandler arguments arg keyword alias withitem"
    " match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs MatchOr Load Store"
    " Del And Or Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub Eq"
    " NotEq Lt LtE Gt GtE Is IsNot In NotIn".split()
)
_LARGE = (py.Mult, py.Pow, py.LShift, py.Mod)  # operators whose result may be much larger than the operands
_SMALL = 2**62
_SIMPLE = (py.Name, py.Constant)
_MOST_LEVELS = 3_000  # of Python's calls: its own compiler takes the stack of C, and more of it where more are allowed
_WIDE = re.compile(r"\d{7}")
_UNKNOWN = "NameError: name {!r} is not defined"
_WORDS = {"AsyncFunctionDef": "async def", "AsyncFor": "async for", "AsyncWith": "async with", "TryStar": "except*"}

# Where the lines of a text begin a statement: outside of brackets and texts, and behind no backslash.
_TOKEN = pattern(
    r"""(?sx)  (?: \"{3} (?:\\.|[^\\])*? (?:\"{3}|\Z) | '{3} (?:\\.|[^\\])*? (?:'{3}|\Z)
    | \"(?:\\.|[^\"\\\n])*\"? | '(?:\\.|[^'\\\n])*'? | \#[^\n]* ) | (?P<open>[(\[{]) | (?P<close>[)\]}]) | \\\n
    | (?P<line>\n) | (?P<end>;)"""
)
_COMMAND = pattern(r"""[ \t]*([a-z_]+)[ \t]+(?!(?:and|as|else|for|if|in|is|not|or)\b)(?=[^\W\d]|\.?\d|["'])""")
_SWITCH = pattern(r"(?m)^[ \t\f]*(?:.*;[ \t]*)?(?:import|from|class)\b|^\f*calculator\b")
_IMPORT = pattern(r"[ \t\f]*(?:(?:import|class)[ \t]+[^\W\d]|from[ \t]+[^\W\d][\w.]*[ \t]+import\b)")
_BACK = pattern(r"\f*calculator[ \t]*(?:#.*)?")
_MARGIN = pattern(r"(?m)^(?![ \t\f]|(?:else|elif|except|finally)\b|[)\]}]|[ \t]*(?:#|$))")
_MISTAKES = 50  # syntax errors of one text that are reported
_GOES_ON = pattern(r"[ \t]|(?:else|elif|except|finally)\b|[ \t]*(?:#|$)")  # the block of the lines above


class Part(NamedTuple):
    """A part of a text with one reading."""

    is_python: bool
    start: int
    end: int


def is_script(source: Source) -> bool:
    """Whether a text is a script of Python, all of it: a file with such a name is."""
    return source.is_file and source.name.endswith(".py")


@lru_cache(maxsize=16)
def parts(source: Source) -> tuple[Part, ...]:
    """The parts of a text that are read as Python, and those in the calculator's language."""
    is_python, whole = source.is_python or is_script(source), len(source.text)
    if is_script(source) or not _SWITCH.search(text := syntax.lexer.typed_in(source.text)):
        return (Part(is_python, 0, whole),)
    found, begun, statement, decorated = list[Part](), 0, 0, False
    for start, end in logical_lines(text):
        if (not start or text[start - 1] == "\n") and not _GOES_ON.match(line := text[start:end].lstrip("\f")):
            statement = statement if decorated else start
            decorated = line[0] == "@"
            if is_python and _BACK.fullmatch(text[start:end]):
                found.append(Part(True, begun, start))
                begun, is_python = start, False
        if not is_python and _IMPORT.match(text, start, end):
            found.append(Part(False, begun, statement))
            begun, is_python = statement, True
    return *[part for part in found if text[part.start : part.end].strip()], Part(is_python, begun, whole)


def is_in_python(span: Span) -> bool:
    """Whether a statement is in a part of its text that is read as Python."""
    here = (part.is_python for part in reversed(parts(span.source)) if part.start <= span.start)
    return next(here, span.source.is_python)


def parse(source: Source) -> tuple[ast.Statement, ...]:
    """The statements of a text, as its reading has them. Raises AgradError of kind `syntax`."""
    text, found = source.text if is_script(source) else syntax.lexer.typed_in(source.text), list[ast.Statement]()
    for is_python, start, end in parts(source):
        part = blank(text, start, end)
        found += Reader(source, part).statements() if is_python else parser.parse(source, part)
    return tuple(found)


def blank(text: str, start: int, end: int) -> str:
    """A text with spaces in the place of all but a part, so that the places of this stay the same."""
    if not start and end == len(text):
        return text
    return "".join([re.sub(r"[^\n]", " ", text[:start]), text[start:end], re.sub(r"[^\n]", " ", text[end:])])


def logical_lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line that may be a statement begins and ends."""
    depth = start = 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(depth - 1, 0)
        elif (token["line"] or token["end"]) and not depth:
            yield start, token.start()
            start = token.end()
    yield start, len(text)


def code_of(statement: ast.Python) -> CodeType:
    """The code of a statement, whose tree is used up."""
    return _Guards(statement).code()


def problems(source: Source, text: str, known: set[str]) -> list[AgradError]:
    """What is certainly wrong with a text, or a part of it, that does not run.

    `known`: the names that it has from the start, and then also those that it binds.
    """
    read, (statements, found) = list[tuple[str, Span]](), readable(source, text, known)
    for statement in statements:
        inner = statement.commands.values() if isinstance(statement, ast.Python) else ((statement,),)
        known.update(name for body in inner for one in body for name in binds(one))
        if not isinstance(statement, ast.Python):
            continue
        for node in nodes(statement.tree):
            if is_load(node):
                read.append((node.id, Span(source, *statement.places.of(node))))
            else:
                known.update(bound(node))
        try:
            code_of(statement)
        except AgradError as problem:
            found.append(problem)
    wrong = [
        AgradError("name", _UNKNOWN.format(name), labels=[Label(span)]) for name, span in read if name not in known
    ]
    return [*found, *wrong]


def readable(source: Source, text: str, names: set[str]) -> tuple[tuple[ast.Statement, ...], list[AgradError]]:
    """The statements of a text that can be parsed, and the errors of the others, whose words are added to the names."""
    found = list[AgradError]()
    for _ in range(_MISTAKES):
        try:
            return Reader(source, text).statements(), found
        except AgradError as problem:
            found.append(problem)
            start, end = _mistaken(text, problem)
            names.update(re.findall(r"[^\W\d]\w*", text[start:end]))
            if not text[start:end].strip():
                break
            text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return (), found


def _mistaken(text: str, problem: AgradError) -> tuple[int, int]:
    """The statement without indentation that a syntax error is in, with its block: where it begins and ends."""
    place: Any = problem.labels[0].origin
    starts = [0, *(found.start() for found in _MARGIN.finditer(text)), len(text)]
    number = max(bisect_right(starts, min(place.start, len(text) - 1)) - 1, 0)
    end = len(text) if "triple-quoted" in problem.message else starts[number + 1]
    # What comes too early ends the statement above.
    is_early = number and place.start == starts[number] and "expected" in problem.message
    return starts[number - 1 if is_early else number], end


def bound(node: Any) -> list[str]:
    """The names that a node of Python binds, as all of its fields but those of names that are read say."""
    if isinstance(node, py.ImportFrom) and node.names[0].name == "*":
        return modules.names_in(node.module or "")
    if isinstance(node, py.alias):
        return [(node.asname or node.name).split(".")[0]]
    fields = ("id", "arg", "name", "rest") if not isinstance(node, py.keyword) else ()
    return [name for name in (getattr(node, field, None) for field in fields) if isinstance(name, str)]


def is_load(node: Any) -> bool:
    """Whether a node is a name that is read."""
    return isinstance(node, py.Name) and isinstance(node.ctx, py.Load)


def is_command(text: str, start: int) -> bool:
    """Whether a command begins at a place where a statement does."""
    found = _COMMAND.match(text, start)
    return found is not None and found[1] in WORDS


# The commands that are words of Python's reading.
WORDS = COMMAND_WORDS - {"print", "time"} | {"exit"}


class Reader:
    """Makes statements of the text of a script."""

    def __init__(self, source: Source, text: str) -> None:
        self.source, self.text = source, text  # which is the text of the source, or a part of it
        self.places = Places(source.text)
        self.commands: dict[int, Span] = {}  # by the place where each begins

    def statements(self) -> tuple[ast.Statement, ...]:
        """The statements of the text, commands among them. Raises AgradError of kind `syntax`."""
        tree, found = self.tree(self.blanked()), list[ast.Statement]()
        taken = {name for one in nodes(tree) if not is_load(one) for name in bound(one)}
        inner: dict[int, tuple[ast.Statement, ...]] = {}
        for one in nodes(tree):
            if isinstance(one, py.Expr) and isinstance(one.value, py.Name) and one.value.id in WORDS - taken:
                start = self.places.offset(one.lineno, one.col_offset)
                self.commands[start] = Span(self.source, start, start + len(one.value.id))
        for start, span in self.commands.items():
            inner[start] = self.command(span)
        for one in tree.body:
            span = Span(self.source, *self.places.of(one))
            if span.start in inner and isinstance(one, py.Expr):
                found += inner[span.start]
            else:
                known = {start: made for start, made in inner.items() if span.start <= start < span.end}
                shown = isinstance(one, py.Expr) and not is_script(self.source)
                made: Any = ast.Python
                sets: Any = (set(), set(), set(), set())
                found.append(made(one, self.places, known, (), *sets, False, shown, span=span))
        return tuple(found)

    def tree(self, text: str) -> Any:
        """The tree that CPython makes of a text, which it could compile."""
        try:
            with warnings.catch_warnings(), deeply(_MOST_LEVELS):
                warnings.simplefilter("ignore")
                compile(text, "<agrad>", "exec", dont_inherit=True, optimize=0)
                return compile(text, "<agrad>", "exec", flags=py.PyCF_ONLY_AST, dont_inherit=True)
        except (RecursionError, MemoryError):
            raise AgradError("limit", "this nests too deeply", labels=[Label(Span(self.source, 0, 0))]) from None
        except SyntaxError as error:
            raise self.wrong(error) from None
        except ValueError as error:  # a zero in the text
            raise AgradError("syntax", str(error), labels=[Label(Span(self.source, 0, 0))]) from None

    def wrong(self, error: SyntaxError) -> AgradError:
        """The error for a text that is no Python."""
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        last, end = error.end_lineno or line, error.end_offset or 0
        start = self.places.start(line) + column - 1
        stop = self.places.start(last) + end - 1 if end > 0 else start
        span = Span(self.source, min(start, len(self.source.text)), min(max(stop, start), len(self.source.text)))
        made = AgradError("syntax", f"{type(error).__name__}: {error.msg}", labels=[Label(span)])
        if not is_script(self.source) and self.is_of_calculator(span):
            back = "calculator" if not self.source.is_file else Hint("calculator   on a line of its own above")
            made.notes, made.fixes = ["from an import on Python is read: this is the calculator's language"], [back]
        return made

    def is_of_calculator(self, span: Span) -> bool:
        """Whether the calculator can read the line around a place, or the first of the text."""
        text = self.source.text
        lines = [text[start:end].strip() for start, end in logical_lines(text) if start <= span.start <= end]
        return any(line and parser.can_be_read(line) and not _is_python(line) for line in lines)

    def blanked(self) -> str:
        """The text, with something that Python can read in place of each command."""
        text = self.text
        known = "|".join(sorted(WORDS))
        if not re.search(rf"(?m)^[ \t]*(?:.*;[ \t]*)?(?:{known})[ \t]+[\w.\"']", text):
            return text
        pieces, done = list[str](), 0
        for start, end in logical_lines(text):
            found = _COMMAND.match(text, start, end)
            if found is None or found[1] not in WORDS:
                continue
            start = found.start(1)
            end = start + len(re.sub(r"(?s)(\s|#[^\n\"']*)*\Z", "", text[start:end]))
            self.commands[start] = Span(self.source, start, end)
            pieces += [text[done:start], "(", re.sub(r"[^\n]", " ", text[start + 1 : end - 2]), "0)"]
            done = end
        return "".join([*pieces, text[done:]])

    def command(self, span: Span) -> tuple[ast.Statement, ...]:
        """The statements that a command is in the calculator's grammar."""
        return parser.parse(self.source, blank(self.text, span.start, span.end))


def _is_python(line: str) -> bool:
    """Whether a line by itself is one of Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(line, "<agrad>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


class Places:
    """The offsets of places that CPython gives as a line and bytes of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]
        self.plain = text.isascii()

    def start(self, line: int) -> int:
        """Where a line begins."""
        return self.starts[line - 1] if line <= len(self.starts) else len(self.text)

    def offset(self, line: int, column: int) -> int:
        """The offset of a place."""
        start = self.start(line)
        if self.plain:
            return start + column
        end = self.start(line + 1)
        return start + len(self.text[start:end].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))

    def of(self, node: Any) -> tuple[int, int]:
        """Where a node begins and ends, with its decorators."""
        first = next(iter(getattr(node, "decorator_list", ())), node)
        start = self.offset(first.lineno, first.col_offset)
        if first is not node:
            start = self.text.rindex("@", 0, start)
        return start, self.offset(node.end_lineno, node.end_col_offset)


def nodes(tree: Any) -> Iterator[Any]:
    """All nodes of a tree of Python, without recursion."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, py.AST):
            yield node
            waiting += [getattr(node, name, None) for name in node._fields]
        elif type(node) is list:
            waiting += node


class _Guards:
    """Puts the guards into the tree of one statement."""

    def __init__(self, statement: ast.Python) -> None:
        self.statement, self.places = statement, statement.places
        self.source = statement.span.source
        self.parts: list[ast.Node] = []  # the statements in it, and the loops
        self.fresh = count()
        self.deletes = False  # whether a name may be deleted, as is that of an exception behind its handler
        self.functions = self.loops_left = self.calls_left = 0
        self.owner: str | None = None  # the class whose body this is
        self.private = ""  # the class that names with two underscores belong to

    def code(self) -> CodeType:
        """The code object."""
        statement = self.statement
        with deeply():
            body = self.many([statement.tree])
        if statement.shown:
            body[0].value = self.call("shown", body[0].value, body[0].value)
        for name, value in (("tree", None), ("parts", tuple(self.parts)), ("deletes", self.deletes)):
            setattr(statement, name, value)
        try:
            with warnings.catch_warnings(), deeply(_MOST_LEVELS):
                warnings.simplefilter("ignore")
                code = compile(py.Module(body, []), self.file(), "exec", dont_inherit=True, optimize=0)
        except (RecursionError, MemoryError):
            raise AgradError("limit", "this nests too deeply", labels=[Label(statement.span)]) from None
        return code.replace(co_name=".top")

    def file(self) -> File:
        """The name of the file of the code, which has its tree and the names that it binds."""
        made = File(self.statement, self.source)
        made.binds = sorted(self.statement.binds)
        return made

    # Nodes

    def visit(self, node: Any) -> Any:
        """What a node becomes; a list for some statements."""
        kind = type(node).__name__
        if kind not in _KNOWN:
            self.refuse(f"{_WORDS.get(kind, kind)} is not read", node)
        if isinstance(node, py.stmt):
            self.parts.append(ast.Pass(span=self.span(node)))
        handler = getattr(self, f"_{kind.lower()}", None)
        return self.whole(node) if handler is None else handler(node)

    def many(self, found: list[Any]) -> list[Any]:
        """What several nodes become."""
        made: list[Any] = []
        for one in found:
            new = self.visit(one)
            made += new if type(new) is list else [new]
        return made

    def whole(self, node: Any, *apart: str) -> Any:
        """A node at its place, with what its parts become but for some."""
        self.place(node)
        for name in node._fields:
            value = None if name in apart else getattr(node, name, None)
            if isinstance(value, py.AST):
                setattr(node, name, self.visit(value))
            elif type(value) is list:
                setattr(node, name, [new for one in value for new in self.several(one, name, node)])
            elif type(value) is str and name in _IDENTIFIERS:
                self.word(value, node)
        return node

    def several(self, one: Any, field: str, node: Any) -> list[Any]:
        """What an entry of a list in a node becomes."""
        if isinstance(one, py.AST):
            made = self.visit(one)
            return made if type(made) is list else [made]
        if type(one) is str and field in _IDENTIFIERS:
            self.word(one, node)
        return [one]

    def place(self, node: Any) -> None:
        """Let the columns of a node be its span."""
        if getattr(node, "end_lineno", None) is not None:
            start = self.places.offset(node.lineno, node.col_offset)
            end = self.places.offset(node.end_lineno, node.end_col_offset)
            node.lineno = node.end_lineno = 1
            node.col_offset, node.end_col_offset = start, end

    def span(self, node: Any) -> Span:
        """The place of a node that is not at its place yet."""
        if getattr(node, "end_lineno", None) is None:
            return self.statement.span
        return Span(self.source, *self.places.of(node))

    def at(self, node: Any, like: Any) -> Any:
        """A new node at the place of another."""
        for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
            setattr(node, name, getattr(like, name))
        return node

    def name(self, name: str, like: Any, form: Any = LOAD) -> Any:
        """A name, such as that of a helper."""
        return self.at(py.Name(name, form), like)

    def constant(self, value: Any, like: Any) -> Any:
        """A constant."""
        return self.at(py.Constant(value), like)

    def call(self, helper: str, like: Any, *values: Any) -> Any:
        """The call of a helper."""
        return self.at(py.Call(self.name(f".{helper}", like), [*values], []), like)

    def run(self, value: Any) -> Any:
        """An expression as a statement."""
        return self.at(py.Expr(value), value)

    def refuse(self, message: str, node: Any, *fixes: str) -> NoReturn:
        """Raise the error for what is not read."""
        is_placed = getattr(node, "lineno", 0) == 1 and node.col_offset > self.places.start(2)
        span = Span(self.source, node.col_offset, node.end_col_offset) if is_placed else self.span(node)
        raise AgradError("syntax", message, labels=[Label(span)], fixes=[Hint(one) for one in fixes])

    def word(self, name: str, node: Any, allowed: frozenset[str] = frozenset()) -> str:
        """A name, unless it is one of Python's own machinery."""
        if is_special(name) and name[2:-2] not in (allowed if self.owner is None else allowed | _IN_CLASS):
            self.refuse(f"{name} is a name of Python's own, and cannot be used", node)
        return name

    # Names and attributes

    def _name(self, node: Any) -> Any:
        self.word(node.id, node, _READ if isinstance(node.ctx, py.Load) else frozenset())
        self.place(node)
        self.deletes |= isinstance(node.ctx, py.Del)
        if not isinstance(node.ctx, py.Load):
            self.binds(node.id)
        elif isinstance(node.ctx, py.Load):
            self.statement.reads.add(node.id)
        return node

    def binds(self, *names: str | None) -> None:
        """A statement binds names, of the session unless it is inside of a function or a class."""
        if not self.functions and self.owner is None:
            self.statement.binds.update(name for name in names if name)

    def _global(self, node: Any) -> Any:
        self.statement.globals.update(node.names)
        return self.whole(node)

    def _attribute(self, node: Any, helper: str = "attr") -> Any:
        """`x.name`: read as it is where x is an object of a class of the script."""
        name, is_read = self.attribute_name(node), isinstance(node.ctx, py.Load)
        if not is_read and is_special(name) and name not in _NAMED:
            self.refuse(f".{name} cannot be assigned to", node)
        base = self.visit(node.value)
        self.place(node)
        text = self.constant(name, node)
        if not is_read:
            self.wrote(base)
            return self.at(py.Attribute(self.call("mine", node, base, text), name, node.ctx), node)
        found = self.call(helper, node, base, text)
        if not isinstance(base, py.Name) or is_special(name):
            return found
        kind = self.call("type", node, base)
        test = self.at(py.Compare(kind, [py.In()], [self.name(".open", node)]), node)
        return self.at(py.IfExp(test, self.at(py.Attribute(base, name, LOAD), node), found), node)

    def attribute_name(self, node: Any) -> str:
        """The name of an attribute, as the class around it has it if it is private."""
        name: str = node.attr
        if is_special(name) and name[2:-2] not in SPECIAL | TOLD:
            self.refuse(f".{name} cannot be reached", node)
        owner = self.private.lstrip("_")
        return f"_{owner}{name}" if owner and name[:2] == "__" and name[-2:] != "__" else name

    def _subscript(self, node: Any) -> Any:
        self.whole(node)
        if not isinstance(node.ctx, py.Load):
            self.wrote(node.value)
            node.value = self.call("logged", node.value, node.value)
        return node

    def wrote(self, base: Any) -> None:
        """Remember whose parts a statement writes."""
        if isinstance(base, py.Name):
            self.statement.written.add(base.id)

    # Operators and calls

    def _binop(self, node: Any) -> Any:
        """An operator: what may be large is a helper's, where no test of types shows that it is not."""
        node, (left, right) = self.whole(node), (node.left, node.right)
        if isinstance(node.op, py.BitXor) and not is_script(self.source):
            return self.call("xor", node, left, right)
        if not isinstance(node.op, _LARGE):
            return node
        is_product = isinstance(node.op, py.Mult)
        if any(_is_number(one, float) for one in ((left, right) if is_product else (left,))):
            return node
        helped = self.call(type(node.op).__name__.lower(), node, left, right)
        if not (is_product or isinstance(node.op, py.Mod)) or not isinstance(left, _SIMPLE):
            return helped
        tests = [self.is_real(left)] if isinstance(left, py.Name) else []
        if is_product:
            if not isinstance(right, _SIMPLE):
                return helped
            tests += [self.is_real(right)] if isinstance(right, py.Name) else []
            if len(tests) == 2:  # a small number makes the product little longer than the other is
                signs: list[Any] = [py.Lt(), py.Lt()]
                ends = [self.constant(end, node) for end in (-_SMALL, _SMALL)]
                tests.append(self.at(py.Compare(ends[0], signs, [left, ends[1]]), node))
                is_float = self.at(py.Compare(tests[0].left, [py.Is()], [self.name(".float", node)]), node)
                tests = [self.at(py.BoolOp(py.Or(), [is_float, self.at(py.BoolOp(py.And(), tests), node)]), node)]
        if not tests or not all(isinstance(one, py.Name) or _is_number(one) for one in (left, right)[: 1 + is_product]):
            return helped
        test = tests[0] if len(tests) == 1 else self.at(py.BoolOp(py.And(), tests), node)
        return self.at(py.IfExp(test, node, helped), node)

    def is_real(self, name: Any) -> Any:
        """Whether a name has a real number."""
        kind = self.call("type", name, name)
        return self.at(py.Compare(kind, [py.In()], [self.name(".reals", name)]), name)

    def _augassign(self, node: Any) -> Any:
        target, op = node.target, type(node.op).__name__.lower()
        quick = _is_number(node.value) and not isinstance(node.op, _LARGE)
        if quick:
            return self.whole(node)
        self.place(node)
        if isinstance(target, py.Name):
            store = self._name(target)
            self.statement.reads.add(target.id)
            value = self.visit(node.value)
            now = self.name(target.id, target)
            found = self.call(f"i{op}", node, now, value)
            if isinstance(node.op, py.Add | py.Sub):
                test = self.is_real(now)
                found = self.at(py.IfExp(test, self.at(py.BinOp(now, node.op, value), node), found), node)
            return self.at(py.Assign([store], found), node)
        if isinstance(target, py.Attribute):
            name = self.attribute_name(target)
            if is_special(name):
                self.refuse(f".{name} cannot be assigned to", target)
            base = self.visit(target.value)
            self.place(target)
            place = self.call("loaded", target, base, self.constant(name, target))
        else:
            base, index = self.visit(target.value), self.index(target.slice)
            self.place(target)
            place = self.call("entry", target, base, index)
        self.wrote(base)
        return self.run(self.call("augmented", node, place, self.visit(node.value), self.name(f".i{op}", node)))

    def index(self, node: Any) -> Any:
        """What stands in the brackets of an index, as a value."""
        if isinstance(node, py.Slice):
            self.place(node)
            parts = [node.lower, node.upper, node.step]
            return self.call(
                "slice", node, *[self.constant(None, node) if one is None else self.visit(one) for one in parts]
            )
        if isinstance(node, py.Tuple):
            self.place(node)
            return self.at(py.Tuple([self.index(one) for one in node.elts], LOAD), node)
        return self.visit(node)

    def _call(self, node: Any) -> Any:
        function = node.func
        if not isinstance(function, py.Attribute):
            return self.whole(node)
        if function.attr[-1:] == "_" and isinstance(function.value, py.Name):
            self.statement.written.add(function.value.id)
        node.func = py.Name(".", LOAD)
        if function.attr in NATIVE:
            function.value = self.visit(function.value)
            self.place(function)
            called = function
        else:
            called = self._attribute(function, "method")
        self.whole(node, "func")
        node.func = called
        return node

    def _formattedvalue(self, node: Any) -> Any:
        """`{value:spec}`: a width that is computed is checked, and one that is written must not be large."""
        node, spec = self.whole(node), node.format_spec
        if spec is None:
            return node
        texts: list[Any] = [one.value for one in spec.values if isinstance(one, py.Constant)]
        if len(texts) < len(spec.values) or any(map(_WIDE.search, texts)):
            checked = self.call("spec", node, spec)
            node.format_spec = self.at(py.JoinedStr([self.at(py.FormattedValue(checked, -1, None), node)]), node)
        return node

    # What runs next

    def tick(self, like: Any) -> Any:
        """What stops a loop or a function where time is up, and no signal says so."""
        return self.at(py.If(self.name(".stop", like), [self.run(self.call("poll", like))], []), like)

    def _for(self, node: Any) -> Any:
        span = self.span(node)
        node.iter = self.iterated(node.iter)
        self.looped(node, span)
        return node

    def iterated(self, node: Any) -> Any:
        """What a loop goes over: a range may be long, since each turn runs code."""
        if isinstance(node, py.Call) and isinstance(node.func, py.Name) and node.func.id == "range":
            made = self.whole(node)
            made.func = self.call("native", made.func, made.func)
            return made
        return self.visit(node)

    def looped(self, node: Any, span: Span) -> None:
        """The parts of a loop."""
        kept, self.loops_left = self.loops_left, 0
        if isinstance(node, py.For):
            names = [one.id for one in nodes(node.target) if isinstance(one, py.Name)]
            inside = Span(self.source, self.places.of(node.body[0])[0], span.end)
            target = ast.Tuple(tuple([ast.Name(one, span=span) for one in names]), span=span)
            body = (ast.Pass(span=inside),)
            self.parts.append(ast.For(target, ast.NoneLiteral(span=span), body, span=span))
            node.target = self.visit(node.target)
        self.whole(node, "iter", "target", "orelse")
        self.loops_left = kept
        node.orelse = self.many(node.orelse)
        node.body.insert(0, self.tick(node))

    def _while(self, node: Any) -> Any:
        self.looped(node, self.span(node))
        return node

    def _comprehension(self, node: Any) -> Any:
        node.iter = self.iterated(node.iter)
        node.target = self.visit(node.target)
        self.whole(node, "iter", "target")
        like = node.iter
        polled = self.call("polled", like)
        first = self.at(
            py.BoolOp(py.Or(), [self.at(py.UnaryOp(py.Not(), self.name(".stop", like)), like), polled]), like
        )
        node.ifs.insert(0, first)
        return node

    def _leave(self, node: Any) -> Any:
        if self.calls_left if isinstance(node, py.Return) else self.loops_left:
            word = type(node).__name__.lower()
            self.refuse(f"`{word}` cannot leave a `finally`: it would hide what stopped the block", node)
        return self.whole(node)

    _return = _break = _continue = _leave

    def _try(self, node: Any) -> Any:
        self.place(node)
        node.body, node.handlers, node.orelse = map(self.many, (node.body, node.handlers, node.orelse))
        self.loops_left, self.calls_left = self.loops_left + 1, self.calls_left + 1
        node.finalbody = self.many(node.finalbody)
        self.loops_left, self.calls_left = self.loops_left - 1, self.calls_left - 1
        return node

    def _excepthandler(self, node: Any) -> Any:
        node = self.whole(node)
        self.binds(node.name)
        self.deletes |= node.name is not None
        if node.type is None:
            node.type = self.name(".Exception", node)
        else:
            node.type = self.call("caught", node.type, node.type)
        return node

    def _withitem(self, node: Any) -> Any:
        node = self.whole(node)
        node.context_expr = self.call("manager", node.context_expr, node.context_expr)
        return node

    def _assert(self, node: Any) -> Any:
        """A test, and an exception that has its place on each Python."""
        node = self.whole(node)
        made = self.call("AssertionError", node.test, *([] if node.msg is None else [node.msg]))
        fails = self.at(py.UnaryOp(py.Not(), node.test), node.test)
        return self.at(py.If(fails, [self.at(py.Raise(made, None), node.test)], []), node)

    def _expr(self, node: Any) -> Any:
        start = self.places.offset(node.lineno, node.col_offset)
        if start not in self.statement.commands:
            return self.whole(node)
        self.place(node)
        made: list[Any] = []
        for number, one in enumerate(self.statement.commands[start]):
            self.binds(*binds(one))
            done = self.call("command", node, self.constant(start, node), self.constant(number, node))
            if isinstance(one, ast.Variable):
                made.append(self.at(py.Assign([self.name(one.name.id, node, STORE)], done), node))
            else:
                made.append(self.run(done))
        return made

    # Functions and classes

    @contextmanager
    def inside(self, owner: str | None) -> Iterator[None]:
        """The body of a class, or of a function."""
        kept = self.owner, self.private, self.functions, self.loops_left, self.calls_left
        self.owner, self.loops_left, self.calls_left = owner, 0, 0
        self.private = owner if owner is not None else self.private
        self.functions += owner is None
        yield
        self.owner, self.private, self.functions, self.loops_left, self.calls_left = kept

    def bound(self, node: Any) -> None:
        """A definition binds a name."""
        self.word(node.name, node)
        self.binds(node.name)

    def _functiondef(self, node: Any) -> Any:
        self.bound(node)
        node.decorator_list = self.many(node.decorator_list)
        node.args, node.returns, node.type_params = self.visit(node.args), None, []
        with self.inside(None):
            self.whole(node, "name", "args", "decorator_list", "type_params")
        outer = sorted({name for one in _own_nodes(node.body) if isinstance(one, py.Nonlocal) for name in one.names})
        first = [self.tick(node)]
        if outer:
            cells = self.at(py.Tuple([self.name(name, node) for name in outer], LOAD), node)
            probe = self.at(py.Lambda(py.arguments([], [], None, [], [], None, []), cells), node)
            first.append(self.run(self.call("cells", node, probe)))
        node.body[_is_docstring(node.body) : 0] = first
        return node

    def _lambda(self, node: Any) -> Any:
        node.args = self.visit(node.args)
        with self.inside(None):
            self.whole(node, "args")
        polled = self.at(py.BoolOp(py.And(), [self.name(".stop", node), self.call("poll", node)]), node)
        node.body = self.at(py.BoolOp(py.Or(), [polled, node.body]), node)
        return node

    def _arg(self, node: Any) -> Any:
        node.annotation = None
        return self.whole(node)

    def _classdef(self, node: Any) -> Any:
        self.bound(node)
        if node.keywords:
            self.refuse("a class has no keywords: metaclasses are not read", node)
        if any(isinstance(one, py.Starred) for one in node.bases):
            self.refuse("the bases of a class are written one by one", node)
        node.decorator_list, node.bases = self.many(node.decorator_list), self.many(node.bases)
        node.bases, node.type_params = [self.call("base", one, one) for one in node.bases], []
        with self.inside(node.name):
            self.whole(node, "name", "bases", "keywords", "decorator_list", "type_params")
        return node

    def _annassign(self, node: Any) -> Any:
        """The annotation is a text in a class, and nothing elsewhere."""
        span, name = self.span(node.annotation), getattr(node.target, "id", "")
        if name in HEADERS and not (is_script(self.source) or self.functions or self.owner):
            told = f"`{name}:` is the calculator's language, and to Python a name with an annotation"
            self.refuse(
                told,
                node,
                f"calculator   goes back to where {name}: measures a statement"
                if name == "time"
                else "with torch.no_grad(): …",
            )
        if isinstance(node.target, py.Name) and (self.functions or self.owner is not None):
            node.annotation = py.Constant(span.text)
            self.whole(node, "annotation")
            self.at(node.annotation, node)
            return node
        target, value = self.visit(node.target), node.value and self.visit(node.value)
        self.place(node)
        return self.at(py.Pass() if value is None else py.Assign([target], value), node)

    # Modules

    def _import(self, node: Any) -> Any:
        node = self.whole(node)
        self.binds(*((one.asname or one.name).split(".")[0] for one in node.names))
        return node

    def _importfrom(self, node: Any) -> Any:
        if node.module == "__future__":
            self.place(node)
            return self.at(py.Pass(), node)
        if node.level or node.module is None:
            self.refuse("a script has no package around it", node)
        if [one.name for one in node.names] == ["*"]:
            node.names = [self.at(py.alias(one, None), node.names[0]) for one in modules.names_in(node.module)]
            if not node.names:
                self.refuse(f"No module named {node.module!r}", node)
        return self._import(node)

    # Patterns

    def _match(self, node: Any) -> Any:
        """The classes and values of patterns are looked up, and checked, before."""
        self.place(node)
        kept, given = f".match{next(self.fresh)}", list[Any]()
        for one in nodes([case.pattern for case in node.cases]):
            if isinstance(one, py.MatchClass):
                attributes = self.constant(tuple([self.word(name, one) for name in one.kwd_attrs]), node)
                places = self.constant(len(one.patterns), node)
                one.cls = self.kept(
                    kept, self.call("pattern", node, self.visit(one.cls), attributes, places), given, node
                )
            elif isinstance(one, py.MatchValue) and isinstance(one.value, py.Attribute):
                one.value = self.kept(kept, self.visit(one.value), given, node)
            elif isinstance(one, py.MatchMapping):
                one.keys = [
                    self.kept(kept, self.visit(key), given, node) if isinstance(key, py.Attribute) else key
                    for key in one.keys
                ]
        node.subject, node.cases = self.visit(node.subject), [self.visit(one) for one in node.cases]
        for one in nodes(node.cases):
            if isinstance(one, py.MatchAs | py.MatchStar | py.MatchMapping):
                self.binds(getattr(one, "name", None), getattr(one, "rest", None))
        if not given:
            return node
        self.binds(kept)
        stored = self.at(py.Assign([self.name(kept, node, STORE)], self.call("values", node, *given)), node)
        return [stored, node]

    def kept(self, name: str, value: Any, given: list[Any], like: Any) -> Any:
        """An attribute of what is looked up before."""
        given.append(value)
        made = self.at(py.Attribute(self.name(name, like), f"v{len(given)}", LOAD), like)
        made.checked = True
        return made

    def _matchclass(self, node: Any) -> Any:
        return self.whole(node, "cls")

    def _matchvalue(self, node: Any) -> Any:
        self.whole(node, *["value"] * hasattr(node.value, "checked"))
        return node

    def _matchmapping(self, node: Any) -> Any:
        self.whole(node, "keys")
        node.keys = [key if hasattr(key, "checked") else self.visit(key) for key in node.keys]
        return node


def is_special(name: str) -> bool:
    """Whether a name is one of those that Python gives a meaning of its own."""
    return name[:2] == "__" and name[-2:] == "__" and len(name) > 4


def _is_number(node: Any, *kinds: type) -> bool:
    """Whether a node is a number that is written, and not a long one."""
    value: Any = getattr(node, "value", None)
    return isinstance(node, py.Constant) and type(value) in (kinds or (int, float)) and abs(value) < _SMALL


def _is_docstring(body: list[Any]) -> int:
    first = body[0]
    is_text = isinstance(first, py.Expr) and isinstance(first.value, py.Constant) and type(first.value.value) is str
    return int(is_text)


def _own_nodes(body: list[Any]) -> Iterator[Any]:
    """The statements of a function, those of functions and classes in it apart."""
    waiting = [*body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, py.FunctionDef | py.ClassDef):
            continue
        yield one
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += (
                getattr(one, name, None) or [] if isinstance(one, py.stmt | py.ExceptHandler | py.match_case) else []
            )
