"""Reductions over the first and the last axes at once, in two steps, for plans on a GPU.

The CUDA provider has kernels of its own where the reduced axes are the first or the last ones. What
it does otherwise (batch normalization of images with the channels first reduces the axes 0, 2 and
3) is cuDNN's general reduction, several times slower. Sums and means over the last axes and then
over the first ones are the same, as are other reductions that the provider has kernels for.
"""

from __future__ import annotations

from tfx.graph.ir import Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.tags import Mark
from tfx.graph.traits import traits

_FLOATS = (1, 10, 11, 16)
# What others left a note about for passes that have been.
_TAGS = (None, Mark.PART_OF_SUM, Mark.WITHOUT_NAN)


def in_two_steps(b: ReplacementBuilder, node: Node) -> Value | None:
    """The result of a reduction over both ends; None: it is none.

    Args:
        b: Builds what takes the node's place.
        node: A node with a CUDA kernel.
    """
    ends = _both_ends(node)
    if ends is None:
        return None
    first, last = ends
    x = node.inputs[0]
    assert x is not None
    keep = node.attrs.get("keepdims", 1)
    inner = b.apply(node.op, (x, b.ints(last)), {"keepdims": 1})
    if not keep:
        inner = b.Squeeze(inner, b.ints(last))
    return b.apply(node.op, (inner, b.ints(first)), {"keepdims": keep})


def _both_ends(node: Node) -> tuple[list[int], list[int]] | None:
    """The reduced axes at the beginning and those at the end; None: not so, or only one end."""
    if not traits(node.op).stepwise or len(node.inputs) < 2 or node.tag not in _TAGS:
        return None
    x, axes = node.inputs
    if x is None or x.shape is None or x.dtype not in _FLOATS or axes is None or axes.const is None:
        return None
    rank = len(x.shape)
    over = {int(a) % rank for a in axes.const.reshape(-1)} if rank else set()
    first = next((i for i in range(rank) if i not in over), rank)
    last = next((rank - 1 - i for i in reversed(range(rank)) if i not in over), 0)
    if not 0 < first < rank or not last or first + last != len(over):
        return None
    return list(range(first)), list(range(rank - last, rank))
