"""The constants of physics of `use constants`: `constants.txt` defines them in the language, and says what each is."""

from __future__ import annotations

from agrad.engine.text import beside
from agrad.lazy import rare

TEXT = beside(__file__, "constants.txt")
MEANINGS = dict(rare.re.findall(r"(?m)^(\w+) = .*?  # (.+)$", TEXT))
