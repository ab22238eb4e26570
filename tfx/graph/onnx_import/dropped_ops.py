"""Operators that the standard had as experiments and dropped; models of 2017 still use them."""

from __future__ import annotations

import numpy as np

from tfx.core import dtypes
from tfx.graph.ir import Value
from tfx.graph.onnx_import.import_builder import ImportBuilder, Old, upgrade

_NEWEST = 10_000


@upgrade("Affine", until=_NEWEST)
def _affine(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    scaled = e.Mul(x, e.like(old.attrs.get("alpha", 1.0), x))
    return e.Add(scaled, e.like(old.attrs.get("beta", 0.0), x))


@upgrade("Scale", until=_NEWEST)
def _scale(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    return e.Mul(x, e.like(old.attrs.get("scale", 1.0), x))


@upgrade("ImageScaler", until=_NEWEST)
def _image_scaler(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    scaled = e.Mul(x, e.like(old.attrs.get("scale", 1.0), x))
    bias = np.asarray(old.attrs.get("bias", [0.0])).reshape(1, -1, 1, 1)
    return e.Add(scaled, e.like(bias, x))


@upgrade("ParametricSoftplus", until=_NEWEST)
def _parametric_softplus(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    inner = e.Mul(x, e.like(old.attrs.get("beta", 1.0), x))
    return e.Mul(e.Softplus(inner), e.like(old.attrs.get("alpha", 1.0), x))


@upgrade("ScaledTanh", until=_NEWEST)
def _scaled_tanh(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    inner = e.Mul(x, e.like(old.attrs.get("beta", 1.0), x))
    return e.Mul(e.Tanh(inner), e.like(old.attrs.get("alpha", 1.0), x))


@upgrade("DynamicSlice", until=_NEWEST)
def _dynamic_slice(e: ImportBuilder, old: Old) -> Value:
    return e.apply("Slice", old.inputs)


@upgrade("Crop", until=_NEWEST)
def _crop(e: ImportBuilder, old: Old) -> Value:
    """Borders are left, top, right, bottom; a ``scale`` is height and width to keep."""
    x = old.required(0)
    left, top, right, bottom = (int(v) for v in old.attrs.get("border", [0, 0, 0, 0]))
    scale = old.attrs.get("scale")
    if scale:
        ends = [top + int(scale[0]), left + int(scale[1])]
    else:
        largest = int(np.iinfo(np.int64).max)
        ends = [-bottom or largest, -right or largest]
    return e.Slice(x, e.ints([top, left]), e.ints(ends), e.ints([2, 3]))


@upgrade("ConstantFill", "GivenTensorFill", until=_NEWEST)
def _fill(e: ImportBuilder, old: Old) -> Value:
    attrs = old.attrs
    shape = e.ints(attrs["shape"]) if attrs.get("shape") else old.required(0)
    if old.op == "GivenTensorFill":
        values = e.graph.add_constant(
            np.asarray(attrs.get("values", []), np.float32), dtypes.float32.onnx
        )
        return e.Reshape(values, shape)
    if not attrs.get("shape") and not attrs.get("input_as_shape"):
        shape = e.Shape(shape)
    dtype = dtypes.from_onnx(attrs.get("dtype", 1)).as_numpy_dtype
    value = np.asarray([attrs.get("value", 0.0)], dtype)
    return e.ConstantOfShape(e.Cast(shape, to=7), value=value)
