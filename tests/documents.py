"""What the documents show: their text, the programs in it, and how these are run.

Programs run where the caller stands; whoever runs one that writes files moves to a folder first.
"""

from __future__ import annotations

import doctest
import re
from typing import Any

from tests import source_tree


def text_of(document: str) -> str:
    """The text of a document, named by its path in the checkout."""
    return (source_tree.ROOT / document).read_text(encoding="utf-8")


def blocks(document: str, language: str) -> list[str]:
    """The blocks of a language in a document."""
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, text_of(document), re.DOTALL | re.MULTILINE)


def run(program: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run a block and return the names that it leaves, which are ``names`` if there are any."""
    names = {"__name__": "document"} if names is None else names
    exec(compile(program, "document", "exec"), names)
    return names


def run_examples(document: str) -> int:
    """Run what a document shows at Python's prompt, all blocks with the same names.

    Returns:
        How many examples there were.
    """
    shown = "\n".join(blocks(document, "pycon"))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(doctest.DocTestParser().get_doctest(shown, {}, document, None, 0))
    assert runner.failures == 0
    return runner.tries
