"""Inside a floor: folders of a size that one can find one's way in, arrows between them by a table, and no circles."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = ("engine", "grammar", "cli")

# What each folder, or file at the top of its floor, may import of its own floor. Whoever adds an arrow adds it here.
ALLOWED = {
    "cli.__main__": "main terminal",
    "cli.arguments": "base data output settings",
    "cli.base": "arguments config_toml data output settings settings_table terminal",
    "cli.commands": "arguments base data integrations lesson output repl settings settings_table terminal",
    "cli.config_toml": "settings_table",
    "cli.data": "__main__ arguments output terminal",
    "cli.integrations": "base output settings terminal",
    "cli.lesson": "base output repl settings settings_table terminal",
    "cli.main": "base output terminal",
    "cli.output": "terminal",
    "cli.package": "__main__ integrations",
    "cli.repl": "base output settings settings_table terminal",
    "cli.settings": "config_toml settings_table",
    "cli.terminal": "settings settings_table",
    "engine": "autodiff compile core errors inspect interop nn ops program",
    "engine.autodiff": "core errors lazy struct text values",
    "engine.compile": "autodiff core errors extras lazy program struct text values",
    "engine.core": "errors lazy struct text values",
    "engine.data": "errors extras lazy struct text values",
    "engine.errors": "struct",
    "engine.extras": "errors values",
    "engine.inspect": "autodiff compile core errors extras interop lazy program struct text values",
    "engine.interop": "core errors lazy ops values",
    "engine.nn": "autodiff core errors ops values",
    "engine.ops": "autodiff compile core data errors extras lazy program text values",
    "engine.program": "autodiff compile core errors text values",
    "engine.values": "errors",
    "grammar.commands": "diagnostics files help results runtime session syntax values",
    "grammar.files": "diagnostics",
    "grammar.help": "commands diagnostics pytorch results runtime session syntax",
    "grammar.lint": "commands diagnostics pytorch runtime session syntax",
    "grammar.loops": "diagnostics pytorch results runtime syntax values",
    "grammar.prompt": "diagnostics results runtime session syntax",
    "grammar.pytorch": "values",
    "grammar.results": "values",
    "grammar.runtime": "diagnostics files pytorch results syntax values",
    "grammar.session": "commands diagnostics files loops results runtime syntax values",
    "grammar.syntax": "diagnostics pytorch",
    "grammar.values": "files results",
}


@cache
def modules():
    """Every module by its name, with its path."""
    found = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found["agrad." + ".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imported(path):
    """The modules of agrad that a file imports: (module, kind), where kind is `top`, `function` or `typing`."""

    def visit(node, kind):
        for child in ast.iter_child_nodes(node):
            inner = kind
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and child in node.body:
                inner = "typing"
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and kind == "top":
                inner = "function"
            if isinstance(child, ast.Import):
                yield from ((alias.name, inner) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                for alias in child.names:
                    whole = f"{child.module}.{alias.name}"
                    yield (whole if whole in modules() else child.module or ""), inner
            yield from visit(child, inner)

    return [(name, kind) for name, kind in visit(ast.parse(path.read_text("utf-8")), "top") if name in modules()]


def folder(name):
    """The first folder below the floor, or the file that stands at its top: `engine.core`, `engine.values`."""
    return ".".join(name.split(".")[1:3])


@cache
def arrows(*kinds):
    return {name: {other for other, kind in imported(path) if kind in kinds} for name, path in modules().items()}


def circle(graph):
    """One circle of a graph, as a list of nodes; [] if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_a_circle_is_seen():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []
    assert circle({"a": {"b", "c"}, "b": {"c"}}) == []


@pytest.mark.parametrize("kinds", [("top",), ("top", "function")], ids=" and ".join)
def test_no_imports_go_in_a_circle(kinds):
    assert circle({name: others - {name} for name, others in arrows(*kinds).items()}) == []


@pytest.mark.parametrize("place", sorted({path.parent.relative_to(ROOT) for path in modules().values()}), ids=str)
def test_a_folder_says_what_lives_there(place):
    doc = ast.get_docstring(ast.parse((ROOT / place / "__init__.py").read_text("utf-8")))
    assert doc
    assert len(doc.splitlines()) <= 40


@pytest.mark.parametrize("room", sorted({folder(name) for name in modules()}))
def test_a_folder_imports_of_its_floor_what_the_table_allows(room):
    floor = room.partition(".")[0]
    here = [name for name in modules() if folder(name) == room]
    others = {folder(other) for name in here for other in arrows("top", "function")[name]}
    inside = {other.partition(".")[2] for other in others if other.startswith(f"{floor}.") and other != room}
    assert inside <= set(ALLOWED.get(room, "").split())


def test_the_table_allows_only_what_is_there():
    used = {}
    for name, others in arrows("top", "function").items():
        room = folder(name)
        floor = room.partition(".")[0]
        used.setdefault(room, set()).update(
            folder(other).partition(".")[2] for other in others if folder(other).startswith(f"{floor}.")
        )
    extra = {room: set(names.split()) - used.get(room, set()) for room, names in ALLOWED.items()}
    assert not any(extra.values()), extra
