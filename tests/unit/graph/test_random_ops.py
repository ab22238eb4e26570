"""The list of random operators, against what onnx's registry has."""

from __future__ import annotations

import onnx

from tfx.graph.random_ops import RANDOM_OPS


def test_every_operator_with_a_seed_is_listed() -> None:
    with_seed = {
        schema.name
        for schema in onnx.defs.get_all_schemas()
        if schema.domain == "" and "seed" in schema.attributes
    }
    assert with_seed == RANDOM_OPS
