"""The cache of eager kernels, filled, emptied and asked by several threads at once."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
import pytest

import tfx as tf
from tfx.framework import apply

CALLS = {
    "add": lambda x: x + x,
    "product": lambda x: x * x,
    "sum": lambda x: tf.reduce_sum(x, axis=0),
    "mean": lambda x: tf.reduce_mean(x, axis=1),
    "transpose": lambda x: tf.transpose(x),
    "reshape": lambda x: tf.reshape(x, [-1]),
    "concat": lambda x: tf.concat([x, x], 0),
    "tanh": lambda x: tf.tanh(x),
    "gather": lambda x: tf.gather(x, [1, 0]),
    "cast": lambda x: tf.cast(x, tf.float64),
    "softmax": lambda x: tf.nn.softmax(x),
    "tile": lambda x: tf.tile(x, [2, 1]),
}


class Closing(apply.Kernel):
    """It lets other threads run while it is closed, as large sessions do."""

    def __del__(self) -> None:
        time.sleep(0.002)


@pytest.fixture
def small_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nearly every call makes a kernel and drops another; threads take turns often."""
    monkeypatch.setattr(apply, "KERNEL_CACHE_SIZE", 3)
    monkeypatch.setattr(apply, "_kernels", OrderedDict())
    monkeypatch.setattr(apply, "Kernel", Closing)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_kernels_of_many_threads(small_cache: None) -> None:
    x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3) / 4)
    expected = {name: call(x).numpy() for name, call in CALLS.items()}
    start, wrong = threading.Barrier(8), []

    def work(seed: int) -> None:
        order = [*CALLS] * 4
        random.Random(seed // 4).shuffle(order)  # some make the same kernels at the same moment
        start.wait()
        for name in order:
            try:
                np.testing.assert_array_equal(CALLS[name](x).numpy(), expected[name])
            except Exception as e:
                wrong.append(f"{name}: {e!r}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == []
    assert apply.kernel_count() <= 3
    # What is left is whole: each can be dropped by name and by age.
    for name, call in CALLS.items():
        np.testing.assert_array_equal(call(x).numpy(), expected[name])
