"""Enter: a new line while the statement is not complete, else run it."""

from __future__ import annotations

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from agrad.grammar.parser import needs_more


def enter() -> KeyBindings:
    """The key bindings of the prompt; all others are prompt_toolkit's own."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if not needs_more(buffer.text):
            buffer.validate_and_handle()
            return
        opens_block = buffer.document.current_line_before_cursor.rstrip().endswith(":")
        buffer.newline(copy_margin=True)
        if opens_block:
            buffer.insert_text("    ")

    return keys
