"""Which objects are saved, once each, and under which paths; see saved_model/test_attributes.py."""

from __future__ import annotations

from typing import Any

import tfx as tf
from tests.unit.saved_model.models import Dense, Trainer, batch
from tfx.exporters.object_graph import ObjectGraph


def kinds(graph: ObjectGraph) -> dict[str, str]:
    ids = {id(v): i for i, (v, _) in enumerate(graph.variables.values())}
    functions = {id(f): i for i, (f, _) in enumerate(graph.functions)}
    nodes = graph.nodes(ids, functions, lambda tensor, path: 0)
    return {path: node.kind for path, node in zip(graph.paths, nodes, strict=True)}


def test_paths_are_the_shortest_and_readable() -> None:
    module = tf.Module("m")
    module.layers = [Dense(1, 2), Dense(2, 1)]
    module.a = tf.Module()
    module.a.b = module.layers[1]
    module.table = {"x/y": tf.Variable(1.0), 3: tf.Variable(2.0)}
    paths = [path for _, path in ObjectGraph(module).variables.values()]
    assert sorted(paths) == [
        "a/b/b", "a/b/w", "layers/0/b", "layers/0/w", "table/3", "table/x%2Fy",
    ]  # fmt: skip


def test_kinds_of_nodes() -> None:
    module = tf.Module("m")
    module.items = [tf.Variable(1.0), (tf.constant(1.0), {"f": tf.function(lambda x: x)})]
    module.data = {"plain": [1, 2]}
    found = kinds(ObjectGraph(module))
    assert found == {
        "": "object",
        "_name": "value",
        "data": "value",
        "items": "list",
        "items/0": "variable",
        "items/1": "tuple",
        "items/1/0": "constant",
        "items/1/1": "dict",
        "items/1/1/f": "function",
    }


def test_equal_scalars_share_a_node_and_different_ones_do_not() -> None:
    module = tf.Module("m")
    module.children = [tf.Module("m") for _ in range(100)]
    module.v = tf.Variable(0.0)
    module.numbers = [0, 0.0, -0.0, False, None, "0", b"0", module.v]
    graph = ObjectGraph(module)
    assert len(graph.items) < 115
    values = [node.value for node in graph.nodes({id(module.v): 0}, {}, lambda t, p: 0)
              if node.kind == "value"]  # fmt: skip
    assert sorted(map(repr, values)) == sorted(
        map(repr, ["m", 0, 0.0, -0.0, False, None, "0", b"0"])
    )


def test_slots_are_dicts_with_the_variables_paths() -> None:
    model = Trainer()
    model.train_step(*batch())
    graph = ObjectGraph(model)
    paths = {path for _, path in graph.variables.values()}
    assert {"optimizer/m/w", "optimizer/v/b", "optimizer/iterations"} <= paths
    assert "optimizer/m" in graph.paths
    assert "optimizer/m/w" in graph.paths


def test_functions_and_traced_methods_are_found_once() -> None:
    layer = Dense(1, 2)
    layer.call = layer.__call__
    layer.same = [layer.call]
    graph = ObjectGraph(layer)
    assert [path for _, path in graph.functions] == ["__call__"]


def test_names_with_a_meaning_to_python_are_left_out() -> None:
    class Odd(tf.Module):
        @tf.function
        def __getitem__(self, key: Any) -> Any:
            return key

        @tf.function
        def __call__(self, x: Any) -> Any:
            return x

    odd = Odd()
    odd.__doc__ = "x"
    odd._self_setting = 1
    graph = ObjectGraph(odd)
    assert sorted(graph.paths) == ["", "__call__", "_name"]
