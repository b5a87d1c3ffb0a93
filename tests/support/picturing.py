"""A terminal that shows pictures: by kitty's protocol, that of iTerm2, or sixel; and what it shows."""

import re
from base64 import b64decode
from io import BytesIO
from typing import NamedTuple

import numpy as np
from PIL import Image
from screens import Terminal

_SEQUENCE = re.compile(
    rb"\x1b_G(?P<kitty>[^;\x1b]*);?(?P<data>[^\x1b]*)\x1b\\"
    rb"|\x1b\]1337;File=(?P<iterm>[^:]*):(?P<file>[^\x07]*)\x07"
    rb"|\x1bP(?P<sixel>[^\x1b]*)\x1b\\"
    rb"|\x1b(?P<question>\[16t|\[\?2;1;0S|\]11;\?\x1b\\|\[c)"
)
_BEGUN = re.compile(rb"\x1b(?:_[^\x1b]*|\][^\x07\x1b]*|P[^\x1b]*|\[[\d;?]*)?\x1b?$")
# By what each says of itself in the environment, and in its answers.
VARIABLES = {
    "kitty": {"TERM": "xterm-kitty"},
    "iterm2": {"TERM_PROGRAM": "iTerm.app"},
    "sixel": {},
    "window of kitty": {"KITTY_WINDOW_ID": "1"},
    "none": {},
}
_CELL = 8, 16


class Shown(NamedTuple):
    """A picture at a place of the screen, in characters; `number` is kitty's."""

    row: int
    column: int
    size: tuple
    image: Image.Image
    number: str = ""


class Picturing(Terminal):
    """A terminal with pictures. `asked` holds the questions that came, `pictures` what is shown.

    `typed` is typed before the answer to the last question, and `mute` terminals answer none.
    """

    def __init__(self, environment, kind, *arguments, typed="", mute=False, background=(255, 255, 255), **how):
        self.kind, self.typed, self.mute, self.background = kind, typed, mute, background
        self.asked, self.pictures, self._rest, self._pieces = [], [], b"", b""
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
        if found["question"] is not None:
            self._answer(found["question"].decode())
        elif found["kitty"] is not None:
            self._kitty(dict(part.split("=") for part in found["kitty"].decode().split(",")), found["data"])
        elif found["iterm"] is not None:
            told = dict(part.split("=") for part in found["iterm"].decode().split(";"))
            image = b64decode(found["file"])
            assert len(image) == int(told["size"])
            assert told["inline"] == "1"
            self._show(Image.open(BytesIO(image)), (int(told["width"]), int(told["height"])))
        else:
            image = unsixel(found["sixel"].decode(), self.background)
            self._show(image, (-(-image.width // _CELL[0]), -(-image.height // _CELL[1])))

    def _answer(self, question):
        self.asked.append(question)
        if self.mute:
            return
        if question == "[16t":
            self.type(f"\x1b[6;{_CELL[1]};{_CELL[0]}t")
        elif question == "]11;?\x1b\\":
            self.type(
                "\x1b]11;rgb:{:02x}{:02x}/{:02x}{:02x}/{:02x}{:02x}\x1b\\".format(
                    *(c for c in self.background for _ in "12")
                )
            )
        elif question == "[c":
            self.type(self.typed)
            self.type(f"\x1b[?62;{'4;' if self.kind == 'sixel' else ''}22c")

    def _kitty(self, keys, data):
        if keys.get("a") == "q":
            self.asked.append("kitty")
            if "kitty" in self.kind and not self.mute:
                self.type(f"\x1b_Gi={keys['i']};OK\x1b\\")
        elif keys.get("a") == "d":
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


def unsixel(text, background):
    """The picture that a text in sixel describes, with all that it does not draw transparent."""
    head, _, body = text.partition("q")
    assert head.split(";")[1] == "1"  # what is not drawn stays as it is
    _, _, width, height = map(int, re.match(r'"(\d+);(\d+);(\d+);(\d+)', body).groups())
    pixels = np.zeros((height + 6, width, 4), np.uint8)
    colours, colour, column, row = {}, None, 0, 0
    for token in re.finditer(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|([$-])", body):
        number, red, green, blue, times, repeated, sign, control = token.groups()
        if number is not None:
            if red is not None:
                colours[number] = [round(int(part) * 255 / 100) for part in (red, green, blue)] + [255]
            colour = colours[number]
        elif control is not None:
            column, row = 0, row + 6 * (control == "-")
        else:
            times, bits = int(times or 1), ord(repeated or sign) - 63
            for bit in range(6):
                if bits >> bit & 1:
                    pixels[row + bit, column : column + times] = colour
            column += times
            assert column <= width
    assert not pixels[height:].any()
    return Image.fromarray(pixels[:height], "RGBA")
