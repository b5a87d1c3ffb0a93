"""The page of a graph in a browser."""

from pathlib import Path

import browser
import pytest

from agrad.grammar.commands.graphs import drawn
from agrad.grammar.session.session import Session


def started(start, missing):
    """A browser, which is closed at the end; without one, the test is skipped."""
    if missing is not None:
        pytest.skip(missing)
    try:
        made = start()
    except browser.NotStarted as problem:
        pytest.skip(str(problem))
    yield made
    made.close()


def shown_in(page, folder):
    """A function that opens the page of some values of a script."""

    def show(text, *names):
        session = Session()
        session.run(text, lambda result: None)
        html = drawn([session.names[name] for name in names], list(names), "page", session.settings, session=session)
        path = Path(folder / "walk.html")
        path.write_text(html, encoding="utf-8")
        page.open(path)
        return page

    yield show
    problems = page.errors() + page.requests()
    assert not problems, problems
