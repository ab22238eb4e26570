"""Old operators: ONNX Runtime runs those of opset 7 on, NumPy says what the older ones mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import tfx as tf
from tests.unit.importing.samples import (
    FLOAT,
    INT64,
    constant,
    make,
    node,
    numbers,
    run_stock,
    value,
)

X = numbers(2, 3, 4)
IMAGE = numbers(1, 2, 4, 4)
NORMS = [np.abs(numbers(2, seed=i)) + 0.5 for i in range(4)]


def one(
    opset: int, op: str, feeds: dict[str, Any], stored: Any = (), outputs: int = 1, **attrs: Any
) -> Any:
    """A model of one node; ``stored`` are constants that it is applied to after the feeds."""
    names = [f"c{i}" for i in range(len(stored))]
    results = ["y", "z", "u", "v", "t"][:outputs]
    kinds = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in feeds.items()}
    return make(
        [node(op, [*feeds, *names], results, **attrs)],
        [value(n, a.shape, kinds[n]) for n, a in feeds.items()],
        [value(n, None, attrs.pop("kinds", {}).get(n, FLOAT)) for n in results],
        [constant(n, a) for n, a in zip(names, stored, strict=True)],
        opset=opset,
        ir_version=3 if opset < 9 and not stored else 7,
    )


NEW: list[tuple[Any, ...]] = [
    (8, "BatchNormalization", {"x": IMAGE}, NORMS),
    (9, "Clip", {"x": X}, (), {"min": -0.5, "max": 0.5}),
    (9, "Clip", {"x": X}, (), {"max": 0.5}),
    (7, "Dropout", {"x": X}, (), {"ratio": 0.3}),
    (10, "Dropout", {"x": X}, (), {}),
    (7, "Pad", {"x": X}, (), {"pads": [0, 1, 0, 1, 0, 2], "value": 1.5}),
    (10, "Pad", {"x": X}, (), {"pads": [0, 1, 0, 0, 1, 0], "mode": "reflect"}),
    (8, "Slice", {"x": X}, (), {"starts": [1, -2], "ends": [3, 9], "axes": [1, 2]}),
    (8, "Slice", {"x": X}, (), {"starts": [1], "ends": [2]}),
    (9, "Squeeze", {"x": X[:1]}, (), {"axes": [0]}),
    (9, "Squeeze", {"x": X[:1]}, (), {}),
    (11, "Unsqueeze", {"x": X}, (), {"axes": [0, 2]}),
    (9, "ReduceSum", {"x": X}, (), {"axes": [1], "keepdims": 0}),
    (9, "ReduceSum", {"x": X}, (), {}),
    (12, "ReduceMean", {"x": X}, (), {"axes": [-1]}),
    (17, "ReduceMax", {"x": X}, (), {"axes": [0, 2], "keepdims": 0}),
    (17, "ReduceL2", {"x": X}, (), {}),
    (13, "ReduceLogSumExp", {"x": X}, (), {"axes": [1]}),
    (9, "Softmax", {"x": X}, (), {}),
    (11, "Softmax", {"x": X}, (), {"axis": 0}),
    (11, "LogSoftmax", {"x": X}, (), {"axis": -1}),
    (12, "Hardmax", {"x": X}, (), {"axis": 1}),
    (8, "Upsample", {"x": IMAGE}, (), {"scales": [1.0, 1.0, 2.0, 2.0], "mode": "nearest"}),
    (9, "Upsample", {"x": IMAGE}, (np.float32([1, 1, 2, 3]),), {"mode": "linear"}),
    (10, "Resize", {"x": IMAGE}, (np.float32([1, 1, 2, 2]),), {"mode": "nearest"}),
    (10, "Resize", {"x": IMAGE}, (np.float32([1, 1, 0.6, 0.6]),), {"mode": "nearest"}),
    (10, "Resize", {"x": IMAGE}, (np.float32([1, 1, 0.6, 0.6]),), {"mode": "linear"}),
    (11, "Resize", {"x": IMAGE}, (np.float32([]), np.float32([1, 1, 1.5, 1.5])),
     {"mode": "nearest", "coordinate_transformation_mode": "tf_half_pixel_for_nn",
      "nearest_mode": "floor"}),
    (9, "Scatter", {"x": X[0]}, (np.array([[1, 0, 2, 1]]), numbers(1, 4, seed=3)), {"axis": 0}),
    (12, "RoiAlign", {"x": IMAGE}, (np.float32([[0, 0, 3, 3], [1, 0, 2, 3]]), np.array([0, 0])),
     {"output_height": 2, "output_width": 2, "sampling_ratio": 2}),
    (16, "GridSample", {"x": IMAGE}, (numbers(1, 3, 3, 2),), {"mode": "bilinear"}),
    (16, "GridSample", {"x": IMAGE}, (numbers(1, 3, 3, 2),), {"mode": "bicubic"}),
    (17, "DFT", {"x": numbers(2, 8, 1)}, (), {"axis": 1}),
    (17, "DFT", {"x": numbers(2, 8, 1)}, (), {"onesided": 1}),
    (8, "MaxPool", {"x": IMAGE}, (), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    (7, "AveragePool", {"x": IMAGE}, (), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    (7, "Add", {"x": X}, (numbers(4),), {}),
    (7, "Gemm", {"x": X[0]}, (numbers(4, 2), numbers(2)), {"alpha": 0.5}),
    (7, "LSTM", {"x": X}, (numbers(1, 20, 4), numbers(1, 20, 5)), {"hidden_size": 5}),
]  # fmt: skip


@pytest.mark.parametrize("case", NEW, ids=[f"{i}-{c[1]}-{c[0]}" for i, c in enumerate(NEW)])
def test_old_operators_give_what_the_runtime_gives(case: tuple[Any, ...]) -> None:
    opset, op, feeds, stored, *attrs = case
    proto = one(opset, op, feeds, stored, **(attrs[0] if attrs else {}))
    expected = run_stock(proto, feeds)[0]
    found = tf.import_onnx(proto, trainable=False)(**feeds)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [11, 13, 17])
def test_split_into_equal_parts(opset: int) -> None:
    proto = one(opset, "Split", {"x": X}, outputs=2, axis=2)
    found = tf.import_onnx(proto)(X)
    for name, part in zip("yz", run_stock(proto, {"x": X}), strict=True):
        np.testing.assert_array_equal(found[name], part)


def test_split_by_sizes_and_top_k_of_an_attribute() -> None:
    found = tf.import_onnx(one(2, "Split", {"x": X}, outputs=2, axis=2, split=[1, 3]))(X)
    np.testing.assert_array_equal(found["z"], X[:, :, 1:])
    proto = one(9, "TopK", {"x": X}, outputs=2, k=2)
    proto.graph.output[1].type.tensor_type.elem_type = INT64
    found = tf.import_onnx(proto)(X)
    np.testing.assert_array_equal(found["y"], -np.sort(-X)[..., :2])
    np.testing.assert_array_equal(found["z"], np.argsort(-X)[..., :2])


Formula = Callable[[Any], Any]
OLD: list[tuple[int, str, Any, dict[str, Any], Formula]] = [
    (6, "Add", (numbers(3),), {"broadcast": 1, "axis": 1}, lambda x: x + numbers(3)[:, None]),
    (6, "Mul", (numbers(4),), {"broadcast": 1}, lambda x: x * numbers(4)),
    (6, "Sub", (numbers(2, 3),), {"broadcast": 1, "axis": 0}, lambda x: x - numbers(2, 3, 1)),
    (1, "Div", (numbers(3, 4),), {"broadcast": 1, "consumed_inputs": [0, 0]},
     lambda x: x / numbers(3, 4)),
    (6, "PRelu", (numbers(3),), {}, lambda x: np.where(x < 0, x * numbers(3)[:, None], x)),
    (1, "Concat", (numbers(2, 1, 4),), {}, lambda x: np.concatenate([x, numbers(2, 1, 4)], 1)),
    (4, "Reshape", (), {"shape": [0, -1]}, lambda x: x.reshape(2, 12)),
    (5, "Reshape", (np.array([-1, 2]),), {}, lambda x: x.reshape(-1, 2)),
    (1, "Reshape", (), {"shape": [4, 6], "consumed_inputs": [0]}, lambda x: x.reshape(4, 6)),
    (5, "Cast", (), {"to": "DOUBLE"}, lambda x: x.astype(np.float64)),
    (6, "Cast", (), {"to": 11}, lambda x: x.astype(np.float64)),
    (1, "Pad", (), {"paddings": [0, 0, 1, 0, 0, 1]}, lambda x: np.pad(x, [(0, 0), (0, 0), (1, 1)])),
    (1, "Clip", (), {"max": 0.25}, lambda x: np.minimum(x, 0.25)),
    (6, "Dropout", (), {"is_test": 1}, lambda x: x),
    (6, "Tile", (np.array([1, 2, 1]),), {}, lambda x: np.tile(x, (1, 2, 1))),
    (1, "Tile", (np.float32([2]), np.float32([1])), {}, lambda x: np.tile(x, (1, 2, 1))),
    (1, "LpPool", (), {"kernel_shape": [2], "p": 1.0},
     lambda x: np.abs(x[..., :-1]) + np.abs(x[..., 1:])),
    (1, "GlobalLpPool", (), {"p": 2.0}, lambda x: np.sqrt((x**2).sum(-1, keepdims=True))),
    (1, "Sum", (numbers(2, 3, 4, seed=5),), {}, lambda x: x + numbers(2, 3, 4, seed=5)),
    (1, "Softmax", (), {"axis": 2}, lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    (1, "Affine", (), {"alpha": 2.0, "beta": 1.0}, lambda x: 2 * x + 1),
    (1, "Scale", (), {"scale": 3.0}, lambda x: 3 * x),
    (1, "ScaledTanh", (), {"alpha": 2.0, "beta": 0.5}, lambda x: 2 * np.tanh(x / 2)),
    (1, "ParametricSoftplus", (), {"alpha": 2.0, "beta": 0.5},
     lambda x: 2 * np.log1p(np.exp(x / 2))),
    (18, "GroupNormalization", (np.float32([2.0]), np.float32([1.0])),
     {"num_groups": 1}, lambda x: 2 * _normalized(x) + 1),
]  # fmt: skip


def _normalized(x: Any) -> Any:
    flat = x.reshape(len(x), -1)
    flat = (flat - flat.mean(1, keepdims=True)) / np.sqrt(flat.var(1, keepdims=True) + 1e-5)
    return flat.reshape(x.shape)


@pytest.mark.parametrize("case", OLD, ids=[f"{i}-{c[1]}-{c[0]}" for i, c in enumerate(OLD)])
def test_the_oldest_operators_mean_what_the_standard_said(case: Any) -> None:
    opset, op, stored, attrs, formula = case
    found = tf.import_onnx(one(opset, op, {"x": X}, stored, **attrs), trainable=False)(X)
    np.testing.assert_allclose(found, formula(X), rtol=1e-4, atol=1e-5)


def test_images_of_the_first_opset() -> None:
    scaled = tf.import_onnx(one(1, "ImageScaler", {"x": IMAGE}, bias=[1.0, 2.0], scale=0.5))
    expected = IMAGE * 0.5 + np.float32([1, 2])[:, None, None]
    np.testing.assert_allclose(scaled(IMAGE), expected, rtol=1e-6)
    cropped = tf.import_onnx(one(1, "Crop", {"x": IMAGE}, border=[1, 0, 1, 2]))
    np.testing.assert_array_equal(cropped(IMAGE), IMAGE[:, :, 0:2, 1:3])
    kept = tf.import_onnx(one(1, "Crop", {"x": IMAGE}, border=[1, 1, 0, 0], scale=[2, 3]))
    np.testing.assert_array_equal(kept(IMAGE), IMAGE[:, :, 1:3, 1:4])


def test_constants_of_every_kind() -> None:
    sparse = helper.make_sparse_tensor(
        constant("v", np.float32([1, 2])), constant("i", np.array([[0, 1], [1, 0]])), [2, 2]
    )
    kinds: dict[str, tuple[Any, Any, int]] = {
        "value": (constant("t", np.float32([1, 2])), [1, 2], FLOAT),
        "value_float": (1.5, 1.5, FLOAT),
        "value_floats": ([1.0, 2.0], [1, 2], FLOAT),
        "value_int": (3, 3, INT64),
        "value_ints": ([3, 4], [3, 4], INT64),
        "value_string": (b"a", b"a", TensorProto.STRING),
        "value_strings": ([b"a", b"b"], [b"a", b"b"], TensorProto.STRING),
        "sparse_value": (sparse, [[0, 1], [2, 0]], FLOAT),
    }
    for name, (given, expected, dtype) in kinds.items():
        made = node("Constant", [], ["y"], **{name: given})
        found = tf.import_onnx(make([made], [], [value("y", None, dtype)]))()
        assert np.asarray(found.numpy()).tolist() == expected, name


def test_a_rank_that_is_needed_and_unknown_is_asked_for() -> None:
    proto = one(9, "Softmax", {"x": X})
    del proto.graph.input[0].type.tensor_type.shape.dim[:]
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(tf.errors.UnimplementedError, match=r"rank of 'x' is unknown.*input_shapes"):
        tf.import_onnx(proto)
    model = tf.import_onnx(proto, input_shapes={"x": ["n", 3, 4]})
    assert model.outputs["y"].shape.as_list() == [None, 3, 4]


def test_what_has_no_like_today_is_refused_by_name() -> None:
    for proto, words in (
        (one(8, "BatchNormalization", {"x": IMAGE}, NORMS, spatial=0), "spatial=0"),
        (one(1, "GlobalLpPool", {"x": X}, p=1.5), "p=1.5"),
    ):
        with pytest.raises(tf.errors.UnimplementedError, match=words):
            tf.import_onnx(proto)


def test_operators_of_newer_opsets_that_did_not_change_are_taken() -> None:
    np.testing.assert_array_equal(tf.import_onnx(one(28, "Relu", {"x": X}))(X), np.maximum(X, 0))
    with pytest.raises(tf.errors.UnimplementedError, match=r"operator of opset 28.*opset 26"):
        tf.import_onnx(one(28, "Cast", {"x": X}, to=11))
