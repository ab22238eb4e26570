"""Attention and its gradient by our kernels, against NumPy and operators one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library

pytestmark = needs_library

B, T, H, D = 4, 48, 2, 8
SCALE = float(D**-0.5)
CAUSAL = np.tril(np.ones((T, T), bool))
ONE_EACH = {"FlashAttention": 1, "FlashAttentionGradient": 1}


def found(function, *args):
    """How many nodes of the kernels' operators of attention and softmax a run has."""
    with tf.profile() as p:
        function(*args)
    ops = [n.op for n in p.nodes if "Attention" in n.op or "Softmax" in n.op]
    return {op: ops.count(op) for op in ops}


def both(function, signature=None):
    """A function as it runs by itself, and with operators one by one."""
    return [tf.function(function, input_signature=signature, jit_compile=j) for j in (None, False)]


def agree(ours, theirs, rtol=2e-5):
    for a, b in zip(tf.nest.flatten(ours), tf.nest.flatten(theirs), strict=True):
        size = np.nanmax(np.abs(b), initial=0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * (1e-3 + size))


def reference(q, k, v, dy, mask=None, fill=-1e9, scale=SCALE, added=0.0):
    """Attention, and its gradients by queries, keys and values, in float64."""
    q, k, v, dy = (x.astype(np.float64) for x in (q, k, v, dy))
    scores = scale * np.einsum("bthd,bshd->bhts", q, k) + added
    scores = scores if mask is None else np.where(mask, scores, fill)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = np.einsum("bthd,bshd->bhts", dy, v)
    ds = (dp - (dp * p).sum(-1, keepdims=True)) * p * scale
    ds = ds if mask is None else np.where(mask, ds, 0)
    dq, dk = np.einsum("bhts,bshd->bthd", ds, k), np.einsum("bhts,bthd->bshd", ds, q)
    dv = np.einsum("bhts,bthd->bshd", p, dy)
    return np.einsum("bhts,bshd->bthd", p, v), dq, dk, dv


# --- the forms in which people write it --------------------------------


def heads_first(q, k, v, mask=CAUSAL):
    scores = tf.matmul(q, k, transpose_b=True) * SCALE
    weights = tf.nn.softmax(tf.where(mask, scores, -1e9))
    return tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3])


def transposed_and_unstacked(x):
    return heads_first(*tf.unstack(tf.transpose(x, [2, 0, 3, 1, 4])))


def split_and_transposed(x):
    flat = tf.reshape(x, [-1, T, 3 * H * D])
    parts = tf.split(flat, 3, axis=-1)
    return heads_first(*(tf.transpose(tf.reshape(a, [-1, T, H, D]), [0, 2, 1, 3]) for a in parts))


def einsums(x):
    q, k, v = tf.unstack(x, axis=2)
    scores = tf.einsum("bthd,bshd->bhts", q, k) / np.float32(D**0.5)
    return tf.einsum("bhts,bshd->bthd", tf.nn.softmax(tf.where(CAUSAL, scores, -1e9)), v)


def einsums_of_keys_first(x):
    q, k, v = tf.unstack(x, axis=2)
    scores = tf.einsum("aecd,abcd->acbe", k, q * SCALE)
    return tf.einsum("acbe,aecd->abcd", tf.nn.softmax(tf.where(~CAUSAL, -3e38, scores)), v)


def scaled_queries_and_slices(x):
    x = tf.transpose(x, [2, 0, 3, 1, 4])
    q, k, v = x[0] * SCALE, x[1], x[2]
    weights = tf.nn.softmax(tf.where(CAUSAL, q @ tf.linalg.matrix_transpose(k), -np.inf))
    return tf.transpose(weights @ v, [0, 2, 1, 3])


def added_mask(x):
    q, k, v = tf.unstack(tf.transpose(x, [2, 0, 3, 1, 4]))
    less = (1.0 - tf.cast(CAUSAL, tf.float32)) * -1e9
    weights = tf.nn.softmax(SCALE * tf.matmul(q, k, transpose_b=True) + less)
    return tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3])


FORMS = [
    transposed_and_unstacked,
    split_and_transposed,
    einsums,
    einsums_of_keys_first,
    scaled_queries_and_slices,
    added_mask,
]


def with_gradient(form, dy):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = form(x)
            loss = tf.reduce_sum(y * dy)
        return y, tape.gradient(loss, x)

    return step


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_forms_of_attention_and_their_gradients(form, rng):
    x = rng.normal(size=(B, T, 3, H, D)).astype(np.float32)
    dy = rng.normal(size=(B, T, H, D)).astype(np.float32)
    ours, theirs = both(with_gradient(form, dy), [tf.TensorSpec(x.shape)])
    y, dx = ours(x)
    parts = (x[:, :, i] for i in range(3))
    expected, *slopes = reference(*parts, dy, CAUSAL)
    agree((y, dx), (expected, np.stack(slopes, 2)))
    agree((y, dx), theirs(x))
    assert found(ours, x) == ONE_EACH


