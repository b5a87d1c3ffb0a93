"""Inside a floor: folders of a size that one can find one's way in, arrows between them by a table, and no circles."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

from rows import each

ROOT = Path(__file__).parents[1]
FLOORS = ("engine", "grammar", "cli")

# What each folder, or file at the top of its floor, may import of its own floor. Whoever adds an arrow adds it here.
ALLOWED = dict(line.split(": ") for line in (ROOT / "tests" / "rooms.txt").read_text().splitlines())


@cache
def modules():
    """Every module by its name, with its path."""
    found = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found["agrad." + ".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def dotted(node):
    """The text of `agrad.cli.output.tell`; empty for what is no such name."""
    is_name = isinstance(node, ast.Attribute) and (text := ast.unparse(node)).startswith("agrad.")
    return text if is_name and text.replace(".", "").isidentifier() and "__" not in text else ""


def on_disk(module):
    """A module by the folder that it is in."""
    return re.sub(r"^agrad\.(torch|numpy)\b", r"agrad.engine.\1", module)


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
                yield from ((on_disk(alias.name), inner) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                module = on_disk(child.module or "")
                for alias in child.names:
                    whole = f"{module}.{alias.name}"
                    yield (whole if whole in modules() else module), inner
            elif chain := dotted(child):  # loaded when it is used
                yield (
                    max((name for name in modules() if f"{chain}.".startswith(f"{name}.")), key=len, default=""),
                    inner,
                )
                continue
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


@each("kinds", [("top",), ("top", "function")])
def test_no_imports_go_in_a_circle(kinds):
    assert circle({name: others - {name} for name, others in arrows(*kinds).items()}) == []


@each("place", sorted({path.parent.relative_to(ROOT) for path in modules().values()}))
def test_a_folder_says_what_lives_there(place):
    doc = ast.get_docstring(ast.parse((ROOT / place / "__init__.py").read_text("utf-8")))
    assert doc
    assert len(doc.splitlines()) <= 40


def test_a_folder_imports_of_its_floor_what_the_table_allows_and_no_less():
    used = {folder(name): set() for name in modules()}
    for name, others in arrows("top", "function").items():
        floor, room = name.split(".")[1], folder(name)
        used[room].update(folder(other).partition(".")[2] for other in others if other.startswith(f"agrad.{floor}."))
    used = {room: names - {room.partition(".")[2]} for room, names in used.items()}
    assert {room: names for room, names in used.items() if names} == {
        room: set(names.split()) for room, names in ALLOWED.items()
    }


def test_what_a_dotted_name_leads_to_is_loaded_when_it_is_used():
    """Each package on the way loads its modules lazily, whatever has been imported before."""
    files = modules() | {"agrad": ROOT / "cli/package/__init__.py"}
    found = {
        text
        for path in files.values()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (text := dotted(node))
    }
    assert len(found) > 100
    for text in found:
        words = text.split(".")
        places = [".".join(words[:count]) for count in range(1, len(words) + 1)]
        inside = [place for place in places if place in files]
        value = import_module(inside[-1])
        if len(inside) < len(places):
            assert hasattr(value, words[len(inside)]), text
        for place in inside[:-1]:
            assert "lazy(__name__)" in files[place].read_text("utf-8"), text
