"""A converted module compared with what its source answered, down to the first layer that differs.

Must not know any framework. The one decision: an output is compared by the size of its largest
element, since a network's small elements are differences of large ones; and variables that a call
changes are put back, so that comparing leaves no trace.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.bundle.examples import TOLERANCE, difference, max_difference
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, OpError
from tfx.framework.convert import convert_to_tensor
from tfx.framework.variable import Variable
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_call import MethodCall
from tfx.importing.method_graphs import LayerValue, MethodGraph, Port, SourceAnswer
from tfx.importing.open_model import open_model

# Where all elements are below this, what is left of them is mostly rounding.
_LEAST = 1e-4


def compare_answers(module: ConvertedModule, tolerance: float = TOLERANCE) -> float:
    """Run every method on what its source was given.

    Args:
        module: The module, with the weights that the source had.
        tolerance: Of an output, by its largest element.

    Returns:
        The largest difference found, by the largest element of its output.

    Raises:
        InvalidArgumentError: an answer differs; the message names the method, the output, and the
            first layer that differs.
    """
    worst = 0.0
    for method in module.methods.values():
        for call in method.calls:
            for answer in call.graph.answers:
                worst = max(worst, _compared(call, answer, tolerance))
    return worst


@contextmanager
def restored(variables: Mapping[str, Variable], names: Any) -> Iterator[None]:
    """Give variables their values back afterwards."""
    before = {name: variables[name].value() for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            variables[name].assign(value)


def _compared(call: MethodCall, answer: SourceAnswer, tolerance: float) -> float:
    with restored(call.variables, call.updates.values()):
        found = _outcome(call, answer)
    return compare_outcome(
        call.label, found, tolerance, lambda: _first_layer(call, answer, tolerance)
    )


def compare_outcome(
    label: str,
    found: Mapping[str, tuple[Any, Any]],
    tolerance: float,
    where: Callable[[], str],
) -> float:
    """Compare what came with what the source has.

    Args:
        label: What was called, for the message.
        found: What came and what was wanted, by a description of each.
        tolerance: Of an output, by its largest element.
        where: Gives what to say of the place where the difference begins.

    Returns:
        The largest difference, by the largest element of its output.

    Raises:
        InvalidArgumentError: something differs.
    """
    worst = 0.0
    for what, (came, wanted) in found.items():
        text = differs(came, wanted, tolerance)
        if text:
            raise InvalidArgumentError(
                f"{label}: {what} {text}; the source's answer and the converted model's are not "
                f"the same. {where()}"
            )
        worst = max(worst, _relative(came, wanted))
    return worst


def _outcome(call: MethodCall, answer: SourceAnswer) -> dict[str, tuple[Any, Any]]:
    """What came and what the source has, of each output and of each variable that changes."""
    inputs = {n: convert_to_tensor(a, call.ports[n].tensor.dtype) for n, a in answer.inputs.items()}
    results = call.run(inputs)
    found = {
        f"output {n!r}": (results[n].numpy(), np.asarray(a)) for n, a in answer.outputs.items()
    }
    return found | {
        f"variable {n!r} after the call": (call.variables[n].numpy(), np.asarray(a))
        for n, a in answer.updates.items()
    }


def differs(found: npt.NDArray[Any], expected: npt.NDArray[Any], tolerance: float) -> str:
    """How a result differs from the source's in words, or nothing."""
    text = difference(found, expected, tolerance)
    if text or not expected.size or not _is_inexact(expected):
        return text
    relative = _relative(found, expected)
    epsilon = float(dtypes.finfo(dtypes.as_dtype(expected.dtype)).eps)
    if relative <= max(100 * tolerance, 64 * epsilon):
        return ""
    return f"differs by {relative:.3g} of its largest element"


def _is_inexact(array: npt.NDArray[Any]) -> bool:
    if array.dtype == object or array.dtype.kind in "SUTbiu":
        return False
    return dtypes.as_dtype(array.dtype).is_floating


def _relative(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> float:
    if not expected.size or not _is_inexact(expected):
        return 0.0
    finite = np.abs(expected[np.isfinite(expected)].astype(np.float64))
    scale = max(float(finite.max(initial=0.0)), _LEAST)
    return max_difference(found, expected) / scale


def _first_layer(call: MethodCall, answer: SourceAnswer, tolerance: float) -> str:
    """What to say of where the difference begins."""
    if answer.layers is None:
        return "Nothing is known of what the source computes inside."
    values = open_model(call.graph.model).proto
    known = {name for node in values.graph.node for name in node.output}
    try:
        layers = [item for item in answer.layers() if item.value in known]
    except OpError as e:  # asking more of the source than its answer may be too much
        return f"What the source computes inside cannot be told: {e.message}"
    if not layers:
        return "No value inside of the graph is known to be one of the source's."
    names = [item.value for item in layers]
    found = values_inside(call.label, call.graph, call.variables, answer.inputs, names)
    return first_layer(layers, found, tolerance, answer.converter)


def first_layer(
    layers: Sequence[LayerValue],
    found: Mapping[str, Any],
    tolerance: float,
    converter: str = "",
) -> str:
    """The first layer that differs, in words.

    Args:
        layers: What the source has inside, in its order.
        found: What came, by the graph's names; values may lack.
        tolerance: Of a value, by its largest element.
        converter: Whose graph the layers are of, if not the source's own.
    """
    agreed = None
    for item in layers:
        came = found.get(item.value)
        if came is None:
            continue
        text = differs(came, np.asarray(item.array), tolerance)
        if text:
            before = f" All layers before it agree, the last is {agreed!r}." if agreed else ""
            return f"The first layer that differs is {item.layer!r} (it {text}).{before}"
        agreed = item.layer
    if converter:
        return (
            f"All {len(layers)} nodes of the graph that {converter} made agree with what ONNX "
            f"Runtime gives for it: {converter} converts the model to another one."
        )
    return f"All {len(layers)} layers inside agree up to {agreed!r}; the difference is behind them."


def values_inside(
    label: str,
    graph: MethodGraph,
    variables: Mapping[str, Variable],
    inputs: Mapping[str, Any],
    names: Sequence[str],
) -> dict[str, npt.NDArray[Any]]:
    """What a converted graph computes inside.

    Args:
        label: What was converted, for messages.
        graph: The graph.
        variables: The variables by name.
        inputs: Arrays by the graph's inputs.
        names: The graph's names of the values.

    Returns:
        Arrays by name, in the order of ``names``.

    Raises:
        OpError: the graph does not run with these values as results.
    """
    proto = open_model(graph.model).proto
    declared = {item.name for item in proto.graph.output}
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in declared:
            proto.graph.output.add(name=name)
    whole = dataclasses.replace(
        graph, model=proto, results={n: Port(n) for n in wanted}, updates={}, answers=()
    )
    inner = MethodCall(label, "inside", whole, variables)
    tensors = {n: convert_to_tensor(a, inner.ports[n].tensor.dtype) for n, a in inputs.items()}
    found = inner.run(tensors)
    return {n: found[n].numpy() for n in wanted}
