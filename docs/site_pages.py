"""What MkDocs asks before it builds a page: mkdocs.yml names this file.

The documents are written for GitHub, from where their links lead to files of the repository. On the site, some of these
files are pages, too; and Python-Markdown, which MkDocs uses, wants a few things to be written otherwise.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
# Pages whose sources are not in docs/.
ELSEWHERE = {
    "index.md": "README.md",
    "results.md": "bench/results.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
_CODE = re.compile(r"(^ *```.*?^ *```$|``.*?``|`[^`]*`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]\\]|\\.|`[^`]*`)*)\]\((?P<target>[^()\s]+)\)")
_PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="(?P<dark>[^"]*)">\s*'
    r'<img src="(?P<light>[^"]*)" alt="(?P<alt>[^"]*)">\s*</picture>'
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages whose sources are elsewhere."""
    for name, source in ELSEWHERE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """A document as Python-Markdown takes it."""
    name = page.file.src_uri
    source = ELSEWHERE.get(name, f"docs/{name}")
    return prepared(markdown, source)


def prepared(text: str, source: str) -> str:
    """The text of a document, whose path in the repository is `source`, for Python-Markdown."""
    text = _PICTURE.sub(_two_pictures, text)
    parts = _CODE.split(text)
    for place in range(0, len(parts), 2):  # what is between the pieces of code
        parts[place] = _LINK.sub(lambda link: _leading(link, source), parts[place])
    return _lists("".join(parts)).replace("<details>", "<details markdown>")


def _two_pictures(found: re.Match[str]) -> str:
    """A picture for each of the two themes."""
    return "\n".join(f"![{found['alt']}]({posixpath.basename(found[x])}#only-{x})" for x in ("light", "dark"))


def _leading(link: re.Match[str], source: str) -> str:
    """A link as it leads to a page of the site; the text alone where the site has no such page."""
    target, hash_sign, anchor = link["target"].partition("#")
    if not target or ":" in target:
        return link[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    pages = {place: name for name, place in ELSEWHERE.items()}
    name = pages.get(path) or (path.removeprefix("docs/") if re.fullmatch(r"docs/\w+\.md", path) else None)
    return link["text"] if name is None else f"[{link['text']}]({name}{hash_sign}{anchor})"


def _lists(text: str) -> str:
    """Lists as Python-Markdown reads them: one in another is indented by four, and each begins behind an empty line."""
    lines: list[str] = []
    code, before = False, ""
    for line in text.split("\n"):
        code ^= line.lstrip().startswith("```")
        item = re.match(r"( *)([*-]|1\.) ", line)
        if not code and item:
            line = " " * (2 * len(item[1])) + line.lstrip()
            if before and not re.match(r" *([*-]|\d+\.) | +\S", before):
                lines.append("")
        lines.append(line)
        before = line
    return "\n".join(lines)
