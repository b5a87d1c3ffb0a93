"""Numbers are never cut inside: of an array that is shortened, each number that is seen is one of its entries."""

import random
import re

from rows import each

from agrad.cli.output import as_text
from agrad.cli.repl.printer import PromptPrinter
from agrad.cli.repl.toolbar import first_that_fits, live_lines
from agrad.engine.inspect.dump import dump
from agrad.engine.inspect.pictures import drawing
from agrad.engine.text import one_line, truncate
from agrad.engine.values import format_number
from agrad.grammar.help.completion import described
from agrad.grammar.prompt.changes import Changes
from agrad.grammar.prompt.live import Live
from agrad.grammar.session.session import Session

# The entries have these digits, and nothing else that is shown has them alone.
DIGITS = "79"
SEEN = re.compile(r"(?<![\w#.])[-+]?[\d.]+(?:e[-+]?\d+)?")


def numbers(chance, count):
    """Numbers of all widths: 7, -79.7, 7.9e-79."""
    found = []
    for _ in range(count):
        digits = "".join(chance.choices(DIGITS, k=chance.randint(1, 10)))
        point = chance.randint(1, len(digits))
        exponent = chance.choice(["", "", f"e{chance.choice('+-')}{''.join(chance.choices(DIGITS, k=2))}"])
        found.append(float(f"{chance.choice('-+')}{digits[:point]}.{digits[point:]}{exponent}"))
    return found


def cut_in(text, entries):
    """The numbers of a text that are made of the digits of the entries, and are none of them."""
    whole = {format_number(entry, precision) for entry in entries for precision in (4, 6, 10, None)}
    seen = [one.removeprefix("+").rstrip(".") for one in SEEN.findall(text)]
    return [one for one in seen if one not in whole and re.fullmatch(r"-?[79.]+(e-?[79]+)?", one)]


def shown(chance, capsys):
    """The entries of some arrays, and each form in which a session shows them, with its width."""
    count = chance.choice([1, 2, 3, 4, 5, 6, 8, 20])
    entries = numbers(chance, 2 * count)
    first, second = ([format_number(entry, None) for entry in part] for part in (entries[:count], entries[count:]))
    session = Session()
    session.settings.width = width = chance.randint(24, 130)
    forms = []
    changes = Changes(session)
    changes.begin()
    text = f"var w = [{', '.join(first)}]\ny = w*[{', '.join(second)}]\ns = sum(y)\nbackward s retain\nt = ({', '.join(first)}, 2)"
    printer = PromptPrinter(session.settings)
    for typed in (text, "w; t; w.grad; vars; info w y t; explain s"):
        session.run(typed, lambda result: forms.append(as_text(result, session.settings, False)) or printer(result))
    forms += [capsys.readouterr().out, changes.line("")]
    made = dump(session.names["s"], "s")
    forms += [made.text(), made.tree(), made.program(), made.dot(), made.mermaid()]
    made.width = 10_000
    forms.append(made.boxes())
    texts = (text for item in drawing(made, 10).items for text in getattr(item, "texts", (item,)))
    forms += [text.text for text in texts if hasattr(text, "text")]
    forms += [described(session.names[name], session) for name in "wyt"]
    live = Live(session)
    forms += [first_that_fits(live_lines(live(typed)), width) for typed in ("w", "w*1", "t")]
    forms += [cut(text, size) for size in range(5, 60) for cut in (truncate, one_line)]
    return entries, width, forms


@each("seed", range(60))
def test_each_number_that_is_seen_is_an_entry(seed, capsys):
    entries, width, forms = shown(random.Random(seed), capsys)
    wrong = [(cut, form) for form in forms for cut in cut_in(form, entries)]
    assert not wrong, f"width {width}"
