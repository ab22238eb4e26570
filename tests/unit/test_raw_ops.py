"""``tf.raw_ops``: names, arguments and results of TensorFlow's operations."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.special

import tfx as tf
from tfx.core.tensorflow_names import NAMES

R = tf.raw_ops
X = np.array([[0.5, -1.5, 2.5], [1.0, 0.25, -3.0]], np.float32)
U = np.array([[0.5, 0.1, 0.9], [0.3, 0.7, 0.2]], np.float32)
I = np.array([7, -7, 5], np.int32)  # noqa: E741
J = np.array([2, 2, 3], np.int32)


def _softmax(x):
    return scipy.special.softmax(x, axis=-1)


CASES = [
    ("ApproximateEqual", {"x": X, "y": X + np.float32(1e-6)}, np.ones_like(X, bool)),
    ("BatchMatMulV3", {"x": X, "y": U, "Tout": tf.float32, "adj_y": True}, X @ U.T),
    ("BesselJ0", {"x": U}, scipy.special.j0(U)),
    ("Bucketize", {"input": [-1, 0, 5, 10], "boundaries": [0.0, 5.0, 9.5]}, [0, 1, 2, 3]),
    ("Concat", {"concat_dim": tf.constant(1), "values": [X, U]}, np.concatenate([X, U], 1)),
    ("DecodeCSV", {"records": ["1", "2"], "record_defaults": [[0]]}, [[1, 2]]),
    ("DecodePaddedRaw", {"input_bytes": [b"ab"], "fixed_length": 4, "out_type": tf.uint8},
     [[97, 98, 0, 0]]),
    ("Dilation2D", {"input": np.ones([1, 3, 3, 1]), "filter": np.zeros([2, 2, 1]),
                    "strides": [1, 1, 1, 1], "rates": [1, 2, 1, 1], "padding": "VALID"},
     np.ones([1, 1, 2, 1])),
    ("ExtractGlimpseV2", {"input": X[None, :, :, None], "size": [1, 2], "offsets": [[0.0, 0.0]],
                          "noise": "zero"}, X[None, :1, :2, None]),
    ("EluGrad", {"gradients": U, "outputs": X}, np.where(X < 0, U * (X + 1), U)),
    ("LowerBound", {"sorted_inputs": [1.0, 2.0, 3.0], "values": [2.0, 2.5]}, [1, 2]),
    ("MatrixSetDiagV3", {"input": np.eye(2), "diagonal": [5.0], "k": 1}, [[1, 5], [0, 1]]),
    ("Mod", {"x": I, "y": J}, np.fmod(I, J)),
    ("Roll", {"input": X, "shift": tf.constant([1]), "axis": tf.constant([1])}, np.roll(X, 1, 1)),
    ("SegmentProd", {"data": X, "segment_ids": [0, 0]}, [X.prod(0)]),
    ("SoftplusGrad", {"gradients": U, "features": X}, U * scipy.special.expit(X)),
    ("UpperBound", {"sorted_inputs": [1.0, 2.0, 3.0], "values": [2.0, 2.5]}, [2, 2]),
    ("ConcatOffset", {"concat_dim": 1, "shape": [[2, 2], [2, 3], [2, 9]]},
     [[0, 0], [0, 2], [0, 5]]),
    ("DataFormatDimMap", {"x": [0, 1, 2, 3, -1]}, [0, 2, 3, 1, 1]),
    ("DataFormatVecPermute", {"x": [7, 8, 9, 10]}, [7, 10, 8, 9]),
    ("DataFormatVecPermute", {"x": [[1, 2], [3, 4]], "src_format": "NCHW", "dst_format": "NHWC"},
     [[1, 2], [3, 4]]),
    ("EditDistance",
     {"hypothesis_indices": [[0, 0]], "hypothesis_values": [2], "hypothesis_shape": [1, 1],
      "truth_indices": [[0, 0], [0, 1]], "truth_values": [2, 3], "truth_shape": [1, 2]}, [0.5]),
    ("NthElement", {"input": X, "n": 1}, np.sort(X)[:, 1]),
    ("NthElement", {"input": X, "n": 0, "reverse": True}, X.max(1)),
    ("ParallelDynamicStitch", {"indices": [[0, 2], [1]], "data": [[1.0, 2.0], [3.0]]}, [1, 3, 2]),
    ("PopulationCount", {"x": np.array([0, 1, 5, 127, -1], np.int8)}, [0, 1, 2, 7, 8]),
    ("PopulationCount", {"x": np.array([2**63 + 3], np.uint64)}, [3]),
    ("ResizeArea", {"images": np.ones([1, 4, 4, 1]), "size": [2, 3]}, np.ones([1, 2, 3, 1])),
    ("ScatterNdNonAliasingAdd", {"input": [1.0, 2.0], "indices": [[0], [0]], "updates": [3.0, 4.0]},
     [8, 2]),
    ("SeluGrad", {"gradients": U, "outputs": X},
     U * np.where(X < 0, X + 1.7580993408473768, 1.0507009873554805)),
    ("SetSize", {"set_indices": [[0, 0], [0, 1]], "set_values": [2, 3], "set_shape": [1, 2]}, [2]),
    ("SparseDenseCwiseAdd", {"sp_indices": [[0, 1], [1, 0]], "sp_values": [1.0, 2.0],
                             "sp_shape": [2, 2], "dense": [5.0, 6.0]}, [7, 7]),
    ("SparseDenseCwiseMul", {"sp_indices": [[0, 1], [1, 0]], "sp_values": [1.0, 2.0],
                             "sp_shape": [2, 2], "dense": [[5.0], [6.0]]}, [5, 12]),
    ("SparseMatMul", {"a": X, "b": U, "transpose_b": True}, X @ U.T),
    ("SparseReduceMax", {"input_indices": [[0, 1], [1, 0]], "input_values": [1.0, 2.0],
                         "input_shape": [2, 2], "reduction_axes": [1]}, [1, 2]),
    ("SparseReduceSum", {"input_indices": [[0, 1], [1, 0]], "input_values": [1.0, 2.0],
                         "input_shape": [2, 2], "reduction_axes": [0], "keep_dims": True},
     [[2, 1]]),
    ("SparseTensorDenseAdd", {"a_indices": [[0, 1]], "a_values": [1.0], "a_shape": [1, 2],
                              "b": [[1.0, 2.0]]}, [[1, 3]]),
    ("Abs", {"x": X}, np.abs(X)),
    ("AddN", {"inputs": [X, U]}, X + U),
    ("AddV2", {"x": X, "y": U}, X + U),
    ("ArgMax", {"input": X, "dimension": 1}, X.argmax(1)),
    ("Atan2", {"y": X, "x": U}, np.arctan2(X, U)),
    ("BatchMatMulV2", {"x": X, "y": U, "adj_y": True}, X @ U.T),
    ("BiasAdd", {"value": X, "bias": [1.0, 2.0, 3.0]}, X + np.float32([1, 2, 3])),
    ("BiasAddGrad", {"out_backprop": X}, X.sum(0)),
    ("BroadcastArgs", {"s0": [1, 3], "s1": [2, 1, 1]}, [2, 1, 3]),
    ("BitwiseXor", {"x": I, "y": J}, I ^ J),
    ("Cast", {"x": X, "DstT": tf.int32}, X.astype(np.int32)),
    ("ConcatV2", {"values": [X, U], "axis": tf.constant(1)}, np.concatenate([X, U], 1)),
    ("Cumsum", {"x": X, "axis": 1, "exclusive": True}, np.cumsum(X, 1) - X),
    ("Div", {"x": I, "y": J}, [3, -3, 1]),
    ("Div", {"x": X, "y": U}, X / U),
    ("Einsum", {"inputs": [X, U], "equation": "ij,kj->ik"}, X @ U.T),
    ("Erf", {"x": X}, scipy.special.erf(X)),
    ("ExpandDims", {"input": X, "axis": tf.constant(-1)}, X[..., None]),
    ("Fill", {"dims": [2], "value": 3.0}, [3.0, 3.0]),
    ("FloorMod", {"x": I, "y": J}, I % J),
    ("GatherV2", {"params": X, "indices": [2, 0], "axis": 1}, X[:, [2, 0]]),
    ("Igamma", {"a": U, "x": U}, scipy.special.gammainc(U, U)),
    ("IgammaGradA", {"a": U, "x": U},
     np.subtract(*[scipy.special.gammainc(U.astype(float) + d, U) for d in (5e-5, -5e-5)]) / 1e-4),
    ("Inv", {"x": X}, 1 / X),
    ("L2Loss", {"t": X}, (X**2).sum() / 2),
    ("LeakyRelu", {"features": X}, np.where(X > 0, X, 0.2 * X)),
    ("MatMul", {"a": X, "b": U, "transpose_b": True}, X @ U.T),
    ("MatrixDiagPartV2", {"input": X, "k": [-1, 1], "padding_value": 9.0},
     [[-1.5, -3.0], [0.5, 0.25], [1.0, 9.0]]),
    ("MatrixDiagPartV3", {"input": X, "k": (-1, 0), "padding_value": 9.0},
     [[0.5, 0.25], [1.0, 9.0]]),
    ("Max", {"input": X, "axis": tf.constant([1]), "keep_dims": True}, X.max(1, keepdims=True)),
    ("Mean", {"input": X, "axis": []}, X),
    ("MirrorPad", {"input": X, "paddings": [[0, 0], [1, 1]], "mode": "REFLECT"},
     np.pad(X, [(0, 0), (1, 1)], "reflect")),
    ("OneHot", {"indices": [1], "depth": 2, "on_value": 3.0, "off_value": -1.0}, [[-1.0, 3.0]]),
    ("Pack", {"values": [X, U], "axis": 1}, np.stack([X, U], 1)),
    ("PadV2", {"input": X, "paddings": [[1, 0], [0, 0]], "constant_values": 7.0},
     np.pad(X, [(1, 0), (0, 0)], constant_values=7.0)),
    ("Range", {"start": 1, "limit": 9, "delta": 3}, [1, 4, 7]),
    ("ReluGrad", {"gradients": U, "features": X}, U * (X > 0)),
    ("SelectV2", {"condition": X > 0, "t": X, "e": U}, np.where(X > 0, X, U)),
    ("Shape", {"input": X, "out_type": tf.int64}, [2, 3]),
    ("SigmoidGrad", {"y": U, "dy": X}, X * U * (1 - U)),
    ("Softmax", {"logits": X}, _softmax(X)),
    ("Squeeze", {"input": X[None, :, :, None], "axis": [0]}, X[..., None]),
    ("StridedSlice", {"input": X, "begin": [0, 1], "end": [2, 3], "strides": [1, 1],
                      "shrink_axis_mask": 1}, X[0, 1:]),
    ("Sum", {"input": X, "axis": 0}, X.sum(0)),
    ("TanhGrad", {"y": U, "dy": X}, X * (1 - U * U)),
    ("Transpose", {"x": X, "perm": [1, 0]}, X.T),
    ("Where", {"condition": X > 0}, np.argwhere(X > 0)),
    ("Xlogy", {"x": X, "y": U}, scipy.special.xlogy(X, U)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "expected"), CASES)
def test_values(name, arguments, expected):
    operation = getattr(R, name)
    traced = tf.function(lambda: operation(**arguments))
    for found in (operation(**arguments), traced()):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("s0", "s1", "r0", "r1"),
    [
        ([2, 1, 3], [4, 1], [1], [0, 2]),
        ([1, 3], [1, 3], [], []),
        ([1, 3], [3], [0], [0]),
        ([1, 1], [], [0, 1], [0, 1]),
        ([1, 3], [2, 3], [0], []),
    ],
)
def test_the_axes_that_gradients_of_broadcast_operands_are_summed_over(s0, s1, r0, r1):
    def call():
        a, b = tf.constant(s0, tf.int32), tf.constant(s1, tf.int32)
        return R.BroadcastGradientArgs(s0=a, s1=b)

    for found in (call(), tf.function(call)()):
        assert [x.dtype for x in found] == [tf.int32] * 2
        assert (found.r0.numpy().tolist(), found.r1.numpy().tolist()) == (r0, r1)


def test_shapes_that_do_not_broadcast_have_no_gradient_axes():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs"):
        R.BroadcastGradientArgs(s0=[2], s1=[3])


def test_unique_slices():
    rows = R.UniqueWithCountsV2(x=[[1, 2], [1, 2], [3, 4]], axis=[0])
    assert [x.numpy().tolist() for x in rows] == [[[1, 2], [3, 4]], [0, 0, 1], [2, 1]]
    columns = R.UniqueV2(x=[[1.0, 2.0, 1.0]], axis=tf.constant([1]), out_idx=tf.int64)
    assert [x.numpy().tolist() for x in columns] == [[[1.0, 2.0]], [0, 1, 0]]
    assert columns.idx.dtype is tf.int64
    flat = R.UniqueWithCountsV2(x=[3, 1, 3], axis=[])
    assert flat.count.numpy().tolist() == [2, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="axis must be"):
        R.UniqueV2(x=[[1]], axis=[2])


def test_operations_of_several_results():
    parts = R.SplitV(value=X, size_splits=[1, 2], axis=1, num_split=2)
    np.testing.assert_array_equal(parts[1], X[:, 1:])
    np.testing.assert_array_equal(R.Unpack(value=X, num=2)[1], X[1])
    top = R.TopKV2(input=X, k=1)
    assert top._fields == ("values", "indices")
    loss = R.SparseSoftmaxCrossEntropyWithLogits(features=X, labels=[2, 0])
    assert loss._fields == ("loss", "backprop")
    np.testing.assert_allclose(loss.loss, -np.log(_softmax(X)[[0, 1], [2, 0]]), rtol=1e-5)
    np.testing.assert_allclose(loss.backprop, _softmax(X) - np.eye(3)[[2, 0]], atol=1e-6)


def _batch(data_format="NHWC"):
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 4)).astype(np.float32)
    return np.ascontiguousarray(np.moveaxis(x, 3, 1)) if data_format == "NCHW" else x


SCALE, OFFSET = np.float32([1, 2, 3, 4]), np.float32([0.1, 0.2, 0.3, 0.4])
MEAN, VARIANCE = np.float32([0, 0.1, 0.2, 0.3]), np.float32([1, 2, 3, 1])
FIELDS = ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2")


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("version", ["", "V2", "V3"])
@pytest.mark.parametrize(("training", "factor"), [(True, 1.0), (True, 0.25), (False, 1.0)])
def test_fused_batch_norm(version, data_format, training, factor):
    x, last = _batch(data_format), _batch()
    given = {"scale": SCALE, "offset": OFFSET, "mean": MEAN, "variance": VARIANCE}
    if training and factor == 1.0:
        given.update(mean=tf.zeros([0]), variance=tf.zeros([0]))

    def call(x):
        return getattr(R, f"FusedBatchNorm{version}")(
            x=x, **given, epsilon=0.01, exponential_avg_factor=factor, data_format=data_format,
            is_training=training,
        )  # fmt: skip

    mean, variance = (last.mean((0, 1, 2)), last.var((0, 1, 2))) if training else (MEAN, VARIANCE)
    y = (last - mean) / np.sqrt(variance + 0.01) * SCALE + OFFSET
    expected = [np.moveaxis(y, 3, 1) if data_format == "NCHW" else y, mean, variance]
    if training:  # the running variance is that of a population of which the batch is a sample
        expected[2] = variance * 30 / 29
        if factor != 1.0:
            expected[1] = MEAN * 0.75 + mean * 0.25
            expected[2] = VARIANCE * 0.75 + expected[2] * 0.25
    expected += [mean, variance]
    free = tf.function(call, input_signature=[tf.TensorSpec([None] * 4)])
    for made in (call(x), free(x)):
        assert made._fields[:5] == FIELDS
        assert len(made) == (6 if version == "V3" else 5)
        for found, wanted in zip(made, expected, strict=False):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_fused_batch_norm(training):
    x, weights = tf.constant(_batch()), tf.constant(_batch() * 0.3 + 1.0)
    scale, offset = tf.constant(SCALE), tf.constant(OFFSET)
    mean, variance = tf.constant(MEAN), tf.constant(VARIANCE)
    with tf.GradientTape() as tape:
        for v in (x, scale, offset, mean):
            tape.watch(v)
        made = R.FusedBatchNormV3(
            x=x, scale=scale, offset=offset, mean=mean, variance=variance, is_training=training,
            epsilon=0.01,
        )  # fmt: skip
        loss = tf.reduce_sum(made.y * weights) + tf.reduce_sum(made.batch_mean)
    dx, dscale, doffset, dmean = tape.gradient(loss, [x, scale, offset, mean])
    # By hand: the usual formulas; no gradient flows through what is kept for later.
    x, w = _batch().astype(np.float64), _batch() * 0.3 + 1.0
    m, v = (x.mean((0, 1, 2)), x.var((0, 1, 2))) if training else (MEAN, VARIANCE)
    normal, factor = (x - m) / np.sqrt(v + 0.01), SCALE / np.sqrt(v + 0.01)
    expected = w * factor
    if training:
        along = (0, 1, 2)
        expected = factor * (w - w.mean(along) - normal * (w * normal).mean(along))
    np.testing.assert_allclose(dx, expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(dscale, (w * normal).sum((0, 1, 2)), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(doffset, w.sum((0, 1, 2)), rtol=1e-5)
    assert dmean is None


def test_statistics_have_the_dtype_of_the_scale():
    made = R.FusedBatchNormV3(
        x=tf.cast(_batch(), tf.float16), scale=SCALE, offset=OFFSET, mean=[], variance=[]
    )
    assert [t.dtype.name for t in made] == ["float16"] + ["float32"] * 5
    one = R.FusedBatchNormV3(
        x=_batch()[:1, :1, :1], scale=SCALE, offset=OFFSET, mean=[], variance=[]
    )
    np.testing.assert_array_equal(one.batch_variance, np.zeros(4))
    for bad in ({"data_format": "CHWN"}, {"data_format": "NDHWC"}):
        with pytest.raises(tf.errors.InvalidArgumentError, match="data_format"):
            R.FusedBatchNorm(
                x=_batch(), scale=SCALE, offset=OFFSET, mean=MEAN, variance=VARIANCE, **bad
            )


def test_arguments_are_keywords_alone():
    with pytest.raises(TypeError, match=r"MatMul only takes keyword args.*'transpose_a'"):
        R.MatMul(X, U)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'b'"):
        R.MatMul(a=X)
    for name in dir(R):
        parameters = inspect.signature(getattr(R, name)).parameters.values()
        assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}
        assert list(parameters)[-1].name == "name"


def test_names_that_are_not_here():
    with pytest.raises(AttributeError, match=r"TensorFlow has tf\.raw_ops.TensorListReserve"):
        R.TensorListReserve  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'MatMul'"):
        R.MatMull  # noqa: B018
    assert R.MatMul is R.MatMul
    assert set(dir(R)) <= set(NAMES["raw_ops"].split())


def test_texts() -> None:
    assert R.StringUpper(input="ab").numpy() == b"AB"
    assert R.Substr(input="hello", pos=1, len=2).numpy() == b"el"
    joined = R.ReduceJoin(inputs=[["a", "b"]], reduction_indices=tf.constant([1]), separator="-")
    assert joined.numpy().tolist() == [b"a-b"]


def test_gradients_of_windows() -> None:
    x = np.arange(32.0, dtype=np.float32).reshape(1, 4, 4, 2)
    window = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    dy = np.ones((1, 2, 2, 2), np.float32)
    largest = tf.nn.max_pool2d(x, 2, 2, "VALID")
    found = R.MaxPoolGrad(orig_input=x, orig_output=largest, grad=dy, **window)
    assert found[0, :, :, 0].numpy().tolist() == [[0, 0, 0, 0], [0, 1, 0, 1]] * 2
    found = R.AvgPoolGrad(orig_input_shape=[1, 4, 4, 2], grad=dy, **window)
    assert (found.numpy() == 0.25).all()
    found = R.Conv2DBackpropFilter(
        input=x, filter_sizes=[2, 2, 2, 1], out_backprop=dy[..., :1], strides=[1, 2, 2, 1],
        padding="VALID",
    )  # fmt: skip
    expected = [x[:, i::2, j::2].sum((0, 1, 2)) for i in range(2) for j in range(2)]
    np.testing.assert_array_equal(found.numpy().reshape(4, 2), expected)


def _lists(found):
    return [x.numpy().tolist() for x in found]


def test_components_of_sparse_tensors() -> None:
    a = {"a_indices": [[0, 1], [2, 0]], "a_values": [1.5, 2.5], "a_shape": [3, 4]}
    b = {"b_indices": [[0, 1], [1, 0]], "b_values": [-1.5, 9.0], "b_shape": [3, 4]}
    assert _lists(R.SparseAdd(**a, **b, thresh=0.1)) == [[[1, 0], [2, 0]], [9, 2.5], [3, 4]]
    largest = R.SparseSparseMaximum(**a, **b)
    assert _lists(largest) == [[[0, 1], [1, 0], [2, 0]], [1.5, 9, 2.5]]
    x = {"indices": [[0, 1], [2, 0]], "values": [1.5, 2.5], "shape": [3, 4]}
    part = R.SparseSlice(**x, start=[0, 0], size=[1, 4])
    assert _lists(part) == [[[0, 1]], [1.5], [1, 4]]
    halves = R.SparseSplit(split_dim=1, **x, num_split=2)
    assert _lists(halves.output_values) == [[1.5, 2.5], []]
    joined = R.SparseConcat(
        indices=[[[0, 1]], [[1, 0]]], values=[[1.0], [2.0]], shapes=[[2, 2]] * 2, concat_dim=1
    )
    assert _lists(joined) == [[[0, 1], [1, 2]], [1, 2], [2, 4]]
    moved = R.SparseReshape(input_indices=[[0, 1], [1, 0]], input_shape=[2, 2], new_shape=[4, -1])
    assert _lists(moved) == [[[1, 0], [2, 0]], [4, 1]]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("a-b", [1]), ("b-a", [3]), ("intersection", [2]), ("union", [1, 2, 3])],
)
def test_sets(operation: str, expected: list[int]) -> None:
    dense = R.DenseToDenseSetOperation(set1=[[1, 2]], set2=[[2, 3]], set_operation=operation)
    second = {"set2_indices": [[0, 0], [0, 1]], "set2_values": [2, 3], "set2_shape": [1, 2]}
    mixed = R.DenseToSparseSetOperation(set1=[[1, 2]], **second, set_operation=operation)
    assert dense.output_values.numpy().tolist() == expected
    assert mixed.output_values.numpy().tolist() == expected
    with pytest.raises(ValueError, match="set_operation must be one of"):
        R.DenseToDenseSetOperation(set1=[[1]], set2=[[2]], set_operation="xor")


def test_variables_by_their_handles() -> None:
    v = tf.Variable([1.0, 2.0])
    R.AssignVariableOp(resource=v.handle, value=tf.constant([3.0, 4.0]))
    R.AssignSubVariableOp(resource=v.handle, value=tf.constant([1.0, 1.0]))
    assert R.ReadVariableOp(resource=v.handle, dtype=tf.float32).numpy().tolist() == [2.0, 3.0]


def test_parts_of_variables_by_their_handles() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])
    R.ResourceScatterAdd(resource=v, indices=[0, 0], updates=[1.0, 2.0])
    R.ResourceScatterNdUpdate(ref=v, indices=[[2]], updates=[9.0])
    assert v.numpy().tolist() == [4, 2, 9]
    assert R.ResourceGather(resource=v, indices=[1], dtype=tf.float32).numpy().tolist() == [2]
    assert R.VariableShape(input=v).numpy().tolist() == [3]


def test_rows_of_the_table_name_public_functions() -> None:
    for name in dir(R):
        assert list(inspect.signature(getattr(R, name)).parameters)[-1:] == ["name"], name
