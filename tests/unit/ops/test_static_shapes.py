"""What is known of the shapes of array operations, and of their gradients, while tracing."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.autodiff.tape import GradientTape
from tfx.core import dtypes
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph
from tfx.ops.array.concat import concat, split, stack, unstack
from tfx.ops.array.creation import eye, fill, ones, zeros_like
from tfx.ops.array.gather import gather, gather_nd
from tfx.ops.array.one_hot import one_hot
from tfx.ops.array.pad import pad
from tfx.ops.array.ranges import linspace, range
from tfx.ops.array.reshape import broadcast_to, expand_dims, reshape, squeeze
from tfx.ops.array.shape import shape
from tfx.ops.array.sort import argsort, searchsorted, sort, top_k
from tfx.ops.array.space_to_batch import space_to_depth
from tfx.ops.array.tile import meshgrid, repeat, sequence_mask, tile
from tfx.ops.array.transpose import reverse, roll, transpose
from tfx.ops.array.where import boolean_mask, where

# x: [batch, time, 8], i: int64 [batch, 3], m: bool [batch]
RESULTS = {
    "getitem": (lambda x, i, m: x[:, 0, None], ("batch", 1, 8)),
    "getitem_step": (lambda x, i, m: x[:, :, ::-2], ("batch", "time", 4)),
    "getitem_turned": (lambda x, i, m: x[::-1], ("batch", "time", 8)),
    "getitem_cut": (lambda x, i, m: x[:, 1:], ("batch", None, 8)),
    "gather": (lambda x, i, m: gather(x, i, batch_dims=1, axis=2), ("batch", "time", 3)),
    "gather_nd": (lambda x, i, m: gather_nd(x, i[:, :2]), ("batch", 8)),
    "boolean_mask": (lambda x, i, m: boolean_mask(x, m), (None, "time", 8)),
    "where": (lambda x, i, m: where(m), (None, 1)),
    "sort": (lambda x, i, m: sort(x, 1), ("batch", "time", 8)),
    "argsort": (lambda x, i, m: argsort(x, 1), ("batch", "time", 8)),
    "top_k": (lambda x, i, m: top_k(x, 3).indices, ("batch", "time", 3)),
    "searchsorted": (lambda x, i, m: searchsorted(x, x), ("batch", "time", 8)),
    "tile": (lambda x, i, m: tile(x, [1, 1, 3]), ("batch", "time", 24)),
    "repeat": (lambda x, i, m: repeat(x, 2, 2), ("batch", "time", 16)),
    "pad": (lambda x, i, m: pad(x, [[0, 0], [0, 0], [1, 2]]), ("batch", "time", 11)),
    "concat": (lambda x, i, m: concat([x, x], 2), ("batch", "time", 16)),
    "stack": (lambda x, i, m: stack([x, x, x], 1), ("batch", 3, "time", 8)),
    "split": (lambda x, i, m: split(x, 2, 2)[0], ("batch", "time", 4)),
    "unstack": (lambda x, i, m: unstack(x, axis=2)[0], ("batch", "time")),
    "transpose": (lambda x, i, m: transpose(x, [0, 2, 1]), ("batch", 8, "time")),
    "reverse": (lambda x, i, m: reverse(x, [1]), ("batch", "time", 8)),
    "roll": (lambda x, i, m: roll(x, 1, 1), ("batch", "time", 8)),
    "reshape": (lambda x, i, m: reshape(x, [-1, shape(x)[1], 2, 4]), ("batch", "time", 2, 4)),
    "expand_dims": (lambda x, i, m: expand_dims(x, 1), ("batch", 1, "time", 8)),
    "squeeze": (lambda x, i, m: squeeze(x[:, :, :1], -1), ("batch", "time")),
    "broadcast_to": (lambda x, i, m: broadcast_to(x[:, :, 0, None], shape(x)),
                     ("batch", "time", 8)),
    "ones": (lambda x, i, m: ones([shape(x)[0], 4]), ("batch", 4)),
    "zeros_like": (lambda x, i, m: zeros_like(x), ("batch", "time", 8)),
    "fill": (lambda x, i, m: fill([2, shape(x)[1]], 1), (2, "time")),
    "eye": (lambda x, i, m: eye(shape(x)[1]), ("time", "time")),
    "range": (lambda x, i, m: range(shape(x)[0]), ("batch",)),
    "linspace": (lambda x, i, m: linspace(0.0, 1.0, shape(x)[0]), ("batch",)),
    "meshgrid": (lambda x, i, m: meshgrid(i[:, 0], [1, 2])[0], (2, "batch")),
    "one_hot": (lambda x, i, m: one_hot(i, 5), ("batch", 3, 5)),
    "sequence_mask": (lambda x, i, m: sequence_mask(i[:, 0], shape(x)[1]), ("batch", "time")),
    "space_to_depth": (lambda x, i, m: space_to_depth(reshape(x, [-1, 4, 2, shape(x)[1]]), 2),
                       ("batch", 2, 1, None)),
}  # fmt: skip


# Those with floating results that depend on the size of x alone.
WITHOUT_GRADIENT = {"linspace", "one_hot", "zeros_like"}


def _arguments():
    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", dtypes.float32.onnx, ("batch", "time", 8))
        i = graph.add_argument("i", dtypes.int64.onnx, ("batch", 3))
        m = graph.add_argument("m", dtypes.bool.onnx, ("batch",))
    return graph, x, i, m


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    f, expected = RESULTS[name]
    graph, *args = _arguments()
    with using(graph=graph):
        assert f(*args).shape.symbolic == expected


@pytest.mark.parametrize("name", [n for n in RESULTS if n not in ("eye", "fill", "ones", "where")])
def test_gradients(name):
    """Whatever a rule does, the gradient has the shape of what it belongs to."""
    graph, x, i, m = _arguments()
    with using(graph=graph):
        with GradientTape() as tape:
            tape.watch(x)
            y = RESULTS[name][0](x, i, m)
        if y.dtype.is_floating:
            dx = tape.gradient(y, x)
            if name in WITHOUT_GRADIENT:
                assert dx is None
            else:
                assert dx.shape.symbolic == ("batch", "time", 8)


_UNKNOWN = tf.TensorSpec(None, tf.float32)
_OPEN = tf.TensorSpec([None, None], tf.float32)
# Of one argument of which less is known than of what it meets.
MEETINGS = {
    "add_n": (lambda x: tf.add_n([x, tf.ones([2, 3]), x]), _UNKNOWN, [2, 3]),
    "stack": (lambda x: tf.stack([x, tf.ones([2, 3])], 1), _UNKNOWN, [2, 2, 3]),
    "fill": (lambda x: tf.fill([2, 3], x), _UNKNOWN, [2, 3]),
    "broadcast_to": (lambda x: tf.broadcast_to(x, [2, 3]), _UNKNOWN, [2, 3]),
    "split": (lambda x: tf.split(x, [2, -1])[0], _OPEN, [2, None]),
    "bias_add": (lambda x: tf.nn.bias_add(x, tf.ones([3])), _OPEN, [None, 3]),
    "unique": (lambda x: tf.unique(x)[0], _UNKNOWN, [None]),
    "unique_idx": (lambda x: tf.unique(x)[1], tf.TensorSpec([4], tf.float32), [4]),
    "in_top_k": (lambda x: tf.math.in_top_k([1, 0], x, 1), _UNKNOWN, [2]),
    "cross_entropy": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([1, 0], x),
        tf.TensorSpec([None, 3], tf.float32),
        [2],
    ),
    "grayscale": (
        lambda x: tf.image.grayscale_to_rgb(x),
        tf.TensorSpec([None] * 3, tf.float32),
        [None, None, 3],
    ),
    "conv_transpose": (
        lambda x: tf.nn.conv2d_transpose(x, tf.ones([2, 2, 3, 1]), [1, 4, 4, 3], 2),
        _UNKNOWN,
        [None, 4, 4, 3],
    ),
}


@pytest.mark.parametrize("name", MEETINGS)
def test_what_one_operand_tells(name):
    f, spec, expected = MEETINGS[name]
    concrete = tf.function(f, autograph=False).get_concrete_function(spec)
    assert concrete.structured_outputs.shape.as_list() == expected
