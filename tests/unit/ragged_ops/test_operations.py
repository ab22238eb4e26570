"""Operations on ragged tensors give what TensorFlow 2.21 gives, eagerly and in functions.

The values are TensorFlow's. In the functions nothing is known of the sizes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tfx as tf

ragged = tf.ragged.constant
NAN = math.nan
SPEC = tf.RaggedTensorSpec([None], tf.int32)

NAMES: dict[str, Any] = {
    "a": ragged([[1, 2, 3], [], [4]]),
    "b": ragged([[[1, 2], [3]], [], [[4, 5, 6], [], [7]]]),
    "f": ragged([[1.0, 2.0, 3.0], [], [4.0]]),
    "w": ragged([["a b", "c"], [], ["d e f"]]),
    "e": ragged([], ragged_rank=1, dtype=tf.int32),
    "i": tf.constant([2, 0]),
    "d": tf.constant([[10], [20], [30]]),
    "m": tf.constant([[1, 0, 0], [2, 3, 0]]),
    "v": tf.constant([10, 20, 30, 40, 50]),
}

# Expression -> contents, and the static shape of ragged results.
CASES: dict[str, tuple[Any, list[int | None] | None]] = {
    "a+a": ([[2, 4, 6], [], [8]], [3, None]),
    "a*2": ([[2, 4, 6], [], [8]], [3, None]),
    "2-a": ([[1, 0, -1], [], [-2]], [3, None]),
    "a+d": ([[11, 12, 13], [], [34]], [3, None]),
    "a==a": ([[True, True, True], [], [True]], [3, None]),
    "a!=2": ([[True, False, True], [], [True]], [3, None]),
    "-a": ([[-1, -2, -3], [], [-4]], [3, None]),
    "abs(a)": ([[1, 2, 3], [], [4]], [3, None]),
    "a//2": ([[0, 1, 1], [], [2]], [3, None]),
    "a%2": ([[1, 0, 1], [], [0]], [3, None]),
    "a>1": ([[False, True, True], [], [True]], [3, None]),
    "a[0]": ([1, 2, 3], None),
    "a[-1]": ([4], None),
    "a[1:]": ([[], [4]], [2, None]),
    "a[::-1]": ([[4], [], [1, 2, 3]], [3, None]),
    "a[:, :2]": ([[1, 2], [], [4]], [3, None]),
    "a[:, -2:]": ([[2, 3], [], [4]], [3, None]),
    "a[:, ::-1]": ([[3, 2, 1], [], [4]], [3, None]),
    "a[:, 1:]": ([[2, 3], [], []], [3, None]),
    "a[tf.newaxis]": ([[[1, 2, 3], [], [4]]], [1, 3, None]),
    "a[:, tf.newaxis]": ([[[1, 2, 3]], [[]], [[4]]], [3, 1, None]),
    "a[..., tf.newaxis]": ([[[1], [2], [3]], [], [[4]]], [3, None, 1]),
    "a[0, 1]": (2, None),
    "b[0]": ([[1, 2], [3]], [2, None]),
    "b[0, 1]": ([3], None),
    "b[2, 0, 1:]": ([5, 6], None),
    "b[:, :1]": ([[[1, 2]], [], [[4, 5, 6]]], [3, None, None]),
    "b[:, :, :1]": ([[[1], [3]], [], [[4], [], [7]]], [3, None, None]),
    "b[:, :, ::-1]": ([[[2, 1], [3]], [], [[6, 5, 4], [], [7]]], [3, None, None]),
    "b[1:, 1:]": ([[], [[], [7]]], [2, None, None]),
    "b[-1]": ([[4, 5, 6], [], [7]], [3, None]),
    "a[i[1]]": ([1, 2, 3], None),
    "tf.concat([a, a], 0)": ([[1, 2, 3], [], [4], [1, 2, 3], [], [4]], [6, None]),
    "tf.concat([a, a], 1)": ([[1, 2, 3, 1, 2, 3], [], [4, 4]], [3, None]),
    "tf.concat([a, d], 1)": ([[1, 2, 3, 10], [20], [4, 30]], [3, None]),
    "tf.concat([b, b], 2)": (
        [[[1, 2, 1, 2], [3, 3]], [], [[4, 5, 6, 4, 5, 6], [], [7, 7]]],
        [3, None, None],
    ),
    "tf.concat([b, b], 1)": (
        [[[1, 2], [3], [1, 2], [3]], [], [[4, 5, 6], [], [7], [4, 5, 6], [], [7]]],
        [3, None, None],
    ),
    "tf.concat([a, e], 0)": ([[1, 2, 3], [], [4]], [3, None]),
    "tf.stack([a, a])": ([[[1, 2, 3], [], [4]], [[1, 2, 3], [], [4]]], [2, None, None]),
    "tf.stack([a, a], 1)": ([[[1, 2, 3], [1, 2, 3]], [[], []], [[4], [4]]], [3, None, None]),
    "tf.stack([a, a], 2)": ([[[1, 1], [2, 2], [3, 3]], [], [[4, 4]]], [3, None, 2]),
    "tf.stack([b, b], -1)": (
        [[[[1, 1], [2, 2]], [[3, 3]]], [], [[[4, 4], [5, 5], [6, 6]], [], [[7, 7]]]],
        [3, None, None, 2],
    ),
    "tf.expand_dims(a, 0)": ([[[1, 2, 3], [], [4]]], [1, 3, None]),
    "tf.expand_dims(a, 1)": ([[[1, 2, 3]], [[]], [[4]]], [3, 1, None]),
    "tf.expand_dims(a, -1)": ([[[1], [2], [3]], [], [[4]]], [3, None, 1]),
    "tf.squeeze(tf.expand_dims(a, 0), 0)": ([[1, 2, 3], [], [4]], [3, None]),
    "tf.squeeze(tf.expand_dims(a, 1), 1)": ([[1, 2, 3], [], [4]], [3, None]),
    "tf.squeeze(tf.expand_dims(a, 2), 2)": ([[1, 2, 3], [], [4]], [3, None]),
    "tf.gather(a, i)": ([[4], [1, 2, 3]], [2, None]),
    "tf.gather(a, [[2, 0], [1, 1]])": ([[[4], [1, 2, 3]], [[], []]], [2, None, None]),
    "tf.gather(v, a)": ([[20, 30, 40], [], [50]], [3, None]),
    "tf.gather(b, i)": ([[[4, 5, 6], [], [7]], [[1, 2], [3]]], [2, None, None]),
    "tf.gather(a, ragged([[0], [1, 2]]))": ([[[1, 2, 3]], [[], [4]]], [2, None, None]),
    "tf.gather(a, 2)": ([4], None),
    "tf.gather(m, ragged([[2], [0, 1]]), axis=1)": (
        [[[0], [1, 0]], [[0], [2, 3]]],
        [2, 2, None],
    ),
    "tf.gather(tf.stack([m, m]), ragged([[1], []], dtype=tf.int32), axis=-2)": (
        [[[[2, 3, 0]], []], [[[2, 3, 0]], []]],
        [2, 2, None, 3],
    ),
    "tf.gather(b[::2], ragged([[1], [0, 1]]), axis=1)": (
        [[[[3]], [[1, 2], [3]]], [[[]], [[4, 5, 6], []]]],
        [2, 2, None, None],
    ),
    "tf.gather(b[:1], 0, axis=2)": ([[1, 3]], [1, None]),
    "tf.gather(b[::2], [1, 0], axis=1)": ([[[3], [1, 2]], [[], [4, 5, 6]]], [2, None, None]),
    "tf.gather(d, ragged([[0], [0, 0], []], dtype=tf.int64), batch_dims=1)": (
        [[10], [20, 20], []],
        [3, None],
    ),
    "tf.reduce_sum(a, 0)": ([5, 2, 3], None),
    "tf.reduce_sum(a, 1)": ([6, 0, 4], None),
    "tf.reduce_sum(a)": (10, None),
    "tf.reduce_sum(a, 1, True)": ([[6], [0], [4]], None),
    "tf.reduce_mean(f, 1)": ([2.0, NAN, 4.0], None),
    "tf.reduce_mean(f, 0)": ([2.5, 2.0, 3.0], None),
    "tf.reduce_mean(f)": (2.5, None),
    "tf.reduce_max(a, 1)": ([3, -2147483648, 4], None),
    "tf.reduce_min(a, 0)": ([1, 2, 3], None),
    "tf.reduce_prod(a, 1)": ([6, 1, 4], None),
    "tf.reduce_all(a>1, 1)": ([False, True, True], None),
    "tf.reduce_any(a>1, 1)": ([True, False, True], None),
    "tf.reduce_any(a>1, 0)": ([True, True, True], None),
    "tf.reduce_sum(b, 0)": ([[5, 7, 6], [3], [7]], [3, None]),
    "tf.reduce_sum(b, 1)": ([[4, 2], [], [11, 5, 6]], [3, None]),
    "tf.reduce_sum(b, 2)": ([[3, 3], [], [15, 0, 7]], [3, None]),
    "tf.reduce_sum(b, [0, 1])": ([15, 7, 6], None),
    "tf.reduce_sum(b, [1, 2])": ([6, 0, 22], None),
    "tf.reduce_sum(b, [0, 2])": ([18, 3, 7], None),
    "tf.reduce_mean(tf.cast(b, tf.float32), 2)": ([[1.5, 3.0], [], [5.0, NAN, 7.0]], [3, None]),
    "tf.math.reduce_variance(f, 1)": ([0.6666665077209473, NAN, 0.0], None),
    "tf.math.reduce_std(f, 0)": ([1.5, 0.0, 0.0], None),
    "tf.reduce_sum(e, 1)": ([], None),
    "tf.reduce_sum(e, 0)": ([], None),
    "tf.reduce_sum(b, 1, keepdims=True)": ([[[4, 2]], [[]], [[11, 5, 6]]], [3, 1, None]),
    "tf.reduce_max(b, 0)": ([[4, 5, 6], [3], [7]], [3, None]),
    "tf.reverse(a, [0])": ([[4], [], [1, 2, 3]], [3, None]),
    "tf.reverse(a, [1])": ([[3, 2, 1], [], [4]], [3, None]),
    "tf.reverse(b, [0, 2])": ([[[6, 5, 4], [], [7]], [], [[2, 1], [3]]], [3, None, None]),
    "tf.tile(a, [2, 1])": ([[1, 2, 3], [], [4], [1, 2, 3], [], [4]], [6, None]),
    "tf.tile(a, [1, 2])": ([[1, 2, 3, 1, 2, 3], [], [4, 4]], [3, None]),
    "tf.tile(a, [2, 3])": (
        [[1, 2, 3, 1, 2, 3, 1, 2, 3], [], [4, 4, 4], [1, 2, 3, 1, 2, 3, 1, 2, 3], [], [4, 4, 4]],
        [6, None],
    ),
    "tf.tile(b, [1, 2, 2])": (
        [
            [[1, 2, 1, 2], [3, 3], [1, 2, 1, 2], [3, 3]],
            [],
            [[4, 5, 6, 4, 5, 6], [], [7, 7], [4, 5, 6, 4, 5, 6], [], [7, 7]],
        ],
        [3, None, None],
    ),
    "tf.one_hot(a, 4)": (
        [
            [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
            [],
            [[0.0, 0.0, 0.0, 0.0]],
        ],
        [3, None, 4],
    ),
    "tf.where(a>1)": ([[0, 1], [0, 2], [2, 0]], None),
    "tf.where(b>3)": ([[2, 0, 0], [2, 0, 1], [2, 0, 2], [2, 2, 0]], None),
    "tf.where(a>1, a, -a)": ([[-1, 2, 3], [], [4]], [3, None]),
    "tf.where(a>1, a, 0)": ([[0, 2, 3], [], [4]], [3, None]),
    "tf.where(a>1, d, a)": ([[1, 10, 10], [], [30]], [3, None]),
    "tf.size(a)": (4, None),
    "tf.rank(a)": (2, None),
    "tf.shape(a)[0]": (3, None),
    "tf.zeros_like(a)": ([[0, 0, 0], [], [0]], [3, None]),
    "tf.ones_like(f)": ([[1.0, 1.0, 1.0], [], [1.0]], [3, None]),
    "tf.cast(a, tf.float32)": ([[1.0, 2.0, 3.0], [], [4.0]], [3, None]),
    "tf.math.log(f)": (
        [[0.0, 0.6931471824645996, 1.0986123085021973], [], [1.3862943649291992]],
        [3, None],
    ),
    "tf.nn.relu(f-2)": ([[0.0, 0.0, 1.0], [], [2.0]], [3, None]),
    "tf.sqrt(f)": ([[1.0, 1.4142135381698608, 1.7320507764816284], [], [2.0]], [3, None]),
    "tf.maximum(a, 2)": ([[2, 2, 3], [], [4]], [3, None]),
    "tf.pow(a, 2)": ([[1, 4, 9], [], [16]], [3, None]),
    "tf.clip_by_value(a, 2, 3)": ([[2, 2, 3], [], [3]], [3, None]),
    "tf.add_n([a, a, a])": ([[3, 6, 9], [], [12]], [3, None]),
    "tf.identity(a)": ([[1, 2, 3], [], [4]], [3, None]),
    "tf.nn.embedding_lookup(v, a)": ([[20, 30, 40], [], [50]], [3, None]),
    "a.to_tensor()": ([[1, 2, 3], [0, 0, 0], [4, 0, 0]], None),
    "a.to_tensor(-1)": ([[1, 2, 3], [-1, -1, -1], [4, -1, -1]], None),
    "a.to_tensor(shape=[2, 2])": ([[1, 2], [0, 0]], None),
    "a.to_tensor(shape=[4, 4])": ([[1, 2, 3, 0], [0, 0, 0, 0], [4, 0, 0, 0], [0, 0, 0, 0]], None),
    "a.to_tensor(shape=[None, 2])": ([[1, 2], [0, 0], [4, 0]], None),
    "b.to_tensor()": (
        [
            [[1, 2, 0], [3, 0, 0], [0, 0, 0]],
            [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
            [[4, 5, 6], [0, 0, 0], [7, 0, 0]],
        ],
        None,
    ),
    "b.to_tensor(shape=[None, 2, 2])": (
        [[[1, 2], [3, 0]], [[0, 0], [0, 0]], [[4, 5], [0, 0]]],
        None,
    ),
    "a.bounding_shape()": ([3, 3], None),
    "b.bounding_shape()": ([3, 3, 3], None),
    "b.bounding_shape(axis=1)": (3, None),
    "a.row_lengths()": ([3, 0, 1], None),
    "b.row_lengths(2)": ([[2, 1], [], [3, 0, 1]], [3, None]),
    "a.value_rowids()": ([0, 0, 0, 2], None),
    "b.nested_row_lengths()[1]": ([2, 1, 3, 0, 1], None),
    "a.nrows()": (3, None),
    "a.row_limits()": ([3, 3, 4], None),
    "b.merge_dims(0, 1)": ([[1, 2], [3], [4, 5, 6], [], [7]], [5, None]),
    "b.merge_dims(1, 2)": ([[1, 2, 3], [], [4, 5, 6, 7]], [3, None]),
    "b.merge_dims(0, 2)": ([1, 2, 3, 4, 5, 6, 7], None),
    "R.from_tensor(m)": ([[1, 0, 0], [2, 3, 0]], [2, 3]),
    "R.from_tensor(m, padding=0)": ([[1], [2, 3]], [2, None]),
    "R.from_tensor(m, lengths=[1, 2])": ([[1], [2, 3]], [2, None]),
    "R.from_tensor(m[tf.newaxis], ragged_rank=2, padding=0)": ([[[1], [2, 3]]], [1, 2, None]),
    "R.from_tensor(m[tf.newaxis], lengths=([2], [1, 3]))": ([[[1], [2, 3, 0]]], [1, None, None]),
    "R.from_uniform_row_length(v[:4], 2)": ([[10, 20], [30, 40]], [2, 2]),
    "R.from_value_rowids(v[:3], [0, 0, 2])": ([[10, 20], [], [30]], [3, None]),
    "R.from_row_lengths(v, [2, 0, 3])": ([[10, 20], [], [30, 40, 50]], [3, None]),
    "tf.ragged.boolean_mask(m, m>0)": ([[1], [2, 3]], [2, None]),
    "tf.ragged.boolean_mask(a, a>1)": ([[2, 3], [], [4]], [3, None]),
    "tf.ragged.boolean_mask(a, [True, False, True])": ([[1, 2, 3], [4]], [2, None]),
    "tf.ragged.boolean_mask(b, b>3)": ([[[], []], [], [[4, 5, 6], [], [7]]], [3, None, None]),
    "tf.ragged.boolean_mask(b, ragged([[True, False], [], [False, True, True]]))": (
        [[[1, 2]], [], [[], [7]]],
        [3, None, None],
    ),
    "tf.ragged.range([3, 0, 5])": ([[0, 1, 2], [], [0, 1, 2, 3, 4]], [3, None]),
    "tf.ragged.range([0, 5], [3, 10], 2)": ([[0, 2], [5, 7, 9]], [2, None]),
    "tf.ragged.range([5, 0], [0, 5], [-2, 3])": ([[5, 3, 1], [0, 3]], [2, None]),
    "tf.ragged.range([0., 1.], [1., 2.], .25)": (
        [[0.0, 0.25, 0.5, 0.75], [1.0, 1.25, 1.5, 1.75]],
        [2, None],
    ),
    "tf.ragged.stack([[1, 2], [3]])": ([[1, 2], [3]], [2, None]),
    "tf.ragged.stack([a, b[0]])": ([[[1, 2, 3], [], [4]], [[1, 2], [3]]], [2, None, None]),
    "tf.ragged.stack_dynamic_partitions(v, [0, 2, 0, 1, 2], 3)": (
        [[10, 30], [40], [20, 50]],
        [3, None],
    ),
    "tf.ragged.segment_ids_to_row_splits([0, 0, 2, 2, 4])": ([0, 2, 2, 4, 4, 5], None),
    "tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5])": ([0, 0, 0, 2, 2], None),
    "tf.ragged.map_flat_values(tf.add, a, a)": ([[2, 4, 6], [], [8]], [3, None]),
    "tf.map_fn(lambda x:x*2, a)": ([[2, 4, 6], [], [8]], [3, None]),
    "tf.map_fn(tf.range, v[:3]//10, fn_output_signature=SPEC)": (
        [[0], [0, 1], [0, 1, 2]],
        [3, None],
    ),
    "tf.map_fn(lambda x:x+1, b)": ([[[2, 3], [4]], [], [[5, 6, 7], [], [8]]], [3, None, None]),
    "tf.map_fn(lambda x: tf.reduce_sum(x, 1), b, fn_output_signature=SPEC)": (
        [[3, 3], [], [15, 0, 7]],
        [3, None],
    ),
    "tf.map_fn(tf.reduce_sum, a, fn_output_signature=tf.TensorSpec([], tf.int32))": (
        [6, 0, 4],
        None,
    ),
    "tf.strings.split(['a b', '', 'c d e'])": ([["a", "b"], [], ["c", "d", "e"]], [3, None]),
    "tf.strings.split([['a b', 'c'], ['', 'd e f']])": (
        [[["a", "b"], ["c"]], [[], ["d", "e", "f"]]],
        [2, 2, None],
    ),
    "tf.strings.split(w)": ([[["a", "b"], ["c"]], [], [["d", "e", "f"]]], [3, None, None]),
    "tf.strings.split(['a, b', '', ', c'], ', ')": ([["a", "b"], [""], ["", "c"]], [3, None]),
    "tf.strings.bytes_split(['ab', 'c', ''])": ([["a", "b"], ["c"], []], [3, None]),
    "tf.strings.unicode_split(['ab', 'c'], 'UTF-8')": ([["a", "b"], ["c"]], [2, None]),
    "tf.strings.unicode_decode(['ab', 'c'], 'UTF-8')": ([[97, 98], [99]], [2, None]),
    "tf.strings.lower(w)": ([["a b", "c"], [], ["d e f"]], [3, None]),
    "tf.strings.length(w)": ([[3, 1], [], [5]], [3, None]),
    "tf.strings.regex_replace(w, ' ', '_')": ([["a_b", "c"], [], ["d_e_f"]], [3, None]),
    "tf.strings.join([w, w], '-')": ([["a b-a b", "c-c"], [], ["d e f-d e f"]], [3, None]),
    "tf.strings.join([w, '!'])": ([["a b!", "c!"], [], ["d e f!"]], [3, None]),
    "tf.strings.reduce_join(w, 1, separator='+')": (["a b+c", "", "d e f"], None),
    "tf.strings.reduce_join(w, 0, separator='+')": (["a b+d e f", "c"], None),
    "tf.strings.reduce_join(w, separator='+')": ("a b+c+d e f", None),
    "tf.strings.ngrams(w, 2)": ([["a b c"], [], []], [3, None]),
    "tf.strings.to_number(ragged([['1'], ['2', '3']]))": ([[1.0], [2.0, 3.0]], [2, None]),
    "w+w": ([["a ba b", "cc"], [], ["d e fd e f"]], [3, None]),
    "tf.strings.to_hash_bucket_fast(w, 10)": ([[7, 2], [], [1]], [3, None]),
    "tf.strings.substr(w, 0, 1)": ([["a", "c"], [], ["d"]], [3, None]),
    "tf.nn.dropout(f, 0.0)": ([[1.0, 2.0, 3.0], [], [4.0]], [3, None]),
    "tf.nn.softmax(f)": ([[0.09003057, 0.2447285, 0.6652409], [], [1.0]], [3, None]),
    "tf.nn.softmax(tf.cast(b, tf.float32), 2)": (
        [[[0.2689414, 0.7310586], [1.0]], [], [[0.09003057, 0.2447285, 0.6652409], [], [1.0]]],
        [3, None, None],
    ),
    "tf.nn.softmax(ragged([[[1.0, 2.0]], []], ragged_rank=1))": (
        [[[0.2689414, 0.7310586]], []],
        [2, None, 2],
    ),
    "tf.reduce_logsumexp(f)": (4.44019, None),
    "tf.reduce_logsumexp(f, 1)": ([3.407606, -math.inf, 4.0], None),
    "tf.reduce_logsumexp(f, 1, keepdims=True)": ([[3.407606], [-math.inf], [4.0]], None),
    "tf.reduce_logsumexp(ragged([[1000.0, 1.0], [-1000.0]]), [1])": ([1000.0, -1000.0], None),
    "tf.reduce_logsumexp(ragged([[200.0, 1.0], [0.0]]), (0, -1))": (200.0, None),
    "tf.reduce_logsumexp(f, [1], keepdims=True)": ([[3.407606], [-math.inf], [4.0]], None),
    "tf.reduce_logsumexp(ragged([[1e400, 1.0], [2.0]]), 1)": ([math.inf, 2.0], None),
    "tf.reduce_logsumexp(ragged([[1e400, 1.0], [2.0]]))": (math.inf, None),
    "tf.cumsum(a)": ([[1, 2, 3], [], [5]], [3, None]),
    "tf.cumsum(a, 1)": ([[1, 3, 6], [], [4]], [3, None]),
    "tf.cumsum(a, 1, exclusive=True, reverse=True)": ([[5, 3, 0], [], [0]], [3, None]),
    "tf.cumsum(b, 2)": ([[[1, 3], [3]], [], [[4, 9, 15], [], [7]]], [3, None, None]),
    "tf.math.cumsum(b, -2)": ([[[1, 2], [4]], [], [[4, 5, 6], [], [11]]], [3, None, None]),
    "tf.gather_nd(a, [[0, 2], [2, 0]])": ([3, 4], None),
    "tf.gather_nd(a, [[2], [0]])": ([[4], [1, 2, 3]], [2, None]),
    "tf.gather_nd(b, [[2, 0, 1], [0, 1, 0]])": ([5, 3], None),
    "tf.gather_nd(b, [[0, 1], [2, 2]])": ([[3], [7]], [2, None]),
    "tf.gather_nd(b, [2, 0])": ([4, 5, 6], None),
    "tf.gather_nd(a, [[[0, 1], [0, 0]]])": ([[2, 1]], None),
    "tf.dynamic_partition(a, [1, 0, 1], 2)[1]": ([[1, 2, 3], [4]], [2, None]),
    "tf.dynamic_partition(a, ragged([[0, 1, 0], [], [1]]), 2)[0]": ([1, 3], None),
    "tf.nn.sigmoid_cross_entropy_with_logits(labels=f, logits=f)": (
        [[0.3132617, -1.873072, -5.951413], [], [-11.98185]],
        [3, None],
    ),
}


def plain(x: Any) -> Any:
    found = x.to_list() if isinstance(x, tf.RaggedTensor) else np.asarray(x).tolist()
    return decoded(found)


def decoded(x: Any) -> Any:
    if isinstance(x, list):
        return [decoded(item) for item in x]
    return x.decode() if isinstance(x, bytes) else x


def unknown(x: Any) -> Any:
    shape = [None] * x.shape.rank
    if isinstance(x, tf.RaggedTensor):
        return tf.RaggedTensorSpec(shape, x.dtype, x.ragged_rank)
    return tf.TensorSpec(shape, x.dtype)


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return False
        return all(same(a, b) for a, b in zip(found, expected, strict=True))
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-6, nan_ok=True)
    return bool(found == expected)


def evaluated(expression: str, names: dict[str, Any]) -> Any:
    return eval(
        expression, {"tf": tf, "R": tf.RaggedTensor, "ragged": ragged, "SPEC": SPEC, **names}
    )


@pytest.mark.parametrize("expression", CASES)
def test_eagerly(expression: str) -> None:
    expected, shape = CASES[expression]
    found = evaluated(expression, NAMES)
    assert same(plain(found), expected)
    assert isinstance(found, tf.RaggedTensor) == (shape is not None)
    if shape is not None:
        assert found.shape.as_list() == shape


@pytest.mark.parametrize("expression", CASES)
def test_in_functions_of_unknown_sizes(expression: str) -> None:
    @tf.function(input_signature=[unknown(x) for x in NAMES.values()], autograph=False)
    def function(*values: Any) -> Any:
        return evaluated(expression, dict(zip(NAMES, values, strict=True)))

    assert same(plain(function(*NAMES.values())), CASES[expression][0])


def test_gradients_along_rows() -> None:
    v = tf.constant([1.0, 2.0, 0.5])

    def slope(function: Any) -> list[float]:
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = function(tf.RaggedTensor.from_row_lengths(v, [2, 0, 1]))
        found: list[float] = tf.convert_to_tensor(tape.gradient(y, v)).numpy().tolist()
        return found

    p = 1 / (1 + math.exp(-1))
    assert slope(lambda x: tf.nn.softmax(x)[0, 0]) == pytest.approx([p * (1 - p), -p * (1 - p), 0])
    assert slope(lambda x: tf.reduce_logsumexp(x, 1)[0]) == pytest.approx([1 - p, p, 0])
    assert slope(lambda x: tf.reduce_sum(tf.cumsum(x, 1) ** 2)) == pytest.approx([8, 6, 1])
    assert slope(lambda x: tf.reduce_sum(tf.gather_nd(x, [[0, 1], [2, 0]]) ** 2)) == [0, 4, 1]


def test_what_gather_nd_refuses() -> None:
    a = NAMES["a"]
    for place in ([[0, 3]], [[3, 0]], [[1, 0]], [[0, -1]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="are not all in"):
            tf.gather_nd(a, place)
    with pytest.raises(ValueError, match="must not be ragged"):
        tf.gather_nd(a, ragged([[0, 1], [0]]))
    with pytest.raises(ValueError, match="whose last axis is known"):
        tf.function(
            lambda i: tf.gather_nd(a, i), input_signature=[tf.TensorSpec([None, None], tf.int32)]
        )([[0, 0]])
    with pytest.raises(tf.errors.UnimplementedError, match="neither batch_dims"):
        tf.gather_nd(a, [[0]], batch_dims=1)


@pytest.mark.parametrize("traced", [False, True])
def test_numbers_of_parts_that_are_refused(traced: bool) -> None:
    x = tf.ragged.constant([[1.0], [2.0, 3.0], []])

    def parts(numbers: Any) -> Any:
        return tf.dynamic_partition(x, numbers, 2)

    call = tf.function(parts, reduce_retracing=True) if traced else parts
    each = tf.ragged.constant([[0], [1, 2], []])
    for wrong in ([0, 5, 0], [0, -1, 0], [0, 1], [0, 1, 0, 1], each):
        given = wrong if isinstance(wrong, tf.RaggedTensor) else tf.constant(wrong)
        with pytest.raises(tf.errors.InvalidArgumentError):
            call(given)
    with pytest.raises(ValueError, match="scalar"):
        call(tf.constant(0))
    for count in (0, -1, 1.5):
        with pytest.raises(ValueError, match="must be an integer above 0"):
            tf.dynamic_partition(x, [0, 1, 0], count)


def test_an_index_of_nothing_is_refused() -> None:
    x = tf.ragged.constant([[1.0], [2.0, 3.0]])
    with pytest.raises(tf.errors.UnimplementedError, match="an index or more"):
        tf.gather_nd(x, tf.zeros([2, 0], tf.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.gather_nd: indices"):
        tf.gather_nd(x, [[0, 1]])


def test_equality_with_a_tensor_on_the_left_and_with_none() -> None:
    """As in TensorFlow 2.21: ``t == r`` is what ``r == t`` is, and nothing equals None."""
    dense, rows = tf.constant([[1], [2]]), tf.ragged.constant([[1], [2, 3]])
    assert (dense == rows).to_list() == (rows == dense).to_list() == [[True], [True, False]]
    assert (dense != rows).to_list() == (rows != dense).to_list() == [[False], [False, True]]
    assert (tf.Variable(dense) == rows).to_list() == [[True], [True, False]]
    assert (rows == None) is False  # noqa: E711
    assert (rows != None) is True  # noqa: E711


def test_what_cannot_be_compared_is_not_equal() -> None:
    x = ragged([[1, 2], [3]])
    others = [
        ragged([[1, 2], [3, 4]]),
        ragged([[1, 2], [3], [1]]),
        ragged([[1.0, 2.0], [3.0]]),
        tf.constant([[1, 2], [3, 4]]),
        [[1, 2], [3]],
        "a",
        None,
    ]
    for other in others:
        assert (x == other) is False
        assert (x != other) is True
    assert (tf.constant([[1, 2], [3, 4]]) == x) is False
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.equal(x, others[0])


def test_dense_tensors_of_other_sizes_are_stacked() -> None:
    for call in (tf.ragged.stack, tf.function(tf.ragged.stack)):
        found = call([tf.ones([2, 3]), tf.zeros([3, 1])])
        assert found.to_list() == [[[1.0] * 3] * 2, [[0.0]] * 3]
        assert found.ragged_rank == 2


def test_counts_of_each_row() -> None:
    x = tf.ragged.constant([[1, 0], [], [3, 1, 1]])
    assert tf.math.bincount(x, axis=-1).numpy().tolist() == [[1, 1, 0, 0], [0] * 4, [0, 2, 0, 1]]
    some = tf.math.bincount(x, axis=-1, maxlength=2, binary_output=True)
    assert some.numpy().tolist() == [[1, 1], [0, 0], [0, 1]]
    weights = tf.ragged.constant([[0.5, 1.0], [], [2.0, 3.0, 4.0]])
    sums = tf.math.bincount(x, weights, axis=-1)
    assert sums.numpy().tolist() == [[1, 0.5, 0, 0], [0] * 4, [0, 7, 0, 2]]
    assert tf.math.bincount(x).numpy().tolist() == [1, 3, 0, 1]
