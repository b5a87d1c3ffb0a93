"""PyTorch's names as a document: docs/pytorch.md, made from the tables by which they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agrad.engine.core.op import ALIASES, FUNCTIONS, Signature
from agrad.grammar.help.functions_doc import escaped
from agrad.grammar.pytorch.libraries import HERE, STAND_INS
from agrad.grammar.pytorch.names import DIFFERING, IGNORED, KNOWN_ELSEWHERE, OWN_FORMS, RENAMED, table
from agrad.grammar.runtime.attributes import ATTRIBUTES, METHODS, NODE_ATTRIBUTES

# What has another meaning: in PyTorch, in agrad, and lines that show it.
DIFFERENT = (
    (
        "numbers are integers, or floats of several sizes",
        "every number is a float64",
        "torch.tensor([7, 2]) / 2 == [3.5, 1]",
    ),
    (
        "of masks, `m + n` is true where one is, and `1 - m` is an error",
        "masks are numbers, 1 and 0: `m + n` counts, and as an index both are refused",
        "x = tensor([1, 2]); sum((x > 0) + (x > 1)) == 3 and sum(1 - (x > 1)) == 1",
    ),
    (
        "float32 overflows above 3.4e38",
        "above 1.8e308: an inf or nan that is one of float32 may not arise",
        "isfinite(torch.exp(tensor(100.))) == 1",
    ),
    ("`std` and `var` divide by n - 1", "by n, as in NumPy; with `torch.` before them by n - 1", "std([1, 3]) == 1"),
    (
        "`x.max(0)` and `x.min(0)` return values and indices",
        "the values alone; `torch.max(x, 0)` returns both",
        "tensor([1, 3]).max(0) == 3",
    ),
    (
        "`x.sort()` returns values and indices",
        "the values alone; `torch.sort(x)` returns both",
        "tensor([3, 1]).sort() == [1, 3]",
    ),
    (
        "`x.norm(1)`, `x.norm(2)` of a matrix are norms of all its entries",
        "norms of the matrix, as in NumPy; `torch.norm(x, 1)` is the norm of all entries",
        "x = tensor([[1, 5], [3, 4]]); x.norm(1) == 9 and torch.norm(x, 1) == 13",
    ),
    (
        "`x.split(2)` makes pieces of 2",
        "2 pieces, as in NumPy; `torch.split(x, 2)` makes pieces of 2",
        "x = arange(6); len(x.split(2)) == 2 and len(torch.split(x, 2)) == 3",
    ),
    (
        "`x.equal(y)` is one truth value",
        "one for each entry, as `x == y`; `torch.equal(x, y)` is one",
        "tensor([1, 2]).equal([1, 3]) == [1, 0]",
    ),
    (
        "`x.repeat(2, 1)` repeats the whole of `x`",
        "it repeats each row or entry, along an axis; `x.tile(2, 1)` repeats the whole",
        "x = tensor([[1, 2]]); x.repeat(2, 1) == [[1, 1, 2, 2]]",
    ),
    (
        "`x.svd()` ends with V",
        "with its transpose, as in NumPy; `torch.svd(x)` ends with V",
        "x = tensor([[1, 2], [3, 4]]); torch.svd(x)[2] == x.svd()[2].T",
    ),
    (
        "of equal entries one gets the gradient of `max` along an axis",
        "all share it",
        "grad(max)([3, 3]) == [0.5, 0.5]",
    ),
    (
        "`median` of four entries is the second smallest",
        "the mean of the second and the third; `torch.median` is the second, with an axis also its index",
        "median([1, 2, 3, 4]) == 2.5 and torch.median([1, 2, 3, 4]) == 2",
    ),
    ("a gradient is differentiable with `create_graph=True`", "`grad(y, x)` always is", "grad(grad(square))(5) == 2"),
    ("`grad` gives a tuple", "`grad(y, x)` gives a value, `torch.autograd.grad(y, x)` a tuple", "grad(square)(3) == 6"),
    (
        "`x[0]`, `x.view(2)` and `x.T` share the data of `x`",
        "each is a copy; a write into one is an error, or a note if it is a plain number",
        "x = zeros(4); y = x.view(2, 2); fails type: y += 1",
    ),
    (
        "`where` passes on the nan of a branch that was not selected",
        "that branch contributes exactly 0",
        "def f(x) = where(x > 0, log(x), 0); grad(f)(0) == 0",
    ),
    (
        "the derivative of `log(x)` below 0 is 1/x, though `log(x)` is nan; so of `log1p`, `atanh`, `acosh` below -1",
        "it is nan, too; `backward y as pytorch` shows both",
        "isnan(grad(log)(-1))",
    ),
    (
        "`binary_cross_entropy` takes no logarithm below -100, so that no entry is above 100",
        "it is the formula: inf where a probability is 0 and its target is not",
        "binary_cross_entropy(0, 1) == inf",
    ),
    (
        "a backward frees the nodes that saved something",
        "it frees every node that it visits, unless `retain_graph=True`",
        "var x = 2; y = x + 1; y.backward(); fails freed: y.backward()",
    ),
)


def markdown() -> str:
    """The names of PyTorch that are read, what they mean, and what differs."""
    parts = [_prefixes(), _names(), _methods(), _without_effect(), _differences(), _absent()]
    return "\n".join(line for part in parts for line in [*part, ""])


def _prefixes() -> Iterator[str]:
    yield from ("# PyTorch's names", "", "Made by `make docs` from the tables by which agrad reads them.", "")
    yield "A snippet of PyTorch or NumPy can be pasted: a name of theirs is agrad's function of that name, or of that"
    yield "in the tables below. A name that they do not have in that module, such as `torch.foo.sin`, is an error."
    yield from ("", "| module | names |", "|---|---|")
    for prefix, names in table().items():
        yield f"| `{prefix}` | {', '.join(_row(name, here) for name, here in sorted(names.items()))} |"
    yield "\n`F` is `torch.nn.functional`, and `numpy` is `np`."


def _row(name: str, here: str) -> str:
    """A name, and in brackets what it is here if that is another function or type."""
    return f"`{name}`" if here == name or "(" in here or here in ("class", "function") else f"`{name}` ({here})"


def _names() -> Iterator[str]:
    yield from (
        "## Other names",
        "",
        "Names of functions, and of methods of a value.",
        "",
        "| PyTorch or NumPy | agrad |",
        "|---|---|",
    )
    for name, ours in sorted(RENAMED.items()):
        yield f"| `{name}` | `{ours}` |"
    yield from ("", "Of arguments:", "", "| PyTorch or NumPy | agrad |", "|---|---|")
    for name, ours in ALIASES.items():
        yield f"| `{name}=` | `{ours}=` |"
    yield from ("", "With PyTorch's meaning only under the full name:", "")
    for name, (form, _) in OWN_FORMS.items():
        yield f"* `{Signature(name, form).usage}`"


def _methods() -> Iterator[str]:
    yield from (
        "## Methods and attributes",
        "",
        "Every function of one value is also a method of it. The other methods are:",
        "",
    )
    for method in METHODS.values():
        yield f"* `{method.form.usage}`"
    yield from ("", f"Attributes of a value: {_listed(ATTRIBUTES)}; of its `grad_fn`: {_listed(NODE_ATTRIBUTES)}.")


def _without_effect() -> Iterator[str]:
    yield from ("## Accepted without effect", "")
    yield f"* imports of {_listed(sorted(HERE))}, and of what is in them"
    yield "* other imports; a note says what stands in for them:"
    for module, told in STAND_INS.items():
        yield f"  * `{module}`: {escaped(told)}"
    yield f"* types, as in `dtype=torch.float64`: {_listed(sorted(IGNORED))}"
    typed = [name for name, entry in FUNCTIONS.items() if "dtype" in entry.signature.attributes]
    yield f"* `dtype=` in {_listed(typed)}"
    same = METHODS["cpu"].run
    yield f"* the methods {_listed(name for name, method in METHODS.items() if method.run is same)}"


def _differences() -> Iterator[str]:
    yield from (
        "## What differs",
        "",
        f"After `import torch`, the methods {_listed(sorted(DIFFERING))} of an array are",
    )
    yield "PyTorch's, so that a script gives its numbers. Where NumPy is imported, too, those that its arrays have as"
    yield "well need a name that says which is meant, such as `dim=` or `axis=`; the error says what to write."
    yield from ("", "| in PyTorch | in agrad | shown by |", "|---|---|---|")
    for theirs, ours, lines in DIFFERENT:
        yield f"| {theirs} | {ours} | `{lines}` |"


def _absent() -> Iterator[str]:
    yield from ("## What is written differently", "", "| instead of | write |", "|---|---|")
    for name, ours in sorted(KNOWN_ELSEWHERE.items(), key=lambda pair: pair[0].lower()):
        if name not in RENAMED:
            yield f"| `{name}` | {escaped(ours)} |"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
