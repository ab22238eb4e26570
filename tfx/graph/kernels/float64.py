"""Functions that the CPU provider lacks in float64, written with ones that it has.

Each entry takes the graph under construction and the node, appends the replacement (which must end
in the node's own output values) and returns True, or returns False to let casts do the work.
"""

from __future__ import annotations

from collections.abc import Callable

from tfx.graph.formulas import elementary_functions
from tfx.graph.ir import Graph, Node
from tfx.graph.kernels import windows
from tfx.graph.replacement_builder import ReplacementBuilder

_DOUBLE = 11


def _in_double(out: Graph, node: Node) -> bool:
    """A function of one float64, by its formula."""
    (x,) = node.inputs
    if x is None or x.dtype != _DOUBLE:
        return False
    write = ReplacementBuilder(out, node)
    elementary_functions.UNARY[node.op](write, x)
    return write.finish()


def _over_windows(out: Graph, node: Node) -> bool:
    """A convolution or pool in float64."""
    if node.inputs[0] is None or node.inputs[0].dtype != _DOUBLE:
        return False
    write = ReplacementBuilder(out, node)
    return windows.FORMULAS[node.op](write, node) and write.finish()


# They have no kernels at all: the runtime puts other operators in their place, which have none in
# float64.
EXPANDED = frozenset(("HardSwish", "Mish"))

DECOMPOSITIONS: dict[str, Callable[[Graph, Node], bool]] = {
    **dict.fromkeys(elementary_functions.UNARY, _in_double),
    **dict.fromkeys(windows.FORMULAS, _over_windows),
}
