"""``python -m bench.keras.worker BACKEND [ONCE]``: a backend's side of the comparison.

Without ``ONCE`` it answers requests as ``bench.peers.worker`` says. With it, one number is printed
that a process can be asked for only once: ``import`` and ``first`` in seconds, ``memory`` in bytes.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.keras import models
from bench.peers import worker
from bench.peers.worker import Case


def _keras(backend: str) -> Any:
    if backend == "tfx":
        import tfx.keras  # noqa: F401 - chooses the backend
    import keras

    assert keras.backend.backend() == backend, keras.backend.backend()
    return keras


def _fit(keras: Any, name: str) -> Case:
    made = models.MODELS[name](keras)
    epoch = functools.partial(made.model.fit, batch_size=made.batch, verbose=0)
    return Case(lambda: epoch(made.x, made.y), lambda _: 0.0)


def _predict(keras: Any) -> Case:
    made = models.mlp(keras)
    return Case(lambda: made.model.predict(made.x, batch_size=128, verbose=0), lambda _: 0.0)


def _data(tf: Any) -> Case:
    data = models.images(tf)
    return Case(lambda: [None for _ in data], lambda _: 0.0)


def _fit_data(keras: Any, tf: Any) -> Case:
    data, model = models.images(tf), models.small_network(keras)
    return Case(lambda: model.fit(data, verbose=0), lambda _: 0.0)


def _fit_ready(keras: Any, tf: Any) -> Case:
    """The same steps with batches that are there already."""
    data, model = models.images(tf).cache(), models.small_network(keras)
    return Case(lambda: model.fit(data, verbose=0), lambda _: 0.0)


def _cases(backend: str, keras: Any) -> dict[str, Callable[[], Case]]:
    cases: dict[str, Callable[[], Case]] = {
        f"fit_{name}": functools.partial(_fit, keras, name) for name in models.MODELS
    }
    cases["predict"] = functools.partial(_predict, keras)
    if backend != "jax":
        tf = __import__("tfx" if backend == "tfx" else "tensorflow")
        cases["data"] = functools.partial(_data, tf)
        cases["fit_data"] = functools.partial(_fit_data, keras, tf)
        cases["fit_ready"] = functools.partial(_fit_ready, keras, tf)
    return cases


def _once(backend: str, what: str) -> float:
    started = time.perf_counter()
    keras = _keras(backend)
    if what == "import":
        return time.perf_counter() - started
    if what == "first":
        made = models.mlp(keras, steps=1)
        started = time.perf_counter()
        made.model.fit(made.x, made.y, batch_size=made.batch, verbose=0)
        return time.perf_counter() - started
    made = models.MODELS[what.removesuffix("_memory")](keras, steps=4)
    made.model.fit(made.x, made.y, batch_size=made.batch, epochs=2, verbose=0)
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024.0 for line in file if line.startswith("VmHWM"))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(_once(*sys.argv[1:]))
    else:
        found = _keras(sys.argv[1])
        worker.serve(sys.argv[1], found.__version__, _cases(sys.argv[1], found))
