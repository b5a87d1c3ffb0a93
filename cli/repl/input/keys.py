"""The key bindings of the prompt that are not prompt_toolkit's own: lines, margins, and what is pasted."""

from __future__ import annotations

import re
from collections.abc import Callable

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import (
    Condition,
    Filter,
    emacs_insert_mode,
    emacs_mode,
    has_completions,
    has_focus,
    vi_insert_mode,
    vi_navigation_mode,
)
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.completion import generate_completions
from prompt_toolkit.keys import Keys

from agrad.cli.repl.input import paste
from agrad.cli.repl.input.stepping import Steps
from agrad.cli.repl.opening import Opening
from agrad.grammar.prompt.live import Live

_STEP = 4  # columns of one indentation
_LEAVES = re.compile(r"\s*(return|break|continue|pass)\b")  # nothing of a block follows these
_COMMENT = re.compile(r"\s*(#[^'\"]*)?$")


def keys(
    prepare: Callable[[str], str], live: Live, steps: Steps, opening: Opening, ahead: Callable[[], bool]
) -> KeyBindings:
    """Enter, Alt-Enter, Tab and Backspace in indentation, pasting, F2, which turns the live line off and on, and steps.

    `prepare` makes a statement of a text; `opening` says what Enter waits for, `ahead` whether what is read was typed
    while a statement ran.
    """
    bindings = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @bindings.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # an entry of the menu was chosen: nothing else to do
            return
        rest = "" if ahead() else paste.behind(event)
        if rest and not re.search(r"[\r\n]", rest) and not opening.waits(prepare(opening.taken(buffer.text))):
            paste.put_back(event, rest)  # the beginning of the next line
            rest = ""
        if rest:
            buffer.document = Document(paste.statements(f"{buffer.text}\r{rest}"))
        if (taken := opening.taken(buffer.text)) != buffer.text:
            buffer.document = Document(taken)
        if opening.waits(prepare(buffer.text)):
            if vi_navigation_mode():  # where the cursor is on a character, not after it
                buffer.cursor_position = len(buffer.text)
            if not rest:
                new_line(buffer)
        elif not rest or buffer.text.endswith("\n"):
            buffer.document = Document(buffer.text.rstrip("\n "))
            buffer.validate_and_handle()

    # With the keys of vi, Esc and Enter are two: the second accepts the line, and `o` opens a new one.
    @bindings.add("escape", "enter", filter=typing & emacs_mode)
    def _(event: KeyPressEvent) -> None:
        new_line(event.current_buffer)

    @bindings.add(Keys.BracketedPaste, filter=typing)
    def _(event: KeyPressEvent) -> None:
        text = paste.statements(event.data)
        event.current_buffer.insert_text(text if "\n" in text.rstrip("\n") else text.rstrip("\n"))

    @bindings.add("escape", filter=typing & has_completions, eager=True)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.cancel_completion()

    @bindings.add("f2", filter=typing)
    def _(event: KeyPressEvent) -> None:
        live.on = not live.on

    steps.bind(bindings, typing & emacs_mode)  # with those of vi, Esc and Up are two
    in_margin = Condition(_in_margin)
    _add_indentation(bindings, typing & in_margin)
    bindings.add("tab", filter=typing & ~in_margin & (vi_insert_mode | emacs_insert_mode))(_complete)
    return bindings


def _add_indentation(bindings: KeyBindings, here: Filter) -> None:
    """Tab, Backspace and Shift-Tab, by a step of the indentation."""

    @bindings.add("tab", filter=here)
    def _(event: KeyPressEvent) -> None:
        column = event.current_buffer.document.cursor_position_col
        event.current_buffer.insert_text(" " * (_STEP - column % _STEP))

    @bindings.add("backspace", filter=here)
    def _(event: KeyPressEvent) -> None:
        column = event.current_buffer.document.cursor_position_col
        event.current_buffer.delete_before_cursor((column - 1) % _STEP + 1 if column else 1)

    @bindings.add("s-tab", filter=here)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        column = buffer.document.cursor_position_col
        buffer.delete_before_cursor((column - 1) % _STEP + 1 if column else 0)


def _complete(event: KeyPressEvent) -> None:
    """Complete the word, and only then take the keys that came together with Tab."""
    generate_completions(event)  # which begins after this key
    processor = event.app.key_processor
    rest = list(processor.input_queue)
    processor.input_queue.clear()

    async def take() -> None:
        processor.feed_multiple(rest, first=True)
        processor.process_keys()

    if rest:
        event.app.create_background_task(take())  # behind the one that completes: they run in their order


def _in_margin() -> bool:
    """Whether the cursor is in the indentation of a line that is not the first."""
    document = get_app().current_buffer.document
    return document.cursor_position_row > 0 and not document.current_line_before_cursor.strip(" ")


def new_line(buffer: Buffer) -> None:
    """A line break, and the indentation that the new line should have."""
    line = buffer.document.current_line_before_cursor
    margin = len(line) - len(line.lstrip(" "))
    if _COMMENT.sub("", line).endswith(":"):
        margin += _STEP
    elif _LEAVES.match(line):
        margin = max(margin - _STEP, 0)
    buffer.newline(copy_margin=False)
    buffer.insert_text(" " * margin)
