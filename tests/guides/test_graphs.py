"""Examples of graphs, fused plans and profiles run as they stand."""

from __future__ import annotations

import doctest

import pytest

from tests import source_tree
from tfx.kernels.library import usable_library


@pytest.mark.parametrize(
    ("document", "least"), [("graphs.md", 10), ("fused-plans.md", 4), ("profiling.md", 4)]
)
def test_the_examples(document: str, least: int) -> None:
    if document == "fused-plans.md" and usable_library(True) is None:
        pytest.skip("there are no fused kernels")
    text = (source_tree.ROOT / "docs" / document).read_text(encoding="utf-8")
    text = text.replace("```pycon\n", "").replace("```\n", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, document, None, 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.tries > least
    assert runner.failures == 0
