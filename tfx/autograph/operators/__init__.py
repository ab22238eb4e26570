"""What converted code calls: one operator for each construct.

Each decides by what it is given: Python values go the way of Python, tensors of a function being
traced become operations.
"""

from __future__ import annotations

from typing import Any

from tfx.autograph.operators.assertions import assert_stmt
from tfx.autograph.operators.attributes import attribute
from tfx.autograph.operators.calls import call as _converted_call
from tfx.autograph.operators.conditionals import if_exp, if_stmt
from tfx.autograph.operators.containers import contains, list_append, list_pop, set_item
from tfx.autograph.operators.logic import and_, compare, not_, or_
from tfx.autograph.operators.loops import for_stmt, while_stmt
from tfx.autograph.operators.symbols import is_defined, read
from tfx.autograph.operators.watching import (
    called,
    extending,
    made,
    own_cells,
    rebinding,
    set_attr,
    storing,
)

slice_ = slice


def call(callee: Any) -> Any:
    """What to call in place of ``callee``; what is not converted is watched."""
    found = _converted_call(callee)
    return called(found) if found is callee else found


__all__ = [
    "and_",
    "assert_stmt",
    "attribute",
    "call",
    "compare",
    "contains",
    "extending",
    "for_stmt",
    "if_exp",
    "if_stmt",
    "is_defined",
    "list_append",
    "list_pop",
    "made",
    "not_",
    "or_",
    "own_cells",
    "read",
    "rebinding",
    "set_attr",
    "set_item",
    "slice_",
    "storing",
    "while_stmt",
]
