"""Compute once what is computed several times: common subexpressions, and equal constants.

Gradient rules write what they need again (a shape, a comparison, the sigmoid of the forward pass);
here the backward part of a graph meets its forward part. Only what is the same to the last bit is
shared: the same operator with the same attributes on the same values, or the shapes of tensors
whose sizes have the same names. What draws random numbers, has effects or carries a tag is left
alone, and so are branches and loops as a whole; what stands in their bodies is shared within the
body and with what the enclosing graph has made before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.graph.ir import CALL, HOST, Graph, Node, RawShape, Value, attributes_key
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.shape_code import sizes
from tfx.graph.tags import Mark
from tfx.graph.traits import traits

# Larger constants are only shared if they are one array.
_COMPARED_BYTES = 1024


def eliminate_common(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, without nodes that repeat an earlier one.

    Args:
        graph: The graph. Constants that nothing uses any more stay: dead code is another pass's
            business.
    """
    return _Eliminator().run(graph)


class _Eliminator(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        # Nodes by key, for the current graph and its enclosing ones, innermost first.
        self._scopes: tuple[dict[Any, Sequence[Value]], ...] = ()
        self._pure: dict[int, bool] = {}
        # By the id of its result.
        self._casts: dict[int, Node] = {}

    def enter(self, graph: Graph, out: Graph) -> None:
        self._scopes = ({}, *self._scopes)
        out.constants = [v for v in graph.constants if not self._replaced_constant(v)]

    def leave(self, out: Graph) -> None:
        self._scopes = self._scopes[1:]

    def callee(self, graph: Graph) -> Graph:
        around, self._scopes = self._scopes, ()
        result = super().callee(graph)
        self._scopes = around
        return result

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        source = self._cast_back(node, inputs)
        if source is not None and _fit((source,), node.outputs):
            self.use(node.outputs[0], source)
            return
        key = self._key(node, inputs)
        earlier = None if key is None else self._find(key)
        if earlier is not None and _fit(earlier, node.outputs):
            for old, new in zip(node.outputs, earlier, strict=True):
                self.use(old, new)
            return
        if key is not None and earlier is None:
            self._scopes[0][key] = node.outputs
        made = self.rewired(node, inputs)
        if made.op == "Cast":
            self._casts[id(made.outputs[0])] = made
        out.nodes.append(made)

    def _cast_back(self, node: Node, inputs: Inputs) -> Value | None:
        """Return the operand of a lossless cast that this one undoes.

        ONNX Runtime takes such pairs out, too, and forgets the bodies that use them.
        """
        if node.op != "Cast" or node.tag is not None:
            return None
        first = self._casts.get(id(inputs[0]))
        source = None if first is None or first.tag is not None else first.inputs[0]
        if source is None or source.dtype != node.outputs[0].dtype:
            return None
        return source if _holds(inputs[0], source) else None

    def _find(self, key: Any) -> Sequence[Value] | None:
        for known in self._scopes:
            found = known.get(key)
            if found is not None:
                return found
        return None

    def _replaced_constant(self, value: Value) -> bool:
        """True if an equal constant takes the place of this one."""
        const = value.const
        if const is None or const.dtype.hasobject:
            return False
        contents: Any = const.tobytes() if const.nbytes <= _COMPARED_BYTES else id(const)
        key = ("constant", value.dtype, const.shape, contents)
        earlier = self._find(key)
        if earlier is None:
            self._scopes[0][key] = (value,)
            return False
        self.use(value, earlier[0])
        return True

    def _key(self, node: Node, inputs: Sequence[Value | None]) -> Any:
        """Equal for nodes that compute the same; None: not to be shared."""
        op, attrs = node.op, node.attrs
        if (
            node.tag not in (None, Mark.PART_OF_SUM)
            or op == HOST
            or traits(op).random
            or not inputs
        ):
            return None
        if op == "Shape" and (known := sizes(inputs[0], attrs)) is not None and None not in known:
            # Of whichever tensor: a later one would be kept until its shape is asked for.
            return (op, known, node.device)
        given: Any = tuple([id(v) if v is not None else 0 for v in inputs])
        if traits(op).commutative:
            given = tuple(sorted(given))
        if not attrs:
            return (op, given, node.device, len(node.outputs))
        bodies = [v for v in attrs.values() if isinstance(v, Graph)]
        if bodies and (op != CALL or not self._is_pure(bodies[0])):
            return None
        return (op, given, node.device, len(node.outputs), attributes_key(attrs))

    def _is_pure(self, graph: Graph) -> bool:
        """True if a called graph gives the same for the same, and does nothing else."""
        found = self._pure.get(id(graph))
        if found is None:
            found = self._pure[id(graph)] = all(
                n.op != HOST and not traits(n.op).random for n in graph.all_nodes()
            )
        return found


def _holds(wide: Value | None, narrow: Value) -> bool:
    """True if each number of one dtype is one of another."""
    if wide is None:
        return False
    source, target = (np.dtype(dtypes.from_onnx(v.dtype).as_numpy_dtype) for v in (narrow, wide))
    if source.kind not in "biuf" or target.kind not in "biuf":
        return False
    # NumPy lets float64 pass for whole numbers of 64 bits, of which it holds 53.
    fits = target.kind != "f" or source.kind == "f" or source.itemsize < 8
    return fits and np.can_cast(source, target, "safe")


def _fit(earlier: Sequence[Value], outputs: Sequence[Value]) -> bool:
    """True if the earlier values may take the place of others: as much is known of their shapes."""
    return all(
        a.dtype == b.dtype and (a.shape == b.shape or _is_as_precise(a.shape, b.shape))
        for a, b in zip(earlier, outputs, strict=True)
    )


def _is_as_precise(shape: RawShape, other: RawShape) -> bool:
    if other is None:
        return True
    if shape is None or len(shape) != len(other):
        return False
    return all(a == b or b is None for a, b in zip(shape, other, strict=True))
