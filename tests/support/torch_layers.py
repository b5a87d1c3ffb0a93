"""Layers, losses, optimisers and schedulers as rows, each written once for torch and for agrad.

A row is computed by a function of the library, which returns arrays by names. `digest` makes one number of each, which
depends on every entry; those of torch are in torch_layers.json, which `python torch_layers.py > torch_layers.json`
writes with torch installed.
"""

import importlib
import json
import math
import sys

from torch_cases import fill, filled

# name | module | shapes of the inputs; `;` before what is called with other arguments than these inputs
MODULES = """
conv1d | nn.Conv1d(2, 3, 3) | 2 2 7
conv1d_of_one | nn.Conv1d(2, 3, 3, padding=1) | 2 7
conv1d_with_all | nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2, bias=False) | 2 4 11
conv1d_same | nn.Conv1d(1, 2, 4, padding="same", padding_mode="reflect") | 2 1 9
conv1d_circular | nn.Conv1d(1, 2, 3, padding=2, padding_mode="circular") | 2 1 6
conv2d | nn.Conv2d(2, 3, 3) | 2 2 5 6
conv2d_of_one | nn.Conv2d(2, 3, (2, 3), stride=(1, 2)) | 2 5 6
conv2d_with_all | nn.Conv2d(4, 4, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2) | 2 4 7 6
conv2d_depthwise | nn.Conv2d(3, 3, 3, padding="same", groups=3, padding_mode="replicate") | 1 3 4 5
conv2d_valid | nn.Conv2d(1, 2, 2, padding="valid") | 1 1 3 3
transposed1d | nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1) | 2 2 5
transposed2d | nn.ConvTranspose2d(4, 2, (3, 2), stride=(2, 3), padding=(1, 0), groups=2, dilation=(2, 1)) | 1 4 4 3
transposed2d_of_one | nn.ConvTranspose2d(2, 1, 2, bias=False) | 2 3 3
max_pool1d | nn.MaxPool1d(2) | 2 3 7
max_pool1d_with_all | nn.MaxPool1d(3, stride=2, padding=1, dilation=2, ceil_mode=True) | 2 1 10
max_pool2d | nn.MaxPool2d(2) | 2 2 5 6
max_pool2d_with_all | nn.MaxPool2d((3, 2), stride=(2, 1), padding=1, ceil_mode=True) | 2 2 6 5
avg_pool1d | nn.AvgPool1d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False) | 2 2 8
avg_pool2d | nn.AvgPool2d(2) | 2 2 5 6
avg_pool2d_with_all | nn.AvgPool2d((3, 2), stride=2, padding=1, ceil_mode=True) | 1 2 6 5
avg_pool2d_inside | nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False) | 2 6 5
adaptive_avg1d | nn.AdaptiveAvgPool1d(3) | 2 2 7
adaptive_avg2d | nn.AdaptiveAvgPool2d((3, None)) | 2 2 7 4
adaptive_avg2d_to_one | nn.AdaptiveAvgPool2d(1) | 2 3 4 5
adaptive_max1d | nn.AdaptiveMaxPool1d(4) | 2 7
adaptive_max2d | nn.AdaptiveMaxPool2d((2, 3)) | 2 2 5 7
group_norm | nn.GroupNorm(2, 4) | 3 4 5
group_norm_plain | nn.GroupNorm(3, 6, eps=0.1, affine=False) | 2 6 2 2
layer_norm | nn.LayerNorm(4, bias=False) | 3 4
batch_norm | nn.BatchNorm2d(3, momentum=0.3) | 2 3 2 3
batch_norm_bare | nn.BatchNorm1d(3, affine=False, track_running_stats=False) | 4 3
embedding | nn.Embedding(5, 3) | ; torch.tensor([[1, 4, 1], [0, 1, 2]])
unflatten | nn.Unflatten(1, (2, -1)) | 3 6
flatten | nn.Flatten(0, 1) | 2 3 4
prelu | nn.PReLU() | 2 3
prelu_of_channels | nn.PReLU(3, 0.1) | 2 3 4
relu6 | nn.ReLU6() | 3 4
celu | nn.CELU(0.5) | 3 4
mish | nn.Mish() | 3 4
gelu_tanh | nn.GELU(approximate="tanh") | 3 4
softplus | nn.Softplus(beta=2, threshold=1.5) | 3 4
glu | nn.GLU(dim=0) | 4 3
hard | nn.Sequential(nn.Hardsigmoid(), nn.Hardswish()) | 3 4
shrink | nn.Sequential(nn.Softshrink(0.2), nn.Tanhshrink(), nn.Hardshrink(0.01)) | 3 4
softsign | nn.Softsign() | 3 4
softmin | nn.Softmin(dim=0) | 3 4
threshold | nn.Threshold(0.1, -2.0) | 3 4
similarity | nn.CosineSimilarity(dim=1) | 3 4, 3 4
distance | nn.PairwiseDistance(p=3.0, keepdim=True) | 3 4, 3 4
rnn_cell | nn.RNNCell(3, 4) | 2 3, 2 4
rnn_cell_relu | nn.RNNCell(3, 4, bias=False, nonlinearity="relu") | 2 3
gru_cell | nn.GRUCell(3, 4) | 3, 4
gru_cell_of_several | nn.GRUCell(3, 4, bias=False) | 2 3
lstm_cell | nn.LSTMCell(3, 4) | 2 3; inputs[0], (torch.ones(2, 4), torch.zeros(2, 4))
rnn | nn.RNN(3, 4) | 5 2 3, 1 2 4
rnn_deep | nn.RNN(3, 4, 2, nonlinearity="relu", bidirectional=True) | 5 2 3
rnn_of_one | nn.RNN(3, 2, bias=False) | 4 3, 1 2
gru | nn.GRU(3, 4, batch_first=True) | 2 5 3, 1 2 4
gru_deep | nn.GRU(3, 2, num_layers=2, bidirectional=True) | 4 2 3
lstm | nn.LSTM(3, 4) | 5 2 3
lstm_deep | nn.LSTM(3, 2, 3, batch_first=True, bidirectional=True, bias=False) | 2 4 3
lstm_given | nn.LSTM(3, 2, 2) | 4 2 3; inputs[0], (torch.ones(2, 2, 2), torch.ones(2, 2, 2) * 0.5)
attention | nn.MultiheadAttention(4, 2) | 3 2 4, 5 2 4, 5 2 4
attention_of_one | nn.MultiheadAttention(4, 2, bias=False) | 3 4, 5 4, 5 4
attention_of_others | nn.MultiheadAttention(4, 2, kdim=3, vdim=5, batch_first=True) | 2 3 4, 2 6 3, 2 6 5
attention_each | nn.MultiheadAttention(6, 3, batch_first=True) | 2 3 6; *inputs * 3, average_attn_weights=False
attention_masked | nn.MultiheadAttention(4, 2, batch_first=True) | 2 3 4; *inputs * 3, torch.tensor([[False, False, True], [False] * 3]), True, torch.tensor([[False, True, True], [False, False, True], [False] * 3])
attention_added | nn.MultiheadAttention(4, 2) | 3 2 4; *inputs * 3, attn_mask=nn.Transformer.generate_square_subsequent_mask(3), need_weights=False
encoder_layer | nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0) | 3 2 4
encoder_layer_first | nn.TransformerEncoderLayer(4, 2, 8, 0.0, "gelu", 1e-3, True, True, False) | 2 3 4
encoder_masked | nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True) | 2 3 4; inputs[0], nn.Transformer.generate_square_subsequent_mask(3), torch.tensor([[False] * 3, [False, False, True]])
encoder | nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), 2, nn.LayerNorm(4)) | 3 2 4
decoder_layer | nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0) | 3 2 4, 5 2 4
decoder | nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0, norm_first=True, batch_first=True), 2) | 2 3 4, 2 5 4
transformer | nn.Transformer(4, 2, 1, 2, 8, dropout=0.0, batch_first=True) | 2 3 4, 2 5 4
several | nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3), nn.Tanh()])[1] | 2 3
"""

