"""Programs of numbers over every operation that has machine code, for the tests of it."""

import math
import struct

from samples import samples_of

from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.symbols import lower
from agrad.engine.core.dispatch import compute
from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Input, Program, Step

inf, nan = math.inf, math.nan
EDGES = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, 0.7, -0.3, 1e-9, -1e-9, 5e-324, -5e-324, 1e-310, -1e-310,
    2.2250738585072014e-308, 1e-300, 1e154, 1e200, -1e200, 1.7976931348623157e308, -1.7976931348623157e308, inf, -inf, nan,
    math.pi, -math.pi / 2, 1e5, 1e22, 20.0, -20.0, 36.5, -37.5, 300.0, -300.0, 709.7, 710.0, -745.0, -746.0, 1023.5, 1024.0, -1075.0,
    0.9999999999999999, 1.0000000000000002, -0.9999999999999999, 27.0, 6.0, 1e16 + 2, 4503599627370497.5,
]  # fmt: skip
# Sums of terms that cancel, and a product with a term that underflows: what is within 4 ulp is the term.
CANCELLING = {"sinc", "sinc_derivative", "logaddexp", "gelu"}
ELSEWHERE = "all any argmax argmin bessel_i bessel_j beta beta_slope beta_mixed comb digamma direction erfinv gamma gcd i0 i1 j0 j1 lbeta lcm lgamma log_softmax "
ELSEWHERE += "lower_middle perm softmax std upper_middle var "
ELSEWHERE += "rgamma reciprocal_gamma_derivative bessel_ive bessel_kve "
ELSEWHERE += "bessel_iv bessel_jv bessel_kv bessel_yv betainc_slope betainc digamma_derivative digamma_difference entr erfcinv gamma_slope gammainc gammaincc log_ndtr logit ndtri normal_hazard hazard_derivative hazard_slope"


def variants():
    """Each operation on numbers, with the attributes of its samples, as (name, operands, attributes)."""
    for name, op in sorted(OPS.items()):
        if op.scalar is None or name in ELSEWHERE.split():
            continue
        count, seen = len(op.signature.operands), []
        for sample in samples_of(op) or ((0.5,) * count,):
            given = sample[-1] if isinstance(sample[-1], dict) else {}
            if {"axis", "axes", "keepdims"} & set(given):  # a number has no axes
                continue
            operands, attrs = op.signature.bind((0.5,) * count, {"on": None} if name == "depends" else given)
            attrs = op.prepare(*operands, **attrs) if op.prepare is not None else attrs
            if attrs not in seen and not attrs.get("digits"):
                seen.append(attrs)
                yield name, count, attrs


VARIANTS = list(variants())


def program_of(steps, inputs, constants=()):
    """All slots of the steps as outputs; a step is (name, slots of operands, attributes)."""
    made = tuple(Step(OPS[name], tuple(slots), attrs, ()) for name, slots, attrs in steps)
    first = inputs + len(constants)
    names = tuple(Input(f"x{i}", ()) for i in range(inputs))
    return Program(names, tuple(constants), made, tuple(range(first, first + len(made))), ())


def calls(name, count, attrs):
    """How many functions of the C library an operation is made of."""
    code = Code(1)
    lower(OPS[name], [code.argument(f"%x{i}") for i in range(count)], attrs)
    return sum("call double @" in line and "@llvm." not in line for line in code.lines)


def rank(x):
    """Where a float stands in the order of all floats."""
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def ulps(found, expected):
    """How many floats lie between two; inf where one is not finite, or a zero has the wrong sign."""
    if found != found or expected != expected:
        return 0 if found != found and expected != expected else inf
    if found == expected == 0.0 or math.isinf(found) or math.isinf(expected):
        return 0 if repr(found) == repr(expected) else inf
    return abs(rank(found) - rank(expected))


def close(found, expected, allowed, name, operands):
    """Within 4 ulp for each call; of the largest term where terms cancel, and of a factor where that underflows."""
    if ulps(found, expected) <= 4 * allowed:
        return True
    ulp = {"logaddexp": math.ulp(max(map(abs, operands)) + 1), "gelu": 5e-324 * abs(operands[0])}
    return name in CANCELLING and abs(found - expected) <= 4 * allowed * ulp.get(name, math.ulp(50.0))


def check_steps(steps, given, found):
    """Each step against eager on what the steps before it gave, so that differences do not add up."""
    slots = [*given, *found]
    for (name, operands, attrs), value in zip(steps, found, strict=True):
        values = tuple(slots[i] for i in operands)
        eager = compute(OPS[name], values, attrs)
        assert close(value, eager, calls(name, len(operands), attrs), name, values), (name, values, value, eager)
