"""Operations on types of the user's own, in a process of its own: functions are replaced."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import tfx as tf

PROGRAM = """
    from typing import Union

    import tfx as tf

    class Masked(tf.experimental.ExtensionType):
        values: tf.Tensor
        mask: tf.Tensor

    def plain(m):
        return m.values.numpy().tolist(), m.mask.numpy().tolist()

    a = Masked([1, -2, 3], [True, True, False])
    b = Masked([10, 20, 30], [True, False, True])

    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api, x):
        return Masked(api(x.values), x.mask)

    @tf.experimental.dispatch_for_binary_elementwise_apis(Masked, Union[Masked, int])
    def binary(api, x, y):
        y = y if isinstance(y, Masked) else Masked(y, True)
        return Masked(api(x.values, y.values), x.mask & y.mask)

    @tf.experimental.dispatch_for_api(tf.stack)
    def stack(values: list[Masked], axis=0):
        return Masked(
            tf.stack([v.values for v in values], axis), tf.stack([v.mask for v in values], axis)
        )

    @tf.experimental.dispatch_for_api(tf.shape, {"input": Masked})
    def shape(input, out_type=tf.int32, name=None):
        return tf.shape(input.values, out_type=out_type)

    @tf.experimental.dispatch_for_binary_elementwise_assert_apis(Masked, Masked)
    def check(api, x, y):
        api(x.values, y.values)

    assert plain(tf.abs(a)) == plain(tf.math.abs(a)) == ([1, 2, 3], [True, True, False])
    assert plain(tf.cast(a, tf.float32)) == ([1.0, -2.0, 3.0], [True, True, False])
    assert plain(tf.ones_like(a, dtype=tf.int64)) == ([1, 1, 1], [True, True, False])
    assert int(tf.abs(-3)) == 3
    assert plain(tf.add(a, b)) == ([11, 18, 33], [True, False, False])
    assert plain(tf.math.multiply(a, 2)) == ([2, -4, 6], [True, True, False])
    assert int(tf.add(1, 2)) == 3
    assert plain(tf.stack([a, b]))[0] == [[1, -2, 3], [10, 20, 30]]
    assert tf.stack([1, 2]).numpy().tolist() == [1, 2]
    assert tf.shape(a).numpy().tolist() == [3]
    f = tf.function(lambda x, y: tf.abs(tf.add(x, y)))
    named = tf.function(lambda x: tf.nn.relu(tf.abs(x, name="size")))
    operations = named.get_concrete_function(tf.TensorSpec([])).graph.get_operations()
    names = [op.name for op in operations]
    assert "size" in names and "Relu" in names, names
    assert plain(f(a, b)) == ([11, 18, 33], [True, False, False])
    tf.debugging.assert_less(a, b)
    try:
        tf.debugging.assert_less(b, a)
    except tf.errors.InvalidArgumentError:
        pass
    else:
        raise AssertionError
    tf.experimental.unregister_dispatch_for(shape)
    for call in (
        lambda: tf.shape(a),
        lambda: tf.experimental.unregister_dispatch_for(shape),
        lambda: tf.experimental.dispatch_for_api(len),
        lambda: tf.experimental.dispatch_for_api(tf.abs, {"zz": Masked})(print),
    ):
        try:
            call()
        except (TypeError, ValueError):
            continue
        raise AssertionError
    print("done")
"""


def test_dispatch() -> None:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.strip() == "done", result.stderr


def test_functions_handed_to_operations_that_look_for_ragged_tensors_are_converted():
    tf.ragged.constant([[1.0], []])  # from here on they look

    def positive_part(q):
        if q > 0.0:
            return q
        return q * 0.0

    @tf.function
    def mapped(v):
        return tf.map_fn(positive_part, v), tf.nest.map_structure(positive_part, v[0])

    found, first = mapped(tf.constant([1.5, -2.0]))
    assert found.numpy().tolist() == [1.5, 0.0]
    assert float(first) == 1.5


_EXAMPLES = """
import doctest, sys
from tfx.experimental import dispatch
parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
for name in ("dispatch_for_api", "dispatch_for_unary_elementwise_apis"):
    text = getattr(dispatch, name).__doc__
    assert "+SKIP" in text
    test = parser.get_doctest(text.replace("# doctest: +SKIP", ""), {}, name, None, 0)
    runner.run(test)
sys.exit(runner.summarize().failed)
"""


def test_the_examples_of_the_docstrings_run_in_a_program_of_their_own() -> None:
    # Among other programs in one process their last lines can fail: they are skipped there.
    run = subprocess.run(
        [sys.executable, "-c", _EXAMPLES], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
