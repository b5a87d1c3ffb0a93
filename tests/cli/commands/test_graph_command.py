"""`agrad graph`: what the language's command draws, of an expression on the command line."""

import pytest

from agrad.grammar.commands.graphs import PICTURES


@pytest.mark.parametrize(("name", "form"), [("g.svg", "svg"), ("g.html", "page")])
def test_a_file_takes_the_form_of_its_ending(inside, tmp_path, name, form):
    assert inside("graph", "a**2*2", "a=3", "-o", name) == ("", "", 0)
    assert (tmp_path / name).read_text("utf-8") == inside("graph", "a**2*2", "a=3", "--as", form)[0]


@pytest.mark.parametrize("form", PICTURES)
def test_a_file_that_is_not_text(inside, tmp_path, form):
    pytest.importorskip("matplotlib")
    assert inside("graph", "a**2*2", "a=3", "-o", f"g.{form}") == ("", "", 0)
    assert inside("eval", "a**2*2", "a=3", "--graph", f"h.{form}") == ("18\n", "", 0)
    drawn = [(tmp_path / f"{name}.{form}").read_bytes() for name in "gh"]
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith({"png": b"\x89PNG\r\n", "pdf": b"%PDF-"}[form])


def test_a_picture_has_the_options_of_the_language(inside, tmp_path):
    words = ("graph", "sin(x)*y + x", "x=2", "y=3")
    assert inside(*words, "-o", "a.svg", "--gradients", "--open", "all") == ("", "", 0)
    assert "∂ 1" in (tmp_path / "a.svg").read_text("utf-8")
    _, told, code = inside(*words, "--gradients")
    assert code == 2
    assert "--gradients is for pictures: svg, png and pdf" in told
    assert "--gradients -o graph.svg" in told
    assert 'fix: --open "' in inside(*words, "-o", "b.svg", "--open", "nothing")[1]
