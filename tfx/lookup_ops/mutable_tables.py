"""Tables that functions change: keys and values are two variables.

The one decision: a lookup compares with every key, which ONNX can do for all dtypes; so these
tables are for some thousands of keys. Being variables, the content is saved in checkpoints and
bundles like any other state, and every rule for variables holds.
"""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.composite.ragged import is_ragged, of_flat_values
from tfx.framework.composite.sparse import is_sparse
from tfx.framework.convert import constant, convert_to_tensor, int64_constant
from tfx.framework.module import Module
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.framework.variable import Variable
from tfx.framework.variable_creators import outside_scopes
from tfx.lookup_ops.keyed_table import KeyedTable
from tfx.ops.common.arguments import cast_to


class MutableHashTable(KeyedTable, Module):
    """A table whose content can be changed, also inside of functions.

    Args:
        key_dtype: Dtype of the keys.
        value_dtype: Dtype of the values.
        default_value: What keys have that are not in the table; its shape is that of a value.
        name: Of the table.
        checkpoint: Accepted for compatibility: the content is always saved.
        experimental_is_anonymous: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
        >>> table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
        >>> table.remove(tf.constant(["b"]))
        >>> table.lookup(tf.constant(["a", "b"])).numpy()
        array([ 1, -1])
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__()
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)
        self._default = convert_to_tensor(default_value, self._value_dtype)
        self._table_name = name
        shape = self._value_shape = [int(dim or 0) for dim in self._default.shape.as_list()]
        self.table_keys = _empty(self._key_dtype, [], f"{name}_keys")
        self.table_values = _empty(self._value_dtype, shape, f"{name}_values")

    @property
    def default_value(self) -> Tensor:
        """The value for keys that are not in the table."""
        return self._default

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys, as int64."""
        return ox.Size(self.table_keys.read_value())

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values, as two tensors."""
        return self.table_keys.read_value(), self.table_values.read_value()

    def lookup(
        self, keys: Any, dynamic_default_values: Any = None, name: str | None = None
    ) -> Tensor:
        """The values of keys.

        Args:
            keys: A tensor of the dtype of the keys; any shape.
            dynamic_default_values: A value for each key that is not there, in place of the default.
            name: Accepted for compatibility.

        Returns:
            A tensor of the shape of ``keys`` and then that of a value.

        Raises:
            TypeError: keys of another dtype.
        """
        if is_sparse(keys):
            found = self.lookup(keys.values, dynamic_default_values)
            entries: Tensor = keys.with_values(found)
            return entries
        if is_ragged(keys):
            rows: Tensor = of_flat_values(self.lookup, keys, dynamic_default_values)
            return rows
        keys = self._checked(keys, "keys", self._key_dtype)
        found, place = self._find(keys)
        default = self._default if dynamic_default_values is None else dynamic_default_values
        default = self._checked(default, "default values", self._value_dtype)
        first = ox.Unsqueeze(self._default, int64_constant(0))
        values = ox.Concat(first, self.table_values.read_value(), axis=0)
        at = ox.Where(found, ox.Add(place, int64_constant(1)), int64_constant(0))
        known = ox.Gather(values, at)
        depth = self._default.shape.rank or 0
        for _ in range(depth):
            found = ox.Unsqueeze(found, int64_constant([-1]))
        return ox.Where(found, known, default)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Set values of keys; of a key that comes twice the last counts.

        Args:
            keys: Keys, of any shape.
            values: Their values.
            name: Accepted for compatibility.

        Raises:
            TypeError: keys or values of another dtype.
            InvalidArgumentError: the shapes do not fit.
        """
        keys = self._checked(keys, "keys", self._key_dtype)
        values = self._checked(values, "values", self._value_dtype)
        shape = self._value_shape
        wanted = None if keys.shape.rank is None else [*keys.shape.as_list(), *shape]
        if wanted is not None and not values.shape.is_compatible_with(wanted):
            raise InvalidArgumentError(
                f"Expected shape {wanted} for value, got {values.shape}: a value for each key."
            )
        flat = ox.Reshape(keys, int64_constant([-1]))
        rows = ox.Reshape(values, int64_constant([-1, *shape]))
        self._drop(flat)
        kept = _last_of_each(flat)
        for variable, new in ((self.table_keys, flat), (self.table_values, rows)):
            added = ox.Compress(new, kept, axis=0)
            variable.assign(ox.Concat(variable.read_value(), added, axis=0))

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> None:
        """The same as ``insert``."""
        self.insert(keys, values, name)

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Take keys out; those that are not there are passed over.

        Args:
            keys: Keys, of any shape.
            name: Accepted for compatibility.
        """
        keys = self._checked(keys, "keys", self._key_dtype)
        self._drop(ox.Reshape(keys, int64_constant([-1])))

    def erase(self, keys: Any, name: str | None = None) -> None:
        """The same as ``remove``."""
        self.remove(keys, name)

    def _drop(self, keys: Tensor) -> None:
        held = self.table_keys.read_value()
        same = _equal(held, keys)
        gone = ox.ReduceMax(cast_to(same, dtypes.int32), int64_constant([1]), keepdims=0)
        kept = ox.Equal(gone, constant(0, dtypes.int32))
        # With no new keys a maximum over nothing is the least number, which is none of 0 and 1.
        kept = ox.Or(kept, ox.Less(gone, constant(0, dtypes.int32)))
        for variable in (self.table_keys, self.table_values):
            variable.assign(ox.Compress(variable.read_value(), kept, axis=0))

    def _find(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Return whether each key is in the table, and its position."""
        held = self.table_keys.read_value()
        flat = ox.Reshape(keys, int64_constant([-1]))
        hits = cast_to(_equal(flat, held), dtypes.int32)
        # A column for nothing, so that there is a maximum in an empty table.
        shape = ox.Concat(ox.Shape(flat), int64_constant([1]), axis=0)
        nothing = ox.Expand(constant(0, dtypes.int32), shape)
        hits = ox.Concat(hits, nothing, axis=1)
        best, place = ox.TopK(hits, int64_constant([1]), axis=1, largest=1, sorted=1)
        shape = ox.Shape(keys)
        found = ox.Greater(ox.Reshape(best, shape), constant(0, dtypes.int32))
        return found, ox.Reshape(place, shape)

    def _checked(self, value: Any, what: str, kind: DType) -> Tensor:
        if not isinstance(value, Tensor | Variable):
            value = convert_to_tensor(value, None if hasattr(value, "dtype") else kind)
        tensor: Tensor = convert_to_tensor(value)
        if tensor.dtype is not kind:
            raise TypeError(
                f"Dtype of argument `{what}` must be {kind!r}, received: {tensor.dtype!r}; use "
                "tf.cast."
            )
        return tensor


