r"""`report`: what a session has found, as a document: what was measured, the formulas, budgets, a fit, the script.

A document is a list of sections, which are the same in HTML, Markdown and LaTeX. A PDF is made of these by LaTeX or, if
that is not installed, by a browser. In LaTeX all texts are escaped, also those of scripts, so that no `\input` in a
string reads a file.
"""

from __future__ import annotations

import os
import os.path
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from html import escape
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from unicodedata import name as name_of

from agrad.engine import inspect
from agrad.engine.autodiff.uncertainty import doubtful, sources
from agrad.engine.core.context import current, require_files
from agrad.engine.core.graph import by_seq
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.interop.notebook import table
from agrad.engine.ops.solvers.fit_quality import Told
from agrad.engine.ops.solvers.least_squares import with_unit
from agrad.engine.text import Grid, in_latex, printable
from agrad.engine.text import beside as beside_module
from agrad.engine.units.quantity import scaled, unit_of
from agrad.engine.values import format_number
from agrad.grammar.commands.plot.command import picture
from agrad.grammar.commands.registry import Call, Session
from agrad.grammar.files import beside, replacing, require_folder, write_text
from agrad.grammar.results import Plot, Printed, text_of
from agrad.grammar.session.saving import data_address, fenced, named, plotted, script
from agrad.grammar.values.lists import parts_of

_MOST = 40  # results and sources, of each of which there is a line; a session with more has loops
_SECONDS = 120  # that LaTeX, or a browser, may take
_LIBRARIES = ("numpy", "scipy")


class Code(NamedTuple):
    """Lines as they were typed."""

    text: str


Part: TypeAlias = str | Grid | Code | Plot
Writer: TypeAlias = "Callable[[str, Sequence[Section], str], None]"


class Section(NamedTuple):
    """A part of a document."""

    title: str
    parts: Sequence[Part]


def save(session: Session, call: Call) -> None:
    """Write the report of a session to the file that `report "r.html"` names. Raises AgradError of kind `file`."""
    place = call.operand(0).span
    try:
        made, path = writer(call.values[0]), beside(call.values[0], None)
        made(path, [*of_session(session), *closing(script(session.record.entries, os.path.dirname(path))[0])], "Report")
    except AgradError as problem:
        problem.labels = problem.labels or [Label(place)]
        raise
    session.emit(Printed(f"wrote {printable(path)}"))


# What a report says


def of_session(session: Session) -> list[Section]:
    """What was measured, the results and the latest fit. Raises AgradError of kind `grad` where there is nothing."""
    known = {name: x for name, x in session.names.items() if isinstance(x, Tensor) and not name.startswith("_")}
    results = {name: x for name, x in known.items() if not x.is_leaf and sources(x)}
    given = session.fit.parameters if session.fit is not None else ()
    fitted = [x for x in given if isinstance(x, Tensor) and sources(x)]
    every = {x.node: x for value in parts_of([*known.values(), *fitted]) for x in sources(value, fitted)}
    behind = {node: every[node] for node in sorted(every, key=by_seq)}
    found = []
    if behind:
        found.append(Section("What was measured", _measured([*behind.values()][:_MOST])))
    if session.fit is not None:
        models = [f"{one.name} ~ {one.model.__name__}" for one in (session.fit, *session.fit.others)]
        found.append(of_fit(models, session.fit.told, fitted, picture(session.fit)))
    found += [_result(name, value) for name, value in [*results.items()][:_MOST]]
    if len(results) > 1:
        with suppress(AgradError):  # of values that were set since, as the section of each says
            together = inspect.budget.joint([*results.values()][:_MOST], [*results][:_MOST])
            found.append(Section("The results together", together.parts()))
    if not found:
        fixes = [Hint("x = 2.0 ± 0.1   makes an uncertain value")]
        raise AgradError("grad", "report: nothing was measured, and nothing fitted", fixes=fixes)
    return found


def of_fit(models: Sequence[str], told: Told, parameters: Sequence[Tensor], plot: Plot) -> Section:
    """A fit: its models, bounds and ties, its parameters, which are correlated, how good it is, and its picture."""
    said = [part for part in told.found.parts() if isinstance(part, str) and part]
    names, together = [x.node.spell() for x in parameters], list[Part]()
    if parameters:
        together += inspect.budget.joint(parameters, names, told.coverage).parts()
    statistics, *intervals = [part for part in told._replace(is_alone=True).parts() if isinstance(part, Grid)]
    shown = Grid([["statistic", "value"], *statistics.rows], [1])
    typed = Code("\n".join([*models, *told.found.conditions()]))
    return Section("The fit", [typed, said[0], *together, *said[1:], shown, *intervals, plot])


