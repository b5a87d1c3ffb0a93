"""Whether PyTorch for processors alone can be installed for this Python: `make beside` asks before it installs.

On some systems pip would fetch several GB of CUDA with it. Exit status 0 if it can be installed, else 1, with the reason.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
HOW = "pip takes the wheels for processors alone from a folder or an index that PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL names"


def requirement():
    """The version of PyTorch that the tests run beside, from pyproject.toml."""
    extras = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    (found,) = [line for line in extras["beside"] if line.startswith("torch")]
    return found


def reason(report, problem=""):
    """Why it cannot be installed, by pip's report of what it would install; an empty text if it can."""
    if report is None:
        return f"pip finds no wheel of it: {problem}" if problem else "pip finds no wheel of it"
    names = [item["metadata"]["name"] for item in report["install"]]
    cuda = [name for name in names if name.startswith(("nvidia-", "triton", "cuda-"))]
    return f"pip would install CUDA with it ({len(cuda)} packages); {HOW}" if cuda else ""


def main():
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += ["--only-binary", ":all:", "--disable-pip-version-check", "--report", "-", requirement()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    why = reason(json.loads(done.stdout) if done.returncode == 0 else None, told[-1] if told else "")
    if why:
        python = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
        sys.stdout.write(f"make beside: {requirement()} cannot be installed here for {python}: {why}\n")
        sys.stdout.write("make beside: the tests beside PyTorch were not run\n")
    return bool(why)


if __name__ == "__main__":
    sys.exit(main())
