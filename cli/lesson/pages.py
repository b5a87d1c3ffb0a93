"""The lesson on paper: chapters as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agrad.cli.lesson.chapters import WIDTH, Chapter, Prose, Transcript, wrapped

_MARGIN = "    "


def text(printed: Sequence[Chapter]) -> str:
    """Chapters as text, each with the answers to its tasks at its end."""
    return "\n\n\n".join("\n\n".join(_text(chapter)) for chapter in printed)


def _text(chapter: Chapter) -> Iterator[str]:
    title = f"{chapter.number}. {chapter.title}"
    yield f"{title}\n{'=' * len(title)}"
    for number, step in enumerate(chapter.steps, 1):
        yield from _told(step.told)
        yield wrapped(step.task, WIDTH, f"Task {chapter.number}.{number}  ")
    yield from _told(chapter.end)
    yield "Answers"
    for number, step in enumerate(chapter.steps, 1):
        yield f"{chapter.number}.{number}\n{_indented(step.answer)}\n\n{wrapped(step.right.text, WIDTH)}"


def _told(parts: Sequence[Prose | Transcript]) -> Iterator[str]:
    for part in parts:
        yield wrapped(part.text, WIDTH) if isinstance(part, Prose) else _indented(part)


def _indented(transcript: Transcript) -> str:
    lines = [line for typed in transcript for line in (*typed.lines(), *typed.output.splitlines())]
    return "\n".join(f"{_MARGIN}{line}".rstrip() for line in lines)
