"""Lint: the errors of a script that can be found without running it, for `run --check`.

`lint.problems` gives every error of a text with its place; `files` follows the scripts and data files that it names.
From outside, import `lint.problems` and `files.unreadable`.
"""
