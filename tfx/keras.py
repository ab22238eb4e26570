"""``tfx.keras``: Keras 3 itself, running on tfx.

Importing this configures Keras for the backend ``tfx`` and becomes the package ``keras``: the same
objects, under both names. Needs the extra ``tfx-onnx[keras]``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tfx.keras_hook import import_keras

if TYPE_CHECKING:  # Keras has no types.

    def __getattr__(name: str) -> Any: ...


# What `import tfx.keras` gives, and what `tfx.keras` is from now on.
sys.modules[__name__] = import_keras()
