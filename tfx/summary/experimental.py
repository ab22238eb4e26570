"""``tf.summary.experimental``."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.summary.recording import get_step as get_step
from tfx.summary.recording import set_step as set_step
from tfx.summary.recording import summary_scope as summary_scope
from tfx.summary.recording import write_raw_pb as write_raw_pb

_complete(__name__)
