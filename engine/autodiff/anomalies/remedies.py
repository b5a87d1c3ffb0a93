"""What to write instead of an operation that gave inf or nan, or whose derivative did.

The fixes are texts in the language, made from the text of the operation: `sqrt(x)` becomes `sqrt(x + 1e-12)`. There is
none for an operation whose text is not known, as from Python, or whose operand no rule here knows how to keep away.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from agrad.engine.core.facts import Remedy
from agrad.engine.core.graph import Node
from agrad.engine.core.op import OPS, Op
from agrad.engine.errors import Hint
from agrad.engine.text import divided, is_balanced, without_brackets

_CALL = re.compile(r"\(*((?:\w+\.)*)(\w+)\((.*)\)$", re.DOTALL)
_METHOD = re.compile(r"(.+)\.(\w+)\(\)$", re.DOTALL)
_NEAR_ZERO = "1e-12"
LARGE = 1e100  # beyond what any calculation means to reach


def remedies(op: Op, text: str, operands: Sequence[float], is_array: bool = False) -> list[str]:
    """Fixes for an operation with its text and the numbers at which it failed: [] where none is known.

    `is_array`: whether the numbers are entries of arrays.
    """
    text = without_brackets(" ".join(text.split()))
    if len(operands) == 2 and op.operator is not None:
        fixes = _of_two(op.operator.sign, text, *operands)
    elif len(operands) == 1 and op.remedy is not None and op.remedy.holds(operands[0]):
        fixes = _of_one(text, op.remedy, is_array)
    else:
        fixes = []
    if not fixes and any(LARGE < abs(x) < math.inf for x in operands):
        return [Hint("numbers that grow without bound in a loop need a smaller step: lr=…, or clip_grad_norm_")]
    return fixes


def in_logarithm(node: Node, order: Sequence[Node]) -> list[str]:
    """What to write instead of the logarithm of a sum of exponentials, of which a node is one: `softplus(x)`."""
    text = node.origin.text if node.op is OPS["exp"] and node.origin is not None else ""
    called = _CALL.match(without_brackets(text))
    users = [one for one in order if node in one.inputs]
    if called is None or not is_balanced(called[3]) or len(users) != 1 or users[0].op is None:
        return []
    first = users[0]
    logs = [one for one in order if one.op is OPS["log"] and one.inputs[0] is first]
    if first.op is OPS["log1p"] or (logs and first.op is OPS["add"] and 1.0 in first.inputs):
        return [f"softplus({called[3]})   is log(1 + exp({called[3]})), without overflow"]
    if logs and first.op is OPS["sum"] and not first.shape:
        return [f"logsumexp({called[3]})   is log(sum(exp({called[3]}))), without overflow"]
    return []


def _of_one(text: str, case: Remedy, is_array: bool) -> list[str]:
    """A function of one number: another function that is the same, or the function of another number."""
    method = _METHOD.match(text)
    if method is not None and is_balanced(method[1]):
        changed = case.operand.format(without_brackets(method[1]))
        return [f"{changed if changed.startswith('clip') else f'({changed})'}.{method[2]}()   {case.does}"]
    called = _CALL.match(text)
    if called is None or not is_balanced(called[3]) or not called[3]:
        return []
    prefix, name, inner = called.groups()
    inside = _CALL.match(inner)
    if name == "log" and inside is not None and is_balanced(inside[3]) and inside[3]:
        op = OPS.get(inside[2])
        if op is not None and op.logarithm:
            return [f"{op.logarithm}({inside[3]})   is the same, and finite"]
    if len(divided(inner)) > 1:
        return []
    shifted = [f"{prefix}{name}({inner} - max({inner}))   is the same, where it is divided by its sum"]
    fixes = [f"{prefix}{name}({case.operand.format(inner)})   {case.does}"]
    return [*shifted, *fixes] if name == "exp" and is_array else fixes


def _of_two(sign: str, text: str, x: float, y: float) -> list[str]:
    """A quotient, a product or a power; of other operators there is none."""
    parts = divided(text, sign)
    if len(parts) < 2:
        return []
    left, right = sign.join(parts[:-1]).strip(), parts[-1].strip()
    if sign == "**":
        return _of_power(without_brackets(parts[0]), sign.join(parts[1:]).strip(), x, y)
    if sign == "*":
        for one, other in ((left, right), (right, left)):
            called = _CALL.match(without_brackets(other))
            if called is not None and called[2] == "log" and is_balanced(called[3]) and called[3] and x * y != x * y:
                return [f"xlogy({without_brackets(one)}, {called[3]})   is 0 where {without_brackets(one)} is 0"]
        return []
    return _of_quotient(text, left, right, x, y) if sign == "/" else []


def _of_power(base: str, exponent: str, x: float, y: float) -> list[str]:
    """A power of 0 whose derivative is infinite, or a root of a negative number: of odd degree there is one."""
    if x == 0.0:
        return [f"clip({base}, {_NEAR_ZERO})**{exponent}   has a base above 0"]
    degree = 1.0 / y if x < 0.0 and y % 1.0 else 0.0
    if round(degree) % 2 == 1 and abs(degree - round(degree)) < 1e-9:
        return [f"sign({base})*abs({base})**{exponent}   is the real root"]
    return []


def _of_quotient(text: str, left: str, right: str, x: float, y: float) -> list[str]:
    """A softmax that is written out, or a division by 0."""
    above, whole = _CALL.match(without_brackets(left)), right.replace("torch.", "")
    if above is not None and above[2] == "exp" and is_balanced(above[3]):
        if whole in (f"exp({above[3]}).sum()", f"sum(exp({above[3]}))"):
            return [f"softmax({above[3]})   is the same, without overflow"]
    elif whole.startswith((f"{left}.sum(", f"sum({left}")) and (x != x or x == y):
        return [Hint(f"softmax(z, …), if {left} is exp(z): it does not overflow, and its sum is not 0")]
    right = without_brackets(right)
    if y or not re.search(r"[^\W\d]", text):  # of numbers alone nothing else is meant
        return []
    if x == 0.0:
        limit = Hint(f"where({right} == 0, c, {text})   is c there: the limit, if there is one")
        return [f"{left}/({right} + {_NEAR_ZERO})   is 0 where {right} is 0", limit]
    return [f"{left}/({right} + {_NEAR_ZERO})   is finite where {right} is 0"]
