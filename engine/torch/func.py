"""`torch.func` and `torch.autograd.functional`: derivatives of functions; and forward mode by dual numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agrad.engine import units
from agrad.engine.autodiff.forward_mode import push_all
from agrad.engine.core import tensor as core
from agrad.engine.core.context import current, next_stamp, scope
from agrad.engine.core.graph import collect
from agrad.engine.values import np
from agrad.torch import autograd
from agrad.torch.creation import default_generator
from agrad.torch.registry import engine
from agrad.torch.tensor import Tensor, note

# Trees: tensors in tuples, lists and dicts.


def leaves(tree: Any) -> list[Any]:
    """The tensors of a tree, in order."""
    if isinstance(tree, dict):
        return [x for one in tree.values() for x in leaves(one)]
    if isinstance(tree, tuple | list):
        return [x for one in tree for x in leaves(one)]
    return [tree]


def rebuilt(tree: Any, parts: Iterator[Any]) -> Any:
    """The tree with other tensors."""
    if isinstance(tree, dict):
        return {name: rebuilt(one, parts) for name, one in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[rebuilt(one, parts) for one in tree])
    if isinstance(tree, tuple | list):
        return type(tree)([rebuilt(one, parts) for one in tree])
    return next(parts)


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with what a function makes of each tensor."""
    return rebuilt(tree, iter([function(x) for x in leaves(tree)]))


def _tracked(x: Any) -> Any:
    """A value to differentiate by: connected to what it was computed from, if that is differentiated, too."""
    if not isinstance(x, core.Tensor):
        raise RuntimeError(f"derivatives are taken by Tensors, not {type(x).__name__}")
    with scope(recording=True):
        if x.requires_grad:
            return engine("clone", x)
        made = x.clone().detach().requires_grad_()
        note(made.node, "ended", False)  # see `_finished`
        return made


def _finished(tree: Any, given: Any) -> Any:
    """Results with their graph, where it leads to a leaf of the user's, or of a function of functions around this."""
    for x in leaves(given):
        if isinstance(x, core.Tensor) and hasattr(x.node.extra, "ended"):
            note(x.node, "ended", True)

    def finished(x: Any) -> Any:
        if not isinstance(x, core.Tensor):
            return x
        behind = collect([x.node]) if x.requires_grad and current().recording else ()
        is_open = any(node.op is None and not getattr(node.extra, "ended", False) for node in behind)
        return x if is_open else x.detach()

    return mapped(finished, tree)


