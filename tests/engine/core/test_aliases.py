"""Values that share their data through `detach`: all show each write, and no backward changes what they show."""

import random

import numpy as np
import pytest
from thinned import thinned

import agrad.engine as ag


def shown(values):
    return [np.array(x.read_only()) for x in values]


def test_a_backward_leaves_a_value_that_was_written_through_an_alias():
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    b = a * 1
    d = b.detach()
    d += a
    assert b.tolist() == d.tolist() == [2, 4]
    b.sum().backward()
    assert b.tolist() == d.tolist() == [2, 4]
    assert a.grad.tolist() == [1, 1]


def test_an_alias_with_a_history_of_its_own_still_shares_its_data():
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    b = a * 1
    d = b.detach()
    d += a
    b[0] = 9
    assert b.tolist() == d.tolist() == [9, 4]
    d[1] = 7
    assert b.tolist() == d.tolist() == [9, 7]
    assert b.version == d.version == 3


@pytest.mark.parametrize("data", [2.0, [1.0, 2.0]])
def test_a_value_that_its_own_derivative_reads_is_refused_when_an_alias_was_written(data):
    a = ag.tensor(data, requires_grad=True)
    b = ag.exp(a)
    d = b.detach()
    d += a
    with pytest.raises(ag.AgradError, match="was written to"):
        ag.sum(b).backward()


OPERATIONS = {
    "+= leaf": lambda x, a: x.__iadd__(a),
    "*= 2": lambda x, a: x.__imul__(2),
    "-= value": lambda x, a: x.__isub__(a * 0.5),
    "[0] = 9": lambda x, a: x.__setitem__(0, 9.0),
    "[1] = leaf": lambda x, a: x.__setitem__(1, a[0] * 3),
    "copy_": lambda x, a: x.detach().copy_(5.0),
    "copy_ of a value": lambda x, a: x.detach().copy_(a * 2),
}


@pytest.mark.parametrize("seed", thinned(range(200), 4))
def test_aliases_show_the_same_after_any_writes_and_backwards(seed):
    dice = random.Random(seed)
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    groups = [[a * k] for k in (1, 2)]
    for _ in range(dice.randrange(1, 12)):
        group = dice.choice(groups)
        x = dice.choice(group)
        if dice.random() < 0.4:
            group.append(x.detach())
            continue
        name = dice.choice(sorted(OPERATIONS))
        others = [shown(other) for other in groups if other is not group]
        OPERATIONS[name](x, a)
        for one in shown(group):
            np.testing.assert_array_equal(one, shown([x])[0], name)
        assert str(others) == str([shown(other) for other in groups if other is not group])
        if x.requires_grad and dice.random() < 0.3:
            before = str([shown(other) for other in groups])
            try:
                x.sum().backward()
            except ag.AgradError as error:
                assert error.kind in ("freed", "stale"), error
            assert str([shown(other) for other in groups]) == before
