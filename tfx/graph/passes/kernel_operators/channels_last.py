"""Convolutions, their gradients and pools of maxima as our kernels with the channels last.

ONNX Runtime's convolutions take channels first; it has none for gradients, which are written as
products of gathered patches, as convolutions with filters turned around and as maxima that are
scattered to their places. Here those patterns are found, and what is found becomes one operator of
the library, with a ``Transpose`` where it differs from what was there; the next pass cancels them.

A convolution whose filter never changes stays, and so do pools beside it: ONNX Runtime brings the
filter into blocks of channels once, and keeps the images in such blocks in between. Our kernels are
quicker all the same where windows of 5x5 and more do most of the work: 8.0 ms for 10.6 (128 images
of 14x14, 32 to 64 channels), 2.5 for 4.2 with 7x7. So they are at single convolutions that save
many products at the points of Winograd's algorithm: to and fro between the orders costs less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfx.graph.ir import (
    CHANNELS_LAST_CONV,
    CHANNELS_LAST_CONV_FILTER_GRADIENT,
    CHANNELS_LAST_CONV_INPUT_GRADIENT,
    CHANNELS_LAST_DEPTHWISE,
    CHANNELS_LAST_DEPTHWISE_FILTER_GRADIENT,
    CHANNELS_LAST_DEPTHWISE_INPUT_GRADIENT,
    CHANNELS_LAST_MAX_POOL,
    CHANNELS_LAST_MAX_POOL_GRADIENT,
    Graph,
    Node,
    RawShape,
    Value,
)
from tfx.graph.makers import Makers, constant_integers, grow_constants, is_constant
from tfx.graph.passes.kernel_operators.points import gains_at_points
from tfx.graph.passes.long_sums import LongSum, long_sum
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.traits import traits

_FLOAT = 1
_TO_LAST, _TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
_FILTER_TO_LAST = (2, 3, 1, 0)
_ONES = (1, 1)
# Windows of more places, of more channels, are those that our kernels take sooner than blocks.
_WIDE, _FEWEST_CHANNELS = 25, 16
_DEPTHWISE = {
    "Conv": CHANNELS_LAST_DEPTHWISE,
    "ConvTranspose": CHANNELS_LAST_DEPTHWISE_INPUT_GRADIENT,
}
Pair = tuple[int, int]


class _Window(NamedTuple):
    """As the operators have it: numbers for rows and for columns."""

    taps: Pair
    strides: Pair = _ONES
    dilations: Pair = _ONES
    before: Pair = (0, 0)
    after: Pair = (0, 0)
    rest: Pair = (0, 0)

    def numbers(self) -> tuple[int, ...]:
        return tuple(number for pair in self for number in pair)

    def turned(self) -> _Window:
        """The window of the convolution of which this one, moving by one, is the gradient."""
        reach = [(t - 1) * d for t, d in zip(self.taps, self.dilations, strict=True)]
        before = [r - b for r, b in zip(reach, self.before, strict=True)]
        after = [r - a for r, a in zip(reach, self.after, strict=True)]
        return self._replace(before=_pair(before), after=_pair(after))


def use_channels_last_kernels(graph: Graph, frozen: Iterable[Value] = ()) -> Graph:
    """A copy of the graph, bodies and callees included, with operators of the kernels' library.

    Args:
        graph: As it was traced.
        frozen: Inputs that never change while the result is used.
    """
    if not any(traits(n.op).window for n in graph.all_nodes()):
        return graph
    return _ChannelsLast(frozen).run(graph)


class _ChannelsLast(Rewriter):
    def __init__(self, frozen: Iterable[Value]) -> None:
        super().__init__()
        self._constants = {id(value) for value in frozen}
        self._made = Makers()
        # By the id of a graph that is being made: True if ONNX Runtime does its convolutions in
        # blocks of channels, False if our kernels do them. Absent if it has none.
        self._blocked: dict[int, bool] = {}

    def enter(self, graph: Graph, out: Graph) -> None:
        self._made.enter(graph.nodes)
        grow_constants(self._constants, graph.nodes)
        filters = [n.inputs[1] for n in graph.nodes if n.op == "Conv"]
        if filters:
            constant = any(is_constant(w, self._constants) for w in filters)
            self._blocked[id(out)] = constant and not _is_wide(graph.nodes)

    def _stays(self, node: Node, w: Value, out: Graph) -> bool:
        """True if ONNX Runtime is to do the convolution with a filter."""
        blocked = self._blocked.get(id(out), True) and is_constant(w, self._constants)
        return blocked and not gains_at_points(node)

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        done = False
        is_float = bool(node.outputs) and node.outputs[0].dtype == _FLOAT
        found = long_sum(node, self._made) if is_float else None
        if found is not None:
            done = self._depthwise_filter_gradient(node, found, out)
        elif node.tag is None and is_float and None not in inputs[:2]:
            if node.op in _DEPTHWISE and node.attrs.get("group", 1) != 1:
                done = self._depthwise(node, inputs, out)
            elif node.op == "Conv":
                done = self._convolution(node, inputs, out)
            elif node.op == "ConvTranspose":
                done = self._transposed_convolution(node, inputs, out)
            elif node.op == "MaxPool" and len(node.outputs) == 1:
                done = self._pool(node, out)
            elif node.op == "Reshape":
                done = self._filter_gradient(node, out) or self._pool_gradient(node, out)
        if not done:
            super().rewrite(node, inputs, out)

    def _convolution(self, node: Node, inputs: Inputs, out: Graph) -> bool:
        x, w = node.inputs[:2]
        window = _window(node.attrs, w)
        if window is None or x is None or w is None or self._stays(node, w, out):
            return False
        write = ReplacementBuilder(out, node)
        image, window = self._image(x, window, write)
        places = _moved(node.outputs[0].shape, _TO_LAST)
        unturned = _unturned(self._made, w) if window.strides == _ONES else None
        if unturned is not None:
            made = _add(
                out,
                node,
                CHANNELS_LAST_CONV_INPUT_GRADIENT,
                (image, self.value(unturned)),
                window.turned(),
                places,
            )
        else:
            turned = write.Transpose(self.value(w), perm=_FILTER_TO_LAST)
            made = _add(out, node, CHANNELS_LAST_CONV, (image, turned), window, places)
        return _finish(write, made, inputs)

    def _image(self, x: Value, window: _Window, write: ReplacementBuilder) -> tuple[Value, _Window]:
        """What a convolution sees, with the channels last, and the window with zeros around it."""
        turned = self._made.by(x, "Transpose", perm=_TO_FIRST)
        if turned is not None and turned.inputs[0] is not None:
            image, wider = _without_zeros(self._made, turned.inputs[0], window)
            if wider != window:
                return self.value(image), wider
        return write.Transpose(self.value(x), perm=_TO_LAST), window

    def _transposed_convolution(self, node: Node, inputs: Inputs, out: Graph) -> bool:
        dy, w = node.inputs[:2]
        window = _window(node.attrs, w)
        # With a constant filter, too: ONNX Runtime has no blocks of channels for these.
        if window is None or dy is None or w is None:
            return False
        if window.strides != _ONES and window.dilations != _ONES:
            return False
        write = ReplacementBuilder(out, node)
        image = write.Transpose(self.value(dy), perm=_TO_LAST)
        turned = write.Transpose(self.value(w), perm=_FILTER_TO_LAST)
        sizes = _moved(node.outputs[0].shape, _TO_LAST)
        op = CHANNELS_LAST_CONV_INPUT_GRADIENT
        return _finish(write, _add(out, node, op, (image, turned), window, sizes), inputs)

    def _depthwise(self, node: Node, inputs: Inputs, out: Graph) -> bool:
        """A convolution, or its gradient, of a filter for each channel."""
        x, w = node.inputs[:2]
        sizes = None if w is None else _known_sizes(w)
        if (
            x is None
            or w is None
            or sizes is None
            or len(sizes) != 4
            or "output_shape" in node.attrs
        ):
            return False
        if sizes[:2] != [node.attrs["group"], 1] or self._stays(node, w, out):
            return False
        window = _with_attributes(node.attrs, (sizes[2], sizes[3]))
        if window is None:
            return False
        write = ReplacementBuilder(out, node)
        if node.op == "Conv":
            image, window = self._image(x, window, write)
        else:
            image = write.Transpose(self.value(x), perm=_TO_LAST)
        turned = write.Transpose(self.value(w), perm=(2, 3, 0, 1))
        places = _moved(node.outputs[0].shape, _TO_LAST)
        made = _add(out, node, _DEPTHWISE[node.op], (image, turned), window, places)
        return _finish(write, made, inputs)

    def _depthwise_filter_gradient(self, node: Node, found: LongSum, out: Graph) -> bool:
        """``[taps, channels, 1]`` of products of patches and gradients."""
        product = self._made.by(found.x, "Mul")
        if product is None or found.mean or [*found.axes] != [0]:
            return False
        shape = _known_sizes(found.x, slice(1, None))
        patches, rows = (_reshaped(self._made, value) for value in product.inputs)
        flat = self._made.by(rows, "Flatten", axis=3)
        dy = None if flat is None else flat.inputs[0]
        counts = None if dy is None else _known_sizes(dy, slice(1, 4))
        if shape is None or len(shape) != 3 or shape[2] != 1 or dy is None or counts is None:
            return False
        if found.keeps or counts[2:] != [shape[1]]:
            return False
        for taps in ((n, shape[0] // n) for n in range(1, shape[0] + 1) if shape[0] % n == 0):
            seen = _patches_of(self._made, patches, taps, (counts[0], counts[1]))
            if seen is not None and _known_sizes(seen[0], slice(3, 4)) == [shape[1]]:
                break
        else:
            return False
        x, window = seen
        op = CHANNELS_LAST_DEPTHWISE_FILTER_GRADIENT
        given = (self.value(x), self.value(dy))
        write = ReplacementBuilder(out, node)
        write.Reshape(_add(out, node, op, given, window, (*taps, shape[1], 1)), write.ints(shape))
        return write.finish()

    def _filter_gradient(self, node: Node, out: Graph) -> bool:
        """``[kernel, channels, filters]`` of a product of patches and gradients."""
        product = self._made.by(node.inputs[0], "Gemm")
        shape = _known_sizes(node.outputs[0])
        if product is None or shape is None or len(shape) != 4:
            return False
        factors = (product.attrs.get("transA", 0), product.attrs.get("transB", 0))
        scales = (product.attrs.get("alpha", 1.0), product.attrs.get("beta", 1.0))
        if factors != (1, 0) or scales != (1.0, 1.0) or len(product.inputs) != 2:
            return False
        patches = self._made.by(product.inputs[0], "Flatten", axis=2)
        rows = self._made.by(product.inputs[1], "Flatten", axis=3)
        dy = rows.inputs[0] if rows is not None else None
        counts = None if dy is None else _known_sizes(dy, slice(1, 3))
        if patches is None or dy is None or counts is None:
            return False
        found = _patches_of(
            self._made, patches.inputs[0], (shape[0], shape[1]), (counts[0], counts[1])
        )
        if found is None:
            return False
        x, window = found
        made = _add(
            out,
            node,
            CHANNELS_LAST_CONV_FILTER_GRADIENT,
            (self.value(x), self.value(dy)),
            window,
            tuple(shape),
        )
        self.use(node.outputs[0], made)
        return True

    def _pool(self, node: Node, out: Graph) -> bool:
        x = node.inputs[0]
        window = _pool_window(node)
        if x is None or window is None or x.const is not None:
            return False
        first = self._made.by(x, "Transpose", perm=_TO_FIRST) is None
        if self._blocked.get(id(out), first):
            return False  # ONNX Runtime's own, between its convolutions or on their layout
        write = ReplacementBuilder(out, node)
        write.Transpose(self._pooled_last(node, x, window, out), perm=_TO_FIRST)
        return write.finish()

    def _pooled_last(self, node: Node, x: Value, window: _Window, out: Graph) -> Value:
        write = ReplacementBuilder(out, node)
        image = write.Transpose(self.value(x), perm=_TO_LAST)
        sizes = _moved(node.outputs[0].shape, _TO_LAST)
        return _add(out, node, CHANNELS_LAST_MAX_POOL, (image,), window, sizes)

    def _pool_gradient(self, node: Node, out: Graph) -> bool:
        """Zeros of the image's shape, to which gradients were added at the places of maxima."""
        scattered = self._made.by(node.inputs[0], "ScatterElements", axis=0, reduction="add")
        if scattered is None:
            return False
        zeros, places, gradients = scattered.inputs
        places, gradients = _reshaped(self._made, places), _reshaped(self._made, gradients)
        pooled = self._made.by(places, "MaxPool")
        if pooled is None or gradients is None or not _is_zero(self._made, zeros):
            return False
        x, window = pooled.inputs[0], _pool_window(pooled)
        if x is None or window is None or pooled.outputs[1] is not places:
            return False
        if x.shape != node.outputs[0].shape or gradients.shape != pooled.outputs[0].shape:
            return False
        if x.shape is None or len(x.shape) != 4 or x.const is not None:
            return False
        write = ReplacementBuilder(out, node)
        image = write.Transpose(self.value(x), perm=_TO_LAST)
        dy = write.Transpose(self.value(gradients), perm=_TO_LAST)
        maxima = self._pooled_last(pooled, x, window, out)
        given, op = (image, maxima, dy), CHANNELS_LAST_MAX_POOL_GRADIENT
        made = _add(out, node, op, given, window, _moved(x.shape, _TO_LAST))
        write.Transpose(made, perm=_TO_FIRST)
        return write.finish()


