"""Comparisons of random work with the same work done otherwise: each is a claim that some hundred thousand cases try.

A comparison is a function of a random number generator, and gives an iterator: each step of it is a case, which raises
AssertionError where the claim does not hold. The iterator ends after some cases that share what is slow to make.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec

Comparison = Callable[[random.Random], Iterator[None]]

NAMES = {
    "loops": "compiled loops and uncompiled ones",
    "threads": "sessions in threads, and alone",
    "sessions": "a session with another one inside, and alone",
    "interrupts": "a session before a statement that fails, and after a Ctrl-C in its roll-back",
    "processes": "what a process does with random files, and what it may do",
    "python": "programs of the language here, and in CPython",
    "python_scripts": "scripts in Python's reading, and in CPython",
    "python_states": "a session of Python's reading before a statement that failed or was undone, and after it",
    "numpy_programs": "programs of numpy with agrad.numpy, and with NumPy",
    "torch_states": "a session of torch with other statements between its own, which fail or are undone, and without",
    "session_states": "sessions of both readings, and a model of them",
    "torch_reading": "programs of torch in Python's reading, and in plain Python",
    "fixes": "the error of a statement, and that of its fix",
}
if find_spec("torch") is not None:
    NAMES["tensors"] = "programs of tensors here, and in PyTorch"
    NAMES["torch_forms"] = "calls of torch in many forms with agrad.torch, and with PyTorch"
    NAMES["torch_programs"] = "programs of torch with agrad.torch, and with PyTorch"


def comparison(name: str) -> Comparison:
    """The comparison of that name."""
    found: Comparison = import_module(f"comparisons.{name}").cases
    return found
