"""``tf.version``: the version of tfx, which is not TensorFlow's.

A program that asks whether TensorFlow is new enough finds the version of this library.
"""

from __future__ import annotations

import platform as _platform

from tfx.core.namespaces import complete as _complete
from tfx.core.version import VERSION as VERSION

GIT_VERSION = f"v{VERSION}"
# Nothing of tfx is compiled; this is what compiled the Python that runs it.
COMPILER_VERSION = _platform.python_compiler()

_complete(__name__)