def _add(
    out: Graph,
    node: Node,
    op: str,
    inputs: Sequence[Value],
    window: _Window,
    shape: RawShape,
) -> Value:
    made = out.add_node(
        op,
        tuple(inputs),
        {"window": window.numbers(), **({"positive": 0} if op == CHANNELS_LAST_CONV else {})},
        [(_FLOAT, shape)],
        name=node.name,
        source=node.source,
    )
    return made.outputs[0]


def _finish(write: ReplacementBuilder, made: Value, inputs: Inputs) -> bool:
    """Let an image, with what is added to its channels, be the result with the channels first."""
    bias = inputs[2] if len(inputs) > 2 else None
    if bias is not None:
        made = write.Add(made, bias)
    write.Transpose(made, perm=_TO_FIRST)
    return write.finish()


def _pair(values: Iterable[int]) -> Pair:
    first, second = values
    return int(first), int(second)


def _window(attrs: Mapping[str, Any], w: Value | None) -> _Window | None:
    """The window of a convolution of images; None where the kernels have none for it."""
    taps = None if w is None else _known_sizes(w)
    if taps is None or len(taps) != 4 or attrs.get("group", 1) != 1 or "output_shape" in attrs:
        return None
    return _with_attributes(attrs, (taps[2], taps[3]))