# function of the library | shapes of the inputs
FUNCTIONS = """
F.pad(a, (1, 2, -1, 1), value=0.5) | 2 3 4
F.pad(a, (2, 1), mode="reflect") | 2 3 4
F.pad(a, (2, 1, 1, 2), mode="replicate") | 1 2 3 4
F.pad(a, (3, 0), mode="circular") | 2 2 4
F.scaled_dot_product_attention(a, b, b) | 2 3 4, 2 5 4
F.scaled_dot_product_attention(a, b, b, is_causal=True, scale=0.3) | 2 3 4, 2 3 4
F.scaled_dot_product_attention(a, a, a, attn_mask=torch.tensor([[True, False, True]] * 3)) | 2 3 4
torch.triu(a, diagonal=1) * 2 + torch.tril(a, diagonal=-1) | 3 3
F.normalize(a, p=1.0, dim=0) | 3 4
F.one_hot(torch.tensor([2, 0, 1]), 4) * a | 3 4
F.batch_norm(a, None, None, training=True) | 4 3
F.gelu(a, approximate="tanh") + F.relu6(a) | 3 4
F.conv2d(a, b, stride=2) | 1 2 5 5, 3 2 2 2
F.max_pool2d(F.relu(a), 2) | 2 1 6 6
F.avg_pool2d(a, 3, 1, 1) | 1 1 4 4
nn.MSELoss(size_average=False)(a, b) | 3 4, 3 4
nn.L1Loss(reduce=False)(a, b) | 3 4, 3 4
nn.SmoothL1Loss(beta=0.3)(a, b) | 3 4, 3 4
nn.SmoothL1Loss(reduction="none")(a * 3, b) | 3 4, 3 4
nn.HuberLoss(delta=0.2)(a, b) | 3 4, 3 4
nn.KLDivLoss(reduction="batchmean")(F.log_softmax(a, 1), F.softmax(b, 1)) | 3 4, 3 4
nn.KLDivLoss(log_target=True)(F.log_softmax(a, 1), F.log_softmax(b, 1)) | 3 4, 3 4
nn.KLDivLoss(reduction="none")(a, torch.tensor([[0.0, 0.4, 0.6]])) | 1 3
nn.BCELoss(weight=torch.tensor([0.5, 2.0]))(torch.sigmoid(a), torch.sigmoid(b)) | 3 2, 3 2
nn.BCEWithLogitsLoss(pos_weight=torch.tensor([3.0, 0.5]))(a * 4, torch.sigmoid(b)) | 3 2, 3 2
nn.BCEWithLogitsLoss(torch.tensor([0.1, 0.5]), reduction="sum")(a * 4, torch.sigmoid(b)) | 3 2, 3 2
nn.NLLLoss(torch.tensor([1.0, 0.5, 2.0]))(a, torch.tensor([2, 0, 1, 1])) | 4 3
nn.NLLLoss(ignore_index=1)(a, torch.tensor([2, 0, 1, 1])) | 4 3
nn.NLLLoss(torch.tensor([1.0, 0.5, 2.0]), ignore_index=0, reduction="none")(a, torch.tensor([2, 0, 1, 1])) | 4 3
nn.NLLLoss(reduction="none")(a, torch.tensor([[2, 0], [1, 1]])) | 2 3 2
nn.CrossEntropyLoss(torch.tensor([1.0, 0.5, 2.0]), label_smoothing=0.2)(a, torch.tensor([2, 0, 1, 1])) | 4 3
nn.CrossEntropyLoss(ignore_index=0, reduction="sum")(a, torch.tensor([2, 0, 1, 1])) | 4 3
nn.CrossEntropyLoss()(a, torch.tensor([[[2, 0], [1, 1]], [[0, 0], [2, 1]]])) | 2 3 2 2
nn.CrossEntropyLoss(label_smoothing=0.1)(a, F.softmax(torch.ones(2, 3, 2) * torch.arange(3.0).reshape(1, 3, 1), 1)) | 2 3 2
nn.CrossEntropyLoss(ignore_index=1, reduction="none")(a, torch.tensor([[2, 0], [1, 1]])) | 2 3 2
nn.CrossEntropyLoss()(a, torch.tensor(1)) | 3
nn.SoftMarginLoss()(a * 3, torch.tensor([[1.0, -1.0, 1.0]])) | 1 3
nn.HingeEmbeddingLoss(margin=0.7)(a, torch.tensor([1.0, -1.0, -1.0, 1.0])) | 4
nn.MarginRankingLoss(margin=0.3)(a, b, torch.tensor([1.0, -1.0, 1.0, -1.0])) | 4, 4
nn.MarginRankingLoss()(a, a * 1, torch.tensor([1.0, -1.0, 1.0, -1.0])) | 4
nn.CosineEmbeddingLoss(margin=0.1)(a, b + 0.2, torch.tensor([1.0, -1.0, -1.0])) | 3 4, 3 4
nn.TripletMarginLoss()(a, b, c) | 3 4, 3 4, 3 4
nn.TripletMarginLoss(margin=2.0, p=1.0, swap=True, reduction="sum")(a, b + 0.1, c - 0.3) | 3 4, 3 4, 3 4
"""

