"""Random texts that the grammar allows, and changes of a text that know what its pieces are."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import grammar_table
import mistakes
from lark.grammar import Symbol, Terminal

from agrad.engine.core.op import FUNCTIONS, REQUIRED
from agrad.grammar.elsewhere import RENAMED
from agrad.grammar.runtime import attributes
from agrad.grammar.syntax import keywords, parser

ROOT = Path(__file__).parents[2]
NAMES = "x s W k n E m p y z u v f g i t a b _ ans x.grad y.grad_fn W.T sin pi torch torch.nn np.exp".split()
NUMBERS = "0 1 -1 2 3 0.5 1e-3 1e30 1e308 1_0 inf nan (2) [1,2] (0,1) (-1)".split()
POINTS = sorted({*attributes.METHODS, *FUNCTIONS, *RENAMED, *attributes.ATTRIBUTES, *attributes.NODE_ATTRIBUTES})
CALLED = ["f", "g", *FUNCTIONS, *RENAMED]
KEYWORDS = sorted({name for entry in FUNCTIONS.values() for name in entry.signature.attributes} | {"lr", "gradient"})
TEXTS = ['"a"', "'sum'", '"ij,j->i"', '""', '"\\x41 {s}"']
BROKEN = [*"\"'}{)]([#²\t\\$\x1b", "\n  ", *";=:.", "2x", "é"]

# What a terminal looks like; one that is not here is its own text.
LOOKS = {
    "NUMBER": NUMBERS,
    "STRING": TEXTS,
    "FSTRING_START": ['f"', "f'"],
    "FSTRING_TEXT": ["a ", "{{"],
    "SPEC": [":.2f", ":d", ":>9", ":", ":e", ":c", ":08.3f"],
    "DEBUG": ["="],
    "AUGMENT": ["+=", "-=", "*=", "/=", "**=", "@=", "//=", "%="],
    "COMPARISON": ["==", "!=", "<", "<=", ">", ">="],
    "POWER": ["**", "^"],
    "SUM": ["+", "-"],
    "PRODUCT": ["*", "/", "//", "%", "@"],
    # An operand is more often a name than one of these.
    "TRUE": ["True", "x", "s", "W", "z"],
    "FALSE": ["False", "x", "y", "k", "v"],
    "ELLIPSIS": ["...", "x", "u", "2"],
    "TOPIC": ["sin", "backward", "**", "(x)", "nothing"],
    "FAILS": ["fails"],
}


class Sentences:
    """The rules of agrad.lark, read backwards: from a symbol to a text that is one."""

    def __init__(self) -> None:
        lark = grammar_table.build(Path(keywords.GRAMMAR).read_text("utf-8"))
        self.rules: dict[str, list[list[Symbol]]] = defaultdict(list)
        for rule in lark.rules:
            self.rules[rule.origin.name].append(rule.expansion)
        self.looks = {
            terminal.name: [terminal.pattern.value] for terminal in lark.terminals if terminal.pattern.type == "str"
        } | LOOKS
        self.heights: dict[str, int] = {}
        while len(self.heights) < len(self.rules):
            for name, choices in self.rules.items():
                if found := [height for choice in choices if (height := self.height(choice)) is not None]:
                    self.heights[name] = 1 + min(found)

    def height(self, choice: list[Symbol]) -> int | None:
        """How many rules deep the shallowest text of a rule is; None as long as that is not known."""
        parts = [0 if isinstance(symbol, Terminal) else self.heights.get(symbol.name) for symbol in choice]
        known = [part for part in parts if part is not None]
        return max(known, default=0) if len(known) == len(parts) else None

    def terminals(self, dice: random.Random, name: str, room: int) -> list[str]:
        """The terminals of a random text of a rule; when there is no room left, of a shallow one."""
        choices = self.rules[name]
        if room < self.heights[name]:
            choices = [choice for choice in choices if (self.height(choice) or 0) < self.heights[name]]
        elif name not in ("line", "simple", "atom") and dice.random() < 0.85:
            choices = [min(choices, key=len)]
        found: list[str] = []
        for symbol in dice.choice(choices):
            found += [symbol.name] if isinstance(symbol, Terminal) else self.terminals(dice, symbol.name, room - 1)
        return found

    def text(self, dice: random.Random, name: str, room: int = 24) -> str:
        """A random text of a rule. A name is one that fits its place: behind a point, before a bracket."""
        kinds = self.terminals(dice, name, room)
        out, margin, quote = "", 0, '"'
        for before, kind, behind in zip(["", *kinds], kinds, [*kinds[1:], ""], strict=False):
            if kind in ("_INDENT", "_DEDENT"):
                margin += 1 if kind == "_INDENT" else -1
                out = out.rstrip(" ") + "    " * margin
            elif kind == "_NEWLINE":
                out += "\n" + "    " * margin
            elif kind == "FSTRING_END":
                out += quote + " "
            elif kind == "NAME":
                pool = POINTS if before == "_DOT" else CALLED if behind == "LPAR" else NAMES
                pool = KEYWORDS if behind == "_EQUAL" and before in ("LPAR", "_COMMA") else pool
                out += dice.choice(pool) + " "
            else:
                word = dice.choice(self.looks.get(kind, [kind.lower()]))
                quote = word[-1] if kind == "FSTRING_START" else quote
                out += word + ("" if kind == "FSTRING_START" else " ")
        return out


def fitting(dice: random.Random) -> str:
    """A call of a function with as many operands as it takes."""
    name = dice.choice(sorted(FUNCTIONS))
    signature = FUNCTIONS[name].signature
    parts = [dice.choice(NAMES[:14] + NUMBERS) for _ in signature.operands]
    parts = [f"[{', '.join(parts * 2)}]"] if signature.variadic else parts
    for attribute, default in signature.attributes.items():
        if default is REQUIRED or dice.random() < 0.2:
            parts.append(f"{attribute}={dice.choice(NAMES[:14] + NUMBERS + TEXTS)}")
    return f"{name}({', '.join(parts)})"


def seeds() -> list[str]:
    """Texts to begin with: the corpus, the examples of every function and mistake, and those of the repository."""
    files = [*(ROOT / "tests" / "fuzz" / "corpus").glob("*.ag"), *(ROOT / "examples").glob("*.ag")]
    texts = [path.read_text(encoding="utf-8") for path in sorted(files)]
    texts += [entry.example for entry in FUNCTIONS.values() if entry.example]
    return texts + mistakes.TEXTS


STORE = seeds()
SENTENCES = Sentences()


def cut(text: str) -> list[tuple[str, str]]:
    """A text in the pieces that the language cuts it into, with the kind of each, and what stands between them."""
    pieces, done = [], 0
    for kind, start, end in [*parser.tokens(text), ("", len(text), len(text))]:
        pieces += [("", text[done:start]), (kind, text[start:end])]
        done = end
    return [piece for piece in pieces if piece[1]]


def mutate(text: str, dice: random.Random) -> str:
    """Another text, most often one that the grammar allows if it allowed the first."""
    pieces = cut(text) or [("", "\n")]
    for _ in range(dice.choice((1, 1, 2, 4))):
        place = dice.randrange(len(pieces))
        kind, word = pieces[place]
        if kind in ("name", "number"):
            grown = (SENTENCES.text(dice, "expression", 20), fitting(dice), dice.choice(NAMES), dice.choice(NUMBERS))
            word = dice.choice((*grown, f"({word})", f"[{word}]", f"f({word})", f"{word}.{dice.choice(POINTS)}()"))
        elif "\n" in word:
            lines = (SENTENCES.text(dice, "line"), SENTENCES.text(dice, "simple") + "\n", dice.choice(STORE) + "\n")
            word = "\n" + dice.choice((*lines, fitting(dice) + "\n", "no_grad: ", "time: ", "fails type: "))
        elif kind == "operator" and word in "+-*/**@//%<==!=>=":
            word = dice.choice(["+", "-", "*", "/", "**", "@", "//", "%", "<", "==", "!=", ">="])
        elif kind == "string":
            word = dice.choice([*TEXTS, word, word + word])
        elif dice.random() < 0.2:
            word = dice.choice(
                ["", word * 2, dice.choice(BROKEN), dice.choice(sorted(keywords.RESERVED | keywords.SOFT)), "\n"]
            )
        pieces[place] = ("", word)
    if dice.random() < 0.3:
        pieces.append(("", "\n" + SENTENCES.text(dice, "line")))
    return "".join(piece for _, piece in pieces)
