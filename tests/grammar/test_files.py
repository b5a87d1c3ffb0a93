"""Writing a file: whole or not at all, and in plain words why not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar import files
from agrad.grammar.files import replacing, write_text


def refused(path: object, text: str = "new") -> str:
    with pytest.raises(AgradError) as caught:
        write_text(str(path), text)
    assert caught.value.kind == "file"
    return caught.value.message


def test_a_file_has_the_text_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_text(str(tmp_path / "π.txt"), "a\nβ\n")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("π.txt", "a\nβ\n".encode())]


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes_the_same_file(tmp_path: Path) -> None:
    code = "import os; from agrad.grammar.files import replacing\n"
    code += f"with replacing({str(tmp_path / 'a.csv')!r}) as file: file.write(b'half'); file.flush(); os._exit(9)"
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
        assert len(list(tmp_path.iterdir())) == 1
    (tmp_path / ".a.csv.agrad-mine.tmp").write_text("not ours")
    (tmp_path / ".b.csv.agrad-0123456789ab.tmp").write_text("of another file")
    write_text(str(tmp_path / "a.csv"), "whole")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"a.csv", ".a.csv.agrad-mine.tmp", ".b.csv.agrad-0123456789ab.tmp"}


def test_a_file_that_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "a.csv")
    with replacing(path) as outer:
        outer.write(b"outer")
        write_text(path, "inner")
        assert (tmp_path / "a.csv").read_text() == "inner"
    assert (tmp_path / "a.csv").read_text() == "outer"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["x" * 255, "é" * 120])
def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path, name: str) -> None:
    write_text(str(tmp_path / name), "text")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_that_was_there_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "d.dot"
    path.write_text("a longer text than the new one")
    path.chmod(0o640)
    write_text(str(path), "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    write_text(str(tmp_path / "new"), "new")
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_a_relative_path_and_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("here.txt", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    write_text("~/home.txt", "2")
    assert [(tmp_path / name).read_text() for name in ("here.txt", "home.txt")] == ["1", "2"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(str(tmp_path / "link.txt"), "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_half_of_a_surrogate_pair_is_written_as_its_escape(tmp_path: Path) -> None:
    write_text(str(tmp_path / "a"), "\ud800")
    assert (tmp_path / "a").read_bytes() == b"\\ud800"


@pytest.mark.parametrize("stage", ["replace", "chmod"])
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, problem: BaseException
) -> None:
    path = tmp_path / "d.dot"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr(files.os, stage, fail)
    if isinstance(problem, OSError):
        assert refused(path) == f"cannot write {path}: no space left on device"
    else:
        with pytest.raises(KeyboardInterrupt):
            write_text(str(path), "new")
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("d.dot", "old")]


def test_why_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    assert refused(tmp_path) == f"cannot write {tmp_path}: it is a folder"
    assert refused(tmp_path / "no" / "d") == f"cannot write {tmp_path}/no/d: there is no folder {tmp_path}/no"
    assert refused(tmp_path / "file" / "d") == f"cannot write {tmp_path}/file/d: {tmp_path}/file is not a folder"
    assert refused(os.devnull) == f"cannot write {os.devnull}: it is not a regular file"
    assert refused(tmp_path / ("a" * 300)).endswith("file name too long")
    assert refused("") == "cannot write to a file without a name"
    for path in (f"{tmp_path}/", f"{tmp_path}/a\0b", f"{tmp_path}/\ud800"):
        assert refused(path) == f"cannot write {path}: that is not the name of a file"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert refused(tmp_path / "d") == f"cannot write {tmp_path}/d: permission denied"
