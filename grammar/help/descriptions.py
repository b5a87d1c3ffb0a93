"""One line for each attribute and method of values, for completion and help."""

from __future__ import annotations

ATTRIBUTES = {
    "grad": "the gradient, or None",
    "data": "the value, without its graph",
    "shape": "the length of each axis",
    "ndim": "the number of axes",
    "T": "the transpose",
    "requires_grad": "whether a backward reaches it",
    "is_leaf": "whether it was not computed",
    "u": "its standard uncertainty",
    "_version": "how often its data were written",
    "dtype": "the type of its entries, torch.float64",
    "device": "where its entries are, cpu",
    "grad_fn": "the node that computed it, or None",
}

NODE_ATTRIBUTES = {
    "next_functions": "the nodes of its operands",
    "variable": "the leaf that it stands for",
}

METHODS = {
    "max": "The largest entry, along an axis if one is given.",
    "min": "The smallest entry, along an axis if one is given.",
    **dict.fromkeys(("float", "double"), "The value itself: every number is a float64."),
    **dict.fromkeys(("cpu", "cuda", "to"), "The value itself: there is one device."),
    "type": "The value itself: every number is a float64.",
    "contiguous": "The value itself.",
    "item": "The number, without its graph.",
    "tolist": "The value, without its graph.",
    "numpy": "The value, without its graph.",
    "detach": "The value, without its graph.",
    "size": "The shape, or the length of one axis.",
    "dim": "The number of axes.",
    "numel": "The number of entries.",
    "view": "The same entries in another shape.",
    "t": "The transpose.",
    "masked_fill": "Another value where a mask is true.",
    "chunk": "So many pieces along an axis.",
    "gather": "The entries at places along an axis.",
    "register_hook": "Calls a function with each gradient that arrives; h.remove() ends that.",
    "backward": "Adds its derivative to the gradient of every leaf it depends on.",
    "forward": "Computes it again from the current values of the leaves.",
    "retain_grad": "Keeps its gradient in later backward passes.",
    "requires_grad_": "Lets a leaf require grad, or no longer.",
    "normal_": "Writes normally distributed random numbers into it.",
    "uniform_": "Writes uniformly distributed random numbers into it.",
    "zero_": "Writes 0 into every entry.",
    "copy_": "Writes other entries into it.",
    "fill_": "Writes one number into every entry.",
    "add_": "Adds in place, as +=.",
    "sub_": "Subtracts in place, as -=.",
    "mul_": "Multiplies in place, as *=.",
    "div_": "Divides in place, as /=.",
}
