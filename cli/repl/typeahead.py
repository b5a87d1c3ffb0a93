"""Keys that arrive together, as in a paste that the terminal does not mark; and whether some are there already."""

from __future__ import annotations

from select import select

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

_GLANCE, _PAUSE = 0.002, 0.02  # seconds: whether more follows Enter at once; and, in a paste, whether more comes
_KEYS: dict[str, str] = {Keys.ControlM: "\r", Keys.ControlJ: "\n", Keys.ControlI: "\t"}


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


def waits(source: Input) -> bool:
    """Whether keys are there already, before a prompt asks for any."""
    kept = get_typeahead(source)  # which takes them
    store_typeahead(source, kept)
    return bool(kept) or bool(select([source.fileno()], [], [], 0)[0])
