"""``RNN``, ``GRU`` and ``LSTM`` with the batch first or in float64, which have no kernels.

Seen in ONNX Runtime 1.31: "Batchwise recurrent operations (layout == 1) are not supported". Nor is
float64 in ``GRU`` and ``LSTM``, though their kernels claim it: "does not support double yet". And
of no sequences these two end the process (``GRU`` of no steps too, of which ``RNN`` forgets the
first state): where sizes are known the result is written in their place, elsewhere the graph
refuses to run.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.graph.infer import refusal
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.tags import Mark

_STATES = (5, 6)  # initial_h and initial_c
_FLOAT, _DOUBLE = 1, 11


def _correct(out: Graph, node: Node) -> bool:
    return _time_first(out, node) or _in_single(out, node) or _of_nothing(out, node)


def _of_nothing(out: Graph, node: Node) -> bool:
    """No steps or no sequences."""
    x = node.inputs[0]
    if x is None or x.shape is None or len(x.shape) != 3:
        return False
    if x.node is not None and x.node.tag is Mark.NOT_EMPTY:
        return False
    for weight in node.inputs[1:3]:
        if weight is not None and weight.shape is not None and 0 in weight.shape:
            reason = "the weights must have a direction, units and features"
            raise InvalidArgumentError(refusal(node.op, node.inputs, reason), op=node.op)
    sizes = x.shape[:2]
    if 0 in sizes:
        return all(_without_steps(out, node, i) for i in range(len(node.outputs)))
    if node.op == "RNN" or is_static(sizes):
        return False
    write = ReplacementBuilder(out, node)
    shape = write.Shape(x)
    least = write.ReduceMin(shape, keepdims=1)
    fine = write.Greater(least, write.ints([0]))
    target = write.Where(fine, shape, write.ints([Refusal.NO_SEQUENCES.dimension]))
    some = write.Reshape(x, target, allowzero=1)
    some.shape = x.shape
    assert some.node is not None
    some.node.tag = Mark.NOT_EMPTY
    out.nodes.append(node.replaced((some, *node.inputs[1:])))
    return True


def _without_steps(out: Graph, node: Node, number: int) -> bool:
    """A result where there are no steps: nothing, or the state in the beginning."""
    result = node.outputs[number]
    shape = result.shape
    if not is_static(shape):
        return False
    place = _STATES[number - 1] if number else len(node.inputs)
    state = node.inputs[place] if place < len(node.inputs) else None
    if state is None:
        kind = dtypes.from_onnx(result.dtype).as_numpy_dtype
        sizes = [d for d in shape if isinstance(d, int)]
        state = out.add_constant(np.zeros(sizes, kind), result.dtype)
    name = node.name if number == 0 else out.unique_name(node.name)
    made = Node("Identity", (state,), {}, name, node.source, device=node.device, outputs=(result,))
    out.nodes.append(made)
    return True


def _in_single(out: Graph, node: Node) -> bool:
    """float64 between casts to float32."""
    if node.inputs[0] is None or node.inputs[0].dtype != _DOUBLE:
        return False
    write = ReplacementBuilder(out, node)
    inputs = [x and (write.Cast(x, to=_FLOAT) if x.dtype == _DOUBLE else x) for x in node.inputs]
    results = tuple(
        Value(out.unique_name(f"{y.name}_single"), _FLOAT, y.shape) for y in node.outputs
    )
    inner = node.replaced(inputs, outputs=results, device=None).make_outputs()
    out.nodes.append(inner)
    for y, made in zip(node.outputs, inner.outputs, strict=True):
        name = out.unique_name(f"{node.name}_back")
        back = Node("Cast", (made,), {"to": _DOUBLE}, name, node.source, outputs=(y,))
        out.nodes.append(back)
    return True


def _time_first(out: Graph, node: Node) -> bool:
    """Transpose all inputs with a batch axis; False: time is first already."""
    if not node.attrs.get("layout"):
        return False
    write = ReplacementBuilder(out, node)

    def swapped(x: Value | None) -> Value | None:
        return x and write.Transpose(x, perm=(1, 0, 2))

    inputs = [swapped(x) if i == 0 or i in _STATES else x for i, x in enumerate(node.inputs)]
    attrs = {k: v for k, v in node.attrs.items() if k != "layout"}
    perms = [(2, 0, 1, 3), (1, 0, 2), (1, 0, 2)][: len(node.outputs)]
    results = tuple(
        Value(out.unique_name(f"{y.name}_turned"), y.dtype, _back(y, perm))
        for y, perm in zip(node.outputs, perms, strict=True)
    )
    inner = node.replaced(inputs, attrs, outputs=results, device=None).make_outputs()
    out.nodes.append(inner)
    for y, made, perm in zip(node.outputs, inner.outputs, perms, strict=True):
        name = out.unique_name(f"{node.name}_turn")
        turn = Node("Transpose", (made,), {"perm": perm}, name, node.source, outputs=(y,))
        out.nodes.append(turn)
    return True


def _back(y: Value, perm: tuple[int, ...]) -> tuple[int | str | None, ...] | None:
    """The shape before a transposition."""
    if y.shape is None:
        return None
    return tuple(y.shape[perm.index(i)] for i in range(len(perm)))


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = dict.fromkeys(
    ("GRU", "LSTM", "RNN"), _correct
)