DISTRIBUTIONS = """
D.Normal(a, torch.exp(b)).log_prob(c) | 3 4, 4, 2 3 4
D.Normal(a, torch.exp(b)).entropy() | 3, 3
[D.Normal(a, 2.0).cdf(b), D.Normal(a, torch.exp(b)).mean, D.Normal(a, torch.exp(b)).stddev] | 3, 3
D.kl_divergence(D.Normal(a, torch.exp(b)), D.Normal(b, torch.exp(a))) | 3, 3
[D.Uniform(a - 3, torch.exp(b)).log_prob(c), D.Uniform(a - 3, torch.exp(b)).entropy()] | 3, 3, 3
[D.Uniform(a - 3, torch.exp(b)).mean, D.Uniform(a - 3, torch.exp(b)).variance] | 3, 3
D.kl_divergence(D.Uniform(a - 3, b + 3), D.Uniform(a - 4, b + 5)) | 3, 3
[D.Exponential(torch.exp(a)).log_prob(b * b), D.Exponential(torch.exp(a)).entropy(), D.Exponential(torch.exp(a)).stddev] | 3, 3
D.kl_divergence(D.Exponential(torch.exp(a)), D.Exponential(torch.exp(b))) | 3, 3
[D.Bernoulli(torch.sigmoid(a)).log_prob(torch.tensor([1.0, 0.0, 1.0])), D.Bernoulli(torch.sigmoid(a)).entropy()] | 3
[D.Bernoulli(logits=a).log_prob(torch.ones(2, 3)), D.Bernoulli(logits=a).variance, D.Bernoulli(logits=a).mean] | 3
D.kl_divergence(D.Bernoulli(torch.sigmoid(a)), D.Bernoulli(logits=b)) | 3, 3
[D.Categorical(torch.exp(a)).log_prob(torch.tensor([2, 0])), D.Categorical(torch.exp(a)).entropy()] | 2 3
[D.Categorical(logits=a).log_prob(torch.tensor([[2], [0], [1]])), D.Categorical(logits=a).probs] | 2 3
D.kl_divergence(D.Categorical(torch.exp(a)), D.Categorical(logits=b)) | 2 3, 2 3
[D.MultivariateNormal(a, torch.exp(b) * 0.1 * torch.ones(3, 3) + torch.eye(3)).log_prob(c), D.MultivariateNormal(a, torch.eye(3) * torch.exp(b)).entropy()] | 3, , 4 3
[D.MultivariateNormal(a, scale_tril=torch.tril(b) + 3 * torch.eye(3)).log_prob(a * 2), D.MultivariateNormal(a, scale_tril=torch.tril(b) + 3 * torch.eye(3)).variance] | 3, 3 3
D.kl_divergence(D.MultivariateNormal(a, torch.eye(3) * 2 + 0.5), D.MultivariateNormal(b, scale_tril=torch.eye(3))) | 3, 3
"""

