"""What is probably meant by a command line with a word too many: a fix has every word that was typed."""

from __future__ import annotations

import os
import re

import click

from agrad.cli.arguments import NAME, Line, binding
from agrad.cli.main import Wrong
from agrad.grammar.session.inputs import open_names

_NAMES = r"[\w,]+"
_OPTION = "[-–—]*([^\\W\\d][\\w-]*)"
_VALUE = rf"({NAME}?)\s*(?:(?:==|:=|:)\s*(\S.*)|([\d.]+(?:e[-+]?\d+)?))"


def slip(line: Line, data: int = -1) -> Wrong:
    """The error for several expressions where one is expected; `data` is the place of a file among them."""
    options = [name for parameter in click.get_current_context().command.params for name in parameter.opts]
    given = {name for word in line.words if (name := binding(word)[0])}
    loose = [place for place in line.places if place != data and not binding(line.words[place])[0]]
    main = next((place for place in loose if not re.fullmatch(f"{_VALUE}|[-–—]{_OPTION}", line.words[place])), loose[0])
    names = set(open_names(line.words[main]))
    for place in loose:
        word = line.words[place]
        behind = "".join(line.words[place + 1 : place + 2])
        is_name = word.lstrip("-") in names | given and not re.fullmatch(_NAMES, behind)
        if not is_name and (meant := _options(word, options)):
            return Wrong(f"no such option {word}", *(line.changed({place: [one]}) for one in meant))
        if place == main:
            continue
        # `-d x`: alone, `-d` could be an expression
        if word == "-d" and "--wrt" in options and not is_name and re.fullmatch(_NAMES, behind):
            return Wrong(f"no such option {word}", line.changed({place: ["--wrt"]}))
        if word.startswith("-D"):
            fix = line.changed({place: [word[2:]] if word[2:] else []})
            return Wrong("no such option -D: values follow as they are", fix)
        if line.words[place - 2 : place - 1] == ["--wrt"] and re.fullmatch(_NAMES, word):
            both = f"{line.words[place - 1].rstrip(',')},{word.lstrip(',')}"
            return Wrong("commas separate the names of --wrt", line.joined([place - 1, place], both))
        found = re.fullmatch(_VALUE, word)
        if found and found[1] in names - given and word not in names:
            value = f"{found[1]}={found[2] or found[3]}"
            fix = line.changed({place: ["-D", value] if "-D" in options else [value]})
            return Wrong(f"{word} is not NAME=VALUE", fix)
        left, equals, _ = word.partition("=")
        if equals and not re.search(r"==|[!<>~(]", word):
            return Wrong(f"{word} is not NAME=VALUE: {left.strip() or 'nothing'} is not a name")
    return _quoted(line, loose, data >= 0)


def _options(word: str, options: list[str]) -> list[str]:
    """The options that a word may stand for: `-wrt`, `wrt`, or `-w`."""
    found = re.fullmatch(_OPTION, word)
    if not found or word in options:
        return []
    if re.fullmatch("-[a-z]", word):
        return [one for one in options if one.startswith(f"-{word}")]
    return [f"--{found[1]}"] if f"--{found[1]}" in options else []


def _quoted(line: Line, loose: list[int], has_data: bool) -> Wrong:
    """The error for an expression in several words, with `*` for the files that a shell put in its place."""
    words, files = [line.words[place] for place in loose], {name for name in os.listdir() if name[0] != "."}
    for first in range(len(words)):
        if files and set(words[first : first + len(files)]) == files:
            words[first : first + len(files)] = ["*"]
    what = "one expression and one file" if has_data else "one expression at a time"
    return Wrong(f"{what}; if this is one, quote it", line.joined(loose, " ".join(words)))