@pytest.mark.parametrize("form", FORMS[:1] + FORMS[2:], ids=lambda f: f.__name__)
def test_batches_of_unknown_size(form, rng):
    """Nobody has the names of all sizes here: the forward pass is found, and a gradient perhaps."""
    x = rng.normal(size=(B, T, 3, H, D)).astype(np.float32)
    dy = rng.normal(size=(1, T, H, D)).astype(np.float32)
    spec = [tf.TensorSpec([None, T, 3, H, D])]
    forward, one_by_one = both(form, spec)
    agree(forward(x), one_by_one(x))
    assert found(forward, x) == {"FlashAttention": 1}
    ours, theirs = both(with_gradient(form, dy), spec)
    for batch in (B, 1, 0):
        agree(ours(x[:batch]), theirs(x[:batch]))


def of_three(function):
    """A function of queries, keys and values with its gradients."""

    def step(q, k, v):
        with tf.GradientTape() as tape:
            tape.watch((q, k, v))
            y = function(q, k, v)
            loss = tf.reduce_sum(y * tf.cos(y))
        return y, *tape.gradient(loss, (q, k, v))

    return step


def plain(q, k, v):
    return tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * SCALE) @ v


SIZES = {
    "cross": ((B, H, T, D), (B, H, 70, D), (B, H, 70, D)),
    "widths": ((B, H, T, 7), (B, H, T, 7), (B, H, T, 13)),
    "rank 2": ((130, D), (150, D), (150, 3)),
    "rank 3": ((8, T, 33), (8, T, 33), (8, T, 33)),
    "rank 5": ((2, 2, H, T, D), (2, 2, H, T, D), (2, 2, H, T, D)),
    "many keys": ((1, 3, 5, D), (1, 3, 1200, D), (1, 3, 1200, D)),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_sizes_and_ranks(sizes, known, rng):
    given = [rng.normal(size=size).astype(np.float32) for size in sizes]
    spec = [tf.TensorSpec(size if known else [None] * len(size)) for size in sizes]
    ours, theirs = both(of_three(plain), spec)
    agree(ours(*given), theirs(*given))
    # Products without a batch are ``Gemm``, which stays.
    assert not known or len(sizes[0]) == 2 or found(ours, *given) == ONE_EACH


@pytest.mark.parametrize("sizes", [(0, 3, 3), (2, 0, 3), (2, 3, 0), (1, 1, 1)])
def test_nothing_and_single_ones(sizes, rng):
    """Batches, queries or keys of which there are none, where any number is possible."""
    batch, queries, keys = sizes
    given = [rng.normal(size=(batch, n, D)).astype(np.float32) for n in (queries, keys, keys)]
    ours, theirs = both(plain, [tf.TensorSpec([None, None, D])] * 3)
    agree(ours(*given), theirs(*given))
    assert found(ours, *given) == {"FlashAttention": 1}


def test_keys_and_values_that_all_heads_share(rng):
    sizes = [(B, H, T, D), (B, 1, T, D), (1, 1, T, D)]
    given = [rng.normal(size=size).astype(np.float32) for size in sizes]
    ours, theirs = both(plain, [tf.TensorSpec(size) for size in sizes])
    agree(ours(*given), theirs(*given))
    assert found(ours, *given) == {"FlashAttention": 1}
    agree(*(f(*given) for f in both(of_three(plain))))


# --- masks --------------------------------

RANDOM = np.random.default_rng(3)
MASKS = {
    "causal": CAUSAL,
    "padding": np.arange(T) < np.array([T, 5, 1, 30])[:, None, None, None],
    "of queries": (np.arange(T) % 3 > 0)[:, None],
    "some rows wholly": CAUSAL & (np.arange(T) % 5 > 0)[:, None],
    "any": RANDOM.random((B, 1, T, T)) < 0.5,
    "of a head": RANDOM.random((H, 1, T)) < 0.5,
    "a vector": np.arange(T) < 9,
}


@pytest.mark.parametrize("fill", [-1e9, -20.0, 5.0])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_masks(mask, fill, rng):
    """What is filled in counts for something if it is no less than the scores."""
    given = [3 * rng.normal(size=(B, H, T, D)).astype(np.float32) for _ in range(3)]

    def attention(q, k, v, mask):
        scores = tf.matmul(q, k, transpose_b=True) * SCALE
        return tf.nn.softmax(tf.where(mask, scores, fill)) @ v

    def step(q, k, v, mask):
        return of_three(lambda q, k, v: attention(q, k, v, mask))(q, k, v)

    ours, theirs = both(step)
    agree(ours(*given, mask), theirs(*given, mask), 1e-4)
    assert found(ours, *given, mask) == ONE_EACH


def test_rows_that_are_wholly_minus_infinity_are_nan(rng):
    x = rng.normal(size=(B, T, 3, H, D)).astype(np.float32)
    mask = CAUSAL & (np.arange(T) % 7 > 0)[:, None]

    def attention(x):
        q, k, v = tf.unstack(tf.transpose(x, [2, 0, 3, 1, 4]))
        scores = tf.where(mask, tf.matmul(q, k, transpose_b=True), -np.inf)
        return tf.matmul(tf.nn.softmax(scores), v)

    ours, theirs = both(attention)
    y = np.asarray(ours(x))
    np.testing.assert_array_equal(np.isnan(y), np.isnan(theirs(x)))
    assert np.isnan(y[:, :, ::7]).all() and not np.isnan(y[:, :, 1:7]).any()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_scores_that_are_no_numbers(number, rng):
    given = [rng.normal(size=(B, H, T, D)).astype(np.float32) for _ in range(3)]
    given[0][1, 1, 3, 2] = number
    ours, theirs = (np.asarray(f(*given)) for f in both(plain))
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    assert np.isnan(ours).sum() == D


def test_gradient_of_an_added_mask(rng):
    """It needs the gradient of the scores, which the kernel does not make."""
    given = [rng.normal(size=(B, H, T, D)).astype(np.float32) for _ in range(3)]
    bias = tf.Variable(rng.normal(size=(T, T)).astype(np.float32))

    def step(q, k, v):
        with tf.GradientTape() as tape:
            y = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) + bias) @ v
            loss = tf.reduce_sum(y * y)
        return tape.gradient(loss, bias)

    agree(*(f(*given) for f in both(step)))


