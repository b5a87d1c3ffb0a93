# Sequences of different lengths: pad_sequence, masks, packing for an RNN.
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(0)
seqs = [torch.arange(1.0, 4.0), torch.arange(1.0, 3.0), torch.arange(1.0, 2.0)]
padded = pad_sequence(seqs, batch_first=True)
print(padded, pad_sequence(seqs, padding_value=-1.0))
lengths = torch.tensor([len(s) for s in seqs])
mask = torch.arange(padded.shape[1])[None] < lengths[:, None]
print(mask, (padded * mask).sum(1) / lengths)
rnn = nn.GRU(1, 3, batch_first=True)
packed = pack_padded_sequence(padded.unsqueeze(-1), lengths, batch_first=True)
print(packed.data.flatten(), packed.batch_sizes)
out, h = rnn(packed)
unpacked, sizes = pad_packed_sequence(out, batch_first=True)
print(unpacked.shape, sizes)
alone = [rnn(s.view(1, -1, 1))[1] for s in seqs]
print(torch.allclose(h, torch.cat(alone, 1)), unpacked[2])
lstm = nn.LSTM(1, 2, batch_first=True, bidirectional=True)
shuffled = padded[[2, 0, 1]].unsqueeze(-1)
out, (h, c) = lstm(pack_padded_sequence(shuffled, lengths[[2, 0, 1]], batch_first=True, enforce_sorted=False))
print(pad_packed_sequence(out, batch_first=True)[0].shape, torch.allclose(h[:, 1:2], lstm(seqs[0].view(1, -1, 1))[1][0]))
h.sum().backward()
print(lstm.weight_ih_l0.grad.shape)
