"""Cells made of other cells: stacks, dropout, residual connections, devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.compat.v1.recurrent.cells import LSTMStateTuple, RNNCell
from tfx.compat.v1.variables.scopes import variable_scope
from tfx.core import nest
from tfx.core.dtypes import DTypeLike
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.device import device as device_scope
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.slice import slice as slice_of
from tfx.ops.math.elementwise import floor
from tfx.ops.nn.dropout import dropout
from tfx.ops.random.random import uniform


class MultiRNNCell(RNNCell):
    """A stack of cells: the output of one is the input of the next.

    Args:
        cells: The cells, the first one's input is the stack's.
        state_is_tuple: The state is a tuple of states; False: all of them side by side.

    Raises:
        ValueError: there are none, or states that are tuples but must be put side by side.
        TypeError: ``cells`` is no list or tuple.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(n) for n in (4, 3)])
        >>> cell.state_size, cell.output_size
        ((4, 3), 3)
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, list | tuple):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. "
                f"State sizes are: {[c.state_size for c in cells]}"
            )
        self._cells, self._state_is_tuple = list(cells), state_is_tuple

    @property
    def cells(self) -> list[Any]:
        """The cells."""
        return list(self._cells)

    @property
    def state_size(self) -> Any:
        """See ``RNNCell``."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """See ``RNNCell``."""
        return self._cells[-1].output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""
        return [w for c in self._cells for w in getattr(c, "trainable_weights", ())]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that are not trained."""
        return [w for c in self._cells for w in getattr(c, "non_trainable_weights", ())]

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """See ``RNNCell``."""
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """See ``RNNCell``."""
        (state,) = args
        states, start, current = [], 0, inputs
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                if self._state_is_tuple:
                    own = state[i]
                else:
                    own = slice_of(state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                current, new = cell(current, own)
                states.append(new)
        return current, tuple(states) if self._state_is_tuple else concat(states, 1)


class _Wrapper(RNNCell):
    """The base of cells that change what another one gets and gives; it has no scope of its own."""

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The cell."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """See ``RNNCell``."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """See ``RNNCell``."""
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""
        return list(getattr(self.cell, "trainable_weights", ()))

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that are not trained."""
        return list(getattr(self.cell, "non_trainable_weights", ()))

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """See ``RNNCell``."""
        return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None, **kwargs: Any) -> Any:
        """See ``RNNCell``."""
        options = {} if scope is None else {"scope": scope}
        return self._wrapped(inputs, state, **options, **kwargs)

    def _wrapped(self, inputs: Any, state: Any, **kwargs: Any) -> Any:
        return self.cell(inputs, state, **kwargs)


class DropoutWrapper(_Wrapper):
    """A cell with dropout of its inputs, outputs and states.

    Args:
        cell: The cell.
        input_keep_prob: The probability that an element of an input is kept.
        output_keep_prob: The same of outputs.
        state_keep_prob: The same of new states; what an LSTM cell remembers is left alone.
        variational_recurrent: Draw once, and drop the same elements at each step.
        input_size: Size of the inputs, for that, where inputs are dropped.
        dtype: Element type, for that.
        seed: See ``random_normal``.
        dropout_state_filter_visitor: Says of each part of the state whether it is dropped: True or
            False, or a structure of them.
        **kwargs: See ``Layer``.

    Raises:
        ValueError: a probability that is none, or something is missing.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        self._keep = {
            "input": input_keep_prob,
            "output": output_keep_prob,
            "state": state_keep_prob,
        }
        for name, keep in self._keep.items():
            if isinstance(keep, int | float) and not 0.0 <= keep <= 1.0:
                raise ValueError(f"Parameter {name}_keep_prob must be between 0 and 1: {keep}")
        self._seed = seed
        self._filter = dropout_state_filter_visitor or _all_but_memories
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            self._draw(input_size, dtype)

    def _draw(self, input_size: Any, dtype: Any) -> None:
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"output": self.cell.output_size, "state": self.cell.state_size}
        if self._drops("input"):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            sizes["input"] = input_size
        for name, size in sizes.items():
            leaves = [size] if isinstance(size, TensorShape) else nest.flatten(size)
            self._noise[name] = [self._drawn(leaf, dtype) for leaf in leaves]

    def _drawn(self, size: Any, dtype: Any) -> Tensor:
        sizes = [size] if isinstance(size, int) else TensorShape(size).as_list()
        return uniform([1, *sizes], dtype=dtype, seed=self._seed)

    def _drops(self, name: str) -> bool:
        keep = self._keep[name]
        return not isinstance(keep, int | float) or keep < 1.0

    def _dropped(self, name: str, values: Any, chosen: Any = True) -> Any:
        keep = self._keep[name]
        leaves = nest.flatten(values)
        noise = self._noise.get(name, [None] * len(leaves))

        def each(value: Any, drop: bool, drawn: Any) -> Any:
            if not drop:
                return value
            if drawn is None:
                return dropout(value, 1 - keep, seed=self._seed)
            share = convert_to_tensor(keep, value.dtype)
            return value / share * floor(drawn + share)

        drops = nest.flatten(_spread(chosen, values))
        found = [each(*parts) for parts in zip(leaves, drops, noise, strict=True)]
        return nest.pack_sequence_as(values, found) if nest.is_nested(values) else found[0]

    def _wrapped(self, inputs: Any, state: Any, **kwargs: Any) -> Any:
        if self._drops("input"):
            inputs = self._dropped("input", inputs)
        output, new = self.cell(inputs, state, **kwargs)
        if self._drops("state"):
            new = self._dropped("state", new, self._filter(new))
        if self._drops("output"):
            output = self._dropped("output", output)
        return output, new


def _all_but_memories(state: Any) -> Any:
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(False, True)
    return True


def _spread(chosen: Any, values: Any) -> Any:
    """One boolean for each leaf of a structure, of booleans that stand for whole parts of it."""
    if isinstance(chosen, bool):
        return nest.map_structure(lambda _: chosen, values)
    parts = [_spread(c, v) for c, v in zip(chosen, values, strict=True)]
    return type(values)(*parts) if isinstance(values, LSTMStateTuple) else tuple(parts)


class ResidualWrapper(_Wrapper):
    """A cell whose inputs are added to its outputs.

    Args:
        cell: The cell.
        residual_fn: Function of inputs and outputs that gives the output; None: their sum, where
            their shapes are the same.
        **kwargs: See ``Layer``.
    """

    def __init__(
        self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn or _sums

    def _wrapped(self, inputs: Any, state: Any, **kwargs: Any) -> Any:
        outputs, new = self.cell(inputs, state, **kwargs)
        return self._residual_fn(inputs, outputs), new


def _sums(inputs: Any, outputs: Any) -> Any:
    def each(x: Tensor, y: Tensor) -> Tensor:
        if not x.shape.is_compatible_with(y.shape):
            raise ValueError(f"Shapes {x.shape} and {y.shape} are incompatible")
        return x + y

    return nest.map_structure(each, inputs, outputs)


class DeviceWrapper(_Wrapper):
    """A cell that runs on a device.

    Args:
        cell: The cell.
        device: The device's name, or a function that gives it.
        **kwargs: See ``Layer``.
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """See ``RNNCell``."""
        with device_scope(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def _wrapped(self, inputs: Any, state: Any, **kwargs: Any) -> Any:
        with device_scope(self._device):
            return self.cell(inputs, state, **kwargs)
