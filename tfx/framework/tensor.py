"""``Tensor`` and its two kinds: ``EagerTensor`` holds numbers, ``SymbolicTensor`` stands for them.

Tensors are immutable and have identity: a tape knows them by ``id``. Arithmetic is attached by
``ops.common.operator_overloads``, so that this module need not know any operation. Eager tensors
wrap an ORT value whose shape and dtype are read only when somebody asks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dim_names import without_derived
from tfx.core.dims import RawShape, merge_dims, visible_shape
from tfx.core.dtypes import DType
from tfx.core.errors import (
    InvalidArgumentError,
    NoContentsError,
    OperatorNotAllowedInGraphError,
)
from tfx.core.mixins import Immutable
from tfx.core.references import Reference
from tfx.core.shapes import TensorShape
from tfx.core.source import user_frame
from tfx.framework.function_wrappers import reason_at
from tfx.framework.operand import Operand
from tfx.graph import ir
from tfx.runtime import memory, values
from tfx.runtime.devices import full_name
from tfx.runtime.values import RawValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfx.framework.func_graph import FuncGraph
    from tfx.framework.operation import Operation
    from tfx.framework.variable import Variable


class Tensor(Immutable, Operand):
    """An n-dimensional array of one dtype. Made by operations, never by calling this class."""

    # Frameworks note things on tensors (``x._keras_mask``): a dictionary, once somebody does.
    __slots__ = ("__dict__", "__weakref__")
    __array_priority__ = 100

    # Only a part of a variable has it: ``v[1:].assign(...)``, see ``ops.array.slice_assignment``.
    assign: Callable[..., Variable]

    OVERLOADABLE_OPERATORS: frozenset[str]  # the methods that are Python's operators

    @property
    def dtype(self) -> DType:
        """Element type."""
        raise AssertionError

    @property
    def shape(self) -> TensorShape:
        """Static shape: what is known without running anything."""
        raise AssertionError

    @property
    def ndim(self) -> int | None:
        """Number of dimensions, None if unknown."""
        return self.shape.rank

    @property
    def name(self) -> str:
        """Name in the graph, ``"MatMul:0"``; eager tensors have none."""
        raise AttributeError(
            "Tensor.name is undefined when eager execution is enabled; name variables, or read "
            "the names of tensors inside a traced function."
        )

    @property
    def op(self) -> Operation:
        """The operation that makes it; eager tensors have none."""
        raise self._undefined("op")

    @property
    def graph(self) -> FuncGraph:
        """The graph that it belongs to; eager tensors have none."""
        raise self._undefined("graph")

    @property
    def value_index(self) -> int:
        """The number of this output of its operation, which eager tensors do not have."""
        raise self._undefined("value_index")

    def consumers(self) -> list[Operation]:
        """The operations that take it; nobody keeps those of eager tensors."""
        raise NotImplementedError(
            "Tensor.consumers is undefined when eager execution is enabled; ask a tensor of a "
            "traced graph, such as concrete.graph.get_tensor_by_name('x:0')."
        )

    @staticmethod
    def _undefined(name: str) -> AttributeError:
        return AttributeError(
            f"Tensor.{name} is undefined when eager execution is enabled; ask a tensor of a "
            "traced graph, such as concrete.graph.get_tensor_by_name('x:0')."
        )

    def get_shape(self) -> TensorShape:
        """Same as ``shape``."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Assert more about the static shape than is known.

        Raises:
            ValueError: the shapes are not compatible.
        """
        if not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape "
                f"{TensorShape(shape)}."
            )

    def ref(self) -> Reference:
        """A hashable stand-in for this tensor (tensors compare by element, so they do not hash)."""
        return Reference(self)

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __len__(self) -> int:
        raise AssertionError

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The value in a session of TensorFlow 1; eager tensors are values."""
        raise NotImplementedError(
            "eval runs a session of TensorFlow 1; in eager execution a tensor has its value: call "
            ".numpy()."
        )

    def experimental_ref(self) -> Reference:
        """Same as ``ref``."""
        return self.ref()

    def __bool__(self) -> bool:
        raise AssertionError

    def __nonzero__(self) -> bool:
        return self.__bool__()

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError


class EagerTensor(Tensor):
    """A tensor with contents."""

    __slots__ = ("_device", "_dtype", "_raw", "_shape", "_tfx_kind", "assign")

    # Canonical name of the logical CPU where it was made; not set on CPU:0 and on GPUs, whose
    # values know where they are.
    _device: str
    _dtype: DType
    _shape: TensorShape | None
    # A number that stands for dtype and shape, see ``kind_number``; 0: nobody asked yet. Under a
    # name that no object of a program has: who has it is a tensor.
    _tfx_kind: int
    _raw: RawValue

    def __init__(self, value: RawValue, dtype: DType) -> None:
        self._raw = value
        self._dtype = dtype
        self._shape = None
        self._tfx_kind = 0

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """Shape of the contents."""
        shape = self._shape
        if shape is None:
            shape = self._shape = TensorShape(self._raw.shape())
        return shape

    @property
    def device(self) -> str:
        """The device of the tensor, such as ``"/job:localhost/replica:0/task:0/device:CPU:0"``."""
        made = getattr(self, "_device", None)
        return full_name(values.device_of(self._raw) if made is None else made)

    @property
    def backing_device(self) -> str:
        """The device that holds the memory."""
        return self.device

    def cpu(self) -> Tensor:
        """The same contents on ``"/CPU:0"``; the tensor itself if it is there."""
        return self._on("CPU:0")

    def gpu(self, gpu_index: int = 0) -> Tensor:
        """The same contents on a GPU; the tensor itself if it is there.

        Args:
            gpu_index: Number of the GPU.

        Raises:
            OpError: there is no such GPU; the message says why.
        """
        return self._on(f"GPU:{gpu_index}")

    if TYPE_CHECKING:  # attached by ``ops.common.operator_overloads``

        def _on(self, device: str) -> Tensor: ...

    def numpy(self) -> Any:
        """The contents as a new array (a NumPy scalar for a scalar); changing it is harmless."""
        array = values.to_numpy(self._raw)
        if array.ndim == 0:
            return array[()]
        return array.copy()

    def view(self) -> np.ndarray[Any, Any]:
        """The contents as a read-only array that shares the tensor's memory."""
        return values.to_numpy(self._raw)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = values.to_numpy(self._raw)
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"A copy is needed to convert {self._dtype.name} to {dtype}.")
            return array.astype(dtype)
        return array.copy() if copy else array  # as in TensorFlow: read-only unless copied

    def __dlpack__(self, **options: Any) -> Any:
        return memory.to_dlpack(self._raw, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        place: tuple[int, int] = self._raw.__dlpack_device__()
        return place

    def _scalar(self, kind: str) -> Any:
        array = values.to_numpy(self._raw)
        if array.size != 1:
            raise TypeError(
                f"Only a tensor with one element can be converted to {kind}; this one has shape "
                f"{self.shape}."
            )
        if self._dtype.is_complex and kind != "complex":
            raise TypeError(f"A {self._dtype.name} tensor cannot be converted to {kind}.")
        return array.reshape(-1)[0]

    def __bool__(self) -> bool:
        array = values.to_numpy(self._raw)
        if array.size != 1:
            raise ValueError(
                f"The truth value of a tensor with {array.size} elements is ambiguous (shape "
                f"{self.shape}); reduce it with reduce_any or reduce_all."
            )
        return bool(array.reshape(-1)[0])

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if not self._dtype.is_integer or self._raw.shape():
            raise TypeError(
                "Only an integer scalar tensor can be an index; this one has dtype "
                f"{self._dtype.name} and shape {self.shape}."
            )
        return int(self._scalar("an index"))

    def __len__(self) -> int:
        shape = self._raw.shape()
        if not shape:
            raise TypeError("Scalar tensor has no `len()`.")
        return int(shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self._raw.shape():
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec)

    def __str__(self) -> str:
        return f"tf.Tensor({_text(self)}, shape={self.shape}, dtype={self._dtype.name})"

    def __repr__(self) -> str:
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={self._dtype.name}, numpy={self._text_repr()}>"
        )

    def _text_repr(self) -> str:
        array = values.to_numpy(self._raw)
        return _block(str(array[()]) if array.ndim == 0 else repr(array))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickle, (self.numpy(), self._dtype.name))


_kinds: dict[tuple[int, ...], int] = {}
_kind_numbers = itertools.count(1)
_MAX_KINDS = 1 << 16


def kind_number(tensor: EagerTensor) -> int:
    """A number for dtype and shape: the same for two tensors only if both are the same.

    A tensor keeps it, so that finding the trace for a call need not read shapes again. (Equal
    kinds may get a second number after very many different ones.)
    """
    kind = tensor._tfx_kind
    if not kind:
        key = (tensor._dtype.onnx, *tensor._raw.shape())
        known = _kinds.get(key)
        if known is None:
            if len(_kinds) >= _MAX_KINDS:
                _kinds.clear()
            known = _kinds.setdefault(key, next(_kind_numbers))
        kind = tensor._tfx_kind = known
    return kind


