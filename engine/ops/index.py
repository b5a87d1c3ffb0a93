"""Which module makes which row of the tables of operations: made by `make table`.

`-name` is an operation for rules only, and no function; `+name` a function, and no operation. `name.` is also a method.
"""

ROWS = """
autodiff.transforms: +grad +jacobian +hessian +jvp +vjp +hvp
autodiff.uncertainty: +normal +uniform +triangular +arcsine +trapezoidal +from_sample +measured +correlated +covariance.
    +correlation.
ops.arrays.shaping: expand. -sum_to reshape. permute. -swap transpose. +flatten. +squeeze. +unsqueeze. flip. roll.
ops.scalar.comparison: equal not_equal less less_equal greater greater_equal where maximum. minimum. clip. isnan.
    isfinite.
ops.scalar.arithmetic: add. sub. mul. div. neg. floor_divide. remainder. +mod. pow.
ops.creation: +tensor +Variable +zeros +ones +full +zeros_like +ones_like +eye +arange +linspace +rand +randn
    +manual_seed
ops.arrays.indexing: -getitem -scatter -index_put -entries_at -put_at -take_along -put_along
ops.data_files: +load_csv +load_npy +chunks
ops.graph: clone. +detach. -own -stop -depends -custom
ops.arrays.convolution: +convolve. +correlate. +interp. -convolution -interval
ops.arrays.joining: concat stack +split. +repeat. +tile. +diagonal. +diag. +tril. +triu. +outer.
ops.arrays.reduction: sum. mean. +max. +min. -amax -amin any. all. -projection -direction -centre var. std.
ops.arrays.cumulative: cumsum. -recurrence cumprod. prod.
ops.arrays.order: argmax. argmin. argsort. +sort. +topk. -topk_places -lower_middle -upper_middle median.
ops.arrays.scan: +scan -scanned
ops.linalg.determinant: -minor_form
ops.linalg.matrices: matmul. +dot. +trace. +kron. inv. solve. det. +slogdet. +matrix_power. +cross. -inverse_if_any
    -slogdet_sign -slogdet_log
ops.scalar.elementary: exp. exp2. expm1. -inverse_of_positive log. log2. log10. log1p. sqrt. cbrt. rsqrt. square.
    reciprocal. -ratio -hypot_slope hypot. sign. abs. floor. ceil. trunc. round. fmod.
ops.arrays.statistics: +quantile. +percentile. +cov. +corrcoef. +nansum. +nanmean. +nanmax. +nanmin. +nanvar. +nanstd.
ops.linalg.decomposition: cholesky. +eigh. +svd. +qr. -eigh_values -eigh_vectors -svd_values -svd_left -svd_right -qr_q
    -qr_r pinv. lstsq.
ops.linalg.einsum: einsum
ops.linalg.equations: solve_sylvester +solve_banded -banded_solution expm. +solve_triangular. +cho_solve.
ops.linalg.norms: +norm. -p_norm
ops.scalar.trigonometry: sin. cos. tan. -one_less_square asin. acos. atan. atan2 sinh. cosh. tanh. -sech_squared asinh.
    acosh. atanh. deg2rad. rad2deg. sinc. -sinc_derivative
ops.scalar.special: erf. erfc. erfinv. -normal_density ndtr. gamma. lgamma. digamma. +polygamma -digamma_derivative
    -digamma_difference -beta_mixed -beta_slope beta. lbeta. -bessel_j -bessel_i j0. j1. i0. i1. -over_positive xlogy.
    xlog1py. gammasgn. -reciprocal_gamma_derivative rgamma. +multigammaln.
ops.nn.activations: relu. leaky_relu. elu. selu. hardtanh. sigmoid. -sigmoid_slope softplus. logsigmoid. silu. gelu.
    logaddexp. softmax. log_softmax. logsumexp. -weighted_share -weighted_logsumexp
ops.nn.layers: +linear. +dropout. +layer_norm. +embedding.
ops.nn.losses: +mse_loss. +l1_loss. +huber_loss. +binary_cross_entropy. +binary_cross_entropy_with_logits.
    +cross_entropy. +nll_loss. -squared_error -probability
ops.scalar.bessel: +jv +yv +iv +kv +ive +kve +y0. +y1. -bessel_jv -bessel_yv -bessel_iv -bessel_kv -bessel_ive
    -bessel_kve
ops.scalar.combinatorics: comb perm gcd. lcm.
ops.scalar.probability: ndtri. erfcinv. -hazard_derivative -hazard_slope -normal_hazard log_ndtr. logit. entr.
    -gamma_slope gammainc gammaincc -betainc_slope betainc
ops.scalar.steps: +copysign. +heaviside. -sign_bit -step
ops.solvers.functions: +argmin. +root +integral +ode +taylor -solved
ops.arrays.windows: -windows -overlaid
ops.arrays.pairs: +cmul. +cdiv. +polar rfft. irfft. roots
"""
OPERATORS = (
    "add + 1 add, sub - 1 sub, mul * 2 mul, div / 2 truediv, neg - 3 neg, floor_divide // 2 floordiv, remainder % "
    "2 mod, pow ** 4 pow right, equal == 0 eq, not_equal != 0 ne, less < 0 lt, less_equal <= 0 le, greater > 0 "
    "gt, greater_equal >= 0 ge, matmul @ 2 matmul "
)
OPERANDS = "a b c d g hi i k lo n q v x xs y z"  # their names, of all operations