OPTIMIZERS = """
SGD(p, lr=0.05, momentum=0.9, maximize=True)
SGD(p, 0.05, 0.9, nesterov=True, weight_decay=0.01)
Adam(p, lr=0.02, amsgrad=True, weight_decay=0.1, maximize=True)
Adam(p, lr=0.02, weight_decay=0.1, decoupled_weight_decay=True)
AdamW(p, 0.02, (0.8, 0.95), 1e-6, 0.1, True)
NAdam(p, lr=0.02)
NAdam(p, 0.02, weight_decay=0.1, decoupled_weight_decay=True, momentum_decay=0.01)
NAdam(p, 0.02, weight_decay=0.1)
RAdam(p, lr=0.02)
RAdam(p, lr=0.02, betas=(0.8, 0.9), weight_decay=0.1, decoupled_weight_decay=True)
Adamax(p, lr=0.02, weight_decay=0.1)
Adagrad(p)
Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.2)
Adadelta(p)
Adadelta(p, lr=0.5, rho=0.8, weight_decay=0.1)
RMSprop(p, lr=0.01, centered=True, momentum=0.5)
RMSprop(p, 0.01, 0.9, weight_decay=0.02)
Rprop(p)
Rprop(p, lr=0.02, etas=(0.4, 1.5), step_sizes=(1e-3, 0.1))
LBFGS(p, lr=0.1)
LBFGS(p, lr=0.5, max_iter=4, history_size=3)
LBFGS(p, line_search_fn="strong_wolfe", max_iter=5)
LBFGS(p, lr=2, line_search_fn="strong_wolfe", history_size=2, tolerance_change=1e-3)
"""

