"""Operators of ``ai.onnx.ml`` that are arithmetic, written with standard ones.

Linear models and preprocessing, as converters of scikit-learn write them. Trees, support vectors
and maps are refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.graph.ir import Value
from tfx.graph.onnx_import.import_builder import ImportBuilder, Old, upgrade

_ML = "ai.onnx.ml"
_ANY = 10_000
_FLOAT = dtypes.float32.onnx


def _as_float(e: ImportBuilder, x: Value) -> Value:
    return x if x.dtype == _FLOAT else e.Cast(x, to=_FLOAT)


def _floats(e: ImportBuilder, values: Sequence[float], *shape: int) -> Value:
    array = np.asarray(values, np.float32)
    if shape and array.size % abs(int(np.prod(shape))):
        raise InvalidArgumentError(f"{array.size} numbers cannot have the shape {shape}.")
    return e.graph.add_constant(array.reshape(shape or (-1,)), _FLOAT)


@upgrade("Scaler", until=_ANY, domain=_ML)
def _scaler(e: ImportBuilder, old: Old) -> Value:
    x = _as_float(e, old.required(0))
    shifted = e.Sub(x, _floats(e, old.attrs.get("offset", [0.0])))
    return e.Mul(shifted, _floats(e, old.attrs.get("scale", [1.0])))


@upgrade("ArrayFeatureExtractor", until=_ANY, domain=_ML)
def _array_feature_extractor(e: ImportBuilder, old: Old) -> Value:
    """Columns, by their numbers; of a vector they are a row."""
    x, places = old.required(0), old.required(1)
    found = e.Gather(x, e.Reshape(places, e.ints([-1])), axis=-1)
    is_vector = x.shape is not None and len(x.shape) == 1
    return e.Unsqueeze(found, e.ints([0])) if is_vector else found


@upgrade("Binarizer", until=_ANY, domain=_ML)
def _binarizer(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    above = e.Greater(x, e.like(old.attrs.get("threshold", 0.0), x))
    return e.CastLike(above, x)


@upgrade("FeatureVectorizer", until=_ANY, domain=_ML)
def _feature_vectorizer(e: ImportBuilder, old: Old) -> Value:
    parts = [_as_float(e, old.required(i)) for i in range(len(old.inputs))]
    return e.apply_n("Concat", parts, {"axis": -1})[0]


@upgrade("Normalizer", until=_ANY, domain=_ML)
def _normalizer(e: ImportBuilder, old: Old) -> Value:
    """Rows divided by their norm; a row of zeros stays."""
    x = _as_float(e, old.required(0))
    norm = old.attrs.get("norm", "MAX")
    if norm not in ("L1", "L2"):
        raise UnimplementedError(f"a Normalizer by {norm} is not known, expected L1 or L2")
    size = e.apply(f"Reduce{norm}", (x, e.ints([-1])), {"keepdims": 1})
    is_zero = e.Equal(size, e.like(0.0, size))
    return e.Div(x, e.Where(is_zero, e.like(1.0, size), size))


def _linear(e: ImportBuilder, old: Old, rows: int) -> Value:
    """``x @ coefficients.T + intercepts``; there is a row of coefficients for each result."""
    x = _as_float(e, old.required(0))
    coefficients = _floats(e, old.attrs.get("coefficients", []), rows, -1)
    result = e.MatMul(x, e.Transpose(coefficients, perm=[1, 0]))
    intercepts = old.attrs.get("intercepts")
    return e.Add(result, _floats(e, intercepts)) if intercepts else result


def _transformed(e: ImportBuilder, old: Old, scores: Value) -> Value:
    kind = old.attrs.get("post_transform", "NONE")
    if kind == "SOFTMAX":
        return e.Softmax(scores, axis=-1)
    if kind == "LOGISTIC":
        return e.Sigmoid(scores)
    if kind != "NONE":
        raise UnimplementedError(f"{old.op} with post_transform {kind!r} is not known")
    return scores


@upgrade("LinearRegressor", until=_ANY, domain=_ML)
def _linear_regressor(e: ImportBuilder, old: Old) -> Value:
    return _transformed(e, old, _linear(e, old, int(old.attrs.get("targets", 1))))


@upgrade("LinearClassifier", until=_ANY, domain=_ML)
def _linear_classifier(e: ImportBuilder, old: Old) -> Sequence[Value | None]:
    """The label of the largest score, and the scores."""
    strings = old.attrs.get("classlabels_strings")
    labels = strings or old.attrs.get("classlabels_ints") or []
    rows = len(old.attrs.get("intercepts") or labels)
    if rows != len(labels) or rows < 2:
        raise UnimplementedError(
            f"LinearClassifier with {rows} rows of coefficients for {len(labels)} labels is not "
            "known, expected one for each of at least two"
        )
    scores = _linear(e, old, rows)
    best = e.ArgMax(scores, axis=-1, keepdims=0)
    if strings:
        table = np.array([s.encode() for s in strings], object)
        known = e.graph.add_constant(table, dtypes.string.onnx)
    else:
        known = e.ints(labels)
    return [e.Gather(known, best), _transformed(e, old, scores)]
