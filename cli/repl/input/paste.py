"""Pasted text: without the prompts it was copied with, and recognised where the terminal does not mark it."""

from __future__ import annotations

import re
from select import select

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

# agrad's own prompts, Python's and IPython's; an editor may have cut the space at the end of a line.
_FIRST = re.compile(r"(agrad(?: \d+)?>|>>>|In \[\d+\]:)( |$)")
_MORE = re.compile(r" {2,}\.\.\.>( |$)|\.\.\.( |$)| +\.\.\.:( |$)")
_GLANCE, _PAUSE = 0.002, 0.02  # seconds: whether more follows Enter at once; and, in a paste, whether more comes
_TAB = 4  # columns, which a tab in the margin of a pasted line goes on to
_KEYS: dict[str, str] = {Keys.ControlM: "\r", Keys.ControlJ: "\n", Keys.ControlI: "\t"}


def statements(text: str) -> str:
    """The statements in a pasted text: of a transcript what follows its prompts, else all of it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not any(_FIRST.match(line) for line in lines):
        return _spaced(text)
    typed = [(line, _FIRST.match(line) or _MORE.match(line)) for line in lines]
    return _spaced("\n".join(line[found.end() :] for line, found in typed if found) + "\n" * text.endswith("\n"))


def _spaced(text: str) -> str:
    """A text with spaces for the tabs before its lines, which a prompt would show as ^I."""
    return re.sub(r"(?m)^[ \t]+", lambda margin: margin[0].expandtabs(_TAB), text)


def behind(event: KeyPressEvent) -> str:
    """The text that arrived together with a key: nobody types so fast, so it is the rest of a paste."""
    queue, source = event.app.key_processor.input_queue, event.app.input
    text = ""
    while True:
        while queue:
            character = _KEYS.get(queue[0].key, queue[0].key)
            if len(character) > 1:  # a key that writes nothing, such as Ctrl-D
                return text
            text += character
            queue.popleft()
        if not select([source.fileno()], [], [], _PAUSE if text else _GLANCE)[0]:
            return text
        keys = source.read_keys()
        if not keys:
            return text
        queue.extend(keys)


def put_back(event: KeyPressEvent, text: str) -> None:
    """Let a text that `behind` has taken be typed after all, before anything that comes later."""
    keys = {character: Keys(key) for key, character in _KEYS.items()}
    presses = [KeyPress(keys.get(character, character), character) for character in text]
    event.app.key_processor.input_queue.extendleft(reversed(presses))


def keep(source: Input, data: bytes) -> None:
    """Let bytes that something else has read be typed at the next prompt."""
    presses: list[KeyPress] = []
    parser = Vt100Parser(presses.append)
    parser.feed(data.decode("utf-8", "surrogateescape"))
    parser.flush()
    store_typeahead(source, presses)


def waits(source: Input) -> bool:
    """Whether keys are there already, before a prompt asks for any."""
    kept = get_typeahead(source)  # which takes them
    store_typeahead(source, kept)
    return bool(kept) or bool(select([source.fileno()], [], [], 0)[0])
