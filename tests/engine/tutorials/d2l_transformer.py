# d2l: positionwise networks, AddNorm, a transformer encoder block; nn's own beside.
import torch
from torch import nn

torch.manual_seed(0)


class PositionWiseFFN(nn.Module):
    def __init__(self, ffn_num_input, ffn_num_hiddens, ffn_num_outputs):
        super().__init__()
        self.dense1 = nn.Linear(ffn_num_input, ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(ffn_num_hiddens, ffn_num_outputs)

    def forward(self, X):
        return self.dense2(self.relu(self.dense1(X)))


ffn = PositionWiseFFN(4, 4, 8)
ffn.eval()
print(ffn(torch.ones((2, 3, 4)))[0])
ln = nn.LayerNorm(2)
bn = nn.BatchNorm1d(2)
X = torch.tensor([[1, 2], [2, 3]], dtype=torch.float32)
print("layer norm:", ln(X), "\nbatch norm:", bn(X))


class AddNorm(nn.Module):
    def __init__(self, normalized_shape, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm(normalized_shape)

    def forward(self, X, Y):
        return self.ln(self.dropout(Y) + X)


add_norm = AddNorm([3, 4], 0.5)
add_norm.eval()
print(add_norm(torch.ones((2, 3, 4)), torch.ones((2, 3, 4))).shape)
mha = nn.MultiheadAttention(8, 2, batch_first=True)
X = torch.rand(2, 4, 8)
out, weights = mha(X, X, X)
print(out[0, 0], weights.shape, weights.sum(-1))
mask = nn.Transformer.generate_square_subsequent_mask(4)
print(mask)
out, weights = mha(X, X, X, attn_mask=mask)
print(weights[0])
layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, dropout=0.0, batch_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
out = encoder(X, mask=mask)
print(out.shape, out[0, 0])
out.pow(2).sum().backward()
print(layer.linear1.weight.grad is None, encoder.layers[0].linear1.weight.grad.abs().mean())
decoder_layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16, dropout=0.0, batch_first=True)
tgt = torch.rand(2, 3, 8)
print(decoder_layer(tgt, out.detach())[1, 2])
