"""Attention with several heads, and the layers of transformers (Vaswani et al. 2017), as PyTorch has them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn import functional, init
from agrad.engine.nn.containers import ModuleList
from agrad.engine.nn.convolution import array_of
from agrad.engine.nn.formed import Formed
from agrad.engine.nn.functional import added_mask, attention, causal_mask
from agrad.engine.nn.layers import Dropout, LayerNorm, Linear
from agrad.engine.nn.parameter import parameter
from agrad.engine.ops.nn.layers import linear, rate_of
from agrad.engine.values import describe, format_shape, np, whole

__all__ = [
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear, by the name that PyTorch prints."""


class MultiheadAttention(Formed):
    """Attention of several heads, each of which sees a part of the features, and a linear layer of all of them.

    `batch_first`: whether the first axis of a batch is not the place, but the number of the sequence.
    """

    form = "embed_dim, num_heads, dropout=0.0, bias=True, kdim=None, vdim=None, batch_first=False"

    def build(self, settings: dict[str, Any]) -> None:
        """Make the parameters."""
        width, heads, bias = self.embed_dim, self.num_heads, settings["bias"]
        if not heads or width % heads:
            raise AgradError("domain", f"{type(self).__name__} cannot share {width} features among {heads} heads")
        self.head_dim, self.dropout = width // heads, rate_of(type(self).__name__, settings["dropout"])
        self.kdim, self.vdim = settings["kdim"] or width, settings["vdim"] or width
        together = self.kdim == self.vdim == width
        apart = {"q_proj_weight": width, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        for one, inputs in apart.items():
            self.register_parameter(one, None if together else parameter(np.zeros((width, inputs))))
        self.register_parameter("in_proj_weight", parameter(np.zeros((3 * width, width))) if together else None)
        self.register_parameter("in_proj_bias", parameter(np.zeros(3 * width)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(width, width, bias)
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:  # after those of the layer, in PyTorch's order
                init.xavier_uniform_(weight)
        if bias:
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: Any = True,
        attn_mask: Any = None,
        average_attn_weights: Any = True,
        is_causal: Any = False,
    ) -> tuple[Any, Any]:
        """The values that each query attends to, and the weights of them, or None.

        Masks hide entries where they are true: `key_padding_mask` for all queries, `attn_mask` for each; masks of
        numbers are added to the scores.
        """
        if is_causal and attn_mask is None:
            raise AgradError("grad", "is_causal says of a mask what it is: attn_mask is needed, too")
        arrays = [array_of(one) for one in (query, key, value)]
        single = arrays[0].ndim == 2
        if single:
            arrays = [one.unsqueeze(0) for one in arrays]
        elif not self.batch_first:
            arrays = [one.swapaxes(0, 1) for one in arrays]
        q, k, v = (self._heads(one, place) for place, one in enumerate(arrays))
        mask = self._mask(key_padding_mask, attn_mask, arrays)
        found, weights = attention(q, k, v, mask, self.dropout if self.training else 0.0)
        found = self.out_proj(found.swapaxes(1, 2).reshape(*arrays[0].shape[:2], self.embed_dim))
        weights = None if not need_weights else weights.mean(1) if average_attn_weights else weights
        if single:
            return found[0], None if weights is None else weights[0]
        return (found if self.batch_first else found.swapaxes(0, 1)), weights

    def _heads(self, x: Tensor, place: int) -> Any:
        """The query, the keys or the values, of which the second axis is the head."""
        rows = slice(place * self.embed_dim, (place + 1) * self.embed_dim)
        whole, bias = self.in_proj_weight, self.in_proj_bias
        apart = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        weight = apart[place] if whole is None else whole[rows]
        found = linear(x, weight, None if bias is None else bias[rows])
        return found.reshape(*found.shape[:2], self.num_heads, self.head_dim).swapaxes(1, 2)

    def _mask(self, padding: Any, mask: Any, arrays: list[Tensor]) -> Any:
        """Both masks as one that is added to the scores of all heads."""
        (batch, rows), columns = arrays[0].shape[:2], arrays[1].shape[1]
        if mask is not None:
            mask = added_mask(mask, hides=True)
            if mask.shape not in ((rows, columns), (batch * self.num_heads, rows, columns)):
                have, want = format_shape(mask.shape), format_shape((rows, columns))
                raise AgradError("shape", f"{type(self).__name__}: attn_mask has shape {have}, not {want}")
            mask = mask if mask.ndim == 2 else mask.reshape(batch, self.num_heads, rows, columns)
        if padding is None:
            return mask
        padding = added_mask(padding, hides=True).reshape(batch, 1, 1, columns)
        return padding if mask is None else mask + padding


# Layers of transformers: attention and two linear layers, each added to what it was given, and normalised


_FORM = "d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', layer_norm_eps=1e-05, "
_FORM += "batch_first=False, norm_first=False, bias=True"


class _Layer(Formed):
    """The base: a feed-forward network, and as many normalisations and dropouts as there are parts."""

    attentions: tuple[str, ...] = ("self_attn",)

    form = _FORM

    def build(self, settings: dict[str, Any]) -> None:
        """Make the parts."""
        width, inside, bias, rate = self.d_model, self.dim_feedforward, settings["bias"], settings["dropout"]
        options = {"dropout": rate, "bias": bias, "batch_first": self.batch_first}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(width, self.nhead, **options))
        self.linear1, self.dropout = Linear(width, inside, bias), Dropout(rate)
        self.linear2 = Linear(inside, width, bias)
        activation = settings["activation"]
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            message = f'{type(self).__name__}: activation is "relu", "gelu" or a function'
            raise AgradError("type", f"{message}, not {describe(activation)}")
        self.activation = getattr(functional, activation) if isinstance(activation, str) else activation
        parts = range(1, len(self.attentions) + 2)
        for part in parts:
            setattr(self, f"norm{part}", LayerNorm(width, self.layer_norm_eps, bias=bias))
        for part in parts:
            setattr(self, f"dropout{part}", Dropout(rate))

    def _add(self, x: Tensor, part: int, function: Callable[[Tensor], Any]) -> Any:
        """x and what one part makes of it, normalised before or afterwards."""
        norm, drop = getattr(self, f"norm{part}"), getattr(self, f"dropout{part}")
        return x + drop(function(norm(x))) if self.norm_first else norm(x + drop(function(x)))

    def _feed(self, x: Tensor) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attend(self, name: str, key: Any, mask: Any, padding: Any, causal: Any) -> Callable[[Tensor], Any]:
        """Attention to keys, or to what attends itself."""

        def attend(x: Tensor) -> Any:
            seen = x if key is None else key
            return getattr(self, name)(x, seen, seen, padding, False, mask, is_causal=causal)[0]

        return attend


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, and a feed-forward network."""

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = False) -> Any:
        """The value."""
        x = self._add(array_of(src), 1, self._attend("self_attn", None, src_mask, src_key_padding_mask, is_causal))
        return self._add(x, 2, self._feed)


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself, then to another one, the memory, and a feed-forward network."""

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: Any = False,
        memory_is_causal: Any = False,
    ) -> Any:
        """The value."""
        x = self._add(array_of(tgt), 1, self._attend("self_attn", None, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self._add(x, 2, self._attend("multihead_attn", memory, memory_mask, memory_key_padding_mask, memory_is_causal))
        return self._add(x, 3, self._feed)


class _Stack(Formed):
    """Copies of a layer, one after the other, and a normalisation, if one is given."""

    def build(self, settings: dict[str, Any]) -> None:
        """Copy the layer."""
        layer = next(iter(settings.values()))
        self.layers = ModuleList([deepcopy(layer) for _ in range(self.num_layers)])
        self.norm = settings["norm"]

    def _through(self, x: Any, *given: Any, **others: Any) -> Any:
        for layer in self.layers:
            x = layer(x, *given, **others)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """Copies of an encoder layer."""

    form = "encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True"

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None) -> Any:
        """The value."""
        return self._through(src, mask, src_key_padding_mask, bool(is_causal))


class TransformerDecoder(_Stack):
    """Copies of a decoder layer."""

    form = "decoder_layer, num_layers, norm=None"

    def forward(self, tgt: Any, memory: Any, *masks: Any, **others: Any) -> Any:
        """The value; the masks are those of the layers."""
        return self._through(tgt, memory, *masks, **others)


class Transformer(Formed):
    """An encoder, whose value is the memory of a decoder."""

    form = "d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, " + _FORM.partition("nhead, ")[2]

    def build(self, settings: dict[str, Any]) -> None:
        """Make the encoder and the decoder."""
        each = {name: value for name, value in settings.items() if not name.startswith("num_")}
        norms = [LayerNorm(self.d_model, self.layer_norm_eps, bias=settings["bias"]) for _ in range(2)]
        self.encoder = TransformerEncoder(TransformerEncoderLayer(**each), self.num_encoder_layers, norms[0])
        self.decoder = TransformerDecoder(TransformerDecoderLayer(**each), self.num_decoder_layers, norms[1])
        for value in self.parameters():
            if value.ndim > 1:
                init.xavier_uniform_(value)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        """The value."""
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, *masks)

    @staticmethod
    def generate_square_subsequent_mask(sz: Any) -> Any:
        """The mask that hides what comes later: -inf there, and 0 elsewhere."""
        return added_mask(causal_mask(whole(sz, "generate_square_subsequent_mask: sz")), hides=True)
