"""docs/mixed-precision.md: its examples run as they stand, one after another."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import tfx as tf

PAGE = Path(__file__).parents[2] / "docs" / "mixed-precision.md"


def test_the_page() -> None:
    printed = io.StringIO()
    space = {"__name__": "page"}
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    try:
        with contextlib.redirect_stdout(printed):
            for number, block in enumerate(blocks):
                name = f"block{number}"
                exec(compile(block, name, "exec"), space)
    finally:
        tf.mixed_precision.set_global_policy("float32")
    assert printed.getvalue().splitlines() == [
        "<dtype: 'float16'> <dtype: 'float32'> <dtype: 'float32'>",
        "True",
        "['tensor(float)', 'tensor(int64)']",
    ]
