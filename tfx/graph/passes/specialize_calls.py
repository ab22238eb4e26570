"""Parts of this library as each call of them knows their sizes: for CPU plans alone.

A random operation, or another composite, is traced once for all shapes. A call of it with a
constant shape, or with tensors of known sizes, leads to the same nodes with that constant in place
of an input, and the sizes that follow: what fuses, and what runs a loop as one program, asks for
these. Calls alike share a graph.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from tfx.core.dims import is_static
from tfx.core.errors import InvalidArgumentError
from tfx.graph.ir import CALL, Graph, Node, Value
from tfx.graph.passes.known_sizes import SizedCopier, better_shape
from tfx.graph.rewrite import Inputs, Rewriter

# Numbers of a result: of more, the operators take so long that nothing else counts.
_MOST_ELEMENTS = 1 << 12
# Of an input that says what the sizes are.
_FEW = 64
_INTEGERS = (6, 7)


def specialize_calls(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, whose calls of composites know sizes.

    Args:
        graph: As it was traced.
    """
    wanted = any(_is_wanted(node, node.inputs) for node in graph.all_nodes())
    return _Specializer().run(graph) if wanted else graph


class _Specializer(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        # With the callee, which is kept: else another one could get its ``id``.
        self._known: dict[Hashable, tuple[Graph, Graph | None]] = {}

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if not _is_wanted(node, inputs):
            super().rewrite(node, inputs, out)
            return
        callee: Graph = node.attrs["graph"]
        key = (id(callee), *[v and _what_counts(v) for v in inputs])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = callee, _specialized(callee, inputs)
        made = known[1]
        if made is None:
            super().rewrite(node, inputs, out)
        else:
            out.nodes.append(node.replaced(inputs, {**node.attrs, "graph": made}))


def _is_wanted(node: Node, inputs: Inputs) -> bool:
    """True if a node calls a composite, for few numbers, and tells it sizes."""
    if node.op != CALL or node.tag is not None or not node.attrs["graph"].library:
        return False
    callee: Graph = node.attrs["graph"]
    if callee.routine is not None or callee.kernel is not None:
        return False
    told = zip(callee.inputs, inputs, strict=True)
    if not any(actual is not None and _tells(formal, actual) for formal, actual in told):
        return False
    return all(_is_small(v) for v in node.outputs)


def _is_small(value: Value) -> bool:
    sizes = [size for size in value.shape or () if isinstance(size, int)]
    known = value.shape is not None and len(sizes) == len(value.shape)
    return known and math.prod(sizes) <= _MOST_ELEMENTS


def _tells(formal: Value, actual: Value) -> bool:
    """True if a callee can know sizes better by what it is given."""
    return _decides(actual) or (is_static(actual.shape) and not is_static(formal.shape))


def _decides(value: Value) -> bool:
    """True of a constant that may say what sizes there are."""
    return value.const is not None and value.dtype in _INTEGERS and value.const.size <= _FEW


def _what_counts(value: Value) -> Hashable:
    contents = value.const.tobytes() if value.const is not None and _decides(value) else None
    shape = value.shape if is_static(value.shape) else None
    return value.dtype, shape, contents


def _specialized(callee: Graph, given: Inputs) -> Graph | None:
    """The callee for such inputs; None if they do not fit it, which is for the run to say."""
    made = Graph(callee.name)
    made.library, made.slopes = callee.library, callee.slopes
    made.constants = list(callee.constants)
    copier = SizedCopier(made)
    for formal, actual in zip(callee.inputs, given, strict=True):
        value = made.add_input(formal.name, formal.dtype, better_shape(formal, actual))
        if actual is not None and actual.const is not None and _decides(actual):
            value = made.add_constant(actual.const, formal.dtype, formal.name)
        copier.values[id(formal)] = value
    try:
        copier.copy(callee, made)
    except InvalidArgumentError:
        return None
    made.outputs = [copier.value(v) for v in callee.outputs]
    return made
