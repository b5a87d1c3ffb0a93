"""What other languages and libraries call it: other names of functions, and advice on words that agrad has not.

`elsewhere.txt` has the tables, whose rows are `their words = what it is here`, and says what is in each.
"""

from __future__ import annotations

from agrad.engine.text import beside, tables

TABLES = tables(beside(__file__, "elsewhere.txt"))
RENAMED, RECIPROCALS, OF_DEGREES, WORDS = (TABLES[name] for name in ("renamed", "reciprocals", "degrees", "words"))
READERS = frozenset(TABLES["readers"])
# Functions of school mathematics that have other names here, by what they are called on paper.
SCHOOL = {
    **{name: TABLES["functions"][name] for name in ("ln", "lg", "tg", "arctg")},
    **{name: RENAMED[name] for name in ("arcsin", "arccos", "arctan")},
    **RECIPROCALS,
    **OF_DEGREES,
    "factorial": "gamma",
}

# What a call with so many arguments is: which of these is a name, and how it is written here.
FORMS = {
    **TABLES["forms"],
    **{f"{name}/1": f"- (1/{ours}({{0}}))" for name, ours in RECIPROCALS.items()},
    **{f"{name}/1": f"- {ours}({{term}}*pi/180)" for name, ours in OF_DEGREES.items()},
}
# What other languages and libraries call it; for the advice on an unknown name.
KNOWN_ELSEWHERE = {
    **WORDS,
    **{name: f"{ours}(…)" for name, ours in (RENAMED | TABLES["functions"] | TABLES["readers"]).items()},
    **{name: f"1/{ours}(x)" for name, ours in RECIPROCALS.items()},
    **{name: f"{ours}(x*pi/180)" for name, ours in OF_DEGREES.items()},
    **TABLES["advice"],
    **{name: f"from torch.{module} import {name}   on the line before" for name, module in TABLES["classes"].items()},
}
# Attributes of PyTorch that agrad does not have: why, and what to write.
NO_METHODS = {name: tuple(told.split(" -> ")) for name, told in TABLES["attributes"].items()}
# Modules of Python that are read from an import on; those whose names agrad does not have; the names that modules get.
MODULES, ABSENT = TABLES["modules"], TABLES["absent modules"]
USUAL = TABLES["usual names"] | {name: name for name in ABSENT}
