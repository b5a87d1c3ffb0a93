"""What `eval` and `check` have in common: an expression on the command line, and values for its names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, product
from typing import Any

import click

import agrad
from agrad.cli.arguments import NAME, PLACES, TYPED, Line, argument, binding, many, named
from agrad.cli.main import Command, Wrong, read_text, typed
from agrad.cli.output import as_read
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, NotOneNumber, SyntaxMistake, UnknownName
from agrad.engine.struct import Struct
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Noted, Result
from agrad.grammar.session.inputs import bind, open_names, require_free
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.ast import Evaluate
from agrad.grammar.syntax.parser import parse, tokens
from agrad.lazy import rare


class FormulaCommand(Command):
    """An expression may begin with a minus: `-2+x` and `-q*2` are not options, `--jsno` and `-q` are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move expressions that begin with a minus after a `--`, where click does not look for options."""
        args = list(map(_as_typed, args))
        ctx.meta[TYPED], ctx.meta[PLACES] = args, (places := [])
        names = {name: parameter for parameter in self.get_params(ctx) for name in parameter.opts}
        end = args.index("--") if "--" in args else len(args)
        formulas: list[str] = []
        others: list[str] = []
        awaited = False  # whether the word is the value of the option before it
        for place, word in enumerate(args[:end]):
            formula = not awaited and re.match("-[^-]", word) and word not in names
            (formulas if formula else others).append(word)
            if formula or not (awaited or word.startswith("--") or word in names):
                places.append(place)
            awaited = not awaited and word in names and not getattr(names[word], "is_flag", True)
        places.extend(range(end + 1, len(args)))
        if awaited:  # its value is missing: click reports it, or ignores it while a shell completes the line
            formulas = [] if not ctx.resilient_parsing else [*others[:-1], "--", *formulas]
            return super().parse_args(ctx, formulas or others)
        return super().parse_args(ctx, [*others, "--", *formulas, *args[end + 1 :]])


def _as_typed(word: str) -> str:
    """A word as it was typed: where the locale is ASCII, Python keeps each byte beyond that as a surrogate.

    The name of a file stays as it is, for that is how Python opens it.
    """
    if word.isascii() or "@" in word or os.path.exists(word):
        return word
    try:
        return word.encode("utf-8", "surrogateescape").decode()
    except UnicodeError:  # it was not text
        return word


class Formula(Struct, eq=False):
    """The words after a command: its expression, and the text of each value by its name.

    `words` are those of the expression, or of what replaces it (-e and -f). `remarks`: on what the derivatives mean,
    once the names are bound.
    """

    line: Line
    words: list[str]
    given: dict[str, str]
    remarks: list[str]

    def text(self) -> str:
        """The expression; for `-`, the text of standard input. Raises AgradError of kind `file`."""
        expression = self.words[-1]
        return as_read(read_text("-").strip() if expression == "-" else expression, True)

    def bind(self, session: Session, wrt: Sequence[str] | None, others: Sequence[str] = ()) -> dict[str, Tensor]:
        """Bind the names in the session, numbers as leaves; return those to differentiate by, in the order of `wrt`.

        Without `wrt`, all are returned. A value that is computed from earlier names is a leaf only if `wrt` has it. A
        name that is not given may be one that -e or -f sets, which `leaves` checks. `others`: further texts that may
        have the names. Raises AgradError.
        """
        for name, text in self.given.items():
            with noted(f"{name}={text}"), self._read_from(name, text):
                require_free(name)
                file = text[1:] if text.startswith("@") else ""
                value = (
                    _from_file(session, file) if file else session.evaluate(as_read(text, True), _told, is_given=True)
                )
                if remark := bind(session.names, name, value, wrt):
                    self.remarks.append(remark)
        if wrt is None:
            wrt = [name for name in self.given if isinstance(session.names[name], Tensor)]
        for name in wrt:
            if name not in self.given and len(self.words) == 1:
                raise self._no_leaf(name, "")
        if not {"-", "-f"} & {*self.words}:
            texts = [text[a:b] for text in (*self.words, *self.given.values(), *others) for _, a, b in tokens(text)]
            words = {*wrt, *map(named, re.findall(r"[^\W\d]\w*", " ".join(texts)))}
            rest = [name for name in self.given if name not in words]
            self.remarks.extend(f"{name} has a value, and is not in {self.words[-1]}" for name in rest)
        return {name: session.names[name] for name in wrt if name in self.given}

    def leaves(self, session: Session, wrt: Sequence[str], given: dict[str, Tensor]) -> dict[str, Tensor]:
        """The leaves to differentiate by, after -e or -f has run: those that it makes, else those that were given.

        Raises AgradError for a name that is neither.
        """
        found: dict[str, Tensor] = {}
        for name in wrt:
            value = session.names.get(name)
            if isinstance(value, Tensor) and value.requires_grad and value.is_leaf:
                found[name] = value
            elif name in given:
                found[name] = given[name]
            else:
                raise self._no_leaf(name, self.words[0] if name in session.names else "")
        return found

    def _no_leaf(self, name: str, by: str) -> AgradError:
        """The error for a name to differentiate by that has no value, or one that -e or -f, `by`, has set."""
        option = "--jvp" if self.line.given(["--jvp"]) else "--wrt"
        if not by:
            texts = [*self.words, *self.given.values()]
            if len(self.words) == 1 and "-" not in texts and not any(name in open_names(text) for text in texts):
                return AgradError("name", f"{name}, which {option} asks for, is not in {self.words[0]}")
            return AgradError("name", f"{name}, which {option} asks for, has no value", facts=UnknownName(name))
        places = {self.line.place(word): word for word in self.words if binding(word)[0] == name}
        leaf = {place: [f"var {word.strip()}"] for place, word in places.items()}
        advice = f"make it one: {self.line.changed(leaf)}" if leaf else f"var {name} = …   where it is set"
        return AgradError("leaf", f"{name}, which {option} asks for, is set by {by}, and not as a leaf", fixes=[advice])

    @contextmanager
    def _read_from(self, name: str, text: str) -> Iterator[None]:
        """Where a value is the name of a file, its error says how to read that."""
        try:
            yield
        except AgradError as problem:
            if os.path.isfile(text):
                place = self.line.place(f"{name}={text}")
                problem.facts, problem.fixes = None, [self.line.changed({place: [f"{name}=@{text}"]})]
            raise

    @contextmanager
    def advised(self) -> Iterator[None]:
        """Replace the fixes of an error by command lines that can be typed."""
        try:
            yield
        except AgradError as problem:
            facts = problem.facts
            if isinstance(facts, UnknownName) and not facts.close:
                name = facts.name
                if name in self.given:
                    problem.fixes = [Hint(f"put {name}={self.given[name]} before what needs it")]
                    raise
                problem.fixes = [Hint(f"give it one: {self.line.changed({}, f'{name}=1')}")]
                digits = {f"{key}={name}": f"{key}={_NUMBERS.index(name)}" for key in self.given if name in _NUMBERS}
                words = {self.line.place(word): [new] for word, new in digits.items() if word in self.line.words}
                if words:
                    problem.fixes = [self.line.changed(words)]
            elif facts == SyntaxMistake("not an expression") and self.line.command == "eval":
                problem.fixes = [self._as_statements(self.words[-1])]
            elif isinstance(facts, NotOneNumber):
                *before, last = self.words
                again = "sum(…)" if "-f" in before else self.line.changed({self.line.place(last): [f"sum({last})"]})
                problem.fixes = [Hint(f"add its entries up: {again}")]
                if self.line.command == "eval" and not self.line.given(["--order", "--vjp", "--hessian"]):
                    again = self.line.changed({}, "--jacobian")
                    problem.fixes.append(Hint(f"or take the derivatives of each: {again}"))
            raise

    def _as_statements(self, text: str) -> str:
        """What runs statements: `agrad eval -e`, if the last one is an expression, else a script."""
        if text.endswith(";"):
            return self.line.changed({self.line.place(text): [text.rstrip("; ")]})
        last = parse(Source("expression", text))[-1]
        if isinstance(last, Evaluate) and not last.silent:
            again = self.line.changed({self.line.place(text): ["-e", text]})
            return f"{again}   for statements; the last must be an expression"
        given = [word for name, value in self.given.items() for word in ("-D", f"{name}={value}")]
        return f"{typed(text, of='echo')} | {typed('run', '-', *given)}"


_NUMBERS = "zero one two three four five six seven eight nine ten".split()


def formula(words: Sequence[str], instead: Sequence[str] = ()) -> Formula:
    """Separate the expression from the values; with -e or -f, which are given `instead`, there is none.

    Raises click.UsageError.
    """
    given: dict[str, str] = {}
    expressions: list[str] = []
    line = Line.typed()
    _require_joined(line)
    for word in chain.from_iterable(map(_bindings, words)):
        name, text = binding(word)
        if not name:
            expressions.append(word)
        elif name in given:
            raise click.UsageError(f"{name} is given twice")
        else:
            _require_file(name, text)
            given[name] = text
    if instead:
        if expressions:
            raise click.UsageError(f"with {instead[0]}, only NAME=VALUE can follow, and {expressions[0]} is not one")
        return Formula(line, list(instead), given, [])
    if not expressions:
        why = next((f": {word} gives {name} its value" for word in words if (name := binding(word)[0])), "")
        fixes = [line.changed({place: ["-e", line.words[place]]}) for place in line.places if ";" in line.words[place]]
        raise Wrong(f"the expression is missing{why}", *fixes[: line.command == "eval"])
    if len(expressions) > 1:
        raise agrad.cli.arguments.slips.slip(line)
    return Formula(line, expressions, given, [])


def _bindings(word: str) -> list[str]:
    """The bindings in `a=3,b=2`, which are two; a comma inside of brackets divides none."""
    first, *others = re.split(rf",\s*(?={NAME}\s*=(?!=))", word) if binding(word)[0] else [word]
    found = [first]
    for part in others:
        is_open = sum(map(found[-1].count, "([")) > sum(map(found[-1].count, ")]"))
        found[-1:] = [f"{found[-1]}, {part}"] if is_open else [found[-1], part]
    return found


def texts_by_name(option: str, words: Sequence[str], form: str = "NAME=VALUE", wrong: str = "") -> dict[str, str]:
    """The TEXT for each NAME in the NAME=TEXT of an option that can be repeated. Raises click.UsageError.

    `form`: how that is called in the help; `wrong`: the message for any other word, with {} for the word.
    """
    texts: dict[str, str] = {}
    for word in chain.from_iterable(map(_bindings, words)):
        name, text = binding(word)
        if not name:
            raise click.UsageError((wrong or f"{option} takes {form}, and {{}} is not one").format(word))
        if name in texts:
            raise click.UsageError(f"{option} gives {name} twice")
        texts[name] = text
    return texts


def _require_joined(line: Line) -> None:
    """Refuse `x = 3`, `x= 3` and `x =3` in several words. Raises click.UsageError with the corrected command line."""
    for place, count in product(line.places, (2, 3)):
        words, places = line.words[place : place + count], range(place, place + count)
        spaced = re.match(rf"{NAME}( = ?|= )(?!=)\S", " ".join(words)) and not binding(words[-1])[0]
        if spaced and set(places) <= set(line.places):
            raise Wrong("write a value without spaces around its =", line.joined(places, "".join(words)))


def _require_file(name: str, text: str) -> None:
    """Refuse an @ without a file after it, or a colon without a column. Raises click.UsageError."""
    path = text.removeprefix("@")
    if path == text or (path.strip() and not path.endswith(":")) or os.path.exists(path):
        return
    file = path.removesuffix(":").strip()
    of_column = "column", f"{file}:column", f"{file} for all"
    what, one, other = of_column if file else ("file", "data.csv", "data.csv:column")
    raise click.UsageError(f"{name}={text} does not name a {what}: write {name}=@{one}, or {name}=@{other}")


def listed(options: Sequence[str]) -> list[str]:
    """The names in options such as --wrt x,y, each once. Raises click.UsageError for anything else."""
    names = [named(name) for option in options for name in re.split(r"[,\s]+", option) if name]
    if options and not names:
        raise click.UsageError("--wrt takes names, separated by commas, and there are none")
    for name in names:
        if not name.isidentifier():
            raise click.UsageError(f"--wrt takes names, separated by commas, and {name} is not one")
    return list(dict.fromkeys(names))


@contextmanager
def noted(word: str) -> Iterator[None]:
    """Add a note to an error that says which word of the command line it is in."""
    try:
        yield
    except AgradError as problem:
        problem.notes.append(f"in {word}")
        raise


def named_completions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For the shell: names in the expression that have no value yet, with `=` where a value follows."""
    before, comma, word = incomplete.rpartition(",")
    words = [*(context.params.get("words") or ()), incomplete]
    if "=@" in incomplete or words[-2:-1] == ["=@"]:  # bash takes the sign for a word
        sign, _, path = incomplete.rpartition("@") if "=@" in incomplete else ("", "", incomplete)
        found = [f"{name}/" if os.path.isdir(name) else name for name in sorted(rare.glob.glob(f"{path}*"))]
        return [f"{sign}@{name}" for name in found]
    there = " ".join(context.params.get("words") or ()) if parameter.name == "words" else ""
    taken = {*before.split(","), *re.findall(r"([^\W\d]\w*)\s*=(?!=)", there)}  # bash makes three words of x=2
    mark = "=" if parameter.name in ("words", "jvp") else ""
    return [f"{before}{comma}{name}{mark}" for name in _names(context) if name.startswith(word) and name not in taken]


def words_argument(metavar: str) -> Any:
    """The words behind the command: an expression, and values for its names."""
    return argument(nargs=-1, metavar=metavar, shell_complete=named_completions)


def wrt_option(text: str) -> Any:
    """The option --wrt, with its help text."""
    return many("--wrt", "NAME,...", text, shell_complete=named_completions)


constants_option = many("-D", "NAME=VALUE", "Define a name that has the same value in every row.")


def _names(context: click.Context) -> list[str]:
    """The names in the expressions of a command line that have no value, in order."""
    words: list[str] = [*(context.params.get("expressions") or ()), *(context.params.get("words") or ())]
    texts = (word for word in words if "=@" not in word and not os.path.isfile(word))  # a path contains no names
    return list(dict.fromkeys(name for text in texts for name in open_names(text)))


def _told(result: Result) -> None:
    """Show a note on a value that is given."""
    if isinstance(result, Noted):
        agrad.cli.output.tell(result.note)


def _from_file(session: Session, word: str) -> Tensor:
    if not session.context.files.on:
        raise AgradError("file", f"@{word}: file access is switched off")

    return agrad.cli.data.at_file.from_file(word, session.watch.memory)
