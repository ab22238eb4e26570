"""``tfx.types``: names for annotations and ``isinstance``, in ``tfx.types.experimental``."""

from __future__ import annotations

from typing import Any as _Any
from typing import Union as _Union

import numpy as _np

from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
from tfx.framework.composite.indexed_slices import IndexedSlices as _IndexedSlices
from tfx.framework.tensor import Tensor as _Tensor
from tfx.framework.variable import Variable as _Variable
from tfx.function.execution.concrete_function import ConcreteFunction as _ConcreteFunction
from tfx.function.inspection.function_type import FunctionType as _FunctionType
from tfx.function.tracing.function import Function as _Function
from tfx.function.tracing.trace_types import SupportsTracingProtocol as _SupportsTracingProtocol
from tfx.function.tracing.trace_types import TraceType as _TraceType

# A Union and not `|`: TensorFlow's is one too, and typing.get_args reads both.
_TensorLike = _Union[  # noqa: UP007
    _Tensor, _Variable, _IndexedSlices, bool, int, float, complex, str, bytes,
    list[_Any], tuple[_Any, ...], _np.generic, _np.ndarray,
]  # fmt: skip

experimental = _namespace(
    "tfx.types.experimental",
    # What tf.function makes, before and after its choice of a trace.
    Callable=(_Function | _ConcreteFunction),
    ConcreteFunction=_ConcreteFunction,
    FunctionType=_FunctionType,
    GenericFunction=(_Function | _ConcreteFunction),
    PolymorphicFunction=_Function,
    SupportsTracingProtocol=_SupportsTracingProtocol,
    TensorLike=_TensorLike,
    TraceType=_TraceType,
)

_complete(__name__, "experimental")
