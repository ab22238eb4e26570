"""Models of scikit-learn, XGBoost and LightGBM as modules and bundles.

Stands on skl2onnx, with the converters of onnxmltools for the boosters. What is ours: coefficients
as variables under the estimator's own names, columns and outputs by names, and the estimator's own
answers to compare with. Trees, support vectors and text are kept as operators of ``ai.onnx.ml`` and
``com.microsoft``, which every ONNX Runtime has.
"""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tfx.bundle import limits
from tfx.bundle.examples import TOLERANCE
from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.exporters.converted import save_converted, source_examples
from tfx.exporters.sources.sklearn_conversion import (
    EXTRA,
    SklearnGraph,
    answers_of,
    convert,
    source_answers,
)
from tfx.exporters.sources.sklearn_inputs import SklearnInputs, inputs_of
from tfx.exporters.sources.sklearn_parameters import fitted_parameters, is_trained, stands_for
from tfx.graph.serialization.named_weights import name_weights
from tfx.importing.compare_answers import compare_answers
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import (
    LayerValue,
    MethodGraph,
    Port,
    SourceAnswer,
    SourceVariable,
)

_ALL = "call"
# Rows that are compared, and kept as golden examples.
_MOST_ROWS = 64


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    signatures: Mapping[str, str] | None = None,
    data: Any = None,
    inputs: Any = None,
    dtype: DTypeLike = dtypes.float32,
    verify: bool = True,
    tolerance: float = TOLERANCE,
    metadata: Mapping[str, str] | None = None,
    examples: bool | Mapping[str, Any] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
) -> ConvertedModule:
    """Save a fitted model of scikit-learn, XGBoost or LightGBM as a bundle.

    Args:
        model: See ``to_module``, as for ``signatures``, ``data``, ``inputs`` and ``dtype``.
        path: The folder to make.
        signatures: Methods by signature.
        data: Rows of the training data.
        inputs: Specs of the inputs.
        dtype: What the graph computes in.
        verify: Whether the bundle must answer as the model does.
        tolerance: How far answers may be away, by the largest element of each.
        metadata: Text to keep in the manifest.
        examples: Golden examples as in ``saved_model.SaveOptions``; None: the model's answers.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.

    Returns:
        The module that was saved.

    Raises:
        ImportError: a package is missing; the message has the command that installs it.
        InvalidArgumentError: the model is not fitted, its inputs do not follow from what is given,
            or an answer differs; the message names the first step of the pipeline that does.
        UnimplementedError: a part of the model has no converter.
        AlreadyExistsError: the folder exists and is not a bundle.
    """
    module = to_module(model, signatures=signatures, data=data, inputs=inputs, dtype=dtype)
    if verify:
        _compare(module, tolerance)
        if examples is None:
            examples = source_examples(module, tolerance) or None
    save_converted(
        module,
        path,
        verify=False,
        tolerance=tolerance,
        metadata=metadata,
        examples=examples,
        max_shard_bytes=max_shard_bytes,
    )
    return module


def _compare(module: ConvertedModule, tolerance: float) -> None:
    try:
        compare_answers(module, tolerance)
    except InvalidArgumentError as e:
        e.message += (
            " scikit-learn computes in float64, its trees in float32: try the other dtype=. Where "
            "one rounding decides (a tie between neighbours, a number at a threshold of a tree), "
            "rows may differ in any dtype: export with verify=False."
        )
        raise


