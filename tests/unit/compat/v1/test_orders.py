"""Functions whose arguments TensorFlow 1 has in another order, against NumPy."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import tfx as tf
from tfx.compat.v1.ops import argument_orders as orders

v1 = tf.compat.v1
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
IMAGE = np.random.default_rng(0).random((1, 4, 4, 2)).astype(np.float32)
FILTER = np.random.default_rng(1).random((2, 2, 2, 3)).astype(np.float32)


def _same(found, expected):
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


CASES = {
    "dilation2d": (
        lambda: v1.nn.dilation2d(IMAGE, IMAGE[0, :2, :2], [1] * 4, [1, 2, 2, 1], "SAME"),
        tf.nn.dilation2d(IMAGE, IMAGE[0, :2, :2], [1] * 4, "SAME", "NHWC", [1, 2, 2, 1]),
    ),
    "erosion2d": (
        lambda: v1.nn.erosion2d(IMAGE, IMAGE[0, :2, :2], [1] * 4, [1, 2, 2, 1], "SAME"),
        tf.nn.erosion2d(IMAGE, IMAGE[0, :2, :2], [1] * 4, "SAME", "NHWC", [1, 2, 2, 1]),
    ),
    "string_to_hash_bucket": (
        lambda: v1.string_to_hash_bucket(string_tensor=["a", "b"], num_buckets=7),
        [4, 5],
    ),
    "stateless_multinomial": (
        lambda: v1.random.stateless_multinomial([[0.0]], 2, [1, 2], tf.int32),
        [[0, 0]],
    ),
    "linalg.norm": (lambda: v1.linalg.norm(X, 1, -1, keep_dims=True), X.sum(-1, keepdims=True)),
    "linalg.transpose": (lambda: v1.linalg.transpose(X), X.swapaxes(1, 2)),
    "in_top_k": (
        lambda: v1.nn.in_top_k([[0.1, 0.9], [0.8, 0.2]], [1, 1], 1, "name"),
        [True, False],
    ),
    "math.in_top_k": (lambda: v1.math.in_top_k([[0.1, 0.9]], [0], 1), [False]),
    "pad": (lambda: v1.pad([1, 2], [[0, 1]], "CONSTANT", "name", 7), [1, 2, 7]),
    "transpose": (lambda: v1.transpose(X, [2, 0, 1], "name"), X.transpose(2, 0, 1)),
    "shape": (lambda: v1.shape(X, "name", tf.int64), [2, 3, 4]),
    "size": (lambda: v1.size(X, "name"), 24),
    "gather": (lambda: v1.gather(X, [1, 0], None, "name", 1), X[:, [1, 0]]),
    "gather_nd": (lambda: v1.gather_nd(X, [[1], [2]], "name", 1), X[[0, 1], [1, 2]]),
    "boolean_mask": (lambda: v1.boolean_mask(X, [True, False, True], "n", 1), X[:, ::2]),
    "zeros_like": (lambda: v1.zeros_like(tensor=X, optimize=False), X * 0),
    "ones_like": (lambda: v1.ones_like(X, tf.int32, "name", True), np.ones([2, 3, 4])),
    "confusion_matrix": (
        lambda: v1.confusion_matrix([0, 1], [1, 1], 2, tf.float32, "name", [0.5, 2.0]),
        [[0, 0.5], [0, 2]],
    ),
    "convert_to_tensor": (
        lambda: v1.convert_to_tensor([1, 2], None, "name", tf.float32),
        [1.0, 2.0],
    ),
    "count_nonzero": (
        lambda: v1.count_nonzero(X, keep_dims=True, reduction_indices=[1, 2]),
        [[[11]], [[12]]],
    ),
    "norm": (lambda: v1.norm(X, axis=2, keep_dims=True), np.sqrt((X * X).sum(2, keepdims=True))),
    "reverse_sequence": (
        lambda: v1.reverse_sequence([[1, 2, 3]], [2], seq_dim=1, batch_dim=0),
        [[2, 1, 3]],
    ),
    "space_to_batch": (
        lambda: v1.space_to_batch(IMAGE, [[0, 0], [0, 0]], 2),
        tf.space_to_batch(IMAGE, [2, 2], [[0, 0], [0, 0]]),
    ),
    "batch_to_space": (
        lambda: v1.batch_to_space(tf.tile(IMAGE, [4, 1, 1, 1]), [[0, 0], [0, 0]], 2),
        tf.batch_to_space(tf.tile(IMAGE, [4, 1, 1, 1]), [2, 2], [[0, 0], [0, 0]]),
    ),
    "depth_to_space": (
        lambda: v1.depth_to_space(tf.tile(IMAGE, [1, 1, 1, 2]), 2, "name"),
        tf.nn.depth_to_space(tf.tile(IMAGE, [1, 1, 1, 2]), 2),
    ),
    "convolution": (
        lambda: v1.nn.convolution(IMAGE, FILTER, "VALID", [1, 1], [2, 2]),
        tf.nn.convolution(IMAGE, FILTER, padding="VALID", dilations=[2, 2]),
    ),
    "conv2d_transpose": (
        lambda: v1.nn.conv2d_transpose(
            IMAGE, FILTER.swapaxes(2, 3), [1, 8, 8, 3], [1, 2, 2, 1], "SAME", "NHWC", "name"
        ),
        tf.nn.conv2d_transpose(IMAGE, FILTER.swapaxes(2, 3), [1, 8, 8, 3], 2),
    ),
    "depthwise_conv2d": (
        lambda: v1.nn.depthwise_conv2d(IMAGE, FILTER, [1, 1, 1, 1], "VALID", [2, 2], "name"),
        tf.nn.depthwise_conv2d(IMAGE, FILTER, [1, 1, 1, 1], "VALID", dilations=[2, 2]),
    ),
    "conv1d": (
        lambda: v1.nn.conv1d(IMAGE[0], FILTER[0], 1, "SAME", True, "NWC"),
        tf.nn.conv1d(IMAGE[0], FILTER[0], 1, "SAME"),
    ),
    "pool": (
        lambda: v1.nn.pool(IMAGE, [2, 2], "MAX", "VALID", None, [2, 2]),
        tf.nn.max_pool2d(IMAGE, 2, 2, "VALID"),
    ),
    "avg_pool2d": (
        lambda: v1.nn.avg_pool2d(value=IMAGE, ksize=2, strides=2, padding="VALID"),
        tf.nn.avg_pool2d(IMAGE, 2, 2, "VALID"),
    ),
    "weighted_moments": (
        lambda: v1.nn.weighted_moments(X, [0], np.ones_like(X), "name", True),
        (X.mean(0, keepdims=True), X.var(0, keepdims=True)),
    ),
    "crelu": (lambda: v1.nn.crelu([[1.0, -2.0]], "name", 0), [[1, 0], [0, 2]]),
    "embedding_lookup": (lambda: v1.nn.embedding_lookup(X[0], [1], "div", "name"), X[0][[1]]),
    "strings.length": (lambda: v1.strings.length(["ä"], "name", "UTF8_CHAR"), [1]),
    "substr": (lambda: v1.substr(["abc"], 1, 2, "name"), [b"bc"]),
    "reduce_join": (lambda: v1.reduce_join([["a", "b"]], 1, False, "-"), [b"a-b"]),
    "string_to_number": (lambda: v1.string_to_number(string_tensor=["1.5"]), [1.5]),
    "crop_and_resize": (
        lambda: v1.image.crop_and_resize(IMAGE, [[0, 0, 1, 1]], box_ind=[0], crop_size=[2, 2]),
        IMAGE[:, ::3, ::3],
    ),
    "extract_image_patches": (
        lambda: v1.extract_image_patches(
            IMAGE, ksizes=[1, 2, 2, 1], strides=[1, 2, 2, 1], rates=[1, 1, 1, 1], padding="VALID"
        ),
        tf.image.extract_patches(IMAGE, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_arguments_go_where_they_belong(name):
    found, expected = CASES[name]
    if "strings" in name or name in ("substr", "reduce_join"):
        assert found().numpy().tolist() == expected
    else:
        _same(found(), expected)


def test_random_poisson():
    found = v1.random_poisson([1.0, 1000.0], [500], tf.float32, 3)
    assert found.shape == v1.random.poisson([1.0, 1000.0], [500]).shape == [500, 2]
    np.testing.assert_allclose(found.numpy().mean(0), [1, 1000], rtol=0.2)


def test_gradients():
    with v1.Graph().as_default(), v1.Session() as session:
        x = tf.constant([1.0, 2.0])
        (slope,) = v1.gradients(x * x, [x], None, "name", True, False)
        method = v1.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N
        _same(session.run(v1.gradients(x, x, aggregation_method=method)[0]), [1.0, 1.0])
        (curve,) = v1.hessians(tf.reduce_sum(x * x * x), x, "name", False)
        _same(session.run((slope, curve)), ([2.0, 4.0], np.diag([6.0, 12.0])))


@pytest.mark.parametrize("place", [v1, v1.debugging])
def test_checks_take_data(place):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None])
        check = place.assert_equal(x, [1.0], [x], 3, "as it should be")
        near = place.assert_near(x, [1.0], 0.1, 0.1, data=[x])
        rank = place.assert_rank(x, 1, [x])
        session.run([check, near, rank], {x: [1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="as it should be"):
            session.run(check, {x: [2.0]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        v1.verify_tensor_all_finite([np.inf], "not finite")


def test_operations_have_the_names_that_are_given():
    with v1.Graph().as_default():
        x = tf.constant(X)
        made = [v1.transpose(x), v1.transpose(x, [0, 2, 1], "mine"), v1.gather(x, [0], name="g")]
        made.append(v1.nn.in_top_k(x[0], [0, 0, 0], 1))
    assert [t.op.name for t in made] == ["transpose", "mine", "g", "InTopK"]


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_tables_in_pieces_deal_rows_out_in_turn_or_stay_together(strategy):
    table = np.arange(14, dtype=np.float32).reshape(7, 2)
    pieces = [table[i::3] for i in range(3)] if strategy == "mod" else np.split(table, [3, 5])
    variables = [tf.Variable(x) for x in pieces]
    with tf.GradientTape() as tape:
        found = v1.nn.embedding_lookup(variables, [[0, 6], [4, 2]], strategy)
        total = tf.reduce_sum(found * found)
    _same(found, table[[[0, 6], [4, 2]]])
    slopes = [tf.convert_to_tensor(g).numpy() for g in tape.gradient(total, variables)]
    wanted = 2 * table * np.isin(np.arange(7), [0, 2, 4, 6])[:, None]
    order = np.argsort([i % 3 for i in range(7)], kind="stable") if strategy == "mod" else ...
    _same(np.concatenate(slopes), wanted[order])
    ids = tf.sparse.from_dense([[1, 6], [0, 5]])
    _same(
        v1.nn.embedding_lookup_sparse(variables, ids, None, strategy, "name", "sum"),
        np.stack([table[1] + table[6], table[5]]),
    )


def test_the_usual_way_of_pieces_is_that_of_tensorflow():
    pieces = [tf.constant([[0.0], [2.0]]), tf.constant([[1.0], [3.0]])]
    _same(v1.nn.embedding_lookup(pieces, [1, 2]), [[1.0], [2.0]])
    ids = tf.sparse.from_dense([[1], [2]])
    _same(v1.nn.safe_embedding_lookup_sparse(pieces, ids), [[2.0], [1.0]])
    with pytest.raises(ValueError, match="must be 'mod' or 'div'; got 'x'"):
        v1.nn.embedding_lookup(pieces, [1], "x")


def test_letters_that_repeat_become_one_if_asked():
    frames = [1, 3, 1, 0, 3, 2, 3, 2, 0, 0, 3, 0]
    logits = np.full((12, 1, 4), -5, np.float32)
    logits[np.arange(12), 0, frames] = 3
    kept, _ = v1.nn.ctc_beam_search_decoder(logits, [12], 20, 1, merge_repeated=False)
    merged, _ = v1.nn.ctc_beam_search_decoder(logits, [12], 20, 1)
    _same(kept[0].values, [1, 1, 0, 2, 2, 0, 0])
    _same(merged[0].values, [1, 0, 2, 0])
    _same(merged[0].indices, [[0, 0], [0, 1], [0, 2], [0, 3]])
    _same(merged[0].dense_shape, [1, 4])


def test_what_is_wrong_is_said():
    with pytest.raises(TypeError, match=r"transpose\(\) takes at most 4 arguments"):
        v1.transpose(X, None, "name", False, 1)
    with pytest.raises(TypeError, match="multiple values for argument 'a'"):
        v1.transpose(X, a=X)
    with pytest.raises(ValueError, match="takes one of keepdims and keep_dims; got both"):
        v1.norm(X, keepdims=True, keep_dims=False)
    with pytest.raises(TypeError, match="permutation"):
        v1.transpose(X, permutation=[0])


@pytest.mark.parametrize("name", orders.NAMES)
def test_each_says_its_arguments_and_is_pickled(name):
    function = getattr(orders, name)
    assert pickle.loads(pickle.dumps(function)) is function
    words = orders._PLACES[name][1].rpartition(":")[2].split()
    assert list(inspect.signature(function).parameters) == [
        w.lstrip("-").partition("=")[0] for w in words
    ]
    # Everything that it passes on is an argument of TensorFlow 2's function.
    passed = {w.rpartition("=")[2] for w in words if not w.startswith("-")}
    assert passed <= set(inspect.signature(inspect.unwrap(function)).parameters)


def test_defaults_are_said():
    shown = inspect.signature(v1.transpose).parameters
    assert [p.default for p in shown.values()] == [
        inspect.Parameter.empty,
        None,
        "transpose",
        False,
    ]
    assert inspect.signature(v1.gradients).parameters["name"].default == "gradients"


def test_quantize_v2_has_the_name_before_how_it_rounds():
    found = v1.quantize_v2([1.0, 2.0], 0.0, 3.0, tf.quint8, "MIN_FIRST", "name")
    _same(found[0], [85, 170])
