"""Gradients of ``LSTM`` by our kernels: for CPU plans alone.

ONNX's operator keeps neither gates nor cells, so its gradient computes them again. Where it is in
the same graph, our operator takes its place, which returns them; elsewhere, as in the backward
graph of a function, they come from the states behind each step. Another operator goes back through
the steps. Where there are no kernels, the nodes of the call take its place, also in what is saved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tfx.graph.ir import CALL, LSTM, LSTM_GRADIENT, Graph, Node, RawShape, Value
from tfx.graph.lstm_gradient import REQUIRED, LstmGradient, is_plain
from tfx.graph.passes.inline_calls import expand_calls
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.runtime.threads import thread_count

_FLOAT = 1
# Optional inputs of both operators, in the order of the bits of ``given``.
_FORWARD, _BACKWARD = ("b", "h", "c", "y"), ("c", "dy", "dh", "dc")
# The places of an ``LSTM``'s inputs.
_PLACES = {"x": 0, "w": 1, "r": 2, "b": 3, "lengths": 4, "h": 5, "c": 6, "p": 7}
_RESULTS = 3


def use_lstm_kernels(graph: Graph, *, own_kernels: bool) -> Graph:
    """A copy of the graph, bodies and callees included, without calls tagged ``LstmGradient``.

    Args:
        graph: As it was traced.
        own_kernels: Whether it may use the operators of our kernels' library.
    """
    if not any(_is_gradient(node) for node in graph.all_nodes()):
        return graph
    changed = _Kernels().run(graph) if own_kernels else graph
    return _Expanding().run(changed)


def lstm_attributes(names: Iterable[str], units: int = 0, *, table: bool = False) -> dict[str, int]:
    """The attributes of our operator.

    Args:
        names: Of the optional inputs that there are: ``b``, ``h``, ``c`` and ``y``.
        units: For how many units its weights are, if they are in panels; 0 if they are not.
        table: Whether its inputs are numbers of rows, of which is known what comes from them.
    """
    given = _bits(names, _FORWARD)
    return {"given": given, "units": units, "table": int(table), "threads": thread_count()}


class _Given(NamedTuple):
    """A call and its inputs by name."""

    call: Node
    inputs: dict[str, Value]


class _Kept(NamedTuple):
    """What the gradient needs of the forward computation."""

    gates: Value
    cells: Value


class _Kernels(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        # By the id of the first result of an ``LSTM``: a call with its gradient in the same graph.
        self._wanted: dict[int, _Given] = {}
        self._kept: dict[int, _Kept] = {}

    def enter(self, graph: Graph, out: Graph) -> None:
        made = {id(n.outputs[0]): n for n in graph.nodes if n.op == "LSTM" and n.outputs}
        for node in graph.nodes:
            given = _given(node)
            if given is None:
                continue
            forward = made.get(id(given.inputs["y"]))
            if forward is not None and _is_of(given, forward):
                self._wanted[id(given.inputs["y"])] = given

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        given = self._wanted.get(id(node.outputs[0])) if node.op == "LSTM" else None
        if given is not None:
            self._forward(node, given, out)
            return
        given = _given(node)
        if given is None:
            super().rewrite(node, inputs, out)
            return
        y = given.inputs["y"]
        kept = self._kept.get(id(y))
        if kept is None or not _is_same(given, self._wanted[id(y)]):
            kept = self._again(given, out)
        values = {name: self.value(value) for name, value in given.inputs.items()}
        optional = [values[name] for name in _BACKWARD if name in values]
        out.nodes.append(
            node.replaced(
                (kept.gates, kept.cells, values["r"], *optional),
                {"given": _bits(values, _BACKWARD), "threads": thread_count()},
                op=LSTM_GRADIENT,
                tag=None,
            )
        )

    def _forward(self, node: Node, given: _Given, out: Graph) -> None:
        """Our operator, whose first results are those of an ``LSTM``."""
        names = [name for name in _FORWARD[:3] if name in given.inputs]
        values = [self.value(given.inputs[name]) for name in ("x", "w", "r", *names)]
        state = _state_shape(given)
        results = list(node.outputs)
        while len(results) < _RESULTS:
            results.append(Value(out.unique_name(f"{node.name}_last"), _FLOAT, state))
        gates, cells = (
            Value(out.unique_name(f"{node.name}_{what}"), _FLOAT, shape)
            for what, shape in zip(("gates", "cells"), _kept_shapes(given), strict=True)
        )
        attrs = lstm_attributes(names)
        outputs = (*results, gates, cells)
        out.nodes.append(node.replaced(values, attrs, op=LSTM, outputs=outputs).make_outputs())
        self._kept[id(node.outputs[0])] = _Kept(gates, cells)

    def _again(self, given: _Given, out: Graph) -> _Kept:
        """Gates and cells, from the states that are known."""
        call = given.call
        names = [name for name in _FORWARD if name in given.inputs]
        values = [self.value(given.inputs[name]) for name in ("x", "w", "r", *names)]
        made = out.add_node(
            LSTM,
            values,
            lstm_attributes(names),
            [(_FLOAT, shape) for shape in _kept_shapes(given)],
            name=f"{call.name}/gates",
            source=call.source,
            device=call.device,
        )
        return _Kept(*made.outputs)


class _Expanding(Rewriter):
    def run(self, graph: Graph) -> Graph:
        return super().run(expand_calls(graph, _is_gradient))


def _is_gradient(node: Node) -> bool:
    return node.op == CALL and isinstance(node.tag, LstmGradient)


def _given(node: Node) -> _Given | None:
    """The inputs of a call by name; None of what it is not, or of one that grew meanwhile."""
    if node.op != CALL or not isinstance(node.tag, LstmGradient):
        return None
    names = node.tag.inputs
    if len(names) != len(node.inputs) or len(node.outputs) != _RESULTS:
        return None
    inputs = {n: v for n, v in zip(names, node.inputs, strict=True) if v is not None}
    right = all(v.dtype == _FLOAT for v in inputs.values())
    return _Given(node, inputs) if right and inputs.keys() >= {*REQUIRED} else None


def _is_of(given: _Given, forward: Node) -> bool:
    """True if a call is the gradient of a node, with the same inputs."""
    if not is_plain(forward.attrs) or forward.tag is not None:
        return False
    found = [*forward.inputs, *[None] * (len(_PLACES) - len(forward.inputs))]
    return all(found[place] is given.inputs.get(name) for name, place in _PLACES.items())


def _is_same(one: _Given, other: _Given) -> bool:
    """True if two calls need the same gates."""
    names = (*REQUIRED, *_FORWARD)
    return all(one.inputs.get(name) is other.inputs.get(name) for name in names)


def _bits(names: Iterable[str], among: tuple[str, ...]) -> int:
    found = {*names}
    return sum(1 << i for i, name in enumerate(among) if name in found)


def _kept_shapes(given: _Given) -> tuple[RawShape, RawShape]:
    gates = given.call.outputs[0].shape
    state = given.call.outputs[1].shape
    if gates is None or state is None:
        return gates, None
    return gates, (*gates[:2], state[-1])


def _state_shape(given: _Given) -> RawShape:
    state = given.call.outputs[1].shape
    return None if state is None else (1, *state)
