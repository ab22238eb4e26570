"""Names of ONNX Runtime back to nodes, against a search through all of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tfx.function.inspection.profile_nodes import NodeNames
from tfx.graph.ir import Graph

_FLOAT = 1


def graph_of(names, name="step"):
    graph = Graph(name)
    x = graph.add_input("x", _FLOAT, (2,))
    for node in names:
        graph.add_node("Relu", [x], {}, [(_FLOAT, (2,))], name=node)
    return graph


def searched(names, text):
    """The name itself, else the first of the longest names that stand in the text as a word."""
    if text in names:
        return text
    found = [
        n for n in names if re.search(rf"(?<![A-Za-z0-9_]){re.escape(n)}(?![A-Za-z0-9]|_\d)", text)
    ]
    return max(found, key=len, default=None)


def test_words_of_fused_names(rng):
    stems = ["Add", "Add_1", "MatMul", "a/MatMul", "a/b/Add", "a/Add_12", "relu", "Add_x", "x.y"]
    names = NodeNames(graph_of(stems))
    texts = [*stems, "", "_", "nothing"]
    pieces = [*stems, "_", "/", "_1", "2", "Fusion", "/Scale/", "_token", " "]
    for _ in range(500):
        texts.append("".join(rng.choice(pieces, size=rng.integers(1, 5))))
    for text in texts:
        found = names.find(text)
        assert (None if found is None else found[1].name) == searched(stems, text), text


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("_inlfunc_inner_Relu", ("inner", "Relu")),
        ("_inlfunc_inner_2_Relu", ("inner_2", "Relu")),
        ("_inlfunc_outer__inlfunc_inner_token_7_Relu", ("inner", "Relu")),
        ("_inlfunc_inner_absent", None),
        ("_inlfunc_other_Relu", None),
    ],
)
def test_inlined_functions(text, place):
    main = graph_of(["Relu"], "main")
    x = main.inputs[0]
    for callee in (graph_of(["Relu"], "inner"), graph_of(["Relu"], "inner_2")):
        main.add_node("Call", [x], {"graph": callee}, [(_FLOAT, (2,))], name=callee.name)
    found = NodeNames(main).find(text)
    assert (None if found is None else (found[0].name, found[1].name)) == place


def test_many_nodes_are_found_at_once():
    stems = [f"layer_{i}/MatMul" for i in np.arange(20_000)]
    names = NodeNames(graph_of(stems))
    for stem in stems:
        found = names.find(f"{stem}/MatMulScaleFusion/")
        assert found is not None
        assert found[1].name == stem