# --- what is around it --------------------------------


def three(rng, *size):
    return [rng.normal(size=size or (B, H, T, D)).astype(np.float32) for _ in range(3)]


def test_sizes_read_from_what_is_not_made(rng):
    def attention(q, k, v):
        y = plain(q, k, v)
        turned = tf.transpose(y, [0, 2, 1, 3])
        total = tf.size(y) - tf.reduce_sum(tf.shape(y) * [1, 10, 100, 1000])
        return tf.reshape(turned, [tf.shape(y)[0], tf.shape(turned)[1], -1]), total

    given = three(rng)
    ours, theirs = both(attention, [tf.TensorSpec([None, None, None, D])] * 3)
    agree(ours(*given), theirs(*given))
    assert found(ours, *given) == {"FlashAttention": 1}


@pytest.mark.parametrize("with_slopes", [False, True])
def test_attention_to_what_attention_made(with_slopes, rng):
    """A transposition between them is a part of the first: the second must not look behind it."""

    def twice(q, k, v):
        y = tf.transpose(plain(q, k, v), [0, 1, 3, 2])
        return tf.transpose(tf.nn.softmax(0.1 * (y @ v)) @ k, [0, 2, 1, 3])

    given = three(rng, B, H, T, T)
    ours, theirs = both(of_three(twice) if with_slopes else twice)
    agree(ours(*given), theirs(*given), 1e-4)
    counts = {op: 2 * n for op, n in ONE_EACH.items() if with_slopes or "Gradient" not in op}
    assert found(ours, *given) == counts


def test_one_tensor_for_queries_keys_and_values(rng):
    x = rng.normal(size=(B, H, T, D)).astype(np.float32)

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = plain(x, x, x)
            loss = tf.reduce_sum(y * y)
        return y, tape.gradient(loss, x)

    ours, theirs = both(step)
    agree(ours(x), theirs(x))
    assert found(ours, x) == ONE_EACH


def test_weights_that_are_used_otherwise_are_made(rng):
    def shown(q, k, v):
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
        return weights @ v, weights

    def twice(q, k, v):
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
        return weights @ v + weights @ q

    def scores_too(q, k, v):
        scores = tf.matmul(q, k, transpose_b=True)
        return tf.nn.softmax(scores) @ v, tf.reduce_max(scores)

    given = three(rng)
    for function in (shown, twice, scores_too):
        ours, theirs = both(function)
        agree(ours(*given), theirs(*given))
        assert "FlashAttention" not in found(ours, *given)


def test_a_gradient_written_before_the_attention(rng):
    """By hand, with the product that is kept for later as the last line."""

    def step(q, k, v, dy):
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
        dv = tf.matmul(weights, dy, transpose_a=True)
        dp = tf.matmul(dy, v, transpose_b=True)
        ds = (dp - tf.reduce_sum(dp * weights, -1, keepdims=True)) * weights
        dq, dk = tf.matmul(ds, k), tf.matmul(ds, q, transpose_a=True)
        return dq, dk, dv, tf.matmul(weights, v)

    given = [*three(rng), rng.normal(size=(B, H, T, D)).astype(np.float32)]
    agree(*(f(*given) for f in both(step)))


