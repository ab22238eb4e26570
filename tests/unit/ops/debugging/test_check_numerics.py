"""``enable_check_numerics``: which operation, where, eagerly and in traced functions."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import tfx as tf
from tfx.framework.context import current

Invalid = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    tf.debugging.enable_check_numerics()
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()
    assert (current().tapes, current().traits) == ((), ())


def test_eager() -> None:
    with pytest.raises(Invalid) as caught:
        tf.math.log(tf.constant([0.0, -1.0, 2.0]))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(
        'Detected Infinity or NaN in output 0 of eagerly-executing op "Log" (# of outputs: 1) '
        "[test_check_numerics.py:"
    )
    assert lines[1:5] == [
        "  dtype: float32",
        "  shape: (3,)",
        "  # of -Inf elements: 1",
        "  # of NaN elements: 1",
    ]
    assert float(tf.math.log(tf.constant(1.0))) == 0.0
    # Moved, not made.
    assert tf.reshape(tf.constant([float("inf")]), []).shape.rank == 0


def test_functions() -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x)

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(tf.math.log(x)) + 1.0

    assert float(outer(tf.constant(1.0))) == 1.0
    with pytest.raises(Invalid, match=r'op "Log".* in outer\](.|\n)*Graph name: "outer"(.|\n)*Inf'):
        outer(tf.constant(0.0))
    with pytest.raises(
        Invalid, match=r'op "Sqrt".* in inner\](.|\n)*Graph name: "inner"(.|\n)*NaN'
    ):
        outer(tf.constant(0.5))
    tf.debugging.disable_check_numerics()
    assert str(float(outer(tf.constant(0.5)))) == "nan"
    assert outer.experimental_get_tracing_count() == 2


def test_gradients_in_functions() -> None:
    @tf.function
    def slope(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sqrt(x)
        return tape.gradient(y, x)

    assert float(slope(tf.constant(4.0))) == 0.25
    with pytest.raises(Invalid, match='op "Div"'):
        slope(tf.constant(0.0))


def test_only_this_thread() -> None:
    results: list[float] = []
    thread = threading.Thread(target=lambda: results.append(float(tf.math.log(tf.constant(0.0)))))
    thread.start()
    thread.join()
    assert results == [-float("inf")]


def test_not_inside_of_a_function() -> None:
    for switch in (tf.debugging.enable_check_numerics, tf.debugging.disable_check_numerics):
        with pytest.raises(ValueError, match="call it outside"):
            tf.function(lambda switch=switch: switch())()
