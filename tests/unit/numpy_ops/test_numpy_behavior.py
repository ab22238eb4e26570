"""NumPy's methods, indices and dtypes on all tensors, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PROGRAM = """
    import numpy as np
    import tfx as tf
    import tfx.experimental.numpy as tnp

    try:
        tf.constant(1) + tf.constant(1.5)
    except tf.errors.InvalidArgumentError:
        pass
    else:
        raise AssertionError
    tnp.experimental_enable_numpy_behavior()
    x = np.arange(6.0).reshape(2, 3)
    t = tf.constant(x)
    assert (tf.constant([1]) + 1.5).dtype == tf.float64
    assert (tf.constant(1) + tf.constant(1.5)).dtype == tf.float64
    assert (tnp.ones([2], tnp.float32) + tnp.ones([2], tnp.int32)).dtype == tf.float64
    assert (tf.constant([1.0]) * 2).dtype == tf.float32
    for name, args in {
        "reshape": (-1,), "astype": (np.int32,), "ravel": (), "flatten": (), "max": (0,),
        "min": (), "mean": (1,), "clip": (1, 3), "transpose": (), "tolist": (),
    }.items():
        found, expected = getattr(t, name)(*args), getattr(x, name)(*args)
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected))
    assert t.T.shape == (3, 2) and t.size == 6 and t.data is t
    assert t.reshape(3, 2).shape == t.reshape([3, 2]).shape == [3, 2]
    assert t.transpose(1, 0).shape == [3, 2]
    rows = np.array([1, 0])
    for key in (
        [1, 0], (slice(None), [0, -1]), rows, x > 2, (rows, rows), (0, [2, 1]), (slice(1), 2), 1,
    ):
        np.testing.assert_array_equal(t[key].numpy(), x[key])
    np.testing.assert_array_equal(t[tf.constant([True, False])].numpy(), x[:1])
    wide = np.arange(120).reshape(2, 3, 4, 5)
    whole = slice(None)
    for key in (
        ([0, 1], [1, 2], whole), ([0, 1], whole, [1, 2]), (whole, [0, 1], [1, 2]), (..., [1, 0]),
        (..., [1, 0], [2, 3]), ([0], ..., [2, 3]), (None, [0, 1]), ([0, 1], None, [1, 1]),
        ([0, 1], slice(1, None), [1, -2]), (slice(1, None), [[0, 2], [1, 1]], slice(None, None, 2)),
        (np.array([True, False]), np.array([True, False, True])), wide > 50, ([1], [-1], 2, [0, 4]),
        (whole, np.array([[True, False, False, True]] * 3), [2]), (slice(1), wide[0, :, :, 0] > 20),
    ):
        np.testing.assert_array_equal(tf.constant(wide)[key].numpy(), wide[key], err_msg=str(key))
    pick = tf.function(lambda a, i: a[:, i, ..., i], input_signature=[
        tf.TensorSpec([None, None, None, None], tf.int64), tf.TensorSpec([None], tf.int32)])
    np.testing.assert_array_equal(
        pick(tf.constant(wide), [0, -1]).numpy(), wide[:, [0, -1], ..., [0, -1]])
    # Arrays say their dtype, Python's numbers do not.
    single = tf.constant([1.0, 2.0])
    for other in (np.ones(2), np.float64(2)):
        assert (single + other).dtype == (other * single).dtype == tf.float64
    assert (tf.constant([1, 2]) + np.arange(2)).dtype == tf.int64
    assert (single + 1.5).dtype == tf.float32
    assert t.astype(int).dtype == tf.int64
    assert int(tnp.arange(3) @ tnp.arange(3)) == 5
    f = tf.function(lambda a, b: a @ b.T + 1)
    np.testing.assert_allclose(f(t, t).numpy(), x @ x.T + 1)
    tnp.experimental_enable_numpy_behavior(prefer_float32=True)
    assert tnp.ones([1]).dtype == tf.float32 == tnp.array(1.5).dtype
    try:
        tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="strange")
    except ValueError as e:
        assert "strange" in str(e)
    print("done")
"""


def test_numpy_behavior() -> None:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.strip() == "done", result.stderr
