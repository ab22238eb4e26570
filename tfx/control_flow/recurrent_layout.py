"""The tensors of a recurrent operator in one layout, whatever its attributes say.

Time comes first and runs forwards in every direction: ``[time, batch, k]``, or with two directions
``[time, 2, batch, k]``, where both run in one loop. Weights are ``[out, in]`` or ``[2, out, in]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.control_flow.tensor_array import TensorArray
from tfx.control_flow.while_loop import WhileLoop
from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.shapes import reversed_along
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.shapes import concat_shape, dimension, filled, product, reshape_to, shape_vector

Step = Callable[[list[Tensor], list[Tensor]], tuple[list[Tensor], list[Tensor]]]


class RecurrentLayout:
    """The layout of a recurrent node's tensors.

    Args:
        attrs: The node's attributes.
        lengths: The length of each sequence, or None.
    """

    def __init__(self, attrs: dict[str, Any], lengths: Tensor | None) -> None:
        given = attrs.get("direction", "forward")
        self._direction = given.decode() if isinstance(given, bytes) else given
        self.both = self._direction == "bidirectional"
        self._batch_first = bool(attrs.get("layout"))
        self._lengths = lengths

    # Into the layout

    def sequence(self, x: Tensor) -> Tensor:
        """``X``: a copy for each direction."""
        x = self._time_first(x)
        if self._direction == "forward":
            return x
        turned = self._turned(x)
        return turned if not self.both else _stacked((x, turned))

    def states(self, y: Tensor) -> Tensor:
        """``Y``, which has an axis for the direction."""
        if self._batch_first:
            y = ox.Transpose(y, perm=(1, 2, 0, 3))
        if not self.both:
            y = ox.Squeeze(y, int64_constant([1]))
            return y if self._direction == "forward" else self._turned(y)
        first, second = (ox.Gather(y, int64_constant(i), axis=1) for i in (0, 1))
        return _stacked((first, self._turned(second)))

    def state(self, h: Tensor) -> Tensor:
        """One state, ``initial_h`` or ``Y_h``."""
        if self._batch_first:
            h = ox.Transpose(h, perm=(1, 0, 2))
        return h if self.both else ox.Squeeze(h, int64_constant([0]))

    def last_state(self, dh: Tensor) -> Tensor:
        """The gradient of a last state, which of a sequence without steps is not the first."""
        dh = self.state(dh)
        if self._lengths is None:
            return dh
        lengths = ox.Unsqueeze(cast_to(self._lengths, dtypes.int64), int64_constant([1]))
        return chosen(ox.Greater(lengths, int64_constant(0)), dh, 0.0)

    def weight(self, w: Tensor) -> Tensor:
        """A weight or bias."""
        return w if self.both else ox.Squeeze(w, int64_constant([0]))

    def row(self, b: Tensor) -> Tensor:
        """A bias or peephole weight that every row of the batch shares."""
        return ox.Unsqueeze(b, int64_constant([1])) if self.both else self.weight(b)

    # And out of it

    def sequence_back(self, x: Tensor) -> Tensor:
        """The reverse of ``sequence`` for gradients: those of all directions added."""
        if self.both:
            first, second = (ox.Gather(x, int64_constant(i), axis=1) for i in (0, 1))
            x = ox.Add(first, self._turned(second))
        elif self._direction != "forward":
            x = self._turned(x)
        return self._time_first(x)

    def state_back(self, h: Tensor) -> Tensor:
        """The reverse of ``state``."""
        h = h if self.both else ox.Unsqueeze(h, int64_constant([0]))
        return ox.Transpose(h, perm=(1, 0, 2)) if self._batch_first else h

    def weight_back(self, w: Tensor) -> Tensor:
        """The reverse of ``weight``."""
        return w if self.both else ox.Unsqueeze(w, int64_constant([0]))

    # What is done in it

    def mask(self, x: Tensor) -> Tensor | None:
        """Return a mask of the steps in a sequence, ``[time, (1,) batch, 1]``; None means all."""
        if self._lengths is None:
            return None
        end = reshape_to(dimension(x, 0), int64_constant([]))
        steps = ox.Range(int64_constant(0), end, int64_constant(1))
        steps = reshape_to(steps, int64_constant([-1, 1, 1, 1] if self.both else [-1, 1, 1]))
        lengths = cast_to(self._lengths, dtypes.int64)
        return ox.Less(steps, ox.Unsqueeze(lengths, int64_constant([1])))

    def project(self, x: Tensor, w: Tensor) -> Tensor:
        """Multiply every row by the transposed weight."""
        if not self.both:
            return ox.MatMul(x, ox.Transpose(w, perm=(1, 0)))
        rows = self._rows(x)
        made = ox.MatMul(rows, ox.Transpose(w, perm=(0, 2, 1)))
        sizes = (int64_constant([2]), dimension(x, 0), dimension(x, 2), dimension(w, 1))
        return ox.Transpose(reshape_to(made, concat_shape(*sizes)), perm=(1, 0, 2, 3))

    def pull_back(self, y: Tensor, w: Tensor) -> Tensor:
        """Multiply every row by the weight."""
        perm = (0, 2, 1) if self.both else (1, 0)
        return self.project(y, ox.Transpose(w, perm=perm))

    def outer(self, y: Tensor, x: Tensor) -> Tensor:
        """The sum over all rows of the products of each element of ``y`` and of ``x``."""
        rows, columns = self._rows(y), self._rows(x)
        if not self.both:
            return ox.Gemm(rows, columns, transA=1)
        return ox.MatMul(ox.Transpose(rows, perm=(0, 2, 1)), columns)

    def summed(self, y: Tensor) -> Tensor:
        """The sum over time and batch."""
        axes = int64_constant([0, 2] if self.both else [0, 1])
        return ox.ReduceSum(y, axes, keepdims=0)

    def before(self, states: Tensor, first: Tensor | None) -> Tensor:
        """Return the state before each step."""
        if first is None:
            shape = concat_shape(int64_constant([1]), shape_vector(states, 1))
            head = filled(shape, 0, states.dtype)
        else:
            head = ox.Unsqueeze(first, int64_constant([0]))
        most = ox.Slice(states, int64_constant([0]), int64_constant([-1]))
        return ox.Concat(head, most, axis=0)

    def _rows(self, x: Tensor) -> Tensor:
        """Time and batch as one axis."""
        if not self.both:
            return reshape_to(x, concat_shape(product(shape_vector(x, 0, 2)), dimension(x, 2)))
        turned = ox.Transpose(x, perm=(1, 0, 2, 3))
        rows = ox.Mul(dimension(x, 0), dimension(x, 2))
        return reshape_to(turned, concat_shape(int64_constant([2]), rows, dimension(x, 3)))

    def _time_first(self, x: Tensor) -> Tensor:
        return ox.Transpose(x, perm=(1, 0, 2)) if self._batch_first else x

    def _turned(self, x: Tensor) -> Tensor:
        """Return sequences ``[time, batch, k]``, each reversed within its length."""
        if self._lengths is None:
            return reversed_along(ox, x)
        lengths = cast_to(self._lengths, dtypes.int64)
        return ox.ReverseSequence(x, lengths, time_axis=0, batch_axis=1)


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    one = int64_constant([1])
    return ox.Concat(*[ox.Unsqueeze(p, one) for p in parts], axis=1)


def chosen(mask: Tensor | None, x: Tensor, other: float) -> Tensor:
    """``x`` where the mask is true or absent, else a number."""
    if mask is None:
        return x
    return ox.Where(mask, x, scalar_like(other, x))


def recur(
    step: Step, states: list[Tensor], slices: list[Tensor], kept: list[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """A loop over the first axis, in the graph under construction.

    Args:
        step: Takes the states and a slice of each tensor; returns the next states and what to keep.
        states: The initial states.
        slices: The tensors, of one length.
        kept: Examples of what is kept, for their types.

    Returns:
        The last states, and what was kept, stacked.
    """
    graph = current().graph
    assert graph is not None
    count = reshape_to(dimension(slices[0], 0), int64_constant([]))
    arrays = [
        TensorArray(x.dtype, size=count, element_shape=x.shape, clear_after_read=False)
        for x in kept
    ]

    def body(
        i: Tensor, states: list[Tensor], arrays: list[TensorArray]
    ) -> tuple[Tensor, list[Tensor], list[TensorArray]]:
        now = [ox.Gather(x, i, axis=0) for x in slices]
        after, rows = step(list(states), now)
        for state, x in zip(states, after, strict=True):
            x.set_shape(state.shape)  # which weights of unknown sizes do not tell
        written = [a.write(i, x) for a, x in zip(arrays, rows, strict=True)]
        return ox.Add(i, int64_constant(1)), after, written

    loop = WhileLoop(graph, body, body, (int64_constant(0), states, arrays), None, "recurrence")
    _, last, arrays = loop.add(exact=count)
    return list(last), [a.stack() for a in arrays]
