"""The prompt: prompt_toolkit with the language's history, colours, completion and line breaks."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.document import Document
from prompt_toolkit.filters import has_completions, has_validation_error, is_done
from prompt_toolkit.layout import ConditionalContainer, HSplit, Window
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.renderer import CPR_Support
from prompt_toolkit.styles import Style

from agrad.cli.output.text import COLOURS
from agrad.cli.repl.completer import Words
from agrad.cli.repl.crash_log import listed
from agrad.cli.repl.highlighter import Highlighter
from agrad.cli.repl.history import history, search_quickly
from agrad.cli.repl.input.dumb import prompts
from agrad.cli.repl.input.keys import keys
from agrad.cli.repl.input.paste import keep, waits
from agrad.cli.repl.input.question_mark import answered
from agrad.cli.repl.input.stepping import Step, Steps
from agrad.cli.repl.opening import Opening
from agrad.cli.repl.toolbar import Toolbar
from agrad.cli.repl.validator import SyntaxValidator
from agrad.cli.terminal.graphics import ASKING
from agrad.cli.terminal.interrupt import ignored, stop_once
from agrad.cli.terminal.pager import PAGER
from agrad.cli.terminal.terminal import coloured
from agrad.engine.text import fit
from agrad.engine.values import LOADING
from agrad.grammar.prompt.graphs import with_newest
from agrad.grammar.session.session import Session

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
    toolbar = Toolbar(session)
    toolbar.live.on = toolbar.live.on and opening.live
    if session.names:  # a script has run, or a session was restored
        toolbar.look()
    steps = Steps(session)
    ahead = False
    prompt = _prompt(session, toolbar, vi, opening, steps, lambda: ahead)
    search_quickly(prompt.default_buffer)
    if opening.greeting:
        click.echo(fit(opening.greeting, shutil.get_terminal_size().columns))
    if told := fit(opening.told, shutil.get_terminal_size().columns):
        click.echo(click.style(told, dim=True) if coloured(sys.stderr) else told, err=True, color=True)
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
            if text.strip() == "sessions" and "sessions" not in session.names:
                PAGER.show(fit(listed(), shutil.get_terminal_size().columns))
                continue
            if text.strip() == "clear" and "clear" not in session.names:
                prompt.output.erase_screen()
                prompt.output.cursor_goto(0, 0)
                prompt.output.flush()
                continue
            steps.begin(text, prompt.output)
            session.settings.width = shutil.get_terminal_size().columns
            signal.signal(signal.SIGINT, stop_once)
            answers = prompt.app.renderer.cpr_support is CPR_Support.SUPPORTED  # it tells where its cursor is
            ASKING.keep = partial(keep, prompt.input) if answers else None
            start, apart = perf_counter(), PAGER.seconds + LOADING.seconds
            yield answered(text, session.names)
            seconds = perf_counter() - start - (PAGER.seconds + LOADING.seconds - apart)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            toolbar.look(seconds)
            ahead = waits(prompt.input)


def _prompt(
    session: Session, toolbar: Toolbar, vi: bool, opening: Opening, steps: Steps, ahead: Callable[[], bool]
) -> PromptSession[str]:
    """The prompt session of prompt_toolkit, with all its parts."""

    def prepare(text: str) -> str:
        return with_newest(answered(text, session.names), session)[0]

    colour = coloured(sys.stdout)
    prompt: PromptSession[str] = PromptSession(
        lambda: prompts(session.line)[0],
        prompt_continuation=lambda columns, line, wrapped: " " * columns if wrapped else prompts(session.line)[1],
        multiline=True,
        key_bindings=keys(prepare, toolbar.live, steps, opening, ahead),
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
        validator=None if opening.submits else SyntaxValidator(prepare),
        validate_while_typing=False,
        completer=Words(session, opening.words),
        complete_while_typing=False,
        bottom_toolbar=toolbar,
    )
    _keep_mistakes_near(prompt)
    return prompt


def _keep_mistakes_near(prompt: PromptSession[str]) -> None:
    """Put what is said of a refused line right below it, and not at the bottom of a tall terminal."""
    is_refused = has_validation_error & ~has_completions & ~is_done
    typed, whole = prompt.layout.current_window, prompt.layout.container
    assert isinstance(whole, HSplit)
    typed.dont_extend_height = is_refused
    whole.children.append(ConditionalContainer(Window(), is_refused))
