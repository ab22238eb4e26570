"""The zoo's own source on TensorFlow: ``tfx`` is another name of ``tensorflow`` in this process.

The models are written with TensorFlow's names, so the peer runs the same files. What it does not
have is here: names of unknown sizes in a ``TensorSpec``, and ONNX's operator ``LSTM``, for which it
has the loop that a TensorFlow program has.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from bench.peers.environments import ROOT


def use_tensorflow(tf: Any) -> Any:
    """Let ``import tfx`` give TensorFlow, and ``tfx.model_zoo`` the zoo's files.

    Args:
        tf: ``tensorflow``.

    Returns:
        What stands for ``tfx``.
    """

    def spec(shape: Sequence[Any], dtype: Any = tf.float32, name: str | None = None) -> Any:
        sizes = [None if isinstance(size, str) else size for size in shape]
        return tf.TensorSpec(sizes, dtype, name)

    def lstm(x: Any, w: Any, r: Any, b: Any, _: None, h: Any, c: Any, **attrs: Any) -> Any:
        return _lstm(tf, x, w[0], r[0], b[0], h[0], c[0], attrs["hidden_size"])

    stand_in = ModuleType("tfx")
    stand_in.__dict__.update(
        __path__=[],
        __getattr__=lambda name: getattr(tf, name),
        TensorSpec=spec,
        raw=SimpleNamespace(LSTM=lstm),
    )
    zoo = ModuleType("tfx.model_zoo")
    zoo.__path__ = [str(ROOT / "model_zoo")]
    sys.modules["tfx"] = stand_in
    sys.modules["tfx.model_zoo"] = zoo
    return stand_in


def _lstm(tf: Any, x: Any, w: Any, r: Any, b: Any, h: Any, c: Any, units: int) -> Any:
    """ONNX's LSTM of one direction: its gates are input, output, forget, cell."""
    time = tf.shape(x)[0]
    given = tf.matmul(x, w, transpose_b=True) + b[: 4 * units] + b[4 * units :]

    def body(t: Any, h: Any, c: Any, ys: Any) -> Any:
        z = given[t] + tf.matmul(h, r, transpose_b=True)
        i, o, f, g = tf.split(z, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return t + 1, h, c, ys.write(t, h)

    rows = tf.TensorArray(tf.float32, time, element_shape=h.shape)
    _, h, c, rows = tf.while_loop(lambda t, *_: t < time, body, (0, h, c, rows))
    return rows.stack()[:, None], h[None], c[None]
