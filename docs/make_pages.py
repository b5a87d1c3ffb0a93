"""Makes the generated pages: python docs/make_pages.py"""

import re
from collections.abc import Callable
from pathlib import Path

from agrad.grammar.help import functions_doc, pytorch_doc

ROOT = Path(__file__).parents[1]


def package_page() -> str:
    """README.md for a package index, where neither its links nor its pictures lead anywhere."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"<picture>.*?</picture>\n\n", "", text, flags=re.DOTALL)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"`\1`", text)


PAGES: dict[str, Callable[[], str]] = {
    "cli/package/README.md": package_page,
    "docs/functions.md": functions_doc.markdown,
    "docs/pytorch.md": pytorch_doc.markdown,
}

if __name__ == "__main__":
    for path, made in PAGES.items():
        (ROOT / path).write_text(made(), encoding="utf-8")
