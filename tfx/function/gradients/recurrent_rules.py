"""The gradient rules of ``RNN``, ``GRU`` and ``LSTM``.

In a trace the backward nodes go into the trace. Eagerly they are a graph of their own, traced once
for the attributes and sizes and kept: a loop run step by step in Python would cost more than all
that it computes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tfx.control_flow.recurrent_gradients import recurrent_gradients
from tfx.framework.context import current, using
from tfx.framework.func_graph import FuncGraph
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.function.gradients.pure_function import PureFunction
from tfx.graph.ir import RawShape, attributes_key
from tfx.ops.array.creation import zeros_like
from tfx.runtime.fork_safe_locks import fork_safe

# How many backward graphs are kept; the one used longest ago goes first.
MOST_KEPT = 64
# The number of the input with the first hidden state; that of the cell follows.
_INITIAL = 5

_kept: OrderedDict[Any, tuple[PureFunction, tuple[bool, ...]]] = OrderedDict()
_lock = fork_safe(threading.Lock())


@gradient("GRU", "LSTM", "RNN")
def _recurrent_grad(op: OpRecord, *dys: Tensor | None) -> list[Tensor | None]:
    """One loop backwards through time; products over all steps at once."""
    if op.inputs[0].shape[1 if op.attrs.get("layout") else 0] == 0:
        return _gradients_of_no_steps(op, dys)
    if current().graph is not None:
        return recurrent_gradients(op.op, op.attrs, op.inputs, op.outputs[0], dys, op.needs)
    given = [*op.inputs, op.outputs[0], *dys]
    shapes = _shapes(op, dys)
    kinds = tuple(
        None if x is None else (x.dtype.onnx, s) for x, s in zip(given, shapes, strict=True)
    )
    key = (op.op, attributes_key(op.attrs), kinds, len(op.inputs), op.needs)
    with _lock:
        known = _kept.pop(key, None)
        if known is not None:
            _kept[key] = known
    if known is None:
        known = _traced(op, given, shapes)
        with _lock:
            _kept[key] = known
            while len(_kept) > MOST_KEPT:
                _kept.popitem(last=False)
    function, present = known
    found = iter(function([x for x in given if x is not None]))
    return [next(found) if p else None for p in present]


def _gradients_of_no_steps(op: OpRecord, dys: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Nothing was computed: the last states are the first ones, and nothing depends on the rest."""
    last = {_INITIAL + i: dy for i, dy in enumerate(dys[1:])}
    found: list[Tensor | None] = []
    for i, x in enumerate(op.inputs):
        if x is None or not x.dtype.is_floating:
            found.append(None)
        else:
            dy = last.get(i)
            found.append(zeros_like(x) if dy is None else dy)
    return found


def _shapes(op: OpRecord, dys: Sequence[Tensor | None]) -> list[RawShape]:
    """Shapes of inputs, states and gradients, with time and batch left open."""
    batch_first = bool(op.attrs.get("layout"))
    state = (0,) if batch_first else (1,)
    states = (0, 1) if batch_first else (0, 2)
    # X, W, R, B, sequence_lens, initial_h, initial_c, P
    axes = ((0, 1), (), (), (), (0,), state, state, ())[: len(op.inputs)]
    given = [*op.inputs, op.outputs[0], *dys]
    return [
        _opened(x, a) for x, a in zip(given, (*axes, states, states, state, state), strict=False)
    ]


def _opened(x: Tensor | None, axes: tuple[int, ...]) -> RawShape:
    if x is None:
        return None
    return tuple(None if i in axes else d for i, d in enumerate(x.shape.as_list()))


def _traced(
    op: OpRecord, given: Sequence[Tensor | None], shapes: Sequence[RawShape]
) -> tuple[PureFunction, tuple[bool, ...]]:
    graph = FuncGraph(f"{op.op}_gradient")
    graph.named_after_calls = False
    with using(graph=graph, tapes=(), scope="", device=None):
        arguments = [
            None if x is None else graph.add_argument(f"x{i}", x.dtype.onnx, shape)
            for i, (x, shape) in enumerate(zip(given, shapes, strict=True))
        ]
        count = len(op.inputs)
        inputs, states, dys = arguments[:count], arguments[count], arguments[count + 1 :]
        assert states is not None
        found = recurrent_gradients(op.op, op.attrs, inputs, states, dys, op.needs)
        graph.graph.outputs = [graph.value_of(g) for g in found if g is not None]
    return PureFunction(graph.graph), tuple(g is not None for g in found)
