"""A model's inputs as a caller sees them: specs, and which of them may be left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, OpError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.graph.ir import RawShape
from tfx.graph.onnx_import.types import is_optional, tensor_type
from tfx.graph.serialization.models import ForeignModel

_FREE_INITIALIZERS = 4  # the format's version from which an initializer need not be an input


@dataclass(frozen=True, slots=True)
class InputPort:
    """An input of a model.

    Attributes:
        name: The model's name of it.
        tensor: What a tensor given for it must be; an element, if it is a sequence.
        sequence: Whether it is a sequence of tensors.
        optional: Whether its type is an optional one.
        default: Whether it is an initializer that calls may replace.
    """

    name: str
    tensor: TensorSpec
    sequence: bool
    optional: bool
    default: bool

    @property
    def spec(self) -> Any:
        """The tensor's spec, of a sequence in a list."""
        return [self.tensor] if self.sequence else self.tensor

    @property
    def shape(self) -> RawShape:
        """The shape in the graph: sequences have none."""
        return None if self.sequence else self.tensor.shape.symbolic


def ports_of(loaded: ForeignModel, shapes: Mapping[str, Any]) -> tuple[InputPort, ...]:
    """The inputs of a model.

    Args:
        loaded: The model.
        shapes: Shapes to take in place of the declared ones.

    Raises:
        UnimplementedError: an input's type cannot be one of a function.
        InvalidArgumentError: a shape is for no input, or does not fit the declared one.
    """
    proto = loaded.proto
    stored = {t.name for t in proto.graph.initializer}
    stored |= {t.values.name for t in proto.graph.sparse_initializer}
    ports = []
    for item in proto.graph.input:
        default = item.name in stored
        if default and proto.ir_version < _FREE_INITIALIZERS:
            continue  # every initializer had to be an input
        try:
            dtype, shape = tensor_type(item)
        except OpError as e:
            raise type(e)(f"{loaded.name}: {e.message}") from e
        sequence = dtype > dtypes.SEQUENCE
        element = dtypes.from_onnx(dtype)
        if item.name in shapes:
            shape = _merged(item.name, shape, shapes[item.name])
        if sequence and shape is not None:  # a size with a name may differ among the elements
            shape = tuple(d if isinstance(d, int) else None for d in shape)
        spec = TensorSpec(TensorShape(shape), element, name=item.name)
        ports.append(InputPort(item.name, spec, sequence, is_optional(item), default))
    for name in shapes:
        if name not in {p.name for p in ports}:
            raise InvalidArgumentError(
                f"input_shapes has a shape for {name!r}, which is no input of {loaded.name}; "
                f"it has {', '.join(p.name for p in ports) or 'none'}."
            )
    return tuple(ports)


def _merged(name: str, declared: RawShape, given: Any) -> RawShape:
    shape = TensorShape(given)
    if declared is not None and shape.rank is not None and shape.rank != len(declared):
        raise InvalidArgumentError(
            f"input_shapes has {shape} for {name!r}, which has rank {len(declared)} in the model."
        )
    return shape.symbolic