SCHEDULERS = """
LambdaLR(opt, lambda epoch: 0.9**epoch)
LambdaLR(opt, [lambda epoch: 1 / (1 + epoch), lambda epoch: 0.5])
MultiplicativeLR(opt, lambda epoch: 0.95)
StepLR(opt, 3, 0.5)
MultiStepLR(opt, [2, 5, 5, 11], gamma=0.5)
ConstantLR(opt, factor=0.5, total_iters=4)
LinearLR(opt, start_factor=0.2, total_iters=6)
LinearLR(opt, 1.0, 0.1, 9)
ExponentialLR(opt, 0.9)
CosineAnnealingLR(opt, 7, 0.001)
CosineAnnealingWarmRestarts(opt, 4, 2, 0.001)
CosineAnnealingWarmRestarts(opt, 3)
OneCycleLR(opt, 0.3, total_steps=20)
OneCycleLR(opt, [0.3, 0.2], epochs=5, steps_per_epoch=5, anneal_strategy="linear", three_phase=True, pct_start=0.25)
OneCycleLR(opt, 0.3, total_steps=25, cycle_momentum=False, final_div_factor=10)
SequentialLR(opt, [LinearLR(opt, 0.1, total_iters=4), ExponentialLR(opt, 0.9)], [4])
SequentialLR(opt, [ConstantLR(opt, 0.1, 3), CosineAnnealingLR(opt, 6), StepLR(opt, 2, 0.5)], milestones=[3, 9])
ReduceLROnPlateau(opt, patience=1)
ReduceLROnPlateau(opt, "max", 0.5, 0, threshold=0.1, threshold_mode="abs", cooldown=2, min_lr=[0.01, 0.02])
"""


def rows(text):
    return [[cell.strip() for cell in line.split(" | ")] for line in text.strip().splitlines()]


def flat(found):
    if isinstance(found, tuple | list):
        return [one for part in found for one in flat(part)]
    return [] if found is None else [found]


# In PyTorch, the derivative of hardsigmoid has a sixth in single precision. LBFGS divides by differences of gradients,
# which makes more of a last place; PyTorch's own is another one on another processor.
ROUNDED = {"module hard": 1e-8, "optimizer LBFGS(p, lr=0.1)": 1e-11}


def measured(torch, found, leaves):
    """The values, and the gradients of all leaves by a sum of them with different weights."""
    values = flat(found)
    sum((value * filled(torch, *value.shape)).sum() for value in values).backward()
    named = {f"value {place}": value.tolist() for place, value in enumerate(values)}
    return named | {
        f"grad of {name}": None if leaf.grad is None else leaf.grad.tolist() for name, leaf in leaves.items()
    }


