"""Wrong calls that only contents show: one class of exception eagerly and in functions.

The class is that of TensorFlow 2.21 for the same call, eagerly and in a function, tried for each of
these. Of `truncatediv` TensorFlow says InternalError ("Unexpected error in binary operator"), which
is a slip there.
"""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError, NotFoundError

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DIVISIONS = {
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "tf.floordiv": tf.math.floordiv,
    "tf.floormod": tf.math.floormod,
    "truncatediv": tf.truncatediv,
    "truncatemod": tf.truncatemod,
    "reflected": lambda x, y: 7 // y,
    "scalars": lambda x, y: x[0] // y[1],
    "in a loop": lambda x, y: tf.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s // y), [0, x], [tf.TensorShape(None)] * 2
    )[1],
    "in a branch": lambda x, y: tf.cond(x[0] > 0, lambda: x // y, lambda: x),
    "for each": lambda x, y: tf.map_fn(lambda e: e[0] // e[1], (x, y), x.dtype),
}


def classes(function, arguments, wanted):
    """Call eagerly, traced with known shapes, and with unknown sizes; each time it must fail."""
    tensors = [tf.constant(a) for a in arguments]
    unknown = [tf.TensorSpec([None] * len(t.shape), t.dtype) for t in tensors]
    errors = []
    for call in (
        function,
        tf.function(function),
        tf.function(function, input_signature=unknown),
    ):
        with pytest.raises(wanted) as caught:
            call(*tensors)
        errors.append(caught.value)
    return errors


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", DIVISIONS)
def test_integer_division_by_zero(name, dtype):
    arguments = np.array([4, 6], dtype), np.array([2, 0], dtype)
    for error in classes(DIVISIONS[name], arguments, InvalidArgumentError):
        assert "Integer division by zero" in str(error)


def test_division_of_integers_that_gives_floats_is_infinite():
    found = tf.function(lambda x, y: x / y)(tf.constant([1, 0]), tf.constant([0, 0]))
    np.testing.assert_array_equal(found, [np.inf, np.nan])


F = np.ones(3, np.float32)
M = np.ones([2, 3], np.float32)
CASES = {
    "gather": (tf.gather, F, [5]),
    "gather_nd": (tf.gather_nd, F, [[5]]),
    "index": (lambda x, i: x[i], F, 5),
    "index from the end": (lambda x, i: x[i], F, -5),
    "slice": (lambda x, i: tf.slice(x, i, [2]), F, [2]),
    "slice before": (lambda x, i: tf.slice(x, i, [2]), F, [-2]),
    "slice of all from beyond": (lambda x, i: tf.slice(x, i, [-1]), F, [4]),
    "stride": (lambda x, i: x[::i], F, 0),
    "reshape": (tf.reshape, F, [2, 2]),
    "reshape twice unknown": (tf.reshape, F, [-1, -1]),
    "reshape rest": (tf.reshape, F, [-1, 2]),
    "add": (lambda x, y: x + y, F, np.ones(4, np.float32)),
    "matmul": (tf.matmul, M, M),
    "concat": (lambda x, y: tf.concat([x, y], 0), M, np.ones([2, 4], np.float32)),
    "stack": (lambda x, y: tf.stack([x, y]), M, np.ones([2, 4], np.float32)),
    "split": (lambda x, n: tf.split(x, n, num=2), np.ones(4, np.float32), [1, 2]),
    "transpose": (tf.transpose, M, [0, 0]),
    "tile": (tf.tile, M, [2]),
    "tile negative": (tf.tile, F, [-2]),
    "broadcast_to": (tf.broadcast_to, F, [2, 4]),
    "fill": (tf.fill, [-1], 1.0),
    "zeros": (lambda s, _: tf.zeros(s), [-1], 0),
    "range without steps": (lambda a, d: tf.range(a, 5, d), 0, 0),
    "range away": (lambda a, d: tf.range(a, 5, d), 0, -1),
    "range to a negative limit": (lambda n, _: tf.range(n), -1, 0),
    "range upwards": (lambda a, _: tf.range(a, 5, -1), 0, 0),
    "one_hot": (tf.one_hot, [1], -3),
    "pad": (tf.pad, F, [[-1, 0]]),
    "pad mirrored": (lambda x, p: tf.pad(x, p, "REFLECT"), F, [[5, 0]]),
    "expand_dims": (tf.expand_dims, F, 5),
    "argmax": (tf.argmax, F, 5),
    "top_k": (tf.math.top_k, F, 5),
    "segment_sum": (tf.math.segment_sum, F, [2, 1, 0]),
    "segment_sum negative": (tf.math.segment_sum, F, [-1, 1, 2]),
    "segment_max": (tf.math.segment_max, F, [0, 2, 1]),
    "segment_mean of too few": (tf.math.segment_mean, F, [0, 1]),
    "unsorted_segment_sum": (lambda x, i: tf.math.unsorted_segment_sum(x, i, 2), F, [0, 1, 5]),
    "scatter_nd": (lambda i, u: tf.scatter_nd(i, u, [3]), [[5]], [1.0]),
    "scatter_update": (
        lambda i, u: tf.tensor_scatter_nd_update(tf.zeros([3]), i, u),
        [[5]],
        [1.0],
    ),
    "check_numerics": (lambda x, _: tf.debugging.check_numerics(x, "m"), [np.nan], 0),
    "ensure_shape": (lambda x, _: tf.ensure_shape(x, [2]), F, 0),
    "decode_raw": (lambda x, _: tf.io.decode_raw(x, tf.int32), "abc", 0),
    "to_number": (lambda x, _: tf.strings.to_number(x), "abc", 0),
    "decode_png": (lambda x, _: tf.io.decode_png(x), "abc", 0),
    "decode_base64": (lambda x, _: tf.io.decode_base64(x), "a*b", 0),
    "substr": (lambda x, p: tf.strings.substr(x, p, 1), "a", 5),
    "parse_tensor": (lambda x, _: tf.io.parse_tensor(x, tf.float32), "zz", 0),
    "bincount": (lambda x, _: tf.math.bincount(x), [-1], 0),
    "dynamic_partition": (lambda x, p: tf.dynamic_partition(x, p, 2), F, [0, 1, 5]),
    "dynamic_partition negative": (lambda x, p: tf.dynamic_partition(x, p, 2), F, [0, 1, -1]),
    "reverse": (tf.reverse, F, [3]),
    "roll": (lambda x, a: tf.roll(x, 1, a), F, 3),
    "embedding_lookup": (tf.nn.embedding_lookup, np.ones([3, 2], np.float32), [7]),
    "invert_permutation": (lambda x, _: tf.math.invert_permutation(x), [0, 0], 0),
    "invert_permutation beyond": (lambda x, _: tf.math.invert_permutation(x), [0, 2], 0),
    "unravel_index": (tf.unravel_index, [50], [2, 3]),
    "unravel_index negative": (tf.unravel_index, [-1], [2, 3]),
    "cumsum": (tf.cumsum, F, 4),
    "eye": (lambda n, _: tf.eye(n), -2, 0),
    "random.uniform": (lambda s, _: tf.random.uniform(s), [-2], 0),
    "pow": (lambda x, y: x**y, [2, 3], [1, -1]),
    "pow of ones": (lambda x, y: tf.pow(x, y), [1, -1], -1),
    "sequence_mask": (tf.sequence_mask, [1, 2], -3),
    "left_shift": (tf.bitwise.left_shift, [1, 2], [1, 2, 3]),
    "confusion_matrix": (lambda a, b: tf.math.confusion_matrix(a, b, 2), [1, 5], [0, 1]),
    "searchsorted": (tf.searchsorted, M, np.ones([3, 2], np.float32)),
}


@pytest.mark.parametrize("name", CASES)
def test_classes_agree(name):
    function, *arguments = CASES[name]
    for error in classes(function, arguments, InvalidArgumentError):
        assert str(error)


def test_files_that_are_not_there():
    classes(lambda x: tf.io.read_file(x), ["/nowhere/at/all"], NotFoundError)


@pytest.mark.parametrize(
    "name, text",
    [
        ("slice", "Expected begin and begin + size inside of the tensor"),
        ("segment_sum", "segment ids are not increasing from 0 on in SegmentSum"),
        ("one_hot", "depth must be non-negative in OneHot"),
        ("pad", "Paddings must be non-negative in Pad"),
        ("pow", "Integers to negative integer powers are not allowed in Pow"),
        ("invert_permutation", "is duplicated in the input in InvertPermutation"),
        ("range away", "Requires start <= limit when delta > 0"),
    ],
)
def test_messages_of_checks_in_a_graph(name, text):
    function, *arguments = CASES[name]
    _, traced, unknown = classes(function, arguments, InvalidArgumentError)
    for error in (traced, unknown):
        assert text in str(error)
        assert "test_runtime_errors.py" in str(error)


def test_what_is_right_passes_the_checks():
    def f(x, i, n):
        return (
            tf.slice(x, i, [2]),
            tf.range(n),
            tf.range(n, 0, -1),
            tf.one_hot(i, n),
            tf.pad(x, [[n, 0]]),
            tf.math.segment_sum(x, tf.stack([0, n - n, n])),
            tf.math.bincount(tf.stack([n, 0])),
            tf.dynamic_partition(x, tf.stack([1, n - n, 1]), 2)[0],
            tf.math.invert_permutation(tf.stack([n, n - n, 1])),
            tf.unravel_index(n, [2, 3]),
            tf.eye(n),
            n**n,
            tf.sequence_mask([1, 2], n),
        )

    arguments = tf.constant([1.0, 2.0, 3.0]), tf.constant([1]), tf.constant(2)
    unknown = [tf.TensorSpec([None] * t.shape.rank, t.dtype) for t in arguments]
    eager = f(*arguments)
    for traced in (tf.function(f), tf.function(f, input_signature=unknown)):
        for expected, found in zip(eager, traced(*arguments), strict=True):
            assert found.dtype is expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_sizes_from_shapes_need_no_check():
    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def f(x):
        n = tf.shape(x)[0]
        return tf.range(n), tf.one_hot([1], n), tf.eye(n)

    types = [op.type for op in f.get_concrete_function().graph.get_operations()]
    assert "Gather" not in types[types.index("Range") :]


def test_a_loop_over_a_range_that_leads_away_has_no_steps():
    @tf.function
    def f(n):
        count = 0
        for _ in tf.range(n):
            count += 1
        return count

    assert int(f(tf.constant(-3))) == 0
    assert int(f(tf.constant(3))) == 3


def test_gradients_pass_the_checks():
    @tf.function
    def f(x, i):
        return tf.reduce_sum(tf.slice(x, i, [2]) ** 2.0) + tf.reduce_sum(
            tf.math.segment_sum(x, tf.stack([0, 0, i[0]])) * [1.0, 3.0]
        )

    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant([1]))
    np.testing.assert_allclose(tape.gradient(y, x), [1.0, 5.0, 9.0])
