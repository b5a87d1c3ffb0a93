"""Alt-Up and Alt-Down on the name of a leaf: what they run, and the plot above that follows."""

from __future__ import annotations

import re
import shutil

from prompt_toolkit.application import get_app
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output

from agrad.cli.output.text import DRAWN
from agrad.grammar.prompt.graphs import Stepping
from agrad.grammar.session.session import Session

_PLOT = re.compile(r"\s*(plot|contour|histogram)\b[^\n;]*;?\s*$")


class Step(str):
    """A statement that a key has typed for the user; `left` is the line that is still being edited."""

    left = Document()


class Steps:
    """Runs steps of leaves, and draws the plot again that stands right above the prompt."""

    def __init__(self, session: Session) -> None:
        self.stepping = Stepping(session)
        self.names = session.names
        self._plot = ""  # what was entered last, if it is a plot
        self._columns = 0  # of the terminal, when it was drawn

    def bind(self, bindings: KeyBindings, here: Filter) -> None:
        """Alt-Up and Alt-Down, where the cursor is at the name of a leaf with one entry."""
        on_leaf = here & Condition(lambda: bool(self._name(get_app().current_buffer.document)))

        @bindings.add("escape", "up", filter=on_leaf)
        def _(event: KeyPressEvent) -> None:
            self._leave(event, 1)

        @bindings.add("escape", "down", filter=on_leaf)
        def _(event: KeyPressEvent) -> None:
            self._leave(event, -1)

    def _name(self, document: Document) -> str:
        return self.stepping.leaf(document.text, document.cursor_position)

    def _leave(self, event: KeyPressEvent, direction: int) -> None:
        """Leave the prompt, without a trace on the screen, for a statement: it can then be interrupted as others."""
        document = event.current_buffer.document
        plot = self._plot.strip().rstrip(";")
        text = self.stepping.statement(self._name(document), direction, document.text, plot)
        step = Step(f"{text} {plot};" if plot else text)
        step.left = document
        event.app.erase_when_done = True
        event.app.exit(result=step)

    def begin(self, text: str, output: Output) -> None:
        """A text is about to run: of a step, the plot is taken away, which it draws again in its place."""
        if not isinstance(text, Step):
            found = _PLOT.match(text)
            self._plot = text if found and found[1] not in self.names else ""
        elif self._plot and DRAWN.rows and self._columns == shutil.get_terminal_size().columns:
            output.write_raw(DRAWN.erasing)
            output.cursor_up(DRAWN.rows)
            output.erase_down()
            output.flush()
        self._columns = shutil.get_terminal_size().columns
        DRAWN.rows = 0
