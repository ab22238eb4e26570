"""Tables whose content never changes.

Owns the lookup in eager code (a Python dict) and in a trace (operators, see ``vocabulary_index``).
The one
decision: the content is part of the graph that looks something up, as the weights of a constant
are, so a saved function needs no table when it is loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import FailedPreconditionError, InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.composite.ragged import is_ragged, of_flat_values
from tfx.framework.composite.sparse import is_sparse
from tfx.framework.context import init_scope
from tfx.framework.convert import constant, convert_to_tensor
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.lookup_ops.keyed_table import KeyedTable
from tfx.lookup_ops.table_initializers import TableInitializerBase
from tfx.lookup_ops.vocabulary_index import positions
from tfx.ops.strings.fingerprint import fingerprints
from tfx.script_ops.py_function import numpy_function

_KEYS = (dtypes.string, dtypes.int32, dtypes.int64)


class StaticTable(KeyedTable):
    """What both static tables share: keys, their places, values.

    Args:
        initializer: Fills it.
        key_dtype: Of the keys.
        value_dtype: Of the values.
        name: Of the table.

    Raises:
        InvalidArgumentError: keys of this dtype cannot be looked up.
        FailedPreconditionError: a key comes twice, with different values.
    """

    # Never taken apart as a structure of tensors: it has identity.
    _tfx_is_object = True
    # The initializer that did not give any content.
    _unfilled: str | None = None

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        name: str | None,
    ) -> None:
        key_dtype, value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        if key_dtype not in _KEYS:
            raise InvalidArgumentError(
                f"A table's keys are {key_dtype.name}, expected string, int32 or int64."
            )
        self._key_dtype, self._value_dtype, self._name = key_dtype, value_dtype, name
        self._places: dict[Any, int] = {}
        if initializer is not None:
            initializer.initialize(self)
            if not hasattr(self, "_words"):
                # As in TensorFlow: what is restored later may be made without content.
                self.fill(_nothing(key_dtype), _nothing(value_dtype))
                self._unfilled = type(initializer).__name__

    def fill(self, keys: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        """Put the content in; an initializer does so, once.

        Args:
            keys: An array of rank 1.
            values: A value for each.

        Raises:
            FailedPreconditionError: a key comes twice, with different values.
        """
        self._places.clear()
        chosen: list[int] = []
        for i, key in enumerate(_plain(keys)):
            place = self._places.setdefault(key, len(chosen))
            if place == len(chosen):
                chosen.append(i)
            elif values[chosen[place]] != values[i]:
                raise FailedPreconditionError(
                    f"HashTable has different value for same key. Key {key!r} has "
                    f"{values[chosen[place]]!r} and trying to add value {values[i]!r}"
                )
        self.keys: npt.NDArray[Any] = keys[chosen]
        self.values: npt.NDArray[Any] = values[chosen]
        self._words = list(self._places)

    @property
    def name(self) -> str | None:
        """The table's name."""
        return self._name

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values, as two tensors.

        Args:
            name: Accepted for compatibility.
        """
        keys = constant(self.keys, self.key_dtype)
        return keys, constant(self.values, self.value_dtype)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """Look keys up.

        Args:
            keys: A tensor of the dtype of the keys.
            name: Accepted for compatibility.

        Raises:
            TypeError: keys of another dtype.
        """
        raise TypeError(f"{type(self).__name__} has no values to look up; use StaticHashTable.")

    def _checked(self, keys: Any) -> Tensor:
        if self._unfilled is not None:
            raise FailedPreconditionError(
                f"Table not initialized: {self._unfilled}.initialize did not fill it; expected a "
                "call of super().initialize(table)."
            )
        python = not isinstance(keys, Tensor) and not hasattr(keys, "dtype")
        found: Tensor = convert_to_tensor(keys, self.key_dtype if python else None)
        if found.dtype is not self.key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self.key_dtype!r}, received: {found.dtype!r}; "
                "use tf.cast."
            )
        return found

    def _find(self, keys: Tensor) -> Tensor:
        """Places of keys; the number of keys for those that are not there."""
        if isinstance(keys, EagerTensor):
            array = np.asarray(keys.numpy())
            missing = len(self._words)
            places = [self._places.get(key, missing) for key in _plain(array.reshape(-1))]
            return constant(np.array(places, np.int64).reshape(array.shape))
        if keys.dtype is dtypes.int32:
            keys = ox.Cast(keys, to=dtypes.int64.onnx)
        return positions(keys, self._words)

    def __repr__(self) -> str:
        return (
            f"<tfx.lookup.{type(self).__name__} of {len(self._words)} {self.key_dtype.name} keys "
            f"to {self.value_dtype.name}>"
        )


def _nothing(kind: DType) -> npt.NDArray[Any]:
    return np.empty(0, object if kind is dtypes.string else kind.as_numpy_dtype)


def _plain(array: npt.NDArray[Any]) -> list[Any]:
    """Keys as dicts and attributes take them: bytes, or integers."""
    items = array.reshape(-1).tolist()
    return [item.encode() if isinstance(item, str) else item for item in items]


class StaticHashTable(StaticTable):
    """A table from keys to values that never changes.

    Args:
        initializer: The content.
        default_value: What keys have that are not in the table.
        name: Of the table.
        experimental_is_anonymous: Accepted for compatibility.

    Raises:
        InvalidArgumentError: keys are neither strings nor int32 or int64.
        FailedPreconditionError: a key comes twice, with different values.

    Example:
        >>> import tfx as tf
        >>> init = tf.lookup.KeyValueTensorInitializer(["emerson", "lake"], [10, 20])
        >>> table = tf.lookup.StaticHashTable(init, default_value=-1)
        >>> f = tf.function(lambda words: table.lookup(words))
        >>> f(tf.constant(["lake", "palmer"])).numpy()
        array([20, -1], dtype=int32)
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(initializer, initializer.key_dtype, initializer.value_dtype, name)
        with init_scope():
            default = convert_to_tensor(default_value, self.value_dtype)
        if not isinstance(default, EagerTensor) or default.shape.rank != 0:
            raise InvalidArgumentError(
                f"default_value is {default!r:.100}, expected one {self.value_dtype.name}."
            )
        self._default = default
        rest = np.asarray(default.numpy(), self.values.dtype).reshape(1)
        self._with_default = np.concatenate([self.values, rest])

    @property
    def default_value(self) -> Tensor:
        """The value for keys that are not in the table."""
        return self._default

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys, as int64.

        Args:
            name: Accepted for compatibility.
        """
        return constant(len(self._words), dtypes.int64)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The values of keys.

        Args:
            keys: A tensor of the dtype of the keys; any shape.
            name: Accepted for compatibility.

        Returns:
            A tensor of the shape of ``keys``, with the default where a key is not in the table.

        Raises:
            TypeError: keys of another dtype.
        """
        if is_sparse(keys):
            entries: Tensor = keys.with_values(self.lookup(keys.values))
            return entries
        if is_ragged(keys):
            rows: Tensor = of_flat_values(self.lookup, keys)
            return rows
        found = self._find(self._checked(keys))
        return ox.Gather(constant(self._with_default, self.value_dtype), found)


