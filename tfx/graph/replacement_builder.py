"""``ReplacementBuilder``: appends the nodes that take the place of another one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfx.core import dtypes
from tfx.graph.infer import Types, infer
from tfx.graph.ir import Attributes, Graph, Node, Value
from tfx.graph.ops import Ops

_INT64, _DOUBLE = 7, 11
_NONE: Attributes = {}


class ReplacementBuilder(Ops[Value]):
    """Appends nodes named after the one that they replace.

    Args:
        out: The graph under construction.
        node: The node to replace.
    """

    def __init__(self, out: Graph, node: Node) -> None:
        self._out = out
        self._node = node

    @property
    def graph(self) -> Graph:
        """The graph under construction."""
        return self._out

    def constant(self, value: float, dtype: int) -> Value:
        """A scalar of any element type."""
        numpy_dtype = dtypes.from_onnx(dtype).as_numpy_dtype
        return self._out.add_constant(np.array(value, numpy_dtype), dtype)

    def number(self, value: float) -> Value:
        """A float64 scalar."""
        return self._out.add_constant(np.array(value, np.float64), _DOUBLE)

    def ints(self, values: Sequence[int] | int) -> Value:
        """An int64 vector, or a scalar."""
        return self._out.add_constant(np.array(values, np.int64), _INT64)

    def like(self, value: float, model: Value) -> Value:
        """A scalar of the dtype that another value has."""
        return self.constant(value, model.dtype)

    def matrix(self, rows: Sequence[Sequence[int]]) -> Value:
        """An int64 matrix."""
        return self._out.add_constant(np.array(rows, np.int64), _INT64)

    def apply(self, op: str, inputs: Sequence[Value | None], attrs: Attributes = _NONE) -> Value:
        """See ``Ops``."""
        return self._append(op, inputs, attrs, infer(op, inputs, attrs))[0]

    def apply_n(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: Attributes = _NONE,
        outputs: int | None = None,
    ) -> tuple[Value, ...]:
        """See ``Ops``."""
        return self._append(op, inputs, attrs, infer(op, inputs, attrs, outputs))

    def apply_bodies(
        self, op: str, inputs: Sequence[Value | None], attrs: Attributes, result: Value
    ) -> Value:
        """An operator with bodies whose result is like ``result``."""
        return self._append(op, inputs, attrs, [(result.dtype, result.shape)])[0]

    def _append(
        self, op: str, inputs: Sequence[Value | None], attrs: Attributes, types: Types
    ) -> tuple[Value, ...]:
        label = f"{self._node.name}_{op.lower()}"
        source = self._node.source
        return self._out.add_node(op, inputs, attrs, types, name=label, source=source).outputs

    def last(self) -> Value:
        """The first result of the last operation."""
        return self._out.nodes[-1].outputs[0]

    def finish(self) -> bool:
        """Let the last operation make the result of the replaced node."""
        last = self._out.nodes.pop()
        final = Node(
            last.op,
            last.inputs,
            last.attrs,
            self._node.name,
            self._node.source,
            outputs=self._node.outputs,
            tag=self._node.tag if last.tag is None else last.tag,
        )
        self._out.nodes.append(final)
        return True
