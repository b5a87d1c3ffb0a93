"""Tables of texts with what is made of each, as files next to their tests: `>` and `.` begin the lines of a text, `|` its answer.

A line `# ...` says what is below it.
"""

from __future__ import annotations

from pathlib import Path

from corpus import restored


def answers(path: Path | str) -> dict[str, str]:
    """The texts of a file, each with its answer."""
    found: list[list[str]] = []
    for line in Path(path).read_text("utf-8").splitlines():
        sign, text = line[:1], restored(line[2:])
        if sign == ">":
            found.append([text])
        elif sign == ".":
            found[-1][-1] += f"\n{text}"
        elif sign == "|":
            found[-1][1:] = ["\n".join([*found[-1][1:], text])]
    return {text: answer for text, *given in found for answer in given or [""]}


def table(path: Path | str) -> list[tuple[str, ...]]:
    """The rows of a file, whose columns are between bars; lines of `#` are comments."""
    lines = Path(path).read_text("utf-8").splitlines()
    return [tuple(line.split(" | ")) for line in lines if line[:1] != "#"]
