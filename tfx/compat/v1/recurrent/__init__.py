"""TensorFlow 1's recurrent networks: cells, and what runs them over sequences."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(__name__, {}, submodules=("rnn_cell",))
