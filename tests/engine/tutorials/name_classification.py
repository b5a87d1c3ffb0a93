# "NLP from scratch: classifying names with a character-level RNN".
import string
import torch
import torch.nn as nn

all_letters = string.ascii_lowercase
n_letters = len(all_letters)
category_lines = {"Italian": ["rossi", "bianchi", "ricci"], "Japanese": ["sato", "suzuki", "tanaka"], "Irish": ["murphy", "kelly", "byrne"]}
all_categories = list(category_lines)
n_categories = len(all_categories)


def letterToIndex(letter):
    return all_letters.find(letter)


def lineToTensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][letterToIndex(letter)] = 1
    return tensor


print(lineToTensor("sato").size())


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size, hidden_size)
        self.h2h = nn.Linear(hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        hidden = torch.tanh(self.i2h(input) + self.h2h(hidden))
        output = self.h2o(hidden)
        output = self.softmax(output)
        return output, hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


torch.manual_seed(0)
rnn = RNN(n_letters, 8, n_categories)
output, next_hidden = rnn(lineToTensor("kelly")[0], torch.zeros(1, 8))
print(output)


def categoryFromOutput(output):
    top_n, top_i = output.topk(1)
    category_i = top_i[0].item()
    return all_categories[category_i], category_i


print(categoryFromOutput(output))
criterion = nn.NLLLoss()
learning_rate = 0.05


def train(category_tensor, line_tensor):
    hidden = rnn.initHidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


for epoch in range(5):
    current_loss = 0
    for category in all_categories:
        for line in category_lines[category]:
            category_tensor = torch.tensor([all_categories.index(category)], dtype=torch.long)
            output, loss = train(category_tensor, lineToTensor(line))
            current_loss += loss
    print(epoch, f"{current_loss / 9:.4f}")
confusion = torch.zeros(n_categories, n_categories)
with torch.no_grad():
    for i, category in enumerate(all_categories):
        for line in category_lines[category]:
            hidden = rnn.initHidden()
            for step in lineToTensor(line):
                output, hidden = rnn(step, hidden)
            confusion[i][categoryFromOutput(output)[1]] += 1
for i in range(n_categories):
    confusion[i] = confusion[i] / confusion[i].sum()
print(confusion)
