"""Decoding one token a step, and how much of that is ours: beside a run of the session alone.

A decoder of ten million weights; each step reads and writes the cache, which is state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import tfx as tf
from bench.calls import raw_call
from bench.peers.worker import Case
from tfx.model_zoo.decoder.model import Decoder

_WIDTH, _HEADS, _DEPTH, _CONTEXT = 384, 6, 6, 128


@functools.cache
def _stepper() -> tuple[Any, Any, Any, int]:
    """The function of one step, its arguments, and how many weights there are."""
    model = Decoder(_WIDTH, _HEADS, _DEPTH, _CONTEXT)
    step = tf.function(
        lambda token, position: model.next_logits(token, position),
        input_signature=[tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.int32)],
    )
    count = sum(int(np.prod(v.shape)) for v in model.trainable_variables)
    token, position = tf.constant(5, tf.int64), tf.constant(64)
    for _ in range(10):
        step(token, position)
    return step, token, position, count


def _step() -> Case:
    step, token, position, count = _stepper()
    return Case(lambda: step(token, position), lambda _: float(count))


def _alone() -> Case:
    step, token, position, count = _stepper()
    return Case(raw_call(step, token, position), lambda _: float(count))


CASES: dict[str, Callable[[], Case]] = {"decode": _step, "decode_alone": _alone}