def _unpickle(array: Any, dtype: str) -> EagerTensor:
    return from_array(np.asarray(array, dtypes.as_dtype(dtype).as_numpy_dtype))


def _text(tensor: EagerTensor) -> str:
    array = values.to_numpy(tensor._raw)
    return _block(str(array[()] if array.ndim == 0 else array))


def _block(text: str) -> str:
    """Text of several lines begins on a line of its own, so that its columns stay aligned."""
    return f"\n{text}" if "\n" in text else text


def label(tensor: EagerTensor, device: str) -> EagerTensor:
    """Note the logical CPU on which a new tensor was made; a GPU's values tell it themselves."""
    if device != "CPU:0" and device.startswith("CPU"):
        tensor._device = device
    return tensor


def settle_on(tensor: EagerTensor, device: str) -> EagerTensor:
    """A tensor that is on a device: itself if it is there, or else a copy."""
    raw = values.copy_to_device(tensor._raw, device)
    here = getattr(tensor, "_device", "CPU:0")
    if raw is tensor._raw and (here == device or not device.startswith("CPU")):
        return tensor
    return label(EagerTensor(raw, tensor._dtype), device)


def from_array(array: np.ndarray[Any, Any], *, owned: bool = False) -> EagerTensor:
    """An eager tensor with the array's contents and dtype.

    Args:
        array: Any array of a known dtype.
        owned: The memory is given away: nobody will write to it again.
    """
    value = values.from_numpy(array, owned=owned)
    return EagerTensor(value, dtypes.as_dtype(array.dtype))


