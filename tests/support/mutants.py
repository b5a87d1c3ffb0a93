"""Small faults in the sources: the list of them in tests/mutants.txt, where they stand, and how they are put in.

A mutant is an expression that is replaced: a sign, a bound, a swapped operand, a dropped check. It is found by its function
and statement, also where these were moved to; what is gone is replaced by another of the same folder. mutant_trial.py says
which of them the tests notice. One that lives and gives what the program gives is `equal`, with the reason.
"""

import ast
import random
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests/mutants.txt"
SWITCH, LOG = ROOT / "build/mutants", ROOT / "build/mutants.log"
FLOORS = "cli", "grammar", "engine"
FOLDERS = "engine/autodiff engine/ops engine/program engine/compile grammar/syntax grammar/session cli/data".split()
EACH, SPARE = 43, 22  # mutants of a folder, and of those that replace them where their code is gone

TOUCHING = {ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt()}
ORDERED = ast.Sub | ast.Div | ast.FloorDiv | ast.Pow | ast.MatMult
JOINED = ast.List | ast.Tuple | ast.JoinedStr | ast.ListComp  # what `+` joins, rather than adds
UNLIKE = (
    "where matmul dot subtract divide power less greater less_equal greater_equal atan2 arctan2 outer solve zip".split()
)
TEXTS = (
    ast.JoinedStr | ast.Raise | ast.Assert | ast.match_case
)  # of messages, without a place of their own, of patterns
LEAVES = ast.Raise | ast.Return | ast.Continue | ast.Break
_INSIDE = """
import builtins, mmap
if not hasattr(builtins, "__mutant__"):
    with open({path!r}, "r+b") as file:
        shared = mmap.mmap(file.fileno(), 0)
    def mutant(number):
        shared[2 * number] = 1
        return shared[2 * number + 1]
    builtins.__mutant__ = mutant
"""


def mutations(node):
    """What can be mutated at a node: (the expression that is replaced, kind, its replacement)."""
    bounds = ()
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right) if not _joined(left) and not _joined(right):
            yield node, "sign", ast.BinOp(left, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), right)
        case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield node, "sign", operand
        case ast.UnaryOp(ast.Not(), operand):
            yield node, "check", operand
        case ast.BoolOp(op, values):
            for rest in (values[:k] + values[k + 1 :] for k in range(len(values))):
                yield node, "check", ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.If(test, [statement], []) if isinstance(statement, LEAVES):
            yield test, "check", ast.Constant(False)
        case ast.Compare(left, [op], [right]) if type(op) in TOUCHING and not ast.unparse(right).strip("_").isupper():
            yield node, "bound", ast.Compare(left, [TOUCHING[type(op)]], [right])
        case ast.IfExp(test, body, orelse):
            yield node, "swap", ast.IfExp(test, orelse, body)
        case ast.Call(function, [*args, one, other]) if ast.unparse(function).rpartition(".")[2] in UNLIKE:
            yield node, "swap", ast.Call(function, [*args, other, one], node.keywords)
    match node:
        case ast.BinOp(left, op, right) if isinstance(op, ORDERED) and ast.unparse(left) != ast.unparse(right):
            yield node, "swap", ast.BinOp(right, op, left)
        case (
            ast.Compare(comparators=bounds)
            | ast.Subscript(slice=ast.Tuple(bounds))
            | ast.Call(ast.Name("range"), bounds)
        ):
            pass
        case ast.Slice(lower, upper):
            bounds = lower, upper
        case ast.Subscript(slice=index):
            bounds = (index,)
    for bound in bounds:
        if isinstance(bound, ast.Constant) and type(bound.value) is int:
            yield bound, "bound", ast.Constant(bound.value + 1)


def _joined(node):
    texts = (x.value for x in (node, *ast.iter_child_nodes(node)) if isinstance(x, ast.Constant))
    return (
        isinstance(node, JOINED)
        or ast.unparse(node).endswith("shape")
        or any(isinstance(x, str | bytes) for x in texts)
    )


