"""Recurrent networks: three cells, each of which is a step, and layers that repeat the step along a sequence.

A step computes the next state from what the input and the state are multiplied to, each a vector for every gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn.convolution import array_of
from agrad.engine.nn.layers import Uniform
from agrad.engine.nn.parameter import parameter
from agrad.engine.ops.arrays.joining import concat, stack
from agrad.engine.ops.nn.activations import relu, sigmoid
from agrad.engine.ops.nn.layers import dropout, linear, rate_of
from agrad.engine.ops.scalar.trigonometry import tanh
from agrad.engine.values import describe, format_shape, np

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]

State = tuple[Any, ...]


def _parts(x: Tensor, count: int) -> Iterator[Tensor]:
    """The vectors of the gates."""
    size = x.shape[-1] // count
    return (x[..., at * size : (at + 1) * size] for at in range(count))


class _Recurrent(Uniform):
    """The base. `gates`: how many vectors a step needs; `states`: how many a state has, the first of which is h."""

    gates, states = 1, 1
    mode = ""

    def build(self, settings: dict[str, Any]) -> None:
        """Make the weights."""
        self.bias, self.fan = bool(settings["bias"]), self.hidden_size
        if settings.get("nonlinearity", "tanh") not in ("tanh", "relu"):
            message = f'{type(self).__name__}: nonlinearity is "tanh" or "relu", not {describe(self.nonlinearity)}'
            raise AgradError("type", message)
        self._layers(settings)
        self.reset_parameters()

    def _layers(self, settings: dict[str, Any]) -> None:
        """Make the weights of all layers."""
        raise NotImplementedError

    def _weights(self, suffix: str, inputs: int) -> None:
        """Add the weights of a layer in one direction."""
        rows = self.gates * self.hidden_size
        setattr(self, f"weight_ih{suffix}", parameter(np.zeros((rows, inputs))))
        setattr(self, f"weight_hh{suffix}", parameter(np.zeros((rows, self.hidden_size))))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name + suffix, parameter(np.zeros(rows)) if self.bias else None)

    def _from(self, part: str, x: Any, suffix: str = "") -> Any:
        return linear(x, getattr(self, f"weight_{part}{suffix}"), getattr(self, f"bias_{part}{suffix}"))

    def _step(self, x: Tensor, h: Tensor, state: State) -> State:
        """The next state, from the products with the input and with h."""
        raise NotImplementedError

    def _state(self, given: Any, shape: tuple[int, ...]) -> State:
        """A state, of zeros unless one is given. Raises AgradError for one of another shape."""
        if given is None:
            return (tensor(np.zeros(shape)),) * self.states
        found = tuple(map(array_of, given if self.states > 1 else (given,)))
        for one in found:
            if one.shape != shape:
                have, want = format_shape(one.shape), format_shape(shape)
                raise AgradError("shape", f"{type(self).__name__}: a state has shape {want}, not {have}")
        return found

    def _given_back(self, state: State) -> Any:
        return state if self.states > 1 else state[0]

    def _input(self, input: Any, axes: int) -> Any:
        """The input, which has so many axes, or one more for a batch. Raises AgradError."""
        x = array_of(input)
        if x.ndim not in (axes, axes + 1) or x.shape[-1] != self.input_size:
            wanted = f"{axes} or {axes + 1} axes, the last of {self.input_size} features"
            raise AgradError("shape", f"{type(self).__name__}: x of shape {format_shape(x.shape)} has not {wanted}")
        return x


class _Elman(_Recurrent):
    """The next h is tanh (or relu) of the sum."""

    def _step(self, x: Tensor, h: Tensor, state: State) -> State:
        function: Callable[..., Any] = tanh if self.nonlinearity == "tanh" else relu
        return (function(x + h),)


class _Lstm(_Recurrent):
    """Hochreiter and Schmidhuber's cell: the gates let in, keep and let out what a second vector, c, remembers."""

    gates, states = 4, 2

    def _step(self, x: Tensor, h: Tensor, state: State) -> State:
        enter, forget, new, leave = _parts(x + h, 4)
        c = sigmoid(forget) * state[1] + sigmoid(enter) * tanh(new)
        return sigmoid(leave) * tanh(c), c


