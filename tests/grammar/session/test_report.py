"""`report`: what a document says, in all forms, and what it refuses."""

import os
import re
import shutil
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from refused import refuses
from rows import each
from sessions import said

from agrad.engine.errors import AgradError
from agrad.grammar.session import report
from agrad.grammar.session.session import Session

pytest.importorskip("scipy")

SCRIPT = r"""
V = 4.999 ± 0.0032
I = 19.661e-3 ± 0.0095e-3
phi = 1.04446 ± 0.00075
correlate V I -0.36
R = V/I*cos(phi)
X = V/I*sin(phi)
s = "\\end{verbatim}\\input{/etc/passwd} <b> _x & 5% |"
α = 5 ± 0.1 uniform
v = [R, X]*α
x = [0, 1, 2, 3, 4]
y = [2.1, 1.2, 0.8, 0.4, 0.3]
fit y ~ a*exp(-b*x) over a, b from a=1, b=1
"""


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Session()
    made.record.on = True
    said(SCRIPT, made)
    return made


def written(session, name):
    assert said(f'report "{name}"', session) == [f"wrote {name}"]
    return Path(name).read_text("utf-8")


def test_it_says_what_was_measured_found_and_typed(session):
    text = written(session, "r.md")
    titles = re.findall("^## (.*)", text, re.MULTILINE)
    assert titles == [
        "What was measured", "The fit", "R", "X", "v", "The results together", "Computed by", "The script",
    ]  # fmt: skip
    for line in (
        "| V | 4.9990 ± 0.0032 | normal |  | 4.999 ± 0.0032 |",
        "| α | 5.000 ± 0.058 | uniform |  | 5 ± 0.1 uniform |",
        "| V | 1.000 | -0.360 |",
        "y ~ a*exp(-b*x)",
        "R = V/I*cos(phi)",
        "| phi | line 4 | 1.04446 | 0.00075 | -219.8 | -0.1649 | 65.8 % |",
        "expanded uncertainty U = 0.398   k = 1.96, coverage 0.95",
        "| R | 127.73 | 0.20 | 1.000 | 0.186 |",
    ):
        assert line in text, line
    assert [line for line in text.splitlines() if line.startswith("![")] != []


def test_its_script_gives_the_same_report(session):
    text = written(session, "r.md")
    (script,) = re.findall("## The script\n\n```agrad\n(.*?)\n```", text, re.DOTALL)
    again = Session()
    again.record.on = True
    said(script, again)
    assert written(again, "again.md").split("## The script")[0] == text.split("## The script")[0]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_is_whole_and_has_no_tags_of_scripts(session):
    text, tags = written(session, "r.html"), Tags()
    tags.feed(text)
    assert tags.open == []
    assert "b" not in tags.seen
    assert tags.seen.count("table") >= 6
    assert tags.seen.count("img") == 1


def test_latex_has_only_commands_of_its_own(session):
    text = written(session, "r.tex")
    assert Path("r-1.pdf").read_bytes().startswith(b"%PDF")
    commands = set(re.findall(r"\\([A-Za-z]+)", text))
    own = "documentclass usepackage setlength parindent parskip ifPDFTeX DeclareUnicodeCharacter ensuremath alpha fi begin end"
    own += " section subsection hline small ttfamily raggedright par pm textbackslash textasciitilde includegraphics textwidth"
    own += " textquotedbl"
    assert commands <= set(own.split())
    assert text.count("\\begin{") == text.count("\\end{")
    assert re.sub(r"\\[{}]", "", text).count("{") == re.sub(r"\\[{}]", "", text).count("}")
    assert "\\DeclareUnicodeCharacter{03B1}{\\ensuremath{\\alpha}}" in text


FAKE = """#!/bin/sh
echo "$0" "$@" > {seen}
ls > {listed}
printf '%%PDF-1.5 made' > report.pdf
"""


