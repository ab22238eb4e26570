"""``tfx.queue``: queues between threads."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.script_ops.queues import FIFOQueue as FIFOQueue
from tfx.script_ops.queues import PaddingFIFOQueue as PaddingFIFOQueue
from tfx.script_ops.queues import PriorityQueue as PriorityQueue
from tfx.script_ops.queues import QueueBase as QueueBase
from tfx.script_ops.queues import RandomShuffleQueue as RandomShuffleQueue

_complete(__name__)
