"""``ox``: operators on tensors, ``ox.Add(x, y)``, at once or as nodes of the trace around."""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core import dtypes
from tfx.framework.apply import apply, apply_n
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.ops import Ops


class TensorBuilder(Ops[Tensor]):
    """Operators on tensors: see ``graph.ops`` for the methods, ``apply`` for what they do."""

    __slots__ = ()

    apply = staticmethod(apply)
    apply_n = staticmethod(apply_n)

    def number(self, value: float) -> Tensor:
        """A float64 scalar."""
        return convert_to_tensor(value, dtypes.float64)

    def ints(self, values: Sequence[int] | int) -> Tensor:
        """An int64 vector, or a scalar."""
        return int64_constant(values)

    def like(self, value: float, model: Tensor) -> Tensor:
        """A scalar of the dtype that another tensor has."""
        dtype = model.dtype
        number = int(value) if dtype.is_integer else float(value)
        graph = current().graph
        if graph is not None and graph.shared_name is not None:  # within a gradient
            return SymbolicTensor(graph.scalar(number, dtype.onnx, dtype.as_numpy_dtype), graph)
        return convert_to_tensor(number, dtype)


ox = TensorBuilder()