def closing(text: str) -> list[Section]:
    """The programs that have computed it, and the script that gives it again."""
    programs = [["agrad", version("agrad")], ["Python", platform.python_version()]]
    for library in _LIBRARIES:
        with suppress(PackageNotFoundError):
            programs.append([library, version(library)])
    programs.append(["system", f"{platform.system()} {platform.machine()}"])
    return [Section("Computed by", [Grid([["program", "version"], *programs])]), Section("The script", [Code(text)])]


def _measured(leaves: list[Tensor]) -> list[Part]:
    """A line for each source, and the correlations that were stated."""
    rows = [["name", "value", "distribution", "dof", "from"]]
    for leaf in leaves:
        known: Any = leaf.node.uncertainty
        text = f"{leaf.size} values" if leaf.shape else text_of(leaf)
        dof = format_number(known.dof, 4) if isfinite(known.dof) else ""
        rows.append([leaf.node.spell(), text, known.distribution.name, dof, _typed(leaf)])
    parts: list[Part] = [Grid(rows, [1, 3])]
    linked = [x for x in leaves if x.node.uncertainty.linked]  # type: ignore[union-attr]
    if linked:
        names = [x.node.spell() for x in linked]
        parts.append("Some of these are correlated:")
        first, *others = [(row[0], *row[3:]) for row in inspect.budget.joint(linked, names).rows()]
        parts.append(Grid([("correlation", *first[1:]), *others], range(1, 1 + sum(x.size for x in linked))))
    return parts


def _typed(value: Tensor) -> str:
    return value.node.origin.text if value.node.origin is not None else ""


def _result(name: str, value: Tensor) -> Section:
    """A result: its formula, and its budget, or that of each entry."""
    parts: list[Part] = [Code(f"{name} = {_typed(value)}")]
    try:
        if value.size == 1:
            parts += inspect.budget.budget(value).parts()
            if (second := doubtful(value)) is not None:
                unit = unit_of(value)
                bias, u = (with_unit(format_number(scaled(x, unit), 2), unit) for x in second)
                parts.append(f"The second order adds a bias of {bias} and u = {u}: the linear result is in doubt.")
        else:
            parts += inspect.budget.joint([value], [name]).parts()
    except AgradError as problem:
        parts.append(f"Its uncertainty is not known: {problem.message}.")
    return Section(name, parts)


# Its forms


def writer(path: str, fix: Callable[[str], str] = 'report "{}"'.format) -> Writer:
    """What writes a document, of sections and a title, to a file, in the form that its ending tells.

    Raises AgradError of kind `file`, with what to type for another file.
    """
    require_files(f"cannot write {path}")
    stem, ending = os.path.splitext(path)
    if ending.lower() not in _FORMS:
        fixes = [fix(f"{printable(stem) or 'report'}{other}") for other in _FORMS]
        raise AgradError("file", f"a report ends in {', '.join(_FORMS)}, and {printable(path)} does not", fixes=fixes)
    require_folder(path)
    return _FORMS[ending.lower()]


def _write_html(path: str, sections: Sequence[Section], title: str) -> None:
    write_text(path, html(sections, title))


def html(sections: Sequence[Section], title: str) -> str:
    """A page for a browser, with pictures in it."""

    def part(one: Part) -> str:
        if isinstance(one, Plot):
            made = plotted(one, ".svg")
            shown = (
                f'<img alt="{escape(named(one))}" src="{data_address("svg+xml", made)}">' if made else _no_picture(one)
            )
            return f"<figure>{shown}</figure>"
        if isinstance(one, Grid):
            head, *rows = one.rows
            return table(rows, head)
        text = escape(printable(one.text if isinstance(one, Code) else one.strip()), quote=False)
        return f"<pre>{text}</pre>" if isinstance(one, Code) else f"<p>{text}</p>".replace("\n", "<br>")

    body = [f"<h1>{escape(title)}</h1>"]
    for section in sections:
        body += [f"<h2>{escape(printable(section.title))}</h2>", *map(part, section.parts)]
    head, _, foot = beside_module(__file__, "page.html").partition("{{body}}")
    return head.replace("{{title}}", escape(title)) + "\n".join(body) + foot


def _write_markdown(path: str, sections: Sequence[Section], title: str) -> None:
    blocks = [f"# {title}"]
    for section in sections:
        blocks += [f"## {printable(section.title)}", *map(_in_markdown, section.parts)]
    write_text(path, "\n\n".join(blocks) + "\n")


