"""The prompt: prompt_toolkit with the language's history, colours, completion and line breaks."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter

from prompt_toolkit import PromptSession, filters
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.completion import generate_completions
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, HSplit, Window
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style

from agrad.cli.output import COLOURS, DRAWN, FIXES, as_read
from agrad.cli.repl import plain
from agrad.cli.repl.crash_log import listed
from agrad.cli.repl.editor import Highlighter, Words, history, search_quickly
from agrad.cli.repl.plain import Opening, answered, prompts
from agrad.cli.repl.printer import say
from agrad.cli.repl.toolbar import TOLD, Mistake, SyntaxValidator, Toolbar
from agrad.cli.terminal import coloured, ignored, setting, stop_once
from agrad.cli.terminal.pager import PAGER
from agrad.engine.text import fit, truncate
from agrad.engine.values import LOADING
from agrad.grammar.prompt.changes import Stepping, with_newest
from agrad.grammar.prompt.live import Live
from agrad.grammar.session.session import Session
from agrad.lazy import pattern

_PARTS = {
    "unknown": "underline",
    # The library's own are red on red, as if the bracket were wrong.
    "matching-bracket.cursor": "noinherit bold ansicyan",
    "matching-bracket.other": "noinherit bold ansicyan",
    "auto-suggestion": "ansibrightblack",
    "bottom-toolbar": "noreverse ansibrightblack",
    "validation-toolbar": "noreverse bg:default ansired",
    # The menu brings its own background, so that it does not matter which the terminal has.
    "completion-menu": "bg:ansigray ansiblack",
    "completion-menu.completion.current": "noreverse bg:ansiblue ansiwhite",
    "completion-menu.meta.completion": "bg:ansigray ansiblack",
    "completion-menu.meta.completion.current": "bg:ansiblue ansiwhite",
}
# Without colour everything has the style of the terminal, except a selection, which the library shows reversed.
_BARE = {"bottom-toolbar": "noreverse", "search-toolbar": "nobold", "arg-toolbar": "nobold"}


def prompted(session: Session, vi: bool = False, opening: Opening | None = None) -> Iterator[str]:
    """The typed statements, one at a time, until Ctrl-D, after the opening."""
    opening = opening or Opening()
    FIXES.clear()
    toolbar = Toolbar(session)
    toolbar.live.on = toolbar.live.on and opening.live
    if session.names:  # a script has run, or a session was restored
        toolbar.look()
    steps, untold = Steps(session), TOLD
    prompt = _prompt(session, toolbar, vi, opening, steps)
    opening.show()
    left = Document()
    with ignored():  # at the prompt Ctrl-C is a key like any other
        while True:
            prompt.app.erase_when_done = False
            try:
                text = prompt.prompt(default=left)
            except KeyboardInterrupt:
                left = Document()
                continue
            except EOFError:
                return
            left = text.left if isinstance(text, Step) else Document()
            FIXES.clear()
            if (word := text.strip()) in WORDS and word not in session.names:
                _obey(word, prompt.output)
                continue
            steps.begin(text, prompt.output)
            session.settings.width = shutil.get_terminal_size().columns
            signal.signal(signal.SIGINT, stop_once)
            start, apart = perf_counter(), PAGER.seconds + LOADING.seconds
            looks, live = (setting("edit"), setting("color")), setting("live")
            yield answered(text, session.names)
            if (setting("edit"), setting("color")) != looks:
                vi = setting("edit") == "vi" if setting("edit") != looks[0] else vi
                prompt = _prompt(session, toolbar, vi, opening, steps)
            toolbar.live.on = setting("live") if setting("live") != live else toolbar.live.on
            seconds = perf_counter() - start - (PAGER.seconds + LOADING.seconds - apart)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            toolbar.look(seconds)
            if FIXES and untold:
                untold -= 1
                say("Tab puts the fix into the line" + ", Alt-2 the second one" * (len(FIXES) > 1))


# The words that only a prompt has, with what they do.
WORDS = {
    "sessions": "lists the last sessions",
    "clear": "empties the screen",
    "copy": "puts the last answer on the clipboard",
}
_CLIPBOARD = 74_994  # bytes that terminals take: 100,000 characters of base64, with what is around them


def _obey(word: str, output: Output) -> None:
    """Do what a word of the prompt says."""
    if word == "sessions":
        PAGER.show(fit(listed(), shutil.get_terminal_size().columns))
    elif word == "copy":
        say(copy(DRAWN.answer, output))
    else:
        output.erase_screen()
        output.cursor_goto(0, 0)
        output.flush()


def copy(text: str, output: Output) -> str:
    """Ask the terminal, by the sequence OSC 52, to put a text on the clipboard; what is said of it."""
    data = text.encode()
    if not text:
        return "there is no answer to copy yet"
    if len(data) > _CLIPBOARD or os.environ.get("TERM") == "linux":
        reason = "that is too long for the clipboard" if len(data) > _CLIPBOARD else "this terminal has no clipboard"
        return f"nothing is copied: {reason}"
    output.write_raw(f"\x1b]52;c;{b64encode(data).decode()}\x07")
    output.flush()
    return f"asked the terminal to copy {truncate(' '.join(text.split()), 40)}"


def _prompt(session: Session, toolbar: Toolbar, vi: bool, opening: Opening, steps: Steps) -> PromptSession[str]:
    """The prompt session of prompt_toolkit, with all its parts."""

    def prepare(text: str) -> str:
        return with_newest(as_read(answered(text, session.names)), session)[0]

    colour = coloured(sys.stdout)
    prompt: PromptSession[str] = PromptSession(
        lambda: prompts(session.line)[0],
        prompt_continuation=lambda columns, line, wrapped: " " * columns if wrapped else prompts(session.line)[1],
        multiline=True,
        key_bindings=keys(prepare, toolbar.live, steps, opening, lambda: session.reads_python),
        vi_mode=vi,
        enable_open_in_editor=True,
        enable_suspend=True,
        tempfile_suffix=".ag",
        history=history(),
        enable_history_search=True,
        # Without colour a suggestion looks as if it had been typed.
        auto_suggest=AutoSuggestFromHistory() if colour else None,
        lexer=Highlighter(session, opening.words) if colour else None,
        input_processors=[HighlightMatchingBracketProcessor()] if colour else None,
        color_depth=ColorDepth.DEPTH_4_BIT if colour else ColorDepth.DEPTH_1_BIT,  # the sixteen that a user chose
        style=Style.from_dict(COLOURS | _PARTS if colour else _BARE),
        validator=None if opening.submits else SyntaxValidator(prepare, session),
        validate_while_typing=False,
        completer=Words(session, WORDS | dict(opening.words)),
        complete_while_typing=False,
        bottom_toolbar=toolbar,
    )
    # What is said of a refused line stands right below it, and not at the bottom of a tall terminal.
    is_refused = filters.has_validation_error & ~filters.has_completions & ~filters.is_done
    typed, whole = prompt.layout.current_window, prompt.layout.container
    assert isinstance(whole, HSplit)
    typed.dont_extend_height = is_refused
    whole.children.append(ConditionalContainer(Window(), is_refused))
    search_quickly(prompt.default_buffer)
    return prompt


# The key bindings of the prompt that are not prompt_toolkit's own: lines, margins, and what is pasted.

_STEP = 4  # columns of one indentation
_LEAVES = pattern(r"\s*(return|break|continue|pass)\b")  # nothing of a block follows these
_COMMENT = pattern(r"\s*(#[^'\"]*)?$")


def keys(
    prepare: Callable[[str], str], live: Live, steps: Steps, opening: Opening, by_python: Callable[[], bool]
) -> KeyBindings:
    """Enter, Alt-Enter, Tab and Backspace in indentation, pasting, F2, which turns the live line off and on, and steps.

    `prepare` makes a statement of a text; `opening` says what Enter waits for, `by_python` whether Python is read.
    """
    bindings = KeyBindings()
    typing = filters.has_focus(DEFAULT_BUFFER)

    @bindings.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # an entry of the menu was chosen: nothing else to do
            return
        if (taken := opening.taken(buffer.text)) != buffer.text:
            buffer.document = Document(taken)
        if opening.waits(prepare(buffer.text), by_python()):
            if filters.vi_navigation_mode():  # where the cursor is on a character, not after it
                buffer.cursor_position = len(buffer.text)
            new_line(buffer)
        else:
            buffer.document = Document(buffer.text.rstrip("\n "))
            buffer.validate_and_handle()

    # With the keys of vi, Esc and Enter are two: the second accepts the line, and `o` opens a new one.
    @bindings.add("escape", "enter", filter=typing & filters.emacs_mode)
    def _(event: KeyPressEvent) -> None:
        new_line(event.current_buffer)

    @bindings.add(Keys.BracketedPaste, filter=typing)
    def _(event: KeyPressEvent) -> None:
        text = plain.pasted_statements(event.data)
        event.current_buffer.insert_text(text if "\n" in text.rstrip("\n") else text.rstrip("\n"))

    @bindings.add("escape", filter=typing & filters.has_completions, eager=True)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.cancel_completion()

    @bindings.add("f2", filter=typing)
    def _(event: KeyPressEvent) -> None:
        live.on = not live.on

    steps.bind(bindings, typing & filters.emacs_mode)  # with those of vi, Esc and Up are two
    in_margin = filters.Condition(_in_margin)
    _add_indentation(bindings, typing & in_margin)
    bindings.add("tab", filter=typing & ~in_margin & (filters.vi_insert_mode | filters.emacs_insert_mode))(_complete)
    _add_fixes(bindings, typing)
    return bindings


def _add_fixes(bindings: KeyBindings, here: filters.Filter) -> None:
    """Tab, or Alt-1, Alt-2, …, on a line that is refused or on an empty one after a message, take a fix."""
    for number in range(9):
        there = here & filters.Condition(partial(_is_offered, number))
        for keys in (("escape", str(number + 1)), *[("tab",)] * (number == 0)):
            bindings.add(*keys, filter=there)(partial(_take, number))


def _is_offered(number: int) -> bool:
    return len(_fixes(get_app().current_buffer)) > number


def _fixes(buffer: Buffer) -> Sequence[str]:
    """What can be typed instead of a line that is refused, or, where the line is empty, of the one before."""
    mistake = buffer.validation_error
    if isinstance(mistake, Mistake):
        return mistake.fixes
    return FIXES if not buffer.text.strip() else ()


def _take(number: int, event: KeyPressEvent) -> None:
    """Put a fix into the line; of several lines, in the place of the one that is wrong."""
    buffer = event.current_buffer
    fix, lines = _fixes(buffer)[number], buffer.text.split("\n")
    place = buffer.document.cursor_position_row
    margin = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    lines[place] = margin + fix
    end = len("\n".join(lines[: place + 1]))
    buffer.document = Document("\n".join(lines), end)


def _add_indentation(bindings: KeyBindings, here: filters.Filter) -> None:
    """Tab, Backspace and Shift-Tab, by a step of the indentation."""

    @bindings.add("tab", filter=here)
    def _(event: KeyPressEvent) -> None:
        column = event.current_buffer.document.cursor_position_col
        event.current_buffer.insert_text(" " * (_STEP - column % _STEP))

    for key, at_start in (("backspace", 1), ("s-tab", 0)):  # Backspace joins the line with the one above

        @bindings.add(key, filter=here)
        def _(event: KeyPressEvent, at_start: int = at_start) -> None:
            column = event.current_buffer.document.cursor_position_col
            event.current_buffer.delete_before_cursor((column - 1) % _STEP + 1 if column else at_start)


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


# Alt-Up and Alt-Down on the name of a leaf: what they run, and the plot above that follows.

_PLOT = pattern(r"\s*(plot|contour|histogram)\b[^\n;]*;?\s*$")


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

    def bind(self, bindings: KeyBindings, here: filters.Filter) -> None:
        """Alt-Up and Alt-Down, where the cursor is at the name of a leaf with one entry."""
        on_leaf = here & filters.Condition(lambda: bool(self._name(get_app().current_buffer.document)))

        for key, direction in (("up", 1), ("down", -1)):
            bindings.add("escape", key, filter=on_leaf)(partial(self._leave, direction))

    def _name(self, document: Document) -> str:
        return self.stepping.leaf(document.text, document.cursor_position)

    def _leave(self, direction: int, event: KeyPressEvent) -> None:
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
