"""Cells of recurrent networks: one step, from an input and a state to an output and a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfx.compat.v1.layer_classes.layer import Layer
from tfx.compat.v1.variables.initializer_classes import Constant, Zeros
from tfx.compat.v1.variables.scopes import VariableScope, get_variable_scope, variable_scope
from tfx.core import nest
from tfx.core.dtypes import DTypeLike
from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, split
from tfx.ops.array.creation import zeros
from tfx.ops.array.shape import shape
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.clip import clip_by_value
from tfx.ops.math.trigonometry import tanh
from tfx.ops.nn.convolution import bias_add
from tfx.ops.nn.softmax import sigmoid

Activation = Callable[[Any], Any]


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM cell.

    Attributes:
        c: What the cell remembers.
        h: Its last output.
    """

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The element type of both.

        Raises:
            TypeError: they differ.
        """
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent dtypes for state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


class RNNCell(Layer):
    """The base of cells: a subclass gives ``state_size``, ``output_size`` and ``call``.

    Args:
        trainable: See ``Layer``, as the other arguments.
        name: The same.
        dtype: The same.
        **kwargs: The same.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, dtype, **kwargs)
        self._outer_scope: VariableScope | None = None

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None, **kwargs: Any) -> Any:
        """One step.

        Args:
            inputs: ``[batch, size]``.
            state: The state, of the structure of ``state_size``.
            scope: Variable scope, at the first call; None: a new one in the current scope.
            **kwargs: What ``call`` takes besides.

        Returns:
            ``(output, state)``.
        """
        if scope is not None:
            with variable_scope(scope) as captured:
                return super().__call__(inputs, state, scope=captured, **kwargs)
        if self._outer_scope is None:
            self._outer_scope = get_variable_scope()
        with variable_scope(self._outer_scope, auxiliary_name_scope=False):
            return super().__call__(inputs, state, **kwargs)

    @property
    def state_size(self) -> Any:
        """The size of the state, or a structure of sizes."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: DTypeLike | None = None
    ) -> Any:
        """See ``zero_state``.

        Args:
            inputs: What gives the size of the batch and the dtype if they are left out.
            batch_size: How many sequences.
            dtype: Element type.

        Raises:
            ValueError: neither ``inputs`` nor the other two.
        """
        if inputs is not None:
            batch_size, dtype = batch_of(inputs), inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """A state of zeros, of the structure of ``state_size``.

        Args:
            batch_size: How many sequences.
            dtype: Element type.
        """
        return zeros_of(self.state_size, batch_size, dtype)


def batch_of(x: Tensor, axis: int = 0) -> Any:
    """The size of an axis, a number where it is known."""
    return shape(x)[axis] if x.shape[axis] is None else x.shape[axis]


def zeros_of(sizes: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros ``[batch, size]`` of the structure of some sizes.

    Args:
        sizes: Numbers, or shapes, in a structure.
        batch_size: A number or a scalar tensor.
        dtype: Element type.
    """

    def made(size: Any) -> Tensor:
        rest = TensorShape(size).as_list() if not isinstance(size, int) else [size]
        return zeros([batch_size, *rest], dtype)

    if isinstance(sizes, TensorShape):
        return made(sizes)
    return nest.map_structure(made, sizes)


class LayerRNNCell(RNNCell):
    """The base of cells whose variables ``build`` makes, in a scope of their own."""

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None, **kwargs: Any) -> Any:
        """See ``RNNCell``."""
        return Layer.__call__(self, inputs, state, scope=scope, **kwargs)

    def _size(self, input_shape: Any) -> int:
        size = None if input_shape.rank is None else input_shape[-1]
        if size is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {input_shape}")
        return int(size)


