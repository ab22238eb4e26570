"""Python control flow on tensors: ``tf.autograph``.

``tfx.function`` converts the functions that it traces by itself; the names here convert by hand,
leave functions alone, and set options of loops.
"""

from __future__ import annotations

from tfx.autograph import experimental as experimental
from tfx.autograph.api import to_code as to_code
from tfx.autograph.api import to_graph as to_graph
from tfx.autograph.verbosity import set_verbosity as set_verbosity
from tfx.autograph.verbosity import trace as trace
from tfx.core.namespaces import complete as _complete

_complete(__name__, "experimental")
