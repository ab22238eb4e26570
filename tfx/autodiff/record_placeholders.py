"""Stand-ins in records for tensors that the gradient does not read.

A call of a function is differentiated by a graph whose inputs are known. All other tensors matter
to a record only by identity: which record produced them, which ones used them. The record holds a
``StandIn`` for each, so that they are freed as soon as nothing else refers to them. Stand-ins are
resolved when the records are walked: one whose tensor still exists is replaced by the tensor, and
otherwise gradients are kept under the stand-in itself. The walk holds both objects, so an ``id`` is
never reused.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tfx.core.dtypes import DType
from tfx.core.shapes import TensorShape
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import EagerTensor


class Unread(NamedTuple):
    """The tensors of a call that its gradient does not read.

    Attributes:
        inputs: Numbers of arguments.
        outputs: Numbers of results.
        saved: The number of the first result that is there for the gradient alone. A gradient by
            these is a second derivative of the call, which computes it again from its arguments.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    saved: int


class StandIn(weakref.ref[EagerTensor]):
    """A weak reference to a tensor, with what is known of the tensor when it is gone.

    Attributes:
        key: The tensor's ``id`` for as long as it lives.
        dtype: Its element type.
        sizes: Its shape.
    """

    __slots__ = ("dtype", "key", "sizes")

    dtype: DType
    key: int
    sizes: Sequence[int]

    @property
    def shape(self) -> TensorShape:
        """The tensor's shape."""
        return TensorShape(self.sizes)


def stand_in(tensor: EagerTensor, gone: Callable[[Any], None]) -> StandIn:
    """A new stand-in.

    Args:
        tensor: The tensor.
        gone: Called with the stand-in when the tensor is gone.
    """
    made = StandIn(tensor, gone)
    made.key, made.dtype, made.sizes = id(tensor), tensor._dtype, tensor._raw.shape()
    return made


def meant(x: Any) -> Any:
    """The tensor that a stand-in means, if it is there still; anything else as it is."""
    if type(x) is StandIn:
        tensor = x()
        return x if tensor is None else tensor
    return x


class SparingRecord(OpRecord):
    """A record that may have stand-ins among its inputs and outputs."""

    __slots__ = ()

    def resolved(self) -> OpRecord:
        """The record with the tensors that are there still; it holds them."""
        inputs, outputs = tuple(map(meant, self.inputs)), tuple(map(meant, self.outputs))
        made = OpRecord(self.op, self.attrs, inputs, outputs)
        made.source = self.source
        return made
