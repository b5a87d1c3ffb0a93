"""The screens of sessions, as they are pinned in `screens`: at three sizes, and in terminals that show less.

`python tests/support/scenes.py` writes them anew.
"""

import re

import pytest
from rows import each
from scenes import PINNED, SCENES, home, pinned, played, settings

QUICK = {("numbers", "80x24"), ("errors", "80x24")}
# The colours that can be read on a light and on a dark background, and those that bring a background of their own.
READABLE = {"red", "green", "cyan", "magenta", "brightblack"}


@pytest.mark.parametrize(
    ("name", "look"), [pytest.param(*one, marks=[] if one in QUICK else [pytest.mark.long]) for one in settings()]
)
def test_the_screens_of_a_session(name, look, tmp_path):
    expected = pinned(name)[look]
    assert played(name, look, home(str(tmp_path)), str(tmp_path), expected) == expected


def test_each_file_belongs_to_a_scene():
    assert {path.name for path in PINNED.iterdir()} == {f"{name}.txt" for name in SCENES}


@each("name", SCENES)
def test_all_colours_can_be_read_on_light_and_on_dark(name):
    for look, screens in pinned(name).items():
        for screen in screens:
            told = re.findall(r"(?m)^\d+: (.*)$", screen)
            for style in re.findall(r"(?:^|, )([a-z ]+?) ['\"]", "\n".join(told)):
                words, _, background = style.partition(" on ")
                colours = set(words.split()) - {"bold", "italics", "underscore", "reverse"}
                assert background or colours <= READABLE, f"{look}: {style}"
            if look in ("no colour", "dumb"):
                assert not {word for line in told for word in READABLE if re.search(rf"\b{word}\b ['\"]", line)}


@each("name", SCENES)
def test_no_line_is_wider_than_its_screen_and_dumb_screens_have_no_looks(name):
    for look, screens in pinned(name).items():
        columns = int(look.partition("x")[0]) if look[0].isdigit() else 80
        for screen in screens:
            rows = [line for line in screen.split("\n") if line.startswith("|")]
            assert max(map(len, rows)) <= columns + 1
            assert look != "dumb" or len(rows) == len(screen.split("\n"))
            assert look != "only ASCII" or screen.isascii()
