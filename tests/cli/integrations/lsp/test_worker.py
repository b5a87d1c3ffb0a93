"""The process that works beside the server."""

import os
from queue import Queue

import pytest
from rows import each

from agrad.cli.integrations.lsp.jobs import Worker, check


@pytest.fixture
def answers():
    return Queue()


@pytest.fixture
def opener(answers):
    """A worker that opens files: one that is a pipe waits until somebody writes."""
    worker = Worker(os.open, answers.put)
    yield worker
    worker.stop()


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return str(tmp_path / "pipe")


def test_a_long_question_does_not_wait_for_the_answer_to_another(opener, answers, pipe):
    opener.ask(pipe, os.O_RDONLY)
    for letter in "abc":
        opener.ask(1_000_000 * letter, os.O_RDONLY)  # more than a pipe between processes takes
    with open(pipe, "w"):
        assert isinstance(answers.get(timeout=60), int)


def test_of_several_questions_about_the_same_the_latest_is_answered(opener, answers, pipe, tmp_path):
    opener.ask(pipe, os.O_RDONLY)
    opener.ask(str(tmp_path / "new"), os.O_RDONLY)
    opener.ask(str(tmp_path / "new"), os.O_CREAT)
    with open(pipe, "w"):
        assert [isinstance(answers.get(timeout=60), int) for _ in range(2)] == [True, True]
    assert (tmp_path / "new").exists()


def test_a_worker_that_was_stopped_begins_again(opener, answers, pipe, tmp_path):
    opener.ask(pipe, os.O_RDONLY)
    opener.stop()
    opener.ask(str(tmp_path), os.O_RDONLY)
    assert isinstance(answers.get(timeout=60), int)


def test_a_worker_goes_on_after_a_question_that_it_cannot_answer(opener, answers, tmp_path, capfd):
    for wrong in ("\0", str(tmp_path / "not there")):
        opener.ask(wrong, os.O_RDONLY)
    opener.ask(str(tmp_path), os.O_RDONLY)
    assert isinstance(answers.get(timeout=60), int)
    assert "embedded null" in capfd.readouterr().err
    assert answers.empty()


@each("path", ["a\0b.ag", "\ud800.ag", "é.ag"])
def test_a_script_of_any_name_is_checked(path):
    assert [one.message.partition("\n")[0] for one in check("uri", 1, path, "x = y\n").found] == ["y has no value"]
