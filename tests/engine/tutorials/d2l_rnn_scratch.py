# d2l: recurrent networks from scratch: text, one-hot, truncated gradients, perplexity.
import math
import torch
from torch import nn
from torch.nn import functional as F

text = "the time machine by h g wells the time traveller for so it will be convenient to speak of him"
chars = sorted(set(text))
index = {c: i for i, c in enumerate(chars)}
corpus = [index[c] for c in text]
vocab = len(chars)
print(F.one_hot(torch.tensor([0, 2]), 5))
X = torch.arange(10).reshape((2, 5))
print(F.one_hot(X.T, 12).shape)


def get_params(vocab_size, num_hiddens):
    def normal(shape):
        return torch.randn(size=shape) * 0.01

    W_xh = normal((vocab_size, num_hiddens))
    W_hh = normal((num_hiddens, num_hiddens))
    b_h = torch.zeros(num_hiddens)
    W_hq = normal((num_hiddens, vocab_size))
    b_q = torch.zeros(vocab_size)
    params = [W_xh, W_hh, b_h, W_hq, b_q]
    for param in params:
        param.requires_grad_(True)
    return params


def init_rnn_state(batch_size, num_hiddens):
    return (torch.zeros((batch_size, num_hiddens)),)


def rnn(inputs, state, params):
    W_xh, W_hh, b_h, W_hq, b_q = params
    H, = state
    outputs = []
    for X in inputs:
        H = torch.tanh(torch.mm(X, W_xh) + torch.mm(H, W_hh) + b_h)
        Y = torch.mm(H, W_hq) + b_q
        outputs.append(Y)
    return torch.cat(outputs, dim=0), (H,)


class RNNModelScratch:
    def __init__(self, vocab_size, num_hiddens, get_params, init_state, forward_fn):
        self.vocab_size, self.num_hiddens = vocab_size, num_hiddens
        self.params = get_params(vocab_size, num_hiddens)
        self.init_state, self.forward_fn = init_state, forward_fn

    def __call__(self, X, state):
        X = F.one_hot(X.T, self.vocab_size).type(torch.float32)
        return self.forward_fn(X, state, self.params)

    def begin_state(self, batch_size):
        return self.init_state(batch_size, self.num_hiddens)


torch.manual_seed(0)
net = RNNModelScratch(vocab, 16, get_params, init_rnn_state, rnn)
state = net.begin_state(1)
Y, new_state = net(torch.tensor([[0, 1, 2]]), state)
print(Y.shape, len(new_state), new_state[0].shape)


def predict(prefix, num_preds, net):
    state = net.begin_state(batch_size=1)
    outputs = [index[prefix[0]]]
    get_input = lambda: torch.tensor([outputs[-1]]).reshape((1, 1))
    for y in prefix[1:]:
        _, state = net(get_input(), state)
        outputs.append(index[y])
    for _ in range(num_preds):
        y, state = net(get_input(), state)
        outputs.append(int(y.argmax(dim=1).reshape(1)))
    return "".join([chars[i] for i in outputs])


def grad_clipping(net, theta):
    params = [p for p in net.params if p.requires_grad]
    norm = torch.sqrt(sum(torch.sum((p.grad ** 2)) for p in params))
    if norm > theta:
        for param in params:
            param.grad[:] *= theta / norm


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


loss = nn.CrossEntropyLoss()
num_steps, batch = 9, 2
for epoch in range(12):
    state, total, count = None, 0.0, 0
    length = (len(corpus) - 1) // batch * batch
    Xs = torch.tensor(corpus[:length]).reshape(batch, -1)
    Ys = torch.tensor(corpus[1:length + 1]).reshape(batch, -1)
    for i in range(0, Xs.shape[1] // num_steps * num_steps, num_steps):
        X, Y = Xs[:, i:i + num_steps], Ys[:, i:i + num_steps]
        if state is None:
            state = net.begin_state(batch_size=X.shape[0])
        else:
            for s in state:
                s.detach_()
        y = Y.T.reshape(-1)
        y_hat, state = net(X, state)
        l = loss(y_hat, y.long()).mean()
        l.backward()
        grad_clipping(net, 1)
        sgd(net.params, 1.0, batch_size=1)
        total += l * y.numel()
        count += y.numel()
    if epoch % 4 == 3:
        print(f"perplexity {math.exp(total / count):.3f}", predict("time ", 10, net))
