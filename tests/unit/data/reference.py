"""A naive model of pipelines: lists, one element after the other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tfx as tf

Dataset = tf.data.Dataset


def plain(element: Any) -> Any:
    """An element as Python values."""
    if isinstance(element, Dataset):
        return [plain(x) for x in element]
    if isinstance(element, dict):
        return {key: plain(x) for key, x in element.items()}
    if isinstance(element, tuple):
        return tuple(plain(x) for x in element)
    found = None if element is None else element.numpy()
    return found.tolist() if hasattr(found, "tolist") else found


def values(dataset: Any) -> list[Any]:
    """The elements of a dataset, or the rest of those of an iterator, as Python values."""
    return [plain(x) for x in dataset]


def batches(items: list[int], size: int, drop: bool) -> list[list[int]]:
    found = [items[i : i + size] for i in range(0, len(items), size)]
    return [b for b in found if len(b) == size or not drop]


def joined(parts: list[list[int]]) -> list[int]:
    return [x for part in parts for x in part]


small = st.integers(0, 7)
positive = st.integers(1, 5)


def _wide(x: int) -> list[int]:
    return [x] * (x % 3)


# Each step: what it does to a dataset, and to a list of integers.
STEPS: dict[str, Any] = {
    "take": st.builds(lambda n: (lambda d: d.take(n), lambda v: v[:n]), small),
    "skip": st.builds(lambda n: (lambda d: d.skip(n), lambda v: v[n:]), small),
    "repeat": st.builds(lambda n: (lambda d: d.repeat(n), lambda v: v * n), st.integers(0, 3)),
    "shard": st.builds(
        lambda n, i: (lambda d: d.shard(n, i % n), lambda v: v[i % n :: n]), positive, small
    ),
    "map": st.builds(
        lambda k: (lambda d: d.map(lambda x: x + k), lambda v: [x + k for x in v]), small
    ),
    "parallel": st.just(
        (lambda d: d.map(lambda x: x * 2, num_parallel_calls=2), lambda v: [x * 2 for x in v])
    ),
    "filter": st.builds(
        lambda k: (
            lambda d: d.filter(lambda x: x % 3 != k),
            lambda v: [x for x in v if x % 3 != k],
        ),
        st.integers(0, 2),
    ),
    "take_while": st.builds(
        lambda k: (
            lambda d: d.take_while(lambda x: x < k),
            lambda v: list(itertools.takewhile(lambda x: x < k, v)),
        ),
        st.integers(0, 20),
    ),
    "concatenate": st.builds(
        lambda n: (lambda d: d.concatenate(Dataset.range(n)), lambda v: v + list(range(n))), small
    ),
    "rebatched": st.builds(
        lambda n, m, drop: (
            lambda d: d.batch(n, drop).rebatch(m, drop).unbatch(),
            lambda v: joined(batches(joined(batches(v, n, drop)), m, drop)),
        ),
        positive,
        positive,
        st.booleans(),
    ),
    "windows": st.builds(
        lambda n, s: (
            lambda d: d.window(n, s).flat_map(lambda w: w),
            lambda v: [x for i in range(0, len(v), s) for x in v[i : i + n]],
        ),
        positive,
        positive,
    ),
    "flat_map": st.just(
        (
            lambda d: d.flat_map(lambda x: Dataset.from_tensors(x).repeat(x % 3)),
            lambda v: [y for x in v for y in _wide(x)],
        )
    ),
    "scan": st.just(
        (
            lambda d: d.scan(np.int64(0), lambda s, x: (s + x, s + x)),
            lambda v: list(itertools.accumulate(v)),
        )
    ),
    "unique": st.just((lambda d: d.unique(), lambda v: list(dict.fromkeys(v)))),
    "enumerate": st.just(
        (
            lambda d: d.enumerate().map(lambda i, x: i + x),
            lambda v: [i + x for i, x in enumerate(v)],
        )
    ),
    "cache": st.just((lambda d: d.cache(), list)),
    "prefetch": st.builds(lambda n: (lambda d: d.prefetch(n), list), st.integers(0, 3)),
    "one shuffle": st.just((lambda d: d.shuffle(1), list)),
}
steps = st.lists(st.sampled_from(sorted(STEPS)).flatmap(STEPS.__getitem__), max_size=4)
# Of which the order is not known before; one seed, one order.
shuffles = st.builds(
    lambda size, seed: (lambda d: d.shuffle(size, seed=seed), sorted),
    st.integers(1, 12),
    st.integers(0, 3),
)
