"""Variables that are stored in one dtype and read in another, where a scope says so.

Owns ``AutoCastVariable`` and the scope. The decision: the dtype that variables are read in is a
trait of the context, so that a function is traced once for each; and only variables of this class
look at it, so that all others are read as quickly as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.framework.variable import Variable
from tfx.framework.variable_state import add_class


@dataclass(frozen=True, slots=True)
class _ReadDtype:
    """The trait of a context: the dtype in which variables are read; None: as they are stored."""

    dtype: DType | None

    def __str__(self) -> str:
        return f"variables read as {self.dtype.name if self.dtype else 'stored'}"


def read_dtype() -> DType | None:
    """The dtype that variables are read in here; None: the one that they are stored in."""
    for trait in reversed(current().traits):
        if type(trait) is _ReadDtype:
            return trait.dtype
    return None


@contextmanager
def read_variables_as(dtype: DTypeLike | None) -> Iterator[None]:
    """Read ``AutoCastVariable`` objects in a dtype inside the ``with`` block.

    Args:
        dtype: A floating dtype; None: read them as they are stored.

    Raises:
        ValueError: the dtype is not floating.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if wanted is not None and not wanted.is_floating:
        raise ValueError(
            f"Variables cannot be read as {wanted.name}: expected a floating dtype such as float16 "
            "or bfloat16."
        )
    if wanted is read_dtype():
        yield
        return
    others = tuple(t for t in current().traits if type(t) is not _ReadDtype)
    mine = () if wanted is None else (_ReadDtype(wanted),)
    with using(traits=(*others, *mine)):
        yield


class AutoCastVariable(Variable):
    """A floating variable that is read in the compute dtype inside of ``autocast`` scopes.

    Elsewhere, and for optimizers, checkpoints and assignments everywhere, it is an ordinary
    variable of the dtype that it is stored in, which ``dtype`` is. A gradient with respect to it
    has that dtype, too.

    ``tfx.Variable`` makes one by itself where the global policy computes in another dtype than it
    stores variables in, and the variable is trainable and of the latter. Arguments are those of
    ``tfx.Variable``.

    Raises:
        ValueError: the dtype is not floating.

    Example:
        >>> import tfx as tf
        >>> v = tf.mixed_precision.AutoCastVariable([1.0, 2.0])
        >>> with tf.mixed_precision.autocast("mixed_float16"):
        ...     print(v.dtype, v.value().dtype, (v + v).dtype)
        <dtype: 'float32'> <dtype: 'float16'> <dtype: 'float16'>
        >>> v.value().dtype
        tf.float32
    """

    __slots__ = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self._dtype.is_floating:
            raise ValueError(
                f"AutoCastVariable {self._name!r} has dtype {self._dtype.name}; expected a "
                "floating dtype: take tfx.Variable for others."
            )

    @property
    def true_dtype(self) -> DType:
        """The dtype of the stored value: ``dtype``."""
        return self._dtype

    @property
    def _cast_dtype(self) -> DType:
        """The dtype that reading it gives here; TensorFlow's name."""
        return read_dtype() or self._dtype

    def value(self) -> Tensor:
        """The value, in the dtype that the scope around says."""
        tensor = Variable.value(self)
        return _in_dtype(tensor, read_dtype())

    def read_value(self) -> Tensor:
        """The same on the device of the scope around."""
        with read_variables_as(None):
            tensor = Variable.read_value(self)
        return _in_dtype(tensor, read_dtype())

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Rows of the value, in the dtype that the scope around says; only they are cast."""
        # Attached to the class where operators are.
        read: Any = vars(Variable)["sparse_read"]
        with read_variables_as(None):
            found = read(self, indices, name)
        return _in_dtype(found, read_dtype())

    def __repr__(self) -> str:
        text = Variable.__repr__(self)
        return text.replace("<tf.Variable", "<AutoCastVariable", 1)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copied = create_autocast_variable(Variable.__deepcopy__(self, memo))
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        make, arguments = Variable.__reduce__(self)
        return (_remade, (make, arguments))


_in_states = add_class(AutoCastVariable)


def _in_dtype(tensor: Tensor, dtype: DType | None) -> Tensor:
    return tensor if dtype is None or tensor.dtype is dtype else ox.Cast(tensor, to=dtype.onnx)


def create_autocast_variable(variable: Variable) -> Variable:
    """Make a floating variable one that scopes cast; the object stays the same.

    Variables of other dtypes, and of classes of their own, stay as they are.
    """
    if variable._dtype.is_floating:
        if type(variable) is Variable:
            variable.__class__ = AutoCastVariable
        else:
            _in_states(variable)
    return variable


def _remade(make: Any, arguments: tuple[EagerTensor, dict[str, Any]]) -> Variable:
    """A pickled variable."""
    return create_autocast_variable(make(*arguments))
