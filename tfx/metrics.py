"""``tfx.metrics``: Keras' metrics, as ``tf.metrics`` are in TensorFlow.

The same module as ``tfx.keras.metrics``; needs the extra ``tfx-onnx[keras]``.
"""

from __future__ import annotations

import sys
from typing import Any

from tfx.keras_hook import face_for_tensorflow


def __getattr__(name: str) -> Any:
    """A name, for whoever holds this module itself: importers that do not ask ``sys.modules``."""
    return getattr(face_for_tensorflow().metrics, name)


# What `import tfx.metrics` gives, and what `tfx.metrics` is from now on.
sys.modules[__name__] = face_for_tensorflow().metrics