def _pool_window(node: Node) -> _Window | None:
    attrs, taps = node.attrs, node.attrs["kernel_shape"]
    if len(taps) != 2 or attrs.get("ceil_mode", 0) or attrs.get("storage_order", 0):
        return None
    return _with_attributes(attrs, _pair(taps))


def _with_attributes(attrs: Mapping[str, Any], taps: Pair) -> _Window | None:
    if attrs.get("auto_pad", "NOTSET") not in ("NOTSET", b"NOTSET"):
        return None
    pads = attrs.get("pads", (0, 0, 0, 0))
    return _Window(
        taps,
        _pair(attrs.get("strides", _ONES)),
        _pair(attrs.get("dilations", _ONES)),
        _pair(pads[:2]),
        _pair(pads[2:]),
        _pair(attrs.get("output_padding", (0, 0))),
    )


def _moved(shape: RawShape, order: Sequence[int]) -> RawShape:
    return None if shape is None else tuple(shape[axis] for axis in order)


def _is_wide(nodes: Iterable[Node]) -> bool:
    """True if windows of many places do more than half of the products of convolutions."""
    wide, all_of_them = 0, 0
    for node in nodes:
        if node.op != "Conv" or node.inputs[1] is None:
            continue
        sizes = _known_sizes(node.inputs[1])
        places = _known_sizes(node.outputs[0], slice(2, None))
        if sizes is None or places is None or len(sizes) != 4:
            return False
        count = math.prod(sizes) * math.prod(places)
        all_of_them += count
        if math.prod(sizes[2:]) >= _WIDE and sizes[1] >= _FEWEST_CHANNELS:
            wide += count
    return 2 * wide > all_of_them


