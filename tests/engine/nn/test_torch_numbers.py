"""Modules, losses and optimisers give the numbers of torch 2.13, which are in torch_numbers.json."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch_cases
from rows import each

import agrad.engine as ag

NUMBERS = json.loads(Path(__file__).with_name("torch_numbers.json").read_text())


def differences(found, wanted, path=""):
    """Where two nested lists differ."""
    if isinstance(wanted, str):
        return [] if found == wanted else [f"{path}: {found} is not {wanted}"]
    if isinstance(wanted, dict):
        return [
            x for key in wanted.keys() | found.keys() for x in differences(found[key], wanted[key], f"{path}.{key}")
        ]
    if isinstance(wanted, list):
        if len(found) != len(wanted):
            return [f"{path}: {len(found)} entries, not {len(wanted)}"]
        return [
            x for at, (a, b) in enumerate(zip(found, wanted, strict=True)) for x in differences(a, b, f"{path}[{at}]")
        ]
    return [] if abs(found - wanted) <= 1e-12 * max(1, abs(wanted)) else [f"{path}: {found} is not {wanted}"]


@each("name", torch_cases.CASES)
def test_agrad_gives_the_numbers_of_torch(name):
    assert differences(torch_cases.CASES[name](ag), NUMBERS[name]) == []


def test_every_number_belongs_to_a_case():
    assert NUMBERS.keys() == torch_cases.CASES.keys()


def test_a_difference_is_seen():
    assert differences([1.0, [2.0]], [1.0, [2.1]]) == ["[1][0]: 2.0 is not 2.1"]


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch_gives_these_numbers():
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        for name, function in torch_cases.CASES.items():
            assert differences(function(torch), NUMBERS[name]) == [], name
    finally:
        torch.set_default_dtype(before)
