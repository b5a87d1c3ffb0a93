"""`agrad run --echo`, `--html` and `--svg`: a script as a session shows it."""

import re
import xml.etree.ElementTree as Xml
from html import unescape
from pathlib import Path

import pytest
from transcript import blocks, replayed, statements

README = blocks((Path(__file__).parents[3] / "README.md").read_text("utf-8"))
SCRIPT = """\
# a comment
var x = 2

def f(t):
    u = t**2
    return u

y = f(x)
y
backward y
backward y
print "<b> & \\"quotes\\""
plot t**2 for t in 0..1
x.grad
"""
SHOWN = """\
agrad> # a comment
agrad> var x = 2
agrad> def f(t):
  ...>     u = t**2
  ...>     return u
agrad> y = f(x)
agrad> y
4
agrad> backward y
agrad> backward y
error[freed]: y cannot be differentiated: part of its graph was freed
  session line 4 |     u = t**2
                 |         ^^^^ PowBackward lost its saved values
  session line 8 | backward y
                 | ^^^^^^^^^^ … here
  fix: backward y retain   at line 8, or call f again
  fix: undo   brings it back; then backward y retain
agrad> print "<b> & \\"quotes\\""
<b> & "quotes"
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "s.ag").write_text(SCRIPT, "utf-8")
    return "s.ag"


def test_a_transcript(inside, script):
    out, err, code = inside("run", "--echo", script)
    assert out.startswith(SHOWN)
    assert out.endswith("agrad> x.grad\n4\n")
    assert (err, code) == ("", 1)
    assert out.count("\nagrad> ") == 9


@pytest.mark.parametrize("block", README)
def test_the_transcripts_of_the_readme(inside, tmp_path, block):
    (tmp_path / "s.ag").write_text("\n".join(statements(block)), "utf-8")
    assert inside("run", "--echo", "s.ag")[0] == replayed(block) == block


def test_from_a_pipe(inside):
    assert inside("run", "--echo", "-", given="2*3\nnothing\n") == (
        "agrad> 2*3\n6\nagrad> nothing\nerror[name]: nothing has no value\n"
        "  session line 2 | nothing\n                 | ^^^^^^^\n  fix: give it one: nothing = 1\n",
        "",
        1,
    )
    assert inside("run", "--echo", "-", given="1 +\n2")[2] == 2
    assert inside("run", "--echo", "-", given="1\nquit\n2") == ("agrad> 1\n1\nagrad> quit\n", "", 0)


def test_names_and_arguments_are_there(inside):
    out, _, code = inside("run", "-D", "rate=0.5", "--echo", "-", "one", given="rate\nargs\n")
    assert (out, code) == ("agrad> rate\n0.5\nagrad> args\n('one',)\n", 0)


def test_colours_are_those_of_the_prompt(inside):
    out, _, _ = inside("--color", "always", "run", "--echo", "-", given='var x = "a" # b\nnothing\n')
    lines = out.split("\n")
    assert lines[0] == 'agrad> \x1b[1mvar\x1b[0m x = \x1b[32m"a"\x1b[0m \x1b[90m# b\x1b[0m'
    assert "\x1b[31m\x1b[1merror[name]\x1b[0m: nothing has no value" in out
    assert "                 | \x1b[31m^^^^^^^\x1b[0m" in lines
    assert "\x1b" not in inside("run", "--echo", "-", given="var x = 1\nnothing\n")[0]


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
    assert inside("run", "--svg", "s.svg", "--html", "s.html", "--theme", theme, script) == ("", "", 0)
    svg, html = ((tmp_path / name).read_text("utf-8") for name in ("s.svg", "s.html"))
    Xml.fromstring(svg)
    body = html[html.index('<pre class="page">') + 18 : html.index("</pre>")]
    assert unescape(re.sub(r"<[^>]*>", "", body)).split("\n") == [line.rstrip() for line in shown.split("\n")[:-1]]
    assert texts(svg) == [line.rstrip() for line in shown.split("\n")[:-1]]
    assert ("prefers-color-scheme" in svg) is ("prefers-color-scheme" in html) is (theme == "auto")
    for word in ("http:", "https:", "<script", "<link", "url("):
        assert word not in html
        assert word not in svg.replace("http://www.w3.org/2000/svg", "")


def test_printing_and_drawing(inside, tmp_path):
    out, _, code = inside("run", "--echo", "--svg", "s.svg", "-", given="nothing\n")
    assert (out.splitlines()[0], code) == ("agrad> nothing", 1)
    page = (tmp_path / "s.svg").read_text("utf-8")
    assert inside("run", "--svg", "-", "-", given="nothing\n") == (page, "", 0)


def test_without_colour(inside, tmp_path, script, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert inside("run", "--svg", "s.svg", script)[2] == 0
    assert 'class="red' not in (tmp_path / "s.svg").read_text("utf-8")
    assert inside("--color", "always", "run", "--svg", "s.svg", script)[2] == 0
    assert 'class="red' in (tmp_path / "s.svg").read_text("utf-8")


def test_what_a_script_prints_cannot_break_a_picture(inside, tmp_path):
    code = '"</pre><script>alert(1)</script>\\x1b[2J\\x1b]0;t\\x07\\x1b[31mred\\x1b[0m]]>"'
    given = f"print({code})\n# </text><script>\n"
    assert inside("run", "--svg", "s.svg", "--html", "s.html", "-", given=given)[2] == 0
    svg, html = ((tmp_path / name).read_text("utf-8") for name in ("s.svg", "s.html"))
    assert "<script" not in svg + html
    assert "\x1b" not in svg + html
    Xml.fromstring(svg)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--echo", "--check"], "a transcript shows all answers as text: leave --check out"),
        (["--svg", "s.svg", "--port"], "a transcript shows all answers as text: leave --port out"),
        (["--echo", "-q"], "a transcript shows all answers as text: leave --quiet out"),
        (["--html", "s.html", "--no-files"], "--html and --svg write a file, which --no-files does not allow"),
        (["--theme", "dark"], "--theme gives the colours of --html and --svg: use it with one of them"),
        (["--svg", "s.svg", "--theme", "blue"], "Invalid value for '--theme': 'blue' is not one of"),
    ],
)
def test_wrong_usage(inside, script, arguments, message):
    out, err, code = inside("run", *arguments, script)
    assert (out, code) == ("", 2)
    assert f"Error: {message}" in err


def test_a_transcript_is_not_json(inside, script):
    out, err, code = inside("run", "--echo", "--json", script)
    assert ("a transcript shows all answers as text: leave --json out" in out, err, code) == (True, "", 2)


def test_a_file_that_cannot_be_written(inside, script):
    out, err, code = inside("run", "--svg", "nowhere/s.svg", script)
    assert (out, code) == ("", 1)
    assert err.startswith("error[file]: cannot write nowhere/s.svg: there is no folder ")
