"""How many there are: a negative number is refused now, or by the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError

BOXES = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 3.0]], np.float32)
CASES: dict[str, Callable[[Any], Any]] = {
    "unsorted_segment_sum": lambda n: tf.math.unsorted_segment_sum(tf.ones([2, 3]), [0, 0], n),
    "linspace": lambda n: tf.linspace(0.0, 1.0, n),
    "repeat": lambda n: tf.repeat([[1.0, 2.0]], n, axis=0),
    "bincount": lambda n: tf.math.bincount([1, 2], maxlength=n),
    "categorical": lambda n: tf.random.categorical(tf.ones([1, 2]), n),
    "suppression": lambda n: tf.image.non_max_suppression(BOXES, [0.5, 0.9], n),
}


@pytest.mark.parametrize("f", CASES.values(), ids=CASES)
def test_a_negative_number(f: Callable[[Any], Any]) -> None:
    signature = [tf.TensorSpec([], tf.int32)]
    run_knows = tf.function(f, autograph=False, input_signature=signature)
    run_knows(tf.constant(2))  # a number that makes sense is taken
    trace_knows = tf.function(lambda _: f(-5), autograph=False)
    for call in (f, trace_knows, run_knows):
        with pytest.raises(InvalidArgumentError, match=r"non-negative|must be one number"):
            call(tf.constant(-5))


@pytest.mark.parametrize("number", [1.5, "2", True], ids=["float", "text", "bool"])
def test_what_is_no_integer(number: Any) -> None:
    for error in (InvalidArgumentError, TypeError):
        with pytest.raises(error, match="Expected integers"):
            tf.math.unsorted_segment_sum(tf.ones([2, 3]), [0, 0], number)
        with pytest.raises(error, match="Expected integers"):
            tf.repeat([[1.0, 2.0]], number, axis=0)
