"""A Keras model on tfx as a bundle with Keras' names: what ``from_keras`` reads back.

Runs where Keras' backend is tfx, in this process or in one of its own: a process has one backend.
``python -m tfx.exporters.sources.keras_programs JOB`` is that process: it reads what to do from a
file that ``from_keras`` has just written, and writes the bundle.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.exporters.native import SaveOptions, save
from tfx.exporters.sources.keras_layers import keyed, watched
from tfx.framework.module import Module
from tfx.framework.variable import Variable
from tfx.function.tracing.function import Function

PREFIX = "weights/"
BATCH = "batch"


class KerasBundle(Module):
    """What is saved: the variables by Keras' paths; the signatures are given beside.

    Attributes:
        weights: The variables.
    """

    def __init__(self, weights: Mapping[str, Variable]) -> None:
        super().__init__()
        self.weights = dict(weights)


def input_specs(model: Any, given: Mapping[str, TensorSpec] | None) -> dict[str, TensorSpec]:
    """A spec of each input of a model, by name, in the model's order.

    Raises:
        InvalidArgumentError: a model without declared inputs, and no specs.
    """
    if given:
        return dict(given)
    tensors = getattr(model, "inputs", None)
    if not tensors:
        raise InvalidArgumentError(
            f"{type(model).__name__} {getattr(model, 'name', '')!r} declares no inputs: give the "
            'specs with inputs={"x": tf.TensorSpec([None, 8], tf.float32)}, in the order of its '
            "call."
        )
    found = {}
    for tensor in tensors:
        shape = [BATCH if i == 0 and d is None else d for i, d in enumerate(tensor.shape)]
        found[str(tensor.name)] = TensorSpec(
            shape, dtypes.as_dtype(str(tensor.dtype)), name=tensor.name
        )
    return found


def write_keras_bundle(
    model: Any,
    folder: str,
    given: Mapping[str, TensorSpec] | None,
    *,
    training: bool,
    names: Sequence[str] = (),
) -> dict[str, str]:
    """Write a model as a bundle with the signature ``call``, and ``call_train`` if asked.

    Args:
        model: The model, on tfx.
        folder: The bundle to make.
        given: Specs of inputs; None: those that the model declares.
        training: Whether there is a signature that runs as in training.
        names: Names of the variables in the model's order, where it had others before it was saved.

    Returns:
        The names of the tensors that the layers give in ``call``, by the keys of ``keras_layers``.
    """
    specs = input_specs(model, given)
    functions = {"call": _function(model, specs, training=False)}
    if training:
        functions["call_train"] = _function(model, specs, training=True)
    for name, function in functions.items():  # a subclassed model makes its variables here
        if name != "call":
            function.get_concrete_function()
            continue
        with watched(model) as seen:
            graph = function.get_concrete_function().graph
    # What made the variables, before the trace, was of another graph.
    traced = [s for s in seen if getattr(s.tensor, "graph", None) is graph]
    layers = {key: str(item.tensor.name) for key, item in keyed(traced).items()}
    variables = [v.__tf_variable__() for v in model.variables]
    named = dict(zip(names or variable_names(model), variables, strict=True))
    root = KerasBundle(named)
    save(root, folder, signatures=functions, options=SaveOptions(examples=False))
    return layers


def variable_names(model: Any) -> list[str]:
    """The paths of a model's variables, in its order; a second one of a path is numbered."""
    found: dict[str, None] = {}
    for variable in model.variables:
        base = str(variable.path)
        name, number = base, 1
        while name in found:
            name, number = f"{base}_{number}", number + 1
        found[name] = None
    return list(found)


def _function(model: Any, specs: Mapping[str, TensorSpec], *, training: bool) -> Function:
    structure = getattr(model, "_inputs_struct", None)
    tree: Any = importlib.import_module("keras").tree

    def call(*tensors: Any) -> Any:
        if structure is not None:
            return _named(
                model, model(tree.pack_sequence_as(structure, list(tensors)), training=training)
            )
        return _named(
            model, model(*tensors, training=training) if _knows(model.call) else model(*tensors)
        )

    call.__name__ = "call_train" if training else "call"
    return Function(call, call.__name__, list(specs.values()), autograph=False)


def _knows(function: Callable[..., Any]) -> bool:
    return "training" in importlib.import_module("inspect").signature(function).parameters


def _named(model: Any, result: Any) -> Any:
    """Several outputs of a model by their names."""
    names = list(getattr(model, "output_names", None) or [])
    if isinstance(result, list | tuple) and len(names) == len(result):
        return dict(zip(names, result, strict=True))
    return result


def spec_as_json(spec: TensorSpec) -> dict[str, Any]:
    """A spec as plain data."""
    return {"shape": list(spec.shape.symbolic or ()), "dtype": spec.dtype.name, "name": spec.name}


def spec_from_json(data: Mapping[str, Any]) -> TensorSpec:
    """The spec of ``spec_as_json``."""
    return TensorSpec(data["shape"], dtypes.as_dtype(data["dtype"]), name=data["name"])


def main(arguments: Sequence[str]) -> int:
    """Do a job: see the module."""
    job = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    keras = importlib.import_module("keras")
    for module in job["modules"]:
        importlib.import_module(module)
    model = keras.models.load_model(job["model"], compile=False, safe_mode=job["safe_mode"])
    given = {n: spec_from_json(s) for n, s in job["inputs"].items()}
    names = job["names"] if len(job["names"]) == len(model.variables) else ()
    layers = write_keras_bundle(model, job["bundle"], given, training=job["training"], names=names)
    Path(job["layers"]).write_text(json.dumps(layers), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
