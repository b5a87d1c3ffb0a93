"""A program of NumPy, as plain Python, prints with agrad.numpy what it prints with NumPy, or fails alike."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator

from . import torch_programs

REAL = "numpy"
START = """import numpy as np
def kind(error):
    return next(one.__name__ for one in type(error).__mro__ if one.__module__ == "builtins")
s = np.float64(0.75)
x = np.array([0.5, -1.5, 2.0])
m = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]])
t = np.arange(12.0).reshape(2, 3, 2)/4 - 1
q = np.array([[2.0, 0.5], [0.5, 1.0]])
z = np.array([0.0, np.inf, -3.0, np.nan])
e = np.zeros(0)
j = np.int64(3)
i = np.array([2, 0, 1])
k = np.array([[4, -1, 3], [0, 2, 5]])
b = np.array([True, False, True])
c = np.array([[True, False, False], [True, True, False]])
v = m[:, 1:]
w = m.T
def wide(x):
    return x*1.0 if getattr(x, "dtype", None) == bool else x
rng = np.random.RandomState(4)
np.random.seed(3)
"""
FLOATS, WHOLES, TRUTHS = ("s", "x", "m", "t", "q", "z", "e", "v", "w"), ("j", "i", "k"), ("b", "c")
ALL = FLOATS + WHOLES + TRUTHS
NUMBERS = ("0", "1", "2", "-1", "3", "0.5", "2.0", "-1.5", "True", "1e-3", "100")
UNARY = (
    "abs absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad exp exp2 expm1 fabs floor log log10 log1p log2 negative rad2deg reciprocal rint sign sin sinc sinh sqrt square tan tanh trunc "
    "isnan isinf isfinite logical_not invert sum mean prod max min std var argmax argmin median any all cumsum cumprod sort argsort unique ravel squeeze transpose diff ptp nansum nanmean nanmax nanmin nanstd count_nonzero flatnonzero nonzero argwhere "
    "diag diagflat trace ndim size shape copy atleast_1d atleast_2d flip fliplr flipud rot90 zeros_like ones_like round around average ediff1d nan_to_num degrees radians angle amax amin tril triu rot90 hstack vstack"
).split()
BINARY = (
    "add subtract multiply divide power arctan2 fmod mod remainder floor_divide hypot logaddexp maximum minimum fmax fmin equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "matmul dot outer inner kron copysign gcd lcm array_equal allclose isclose cross vdot convolve correlate append union1d intersect1d setdiff1d isin searchsorted heaviside float_power"
).split()
# Functions of floats, which of truths are of float16 in NumPy, and of float64 here: see docs/pytorch.md.
OF_TRUTHS_NARROW = frozenset(
    "arccos arccosh arcsin arcsinh arctan arctanh cbrt cos cosh deg2rad exp exp2 expm1 log log10 log1p log2 rad2deg rint sin sinc sinh sqrt tan tanh "
    "degrees radians fabs angle arctan2 hypot logaddexp copysign heaviside nanstd std var cov ceil floor trunc sign round around".split()
)
METHODS = "sum mean prod max min std var argmax argmin any all cumsum cumprod argsort ravel flatten squeeze transpose copy tolist round item nonzero trace diagonal ptp conj".split()
REDUCTIONS = "sum mean prod max min std var argmax argmin any all median cumsum cumprod ptp nansum nanmax nanmean count_nonzero sort argsort flip amax average nanstd diff".split()
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^")
CALLS = (
    "np.where({a}>0,{a},{o}) np.where({t},{a},{o}) np.concatenate([{a},{o}]) np.concatenate([{a},{o}],axis={d}) np.stack([{a},{a}]) np.stack([{a},{a}],axis={d}) np.hstack([{a},{o}]) np.vstack([{a},{o}]) np.column_stack([{a},{o}]) np.dstack([{a},{o}]) np.clip({a},{n},{p}) np.clip({a},None,{n}) {a}.clip({n},{p}) {a}.clip(max={n}) np.reshape({a},(3,-1)) {a}.reshape(-1) {a}.reshape(2,-1) {a}.reshape((3,2)) "
    "np.expand_dims({a},{d}) np.squeeze({a}) np.swapaxes({a},0,{d}) np.moveaxis({a},0,{d}) np.transpose({a}) {a}.T {a}.transpose(1,0) np.broadcast_to({a},(2,3)) np.tile({a},2) np.tile({a},(2,1)) np.repeat({a},2) np.repeat({a},2,axis={d}) {a}.repeat(2) np.roll({a},1) np.roll({a},1,axis={d}) np.flip({a},{d}) np.rot90({a}) np.split({a},2) np.array_split({a},2) np.array_split({a},3,axis={d}) np.hsplit({a},1) np.take({a},i) np.take({a},[0,1],axis={d}) {a}.take(1) np.take_along_axis({a},i,{d}) np.delete({a},0) np.delete({a},0,axis={d}) np.insert({a},1,{n}) np.append({a},{o}) np.append({a},[{n}]) "
    "np.meshgrid({a},{o}) np.meshgrid({a},{o},indexing='ij') np.einsum('ij->ji',{a}) np.einsum('ij,ij->i',{a},{o}) np.einsum('i,j->ij',{a},{o}) np.einsum('ij,kj->ik',{a},{o}) np.tensordot({a},{o},1) np.tensordot({a},{o},axes=([1],[1])) np.outer({a},{o}) np.inner({a},{o}) np.dot({a},{o}) {a}.dot({o}) np.cross({a},{o}) np.linalg.norm({a}) np.linalg.norm({a},1) np.linalg.norm({a},axis={d}) np.linalg.norm({a},ord=np.inf) np.linalg.det(q) np.linalg.inv(q) np.linalg.solve(q,{a}) np.linalg.eigvalsh(q) np.linalg.cholesky(q) np.linalg.matrix_rank({a}) np.linalg.pinv(q) np.linalg.matrix_power(q,3) np.linalg.det({a}) np.linalg.inv({a}) np.linalg.cond(q) "
    "np.percentile({a},30) np.percentile({a},[25,75]) np.quantile({a},0.5,axis={d}) np.median({a},axis={d}) np.histogram({a},3) np.digitize({a},[0,1]) np.searchsorted(np.sort(x),{a}) np.bincount(i) np.bincount({a}) np.interp({a},[0,1,2],[0,10,30]) np.polyfit([0,1,2],[1,3,7],1) np.polyval([1,2,3],{a}) np.trapezoid({a}) np.gradient({a}) np.convolve({a},[1,2]) np.unique({a},return_counts=True) np.unique({a},return_inverse=True) np.cov({a}) np.corrcoef({a}) np.vander({a}) np.tri(3) np.tril({a}) np.triu({a},1) np.diag({a},1) np.diagonal({a}) np.trace({a}) np.isin({a},{o}) np.diff({a},axis={d}) np.diff({a},n=2) np.cumsum({a},axis={d}) np.ediff1d({a}) "
    "np.sum({a},axis={d},keepdims=True) np.mean({a},axis=(0,1)) np.std({a},ddof=1) np.var({a},axis={d},ddof=1) np.max({a},axis={d},keepdims=True) np.average({a},weights={a}) np.average({a},axis={d}) np.nan_to_num({a},nan=1.0) np.round(wide({a}),1) wide({a}).round(2) np.ones_like({a},dtype=int) np.full_like({a},2) np.zeros_like({a}) {a}.astype(int) {a}.astype(float) {a}.astype(bool) {a}.astype('int64') np.asarray({a}) np.array({a}) np.array({a},dtype=float) np.copy({a}) np.isclose({a},{o}) np.allclose({a},{a}) np.array_equal({a},{o}) np.logical_and({a},{o}) np.sign({a}) np.mod({a},2) np.power({a},2) np.power(2.0,{a}) "
    "{a}.shape {a}.ndim {a}.size {a}.dtype {a}.dtype.kind {a}.imag {a}.T.shape len({a}) list({a})[:2] float({a}) int({a}) bool({a}) str({a}) repr({a}) f'{{{a}}}' {a}.item() {a}.tolist() {a}.min() {a}.mean(axis={d}) {a}.sum(axis={d}) {a}.sum(axis={d},keepdims=True) {a}.max({d}) {a}.argmax(axis={d}) {a}.std(ddof=1) {a}.any(axis={d}) {a}.prod() {a}.cumsum({d}) {a}.all() {a}.flatten() {a}.ravel()[:2] isinstance({a},np.ndarray) isinstance({a},float) round({a}) abs({a}) -{a} +{a} ~{a} sum({a}) max({a}) sorted({a}) tuple({a}) set([1,2])&set([{a}.size]) {a}.fill(3) {a}.sort() {n} in {a}"
).split()
VIEWS = (
    "{a}[1:] {a}[::-1] {a}[j] {a}[:,None] {a}.T {a}.reshape(-1) {a}.ravel() {a}.squeeze() {a}.swapaxes(0,-1) {a}.diagonal() np.asarray({a}) np.ravel({a}) np.reshape({a},-1) np.transpose({a}) np.swapaxes({a},0,{d}) np.moveaxis({a},0,{d}) np.expand_dims({a},{d}) np.atleast_2d({a}) "
    "np.split({a},1)[0] np.array_split({a},2)[1] np.flip({a}) np.rot90({a}) np.diag({a}) np.einsum('ij->ji',{a}) next(iter({a})) list({a})[-1] {a}.copy() np.array({a}) {a}[i] {a}.flatten()"
).split()
MAKERS = (
    "np.array({l}) np.array({l},dtype={y}) np.zeros(3) np.zeros((2,3)) np.zeros((2,3),dtype={y}) np.ones(2) np.ones((2,1),int) np.full((2,2),{n}) np.full(3,{n},dtype={y}) np.eye(3) np.eye(2,3) np.identity(2) np.arange(5) np.arange(1,4) np.arange(0,1,0.25) np.arange(5,0,-2) np.arange({n}) np.arange(3.0) np.linspace(0,1,5) np.linspace(-1,1,4) np.linspace(0,1,5,endpoint=False) np.logspace(0,2,3) np.geomspace(1,8,4) np.empty(0) np.empty((2,0)) np.zeros(()) np.array([]) np.array([[]]) np.array({n}) np.float64({n}) np.int64({n}) np.bool_({n}) "
    "np.array([np.nan,1.0]) np.array([1e10,1.0]) np.array([1e-5,1.0]) np.array([1e5,0.001]) np.array([123456.789]) np.array([0.1,100.5,1000.25]) np.float64(1e20) np.array(1e-20) np.array([1e15]) np.array([1e16,1]) np.arange(30) np.arange(30.)/7 np.arange(1200) np.arange(2000.).reshape(40,50) np.zeros((2,3,4)) np.arange(24).reshape(2,3,4) np.array([[True]]) np.array([-0.0,1]) np.array([1+1e-9,1]) np.array([1.0,np.inf]) np.array([1000.5,-np.inf,np.nan]) np.tril_indices(3) np.triu_indices(2) np.unravel_index(5,(2,3)) np.pi np.e np.inf np.nan np.newaxis np.array([1,2])/3 np.array([1/3,2/3]) np.array([100000.0,2]) np.array([1e-300,1e300])"
).split()
RANDOM = (
    "np.random.rand() np.random.rand(3) np.random.rand(2,2) np.random.randn(3) np.random.randn(2,3) np.random.random(3) np.random.random() np.random.randint(5) np.random.randint(0,9,4) np.random.randint(3,size=(2,2)) np.random.uniform(-1,1,3) np.random.uniform() np.random.normal(0,1,3) np.random.normal(5,2) np.random.standard_normal(2) np.random.choice(5) np.random.choice(5,3) np.random.choice([1,2,3],2,replace=False) np.random.choice(3,4,p=[0.2,0.3,0.5]) np.random.permutation(5) np.random.permutation(x) np.random.exponential(1.0,2) np.random.poisson(3,2) np.random.binomial(10,0.5,3) np.random.beta(1,2) np.random.gamma(2.0,size=2) rng.rand(2) rng.randn() rng.randint(0,5,3) rng.uniform(0,1,2) rng.normal(size=2) rng.choice(4,2) rng.permutation(3) np.random.multivariate_normal([0,0],[[1,0],[0,1]])"
).split()
INDICES = "0 -1 1: :1 ::2 ... None :,0 0,1 ...,0 None,0 [0,1] [1,0,1] i b c i,0 0,i :,i b,0 i,i [True,False,True] -1: 5 -7 1:1 :,None :,1: 0,... (0,1) [[0,1],[1,0]] c,0 k>0 x>0 m>0 True j 1.5 'a' i>0 :,b 0,b ::-1 ::-1,0 :,::-1 i[:1] i[:0] 2: ...,1: None,...,None :,[0,1] [0,1],[1,0] :,i,0".split()


class Script:
    """Statements of plain Python, each of which prints something, or the kind of its error."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def array(self, depth: int = 1) -> str:
        """An array of some shape and type."""
        dice = self.dice
        if not depth or dice.random() < 0.55:
            return dice.choice(ALL if dice.random() < 0.5 else FLOATS)
        one = self.array(depth - 1)
        return dice.choice(
            (
                f"({one} {dice.choice(OPERATORS)} {self.array(0)})",
                f"{one}[{dice.choice(INDICES)}]",
                called(dice.choice(UNARY), one),
                f"{one}.T",
                f"({one}*1.0)",
            )
        )

    def filled(self, form: str) -> str:
        """A form with arrays and numbers in its places."""
        dice = self.dice
        nested = (
            "[1, 2]",
            "[1.5, 2]",
            "[[1, 2], [3, 4]]",
            "[True, False]",
            "[1, True]",
            "3",
            "2.5",
            "[[1.0], [2.0]]",
            "[[1], [2, 3]]",
            "(1, 2)",
            "[]",
            "[s, s]",
            "x",
            "range(3)",
            "[x, x]",
            "[i, x]",
        )
        return form.format(
            a=self.array(), o=self.array(0), d=dice.choice(("0", "1", "-1", "2", "-2", "0")), n=dice.choice(NUMBERS), p=dice.choice(NUMBERS), t=dice.choice(("b", "c", "x > 0", "m > 0", "i > 0")),
            l=dice.choice(nested), y=dice.choice(("int", "float", "bool", "np.int64", "np.float64", "'float'")),
        )  # fmt: skip

    def expression(self) -> str:
        """One that is printed."""
        dice, roll = self.dice, self.dice.random()
        if roll < 0.13:
            return called(dice.choice(UNARY), self.array())
        if roll < 0.18:
            name = dice.choice(METHODS)
            return f"wide({self.array()}).round()" if name == "round" else f"{self.array()}.{name}()"
        if roll < 0.28:
            return called(dice.choice(BINARY), self.array(), dice.choice((self.array(0), dice.choice(NUMBERS))))
        if roll < 0.4:
            left, right = self.array(), dice.choice((self.array(0), dice.choice(NUMBERS), "[1, 2, 3]"))
            return dice.choice((f"{left} {dice.choice(OPERATORS)} {right}", f"{right} {dice.choice(OPERATORS)} {left}"))
        if roll < 0.48:
            return f"np.{dice.choice(REDUCTIONS)}({self.array()}, axis={dice.choice(('0', '1', '-1', 'None', '2', '-3', '(0, 1)'))})"
        if roll < 0.55:
            return f"{self.array()}[{dice.choice(INDICES)}]"
        if roll < 0.62:
            return self.filled(dice.choice(MAKERS))
        return dice.choice(RANDOM) if roll < 0.68 else self.filled(dice.choice(CALLS))

    def statement(self) -> list[str]:
        """Lines that may fail."""
        dice, roll = self.dice, self.dice.random()
        if roll < 0.08:
            name, part = dice.choice(ALL), dice.choice((dice.choice(VIEWS), f"np.flip({dice.choice(VIEWS)})"))
            write = f"{dice.choice(('y', name))}[{dice.choice(('...', '0', '-1', '1:'))}] = {dice.choice(NUMBERS)}"
            return [f"y = {part.format(a=name, d=dice.choice('01'))}", f"print(y, {name})", write, f"print(y, {name})"]
        if roll < 0.15:
            name = dice.choice(ALL)
            value = dice.choice((self.array(0), dice.choice(NUMBERS), dice.choice(NUMBERS), "[1, 2]", "x.tolist()"))
            place = f"{name}[{dice.choice(INDICES)}]"
            write = dice.choice(
                (
                    f"{place} = {value}",
                    f"{place} = {value}",
                    f"{place} += {value}",
                    f"{name} += {value}",
                    f"{name} *= {value}",
                    f"{name} -= {value}",
                    f"{name} /= {value}",
                    f"{name} //= {value}",
                    f"{name} **= {value}",
                    f"{name} &= {value}",
                )
            )
            return [write, f"print({name}, m, v)"]
        if roll < 0.25:
            return [
                f"y = {self.expression()}",
                f"print(repr(y), {dice.choice(('y.dtype', 'y.shape', 'y.ndim', 'y is None', '[y]', '(y, 1)'))})",
            ]
        return [f"print({self.expression()})"]

    def text(self) -> str:
        """A program."""
        lines = []
        for _ in range(self.dice.randint(3, 8)):
            body = "\n".join("    " + line for line in self.statement())
            lines.append(f"try:\n{body}\nexcept Exception as error:\n    print('raises', kind(error))\n")
        return START + "".join(lines)