def names(torch):
    nn, ours = torch.nn, torch.__name__.startswith("agrad")
    distributions = importlib.import_module("agrad.torch.distributions" if ours else "torch.distributions")
    return {"torch": torch, "nn": nn, "F": nn.functional, "D": distributions}


def leaves_of(torch, text):
    shapes = [[int(length) for length in shape.split()] for shape in text.split(",") if text]
    return [
        (filled(torch, *shape) * (1 + 0.1 * place) + 0.03 * place).requires_grad_()
        for place, shape in enumerate(shapes)
    ]


def of_module(torch, row):
    _, made, given = row
    shapes, _, call = given.partition(";")
    module = fill(torch, eval(made, names(torch)))
    inputs = leaves_of(torch, shapes)
    found = eval(f"module({call or '*inputs'})", names(torch) | {"module": module, "inputs": inputs})
    leaves = {f"input {place}": leaf for place, leaf in enumerate(inputs)} | dict(module.named_parameters())
    told = measured(torch, found, leaves)
    buffers = {name: buffer.tolist() for name, buffer in module.named_buffers() if buffer.ndim}
    return told | buffers | {"repr": repr(module), "state": list(module.state_dict())}


def of_function(torch, row):
    text, shapes = row
    leaves = dict(zip("abc", leaves_of(torch, shapes), strict=False))
    return measured(torch, eval(text, names(torch) | leaves), leaves)


def model_of(torch):
    nn = torch.nn
    return fill(torch, nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)))


def of_optimizer(torch, row):
    model = model_of(torch)
    opt = eval(f"optim.{row[0]}", {"optim": torch.optim, "p": model.parameters()})
    x, y = filled(torch, 6, 3), torch.cos(filled(torch, 6, 2))

    def closure():
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        return loss

    count = 5 if row[0].startswith("LBFGS") else 20  # since it enlarges differences in the last place
    losses = [opt.step(closure).item() for _ in range(count)]
    settings = {key: value for key, value in opt.param_groups[0].items() if key not in ("params", "fused", "foreach")}
    return {
        "losses": losses,
        "settings": sorted(map(repr, settings)),
        **{n: p.tolist() for n, p in model.named_parameters()},
    }


def of_scheduler(torch, row):
    model = model_of(torch)
    groups = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.3}]
    opt = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
    plan = eval(
        row[0], {name: getattr(torch.optim.lr_scheduler, name) for name in dir(torch.optim.lr_scheduler)} | {"opt": opt}
    )
    rates, momenta = [], []
    for epoch in range(20):
        model(filled(torch, 6, 3)).square().sum().backward()
        rates.append([group["lr"] for group in opt.param_groups])
        momenta.append([group["momentum"] for group in opt.param_groups])
        opt.step()
        plan.step(*[1.0 / (1 + min(epoch, 4))] * row[0].startswith("Reduce"))
    return {"rates": rates, "momenta": momenta, "last": plan.get_last_lr()}


KINDS = {
    "module": (of_module, MODULES),
    "function": (of_function, FUNCTIONS),
    "distribution": (of_function, DISTRIBUTIONS),
    "optimizer": (of_optimizer, OPTIMIZERS),
    "scheduler": (of_scheduler, SCHEDULERS),
}
CASES = {f"{kind} {row[0]}": (function, row) for kind, (function, text) in KINDS.items() for row in rows(text)}


def digest(value):
    """One number of nested numbers, which depends on each; a text as it is."""
    entries = flat(value)
    if any(isinstance(entry, str) for entry in entries):
        return value
    return math.fsum(entry * math.sin(place + 1.0) for place, entry in enumerate(entries))


if __name__ == "__main__":
    import torch as library

    library.set_default_dtype(library.float64)
    found = {name: function(library, row) for name, (function, row) in CASES.items()}
    if sys.argv[1:] != ["--all"]:
        found = {name: {what: digest(value) for what, value in told.items()} for name, told in found.items()}
    json.dump(found, sys.stdout, indent=0)