class BasicRNNCell(LayerRNNCell):
    """``output = activation([inputs, state] @ kernel + bias)``, which is the new state, too.

    Args:
        num_units: The size of the state.
        activation: Function; None: ``tanh``.
        reuse: Whether its variables exist.
        name: Its name.
        dtype: Element type of its variables.
        **kwargs: See ``Layer``.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._activation = num_units, activation or tanh
        self._kernel: Any = None
        self._bias: Any = None

    @property
    def state_size(self) -> Any:
        """See ``RNNCell``."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """See ``RNNCell``."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """See ``Layer``."""
        units = self._num_units
        self._kernel = self.add_weight("kernel", [self._size(input_shape) + units, units])
        self._bias = self.add_weight("bias", [units], initializer=Zeros())
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """See ``RNNCell``."""
        (state,) = args
        found = bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(found)
        return output, output


class GRUCell(LayerRNNCell):
    """A gated recurrent unit, whose reset gate stands before the matrix of the candidate.

    Args:
        num_units: The size of the state.
        activation: Function; None: ``tanh``.
        reuse: Whether its variables exist.
        kernel_initializer: Initializer of its matrices.
        bias_initializer: Initializer of its biases; None: 1 for the gates, 0 for the candidate.
        name: Its name.
        dtype: Element type of its variables.
        **kwargs: See ``Layer``.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._activation = num_units, activation or tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer
        self._gates: tuple[Any, Any] = (None, None)
        self._candidate: tuple[Any, Any] = (None, None)

    @property
    def state_size(self) -> Any:
        """See ``RNNCell``."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """See ``RNNCell``."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """See ``Layer``."""
        size = self._size(input_shape) + self._num_units
        self._gates = self._pair("gates", size, 2 * self._num_units, Constant(1.0))
        self._candidate = self._pair("candidate", size, self._num_units, Zeros())
        self.built = True

    def _pair(self, name: str, size: int, count: int, bias: Any) -> tuple[Any, Any]:
        bias = self._bias_initializer if self._bias_initializer is not None else bias
        return (
            self.add_weight(f"{name}/kernel", [size, count], initializer=self._kernel_initializer),
            self.add_weight(f"{name}/bias", [count], initializer=bias),
        )

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """See ``RNNCell``."""
        (state,) = args
        gates = sigmoid(_affine(concat([inputs, state], 1), *self._gates))
        reset, update = split(gates, 2, 1)
        candidate = _affine(concat([inputs, reset * state], 1), *self._candidate)
        new = update * state + (1 - update) * self._activation(candidate)
        return new, new


def _affine(x: Tensor, kernel: Any, bias: Any) -> Tensor:
    return bias_add(matmul(x, kernel), bias)


class BasicLSTMCell(LayerRNNCell):
    """A long short-term memory without peepholes, clipping and projection.

    Args:
        num_units: The size of what it remembers, and of the output.
        forget_bias: Added to the forget gate.
        state_is_tuple: The state is an ``LSTMStateTuple``; False: ``c`` and ``h`` side by side.
        activation: Function; None: ``tanh``.
        reuse: Whether its variables exist.
        name: Its name.
        dtype: Element type of its variables.
        **kwargs: See ``Layer``.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._state_is_tuple, self._activation = state_is_tuple, activation or tanh
        self._kernel: Any = None
        self._bias: Any = None

    @property
    def state_size(self) -> Any:
        """See ``RNNCell``."""
        n = self._num_units
        return LSTMStateTuple(n, n) if self._state_is_tuple else 2 * n

    @property
    def output_size(self) -> Any:
        """See ``RNNCell``."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """See ``Layer``."""
        units = self._num_units
        self._kernel = self.add_weight("kernel", [self._size(input_shape) + units, 4 * units])
        self._bias = self.add_weight("bias", [4 * units], initializer=Zeros())
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """See ``RNNCell``."""
        c, h = args[0] if self._state_is_tuple else split(args[0], 2, 1)
        i, j, f, o = split(_affine(concat([inputs, h], 1), self._kernel, self._bias), 4, 1)
        new_c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, packed_state(new_c, new_h, self._state_is_tuple)


def packed_state(c: Tensor, h: Tensor, as_tuple: bool) -> Any:
    """The state of an LSTM cell."""
    return LSTMStateTuple(c, h) if as_tuple else concat([c, h], 1)


class LSTMCell(LayerRNNCell):
    """A long short-term memory with peepholes, clipping and projection if they are asked for.

    Args:
        num_units: The size of what it remembers.
        use_peepholes: Whether gates see what is remembered.
        cell_clip: The largest absolute value that is remembered; None: no limit.
        initializer: Initializer of its matrices.
        num_proj: The size that outputs are projected to; None: they are not.
        proj_clip: The largest absolute value of projected outputs; None: no limit.
        num_unit_shards: Accepted for compatibility.
        num_proj_shards: Accepted for compatibility.
        forget_bias: Added to the forget gate.
        state_is_tuple: The state is an ``LSTMStateTuple``; False: ``c`` and ``h`` side by side.
        activation: Function; None: ``tanh``.
        reuse: Whether its variables exist.
        name: Its name.
        dtype: Element type of its variables.
        **kwargs: See ``Layer``.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._use_peepholes = num_units, use_peepholes
        self._cell_clip, self._proj_clip, self._num_proj = cell_clip, proj_clip, num_proj
        self._initializer, self._forget_bias = initializer, forget_bias
        self._state_is_tuple, self._activation = state_is_tuple, activation or tanh
        self._kernel: Any = None
        self._bias: Any = None
        self._projection: Any = None
        self._peepholes: dict[str, Any] = {}

    @property
    def state_size(self) -> Any:
        """See ``RNNCell``."""
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """See ``RNNCell``."""
        return self._num_proj or self._num_units

    def build(self, input_shape: Any) -> None:
        """See ``Layer``."""
        units = self._num_units
        size = self._size(input_shape) + self.output_size
        self._kernel = self.add_weight("kernel", [size, 4 * units], initializer=self._initializer)
        self._bias = self.add_weight("bias", [4 * units], initializer=Zeros())
        if self._use_peepholes:
            self._peepholes = {
                gate: self.add_weight(f"w_{gate}_diag", [units], initializer=self._initializer)
                for gate in "fio"
            }
        if self._num_proj is not None:
            self._projection = self.add_weight(
                "projection/kernel", [units, self._num_proj], initializer=self._initializer
            )
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """See ``RNNCell``."""
        if self._state_is_tuple:
            c, h = args[0]
        else:
            c, h = split(args[0], [self._num_units, self.output_size], 1)
        i, j, f, o = split(_affine(concat([inputs, h], 1), self._kernel, self._bias), 4, 1)
        kept = sigmoid(f + self._forget_bias + self._seen("f", c)) * c
        new_c = kept + sigmoid(i + self._seen("i", c)) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        new_h = sigmoid(o + self._seen("o", new_c)) * self._activation(new_c)
        if self._projection is not None:
            new_h = matmul(new_h, self._projection)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, packed_state(new_c, new_h, self._state_is_tuple)

    def _seen(self, gate: str, c: Tensor) -> Any:
        return self._peepholes[gate] * c if self._peepholes else 0.0
