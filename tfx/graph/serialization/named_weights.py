"""Constants of a model that are a parameter of its source in another form, made that parameter.

A converter writes what it computes with: ``coef_.T``, or ``coef_`` and its negative side by side. A
model that is trained on needs the one array that the source has, under its name. Here a constant is
compared with each parameter in the forms that converters use; where they are equal, the parameter
becomes an initializer, and nodes make the constant of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import onnx

from tfx.core import dtypes
from tfx.graph.serialization import protos

Array: TypeAlias = "np.ndarray[Any, Any]"


class NamedWeight(NamedTuple):
    """An initializer that is a parameter.

    Attributes:
        name: The parameter's name.
        array: Its contents in the model's dtype.
    """

    name: str
    array: Array


class Form(NamedTuple):
    """A form of an array.

    Attributes:
        negated: Whether its negative stands before it, along the first axis; a vector is a row.
        transposed: Whether its two axes are swapped, after that.
    """

    negated: bool
    transposed: bool


# The plain one first: an array of one row is equal to itself in several.
_FORMS = tuple(
    Form(negated, transposed) for negated in (False, True) for transposed in (False, True)
)


def _formed(array: Array, form: Form) -> Array | None:
    """An array in a form; None if it has too few axes for it."""
    if form.negated and array.ndim < 2:
        array = array.reshape(1, -1)
    if form.negated:
        array = np.concatenate([-array, array])
    if not form.transposed:
        return array
    return array.T if array.ndim == 2 else None


def name_weights(
    model: onnx.ModelProto,
    parameters: Mapping[str, Array],
    fits: Callable[[str, str], bool] = lambda constant, parameter: True,
) -> dict[str, NamedWeight]:
    """Make constants of a model that are parameters in some form parameters.

    Args:
        model: The model; it is changed.
        parameters: The source's arrays by name. Each stands for one constant at most.
        fits: Whether a constant of one element, by its name, may be a parameter: numbers such as 0
            and 1 are equal by chance.

    Returns:
        By the initializer, each that is a parameter now. It has the parameter's shape.
    """
    found: dict[str, NamedWeight] = {}
    free = dict(parameters)
    for tensor in list(model.graph.initializer):
        if not _is_float(tensor):
            continue
        constant = protos.tensor_array(tensor)
        match = _match(constant, free, partial(fits, tensor.name))
        if match is None:
            continue
        key, form = match
        array = np.asarray(free.pop(key)).astype(constant.dtype)
        if form == _FORMS[0] and array.shape == constant.shape:
            found[tensor.name] = NamedWeight(key, array)
            continue
        port = _unique(model, key)
        _replace(model, tensor, array, form, port)
        found[port] = NamedWeight(key, array)
    return found


def _is_float(tensor: onnx.TensorProto) -> bool:
    return tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)


def _match(
    constant: Array, parameters: Mapping[str, Array], fits: Callable[[str], bool]
) -> tuple[str, Form] | None:
    """The first parameter that a constant is, and the form in which it is it."""
    for form in _FORMS:
        for key, array in parameters.items():
            size = np.size(array) * (2 if form.negated else 1)
            if size != constant.size or not size or (np.size(array) == 1 and not fits(key)):
                continue
            formed = _formed(np.asarray(array).astype(constant.dtype), form)
            if formed is not None and np.array_equal(formed.reshape(-1), constant.reshape(-1)):
                return key, form
    return None


def _replace(
    model: onnx.ModelProto, tensor: onnx.TensorProto, array: Array, form: Form, port: str
) -> None:
    """Put an initializer and nodes in the place of a constant."""
    graph, value = model.graph, port
    nodes: list[onnx.NodeProto] = []

    def add(op: str, inputs: Sequence[str], **attributes: Any) -> str:
        output = _unique(model, f"{port}_{op}_{len(nodes)}")
        nodes.append(onnx.helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    dtype = tensor.data_type
    if form.negated:
        if array.ndim < 2:
            value = add("Reshape", [value, _ints(model, port, [1, -1])])
        value = add("Concat", [add("Neg", [value]), value], axis=0)
    if form.transposed:
        value = add("Transpose", [value], perm=[1, 0])
    formed = _formed(array, form)
    if formed is None or formed.shape != tuple(tensor.dims):
        value = add("Reshape", [value, _ints(model, port, list(tensor.dims))])
    name = tensor.name
    graph.initializer.remove(tensor)
    graph.initializer.append(protos.tensor_proto(np.asarray(array, order="C"), dtype, port))
    nodes[-1].output[0] = name
    for position, node in enumerate(nodes):
        graph.node.insert(position, node)


def _ints(model: onnx.ModelProto, port: str, values: list[int]) -> str:
    name = _unique(model, f"{port}_shape")
    array = np.array(values, np.int64)
    model.graph.initializer.append(protos.tensor_proto(array, dtypes.int64.onnx, name))
    return name


def _unique(model: onnx.ModelProto, name: str) -> str:
    """A name that no value of the main graph has."""
    graph = model.graph
    taken = {t.name for t in graph.initializer} | {i.name for i in graph.input}
    taken |= {o for node in graph.node for o in node.output}
    found, number = name, 1
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found
