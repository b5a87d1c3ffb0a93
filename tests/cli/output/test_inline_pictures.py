"""Plots as pictures between the lines of a terminal: what it is asked, what it gets, and when it gets braille instead."""

import colorsys
import os

import numpy as np
import pytest
from picturing import Picturing
from rows import each
from screens import above_toolbar, telling_its_cursor

from agrad.cli import output
from agrad.cli import terminal as graphics
from agrad.cli.output import inline
from agrad.cli.output.plot_canvas import draw
from agrad.grammar.results import Curve, Plot
from agrad.grammar.session.session import Session

LINE = Plot((Curve("line", [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]),), "index")
STATEMENT = "plot [0, 1, 2, 3]"


def near(image, colour, reach=40):
    """Where the dots of a picture have about a colour."""
    wanted = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    pixels = np.asarray(image).astype(int)
    return (abs(pixels[:, :, :3] - wanted).max(axis=2) < reach) & (pixels[:, :, 3] > 128)


def assert_shows_the_line(image):
    """That the curve of LINE goes from the left below to the right above, and is straight."""
    dots = near(image, inline._CURVES[0], 70)
    across = np.nonzero(dots.any(axis=0))[0]
    down = image.height - 1 - dots[::-1, across].argmax(axis=0)  # the lowest: the sample in the legend is above
    right = across > image.width // 2
    slope, start = np.polyfit(across[right], down[right], 1)
    assert slope < -0.1
    curve = abs(down - (slope * across + start)) < 3
    assert curve[right].all()
    assert curve.sum() > image.width * 0.7


