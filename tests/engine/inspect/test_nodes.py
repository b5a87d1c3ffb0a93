"""Every operation that was recorded is listed, but for the copies that a derivative makes."""

from rows import each
from samples import function_of, samples

import agrad.engine as ag
from agrad.engine.core.graph import collect
from agrad.engine.inspect.nodes import listed

HIDDEN = {"own", "stop", "depends"}


@each("entry, sample", samples())
def test_each_operation_behind_a_value_is_listed(entry, sample):
    function, xs = function_of(entry, sample)
    y = function(*[ag.tensor(x, requires_grad=True) for x in xs])
    for part in y if isinstance(y, tuple) else (y,):
        node = getattr(part, "node", None)
        recorded = [one for one in collect([node]) if one.op is not None] if node is not None and node.recorded else []
        shown = {id(one) for one in listed(node)} if recorded else set()
        assert {one.op.name for one in recorded if id(one) not in shown} <= HIDDEN
