"""Models of TensorFlow as modules and bundles: SavedModels, modules, functions.

Stands on tf2onnx. What is ours: variables under TensorFlow's names, which stay variables, several
signatures over one set of them, structures, and the source's own answers to compare with.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfx.bundle import limits
from tfx.bundle.examples import TOLERANCE
from tfx.core.errors import InvalidArgumentError, MissingFileError
from tfx.exporters.converted import save_converted
from tfx.exporters.example_calls import ExampleCall, resolve_calls
from tfx.exporters.sources.messages import one_line
from tfx.exporters.sources.tensorflow_graphs import TensorFlowCall, method_graph
from tfx.framework.module import snake_case
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import MethodGraph, SourceVariable

EXTRA = 'pip install "tfx-onnx[tensorflow]"'


def export(
    model: Any,
    path: str | os.PathLike[str],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    signatures: Any = None,
    dynamic: Mapping[str, Any] | None = None,
    name: str | None = None,
    verify: bool = True,
    tolerance: float = TOLERANCE,
    metadata: Mapping[str, str] | None = None,
    examples: bool | Mapping[str, Any] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
) -> ConvertedModule:
    """Save a model of TensorFlow as a bundle.

    Args:
        model: As ``to_module`` takes it.
        path: The folder to make. An older bundle there is replaced when everything is written.
        args: Example arguments by position, see ``to_module``.
        kwargs: Example arguments by name.
        signatures: Methods by signature, see ``to_module``.
        dynamic: Names of dimensions whose size is open.
        name: Name of the module.
        verify: Whether every method must answer as TensorFlow does; otherwise nothing is written.
        tolerance: How far answers may be away, by the largest element of each.
        metadata: Text to keep in the manifest.
        examples: Golden examples, as in ``saved_model.SaveOptions``; None: TensorFlow's own
            answers.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.

    Returns:
        The module that was saved.

    Raises:
        ImportError: TensorFlow or tf2onnx is not installed.
        InvalidArgumentError: the example does not fit, or an answer differs; the message names the
            first node that does.
        UnimplementedError: a function assigns variables, or uses what has no ONNX form.
        AlreadyExistsError: the folder exists and is not a bundle.
    """
    module = to_module(model, args, kwargs, signatures=signatures, dynamic=dynamic, name=name)
    save_converted(
        module,
        path,
        verify=verify,
        tolerance=tolerance,
        metadata=metadata,
        examples=examples,
        max_shard_bytes=max_shard_bytes,
    )
    return module


def to_module(
    model: Any,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    signatures: Any = None,
    dynamic: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> ConvertedModule:
    """Make a module of a model of TensorFlow.

    Variables have TensorFlow's names (``"dense/kernel"``; a second one of a name is numbered) and
    are trained where TensorFlow trains them.

    Args:
        model: The folder of a SavedModel, what ``tf.saved_model.load`` returned, a ``tf.Module``,
            a ``tf.function`` or a concrete function.
        args: Example arguments by position: arrays, or ``tf.TensorSpec``s with None for an open
            size. Not needed where a function has an ``input_signature``.
        kwargs: Example arguments by name.
        signatures: Methods by signature, as for ``from_torch``; of a SavedModel its own signatures
            by name. None: all signatures of a SavedModel, else the object's call as
            ``serving_default``.
        dynamic: Names of dimensions whose size is open, by parameter: ``{"x": {0: "batch"}}``.
        name: Name of the module; None: made from the class.

    Returns:
        A ``ConvertedModule``: called as the model is.

    Raises:
        ImportError: TensorFlow or tf2onnx is not installed.
        MissingFileError: the folder has no SavedModel.
        InvalidArgumentError: the SavedModel is damaged, there is no such method, or the example
            does not fit.
        UnimplementedError: a function assigns variables, or uses what has no ONNX form.
    """
    tf = require_tensorflow()
    label = type(model).__name__
    if isinstance(model, str | os.PathLike):
        model, label = _opened(tf, model), "SavedModel"
    if not isinstance(args, tuple | list):
        args = (args,)
    own = getattr(model, "signatures", None)
    if signatures is None and own and not args and not kwargs:
        signatures = {str(n): str(n) for n in own}
    default = ExampleCall("__call__", tuple(args), dict(kwargs or {}), dynamic)
    chosen = resolve_calls(signatures, default)
    concretes = {
        (signature, number): _concrete(tf, model, call, label)
        for signature, calls in chosen.items()
        for number, call in enumerate(calls)
    }
    names, variables = _variables(concretes.values())
    methods: dict[str, list[MethodGraph]] = {}
    named: dict[str, str] = {}
    for signature, calls in chosen.items():
        first = calls[0].method
        method = "call" if first == "__call__" else first
        method = signature if method in methods else method
        methods[method] = [
            method_graph(
                TensorFlowCall(
                    f"{label}.{call.method}",
                    concretes[signature, number],
                    names,
                    _axes(call.dynamic or {}),
                    _arrays(call),
                )
            )
            for number, call in enumerate(calls)
        ]
        named[signature] = method
    return ConvertedModule(
        methods,
        variables,
        name=name or snake_case(label),
        signatures=named,
        metadata={
            "source": "tensorflow",
            "source_version": str(tf.__version__),
            "source_class": f"{type(model).__module__}.{type(model).__qualname__}",
        },
    )


def require_tensorflow() -> Any:
    """TensorFlow, and what its exporter needs.

    Raises:
        ImportError: one is missing; the message names the extra.
    """
    for package in ("tensorflow", "tf2onnx"):
        try:
            importlib.import_module(package)
        except ImportError as e:
            raise ImportError(f"{package} is needed for models of TensorFlow: {EXTRA}") from e
    return importlib.import_module("tensorflow")


def _opened(tf: Any, path: str | os.PathLike[str]) -> Any:
    file = os.path.join(os.fspath(path), "saved_model.pb")
    if not os.path.isfile(file):
        raise MissingFileError(
            f"{os.fspath(path)} has no saved_model.pb, expected the folder of a SavedModel."
        )
    try:
        return tf.saved_model.load(os.fspath(path))
    except (OSError, ValueError, KeyError, tf.errors.OpError) as e:
        raise InvalidArgumentError(
            f"{os.fspath(path)} cannot be read by TensorFlow {tf.__version__}: {one_line(e)}."
        ) from e


def _concrete(tf: Any, model: Any, call: ExampleCall, label: str) -> Any:
    """The concrete function of a call."""
    if hasattr(model, "structured_input_signature"):
        return model
    function = model
    if not hasattr(model, "get_concrete_function"):
        own = getattr(model, "signatures", {})
        if call.method in own:
            return own[call.method]
        function = getattr(model, call.method, None)
        if not hasattr(function, "get_concrete_function"):
            if not callable(function):
                raise InvalidArgumentError(
                    f"{label} has no method {call.method!r}; its signatures are "
                    f"{', '.join(own) or 'none'}."
                )
            function = tf.function(function)
    specs = tf.nest.map_structure(lambda v: _spec(tf, v), (call.args, dict(call.kwargs)))
    try:
        return function.get_concrete_function(*specs[0], **specs[1])
    except (TypeError, ValueError) as e:
        raise InvalidArgumentError(
            f"{label}.{call.method} cannot be traced with the arguments given ({one_line(e)}): "
            "give example arguments, or the function an input_signature."
        ) from e


def _spec(tf: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic) or tf.is_tensor(value):
        array = np.asarray(value)
        return tf.TensorSpec(array.shape, tf.as_dtype(array.dtype))
    return value


def _arrays(call: ExampleCall) -> dict[str, Any]:
    """Example arrays by the names that the graph's inputs will have, where arguments have names."""
    return {n: np.asarray(v) for n, v in call.kwargs.items() if isinstance(v, np.ndarray)}


def _axes(dynamic: Mapping[str, Any]) -> dict[str, dict[int, str]]:
    found = {}
    for name, axes in dynamic.items():
        pairs = axes.items() if isinstance(axes, Mapping) else enumerate(axes)
        found[name] = {int(a): str(n) for a, n in pairs if n is not None}
    return found


def _variables(concretes: Any) -> tuple[dict[int, str], dict[str, SourceVariable]]:
    """Names of all variables by ``id``, and the variables by name."""
    names: dict[int, str] = {}
    found: dict[str, SourceVariable] = {}
    for concrete in concretes:
        for variable in concrete.variables:
            if id(variable) in names or variable.dtype.name == "resource":
                continue
            base = getattr(variable, "path", variable.name).split(":")[0]
            name, number = base, 1
            while name in found:
                name, number = f"{base}_{number}", number + 1
            names[id(variable)] = name
            found[name] = SourceVariable(variable.numpy(), bool(variable.trainable))
    return names, found
