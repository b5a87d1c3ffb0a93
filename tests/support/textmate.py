"""TextMate grammars as an editor applies them: line by line, of several patterns the one that matches first.

It has what the grammar of agrad uses, and gives for it what vscode-textmate gives; Python's `re` is in the place of
Oniguruma.
"""

import re
from functools import cache

_compiled = cache(re.compile)


class Grammar:
    def __init__(self, grammar):
        self.grammar = grammar
        self.root = {"patterns": grammar["patterns"]}

    def scopes(self, text):
        """For each character of a text, the innermost scope that the grammar names; None for none."""
        stack, found = [self.root], []
        for line in text.split("\n"):
            found += self._line(f"{line}\n", stack)
        return found[:-1]

    def _line(self, line, stack):
        scopes, place, tried = [stack[-1].get("name")] * len(line), 0, set()
        while (hit := self._first(line, place, stack[-1])) is not None:
            rule, kind, match = hit
            if (place, match.end(), id(rule), kind) in tried:  # it would go on forever
                break
            tried.add((place, match.end(), id(rule), kind))
            if kind == "end":
                stack.pop()
            elif kind == "begin":
                stack.append(rule)
            named = {"0": {"name": rule["name"]}} if "name" in rule else {}
            captures = rule.get({"match": "captures"}.get(kind, f"{kind}Captures"), {})
            for group, scope in (named | captures).items():
                start, end = match.span(int(group))
                scopes[start:end] = [scope["name"]] * (end - start)
            place = match.end()
            inside = stack[-1].get("name")
            scopes[place:] = [inside] * (len(line) - place)
        return scopes

    def _first(self, line, place, rule):
        """The rule that matches first from a place on, with how: `end`, `begin` or `match`."""
        best = None
        for one, kind in ([(rule, "end")] if "end" in rule else []) + self._patterns(rule):
            found = _compiled(one[kind]).search(line, place)
            if found is not None and (best is None or found.start() < best[2].start()):
                best = one, kind, found
        return best

    def _patterns(self, rule):
        """The rules inside a rule, without includes, in their order."""
        found = []
        for one in rule.get("patterns", ()):
            if "include" in one:
                named = self.grammar["repository"][one["include"].removeprefix("#")]
                found += self._patterns(named) if "begin" not in named else [(named, "begin")]
            else:
                found.append((one, "begin" if "begin" in one else "match"))
        return found