def _argued(args: tuple[Any, ...], argnums: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """The arguments, and those among them to differentiate by."""
    places, given = [argnums] if isinstance(argnums, int) else list(argnums), list(args)
    for place in places:
        given[place] = mapped(_tracked, given[place])
    return given, tuple([given[place] for place in places])


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the gradient by some arguments, and the value."""

    def call(*args: Any, **keywords: Any) -> Any:
        given, tracked = _argued(args, argnums)
        with scope(recording=True):
            found = func(*given, **keywords)
            value, aux = found if has_aux else (found, None)
            if not isinstance(value, core.Tensor) or value.ndim:
                raise RuntimeError("grad_and_value expects a function that returns a scalar tensor")
            grads = rebuilt(tracked, iter(_gradients([value], leaves(tracked), None)))
        one = grads[0] if isinstance(argnums, int) else grads
        result = _finished((one, value), tracked)
        return (result[0], (result[1], _finished(aux, tracked))) if has_aux else result

    return call


def _gradients(outputs: list[Any], wanted: list[Any], seeds: Any) -> list[Any]:
    """Derivatives that can be differentiated again; zeros by what has no part in the outputs."""
    pairs = [
        (y, None if seeds is None else seed)
        for y, seed in zip(outputs, seeds or outputs, strict=True)
        if y.requires_grad
    ]
    if not pairs:
        return [autograd.zeros_like(x) for x in wanted]
    ys, given = zip(*pairs, strict=True)
    found = autograd.grad(ys, wanted, None if seeds is None else list(given), True, True, allow_unused=True)
    return [autograd.zeros_like(x) if g is None else g for x, g in zip(wanted, found, strict=True)]


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the gradient by some arguments."""
    both = grad_and_value(func, argnums, has_aux)

    def call(*args: Any, **keywords: Any) -> Any:
        found, value = both(*args, **keywords)
        return (found, value[1]) if has_aux else found

    return call


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value, and the function that gives u times the Jacobian."""
    given = mapped(_tracked, primals)
    with scope(recording=True):
        found = func(*given)
    value, aux = found if has_aux else (found, None)

    def pull(cotangents: Any) -> Any:
        with scope(recording=True):
            parts = _gradients(leaves(value), leaves(given), leaves(cotangents))
        return _finished(rebuilt(given, iter(parts)), given)

    result = (_finished(value, given), pull)
    return (*result, aux) if has_aux else result


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """The value, and the derivative along a direction."""
    given = mapped(_tracked, tuple(primals))
    with scope(recording=True):
        found = func(*given)
        value, aux = found if has_aux else (found, None)
        pushed = _pushed(leaves(value), leaves(given), leaves(tuple(tangents)))
    result = _finished((value, rebuilt(value, iter(pushed))), given)
    return (*result, aux) if has_aux else result


def _pushed(values: list[Any], primals: list[Any], tangents: list[Any]) -> list[Any]:
    directions = {x.node: autograd.plainly(v) for x, v in zip(primals, tangents, strict=True)}
    found = push_all([autograd.plainly(y) for y in values], directions, True)
    made = [
        autograd.zeros_like(y) if t is None else autograd.gradient_of(t) for y, t in zip(values, found, strict=True)
    ]
    for y, t in zip(values, made, strict=True):
        units.with_unit(t, y, primals[:1], tangents[0])
    return made


def _jacobians(rows: Callable[..., Any]) -> Callable[..., Any]:
    """What makes of a function one that gives its Jacobian, backward or forward."""

    def made(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **_: Any) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:
            given, tracked = _argued(args, argnums)
            with scope(recording=True):
                found = func(*given, **keywords)
                value, aux = found if has_aux else (found, None)
                result = mapped(lambda y: rows(y, tracked), value)
            if isinstance(argnums, int):
                result = mapped_tuples(result, value)
            finished = _finished(result, tracked)
            return (finished, aux) if has_aux else finished

        return call

    return made


def mapped_tuples(tree: Any, like: Any) -> Any:
    """The Jacobians by a single argument, out of their tuples."""
    if isinstance(like, dict):
        return {name: mapped_tuples(tree[name], one) for name, one in like.items()}
    if isinstance(like, tuple | list):
        return type(like)(mapped_tuples(x, one) for x, one in zip(tree, like, strict=True))
    return tree[0]


def _units(x: Any) -> Iterator[Tensor]:
    """For each entry of a tensor, one that is 1 there and 0 elsewhere."""
    for place in range(math.prod(x.shape)):
        unit = np.zeros(math.prod(x.shape))
        unit[place] = 1.0
        yield Tensor.of(unit.reshape(x.shape) if x.ndim else 1.0)


def _rows(y: Any, trees: tuple[Any, ...]) -> Any:
    """The Jacobians of one result: a backward for each entry."""
    if not isinstance(y, core.Tensor):
        raise TypeError(f"derivatives are taken of Tensors, not {type(y).__name__}")
    wanted = leaves(trees)
    rows = [_gradients([y], wanted, [unit]) for unit in _units(y)]
    made = [
        engine("reshape", engine("stack", list(column)), (*y.shape, *x.shape))
        for x, column in zip(wanted, zip(*rows, strict=True), strict=True)
    ]
    return rebuilt(trees, iter(made))


def _columns(y: Any, trees: tuple[Any, ...]) -> Any:
    """The same forward: a direction for each entry of what it is derived by."""
    made = []
    for x in leaves(trees):
        columns = [_pushed([y], [x], [unit])[0] for unit in _units(x)]
        made.append(engine("reshape", engine("stack", columns, axis=-1), (*y.shape, *x.shape)))
    return rebuilt(trees, iter(made))


jacrev, jacfwd = _jacobians(_rows), _jacobians(_columns)
jacrev.__name__, jacfwd.__name__ = "jacrev", "jacfwd"


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """The function that gives the second derivatives."""
    made: Callable[..., Any] = jacfwd(jacrev(func, argnums), argnums)
    return made


class _NoRandomNumbers:
    """Those of a session, where a function that is mapped may draw none."""

    @property
    def generator(self) -> Any:
        """PyTorch's error."""
        message = "vmap: called random operation while in randomness error mode"
        raise RuntimeError(f"{message}\n  fix: vmap(f, randomness='different'), or 'same'")


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunk_size: Any = None
) -> Callable[..., Any]:
    """The function called for each entry along an axis, its results joined along a new one."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    drawing = {"random": _NoRandomNumbers()} if randomness == "error" else {}

    def call(*args: Any, **keywords: Any) -> Any:
        dims = _dims(in_dims, args)
        if any(dim is not None and not x.ndim for x, dim in zip(leaves(args), dims, strict=True)):
            raise ValueError("vmap: a tensor of no axes cannot be mapped over")
        sizes = {x.shape[dim] for x, dim in zip(leaves(args), dims, strict=True) if dim is not None}
        if len(sizes) != 1:
            raise ValueError(f"vmap: expected all mapped axes to have one length, got {sorted(sizes)}")
        results: list[Any] = []
        state = default_generator.get_state() if randomness == "same" else None
        for place in range(sizes.pop()):
            parts = [x if dim is None else x.select(dim, place) for x, dim in zip(leaves(args), dims, strict=True)]
            if state is not None:
                default_generator.set_state(state)
            mapped = [x for x, dim in zip(parts, dims, strict=True) if dim is not None]
            with scope(mapped=(next_stamp(), mapped), **drawing):
                results.append(func(*rebuilt(args, iter(parts)), **keywords))
            for x in leaves(results[-1]):
                if not isinstance(x, core.Tensor):
                    raise ValueError(f"vmap: the function must only return Tensors, got {type(x).__name__}")
        columns = zip(*[leaves(one) for one in results], strict=True)
        outs = _dims(out_dims, results[0])
        joined = [engine("stack", list(column), axis=dim) for column, dim in zip(columns, outs, strict=True)]
        return rebuilt(results[0], iter(joined))

    return call


def _dims(dims: Any, tree: Any) -> list[Any]:
    """The axis of each tensor of a tree."""
    if isinstance(dims, int) or dims is None:
        return [dims] * len(leaves(tree))
    parts = tree.values() if isinstance(tree, dict) else tree
    dims = dims.values() if isinstance(dims, dict) else dims
    return [x for dim, part in zip(dims, parts, strict=True) for x in _dims(dim, part)]


def functional_call(module: Any, parameters: Any, args: Any = None, kwargs: Any = None) -> Any:
    """A module called with other parameters."""
    given = {
        name: x
        for one in (parameters if isinstance(parameters, tuple | list) else (parameters,))
        for name, x in one.items()
    }
    places, before = [], []
    for path in given:
        owner = module
        *inner, name = path.split(".")
        for part in inner:
            owner = owner._modules[part]
        store = owner._parameters if name in owner._parameters else owner._buffers
        places.append((store, name))
        before.append(store[name])
    try:
        for (store, name), x in zip(places, given.values(), strict=True):
            store[name] = x
        return module(*(args if isinstance(args, tuple) else () if args is None else (args,)), **(kwargs or {}))
    finally:
        for (store, name), x in zip(places, before, strict=True):
            store[name] = x


def stack_module_state(models: Any) -> Any:
    """The parameters, and the buffers, of several modules, each stacked."""
    states = [({**dict(one.named_parameters())}, {**dict(one.named_buffers())}) for one in models]
    return tuple(
        {
            name: engine("stack", [state[kind][name].detach() for state in states]).requires_grad_(not kind)
            for name in states[0][kind]
        }
        for kind in (0, 1)
    )


# torch.autograd.functional


def _both(func: Callable[..., Any], inputs: Any) -> tuple[Any, Any, Any]:
    given = mapped(_tracked, inputs if isinstance(inputs, tuple) else (inputs,))
    with scope(recording=True):
        return given, func(*given), isinstance(inputs, tuple)


def _be_strict(value: Any, given: Any, of: str = "The output") -> None:
    """Raise PyTorch's error of `strict=True` where a result has no graph, or one without an argument."""
    mode = "This is not allowed in strict mode."
    for place, y in enumerate(leaves(value)):
        if not y.requires_grad:
            told = "The outputs must be computed in a differentiable manner from the input when running in strict mode."
            raise RuntimeError(f"Output {place} of the user-provided function does not require gradients. {told}")
        found = autograd.grad(engine("sum", y), [*given], None, True, True, allow_unused=True)
        for other, g in enumerate(found):
            if g is None:
                name = of.format(place)
                raise RuntimeError(f"{name} of the user-provided function is independent of input {other}. {mode}")


