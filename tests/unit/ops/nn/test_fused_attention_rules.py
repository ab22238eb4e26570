"""Attention of ``com.microsoft``: forms, caches and masks, against the runtime's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.nn.fused import check, model_of

RNG = np.random.default_rng(0)
BATCH, LENGTH, HEADS, SHARED, SIZE, PAST = 2, 3, 4, 2, 16, 5


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def whole(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


ANGLES = np.arange(32)[:, None] * 0.1 * np.arange(1, SIZE // 2 + 1)
TABLES = [np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)]
PROMPT = [drawn(BATCH, LENGTH, n * SIZE) for n in (HEADS, SHARED, SHARED)]
ONE = [drawn(BATCH, 1, n * SIZE) for n in (HEADS, SHARED, SHARED)]
CACHE = [drawn(BATCH, SHARED, PAST, SIZE) for _ in range(2)]
OF_PROMPT = [None, None, whole(2, 2), np.array(LENGTH, np.int32)]
OF_ONE = [*CACHE, whole(PAST, PAST), np.array(PAST + 1, np.int32)]
GROUPS = {"num_heads": HEADS, "kv_num_heads": SHARED}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"do_rotary": 1},
        {"do_rotary": 1, "rotary_interleaved": 1},
        {"local_window_size": 3},
        {"softcap": 2.0},
        {"smooth_softmax": 1},
        {"scale": 0.2},
    ],
    ids=str,
)
def test_one_more_position_behind_a_cache(options: dict[str, Any]) -> None:
    tables = TABLES if "do_rotary" in options else []
    inputs = [*ONE, *OF_ONE, *tables]
    check("GroupQueryAttention", inputs, {**GROUPS, **options}, 3, by=(0, 1, 2, 3, 4))


def test_rows_of_different_lengths() -> None:
    lengths = [*CACHE, whole(3, PAST), np.array(PAST + 1, np.int32)]
    inputs = [*ONE, *lengths, *TABLES]
    check("GroupQueryAttention", inputs, {**GROUPS, "do_rotary": 1}, 1 + 2, by=(0, 1, 2, 3, 4))


def test_several_positions_behind_a_cache() -> None:
    first = [x[:1] for x in (*PROMPT, *CACHE)]
    inputs = [*first, whole(PAST + LENGTH - 1), np.array(PAST + LENGTH, np.int32), *TABLES]
    check("GroupQueryAttention", inputs, {**GROUPS, "do_rotary": 1}, 3, by=(0, 1, 2, 3, 4))


def test_prompts() -> None:
    check("GroupQueryAttention", [*PROMPT, *OF_PROMPT], GROUPS, 3, by=(0, 1, 2))
    packed = drawn(BATCH, LENGTH, (HEADS + 2 * SHARED) * SIZE)
    inputs = [packed, None, None, *OF_PROMPT, *TABLES]
    check("GroupQueryAttention", inputs, {**GROUPS, "do_rotary": 1}, 3)
    bias, sink = drawn(BATCH, HEADS, LENGTH, LENGTH), drawn(HEADS)
    inputs = [*PROMPT, *OF_PROMPT, None, None, None, bias, sink]
    check("GroupQueryAttention", inputs, GROUPS, 1, by=(0, 1, 2, 10, 11))


KEYS = [drawn(BATCH, 5, HEADS * SIZE) for _ in range(2)]
QUERIES = drawn(BATCH, LENGTH, HEADS * SIZE)


@pytest.mark.parametrize(
    ("rest", "options", "outputs", "by"),
    [
        (KEYS, {}, 1, (0, 1, 2)),
        ([*KEYS, drawn(3 * HEADS * SIZE)], {}, 1, (0, 1, 2, 3)),
        ([*KEYS, None, np.tri(BATCH, 5, 2, dtype=np.int32)], {}, 1, (0, 1, 2)),
        ([*KEYS, None, whole(3, 5)], {}, 1, (0, 1, 2)),
        ([*KEYS, None, None, drawn(1, HEADS, LENGTH, 5)], {}, 1, (0, 1, 2, 5)),
        (
            [drawn(BATCH, HEADS, 5, SIZE), drawn(BATCH, HEADS, 5, SIZE)],
            {"scale": 0.3},
            1,
            (0, 1, 2),
        ),
        (
            [QUERIES[::-1].copy(), QUERIES * 2, *[None] * 3, *[drawn(BATCH, HEADS, 2, SIZE)] * 2],
            {"unidirectional": 1},
            3,
            (0, 1, 2, 6, 7),
        ),
    ],
    ids=["plain", "bias", "mask", "lengths", "added", "in heads", "past"],
)
def test_multi_head_attention(rest: Any, options: Any, outputs: int, by: Any) -> None:
    check("MultiHeadAttention", [QUERIES, *rest], {"num_heads": HEADS, **options}, outputs, by)


ROWS, WEIGHTS, BIAS = drawn(BATCH, LENGTH, 8), drawn(8, 96) * 0.2, drawn(96)


@pytest.mark.parametrize(
    ("rest", "options", "outputs", "by"),
    [
        ([], {}, 1, (0, 1, 2)),
        ([np.array([[1, 1, 0], [1, 1, 1]], np.int32)], {}, 1, (0, 1, 2)),
        ([np.ones((2, 3, 3), np.int32)], {}, 1, (0, 1, 2)),
        ([whole(2, 3)], {}, 1, (0, 1, 2)),
        ([whole(2, 3, 0, 1)], {}, 1, (0, 1, 2)),
        ([None, drawn(2, BATCH, HEADS, 4, 8)], {"unidirectional": 1}, 2, (0, 1, 2, 4)),
        ([None, None, drawn(BATCH, HEADS, 3, 3)], {"qkv_hidden_sizes": [16, 16, 64]}, 1, (0, 5)),
    ],
    ids=["plain", "mask", "mask of pairs", "ends", "starts", "past", "sizes"],
)
def test_attention(rest: Any, options: Any, outputs: int, by: Any) -> None:
    inputs = [ROWS, WEIGHTS, BIAS, *rest]
    check("Attention", inputs, {"num_heads": HEADS, **options}, outputs, by)


@pytest.mark.parametrize(
    ("x", "positions", "options"),
    [
        (drawn(BATCH, LENGTH, HEADS * SIZE), np.array([[0, 1, 2], [3, 4, 5]]), {}),
        (drawn(BATCH, HEADS, LENGTH, SIZE), np.array([[0, 1, 2], [7, 4, 5]]), {"interleaved": 1}),
        (
            drawn(BATCH, LENGTH, HEADS * 24),
            np.array([2]),
            {"num_heads": HEADS, "rotary_embedding_dim": SIZE},
        ),
    ],
    ids=["flat", "interleaved", "part"],
)
def test_rotary_embedding(x: Any, positions: Any, options: Any) -> None:
    check("RotaryEmbedding", [x, positions, *TABLES], options, by=(0, 2, 3))


def test_what_has_no_formula_is_said_when_it_is_differentiated() -> None:
    inputs = [drawn(BATCH, LENGTH, 32), drawn(32, 192), drawn(192), None]
    options = {"num_heads": 4, "do_rotary": 1}
    model = tf.import_onnx(model_of("Attention", inputs, options))
    x = tf.constant(inputs[0])
    with tf.GradientTape() as tape, pytest.raises(tf.errors.UnimplementedError, match="do_rotary"):
        tape.watch(x)
        given = [tf.constant(v) for v in inputs[1:3]]
        tape.gradient(model(x, *given), x)


def test_second_derivatives_and_batches() -> None:
    proto = model_of("MultiHeadAttention", [QUERIES, *KEYS], {"num_heads": HEADS})
    model = tf.import_onnx(proto)
    q, k, v = (tf.constant(x) for x in (QUERIES, *KEYS))
    with tf.GradientTape() as outer:
        outer.watch(q)
        with tf.GradientTape() as tape:
            tape.watch(q)
            loss = tf.reduce_sum(model(q, k, v) ** 2)
        slope = tape.gradient(loss, q)
    assert float(tf.reduce_max(tf.abs(outer.gradient(slope, q)))) > 0
    many = tf.stack([q, 2.0 * q])
    found = tf.vectorized_map(lambda x: model(x, k, v), many)
    np.testing.assert_allclose(found[1], model(2.0 * q, k, v), rtol=1e-4, atol=1e-5)