def light(colour):
    """The relative luminance of a colour, as in the guidelines for the contrast of texts."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


@each("colour, least", [(inline._GREY, 4.5), *((one, 3.0) for one in inline._CURVES)])
def test_each_colour_can_be_read_on_light_and_on_dark(colour, least):
    assert 1.05 / (light(colour) + 0.05) >= least
    assert (light(colour) + 0.05) / 0.05 >= least


def test_curves_have_hues_that_can_be_told_apart():
    hues = sorted(colorsys.rgb_to_hsv(*(int(one[p : p + 2], 16) / 255 for p in (1, 3, 5)))[0] for one in inline._CURVES)
    assert min(np.diff([*hues, hues[0] + 1])) > 0.05


NOWHERE = "TERM=dumb TERM= TERM=screen-256color TERM=tmux-256color TMUX=/tmp/tmux-0/default,1,0"


@pytest.mark.parametrize(
    "variable", [*NOWHERE.split(), "STY=1.pts", "ZELLIJ=0", "INSIDE_EMACS=29.1,vterm", "NO_COLOR=1"]
)
def test_where_pictures_would_not_arrive_there_are_none(monkeypatch, variable):
    for name in {*graphics._BETWEEN, "NO_COLOR", "FORCE_COLOR"}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(graphics.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(graphics, "drawable", lambda stream: True)
    monkeypatch.setenv("TERM", "xterm-kitty")
    assert graphics.cell_of_pictures("auto")
    monkeypatch.setenv("TERM_PROGRAM", "ghostty")
    monkeypatch.setenv(*variable.split("="))
    assert graphics.cell_of_pictures("auto") is None


def test_a_terminal_that_says_nothing_of_the_protocol_gets_braille(monkeypatch):
    monkeypatch.setattr(graphics.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(graphics, "coloured", lambda stream: True)
    monkeypatch.setattr(graphics, "drawable", lambda stream: True)
    for name in {*graphics._BETWEEN, "TERM_PROGRAM"}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KITTY_WINDOW_ID", "1")  # it may be that of a terminal further out
    for program, shows in (("Apple_Terminal", False), ("iTerm.app", False), ("ghostty", True)):
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("TERM_PROGRAM", program)
        assert bool(graphics.cell_of_pictures("auto")) == shows
        assert graphics.cell_of_pictures("kitty")
        assert graphics.cell_of_pictures("braille") is None


def test_set_plots_can_be_undone_and_names_what_there_is():
    session = Session()
    session.steps.depth = 10
    session.run("set plots kitty")
    assert session.settings.plots == "kitty"
    session.run("set plots braille")
    session.run("undo")
    assert session.settings.plots == "kitty"


def test_without_matplotlib_nothing_is_asked(monkeypatch):
    monkeypatch.setattr(output, "find_spec", lambda name: None)
    monkeypatch.setattr(graphics, "cell_of_pictures", lambda chosen: pytest.fail("asked"))
    assert not output._shown_as_picture(LINE, 79, 20, "kitty")


@pytest.fixture
def terminal(environment, tmp_path):
    """A terminal of a kind, at its first prompt."""
    opened = []
    kept = {name: value for name, value in telling_its_cursor(environment).items() if name not in graphics._BETWEEN}
    kept |= {"MPLCONFIGDIR": str(tmp_path / "matplotlib")}

    def opening(kind, *arguments, variables=None, **how):
        own = {name: value for name, value in kept.items() if name != "TERM" or kind != "kitty"}
        one = Picturing(own | (variables or {}), kind, *arguments, folder=tmp_path, **how)
        opened.append(one)
        one.wait_for(lambda: one.line() == "agrad>", "a prompt")
        return one

    yield opening
    for one in opened:
        one.__exit__()


@pytest.mark.long
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 60), (40, 20)])
def test_a_plot_is_a_picture_below_its_line(terminal, columns, rows):
    one = terminal("kitty", columns=columns, rows=rows)
    one.enter(STATEMENT)
    (shown,) = one.pictures
    top = 2 if columns > 40 else 3  # the greeting takes two rows
    assert (shown.row, shown.column) == (top, 0)
    width = min(columns - 1, inline.WIDEST)
    assert shown.size == (width, min(rows - 4, width * 3 // 10))
    assert_shows_the_line(shown.image)
    lines = one.lines()
    assert lines[top - 1 : top + shown.size[1] + 1] == [f"agrad> {STATEMENT}", *[""] * shown.size[1], "agrad>"]
    one.enter("6*7", "42")


@pytest.mark.long
def test_pictures_at_the_bottom_of_a_screen_scroll_with_it(terminal):
    one = terminal("kitty")
    one.enter(STATEMENT)
    one.enter(STATEMENT)
    first, second = one.pictures
    assert first.number != second.number
    assert second.row + second.size[1] == 23  # the last row; the toolbar then takes one more
    assert above_toolbar(one.lines()).split("\n")[1:] == [f"agrad> {STATEMENT}", *[""] * 20, "agrad>"]


def braille(statement, columns, rows):
    results = []
    Session().run(statement, results.append)
    return draw(results[-1], columns - 1, min(rows - 4, columns * 3 // 10), False, False).split("\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "variables"),
    [("none", {}), ("kitty", {"TMUX": "/tmp/none,1,0"}), ("kitty", {"NO_COLOR": "1"})],
)
def test_other_terminals_get_braille(terminal, kind, variables):
    one = terminal(kind, variables=variables)
    drawing = braille(STATEMENT, 80, 24)
    one.type(f"{STATEMENT}\r")
    lines = one.see(f"{drawing[-1]}\nagrad>")
    assert one.pictures == []
    assert lines[2 : 2 + len(drawing)] == drawing


@pytest.mark.long
def test_pictures_can_be_turned_off_and_chosen(terminal):
    one = terminal("kitty")
    one.enter("set plots braille")
    assert braille(STATEMENT, 80, 24)[0] in one.enter(STATEMENT)
    one.enter("set plots auto")
    one.enter("clear")
    one.enter(STATEMENT)
    assert one.pictures[-1].number


@pytest.mark.long
def test_the_configuration_turns_them_off(terminal, environment):
    folder = os.path.join(environment["XDG_CONFIG_HOME"], "agrad")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.toml"), "w") as file:
        file.write('plots = "braille"\n')
    one = terminal("kitty")
    assert braille(STATEMENT, 80, 24)[0] in one.enter(STATEMENT)


@pytest.mark.long
def test_a_picture_follows_the_steps_of_a_leaf_in_its_place(terminal):
    one = terminal("kitty", rows=30)
    one.enter("var k = 1")
    one.enter("plot k*x for x in 0..3")
    before = one.pictures[-1]
    one.type("k")
    one.see("agrad> k")
    one.type("\x1b\x1b[A")
    one.wait_for(lambda: one.pictures and one.pictures[-1] != before, "another picture")
    one.see("agrad> k")
    after = one.pictures[-1]
    assert (after.row, after.size) == (before.row, before.size)
    assert after.image.tobytes() != before.image.tobytes()
    assert len(one.pictures) == 1


@pytest.mark.long
def test_no_picture_gets_into_a_transcript(terminal, tmp_path):
    one = terminal("kitty")
    one.enter(STATEMENT)
    one.enter('save "kitty.html"')
    two = terminal("none")
    two.enter(STATEMENT)
    two.enter('save "none.html"')
    saved = [(tmp_path / f"{name}.html").read_text().partition("<!doctype")[2] for name in ("kitty", "none")]
    assert "\x1b" not in saved[0]
    assert saved[0].replace("kitty", "none") == saved[1]


@pytest.mark.long
def test_the_plot_of_a_script_is_a_picture_too(environment, tmp_path):
    (tmp_path / "line.ag").write_text(STATEMENT)
    for kind, pictures in (("none", 0), ("kitty", 1)):
        own = {name: value for name, value in environment.items() if name != "TERM" or kind != "kitty"}
        with Picturing(own, kind, "run", "line.ag", folder=tmp_path) as one:
            with pytest.raises(AssertionError, match="it has ended"):
                one.wait("something that never comes")
            assert len(one.pictures) == pictures
