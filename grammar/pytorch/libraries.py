"""Which of agrad's names PyTorch, NumPy and Python's math have, and in which of their modules.

A pasted `torch.sin` is `sin`; `torch.foo.sin` is nothing, and neither is `torch.interp`, which is NumPy's. A name that
means something else there, such as `torch.range` and `np.random.gamma`, is left out. The table was read off torch 2.13
and NumPy 2; a test compares it with what is installed.
"""

from __future__ import annotations

from functools import cache

# fmt: off
_NAMES = {
    "torch": (
        "abs absolute acos acosh add all any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax "
        "argmin argsort as_tensor asarray asin asinh atan atan2 atanh binary_cross_entropy_with_logits bmm bool cat "
        "ceil cholesky clamp clip clone concat concatenate copysign corrcoef cos cosh cov cross cumprod cumsum "
        "deg2rad det detach diag diagonal digamma div divide dot double dropout e einsum embedding eq equal erf erfc "
        "erfinv exp exp2 expm1 eye flatten flip float float16 float32 float64 floor floor_divide fmod from_numpy full "
        "gcd ge greater greater_equal gt half heaviside hypot i0 inf int int32 int64 inverse isfinite isnan kron "
        "layer_norm lcm le less less_equal lgamma linspace log log10 log1p log2 log_softmax logaddexp logit logsumexp "
        "long lstsq lt manual_seed matmul matrix_power max maximum mean median min minimum mm mul multiply mv nan "
        "nanmean nansum ne neg negative norm not_equal ones ones_like outer permute pi polygamma pow prod qr quantile "
        "rad2deg rand randn reciprocal relu remainder reshape roll round rsqrt selu sigmoid sign sin sinc sinh "
        "slogdet softmax solve sort split sqrt square squeeze stack std sub subtract sum svd tan tanh tensor tile "
        "topk trace transpose tril triu trunc unsqueeze var where xlogy zeros zeros_like"
    ),
    "torch.nn.functional": (
        "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy dropout elu embedding gelu grad hardtanh "
        "huber_loss l1_loss layer_norm leaky_relu linear log_softmax logsigmoid mse_loss nll_loss relu selu sigmoid "
        "silu softmax softplus tanh"
    ),
    "torch.linalg": (
        "cholesky cross det diagonal eigh inv lstsq matmul matrix_power norm pinv qr slogdet solve solve_triangular "
        "svd"
    ),
    "torch.special": (
        "digamma entr erf erfc erfinv exp2 expm1 gammainc gammaincc i0 i1 log1p log_ndtr log_softmax logit logsumexp "
        "multigammaln ndtr ndtri polygamma round sinc softmax xlog1py xlogy"
    ),
    "torch.autograd": "Variable grad",
    "torch.autograd.functional": "hessian hvp jacobian jvp vjp",
    "torch.func": "grad hessian jvp vjp",
    "torch.random": "manual_seed",
    "np": (
        "abs absolute acos acosh add all any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax "
        "argmin argsort array asarray asin asinh atan atan2 atanh bool cbrt ceil clip concat concatenate convolve "
        "copysign corrcoef correlate cos cosh cov cross cumprod cumsum deg2rad diag diagonal divide dot double e "
        "einsum equal exp exp2 expm1 eye fabs flip float16 float32 float64 floor floor_divide fmod full gcd greater "
        "greater_equal half heaviside hypot i0 inf int32 int64 interp isfinite isnan kron lcm less less_equal "
        "linspace log log10 log1p log2 logaddexp long matmul max maximum mean median min minimum mod multiply nan "
        "nanmax nanmean nanmin nanstd nansum nanvar negative not_equal ones ones_like outer percentile pi pow power "
        "prod quantile rad2deg reciprocal remainder repeat reshape roll round sign sin sinc sinh sort split sqrt "
        "square squeeze stack std subtract sum tan tanh tile trace transpose tril triu trunc var where zeros "
        "zeros_like"
    ),
    "np.linalg": (
        "cholesky cross det diagonal eigh inv lstsq matmul matrix_power norm outer pinv qr slogdet solve svd trace"
    ),
    "np.random": "rand randn",
    "math": (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh e erf erfc exp exp2 expm1 fabs floor "
        "fmod gamma gcd hypot inf isfinite isnan lcm lgamma log log10 log1p log2 nan perm pi pow prod remainder sin "
        "sinh sqrt tan tanh tau trunc"
    ),
}
# fmt: on


@cache
def names_in(prefix: str) -> frozenset[str]:
    """The names of a module; none for one that does not exist, or that has nothing of what agrad has."""
    return frozenset(_NAMES.get(prefix, "").split())


def modules() -> tuple[str, ...]:
    """The modules that have names of agrad."""
    return tuple(_NAMES)
