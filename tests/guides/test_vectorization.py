"""docs/vectorization.md: its examples run as they stand, one after another."""

from __future__ import annotations

from typing import Any

from tests import documents
from tfx.ops.common import batching as rules


def test_the_examples() -> None:
    blocks = documents.blocks("docs/vectorization.md", "python")
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks[:-1]:
        documents.run(block, names)
    assert names["hessian"].shape == (4, 3, 4, 3)
    # The last one writes a rule that exists; another operator takes it.
    documents.run(blocks[-1].replace('"Softmax"', '"NoSuchOperator"'))
    assert rules._rules.pop("NoSuchOperator") is not None
