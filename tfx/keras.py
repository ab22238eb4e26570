"""``tfx.keras``: Keras 3 itself, running on tfx.

Importing this configures Keras for the backend ``tfx`` and becomes the face of Keras that is
``tf.keras`` in TensorFlow: the objects of the package ``keras``, and names that only older programs
use, such as ``tf.keras.losses.mse`` or ``tf.keras.backend.mean``. Needs ``tfx-onnx[keras]``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tfx.keras_hook import face_for_tensorflow

if TYPE_CHECKING:  # Keras has no types.

    def __getattr__(name: str) -> Any: ...


# What `import tfx.keras` gives, and what `tfx.keras` is from now on.
sys.modules[__name__] = face_for_tensorflow()
