"""``tf.distribute.experimental``: names that strategies had before."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.distribute.one_device import TPUStrategy as TPUStrategy

_complete(__name__)