def candidates(path):
    """All mutants of a file, by what they are found by: {(function, statement, kind, old, new, which): expression}."""
    found, counts = {}, Counter()

    def walk(node, name, statement, inside):
        if isinstance(node, TEXTS) or getattr(node, "name", "") in ("__repr__", "__str__"):
            return
        if isinstance(node, ast.stmt):
            statement = ast.unparse(node).partition("\n")[0]
        below = [x for x in ast.iter_child_nodes(node) if x is not getattr(node, "annotation", None)]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name, below, inside = [*name, node.name], node.body, True
        elif isinstance(node, ast.Lambda):
            name, statement, below, inside = [*name, "<lambda>"], ast.unparse(node), [node.body], True
        elif isinstance(node, ast.ClassDef):
            name = [*name, node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not inside:
            name = [*name, ast.unparse(getattr(node, "target", None) or node.targets[0])]
        for expression, kind, new in mutations(node) if inside else ():
            if not any(isinstance(x, ast.NamedExpr | ast.Lambda | ast.JoinedStr) for x in ast.walk(expression)):
                key = ".".join(name), statement, kind, ast.unparse(expression), ast.unparse(new)
                found[*key, counts[key]] = expression
                counts[key] += 1
        for child in below:
            walk(child, name, statement, inside)

    walk(ast.parse(path.read_text()), [], "", False)
    return found


def choose(seed):
    """Write a new list: of each folder as many of each kind, at most two of a function, and one of a statement."""
    lines = []
    for folder in FOLDERS:
        chance, kinds, taken = random.Random(f"{seed} {folder}"), defaultdict(list), []
        for path in sorted((ROOT / folder).rglob("*.py")):
            for key in candidates(path):
                kinds[key[2]].append((str(path.relative_to(ROOT)), *key))
        for kind in sorted(kinds):
            chance.shuffle(kinds[kind])
        while len(taken) < EACH + SPARE:
            for kind in sorted(kinds):
                fit = [x for x in kinds[kind] if all(x[:3] != y[:3] for y in taken)]
                fit = [x for x in fit if sum(x[:2] == y[:2] for y in taken) < 2]
                taken += fit[:1]
        lines += [(*x, "untried" if k < EACH - (folder == FOLDERS[-1]) else "spare") for k, x in enumerate(taken)]
    write(lines)


def write(mutants):
    """Four lines of each: where it is and how it ended, its statement, its expression, what replaces it."""
    blocks = ((f"{x[0]}  {x[1]}  {x[3]}  {x[6]}  {x[7]}", x[2], x[4], x[5]) for x in mutants)
    LIST.write_text("\n\n".join("\n    ".join(block) for block in blocks) + "\n")


def read():
    """The list: (file, function, statement, kind, old, new, which, how it ended)."""
    blocks = (block.strip().split("\n    ") for block in LIST.read_text().split("\n\n"))
    places = ((place.split("  ", 4), *rest) for place, *rest in blocks)
    return [(file, name, at, kind, old, new, int(nth), end) for (file, name, kind, nth, end), at, old, new in places]


def standing():
    """The mutants of the list as they stand in the sources: [(mutant, file, expression)]."""
    by_function, by_statement = defaultdict(list), defaultdict(list)
    for path in sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py")):
        for (name, *key), expression in candidates(path).items():
            floor = path.relative_to(ROOT).parts[0]
            by_function[floor, name, *key].append((path, expression))
            by_statement[floor, *key].append((path, expression))
    found, gone, spares = [], [], []
    for mutant in read():
        file, name, *key, end = mutant
        floor = file.partition("/")[0]
        places = [place for place in by_function[floor, name, *key] if place[0] == ROOT / file]
        places = places or by_function[floor, name, *key] or by_statement[floor, *key]
        kept = spares if end == "spare" else found
        kept.append((mutant, *places[0])) if len(places) == 1 else gone.append(mutant)
    expressions = {id(place[-1]) for place in found}
    for mutant in gone:
        if mutant[7] != "spare":
            like = [x for x in spares if _folder(x[0]) == _folder(mutant) and id(x[-1]) not in expressions]
            like.sort(key=lambda x: x[0][3] != mutant[3])
            found += like[:1]
            expressions |= {id(x[-1]) for x in like[:1]}
            say("gone:", *mutant[:2], mutant[4], "->", mutant[5], "| instead:", *(like[0][0][:2] if like else ()))
    return found


def _folder(mutant):
    return next(folder for folder in FOLDERS if mutant[0].startswith(f"{folder}/"))


def say(*words):
    """Note on the way what would be lost at the end."""
    with LOG.open("a") as log:
        log.write(f"{time.strftime('%H:%M:%S')} {' '.join(map(str, words))}\n")


def plant(mutants):
    """Write all mutants into the sources, each with its number; lines keep their numbers."""
    SWITCH.write_bytes(bytes(2 * len(mutants)))
    by_file = defaultdict(list)
    for number, (mutant, path, expression) in enumerate(mutants):
        by_file[path].append((number, expression, mutant[5]))
    for path, ones in by_file.items():
        text = path.read_bytes()
        starts = [0, *(k + 1 for k, letter in enumerate(text) if letter == ord("\n"))]
        edits = []
        for number, at, new in ones:
            edits.append((starts[at.lineno - 1] + at.col_offset, f"(({new}) if __mutant__({number}) else "))
            edits.append((starts[at.end_lineno - 1] + at.end_col_offset, ")"))
        for at in ast.parse(text).body:
            if isinstance(at, ast.Expr) or getattr(at, "module", "") == "__future__":  # what has to stand first
                first = (
                    starts[at.end_lineno - 1] + at.end_col_offset,
                    f"; exec({_INSIDE.format(path=str(SWITCH))!r}, {{}})",
                )
        for place, words in sorted([first, *edits], reverse=True):
            text = text[:place] + words.encode() + text[place:]
        path.write_bytes(text)
