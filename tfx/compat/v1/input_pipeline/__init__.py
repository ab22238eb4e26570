"""Input pipelines of TensorFlow 1: readers and queues that threads fill while sessions take."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(__name__, {}, submodules=("queue_runner",))
