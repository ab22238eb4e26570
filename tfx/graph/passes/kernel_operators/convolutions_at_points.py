"""Convolutions whose filters never change at the points of Winograd's algorithm: for CPU plans.

The filter is brought there (``kernels/winograd.c``) while the plan is made, in float64, in the
order in which the kernel reads it. Factors of channels, as batch normalization has them, become a
part of it, and what is added to channels the bias. An image that is added and the ``Relu`` behind
it are done where a tile of results is made of what there is at its points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from tfx.graph.ir import CHANNELS_LAST_CONV, CHANNELS_LAST_CONV_AT_POINTS, Graph, Node, Value
from tfx.graph.passes.constant_contents import constant_contents
from tfx.graph.passes.kernel_operators.points import POINTS, Sizes
from tfx.graph.passes.pattern_rewriter import PatternRewriter
from tfx.graph.rewrite import Inputs
from tfx.kernels.library import usable_library
from tfx.runtime.values import RawValue

Array = np.ndarray[Any, Any]

_FLOAT = 1
# The points of winograd.c, which has infinity as the last one, and its weights.
_POINTS = np.array([0, 0.75, -0.75, 1.5, -1.5])
_WEIGHTS = np.array([64 / 81, -128 / 243, -128 / 243, 32 / 243, 32 / 243, 1])


def use_convolutions_at_points(graph: Graph, known: Mapping[Value, RawValue]) -> Graph:
    """A copy of the graph, bodies and callees included, with ``ChannelsLastConvAtPoints`` nodes.

    Args:
        graph: The graph, with the convolutions that are our kernels' already.
        known: Contents of inputs that never change.
    """
    library = usable_library(True)
    if library is None or not library.product_width:
        return graph
    if not any(node.op == CHANNELS_LAST_CONV for node in graph.all_nodes()):
        return graph
    return _AtPoints(known, library.product_width).run(graph)


class _Found(NamedTuple):
    """A convolution and what stands behind it.

    Attributes:
        nodes: The nodes that become one, the last one first, the convolution last.
        steps: What is done to its channels, in order: an operator and a number for each, or one.
        added: An image that is added.
        positive: Whether a ``Relu`` is the end.
    """

    nodes: tuple[Node, ...]
    steps: tuple[tuple[str, Value], ...] = ()
    added: Value | None = None
    positive: bool = False

    @property
    def convolution(self) -> Node:
        """The convolution itself."""
        return self.nodes[-1]


class _AtPoints(PatternRewriter):
    counts_shapes = False

    def __init__(self, known: Mapping[Value, RawValue], width: int) -> None:
        super().__init__(known)
        self._known = known
        self._width = width
        # By the id of the last node; the filter at the points, and the bias.
        self._ends: dict[int, tuple[_Found, Array, Array]] = {}
        # All others that are a part of one.
        self._inner: set[int] = set()

    def enter(self, graph: Graph, out: Graph) -> None:
        """Find what belongs together."""
        super().enter(graph, out)
        taken: set[int] = set()
        all_found = []
        for node in reversed(graph.nodes):
            found = None if id(node) in taken else self._found(node)
            if found is not None:
                all_found.append(found)
                taken.update(map(id, found.nodes))
        for found, scale, shift in self._with_numbers(all_found):
            panels = self._panels(found, scale)
            if panels is not None:
                self._ends[id(found.nodes[0])] = found, panels, shift
                self._inner.update(map(id, found.nodes[1:]))

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if id(node) in self._inner:
            return
        if id(node) not in self._ends:
            super().rewrite(node, self.with_source_of_shape(node, inputs), out)
            return
        found, panels, bias = self._ends.pop(id(node))
        x = found.convolution.inputs[0]
        assert x is not None
        operands = [self.value(x), out.add_constant(panels, _FLOAT), out.add_constant(bias, _FLOAT)]
        if found.added is not None:
            operands.append(self.value(found.added))
        attrs = {
            "window": found.convolution.attrs["window"],
            "positive": int(found.positive),
        }
        op, name, source = CHANNELS_LAST_CONV_AT_POINTS, node.name, node.source
        out.nodes.append(Node(op, tuple(operands), attrs, name, source, node.outputs))

    def _found(self, node: Node) -> _Found | None:
        """What ends with a node."""
        if node.tag is not None:
            return None
        if node.op == "Relu":
            y = node.inputs[0]
            inner = self.made.any(y) if self.has_one_user(y) else None
            found = None if inner is None else self._found(inner)
            if found is None or found.positive:
                return None
            return found._replace(nodes=(node, *found.nodes), positive=True)
        if node.op == "Add":
            for y, added in (node.inputs, node.inputs[::-1]):
                if y is None or added is None or not _is_same_image(y, added):
                    continue
                found = self._of_channels(self.made.any(y)) if self.has_one_user(y) else None
                if found is not None and not found.positive:
                    return found._replace(nodes=(node, *found.nodes), added=added)
        return self._of_channels(node)

    def _of_channels(self, node: Node | None) -> _Found | None:
        """A convolution, with what is done to each channel behind it."""
        if node is None or node.tag is not None:
            return None
        if node.op == CHANNELS_LAST_CONV:
            w, *bias = node.inputs[1:]
            if not all(self.is_constant(v) for v in (w, *bias)) or self.is_constant(node.inputs[0]):
                return None
            if not _pays(node):
                return None
            steps = tuple(("Add", v) for v in bias if v is not None)
            return _Found((node,), steps, positive=bool(node.attrs["positive"]))
        if node.op not in _STEPS:
            return None
        operands = [node.inputs, node.inputs[::-1]] if node.op in ("Add", "Mul") else [node.inputs]
        for y, vector in operands:
            if vector is None or not self.is_constant(vector) or not _is_of_channels(vector, y):
                continue
            found = self._of_channels(self.made.any(y)) if self.has_one_user(y) else None
            if found is not None and not found.positive:
                steps = (*found.steps, (node.op, vector))
                return found._replace(nodes=(node, *found.nodes), steps=steps)
        return None

    def _panels(self, found: _Found, scale: Array) -> Array | None:
        """The filter at the points, times a factor for each channel; None if it is not finite."""
        w = found.convolution.inputs[1]
        contents = None if w is None else constant_contents([w], self.made, self._known)
        return None if contents is None else _at_points(contents[0], scale, self._width)

    def _with_numbers(self, all_found: list[_Found]) -> Iterator[tuple[_Found, Array, Array]]:
        """Those whose steps can be computed now, with a factor and a summand for each channel."""
        values = [value for found in all_found for _, value in found.steps]
        arrays = constant_contents(values, self.made, self._known)
        if arrays is None:
            return
        given = iter(arrays)
        for found in all_found:
            count = _filters(found.convolution)
            scale, shift = np.ones(count), np.zeros(count)
            for op, _ in found.steps:
                numbers = np.broadcast_to(next(given).astype(np.float64).reshape(-1), [count])
                scale, shift = _STEPS[op](scale, shift, numbers)
            if np.isfinite(scale).all():
                yield found, scale, shift.astype(np.float32)


_STEPS: Mapping[str, Callable[[Array, Array, Array], tuple[Array, Array]]] = {
    "Add": lambda scale, shift, numbers: (scale, shift + numbers),
    "Sub": lambda scale, shift, numbers: (scale, shift - numbers),
    "Mul": lambda scale, shift, numbers: (scale * numbers, shift * numbers),
    "Div": lambda scale, shift, numbers: (scale / numbers, shift / numbers),
}


def _is_same_image(y: Value, added: Value) -> bool:
    return (
        y.shape is not None
        and len(y.shape) == 4
        and None not in y.shape
        and y.shape == added.shape
        and added.const is None
    )


def _is_of_channels(vector: Value, image: Value | None) -> bool:
    """True if a value has a number for each channel, or one for all of them."""
    if image is None or vector.shape is None or not image.shape or vector.dtype != _FLOAT:
        return False
    sizes = [*vector.shape]
    last = sizes.pop() if sizes else 1
    return last in (1, image.shape[-1]) and sizes == [1] * len(sizes) and len(sizes) < 4


def _filters(node: Node) -> int:
    shape = node.outputs[0].shape
    count = shape[-1] if shape else None
    assert isinstance(count, int)
    return count


def _pays(node: Node) -> bool:
    """True if a convolution is quicker at points."""
    image, w = node.outputs[0].shape, node.inputs[1]
    if image is None or w is None or w.shape is None:
        return False
    rows, columns, channels, filters = image[1], image[2], w.shape[2], w.shape[3]
    taps, strides, dilations = (node.attrs["window"][i : i + 2] for i in (0, 2, 4))
    if not (
        isinstance(rows, int)
        and isinstance(columns, int)
        and isinstance(channels, int)
        and isinstance(filters, int)
    ):
        return False
    sizes = Sizes(taps, strides, dilations, channels, filters, (rows, columns))
    return sizes.saved_at_points() > 0


def _at_points(filters: Array, scale: Array, width: int) -> Array | None:
    """``[points, panels, 1 + channels, width]``: a filter at the points; None if it is not finite.

    In front of each panel are the zeros that sums begin with, and behind the last column others.
    """
    taps, _, channels, count = filters.shape
    values = np.zeros((POINTS, taps))
    values[:-1] = _POINTS[:, None] ** np.arange(taps)
    values[-1, -1] = 1
    values *= _WEIGHTS[:, None]
    scaled = (filters * scale).reshape(taps * taps, channels * count)
    if not np.isfinite(scaled).all():
        return None
    panels = -(-count // width)
    filled = np.zeros((POINTS**2, 1 + channels, panels * width), np.float32)
    there = np.kron(values, values) @ scaled
    with np.errstate(over="ignore"):
        filled[:, 1:, :count] = there.reshape(POINTS**2, channels, count)
    if not np.isfinite(filled).all():
        return None
    in_panels = filled.reshape(POINTS**2, 1 + channels, panels, width).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(in_panels)
