"""``tfx.losses``: Keras' losses, as ``tf.losses`` are in TensorFlow.

The same module as ``tfx.keras.losses``; needs the extra ``tfx-onnx[keras]``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tfx.keras_hook import face_for_tensorflow

if TYPE_CHECKING:  # Keras has no types.

    def __getattr__(name: str) -> Any: ...


# What `import tfx.losses` gives, and what `tfx.losses` is from now on.
sys.modules[__name__] = face_for_tensorflow().losses