def _need_curved(gradients: list[Any]) -> None:
    for place, g in enumerate(gradients):
        if not g.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                f"input {place} is independent of the input. This is not allowed in strict mode. You should ensure "
                "that your function is twice differentiable and that the jacobian depends on the inputs (this would be "
                "violated by a linear function for example)."
            )


def _ended(tree: Any, create_graph: bool) -> Any:
    return tree if create_graph else mapped(lambda x: x.detach() if isinstance(x, core.Tensor) else x, tree)


class functional:  # noqa: N801 - a module
    """`torch.autograd.functional`."""

    @staticmethod
    def jacobian(func: Any, inputs: Any, create_graph: bool = False, strict: bool = False, **_: Any) -> Any:
        """The derivatives of each result by each argument."""
        given, value, several = _both(func, inputs)
        with scope(recording=True):
            if strict:
                _be_strict(value, given, "Output {}")
            rows = [_rows(y, tuple(given)) for y in (value if isinstance(value, tuple) else (value,))]
        made = tuple(row if several else row[0] for row in rows)
        return _ended(made if isinstance(value, tuple) else made[0], create_graph)

    @staticmethod
    def hessian(func: Any, inputs: Any, create_graph: bool = False, strict: bool = False, **_: Any) -> Any:
        """The second derivatives of one number."""

        def first(*args: Any) -> Any:
            value = func(*args)
            if not isinstance(value, core.Tensor) or math.prod(value.shape) != 1:
                raise RuntimeError("The function given to hessian should return a single element Tensor")
            if strict:
                _be_strict(value, ())
            gradients = _gradients([engine("reshape", value, ())], list(args), None)
            if strict:
                _need_curved(gradients)
            return tuple(gradients)

        found = functional.jacobian(first, inputs if isinstance(inputs, tuple) else (inputs,), create_graph, strict)
        return found if isinstance(inputs, tuple) else found[0][0]

    @staticmethod
    def vjp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
        """The value, and v times the Jacobian."""
        return _pulled(func, inputs, v, create_graph, strict, lambda outputs, given: outputs)

    @staticmethod
    def vhp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
        """The value, and v times the Hessian."""

        def of(outputs: Any, given: Any) -> Any:
            gradients = _gradients(outputs, given, None)
            if strict:
                _need_curved(gradients)
            return gradients

        return _pulled(func, inputs, v, create_graph, strict, of)

    hvp = vhp

    @staticmethod
    def jvp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
        """The value, and the Jacobian times v."""
        given, value, _ = _both(func, inputs)
        with scope(recording=True):
            if strict:
                _be_strict(value, given)
            pushed = _pushed(leaves(value), list(given), leaves(v) if v is not None else [Tensor.of(1.0)])
        return _ended((value, rebuilt(value, iter(pushed))), create_graph)


