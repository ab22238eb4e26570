"""What the sizes of a callee are in one of its calls.

The names of a function's dimensions hold for all of its calls, each of which has sizes of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfx.core.dim_names import substitute_dim
from tfx.graph.ir import Graph, RawDim, RawShape, Value


def sizes_of_call(callee: Graph, actual: Sequence[Value | None]) -> dict[str, RawDim]:
    """Return what each name of a dimension of the callee's inputs stands for.

    Args:
        callee: The called graph.
        actual: What it is given, in the order of its inputs.
    """
    sizes: dict[str, RawDim] = {}
    for formal, value in zip(callee.inputs, actual, strict=True):
        if formal.shape is not None and value is not None and value.shape is not None:
            for name, size in zip(formal.shape, value.shape, strict=False):
                if isinstance(name, str):
                    sizes.setdefault(name, size)
    return sizes


def shape_in_call(shape: RawShape, sizes: Mapping[str, RawDim]) -> RawShape:
    """Return a shape in the callee as the caller has it; what the names do not tell is unknown."""
    return None if shape is None else tuple(substitute_dim(d, sizes) for d in shape)
