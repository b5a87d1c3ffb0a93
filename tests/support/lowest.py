"""The lowest versions that pyproject.toml allows of every dependency and extra, as constraints for pip.

`make bounds` runs all tests with them.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def constraints():
    """A line `name==version` for each requirement. Raises ValueError where one has no lower bound."""
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    optional = [line for lines in project["optional-dependencies"].values() for line in lines]
    found = []
    for line in dict.fromkeys([*project["dependencies"], *optional]):
        if line.startswith("agrad[") or "==" in line:  # one version alone has no lower bound
            continue
        bound = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)(?:,<[\w.]+)?", line)
        if bound is None:
            raise ValueError(f"{line} has no lower bound")
        found.append(f"{bound[1]}=={bound[2]}")
    return found


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in constraints()))
