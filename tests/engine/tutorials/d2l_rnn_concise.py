# d2l: RNN, GRU, LSTM with nn, deep and bidirectional.
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
num_hiddens, vocab, batch_size, num_steps = 6, 5, 2, 4
rnn_layer = nn.RNN(vocab, num_hiddens)
state = torch.zeros((1, batch_size, num_hiddens))
X = torch.rand(size=(num_steps, batch_size, vocab))
Y, state_new = rnn_layer(X, state)
print(Y.shape, state_new.shape, Y[-1].equal(state_new[0]))


class RNNModel(nn.Module):
    def __init__(self, rnn_layer, vocab_size, **kwargs):
        super(RNNModel, self).__init__(**kwargs)
        self.rnn = rnn_layer
        self.vocab_size = vocab_size
        self.num_hiddens = self.rnn.hidden_size
        if not self.rnn.bidirectional:
            self.num_directions = 1
            self.linear = nn.Linear(self.num_hiddens, self.vocab_size)
        else:
            self.num_directions = 2
            self.linear = nn.Linear(self.num_hiddens * 2, self.vocab_size)

    def forward(self, inputs, state):
        X = F.one_hot(inputs.T.long(), self.vocab_size)
        X = X.to(torch.float32)
        Y, state = self.rnn(X, state)
        output = self.linear(Y.reshape((-1, Y.shape[-1])))
        return output, state

    def begin_state(self, device, batch_size=1):
        if not isinstance(self.rnn, nn.LSTM):
            return torch.zeros((self.num_directions * self.rnn.num_layers, batch_size, self.num_hiddens), device=device)
        return (torch.zeros((self.num_directions * self.rnn.num_layers, batch_size, self.num_hiddens), device=device),
                torch.zeros((self.num_directions * self.rnn.num_layers, batch_size, self.num_hiddens), device=device))


tokens = torch.randint(0, vocab, (batch_size, num_steps + 1))
for layer in (nn.RNN(vocab, num_hiddens), nn.GRU(vocab, num_hiddens), nn.LSTM(vocab, num_hiddens),
              nn.LSTM(vocab, num_hiddens, 2), nn.GRU(vocab, num_hiddens, 2, bidirectional=True, dropout=0.0)):
    net = RNNModel(layer, vocab)
    print(net.rnn)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for step in range(3):
        state = net.begin_state("cpu", batch_size)
        y_hat, state = net(tokens[:, :-1], state)
        l = F.cross_entropy(y_hat, tokens[:, 1:].T.reshape(-1))
        optimizer.zero_grad()
        l.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        print(f"{l.item():.6f}")
cell = nn.LSTMCell(3, 2)
hx, cx = torch.randn(2, 2), torch.randn(2, 2)
for i in range(2):
    hx, cx = cell(torch.ones(2, 3) * i, (hx, cx))
print(hx, cx)
