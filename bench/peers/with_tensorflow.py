"""The calls in TensorFlow: ``tf.function``, and eager where a row says so."""

from __future__ import annotations

import tensorflow as tf

from bench.peers import tensorflow_calls, worker

MAKERS = tensorflow_calls.makers(tf)

if __name__ == "__main__":
    worker.serve("tensorflow", tf.__version__, MAKERS)
