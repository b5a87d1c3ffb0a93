"""`set` changes each setting of config.toml, and alone lists them."""

import pytest
from rows import each

from agrad.cli.settings import SETTINGS
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.keywords import SETTABLE


def run(session: Session, text: str) -> str:
    lines = list[str]()
    session.run(text, lambda result: lines.append(result.text(session.settings)))
    return "\n".join(lines)


def session_of_a_terminal() -> tuple[Session, dict[str, object]]:
    """A session beside a terminal that keeps its settings in a dictionary."""
    session = Session()
    session.steps.depth = 9
    values = {name: setting.default for name, setting in SETTINGS.items()}
    session.settings.found, session.settings.changed = values.__getitem__, values.__setitem__
    return session, values


def test_set_has_all_settings_but_limits() -> None:
    assert {*SETTABLE} == {name for name in SETTINGS if not name.startswith("limits.")}


@each("name", SETTABLE)
def test_set_lists_a_setting_as_it_was_typed_until_undo(name: str) -> None:
    session, _ = session_of_a_terminal()
    before = run(session, "set")
    for word in SETTABLE[name]:
        typed = f"set {name} {word}"
        run(session, typed)
        lines = [line for line in run(session, "set").split("\n") if line.startswith(f"set {name} ")]
        assert [line.partition("  ")[0] for line in lines] == [typed]
        run(session, "undo")
        assert run(session, "set") == before


def test_each_value_is_one_that_the_file_takes() -> None:
    session, values = session_of_a_terminal()
    for name, words in SETTABLE.items():
        for word in words:
            run(session, f"set {name} {word}")
            value = getattr(session.settings, name, values[name])
            assert SETTINGS[name].read("full" if value is None else value) == value


@each("typed, fix", [("set colour never", "set color never"), ("set colr never", "set color never")])
def test_a_misspelt_setting_is_corrected(typed: str, fix: str) -> None:
    with pytest.raises(AgradError) as caught:
        run(Session(), typed)
    assert caught.value.fixes == [fix]


def test_a_value_named_set_is_shown() -> None:
    assert run(Session(), "set = 2; set") == "2"