def _in_markdown(one: Part) -> str:
    if isinstance(one, Plot):
        made = plotted(one, ".png")
        return f"![{named(one)}]({data_address('png', made)})" if made else _no_picture(one)
    if isinstance(one, Grid):
        head, *rows = [[printable(cell).replace("|", r"\|") for cell in row] for row in one.rows]
        lines = [head, ["---:" if place in one.right else "---" for place in range(len(head))], *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if isinstance(one, Code):
        return fenced(printable(one.text.rstrip("\n")), "agrad")
    return "  \n".join(printable(one.strip()).splitlines())


def _no_picture(plot: Plot) -> str:
    return f"{named(plot)}: not drawn, since matplotlib is not installed"


_PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage{textcomp,graphicx,iftex}
\setlength{\parindent}{0pt}
\setlength{\parskip}{1ex}
"""


def latex(sections: Sequence[Section], title: str, picture: Callable[[Plot], str]) -> str:
    """A document of LaTeX; `picture`: the name of the file into which a plot was drawn, if it was."""

    def part(one: Part) -> str:
        if isinstance(one, Plot):
            name = picture(one)
            return rf"\includegraphics[width=\textwidth]{{{name}}}" if name else in_latex(_no_picture(one))
        if isinstance(one, Grid):
            return one.latex()
        if isinstance(one, Code):
            lines = [in_latex(line).replace(" ", "~") or r"\mbox{}" for line in one.text.rstrip("\n").split("\n")]
            return "{\\small\\ttfamily\\raggedright\n" + "\\\\\n".join(lines) + "\\par}"
        return "\\\\\n".join(map(in_latex, one.strip().splitlines()))

    blocks = [rf"\section*{{{in_latex(title)}}}"]
    for section in sections:
        blocks += [rf"\subsection*{{{in_latex(section.title)}}}", *map(part, section.parts)]
    body = "\n\n".join(blocks)
    return f"{_PREAMBLE}{_declared(body)}\\begin{{document}}\n{body}\n\\end{{document}}\n"


def _declared(text: str) -> str:
    """What the older LaTeX, pdfTeX's, has to be told of characters that it does not know."""
    lines = []
    for sign in sorted({sign for sign in text if sign > "\xff"}):
        words = name_of(sign, "").split()
        is_greek = words[:1] == ["GREEK"] and words[2:3] == ["LETTER"] and len(words) == 4 and words[1] == "SMALL"
        known = rf"\ensuremath{{\{words[3].lower().replace('lamda', 'lambda')}}}" if is_greek else "?"
        lines.append(rf"\DeclareUnicodeCharacter{{{ord(sign):04X}}}{{{known}}}")
    return "\\ifPDFTeX\n" + "\n".join(lines) + "\n\\fi\n" if lines else ""


def _write_latex(path: str, sections: Sequence[Section], title: str) -> None:
    write_text(path, latex(sections, title, _Pictures(os.path.splitext(path)[0])))


class _Pictures:
    """Draws plots into files beside a document."""

    def __init__(self, stem: str) -> None:
        self.stem, self.count = stem, 0

    def __call__(self, plot: Plot) -> str:
        made = plotted(plot, ".pdf")
        if not made:
            return ""
        self.count += 1
        path = f"{self.stem}-{self.count}.pdf"
        with replacing(path) as file:
            file.write(made)
        return os.path.basename(path)


# Programs that make a PDF: the first that is installed. LaTeX is not allowed to start others.
_LATEX = ("lualatex", "xelatex", "pdflatex")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")


def _write_pdf(path: str, sections: Sequence[Section], title: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stem = os.path.join(folder, "report")
        if program := next(filter(None, map(shutil.which, _LATEX)), None):
            _write_latex(f"{stem}.tex", sections, title)
            line = [program, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
        elif program := next(filter(None, map(shutil.which, _BROWSERS)), None):
            _write_html(f"{stem}.html", sections, title)
            line = [program, "--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={folder}/user"]
            line += ["--print-to-pdf=report.pdf", Path(f"{stem}.html").as_uri()]
            if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium does not start for root with its sandbox
                line.insert(1, "--no-sandbox")
        else:
            fixes = [f'report "{printable(os.path.splitext(path)[0])}{other}"' for other in (".html", ".tex")]
            raise AgradError("extra", "a report as PDF needs LaTeX or a browser, and none is installed", fixes=fixes)
        made = _made_by(line, folder)
    with replacing(path) as file:
        file.write(made)


def _made_by(line: list[str], folder: str) -> bytes:
    """What a program writes into report.pdf. Raises AgradError of kind `extra` where it does not."""
    reason = ""
    try:
        with current().limits.lifted():
            done = subprocess.run(
                line, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS, check=False
            )
        said = (done.stdout + done.stderr).decode(errors="replace").splitlines()
        reason = next((one for one in said if one.startswith("!")), said[-1] if said else "")
        return Path(folder, "report.pdf").read_bytes()
    except (OSError, subprocess.TimeoutExpired) as problem:
        what = f"{os.path.basename(line[0])} has not made a PDF of the report"
        notes = [printable(reason or type(problem).__name__)]
        raise AgradError("extra", what, notes=notes) from None


_FORMS: dict[str, Writer] = {
    ".html": _write_html,
    ".md": _write_markdown,
    ".tex": _write_latex,
    ".pdf": _write_pdf,
}