class DenseHashTable(MutableHashTable):
    """A ``MutableHashTable`` with two keys that may not be used, as in TensorFlow.

    Args:
        key_dtype: Dtype of the keys.
        value_dtype: Dtype of the values.
        default_value: What keys have that are not in the table.
        empty_key: A key that may not be used.
        deleted_key: Another one.
        initial_num_buckets: Accepted for compatibility.
        name: Of the table.
        checkpoint: Accepted for compatibility.
        experimental_is_anonymous: Accepted for compatibility.

    Raises:
        InvalidArgumentError: both keys are the same; or, by the methods, one of them is used
            outside of functions.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name)
        if empty_key == deleted_key:
            raise InvalidArgumentError(
                f"empty_key and deleted_key are both {empty_key!r}, expected two different keys."
            )
        self._unused: list[tuple[str, Any]] = []
        for what, key in (("empty", empty_key), ("deleted", deleted_key)):
            held: Any = constant(key, self._key_dtype)  # raises if it is no key
            self._unused.append((what, held.numpy()))

    def _checked(self, value: Any, what: str, kind: DType) -> Tensor:
        found = super()._checked(value, what, kind)
        if what != "keys":
            return found
        if isinstance(found, EagerTensor):
            for name, key in self._unused:
                if key in found.view():
                    raise InvalidArgumentError(
                        f"Using the {name}_key {key!r} as a table key is not allowed."
                    )
        return found


def _empty(kind: DType, shape: list[Any], name: str) -> Variable:
    value = constant([], kind) if not shape else _zeros(kind, shape)
    full = TensorShape([None, *shape])
    return outside_scopes(Variable, initial_value=value, trainable=False, name=name, shape=full)


def _zeros(kind: DType, shape: list[Any]) -> Tensor:
    return ox.Reshape(constant([], kind), int64_constant([0, *shape]), allowzero=1)


def _equal(left: Tensor, right: Tensor) -> Tensor:
    """Compare every element of one vector with every element of another."""
    rows = ox.Unsqueeze(left, int64_constant([1]))
    return ox.Equal(rows, ox.Unsqueeze(right, int64_constant([0])))


def _last_of_each(keys: Tensor) -> Tensor:
    """Which elements have no equal one behind them."""
    later = ox.Trilu(cast_to(_equal(keys, keys), dtypes.int32), int64_constant(1), upper=1)
    count = ox.ReduceSum(later, int64_constant([1]), keepdims=0)
    return ox.Equal(count, constant(0, dtypes.int32))
