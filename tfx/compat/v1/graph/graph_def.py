"""Graphs as ONNX's ``GraphProto``: the computation without the values of variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfx.compat.v1.graph import pseudo_ops
from tfx.compat.v1.graph.pseudo_ops import Access
from tfx.compat.v1.session.resolve_state import resolve
from tfx.framework.variable import Variable
from tfx.graph import ir
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.passes.drop_host_calls import drop_host_calls
from tfx.graph.passes.inline_calls import expand_calls
from tfx.graph.passes.remove_copies import remove_copies
from tfx.graph.serialization.serialize import to_model

if TYPE_CHECKING:
    from tfx.compat.v1.graph.graph import Graph


def graph_def_of(graph: Graph) -> Any:
    """See ``Graph.as_graph_def``."""
    nodes = [n for n in graph.ordered.nodes if not _initial(n)]
    leaves = _leaves(nodes)
    feeds = [(n.outputs[0], n.name) for n in nodes if n.op == pseudo_ops.PLACEHOLDER]
    feeds += [(v, tensor_name(v)) for v in _made_by_python(nodes)]
    targets = [n for n in nodes if n.op == pseudo_ops.ASSIGN]
    part = resolve(
        graph.ordered, leaves, targets, feeds, memory=_itself, name=graph.name, device=graph.home
    ).func_graph
    plain = drop_host_calls(expand_calls(part.graph, lambda _: True))[0]
    names = [tensor_name(v) for v in leaves]
    names += [f"{s.name.removesuffix(':0')}_new" for s in part.written_states()]
    plain = remove_dead_nodes(remove_copies(plain))
    return to_model(plain, output_names=names).graph


def _itself(variable: Variable) -> Variable:
    return variable


def _initial(node: ir.Node) -> bool:
    """True if a node belongs to initializers, or to nothing but the fetching of a variable."""
    if isinstance(node.tag, Access) and node.tag.initial:
        return True
    return "/Initializer/" in node.name or "/Read/" in node.name


def _by_python(node: ir.Node) -> bool:
    """True if only Python can do what a node does, and there is nothing to put in its place."""
    return node.op == ir.HOST and not node.attrs["call"].portable


def _made_by_python(nodes: Sequence[ir.Node]) -> list[ir.Value]:
    """What operations take that Python makes: elements of queues, results of functions."""
    used = _used(nodes)
    return [v for n in nodes if _by_python(n) for v in n.outputs if id(v) in used]


def _used(nodes: Sequence[ir.Node]) -> set[int]:
    """The ids of what nodes of operators take."""
    used: set[int] = set()
    for node in nodes:
        if _by_python(node):
            continue
        used.update(id(v) for v in node.inputs)
        for body in node.bodies():
            if node.op != ir.CALL:
                used.update(id(v) for v in ir.free_values(body))
    return used


def _leaves(nodes: Sequence[ir.Node]) -> list[ir.Value]:
    """The results that no operator uses."""
    used = _used(nodes)
    skipped = (
        pseudo_ops.PLACEHOLDER,
        pseudo_ops.ASSIGN,
        pseudo_ops.IS_INITIALIZED,
        pseudo_ops.UNINITIALIZED_NAMES,
    )
    made = [n for n in nodes if n.op not in skipped and not _by_python(n)]
    return [v for n in made for v in n.outputs if id(v) not in used]


def tensor_name(value: ir.Value) -> str:
    """The name of an output in a ``GraphProto``: the operation's, with ``:1`` for its second."""
    node = value.node
    if node is None:
        return value.name
    number = next(i for i, v in enumerate(node.outputs) if v is value)
    return node.name if number == 0 else f"{node.name}:{number}"
