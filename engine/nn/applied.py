"""Modules without parameters, each of which calls one function of `functional`: activations, pooling and losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.core.dispatch import shape_of_any
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn import functional
from agrad.engine.nn.convolution import each_of
from agrad.engine.nn.formed import Formed
from agrad.engine.ops.tensor_methods import overwrite

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AvgPool1d", "AvgPool2d", "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss",
    "CosineSimilarity", "CrossEntropyLoss", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LeakyReLU", "LogSigmoid", "LogSoftmax", "MSELoss",
    "MarginRankingLoss", "MaxPool1d", "MaxPool2d", "Mish", "NLLLoss", "PairwiseDistance", "ReLU",
    "ReLU6", "SiLU", "Sigmoid", "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmin", "Softplus", "Softshrink",
    "Softsign", "Tanh", "Tanhshrink", "Threshold", "TripletMarginLoss",
]  # fmt: skip


def over(x: Any, value: Any, inplace: bool) -> Any:
    """The value; with `inplace`, it is written over x, which then has its graph."""
    both = isinstance(x, Tensor) and isinstance(value, Tensor)
    return overwrite(x, value, "inplace=True") if inplace and both and value is not x else value


def _called(name: str) -> Callable[..., Any]:
    """A function of that name; a class of a script may have chosen it."""
    if name[:1] == "_":
        raise AttributeError(f"torch.nn.functional has no {name}")
    return getattr(functional, name)  # type: ignore[no-any-return]


class _Applied(Formed):
    """The base of these modules: the settings, which are arguments of the function, are those of the module."""

    function = ""
    inputs = 1

    def build(self, settings: dict[str, Any]) -> None:
        """Keep the settings that the function takes, by their names."""
        self.inplace = bool(settings.pop("inplace", False))
        self._settings = tuple(settings)

    def forward(self, *inputs: Any) -> Any:
        """The value of the function."""
        if len(inputs) != self.inputs:
            count = "1 value" if self.inputs == 1 else f"{self.inputs} values"
            raise AgradError("arity", f"{type(self).__name__} takes {count}, and got {len(inputs)}")
        found = _called(self.function)(*inputs, **{name: getattr(self, name) for name in self._settings})
        return over(inputs[0], found, self.inplace)


def spelled_out(settings: dict[str, Any]) -> dict[str, str]:
    """The reduction that its older spelling names, which is taken out of the settings; nothing without it."""
    averaged, reduced = settings.pop("size_average", None), settings.pop("reduce", None)
    if averaged is None and reduced is None:
        return {}
    return {"reduction": "none" if reduced is False else "sum" if averaged is False else "mean"}


class _Loss(_Applied):
    """A loss; `size_average` and `reduce` are an older spelling of its reduction."""

    inputs = 2

    def build(self, settings: dict[str, Any]) -> None:
        """Without the older spelling. Weights are a part of the state, as in PyTorch."""
        self.__dict__.update(spelled_out(settings))
        for name in [one for one in settings if one in ("weight", "pos_weight")]:
            delattr(self, name)
            value = settings[name]
            self.register_buffer(name, value if value is None or isinstance(value, Tensor) else tensor(value))
        super().build(settings)


def _applied(name: str, function: str, form: str = "", base: type[_Applied] = _Applied, **facts: Any) -> type[_Applied]:
    """The class of modules that call a function. All settings but those of losses are shown, `inplace` if it is on."""
    names = [part.partition("=")[0].strip() for part in form.split(",") if part]
    shown = " ".join("inplace?" if one == "inplace" else f"{one}=" for one in names)
    body = {"function": function, "form": form, "__doc__": f"`{function}` as a module.", "__module__": __name__}
    return type(name, (base,), body | ({} if issubclass(base, _Loss) else {"shown": shown}) | facts)


class _Along(_Applied):
    """A function along an axis; without one, PyTorch chooses the first of 0, 1 or 3 axes, and else the second."""

    def forward(self, *inputs: Any) -> Any:
        """The value."""
        axis = (0 if len(shape_of_any(inputs[0])) in (0, 1, 3) else 1) if self.dim is None else self.dim
        return _called(self.function)(inputs[0], int(axis))


ReLU = _applied("ReLU", "relu", "inplace=False")
ReLU6 = _applied("ReLU6", "relu6", "inplace=False")
Sigmoid = _applied("Sigmoid", "sigmoid")
Tanh = _applied("Tanh", "tanh")
SiLU = _applied("SiLU", "silu", "inplace=False")
Mish = _applied("Mish", "mish", "inplace=False")
LogSigmoid = _applied("LogSigmoid", "logsigmoid")
LeakyReLU = _applied("LeakyReLU", "leaky_relu", "negative_slope=0.01, inplace=False")
ELU = _applied("ELU", "elu", "alpha=1.0, inplace=False")
CELU = _applied("CELU", "celu", "alpha=1.0, inplace=False")
SELU = _applied("SELU", "selu", "inplace=False")
GELU = _applied("GELU", "gelu", "approximate='none'")
GLU = _applied("GLU", "glu", "dim=-1")
Hardtanh = _applied("Hardtanh", "hardtanh", "min_val=-1.0, max_val=1.0, inplace=False")
Hardsigmoid = _applied("Hardsigmoid", "hardsigmoid", "inplace=False")
Hardswish = _applied("Hardswish", "hardswish", "inplace=False")
Softplus = _applied("Softplus", "softplus", "beta=1.0, threshold=20.0")
Softsign = _applied("Softsign", "softsign")
Softshrink = _applied("Softshrink", "softshrink", "lambd=0.5", shown="lambd")
Hardshrink = _applied("Hardshrink", "hardshrink", "lambd=0.5", shown="lambd")
Tanhshrink = _applied("Tanhshrink", "tanhshrink")
Threshold = _applied("Threshold", "threshold", "threshold, value, inplace=False", reals=("threshold", "value"))
Softmax = _applied("Softmax", "softmax", "dim=None", _Along)
Softmin = _applied("Softmin", "softmin", "dim=None", _Along)
LogSoftmax = _applied("LogSoftmax", "log_softmax", "dim=None", _Along)

# Pooling


class _Pool(_Applied):
    """Pooling by windows, which lie side by side unless a stride is given."""

    def build(self, settings: dict[str, Any]) -> None:
        """Without the places of the largest entries, which are not computed."""
        if settings.pop("return_indices", False):
            raise AgradError("type", f"{type(self).__name__} gives the values alone, without their indices")
        if settings.get("stride", 0) is None:
            self.stride = self.kernel_size
        if self.function == "avg_pool1d":  # as PyTorch shows them
            for name in ("kernel_size", "stride", "padding"):
                setattr(self, name, each_of(type(self).__name__, name, getattr(self, name), 1))
        super().build(settings)


def _pool(name: str, function: str, form: str, shown: str = "output_size=") -> type[_Applied]:
    """The class of modules that pool."""
    return _applied(name, function, form, _Pool, shown=shown, reals=("output_size",))


_SIDES = "kernel_size= stride= padding="
_WINDOW = "kernel_size, stride=None, padding=0"
_MAX = f"{_WINDOW}, dilation=1, return_indices=False, ceil_mode=False"
_AVG = f"{_WINDOW}, ceil_mode=False, count_include_pad=True"
MaxPool1d = _pool("MaxPool1d", "max_pool1d", _MAX, f"{_SIDES} dilation= ceil_mode=")
MaxPool2d = _pool("MaxPool2d", "max_pool2d", _MAX, f"{_SIDES} dilation= ceil_mode=")
AvgPool1d = _pool("AvgPool1d", "avg_pool1d", _AVG, _SIDES)
AvgPool2d = _pool("AvgPool2d", "avg_pool2d", _AVG, _SIDES)
AdaptiveAvgPool1d = _pool("AdaptiveAvgPool1d", "adaptive_avg_pool1d", "output_size")
AdaptiveAvgPool2d = _pool("AdaptiveAvgPool2d", "adaptive_avg_pool2d", "output_size")
AdaptiveMaxPool1d = _pool("AdaptiveMaxPool1d", "adaptive_max_pool1d", "output_size, return_indices=False")
AdaptiveMaxPool2d = _pool("AdaptiveMaxPool2d", "adaptive_max_pool2d", "output_size, return_indices=False")

# Losses, of which PyTorch shows no settings


def _loss(name: str, function: str, form: str, inputs: int = 2) -> type[_Applied]:
    """The class of losses. In the form, `reduction` stands for itself and its older spelling."""
    spelled = "size_average=None, reduce=None, reduction='mean'"
    return _applied(name, function, form.replace("reduction", spelled), _Loss, inputs=inputs)


CosineSimilarity = _loss("CosineSimilarity", "cosine_similarity", "dim=1, eps=1e-08")
PairwiseDistance = _loss("PairwiseDistance", "pairwise_distance", "p=2.0, eps=1e-06, keepdim=False")
MSELoss = _loss("MSELoss", "mse_loss", "reduction")
L1Loss = _loss("L1Loss", "l1_loss", "reduction")
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", "reduction, beta=1.0")
HuberLoss = _applied("HuberLoss", "huber_loss", "reduction='mean', delta=1.0", _Loss)
BCELoss = _loss("BCELoss", "binary_cross_entropy", "weight=None, reduction")
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "weight=None, reduction, pos_weight=None"
)
_CLASSES = "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'"
CrossEntropyLoss = _applied("CrossEntropyLoss", "cross_entropy", f"{_CLASSES}, label_smoothing=0.0", _Loss)
NLLLoss = _applied("NLLLoss", "nll_loss", _CLASSES, _Loss)
KLDivLoss = _loss("KLDivLoss", "kl_div", "reduction, log_target=False")
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss", "reduction")
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", "margin=1.0, reduction")
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", "margin=0.0, reduction", 3)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", "margin=0.0, reduction", 3)
TripletMarginLoss = _loss(
    "TripletMarginLoss", "triplet_margin_loss", "margin=1.0, p=2.0, eps=1e-06, swap=False, reduction", 3
)
