"""The calls in tfx."""

from __future__ import annotations

import tfx as tf
from bench.peers import tensorflow_calls, worker

MAKERS = tensorflow_calls.makers(tf)

if __name__ == "__main__":
    worker.serve("tfx", tf.__version__, MAKERS)
