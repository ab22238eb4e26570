"""docs/vectorization.md: its examples run as they stand, one after another."""

from __future__ import annotations

import re
from typing import Any

from tests import source_tree
from tfx.ops.common import batching as rules


def test_the_examples() -> None:
    text = (source_tree.ROOT / "docs" / "vectorization.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks[:-1]:
        exec(compile(block, "vectorization.md", "exec"), names)
    assert names["hessian"].shape == (4, 3, 4, 3)
    # The last one writes a rule that exists; another operator takes it.
    exec(compile(blocks[-1].replace('"Softmax"', '"NoSuchOperator"'), "vectorization.md", "exec"))
    assert rules._rules.pop("NoSuchOperator") is not None
