"""The changes that docs/architecture.md shows, applied to a copy of the source."""

import re

CHANGE = re.compile(r"^```diff\n--- (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def changes(markdown):
    """The changes in a document: (file, [(old text, new text), …])."""
    return [(file, [_texts(hunk) for hunk in body.split("@@\n")[1:]]) for file, body in CHANGE.findall(markdown)]


def _texts(hunk):
    """What a hunk replaces, and by what: a line begins with a space, a minus or a plus, as in a patch."""
    lines = hunk.splitlines(keepends=True)
    old = "".join(line[1:] or "\n" for line in lines if not line.startswith("+"))
    return old, "".join(line[1:] or "\n" for line in lines if not line.startswith("-"))


def apply(folder, file, hunks):
    """Change a file of the source in a folder. Each old text must be there once, wherever; without one, add lines."""
    path = folder / file
    text = "\n" + path.read_text(encoding="utf-8") if path.exists() else "\n"
    for old, new in hunks:
        if old:
            assert text.count("\n" + old) == 1, f"{file} has {text.count(old)} times:\n{old}"
            text = text.replace("\n" + old, "\n" + new)
        else:
            text += new
    path.write_text(text[1:], encoding="utf-8")
