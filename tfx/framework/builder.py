"""``ox``: operators on tensors, ``ox.Add(x, y)``, at once or as nodes of the trace around."""

from __future__ import annotations

from tfx.core import dtypes
from tfx.framework.apply import apply, apply_n
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.graph.ops import Ops


class TensorBuilder(Ops[Tensor]):
    """Operators on tensors: see ``graph.ops`` for the methods, ``apply`` for what they do."""

    __slots__ = ()

    apply = staticmethod(apply)
    apply_n = staticmethod(apply_n)

    def number(self, value: float) -> Tensor:
        """A float64 scalar."""
        return convert_to_tensor(value, dtypes.float64)


ox = TensorBuilder()