def _known_sizes(value: Value, part: slice = slice(None)) -> list[int] | None:
    if value.shape is None:
        return None
    sizes = value.shape[part]
    known = [size for size in sizes if isinstance(size, int)]
    return known if len(known) == len(sizes) else None


def _reshaped(made: Makers, value: Value | None) -> Value | None:
    node = made.by(value, "Reshape")
    return None if node is None else node.inputs[0]


def _is_zero(made: Makers, value: Value | None) -> bool:
    if value is not None and value.const is not None:
        return not value.const.any()
    filled = made.by(value, "ConstantOfShape")
    if filled is not None:
        fill = filled.attrs.get("value")
        return fill is None or not np.any(fill)
    spread = made.by(value, "Expand")
    return spread is not None and _is_zero(made, spread.inputs[0])


def _unturned(made: Makers, w: Value) -> Value | None:
    """``[*kernel, c, o]`` where a filter is that, turned around and with channels exchanged."""
    exchanged = made.by(w, "Transpose", perm=(2, 3, 0, 1))
    turned = None if exchanged is None else made.by(exchanged.inputs[0], "Slice")
    if turned is None or len(turned.inputs) != 5 or turned.inputs[0] is None:
        return None
    starts, ends, axes, steps = (constant_integers(x) for x in turned.inputs[1:])
    if not starts or not ends or axes is None or steps is None:
        return None
    whole = all(s == -1 for s in (*starts, *steps)) and all(e < -(2**31) for e in ends)
    sizes = _known_sizes(turned.inputs[0])
    if not whole or sizes is None or not set(axes) <= {0, 1}:
        return None
    left = [size for axis, size in enumerate(sizes[:2]) if axis not in axes]
    return turned.inputs[0] if all(size == 1 for size in left) else None


