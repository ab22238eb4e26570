"""Both ways to run: eagerly and in a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tfx as tf


@pytest.fixture(params=["eager", "graph"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Call a function of tensors, traced or not."""
    if request.param == "graph":
        return lambda f, *args: tf.function(f)(*args)
    return lambda f, *args: f(*args)
