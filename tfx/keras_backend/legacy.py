"""TensorFlow's names as ``tf.keras.backend`` uses them, whose functions older programs call.

All but what is TensorFlow's own secret is tfx itself.
"""

from __future__ import annotations

from types import SimpleNamespace

import tfx as tf
from tfx.framework.tensor import EagerTensor
from tfx.keras_backend.text import __getattr__ as __getattr__

__internal__ = SimpleNamespace(
    EagerTensor=EagerTensor,
    eager_context=SimpleNamespace(eager_mode=tf.init_scope),
    tf2=SimpleNamespace(enabled=lambda: True),
)


def inside_function() -> bool:
    """True while a function is traced."""
    return not tf.executing_eagerly()
