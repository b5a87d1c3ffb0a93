"""A terminal that shows pictures: by kitty's protocol; and what it shows."""

import re
from base64 import b64decode
from io import BytesIO
from typing import NamedTuple

from PIL import Image
from screens import Terminal

_SEQUENCE = re.compile(rb"\x1b_G(?P<kitty>[^;\x1b]*);?(?P<data>[^\x1b]*)\x1b\\")
_BEGUN = re.compile(rb"\x1b(?:_[^\x1b]*|\][^\x07\x1b]*|P[^\x1b]*|\[[\d;?]*)?\x1b?$")
# By what each says of itself in the environment.
VARIABLES = {"kitty": {"TERM": "xterm-kitty"}, "none": {}}


class Shown(NamedTuple):
    """A picture at a place of the screen, in characters; `number` is kitty's."""

    row: int
    column: int
    size: tuple
    image: Image.Image
    number: str = ""


class Picturing(Terminal):
    """A terminal with pictures; `pictures` is what is shown."""

    def __init__(self, environment, kind, *arguments, **how):
        self.pictures, self._rest, self._pieces = [], b"", b""
        super().__init__(VARIABLES[kind] | environment, *arguments, **how)

    def feed(self, data):
        data, done = self._rest + data, 0
        for found in _SEQUENCE.finditer(data):
            self.stream.feed(data[done : found.start()])
            done = found.end()
            self._take(found)
        begun = _BEGUN.search(data, done)
        end = begun.start() if begun else len(data)
        self.stream.feed(data[done:end])
        self._rest = data[end:]

    def _take(self, found):
        keys, data = dict(part.split("=") for part in found["kitty"].decode().split(",")), found["data"]
        if keys.get("a") == "d":
            self.pictures = [one for one in self.pictures if one.number != keys["i"]]
        else:
            if "a" in keys:
                assert keys["C"] == "1"
                assert keys["q"] == "2"
                self._keys, self._pieces = keys, b""
            assert len(data) <= 4096
            self._pieces += data
            if keys["m"] == "0":
                size = int(self._keys["c"]), int(self._keys["r"])
                self._show(Image.open(BytesIO(b64decode(self._pieces))), size, self._keys["i"])

    def _show(self, image, size, number=""):
        cursor = self.screen.cursor
        assert cursor.y + size[1] < self.screen.lines, "the screen would scroll"
        assert cursor.x + size[0] <= self.screen.columns
        self.pictures.append(Shown(cursor.y, cursor.x, size, image.convert("RGBA"), number))
