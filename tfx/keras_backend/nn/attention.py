"""Scaled dot product attention of many heads."""

from __future__ import annotations

import math
from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, shape
from tfx.keras_backend.nn.arguments import together


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: Any = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Any:
    """Means of the values, weighted by how well their keys fit the queries.

    Args:
        query: ``[batch, places, heads, size]``.
        key: The same, for other places; heads may be fewer, and then serve several of the queries.
        value: For the places and heads of the keys.
        bias: Added to the scores ``[batch, heads, query places, key places]``.
        mask: Where scores count, of that shape. Where none does, all count alike.
        scale: Factor of the scores; one over the root of ``size`` by default.
        is_causal: Only the keys at a query's place and before count.
        flash_attention: Use ONNX's ``Attention``, which some devices have one kernel for.
        attn_logits_soft_cap: Must be None.

    Raises:
        ValueError: another rank, or a cap.
    """
    if attn_logits_soft_cap is not None:
        raise ValueError("`attn_logits_soft_cap` is not supported with the tfx backend.")
    query, key, value = together(query, key, value)
    if query.shape.rank != 4:
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. Received: "
            f"query.shape={query.shape}, key.shape={key.shape}, value.shape={value.shape}."
        )
    scale = _one_over_root(query) if scale is None else convert_to_tensor(scale, query.dtype)
    # The queries are scaled, and not the scores, which are more.
    query = query * scale
    counts = _counts(mask, is_causal, query, key)
    compute = _in_one_node if flash_attention else _in_steps
    return compute(query, key, value, bias, counts)


def _in_steps(query: Any, key: Any, value: Any, bias: Any, counts: Any) -> Any:
    heads, others = query.shape[2], key.shape[2]
    grouped = heads != others
    if None in (heads, others):
        # How many heads share keys is for a run to tell: each gets a copy.
        grouped = False
        sharing = tf.truncatediv(tf.shape(query)[2], tf.shape(key)[2])
        key, value = tf.repeat(key, sharing, axis=2), tf.repeat(value, sharing, axis=2)
    if grouped:
        # The heads that share keys, on an axis of their own; 0 is the size that there is.
        query = tf.raw.Reshape(query, tf.constant([0, 0, others, heads // others, -1], tf.int64))
    scores = tf.einsum("btkgh,bskh->bkgts" if grouped else "btkh,bskh->bkts", query, key)
    wide = tf.float32 if scores.dtype.size < 4 else scores.dtype
    scores = tf.cast(scores, wide)
    if bias is not None:
        bias = convert_to_tensor(bias, wide.name)
        scores = scores + (_of_groups(bias, others) if grouped else bias)
    if counts is not None:
        counts = _of_groups(counts, others) if grouped else counts
        scores = tf.where(counts, scores, _least(wide))
    weights = tf.cast(tf.nn.softmax(scores), value.dtype)
    if not grouped:
        return tf.einsum("bkts,bskh->btkh", weights, value)
    means = tf.einsum("bkgts,bskh->btkgh", weights, value)
    return tf.raw.Reshape(means, tf.constant([0, 0, heads, -1], tf.int64))


def _of_groups(x: Any, groups: int) -> Any:
    """What broadcasts to the scores of all heads, for scores with the heads in groups."""
    if x.shape.rank < 3:
        return x
    if x.shape[-3] == 1:
        return tf.expand_dims(x, -3)
    *batch, heads, places, keys = shape(x)
    return tf.reshape(x, [*batch, groups, heads // groups, places, keys])


def _in_one_node(query: Any, key: Any, value: Any, bias: Any, counts: Any) -> Any:
    added = None if bias is None else convert_to_tensor(bias, query.dtype)
    if counts is not None:
        # A number and not a truth value: rows in which none counts are means here, too.
        none = tf.zeros([], query.dtype) if added is None else added
        added = tf.where(counts, none, _least(query.dtype))
    if added is not None:
        sizes = [shape(query)[0], shape(query)[2], shape(query)[1], shape(key)[1]]
        added = tf.broadcast_to(added, sizes)
    q, k, v = [tf.transpose(x, [0, 2, 1, 3]) for x in (query, key, value)]
    if counts is not None:
        # Where none counts, the result does not depend on the query nor on the keys.
        q = tf.where(tf.reduce_any(counts, -1, keepdims=True), q, tf.zeros([], q.dtype))
    # 1 is float32: what the softmax is computed in.
    means = tf.raw.Attention(q, k, v, added, scale=1.0, softmax_precision=1, n_outputs=1)
    return tf.transpose(means, [0, 2, 1, 3])


def _one_over_root(query: Any) -> Any:
    size = shape(query)[-1]
    if isinstance(size, int):
        return tf.constant(1 / math.sqrt(size), query.dtype)
    return tf.math.rsqrt(tf.cast(size, query.dtype))


def _least(dtype: Any) -> Any:
    """Far below every score, and finite: of equal numbers softmax makes equal shares."""
    limit = tf.float16.max if dtype == "float16" else tf.float32.max
    return tf.constant(-0.7 * float(limit), dtype)


def _counts(mask: Any, is_causal: bool, query: Any, key: Any) -> Any:
    """Which scores count; None if all do."""
    if mask is not None:
        mask = convert_to_tensor(mask, "bool")
    if not is_causal:
        return mask
    causal = tf.range(shape(query)[1])[:, None] >= tf.range(shape(key)[1])
    return causal if mask is None else tf.logical_and(mask, causal)
