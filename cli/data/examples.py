"""The example programs that are installed with agrad."""

from __future__ import annotations

from pathlib import Path

# Both in the repository and where agrad is installed, the examples are beside the three floors.
_FOLDER = Path(__file__).resolve().parents[2] / "examples"


def shipped() -> list[Path]:
    """The example programs and their data."""
    return [path for path in _FOLDER.glob("*.*") if path.suffix in (".ag", ".csv", ".py")]


def how_to_copy(path: str) -> list[str]:
    """The command that copies an example to the path that the help texts have for it; none for any other path."""
    names = {file.name for file in shipped()}
    folder, _, name = path.replace("\\", "/").rpartition("/")
    if folder.removeprefix("./") != "examples" or name not in names:
        return []
    return [f"agrad examples {name.removesuffix('.ag')}"]