class StaticVocabularyTable(StaticTable):
    """A table from words to ids, with further ids for words that are not in it.

    A word that is not in the vocabulary gets one of ``num_oov_buckets`` ids behind those of the
    vocabulary, chosen by a hash of the word, the same as TensorFlow's. With one bucket functions
    can be saved; with more the hash is computed by Python.

    Args:
        initializer: The vocabulary with its ids, int64; None: every word gets a bucket.
        num_oov_buckets: How many ids there are for other words.
        lookup_key_dtype: Dtype of the keys that are looked up, if it is not the initializer's.
        name: Of the table.
        experimental_is_anonymous: Accepted for compatibility.

    Raises:
        ValueError: ``num_oov_buckets`` is not positive.
        TypeError: the dtypes do not fit.

    Example:
        >>> import tfx as tf
        >>> ids = tf.constant([0, 1], tf.int64)
        >>> init = tf.lookup.KeyValueTensorInitializer(["emerson", "lake"], ids)
        >>> table = tf.lookup.StaticVocabularyTable(init, num_oov_buckets=1)
        >>> table.lookup(tf.constant(["lake", "palmer"])).numpy()
        array([1, 2])
    """

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError(
                f"`num_oov_buckets` must be > 0, got {num_oov_buckets}; use StaticHashTable."
            )
        self._buckets = int(num_oov_buckets)
        kind = None if lookup_key_dtype is None else dtypes.as_dtype(lookup_key_dtype)
        if initializer is None:
            kind = kind or dtypes.string
            super().__init__(None, kind, dtypes.int64, name)
            self.fill(_nothing(kind), _nothing(dtypes.int64))
            return
        if initializer.value_dtype is not dtypes.int64:
            raise TypeError(
                f"Invalid `value_dtype`, expected {dtypes.int64!r} but got "
                f"{initializer.value_dtype!r}."
            )
        if kind is not None and (kind is dtypes.string) != (initializer.key_dtype is dtypes.string):
            raise TypeError(
                f"Invalid `key_dtype`, expected {kind!r} but got {initializer.key_dtype!r}."
            )
        super().__init__(initializer, kind or initializer.key_dtype, dtypes.int64, name)

    @property
    def num_oov_buckets(self) -> int:
        """The number of ids for words that are not in the vocabulary."""
        return self._buckets

    def size(self, name: str | None = None) -> Tensor:
        """The number of ids: of the vocabulary, and of the buckets.

        Args:
            name: Accepted for compatibility.
        """
        return constant(len(self._words) + self._buckets, dtypes.int64)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The ids of keys.

        Args:
            keys: A tensor of the dtype of the keys; any shape.
            name: Accepted for compatibility.

        Returns:
            int64 of the shape of ``keys``.

        Raises:
            TypeError: keys of another dtype.
        """
        if is_sparse(keys):
            entries: Tensor = keys.with_values(self.lookup(keys.values))
            return entries
        if is_ragged(keys):
            rows: Tensor = of_flat_values(self.lookup, keys)
            return rows
        words = self._checked(keys)
        places = self._find(words)
        count = len(self._words)
        if self._buckets == 1:
            table = np.append(self.values, np.int64(count))
            return ox.Gather(constant(table, dtypes.int64), places)
        table = np.append(self.values, np.int64(0))
        known = ox.Gather(constant(table, dtypes.int64), places)
        other = self._bucket(words)
        is_known = ox.Less(places, constant(count, dtypes.int64))
        return ox.Where(is_known, known, other)

    def _bucket(self, keys: Tensor) -> Tensor:
        if isinstance(keys, EagerTensor):
            return constant(self._hashed(np.asarray(keys.numpy())), dtypes.int64)
        made: Tensor = numpy_function(self._hashed, [keys], dtypes.int64)
        made.set_shape(keys.shape)
        return made

    def _hashed(self, keys: npt.NDArray[Any]) -> npt.NDArray[Any]:
        texts = [k if isinstance(k, bytes) else str(k).encode() for k in _plain(keys)]
        found = (fingerprints(texts) % np.uint64(self._buckets)).astype(np.int64)
        return (found + len(self._words)).reshape(keys.shape)