class SymbolicTensor(Tensor):
    """A tensor of a graph under construction: it has a type and a producer, no contents.

    What needs contents (``bool``, ``int``, iteration, ``numpy``) raises
    ``OperatorNotAllowedInGraphError`` with the user's line and the ways out.
    """

    __slots__ = ("_graph", "_shape", "_symbol", "assign")

    _symbol: ir.Value
    _graph: FuncGraph
    _shape: TensorShape | None

    def __init__(self, value: ir.Value, graph: FuncGraph) -> None:
        self._symbol = value
        self._graph = graph
        self._shape = None

    @property
    def dtype(self) -> DType:
        """Element type."""
        return dtypes.from_onnx(self._symbol.dtype)

    @property
    def shape(self) -> TensorShape:
        """The static shape, as far as it is known while tracing."""
        shape = self._shape
        if shape is None:
            shape = self._shape = TensorShape(without_derived(self._symbol.shape))
        return shape

    @property
    def graph(self) -> FuncGraph:
        """The graph that this tensor belongs to."""
        return self._graph

    @property
    def name(self) -> str:
        """Name of the operation and number of its output, ``"MatMul:0"``."""
        value = self._symbol
        return f"{(value.node or value).name}:{self.value_index}"

    @property
    def op(self) -> Operation:
        """The operation that makes it."""
        return self._graph._operation_of(self)

    @property
    def value_index(self) -> int:
        """The number of this output of its operation."""
        outputs = () if self._symbol.node is None else self._symbol.node.outputs
        return next((i for i, v in enumerate(outputs) if v is self._symbol), 0)

    def consumers(self) -> list[Operation]:
        """The operations of its graph that take it."""
        return self._graph._consumers_of(self)

    @property
    def device(self) -> str:
        """The device that a scope inside the function gave it; empty: the function's own."""
        return self._graph.device_of(self._symbol)

    def set_shape(self, shape: Any) -> None:
        """Assert more about the static shape than is known; see ``Tensor``."""
        super().set_shape(shape)
        own, given = self._symbol.shape, visible_shape(TensorShape(shape).symbolic)
        if own is None or given is None:
            self._symbol.shape = given if own is None else own
        else:
            self._symbol.shape = tuple(map(merge_dims, own, given))
        self._shape = None

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The contents, computed by a session: only for tensors of a ``compat.v1.Graph``.

        Args:
            feed_dict: What to put in place of other tensors.
            session: The session; None: the default one.

        Raises:
            ValueError: there is no default session.
            RuntimeError: the tensor belongs to a function.
        """
        return self._graph.run_in_session(self, feed_dict, session)

    def __hash__(self) -> int:
        return id(self._symbol) if self._graph.compares_by_identity else super().__hash__()

    def _refuse(self, what: str, way_out: str) -> OperatorNotAllowedInGraphError:
        where = user_frame()
        line = f" ({where.text()})" if where else ""
        return OperatorNotAllowedInGraphError(
            f"{what} is not allowed on the symbolic {self!r}{line}: inside a tfx.function it "
            f"stands for a value that exists only when the function runs. {way_out}"
        )

    def _unconverted(self) -> str:
        """Return the explanation for control flow that AutoGraph did not convert."""
        reason = reason_at(user_frame())
        return reason or (
            "AutoGraph converts control flow on tensors, but not in comprehensions, in libraries, "
            "and in what is traced with autograph=False or do_not_convert. "
        )

    def __bool__(self) -> bool:
        raise self._refuse(
            "Using a Tensor as a Python bool",
            f"{self._unconverted()}Use tfx.where instead, or move the Python branch out of the "
            "function.",
        )

    def __int__(self) -> int:
        raise self._refuse(
            "Converting a Tensor to a Python int",
            "Use tfx.cast instead, or pass the number to the function as a Python argument.",
        )

    def __index__(self) -> int:
        raise self._refuse(
            "Using a Tensor as a Python index",
            "Use tfx.gather or tensor slicing instead, or pass the index as a Python argument.",
        )

    def __float__(self) -> float:
        raise self._refuse(
            "Converting a Tensor to a Python float",
            "Use tfx.cast instead, or pass the number to the function as a Python argument.",
        )

    def __complex__(self) -> complex:
        raise self._refuse(
            "Converting a Tensor to a Python complex",
            "Use tfx.cast instead, or pass the number to the function as a Python argument.",
        )

    def __len__(self) -> int:
        raise self._refuse(
            "len()",
            "Use tensor.shape[0] where the shape is static, or tfx.shape(tensor)[0] otherwise.",
        )

    def __iter__(self) -> Iterator[Any]:
        raise self._refuse(
            "Iterating over a symbolic Tensor",
            f"{self._unconverted()}Use operations on the whole tensor instead, tf.unstack for the "
            "parts of one of known length, or a for statement that AutoGraph converts.",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        raise self._refuse(
            "Converting a Tensor to a NumPy array",
            "Use tfx operations instead of NumPy ones, or move the NumPy code out of the function.",
        )

    @property
    def numpy(self) -> Any:
        """Refused, as an attribute that is not there: there are no contents yet."""
        refusal = self._refuse(
            "Calling numpy()",
            "Return the tensor from the function and call numpy() on the result, or turn tracing "
            "off with tfx.config.run_functions_eagerly(True).",
        )
        raise NoContentsError(refusal.message)

    def __str__(self) -> str:
        shape = "" if self.shape.rank is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise InvalidArgumentError(
            f"{self!r} cannot be pickled: it stands for a value inside a function being traced."
        )


def is_symbolic_tensor(tensor: object) -> bool:
    """True if it is a tensor of a graph, which has no contents yet.

    Example:
        >>> import tfx as tf
        >>> tf.is_symbolic_tensor(tf.constant(1))
        False
    """
    return isinstance(tensor, SymbolicTensor)


def is_tensor(x: object) -> bool:
    """True if ``x`` is a tensor or a variable (what an operation takes without conversion).

    Example:
        >>> import tfx as tf
        >>> tf.is_tensor(tf.constant(1)), tf.is_tensor(1)
        (True, False)
    """
    if isinstance(x, Tensor) or getattr(x, "_is_tfx_variable", False) is True:
        return True
    if getattr(x, "_is_tfx_ragged", False) is True or getattr(x, "_is_tfx_sparse", False) is True:
        return True
    # What stands for a variable of tfx, as those of Keras do, too.
    return getattr(x, "_is_indexed_slices", False) is True or hasattr(x, "__tf_variable__")


def raw_of(x: Tensor) -> RawValue:
    """The contents of a tensor that has some: outside of a trace all have."""
    assert isinstance(x, EagerTensor)
    return x._raw


def symbol_of(x: Tensor) -> ir.Value:
    """The value of a graph that a traced tensor stands for."""
    assert isinstance(x, SymbolicTensor)
    return x._symbol


def graph_of(x: Tensor) -> FuncGraph:
    """The graph that a traced tensor belongs to."""
    assert isinstance(x, SymbolicTensor)
    return x._graph


def raw_shape(x: Tensor) -> RawShape:
    """Static shape with named dimensions; None if the rank is unknown."""
    if isinstance(x, EagerTensor):
        return tuple(x._raw.shape())
    assert isinstance(x, SymbolicTensor)
    return x._symbol.shape


def is_sequence(x: Any) -> bool:
    """True if something is a symbolic tensor that stands for a sequence."""
    return isinstance(x, SymbolicTensor) and x._symbol.dtype > dtypes.SEQUENCE