class _Gru(_Recurrent):
    """Cho's cell: a gate resets what is remembered, another one updates it."""

    gates = 3

    def _step(self, x: Tensor, h: Tensor, state: State) -> State:
        (reset, update, new), (reset_h, update_h, new_h) = _parts(x, 3), _parts(h, 3)
        fresh = tanh(new + sigmoid(reset + reset_h) * new_h)
        return ((state[0] - fresh) * sigmoid(update + update_h) + fresh,)


# Cells


class _Cell(_Recurrent):
    """One step of a batch of inputs, or of a single one."""

    form = "input_size, hidden_size, bias=True"
    shown = "input_size hidden_size bias?"

    def _layers(self, settings: dict[str, Any]) -> None:
        self._weights("", self.input_size)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state."""
        x = self._input(input, 1)
        state = self._state(hx, (*x.shape[:-1], self.hidden_size))
        return self._given_back(self._step(self._from("ih", x), self._from("hh", state[0]), state))


class RNNCell(_Elman, _Cell):
    """One step of Elman's network."""

    form = "input_size, hidden_size, bias=True, nonlinearity='tanh'"
    shown = "input_size hidden_size bias? nonlinearity?"


class LSTMCell(_Lstm, _Cell):
    """One step of an LSTM: h and c from an input, h and c."""


class GRUCell(_Gru, _Cell):
    """One step of a GRU."""


# Layers


class _Layers(_Recurrent):
    """Layers, each of which repeats a step along the sequence of states of the one below it, in one direction or both.

    `batch_first`: whether the first axis of a batch is not the time, but the number of the sequence.
    """

    form = "input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False"
    shown = "input_size hidden_size num_layers? bias? batch_first? dropout? bidirectional?"

    def _layers(self, settings: dict[str, Any]) -> None:
        self.dropout = rate_of(type(self).__name__, settings["dropout"])
        for layer in range(self.num_layers):
            inputs = self.hidden_size * self.directions if layer else self.input_size
            for direction in range(self.directions):
                self._weights(f"_l{layer}{'_reverse' * direction}", inputs)

    @property
    def directions(self) -> int:
        """1, or 2 for both."""
        return 1 + bool(self.bidirectional)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The states h of the last layer, and the last state of each layer and direction."""
        x = self._input(input, 2)
        single = x.ndim == 2
        x = x.unsqueeze(1) if single else x.swapaxes(0, 1) if self.batch_first else x
        count = self.num_layers * self.directions
        if hx is not None and single:
            given = map(array_of, hx if self.states > 1 else (hx,))
            hx = self._given_back(tuple([one.unsqueeze(1) for one in given]))
        state, ends = self._state(hx, (count, x.shape[1], self.hidden_size)), list[State]()
        for layer in range(self.num_layers):
            found = []
            for direction in range(self.directions):
                first = tuple([one[len(ends)] for one in state])
                outputs, end = self._run(x, first, layer, direction)
                found.append(outputs)
                ends.append(end)
            x = found[0] if self.directions == 1 else concat(found, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = dropout(x, p=self.dropout, training=self.training)
        last = tuple([stack(part) for part in zip(*ends, strict=True)])
        if single:
            return x[:, 0], self._given_back(tuple([one[:, 0] for one in last]))
        return (x.swapaxes(0, 1) if self.batch_first else x), self._given_back(last)

    def _run(self, x: Tensor, state: State, layer: int, direction: int) -> tuple[Any, State]:
        """The states h along a sequence, and the last state."""
        suffix = f"_l{layer}{'_reverse' * direction}"
        inputs = self._from("ih", x, suffix)
        order = range(len(x))[:: -1 if direction else 1]
        found = []
        for at in order:
            state = self._step(inputs[at], self._from("hh", state[0], suffix), state)
            found.append(state[0])
        return stack(found[::-1] if direction else found), state


class RNN(_Elman, _Layers):
    """Elman's network."""

    form = "input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0, "
    form += "bidirectional=False"


class LSTM(_Lstm, _Layers):
    """Layers of LSTM cells."""


class GRU(_Gru, _Layers):
    """Layers of GRU cells."""
