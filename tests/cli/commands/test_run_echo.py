"""`agrad run --echo` and `--svg`: a script as a session shows it."""

import re
import xml.etree.ElementTree as Xml
from html import unescape
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("echoed.ag").read_text()


@pytest.fixture
def script(tmp_path):
    (tmp_path / "s.ag").write_text(SCRIPT, "utf-8")
    return "s.ag"


def texts(svg):
    """The text in a picture, line by line, and the colours that are used."""
    found = re.findall(r'<text x="([\d.]+)" y="(\d+)" textLength="[\d.]+"( class="[^"]*")?>(.*?)</text>', svg)
    lines = {}
    for x, y, _, text in found:
        line = lines.get(int(y), "")
        lines[int(y)] = line.ljust(round((float(x) - 16) / 8.4)) + unescape(text)
    return [lines.get(30 + 18 * number, "") for number in range((max(lines) - 30) // 18 + 1)]


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_the_pictures_show_the_transcript(inside, tmp_path, script, theme):
    shown = inside("run", "--echo", script)[0]
    assert inside("run", "--svg", "s.svg", "--theme", theme, script) == ("", "", 0)
    svg = (tmp_path / "s.svg").read_text("utf-8")
    Xml.fromstring(svg)
    assert texts(svg) == [line.rstrip() for line in shown.split("\n")[:-1]]
    assert ("prefers-color-scheme" in svg) is (theme == "auto")
    for word in ("http:", "https:", "<script", "<link", "url("):
        assert word not in svg.replace("http://www.w3.org/2000/svg", "")


def test_without_colour(inside, tmp_path, script, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert inside("run", "--svg", "s.svg", script)[2] == 0
    assert 'class="red' not in (tmp_path / "s.svg").read_text("utf-8")
    assert inside("--color", "always", "run", "--svg", "s.svg", script)[2] == 0
    assert 'class="red' in (tmp_path / "s.svg").read_text("utf-8")
