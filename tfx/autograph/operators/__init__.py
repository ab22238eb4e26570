"""The operators that converted code calls, one for each construct.

Each decides by what it is given: Python values go the way of Python, tensors of a function being
traced become operations.
"""

from __future__ import annotations

from tfx.autograph.operators.assertions import assert_stmt
from tfx.autograph.operators.attributes import attribute
from tfx.autograph.operators.calls import call
from tfx.autograph.operators.conditionals import if_exp, if_stmt
from tfx.autograph.operators.containers import contains, set_item
from tfx.autograph.operators.logic import and_, compare, not_, or_
from tfx.autograph.operators.loops import for_stmt, while_stmt
from tfx.autograph.operators.symbols import is_defined, read

slice_ = slice

__all__ = [
    "and_",
    "assert_stmt",
    "attribute",
    "call",
    "compare",
    "contains",
    "for_stmt",
    "if_exp",
    "if_stmt",
    "is_defined",
    "not_",
    "or_",
    "read",
    "set_item",
    "slice_",
    "while_stmt",
]
