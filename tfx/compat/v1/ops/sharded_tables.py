"""Tables that are given as several tensors, each with some of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, stack
from tfx.ops.array.gather import gather
from tfx.ops.array.ranges import range as numbers
from tfx.ops.array.shape import shape
from tfx.ops.math.arithmetic import floordiv, floormod
from tfx.ops.math.cumulative import cumsum


def joined_table(tables: Sequence[Any], strategy: str) -> Tensor:
    """One table with the rows of several.

    Args:
        tables: Tensors or variables ``[rows, ...]``.
        strategy: ``"div"``: they stand one behind the other. ``"mod"``: row ``i`` is in table
            ``i % len(tables)``.

    Raises:
        ValueError: another strategy.
    """
    if strategy not in ("div", "mod"):
        raise ValueError(f"partition_strategy must be 'mod' or 'div'; got {strategy!r}.")
    pieces = [convert_to_tensor(t) for t in tables]
    together = concat(pieces, 0)
    if strategy == "div":
        return together
    begins = cumsum(stack([shape(p, dtypes.int64)[0] for p in pieces]), exclusive=True)
    rows = numbers(shape(together, dtypes.int64)[0])
    table, row = floormod(rows, len(pieces)), floordiv(rows, len(pieces))
    return gather(together, gather(begins, table) + row)
