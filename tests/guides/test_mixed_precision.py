"""docs/mixed-precision.md: its examples run as they stand, one after another."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import tfx as tf
from tests import documents


def test_the_page() -> None:
    printed = io.StringIO()
    names: dict[str, Any] = {"__name__": "page"}
    try:
        with contextlib.redirect_stdout(printed):
            for block in documents.blocks("docs/mixed-precision.md", "python"):
                documents.run(block, names)
    finally:
        tf.mixed_precision.set_global_policy("float32")
    assert printed.getvalue().splitlines() == [
        "<dtype: 'float16'> <dtype: 'float32'> <dtype: 'float32'>",
        "True",
        "['tensor(float)', 'tensor(int64)']",
    ]