def _patches_of(
    made: Makers, patches: Value | None, taps: Pair, counts: Pair
) -> tuple[Value, _Window] | None:
    """What ``[n, places, taps, channels]`` were gathered from, and the window."""
    window = _Window(taps)
    whole = made.by(patches, "Unsqueeze")
    if whole is not None:
        flat = made.by(whole.inputs[0], "Reshape")
        x = flat.inputs[0] if flat is not None and taps == _ONES else None
        if (
            x is None
            or constant_integers(whole.inputs[1]) != [2]
            or _known_sizes(x, slice(1, 3)) != [*counts]
        ):
            return None
    else:
        gathered = made.by(patches, "Gather", axis=1)
        flat = None if gathered is None else made.by(gathered.inputs[0], "Reshape")
        sums = None if gathered is None else made.by(gathered.inputs[1], "Add")
        x = None if flat is None else flat.inputs[0]
        if sums is None or x is None:
            return None
        moves = _moves(sums, x, taps, counts)
        if moves is None:
            return None
        window = window._replace(strides=moves[0], dilations=moves[1])
    if x.shape is None or len(x.shape) != 4:
        return None
    return _without_zeros(made, x, window)


def _without_zeros(made: Makers, x: Value, window: _Window) -> tuple[Value, _Window]:
    """An image with the channels last, and a window that has the zeros which stood around it."""
    padded = made.by(x, "Pad")
    if padded is None or padded.attrs.get("mode", "constant") not in ("constant", b"constant"):
        return x, window
    inner, *given = padded.inputs
    amounts = constant_integers(given[0])
    if inner is None or amounts is None or len(amounts) != 8 or min(amounts) < 0:
        return x, window
    if any(amounts[i] for i in (0, 3, 4, 7)) or not all(_is_zero(made, v) for v in given[1:2] if v):
        return x, window
    if len(given) > 2 and given[2] is not None:
        return x, window
    before, after = (
        _pair(a + b for a, b in zip(old, more, strict=True))
        for old, more in ((window.before, amounts[1:3]), (window.after, amounts[5:7]))
    )
    return _without_zeros(made, inner, window._replace(before=before, after=after))


def _moves(sums: Node, x: Value, taps: Pair, counts: Pair) -> tuple[Pair, Pair] | None:
    """Strides and dilations of the places that are gathered."""
    starts, offsets = (constant_integers(part) for part in sums.inputs)
    sizes = _known_sizes(x, slice(1, 3))
    if starts is None or offsets is None or sizes is None or len(sizes) != 2 or sizes[1] == 0:
        return None
    if len(starts) != math.prod(counts) or len(offsets) != math.prod(taps) or not starts:
        return None
    found = []
    for flat, many in ((starts, counts), (offsets, taps)):
        rows = flat[many[1]] // sizes[1] if many[0] > 1 else 1
        columns = flat[1] if many[1] > 1 else 1
        grid = np.arange(many[0])[:, None] * rows * sizes[1] + np.arange(many[1]) * columns
        if rows < 1 or columns < 1 or grid.reshape(-1).tolist() != flat:
            return None
        found.append((rows, columns))
    return found[0], found[1]
