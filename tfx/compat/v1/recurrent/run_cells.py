"""What runs cells over sequences: in a loop, or step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.compat.v1.ops.control_flow import while_loop
from tfx.compat.v1.recurrent.cells import batch_of, zeros_of
from tfx.compat.v1.variables.scopes import variable_scope
from tfx.control_flow.tensor_array import TensorArray
from tfx.core import dtypes, nest
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, stack, unstack
from tfx.ops.array.creation import zeros, zeros_like
from tfx.ops.array.reshape import reshape
from tfx.ops.array.transpose import reverse, reverse_sequence, transpose
from tfx.ops.array.where import where
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import less, logical_not, logical_or
from tfx.ops.math.reduction import reduce_all


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """The outputs of a cell over sequences, in a loop of the graph.

    Args:
        cell: An ``RNNCell``.
        inputs: ``[batch, time, ...]``, or a structure of such tensors.
        sequence_length: ``[batch]`` integers: behind its end a sequence gives zeros, and its state
            stays; None: all are of full length.
        initial_state: The first state; None: zeros.
        dtype: Element type of the zeros, needed without ``initial_state``.
        parallel_iterations: Accepted for compatibility.
        swap_memory: Accepted for compatibility.
        time_major: Inputs and outputs are ``[time, batch, ...]``.
        scope: Variable scope; None: ``"rnn"``.

    Returns:
        ``(outputs, state)``: ``[batch, time, size]``, and the last state.

    Raises:
        ValueError: neither a state nor a dtype; or inputs of an unknown rank.
        TypeError: ``cell`` is no cell.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     cell = tf.nn.rnn_cell.LSTMCell(5)
        ...     outputs, state = tf.nn.dynamic_rnn(cell, tf.zeros([2, 7, 3]), dtype=tf.float32)
        ...     print(outputs.shape, state.h.shape)
        (2, 7, 5) (2, 5)
    """
    _require_cell(cell)
    with variable_scope(scope or "rnn"):
        x = nest.map_structure(convert_to_tensor, inputs)
        if not time_major:
            x = nest.map_structure(_swapped, x)
        first = nest.flatten(x)[0]
        batch, steps = batch_of(first, 1), batch_of(first, 0)
        lengths = _lengths(sequence_length, first.shape[1])
        state = _first_state(cell, initial_state, batch, dtype)
        outputs, state = _loop(cell, x, lengths, state, steps, batch)
        if not time_major:
            outputs = nest.map_structure(_swapped, outputs)
        return outputs, state


def _require_cell(cell: Any) -> None:
    if not callable(cell) or not hasattr(cell, "state_size") or not hasattr(cell, "output_size"):
        raise TypeError(
            f"cell is not an RNNCell: 'state_size' or 'output_size' is missing, or it cannot be "
            f"called. Is {cell!r}."
        )


def _swapped(x: Tensor) -> Tensor:
    """A tensor with its first two axes exchanged."""
    rank = x.shape.rank
    if rank is None or rank < 2:
        raise ValueError(
            f"Expected inputs of a known rank of 2 or more; got one of the shape {x.shape}."
        )
    return transpose(x, [1, 0, *range(2, rank)])


def _lengths(sequence_length: Any, batch: int | None) -> Tensor | None:
    if sequence_length is None:
        return None
    lengths = cast(convert_to_tensor(sequence_length), dtypes.int32)
    if lengths.shape.rank not in (None, 1):
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
        )
    known = lengths.shape[0] if lengths.shape.rank else None
    if None not in (known, batch) and known != batch:
        raise ValueError(f"sequence_length has {known} elements for a batch of {batch}.")
    return lengths


def _first_state(cell: Any, state: Any, batch: Any, dtype: Any) -> Any:
    if state is not None:
        return nest.map_structure(convert_to_tensor, state)
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch, dtype=dtype)
    return cell.zero_state(batch, dtype)


def _loop(
    cell: Any, x: Any, lengths: Tensor | None, state: Any, steps: Any, batch: Any
) -> tuple[Any, Any]:
    """The outputs ``[time, batch, size]`` and the last state."""
    leaves = [TensorArray(t.dtype, t.shape[0] or steps).unstack(t) for t in nest.flatten(x)]
    kind = _dtype_of(state, x)
    sizes = cell.output_size
    none = zeros_of(sizes, batch, kind)
    arrays = [TensorArray(kind, steps, element_shape=zero.shape) for zero in nest.flatten(none)]

    def step(time: Tensor, arrays: list[Any], state: Any) -> tuple[Any, list[Any], Any]:
        given = [array.read(time) for array in leaves]
        piece = nest.pack_sequence_as(x, given) if nest.is_nested(x) else given[0]
        output, new = cell(piece, state)
        if lengths is not None:
            output, new = _kept(less(time, lengths), output, none, new, state)
        written = [a.write(time, y) for a, y in zip(arrays, nest.flatten(output), strict=True)]
        return time + 1, written, new

    last = convert_to_tensor(steps, dtypes.int32)
    start = (convert_to_tensor(0, dtypes.int32), arrays, state)
    _, arrays, state = while_loop(lambda time, *_: less(time, last), step, start)
    found = [array.stack() for array in arrays]
    return nest.pack_sequence_as(none, found) if nest.is_nested(none) else found[0], state


def _dtype_of(state: Any, x: Any) -> Any:
    leaves = nest.flatten(state) or nest.flatten(x)
    return leaves[0].dtype


def _kept(going: Tensor, output: Any, none: Any, new: Any, old: Any) -> tuple[Any, Any]:
    """Zeros and the old state for sequences that have ended."""

    def chosen(yes: Tensor, no: Tensor) -> Tensor:
        if yes.shape.rank == 0:
            return yes
        mask = reshape(going, [-1] + [1] * ((yes.shape.rank or 1) - 1))
        return where(mask, yes, no)

    return (
        nest.map_structure(chosen, output, none),
        nest.map_structure(chosen, new, old),
    )


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """The outputs of two cells, of which one goes from the front and one from the back.

    Args:
        cell_fw: The cell that goes forward.
        cell_bw: The one that goes backward, from each sequence's own end.
        inputs: See ``dynamic_rnn``, as the other arguments.
        sequence_length: The same.
        initial_state_fw: The first state of ``cell_fw``; None: zeros.
        initial_state_bw: The first state of ``cell_bw``; None: zeros.
        dtype: The same.
        parallel_iterations: The same.
        swap_memory: The same.
        time_major: The same.
        scope: Variable scope; None: ``"bidirectional_rnn"``.

    Returns:
        ``((outputs_fw, outputs_bw), (state_fw, state_bw))``, outputs in the order of the inputs.

    Raises:
        ValueError: see ``dynamic_rnn``.
        TypeError: the same.
    """
    _require_cell(cell_fw)
    _require_cell(cell_bw)
    time, batch = (0, 1) if time_major else (1, 0)

    def backward(x: Any) -> Any:
        def one(t: Any) -> Tensor:
            if sequence_length is None:
                return reverse(t, [time])
            return reverse_sequence(t, sequence_length, time, batch)

        return nest.map_structure(one, x)

    options = {"sequence_length": sequence_length, "dtype": dtype, "time_major": time_major}
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward_scope:
            ahead, state_fw = dynamic_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=forward_scope, **options
            )
        with variable_scope("bw") as backward_scope:
            back, state_bw = dynamic_rnn(
                cell_bw,
                backward(inputs),
                initial_state=initial_state_bw,
                scope=backward_scope,
                **options,
            )
    return (ahead, backward(back)), (state_fw, state_bw)


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """The outputs of a cell over the inputs of a list, written out step by step.

    Args:
        cell: An ``RNNCell``.
        inputs: A list of tensors ``[batch, ...]``, or structures of them: one for each step.
        initial_state: The first state; None: zeros.
        dtype: Element type of the zeros, needed without ``initial_state``.
        sequence_length: See ``dynamic_rnn``.
        scope: Variable scope; None: ``"rnn"``.

    Returns:
        ``(outputs, state)``: a list, and the last state.

    Raises:
        TypeError: ``inputs`` is no list, or ``cell`` no cell.
        ValueError: there are no inputs, or neither a state nor a dtype.
    """
    _require_cell(cell)
    if not isinstance(inputs, list | tuple):
        raise TypeError(f"inputs must be a sequence; got {type(inputs).__name__}.")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "rnn") as entered:
        first = convert_to_tensor(nest.flatten(inputs[0])[0])
        state = _first_state(cell, initial_state, batch_of(first), dtype)
        lengths = _lengths(sequence_length, first.shape[0])
        outputs: list[Any] = []
        for time, piece in enumerate(inputs):
            if time:
                entered.reuse_variables()
            output, new = cell(nest.map_structure(convert_to_tensor, piece), state)
            if lengths is not None:
                none = nest.map_structure(zeros_like, output)
                output, new = _kept(less(time, lengths), output, none, new, state)
            outputs.append(output)
            state = new
    return outputs, state


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """``bidirectional_dynamic_rnn`` over the inputs of a list, written out step by step.

    Args:
        cell_fw: The cell that goes forward.
        cell_bw: The one that goes backward.
        inputs: See ``static_rnn``, as the other arguments.
        initial_state_fw: The first state of ``cell_fw``; None: zeros.
        initial_state_bw: The first state of ``cell_bw``; None: zeros.
        dtype: The same.
        sequence_length: The same.
        scope: Variable scope; None: ``"bidirectional_rnn"``.

    Returns:
        ``(outputs, state_fw, state_bw)``: the outputs of both side by side, in the order of the
        inputs.
    """
    _require_cell(cell_bw)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward_scope:
            ahead, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, forward_scope
            )
        with variable_scope("bw") as backward_scope:
            turned = _turned(inputs, sequence_length)
            back, state_bw = static_rnn(
                cell_bw, turned, initial_state_bw, dtype, sequence_length, backward_scope
            )
    pairs = zip(ahead, _turned(back, sequence_length), strict=True)
    outputs = [nest.map_structure(lambda *parts: concat(parts, 1), a, b) for a, b in pairs]
    return outputs, state_fw, state_bw


def _turned(pieces: Sequence[Any], sequence_length: Any) -> list[Any]:
    """Steps from the back to the front, of each sequence from its own end."""
    if sequence_length is None:
        return list(reversed(pieces))

    def turned(*steps: Any) -> list[Tensor]:
        stacked = reverse_sequence(stack(steps), cast(sequence_length, dtypes.int32), 0, 1)
        return unstack(stacked, len(pieces))

    columns = [turned(*column) for column in zip(*map(nest.flatten, pieces), strict=True)]
    rows = list(zip(*columns, strict=True))
    if not nest.is_nested(pieces[0]):
        return [row[0] for row in rows]
    return [nest.pack_sequence_as(pieces[0], list(row)) for row in rows]


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> Any:
    """Run a cell as a function says: what goes in, what comes out, and when to end.

    Args:
        cell: An ``RNNCell``.
        loop_fn: Function of ``(time, output, state, loop_state)`` that returns ``(finished,
            next_input, next_state, emit_output, next_loop_state)``. At the first call ``time`` is
            0 and the others are None; it returns the first input and state then, and zeros like
            what it will emit for one sequence (None: outputs of the cell). ``finished`` is
            ``[batch]``: those that are emit zeros, and their state stays.
        parallel_iterations: Accepted for compatibility.
        swap_memory: Accepted for compatibility.
        scope: Variable scope; None: ``"rnn"``.

    Returns:
        ``(emitted, state, loop_state)``: ``TensorArray`` objects of what was emitted, the last
        state, and the last state of the loop.

    Raises:
        TypeError: ``cell`` is no cell, or ``loop_fn`` no function.
    """
    _require_cell(cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn"):
        zero = convert_to_tensor(0, dtypes.int32)
        finished, piece, state, emits, loop_state = loop_fn(zero, None, None, None)
        piece = nest.map_structure(convert_to_tensor, piece)
        state = nest.map_structure(convert_to_tensor, state)
        has_state = loop_state is not None
        kept = loop_state if has_state else zero
        batch = batch_of(nest.flatten(piece)[0])
        if emits is None:
            none = zeros_of(cell.output_size, batch, _dtype_of(state, piece))
        else:
            shown = nest.map_structure(convert_to_tensor, emits)
            none = nest.map_structure(lambda t: zeros([batch, *t.shape], t.dtype), shown)
        arrays = [
            TensorArray(t.dtype, 0, dynamic_size=True, element_shape=t.shape)
            for t in nest.flatten(none)
        ]

        def step(
            time: Tensor, done: Tensor, piece: Any, arrays: list[Any], state: Any, kept: Any
        ) -> tuple[Any, ...]:
            output, new = cell(piece, state)
            later, upcoming, new, emitted, after = loop_fn(
                time + 1, output, new, kept if has_state else None
            )
            emitted, new = _kept(logical_not(done), emitted, none, new, state)
            written = [a.write(time, y) for a, y in zip(arrays, nest.flatten(emitted), strict=True)]
            return (
                time + 1,
                logical_or(done, later),
                upcoming,
                written,
                new,
                after if after is not None else kept,
            )

        going = lambda time, done, *_: logical_not(reduce_all(done))  # noqa: E731
        start = (zero, convert_to_tensor(finished), piece, arrays, state, kept)
        _, _, _, arrays, state, kept = while_loop(going, step, start)
    found = nest.pack_sequence_as(none, arrays) if nest.is_nested(none) else arrays[0]
    return found, state, kept if has_state else None
