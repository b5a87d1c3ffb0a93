"""Making the kernel known to Jupyter."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

NAME = "agrad"


def install(prefix: str | None) -> str:
    """Install the kernel: for this user or, with a prefix, in an environment; the folder. Raises OSError."""
    spec = {
        "argv": [sys.executable, "-m", "agrad.cli.integrations.jupyter", "-f", "{connection_file}"],
        "display_name": "agrad",
        "language": "agrad",
        "interrupt_mode": "signal",
    }
    with TemporaryDirectory() as folder:
        Path(folder, "kernel.json").write_text(json.dumps(spec, indent=1), encoding="utf-8")
        return str(KernelSpecManager().install_kernel_spec(folder, NAME, user=prefix is None, prefix=prefix))


def remove() -> str | None:
    """Remove the kernel; the folder that it was in, None where there is none. Raises OSError."""
    try:
        return str(KernelSpecManager().remove_kernel_spec(NAME))
    except (KeyError, NoSuchKernel):
        return None
