"""docs/autodiff.md: its examples run as they stand."""

from __future__ import annotations

import doctest

from tests import source_tree


def test_the_examples() -> None:
    text = (source_tree.ROOT / "docs" / "autodiff.md").read_text(encoding="utf-8")
    text = text.replace("```pycon\n", "").replace("```\n", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, "autodiff.md", None, 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.tries > 8
    assert runner.failures == 0
