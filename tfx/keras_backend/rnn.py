"""Recurrent layers: loops over time, and ONNX's LSTM and GRU where a layer is one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras.src import tree
from keras.src.backend.common import standardize_dtype

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor

Step = Callable[[Any, Any], tuple[Any, Any]]


def rnn(
    step_function: Step,
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, Any]:
    """Apply a step to each time of the inputs.

    Args:
        step_function: ``(input, states) -> (output, states)``.
        inputs: A structure of ``[batch, time, ...]``.
        initial_states: The states before the first step, a structure.
        go_backwards: Begin at the end; outputs are in the order in which they were made.
        mask: ``[batch, time]`` or with a last axis of 1: False where a step is skipped, so that
            states, and the output, stay.
        constants: What the step gets behind the states.
        unroll: Repeat the step in the graph instead of a loop.
        input_length: Accepted for compatibility.
        time_major: Inputs and outputs are ``[time, batch, ...]``.
        zero_output_for_mask: Outputs of skipped steps are 0.
        return_all_outputs: Keep the outputs of all steps, not only of the last.

    Returns:
        The last output, the outputs, and the last states.
    """
    if not time_major:
        inputs = tree.map_structure(_swapped, inputs)
    flat = tree.flatten(inputs)
    steps = flat[0].shape[0]
    if mask is not None:
        mask = tf.cast(convert_to_tensor(mask), tf.bool)
        if mask.shape.rank == 2:
            mask = mask[..., None]
        if not time_major:
            mask = _swapped(mask)
    if go_backwards:
        flat = [tf.reverse(x, [0]) for x in flat]
        mask = None if mask is None else tf.reverse(mask, [0])
    extra = tuple(constants or ())
    states = tree.map_structure(convert_to_tensor, tuple(initial_states))

    def advance(xs: list[Any], states: Any, visible: Any, before: Any) -> tuple[Any, Any]:
        """One step; where it is masked the states stay, and the output before, None: zeros."""
        packed = tree.pack_sequence_as(inputs, xs) if tree.is_nested(inputs) else xs[0]
        output, new = step_function(packed, tuple(states) + extra)
        if visible is None:
            return output, tuple(new)
        if before is None:
            before = tree.map_structure(tf.zeros_like, output)
        output = tree.map_structure(lambda o, b: _chosen(visible, o, b), output, before)
        new = tree.map_structure(lambda n, s: _chosen(visible, n, s), tuple(new), tuple(states))
        return output, new

    if unroll:
        if steps is None:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        outputs, states = _unrolled(advance, flat, states, mask, steps, zero_output_for_mask)
        last = outputs[-1]
        kept = outputs if return_all_outputs else [last]
        stacked = tree.map_structure(lambda *parts: tf.stack(parts), *kept)
    else:
        stacked, last, states = _looped(
            advance, flat, states, mask, steps, zero_output_for_mask, return_all_outputs
        )
    if not time_major:
        stacked = tree.map_structure(_swapped, stacked)
    return last, stacked, list(states)


def _swapped(x: Any) -> Any:
    """The first two axes exchanged."""
    x = convert_to_tensor(x)
    return tf.transpose(x, [1, 0, *range(2, x.shape.rank)])


def _chosen(visible: Any, new: Any, old: Any) -> Any:
    """``new`` where a step is visible; ``visible`` is ``[batch, 1]``."""
    for _ in range(new.shape.rank - 2):
        visible = visible[..., None]
    if new.shape.rank == 1:
        visible = visible[..., 0]
    return tf.where(visible, new, old)


def _unrolled(
    advance: Callable[..., Any], flat: Any, states: Any, mask: Any, steps: int, zeros: bool
) -> tuple[list[Any], Any]:
    outputs: list[Any] = []
    before: Any = None
    for time in range(steps):
        xs = [x[time] for x in flat]
        visible = None if mask is None else mask[time]
        output, states = advance(xs, states, visible, None if zeros else before)
        before = output
        outputs.append(output)
    return outputs, states


def _looped(
    advance: Callable[..., Any],
    flat: Any,
    states: Any,
    mask: Any,
    steps: Any,
    zeros: bool,
    every: bool,
) -> tuple[Any, Any, Any]:
    count = tf.shape(flat[0])[0] if steps is None else steps
    probe, _ = advance([x[0] for x in flat], states, None, None)
    nothing = tree.map_structure(tf.zeros_like, probe)
    arrays = [
        tf.TensorArray(o.dtype, size=count if every else 1, element_shape=o.shape)
        for o in tree.flatten(probe)
    ]
    shapes = tree.map_structure(lambda s: s.shape, states)

    def body(time: Any, states: Any, before: Any, arrays: Any) -> tuple[Any, ...]:
        xs = [tf.gather(x, time) for x in flat]
        visible = None if mask is None else tf.gather(mask, time)
        output, states = advance(xs, states, visible, None if zeros else before)
        states = tree.map_structure(_with_shape, states, shapes)
        if every:
            leaves = tree.flatten(output)
            arrays = [a.write(time, o) for a, o in zip(arrays, leaves, strict=True)]
        return time + 1, states, output, arrays

    _, states, last, arrays = tf.while_loop(
        lambda time, *_: time < count, body, (0, states, nothing, arrays)
    )
    if every:
        found = [a.stack() for a in arrays]
        outputs = tree.pack_sequence_as(probe, found) if tree.is_nested(probe) else found[0]
    else:
        outputs = tree.map_structure(lambda o: o[None], last)
    return outputs, last, states


def _with_shape(x: Any, shape: Any) -> Any:
    x.set_shape(shape)
    return x


# ONNX's own operators


def cudnn_ok(
    activation: Any,
    recurrent_activation: Any,
    unroll: bool,
    use_bias: bool = True,
    reset_after: bool | None = None,
) -> bool:
    """True if a layer is one that ONNX has an operator for."""
    return (
        _is_named(activation, "tanh")
        and _is_named(recurrent_activation, "sigmoid")
        and not unroll
        and use_bias
        and reset_after in (None, True)
    )


def _is_named(activation: Any, name: str) -> bool:
    """True for Keras' own function of that name, and for tfx's."""
    module = getattr(activation, "__module__", "") or ""
    return getattr(activation, "__name__", None) == name and module.startswith(("keras.", "tfx."))


def lstm(
    inputs: Any,
    initial_state_h: Any,
    initial_state_c: Any,
    mask: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    activation: Any,
    recurrent_activation: Any,
    return_sequences: bool = False,
    go_backwards: bool = False,
    unroll: bool = False,
    time_major: bool = False,
) -> tuple[Any, Any, list[Any]]:
    """A layer of LSTM cells as one operator.

    Raises:
        NotImplementedError: a mask, another activation or dtype, which a loop computes.
    """
    fits = cudnn_ok(activation, recurrent_activation, unroll, bias is not None)
    if mask is not None or time_major or not fits or not _has_kernels(inputs, kernel):
        raise NotImplementedError
    x, h, c, w, r, b = _operands(
        inputs, initial_state_h, initial_state_c, kernel, recurrent_kernel, bias
    )
    units = r.shape[0]
    # Keras has the gates i f c o in columns; ONNX i o f c in rows.
    order = [0, 3, 1, 2]
    w, r = (_gates(m, order, units) for m in (w, r))
    both = tf.concat([_gates(b[None], order, units)[:, 0], tf.zeros([4 * units], b.dtype)], 0)
    if go_backwards:
        x = tf.reverse(x, [0])
    y, last_h, last_c = tf.raw.LSTM(
        x, w[None], r[None], both[None], None, h[None], c[None], hidden_size=units, n_outputs=3
    )
    return _results(y[:, 0], [last_h[0], last_c[0]], [h, c], return_sequences)


def gru(
    inputs: Any,
    initial_state: Any,
    mask: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    activation: Any,
    recurrent_activation: Any,
    return_sequences: bool = False,
    go_backwards: bool = False,
    unroll: bool = False,
    time_major: bool = False,
    reset_after: bool = True,
) -> tuple[Any, Any, list[Any]]:
    """A layer of GRU cells as one operator.

    Raises:
        NotImplementedError: a mask, another activation or dtype, which a loop computes.
    """
    fits = cudnn_ok(activation, recurrent_activation, unroll, bias is not None, reset_after)
    if mask is not None or time_major or not fits or not _has_kernels(inputs, kernel):
        raise NotImplementedError
    x, h, w, r, b = _operands(inputs, initial_state, kernel, recurrent_kernel, bias)
    units = r.shape[0]
    order = [0, 1, 2]  # z r h in both
    w, r = (_gates(m, order, units) for m in (w, r))
    if go_backwards:
        x = tf.reverse(x, [0])
    y, last = tf.raw.GRU(
        x,
        w[None],
        r[None],
        tf.reshape(b, [1, -1]),
        None,
        h[None],
        hidden_size=units,
        linear_before_reset=1,
        n_outputs=2,
    )
    return _results(y[:, 0], [last[0]], [h], return_sequences)


def _has_kernels(*tensors: Any) -> bool:
    """True for the dtypes that ONNX Runtime computes these operators in."""
    return all(standardize_dtype(x.dtype) in ("float32", "float64") for x in tensors)


def _operands(inputs: Any, *others: Any) -> list[Any]:
    """The inputs with the time in front, and the rest, of one dtype."""
    x = convert_to_tensor(inputs)
    return [_swapped(x), *[convert_to_tensor(other, x.dtype.name) for other in others]]


def _gates(matrix: Any, order: list[int], units: int) -> Any:
    """Columns of gates as rows, in another order."""
    parts = [matrix[:, g * units : (g + 1) * units] for g in order]
    whole = matrix if order == sorted(order) else tf.concat(parts, 1)
    return tf.linalg.matrix_transpose(whole)


def _results(
    outputs: Any, states: list[Any], initial: list[Any], every: bool
) -> tuple[Any, Any, list[Any]]:
    """What a layer gives; the batch is that of the first states, too, where the inputs' is open."""
    for state, first in zip(states, initial, strict=True):
        state.set_shape(first.shape)
    outputs.set_shape([None, *states[0].shape])
    last = states[0]
    return last, _swapped(outputs) if every else last[:, None], states


def _two_layers(*args: Any, **kwargs: Any) -> Any:
    """Both directions as one operator: two layers compute them, as the error tells Keras."""
    raise NotImplementedError


bidirectional_lstm = bidirectional_gru = _two_layers
