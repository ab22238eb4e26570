"""Results are put together as ``nest.pack_sequence_as`` does it, from any order of outputs."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import pytest

import tfx as tf
from tfx.core import nest
from tfx.function.execution.result_packing import result_packer, unique_outputs


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass
class Box:
    corner: Any
    note: Any = None


T = tf.constant(0.0)


@pytest.mark.parametrize(
    "results",
    [
        T,
        None,
        [],
        {},
        [T, T],
        (T, None, T),
        {"b": T, "a": [T, {"z": T, "y": None}]},
        {2: T, 1: (T,)},
        Pair({"k": T}, [T]),
        Box([T, T], Pair(T, None)),
        collections.OrderedDict([("b", T), ("a", T)]),
        [[], (), {}, T],
    ],
    ids=str,
)
def test_like_packing_leaf_by_leaf(results: Any) -> None:
    flat = nest.flatten(results, expand_composites=True)
    outputs = [tf.constant(float(i)) for i in range(len(flat) + 1)]
    places = [len(flat) - i for i, x in enumerate(flat) if x is not None]
    numbers = iter(places)
    leaves = [None if x is None else outputs[next(numbers)] for x in flat]
    expected = nest.pack_sequence_as(results, leaves, expand_composites=True)
    raw, dtypes = [t._raw for t in outputs], [t.dtype for t in outputs]
    packed = result_packer(results, places)(raw, dtypes)
    assert type(packed) is type(expected)
    assert str(packed) == str(expected)


def test_each_value_is_computed_and_given_once() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        y = x * 2.0
        return {"a": y, "b": [y, v.assign_add(x)], "x": x}

    x = tf.constant(3.0)
    for n in range(3):
        result = f(x)
        assert [float(result["a"]), float(result["b"][0]), float(result["x"])] == [6.0, 6.0, 3.0]
        assert float(result["b"][1]) == float(v) == 4.0 + 3.0 * n
    graph = f.get_concrete_function(x).graph.graph
    single, places = unique_outputs(graph)
    assert len(graph.outputs) == 5
    assert [single.outputs[i] for i in places] == graph.outputs
    assert len(single.outputs) == len(set(single.outputs)) == 3
    assert unique_outputs(single) == (single, [0, 1, 2])
