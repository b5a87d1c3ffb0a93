"""A numpy that takes seconds to load, in a process of its own: what is told of a statement cannot hide that."""

import os
import subprocess
import sys

SECONDS = 3
_SITE = f"""
import sys, time

class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "numpy":
            time.sleep({SECONDS})

sys.meta_path.insert(0, Slow)
"""


def slow(folder):
    """The variables of the environment with which Python loads numpy so slowly."""
    (folder / "sitecustomize.py").write_text(_SITE)
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))}


def said(folder, text):
    """What a session says to a text, with such a numpy."""
    program = (
        "import sys; from agrad.grammar.session.session import Session; session = Session(); "
        "session.run(sys.argv[1], lambda result: print(result.text(session.settings))); "
        "assert 'numpy' in sys.modules"
    )
    command = [sys.executable, "-c", program, text]
    done = subprocess.run(command, env=os.environ | slow(folder), capture_output=True, text=True, timeout=100)
    return done.stdout + done.stderr