def program(folder, name, text):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@each("name, source", [("pdflatex", "report.tex"), ("chromium", "report.html")])
def test_a_pdf_is_made_by_what_is_installed(name, source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pdf")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        program(folder / "bin", name, FAKE.format(seen=folder / "seen", listed=folder / "listed"))
        patch.setenv("PATH", f"{folder / 'bin'}:/bin:/usr/bin")
        made = Session()
        made.record.on = True
        said('x = 2 ± 0.1; y = x**2; report "r.pdf"', made)
    assert (folder / "r.pdf").read_bytes() == b"%PDF-1.5 made"
    assert source in (folder / "listed").read_text().split()
    assert ("-no-shell-escape" if name == "pdflatex" else "--headless") in (folder / "seen").read_text()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_makes_a_pdf_of_a_script_beside_the_limit_of_memory(tmp_path):
    text = 'limit memory="1 GB"\nx = 2 ± 0.1; y = x**2; report "r.pdf"\ny = zeros(1e9)\n'
    done = subprocess.run(
        [sys.executable, "-m", "agrad.cli", "run", "-"],
        cwd=tmp_path, input=text, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")
    assert "the limit is 1 GB" in done.stderr


def test_a_program_that_makes_no_pdf_is_told_of(session, tmp_path, monkeypatch):
    program(tmp_path / "bin", "pdflatex", "#!/bin/sh\necho '! Undefined control sequence.'\nexit 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    with pytest.raises(AgradError, match="pdflatex has not made a PDF") as caught:
        said('report "r.pdf"', session)
    assert caught.value.notes == ["! Undefined control sequence."]
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(AgradError, match="needs LaTeX or a browser") as caught:
        said('report "r.pdf"', session)
    assert caught.value.fixes == ['report "r.html"', 'report "r.tex"']
    assert not Path("r.pdf").exists()


def test_a_parameter_that_is_tied_to_a_number_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Session()
    made.record.on = True
    said("x = [0, 1, 2, 3]; y = [2.1, 1.2, 0.8, 0.4]", made)
    said("fit y ~ a + q*x over a tied q = -0.5 from a=1", made)
    assert "q = -0.5" in written(made, "r.md")


def test_what_is_set_since_is_not_said_to_be_known(session):
    said("set V = 5", session)
    text = written(session, "r.md")
    assert "Its uncertainty is not known: R is stale" in text
    assert "## The results together" not in text


@each("typed, message", [
    ('report "r.docx"', "a report ends in .html, .md, .tex, .pdf, and r.docx does not"),
    ('x = 2; report "r.html"', "nothing was measured, and nothing fitted"),
    ('x = 2 ± 0.1; report "nowhere/r.html"', "cannot write nowhere/r.html"),
])  # fmt: skip
def test_what_cannot_be_reported_is_refused(typed, message):
    made = Session()
    made.record.on = True
    with pytest.raises(AgradError, match=re.escape(message)) as caught:
        said(typed, made)
    assert caught.value.labels


def test_access_to_files_may_be_off():
    made = Session()
    made.record.on, made.context.files.on = True, False
    with pytest.raises(AgradError, match="file access is switched off"):
        said('x = 2 ± 0.1; report "r.pdf"', made)


def test_a_report_of_a_fit_has_all_models_and_how_good_they_are(session):
    said("x = [0, 1, 2, 3]; y = normal([1, 2.1, 2.9, 4.2], 0.1); z = normal([2, 1.9, 1, 0.2], 0.1)", session)
    said("fit y ~ a + b*x, z ~ c - b*x over a, b, c in 0..1 from a=1, b=1, c=1 tied d = 2*b", session)
    assert "profile" not in written(session, "r.md").split("The script")[0]
    said("last fit profile coverage 0.9", session)
    text = written(session, "r.md")
    assert "| profile, 90 % | low | high |\n| --- | ---: | ---: |\n| a | " in text
    for part in (
        "y ~ a + b*x\nz ~ c - b*x\nc in 0..1\nd = 2*b\n",
        "c = 1, at its bound",
        "\nd = ",
        "chi2/dof = ",
        "| log\\_likelihood |",
    ):
        assert part.replace("\\_", "_") in text
    refuses(lambda: report.writer("f.xls"), "a report ends in")


def test_a_picture_in_a_page_is_one_of_svg(session):
    from base64 import b64decode

    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', written(session, "r.html"))
    assert ET.fromstring(b64decode(data)).tag.endswith("svg")


def test_paths_that_are_written_are_relative_to_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "of_script").mkdir()
    lines = 'y = (5 ± 0.1)^2; budget y to "b.csv"; var a = 2; b = a*a; export b to "e.c"'
    (tmp_path / "of_script" / "s.ag").write_text(lines.replace("; ", "\n"))
    monkeypatch.chdir(tmp_path)
    Session().run('load "of_script/s.ag"')
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b.csv", "e.c", "of_script"]
