"""Single texts among constants."""

from __future__ import annotations

import tfx as tf
from tfx.graph.string_constants import replaced_texts


def test_texts_are_found_in_bodies_and_called_functions_too() -> None:
    inner = tf.function(lambda: tf.constant("old"))

    @tf.function(input_signature=[tf.TensorSpec([], tf.bool)])
    def f(flag: tf.Tensor) -> object:
        branch = tf.cond(flag, lambda: tf.constant("old"), lambda: tf.constant("other"))
        return branch, inner(), tf.constant(["old"]), tf.constant("older")

    graph = f.get_concrete_function().graph.graph
    found = list(replaced_texts(graph, {"old": "new"}))
    assert len(found) >= 2
    assert {array[()] if isinstance(array[()], str) else array[()].decode()
            for _, array in found} == {"new"}  # fmt: skip
    assert all(value.const.shape == () for value, _ in found)
    assert list(replaced_texts(graph, {})) == []
