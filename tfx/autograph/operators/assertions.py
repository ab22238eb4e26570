"""``assert``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.autograph.operators.staging import is_staged
from tfx.autograph.operators.symbols import as_unbound_local
from tfx.ops.debugging.assertions import Assert


def assert_stmt(test: Any, message: Callable[[], Any] | None = None) -> None:
    """``assert test, message``: an assertion of the graph if the test is a tensor."""
    if is_staged(test):
        Assert(test, ["assertion failed" if message is None else message()])
        return
    if not test:
        if message is None:
            raise AssertionError
        try:
            text = message()
        except NameError as e:
            raise as_unbound_local(e) from None
        raise AssertionError(text)
