"""Which axis of a weight is its layer's output, and the shapes of its two factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfx.framework.module import Module
from tfx.framework.variable import Variable
from tfx.graph.ir import Graph, Node, Value
from tfx.importing.model import ImportedModel


def output_axes(module: Module, names: Mapping[str, Variable]) -> dict[str, int]:
    """For each weight the axis that is its layer's output.

    Of imported models the graph says it. Elsewhere the name does: ``weight`` is what torch calls
    it, with the output first; in all others the output is last, and so it is in embeddings.

    Args:
        module: The module.
        names: Its weights by name.
    """
    used: dict[int, int] = {}
    for part in (module, *module.submodules):
        if isinstance(part, ImportedModel):
            foreign = part._plain()
            uses = _uses(foreign.graph, {id(v): k for k, v in foreign.weights.items()})
            used.update((id(part.weights[k]), axis) for k, axis in uses.items())
    return {n: used.get(id(v), _by_name(n, v)) for n, v in names.items()}


def layer_names(model: ImportedModel) -> dict[str, str]:
    """Names for weights that lost theirs: exporters transpose a weight and call it ``val_101``.

    Args:
        model: The model.

    Returns:
        By the weight's name in the model, ``layer.weight`` where ``layer.bias`` is added to its
        product and no other weight has that name.
    """
    foreign = model._plain()
    weights = {id(v): k for k, v in foreign.weights.items()}
    products: dict[int, str] = {}
    found: dict[str, str] = {}
    for node in foreign.graph.nodes:
        names = [None if v is None else weights.get(id(v)) for v in node.inputs]
        if node.op == "MatMul" and names[1] is not None:
            products[id(node.outputs[0])] = names[1]
        elif node.op == "Add":
            biases = [n for n in names if n is not None and n.endswith(".bias")]
            factors = [products[id(v)] for v in node.inputs if id(v) in products]
            if biases and factors:
                name = f"{biases[0].removesuffix('.bias')}.weight"
                if name not in foreign.weights and name not in found.values():
                    found.setdefault(factors[0], name)
    return found


def _by_name(name: str, variable: Variable) -> int:
    last = (variable.shape.rank or 1) - 1
    if name.rpartition(".")[2] != "weight" or "emb" in name.lower():
        return last
    return 0


def _uses(graph: Graph, weights: Mapping[int, str]) -> dict[str, int]:
    """The output axis of weights by their first use that tells it."""
    turned: dict[int, tuple[str, bool]] = {key: (name, False) for key, name in weights.items()}
    found: dict[str, int] = {}
    for node in graph.nodes:
        for place, value in enumerate(node.inputs):
            known = None if value is None else turned.get(id(value))
            if known is None or value is None:
                continue
            name, flipped = known
            if node.op == "Transpose" and _swaps(node, value):
                turned[id(node.outputs[0])] = (name, not flipped)
            elif node.op in ("Cast", "Identity"):
                turned[id(node.outputs[0])] = known
            axis = _axis(node, place, value)
            if axis is not None:
                found.setdefault(name, 1 - axis if flipped else axis)
    return found


def _swaps(node: Node, value: Value) -> bool:
    return value.shape is not None and len(value.shape) == 2


def _axis(node: Node, place: int, value: Value) -> int | None:
    """The output axis of an operator's input; None: the operator does not tell."""
    rank = None if value.shape is None else len(value.shape)
    if node.op == "MatMul" and rank == 2:
        return 1 if place == 1 else 0
    if node.op == "Gemm" and place == 1:
        return 0 if node.attrs.get("transB", 0) else 1
    if node.op == "Gather" and place == 0 and node.attrs.get("axis", 0) == 0 and rank == 2:
        return 1
    if node.op == "Conv" and place == 1:
        return 0
    return None


def sizes_of(variable: Variable) -> list[int]:
    """The shape of a variable whose shape is known."""
    return [0 if d is None else d for d in variable.shape.as_list()]


def factor_shapes(shape: Sequence[int], axis: int, rank: int) -> tuple[list[int], list[int]]:
    """The shapes of ``a`` and ``b``; see ``factored``."""
    rest = [d for i, d in enumerate(shape) if i != axis]
    return [*rest, rank], [rank, shape[axis]]
