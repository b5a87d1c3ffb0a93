"""Options that say where to compute: `--on dask`, `--on dask=tcp://scheduler:8786`, `--workers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


class On(NamedTuple):
    """A Dask cluster: the address of its scheduler, or "" for one of processes on this machine, and how many."""

    address: str
    workers: int | None


def cluster_options(function: _F) -> _F:
    """The options. `on` is given to the function as `--on` was typed; `where` reads both."""
    for option in reversed(
        (
            click.option(
                "--on",
                metavar="dask[=ADDRESS]",
                help="Compute on a Dask cluster: at the address of its scheduler, such as tcp://host:8786, or, without "
                "one, of processes on this machine.",
            ),
            click.option(
                "--workers",
                type=click.IntRange(min=1),
                metavar="N",
                help="The number of these processes, of one thread each; the default is the number of cores.",
            ),
        )
    ):
        function = option(function)
    return function


def where(on: str | None, workers: int | None) -> On | None:
    """The cluster that the options ask for; None for this process. Raises click.UsageError."""
    if on is None:
        if workers is not None:
            raise click.UsageError("--workers is for a Dask cluster on this machine: --on dask")
        return None
    name, equals, address = on.partition("=")
    if name != "dask" or bool(equals) != bool(address):
        raise click.UsageError(f"--on takes dask, or dask= and the address of a scheduler, and {on} is neither")
    if address and workers is not None:
        raise click.UsageError(f"--workers is for a Dask cluster on this machine, and {address} has its own workers")
    return On(address, workers)
