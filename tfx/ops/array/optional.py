"""Rules of ``Optional`` and ``OptionalGetElement``, for imported models."""

from __future__ import annotations

from tfx.framework.rules import gradient, no_gradient
from tfx.ops.common.batching import batching, unchanged
from tfx.ops.math.cast import handed_back

# What is wrapped stays what it is.
gradient("Optional", "OptionalGetElement")(handed_back)
batching("Optional", "OptionalGetElement")(unchanged)


no_gradient("OptionalHasElement", why="a boolean")
