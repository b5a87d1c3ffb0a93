"""`class`: modules and small classes, as PyTorch's users write them."""

import itertools
from contextlib import suppress
from pathlib import Path

from rows import each
from sessions import said

from agrad.engine.errors import AgradError
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

NET = Path(__file__).with_name("network.ag").read_text()


def session(text, depth=0):
    made = Session()
    made.steps.depth = depth
    made.run(text)
    return made


def test_undo_restores_attributes_parameters_and_optimisers():
    made = session(NET + "opt = optim.Adam(net.parameters(), lr=0.1); F.mse_loss(net(x), y).backward()", DEPTH)
    look = "print net.calls, net.training, net.fc1.weight, opt.param_groups[0]['lr'], len(opt.state)"
    before = said(look, made)
    for text in (
        "net.calls = 9",
        "net.eval()",
        "opt.step()",
        "opt.param_groups[0]['lr'] = 3",
        "net.fc1 = nn.Linear(2, 2)",
    ):
        made.run(text)
        assert said(look, made) != before, text
        made.undo(1)
        assert said(look, made) == before, text


def test_modules_of_two_sessions_are_apart():
    first, second = session(NET), session(NET)
    second.run("net.calls = 5")
    assert said("net.calls", first) == ["0"]


SPECIAL = "repr str len iter getitem contains eq bool float call add neg lt setitem".split()
ODD = ["3", "None", "'a'", "[1]", "lambda: 1", "self", "1/0", "nosuch", "tensor([1, 2])"]
USES = """
a | print a | vars | info a | len(a) | for i in a: print i | a[0] | 1 in a | a == 1 | if a: print 1 | float(a) | a() | a + 1 | -a | a < 1
a[0] = 2 | next(a) | abs(a) | f"{a}" | "%s" % a | [1, 2][a] | {"k": a} | {a: 1} | sorted([a, a]) | sum([a]) | tensor(a) | list(a) | x, y = a
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip


@each("name", sorted(SPECIAL), short=7)
def test_no_special_method_that_returns_what_it_should_not_is_a_fault_of_agrad(name):
    for base, value in itertools.product(["", "(nn.Module)"], ODD):
        made = session(f"class A{base}:\n    def __{name}__(self, *xs): return {value}\na = A()")
        for text in USES:
            with suppress(AgradError):  # anything else fails
                said(text, made)