def test_several_gradients_and_second_ones(rng):
    def two(q, k, v):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch((q, k, v))
            y = plain(q, k, v)
            first, second = tf.reduce_sum(y * y), tf.reduce_sum(tf.sin(y))
        return tape.gradient(first, (q, k, v)), tape.gradient(second, (q, k, v))

    def second_order(q, k, v):
        with tf.GradientTape() as outer:
            outer.watch(q)
            with tf.GradientTape() as tape:
                tape.watch(k)
                loss = tf.reduce_sum(plain(q, k, v) ** 2)
            slope = tape.gradient(loss, k)
            total = tf.reduce_sum(slope * slope)
        return outer.gradient(total, q)

    given = three(rng)
    for function in (two, second_order):
        agree(*(f(*given) for f in both(function)), 1e-4)


def test_recomputed_and_separate_gradients(rng):
    """Of a function whose forward pass is a graph of its own, and of one that is computed again."""
    given = three(rng)
    expected = both(of_three(plain))[1](*given)
    again = tf.recompute_grad(plain)
    agree(tf.function(of_three(lambda q, k, v: again(q, k, v)))(*given), expected)
    agree(of_three(tf.function(plain))(*map(tf.constant, given)), expected)


def test_bodies(rng):
    def loop(q, k, v):
        for _ in tf.range(3):
            q = plain(q, k, v)
        return q

    def branch(q, k, v):
        if tf.reduce_sum(q) > tf.reduce_sum(k):
            return plain(q, k, v)
        return plain(k, q, v)

    def outside(q, k, v):
        scores = tf.matmul(q, k, transpose_b=True)
        i = tf.constant(0)
        while i < tf.cast(v[0, 0, 0, 0] * 0.0, tf.int32) + 3:
            v = tf.nn.softmax(scores) @ v
            i += 1
        return v

    given = three(rng)
    for function in (loop, branch, outside):
        for step in (function, of_three(function)):
            agree(*(f(*given) for f in both(step)), 1e-4)
    ours = both(outside)[0]
    ours(*given)
    assert "FlashAttention" not in found(ours, *given)  # the product is made once


@pytest.mark.parametrize("queries", [1, 2, 3])
@pytest.mark.parametrize("known", [True, False])
def test_few_queries(queries, known, rng):
    """Keys and values of one or two, as of the next word of a text, are read as they are."""
    q, k, v = three(rng)
    signature = None if known else [tf.TensorSpec([None, q.shape[1], None, q.shape[3]])] * 3
    ours, theirs = both(plain, signature)
    given = (q[:, :, :queries], k, v)
    agree(*(f(*given) for f in (ours, theirs)))
    assert found(ours, *given)["FlashAttention"] == 1


def test_what_is_left_alone(rng):
    """Dropout between, and other types: the same numbers by other operators."""

    def dropped(q, k, v):
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
        return tf.nn.experimental.stateless_dropout(weights, 0.5, seed=[1, 2]) @ v

    q, k, v = three(rng)
    cases = [(dropped, (q, k, v))]
    cases += [(plain, tuple(x.astype(kind) for x in (q, k, v))) for kind in ("float16", "float64")]
    for function, given in cases:
        ours, theirs = both(function)
        agree(ours(*given), theirs(*given), 1e-2 if given[0].dtype == np.float16 else 2e-5)
        assert "FlashAttention" not in found(ours, *given)


def test_a_loaded_bundle_has_the_numbers_of_the_trace(rng, tmp_path):
    module = tf.Module()
    x = rng.normal(size=(B, T, 3, H, D)).astype(np.float32)
    dy = rng.normal(size=(B, T, H, D)).astype(np.float32)
    step = with_gradient(transposed_and_unstacked, dy)
    module.step = tf.function(step, input_signature=[tf.TensorSpec(x.shape)])
    tf.saved_model.save(module, str(tmp_path / "bundle"))
    loaded = tf.saved_model.load(str(tmp_path / "bundle"))
    for a, b in zip(loaded.step(x), module.step(x), strict=True):
        np.testing.assert_array_equal(a, b)
    assert found(loaded.step, x) == ONE_EACH


def test_programs_that_refuse_every_run_are_given_up(rng):
    given = three(rng)
    function = tf.function(plain)
    expected = np.asarray(function(*given))
    (concrete,) = function.concrete_functions
    plan = concrete._strategy._plan
    assert plan.fused
    runs = []

    def refuses(feeds, outputs, options):
        runs.append(feeds)
        raise RuntimeError("Non-zero status code returned while running FlashAttention node.")

    plan.run_raw = refuses
    results = [function(*given) for _ in range(60)]  # one soon after the other
    for result in results:
        agree(result, expected)
    assert 1 < len(runs) < 60 and not plan.fused