def called(name: str, *given: str) -> str:
    """A call of a function, with floats in the place of truths where NumPy would compute with half the digits."""
    given = tuple([f"wide({one})" for one in given]) if name in OF_TRUTHS_NARROW else given
    given = tuple([f"({one}*1.0)" for one in given]) if name == "reciprocal" else given  # of a whole 0 it is -2**63
    return f"np.{name}({', '.join(given)})"


def printed(texts: list[str], module: str, python: str = sys.executable) -> list[str]:
    """What programs print with one of the two."""
    if module == "agrad":
        texts = [text.replace("import numpy as np", "import agrad.numpy as np", 1) for text in texts]
    return torch_programs.printed(texts, module, python)


def rounded(text: str) -> str:
    """An output without what the last bits of a number decide, and without signs of 0."""
    text = re.sub(r",\s*dtype=int8", "", text).replace("int8", "int64")  # whole numbers of truths, in NumPy
    text = re.sub(r"-?\d+\.\d{9,}(e[+-]\d+)?", lambda found: f"{float(found[0]):.9g}", text)
    return re.sub(r"-(0\.?0*)(?![\d.])", r"\1", text).replace(" ", "")


def same(text: str, there: str, here: str) -> bool:
    """Whether two outputs are the same, but for signs of 0 and the last bits.

    agrad's whole numbers end at 2**53.
    """
    return bool(re.search(r"\d{17}(?!\d*[.e])", there)) or rounded(there) == rounded(here)


def cases(dice: random.Random) -> Iterator[None]:
    """A program for each case."""
    texts = [Script(dice).text() for _ in range(60)]
    theirs, ours = printed(texts, REAL), printed(texts, "agrad")
    for text, there, here in zip(texts, theirs, ours, strict=True):
        assert same(text, there, here), f"{text}prints\n{here}\nnot\n{there}"
        yield
