"""`agrad examples`: the programs that --help mentions, which are installed with agrad, listed and copied."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

import agrad
from agrad.cli.arguments import completions
from agrad.cli.data.examples import shipped
from agrad.cli.main import Command, unknown


def _names() -> dict[str, str]:
    """The names of the examples, each with what it shows."""
    return {name: _told(path) for name, path in _listed().items()}


@click.command("examples", cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=completions(_names))
@click.option("--all", "every", is_flag=True, help="Copy all examples.")
@click.option("--to", "folder", default="examples", show_default=True, metavar="FOLDER", help="Where to copy them.")
@click.pass_context
def command(context: click.Context, names: tuple[str, ...], every: bool, folder: str) -> None:
    """List the example programs, or copy those of these NAMEs, with their data, into a folder.

    A file that is there already is never overwritten. The help of other commands uses the examples in the folder
    `examples`.

    \b
    agrad examples
    agrad examples toy points.csv
    agrad examples --all --to agrad_examples
    """
    listed = _listed()
    if not (names or every):
        click.echo("\n".join(agrad.engine.text.align((name, _told(path)) for name, path in listed.items())))
        click.echo("\nagrad examples NAME copies one, with its data; agrad examples --all copies all of them")
        return
    for name in names:
        if name not in listed and name.removesuffix(".ag") not in listed:
            raise unknown("example", name, listed, ["examples"])
    wanted = list(listed.values()) if every else [listed[name.removesuffix(".ag")] for name in names]
    _copy(wanted, Path(folder))


def _listed() -> dict[str, Path]:
    """Each example by the name that it is copied by: programs without their extension, tables of data, and scripts."""
    files = sorted(shipped(), key=lambda path: (path.suffix, path.name))
    return {path.stem if path.suffix == ".ag" else path.name: path for path in files}


def _told(path: Path) -> str:
    """The comment that a program or a script begins with; the columns of a table of data."""
    with path.open(encoding="utf-8") as file:
        first = file.readline().strip()
    return f"data: {first}" if path.suffix == ".csv" else first.lstrip("# ")


def _copy(wanted: Sequence[Path], folder: Path) -> None:
    """Copy files, and the data of programs, which has their name. Raises AgradError of kind `file`."""
    with_data = dict.fromkeys(
        path for program in wanted for path in (program, program.with_suffix(".csv")) if path.is_file()
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in with_data:
            click.echo(_copied(path, folder / path.name))
    except OSError as problem:
        raise agrad.engine.errors.AgradError("file", f"cannot write to {folder}: {problem.strerror}") from None


def _copied(path: Path, target: Path) -> str:
    """Copy one file; what was done. Raises OSError, and AgradError of kind `file` where another file is in the way."""
    data = path.read_bytes()
    if not os.path.lexists(target):
        with agrad.grammar.files.replacing(str(target)) as file:
            file.write(data)
        return str(target)
    if target.is_file() and target.read_bytes() == data:
        return f"{target}   is there already"
    fix = agrad.engine.errors.Hint(f"copy into another folder: agrad examples {path.name} --to {target.parent}2")
    message = f"cannot write {target}: there is another file of that name"
    raise agrad.engine.errors.AgradError("file", message, fixes=[fix])
