"""Lint: the errors of a script that can be found without running it, for `run --check`.

`lint.problems` gives every error of a text with its place, and of the scripts that it loads; `lint.EditedScript` does
the same for one version of a text after the other, and reads again only what changed; `lint.unreadable` has the syntax
errors alone.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
