"""Tags of nodes: a closed set of types, and marks that models keep."""

import importlib

import pytest

from tests import source_tree
from tfx.graph.ir import Graph
from tfx.graph.serialization.deserialize import from_model
from tfx.graph.serialization.serialize import to_model
from tfx.graph.tags import Mark, Tag, mark_from_text

# Who adds a type of tag sees to it that copies, pickles and passes treat it right.
TAGS = {
    "Access",
    "Assigned",
    "Blocks",
    "Clean",
    "CustomGradient",
    "LstmGradient",
    "MadeOf",
    "Mark",
    "Packed",
    "Query",
}


def test_the_types_of_tags_are_known():
    for name in source_tree.modules():
        if name.startswith("tfx.") and not name.endswith("__main__"):
            importlib.import_module(name)

    def below(kind: type) -> set[type]:
        return {kind, *(k for sub in kind.__subclasses__() for k in below(sub))}

    assert {kind.__name__ for kind in below(Tag) - {Tag}} == TAGS


@pytest.mark.parametrize("mark", list(Mark))
def test_models_keep_marks(mark):
    graph = Graph("marked")
    x = graph.add_input("x", 1, (2,))
    node = graph.add_node("Neg", (x,), {}, [(1, (2,))])
    node.tag = mark
    graph.outputs = list(node.outputs)
    assert from_model(to_model(graph)).graph.nodes[0].tag is mark


def test_a_mark_of_a_later_version_is_left_out():
    assert mark_from_text("of a later version") is None