def _pulled(func: Any, inputs: Any, v: Any, create_graph: bool, strict: bool, of: Callable[..., Any]) -> Any:
    """The value, and v times the derivatives of what is made of it."""
    given, value, several = _both(func, inputs)
    with scope(recording=True):
        if strict:
            _be_strict(value, given)
        outputs = of(leaves(value), list(given))
        parts = _gradients(outputs, list(given), leaves(v) if v is not None else [Tensor.of(1.0) for _ in outputs])
    return _ended((value, tuple(parts) if several else parts[0]), create_graph)


# torch.autograd.forward_ad


class UnpackedDualTensor(NamedTuple):
    """A value and its direction."""

    primal: Any
    tangent: Any


_LEVELS = autograd.LEVELS


def _by_jvp(cls: Any, context: Any, args: Any, results: Any) -> None:
    """Give the results of a Function the directions that its `jvp` computes."""
    tangents = [unpack_dual(x).tangent if isinstance(x, core.Tensor) else None for x in args]
    pushed = cls.jvp(context, *tangents)
    for x, t in zip(*((one if isinstance(one, tuple) else (one,)) for one in (results, pushed)), strict=True):
        if t is not None:
            _LEVELS[-1][x.node] = t
            x.node._more().dual = x


autograd.PUSH.append(_by_jvp)


def enter_dual_level() -> int:
    """Begin a level, as `dual_level` does."""
    _LEVELS.append({})
    return len(_LEVELS) - 1


def exit_dual_level(*, level: Any = None) -> None:
    """End it."""
    _LEVELS.pop()


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value, and the function that gives the derivative along a direction."""
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


class dual_level:  # noqa: N801 - PyTorch's name
    """Inside, `make_dual` gives values a direction, which operations pass on."""

    def __enter__(self) -> None:
        _LEVELS.append({})

    def __exit__(self, *_: object) -> None:
        _LEVELS.pop()


def make_dual(tensor: Any, tangent: Any, *, level: Any = None) -> Any:
    """A value with a direction."""
    if not _LEVELS:
        raise RuntimeError("a dual tensor needs a level\n  fix: with fwAD.dual_level():")
    if tensor.shape != tangent.shape:
        raise RuntimeError(f"Expected a tangent of shape {[*tensor.shape]}, got {[*tangent.shape]}")
    made = _tracked(tensor)
    made.node._more().dual = tensor
    _LEVELS[-1][made.node] = tangent
    return made


def unpack_dual(tensor: Any, *, level: Any = None) -> UnpackedDualTensor:
    """The value and its direction, None where it has none."""
    if not _LEVELS or not _LEVELS[-1]:
        return UnpackedDualTensor(tensor, None)
    directions = {node: autograd.plainly(t) for node, t in _LEVELS[-1].items()}
    with scope(recording=True):
        (found,) = push_all([autograd.plainly(tensor)], directions, True)
    tangent = None if found is None else autograd.gradient_of(found)
    if any(node._more().dual.requires_grad for node in _LEVELS[-1]):
        return UnpackedDualTensor(tensor, tangent)
    return UnpackedDualTensor(tensor.detach(), None if tangent is None else tangent.detach())
