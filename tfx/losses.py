"""``tfx.losses``: Keras' losses, as ``tf.losses`` are in TensorFlow.

The same module as ``tfx.keras.losses``; needs the extra ``tfx-onnx[keras]``.
"""

from __future__ import annotations

import sys
from typing import Any

from tfx.keras_hook import face_for_tensorflow


def __getattr__(name: str) -> Any:
    """A name, for whoever holds this module itself: importers that do not ask ``sys.modules``."""
    return getattr(face_for_tensorflow().losses, name)


# What `import tfx.losses` gives, and what `tfx.losses` is from now on.
sys.modules[__name__] = face_for_tensorflow().losses
