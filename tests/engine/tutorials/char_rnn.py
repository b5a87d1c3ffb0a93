# char-RNN (practical-pytorch's and min-char-rnn): GRU over letters, sampling with temperature.
import torch
import torch.nn as nn

text = "hello world, hello torch, hello autograd. "
all_characters = sorted(set(text))
n_characters = len(all_characters)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, n_layers=1):
        super(RNN, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.output_size = output_size
        self.n_layers = n_layers
        self.encoder = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, n_layers)
        self.decoder = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden):
        input = self.encoder(input.view(1, -1))
        output, hidden = self.gru(input.view(1, 1, -1), hidden)
        output = self.decoder(output.view(1, -1))
        return output, hidden

    def init_hidden(self):
        return torch.zeros(self.n_layers, 1, self.hidden_size)


def char_tensor(string):
    tensor = torch.zeros(len(string)).long()
    for c in range(len(string)):
        tensor[c] = all_characters.index(string[c])
    return tensor


print(char_tensor("hello"))
torch.manual_seed(5)
decoder = RNN(n_characters, 10, n_characters)
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()


def evaluate(prime_str="h", predict_len=12, temperature=0.8):
    hidden = decoder.init_hidden()
    prime_input = char_tensor(prime_str)
    predicted = prime_str
    for p in range(len(prime_str) - 1):
        _, hidden = decoder(prime_input[p], hidden)
    inp = prime_input[-1]
    for p in range(predict_len):
        output, hidden = decoder(inp, hidden)
        output_dist = output.data.view(-1).div(temperature).exp()
        top_i = torch.multinomial(output_dist, 1)[0]
        predicted_char = all_characters[top_i]
        predicted += predicted_char
        inp = char_tensor(predicted_char)
    return predicted


def train(inp, target):
    hidden = decoder.init_hidden()
    decoder.zero_grad()
    loss = 0
    for c in range(len(inp)):
        output, hidden = decoder(inp[c], hidden)
        loss += criterion(output, target[c].view(1))
    loss.backward()
    decoder_optimizer.step()
    return loss.item() / len(inp)


for epoch in range(9):
    start = (epoch * 7) % (len(text) - 13)
    chunk = text[start:start + 13]
    loss = train(char_tensor(chunk[:-1]), char_tensor(chunk[1:]))
    if epoch % 3 == 2:
        print(f"[{epoch}] {loss:.4f}", evaluate())