def to_module(
    model: Any,
    *,
    signatures: Mapping[str, str] | None = None,
    data: Any = None,
    inputs: Any = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> ConvertedModule:
    """Make a module of a fitted model of scikit-learn, XGBoost or LightGBM.

    A classifier gives ``label`` and ``probabilities`` (``scores`` where it has none), a regressor
    its prediction, a clustering ``label`` and ``scores``, a transformer what it makes. Linear
    models and perceptrons have their coefficients as trainable variables under the names of the
    fitted attributes (``coef_``, in a pipeline ``clf.coef_``); what else was fitted is a variable
    that is not trained, or a part of the graph.

    Args:
        model: The fitted estimator or pipeline.
        signatures: Methods of the model by signature: ``{"serving_default": "predict",
            "probabilities": "predict_proba"}``; ``"call"`` gives all outputs. None: all outputs as
            ``serving_default``.
        data: Rows of the training data: a data frame, whose columns become inputs of the same
            names and dtypes, a matrix, or a list of texts. Some of them are compared. None: a
            matrix ``X`` of as many features as the model has, or texts.
        inputs: Specs of inputs by name, in place of what ``data`` has: ``[None, features]`` for a
            matrix, ``[None, 1]`` for a column, ``[None]`` for texts.
        dtype: What the graph computes in: scikit-learn computes in float64 where its data is.
        name: Name of the module; None: the class's.

    Returns:
        A ``ConvertedModule``, called with the inputs by position or by name.

    Raises:
        ImportError: a package is missing; the message has the command that installs it.
        InvalidArgumentError: the model is not fitted, or its inputs do not follow from what is
            given.
        UnimplementedError: a part of the model has no converter.
    """
    sklearn = _sklearn(model)
    _check_fitted(model)
    taken = _few_rows(inputs_of(model, data, inputs))
    computed = dtypes.as_dtype(dtype)
    if computed not in (dtypes.float32, dtypes.float64):
        raise InvalidArgumentError(f"dtype is {computed.name}, expected float32 or float64.")
    answers = source_answers(model, taken.as_source())
    graph = convert(model, taken, answers, computed)
    weights = name_weights(graph.proto, fitted_parameters(model), stands_for)
    named = {port: w.name for port, w in weights.items()}
    answer = SourceAnswer(
        dict(taken.rows),
        {n: _as_graph_has(graph.proto, n, a) for n, a in answers.items()},
        layers=lambda: _layers(model, taken, graph),
        is_made_up=not taken.given,
    )
    chosen = _chosen(model, signatures)
    methods = {
        method: MethodGraph(
            graph.proto,
            results=None if output is None else Port(output),
            weights=named,
            answers=(answer if output is None else _only(answer, output),),
        )
        for method, output in chosen.values()
    }
    return ConvertedModule(
        methods,
        {w.name: SourceVariable(w.array, is_trained(w.name)) for w in weights.values()},
        name=name or type(model).__name__,
        signatures={signature: method for signature, (method, _) in chosen.items()},
        metadata={
            "source": "scikit-learn",
            "source_version": str(sklearn.__version__),
            "source_class": f"{type(model).__module__}.{type(model).__qualname__}",
        },
    )


def _chosen(model: Any, signatures: Any) -> dict[str, tuple[str, str | None]]:
    """The method of each signature, and its output; None: all outputs."""
    if signatures is None:
        return {"serving_default": (_ALL, None)}
    known: dict[str, str | None] = {a.method: a.name for a in answers_of(model)}
    known[_ALL] = None
    if not isinstance(signatures, Mapping) or not signatures:
        raise InvalidArgumentError(
            f"signatures is {signatures!r:.100}, expected a dict of methods by signature, such as "
            '{"serving_default": "predict"}.'
        )
    for name, method in signatures.items():
        if not isinstance(method, str) or method not in known:
            raise InvalidArgumentError(
                f"signatures has {name!r}: {method!r}, expected one of {', '.join(known)}: what "
                f"the graph of {type(model).__name__} gives."
            )
    return {str(name): (method, known[method]) for name, method in signatures.items()}


def _few_rows(inputs: SklearnInputs) -> SklearnInputs:
    rows = {n: a[:_MOST_ROWS] for n, a in inputs.rows.items()}
    return SklearnInputs(inputs.specs, rows, inputs.frame, inputs.text, inputs.given)


def _only(answer: SourceAnswer, output: str) -> SourceAnswer:
    return replace(answer, outputs={output: answer.outputs[output]})


def _as_graph_has(proto: Any, name: str, array: Any) -> Any:
    """An answer in the dtype that the graph gives it in."""
    if array.dtype == object:
        return array
    port = next(o for o in proto.graph.output if o.name == name)
    dtype = dtypes.from_onnx(port.type.tensor_type.elem_type)
    return array.astype(dtype.as_numpy_dtype)


def _layers(model: Any, inputs: SklearnInputs, graph: SklearnGraph) -> Iterator[LayerValue]:
    """The output of each step of a pipeline but the last."""
    rows = inputs.as_source()
    steps = list(getattr(model, "steps", []))
    for (name, step), (_, following) in itertools.pairwise(steps):
        if not hasattr(step, "transform"):
            continue
        rows = step.transform(rows)
        dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
        value = graph.made.get(id(step)) or graph.given.get(id(following))
        if value is not None and dense.dtype.kind == "f":
            yield LayerValue(name, value, dense.astype(np.float32))


def _sklearn(model: Any) -> Any:
    """scikit-learn itself.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module("sklearn")
    except ImportError as e:
        raise ImportError(f"exporting {type(model).__name__} needs scikit-learn: {EXTRA}") from e


def _check_fitted(model: Any) -> None:
    validation = importlib.import_module("sklearn.utils.validation")
    exceptions = importlib.import_module("sklearn.exceptions")
    try:
        validation.check_is_fitted(model)
    except exceptions.NotFittedError as e:
        raise InvalidArgumentError(
            f"{type(model).__name__} is not fitted, expected one after fit."
        ) from e
    except TypeError as e:
        raise InvalidArgumentError(
            f"model is {model!r:.100} of type {type(model).__name__}, expected a fitted estimator "
            "or pipeline of scikit-learn, XGBoost or LightGBM."
        ) from e
