"""Sessions with all that they answer, as tests/transcripts/sessions has them, one file for what belongs together.

A claim is a line `## ...`; below it stand statements behind `agrad> `, as in transcript.py. `##` alone begins another
session of the same claim. What stands before the first claim is at the beginning of each session, and has its answers there
alone. Each session has a folder of its own; of files there are lines with the signs of command_lines.py:

    = NAME   a file, its lines behind `<`
    w        a file that is written

`python tests/support/typed_sessions.py` writes today's answers into the files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for Python; pytest adds it by itself
from command_lines import alone, files, put
from corpus import lines_of, masked, restored
from transcript import MORE, PROMPT, answers, statements

from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

FOLDER = Path(__file__).parents[1] / "transcripts" / "sessions"
CLAIM = re.compile(r"^##( .*)?\n", re.MULTILINE)


def claims(text: str) -> tuple[str, list[tuple[str, str]]]:
    """What all sessions begin with; and each session with the title of its claim, which is empty if it has that before it."""
    common, *parts = CLAIM.split(text)
    return common, list(zip([title or "" for title in parts[::2]], parts[1::2], strict=True))


def replayed(text: str) -> str:
    """The same sessions with today's answers."""
    common, sessions = claims(text)
    parts = [answered("", common)] if common.strip() else []
    for title, typed in sessions:
        parts += [*[""] * bool(title and parts), f"##{title}", answered(common, typed)]
    return "\n".join(parts) + "\n"


def answered(common: str, text: str) -> str:
    """A session in a folder, without what it has in common with others."""
    with alone() as folder:
        session = Session()
        session.steps.depth, session.record.on = DEPTH, True  # as at the prompt
        session.shows = True, True
        for _ in ran(session, common):
            pass
        return "\n".join(masked(line, folder).rstrip() for line in ran(session, text))


def ran(session: Session, text: str) -> Iterator[str]:
    """The files of a session, and its statements, each with what it does now."""
    head, prompt, typed = text.partition(PROMPT)
    for made in re.split(r"^= ", head, flags=re.MULTILINE)[1:]:
        name, *lines = made.rstrip("\n").split("\n")
        put(Path(name), "".join(f"{restored(line[2:])}\n" for line in lines))
    yield from head.rstrip().splitlines()
    for statement in statements(prompt + typed):
        known = files()
        yield from ((MORE if number else PROMPT) + line for number, line in enumerate(statement.split("\n")))
        yield from answers(session, statement)
        for place, content in files().items():
            if known.get(place) != content:
                yield from lines_of("w", f"{place}\n{content}".removesuffix("\n"))


def main() -> None:
    """Write today's answers into the files."""
    for file in sorted(FOLDER.glob("*.txt")):
        file.write_text(replayed(file.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
