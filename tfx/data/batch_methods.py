"""The methods of ``Dataset`` that put elements together and take them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfx.core.dtypes import DTypeLike, as_dtype, int64
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.data.batching import (
    Batch,
    PaddedBatch,
    RaggedElements,
    Rebatch,
    Unbatch,
    check_size,
)
from tfx.data.extras.sparse_batches import sparse_batch
from tfx.data.grouping import BucketRule, Buckets, GroupByWindow, Window
from tfx.data.nodes import Node, wrapped
from tfx.data.parameters import flag, parameter, shape_parameter
from tfx.data.structure import NoneTensorSpec, Structure, kind_of
from tfx.framework.convert import convert_to_tensor

if TYPE_CHECKING:
    from tfx.data.dataset import Dataset


class BatchMethods:
    """What is done with several elements."""

    __slots__ = ()

    _node: Node

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stack consecutive elements.

        Args:
            batch_size: How many make a batch.
            drop_remainder: Whether fewer at the end are left out; the size is known then.
            num_parallel_calls: Accepted for compatibility.
            deterministic: Accepted for compatibility: the order stays.
            name: Accepted for compatibility.

        Returns:
            A dataset of batches.

        Raises:
            InvalidArgumentError: a size below 1; while taking elements: different shapes.

        Example:
            >>> import tfx as tf
            >>> list(tf.data.Dataset.range(5).batch(2).as_numpy_iterator())
            [array([0, 1]), array([2, 3]), array([4])]
        """
        return wrapped(Batch(self._node, parameter(batch_size, "batch"), flag(drop_remainder)))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Stack consecutive elements that are padded to one shape.

        Args:
            batch_size: How many make a batch.
            padded_shapes: The shape of each component; None or -1 in it: as large as the largest of
                the batch. None: so for all dimensions that are not known.
            padding_values: What is filled in, for each component or for all; None: zeros, and
                empty strings.
            drop_remainder: Whether fewer at the end are left out.
            name: Accepted for compatibility.

        Returns:
            A dataset of batches.

        Raises:
            ValueError: a component of unknown rank without a shape.
            TypeError: shapes or values of another structure or dtype.
            DataLossError: while taking elements: one is larger than the shape.

        Example:
            >>> import tfx as tf
            >>> rows = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
            >>> next(rows.padded_batch(3).as_numpy_iterator())
            array([[1, 0, 0],
                   [2, 2, 0],
                   [3, 3, 3]])
        """
        structure = self._node.structure
        _refuse_ragged(structure, "padded_batch", "map them to x.to_tensor() first")
        shapes = _padded_shapes(padded_shapes, structure)
        values = _padding_values(padding_values, structure)
        size = parameter(batch_size, "padded_batch")
        return wrapped(PaddedBatch(self._node, size, shapes, values, flag(drop_remainder)))

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        row_splits_dtype: DTypeLike = int64,
        name: str | None = None,
    ) -> Dataset:
        """Put consecutive elements of different sizes together to ragged tensors.

        Components of known shapes are stacked to tensors.

        Args:
            batch_size: How many make a batch.
            drop_remainder: Whether fewer at the end are left out.
            row_splits_dtype: int32 or int64.
            name: Accepted for compatibility.

        Returns:
            A dataset of batches.

        Raises:
            InvalidArgumentError: a size below 1.

        Example:
            >>> import tfx as tf
            >>> rows = tf.data.Dataset.range(4).map(lambda n: tf.range(n))
            >>> list(rows.ragged_batch(2))
            [<tf.RaggedTensor [[], [0]]>, <tf.RaggedTensor [[0, 1], [0, 1, 2]]>]
        """
        source = RaggedElements(self._node, as_dtype(row_splits_dtype))
        return wrapped(Batch(source, parameter(batch_size, "ragged_batch"), flag(drop_remainder)))

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """Put consecutive elements of different shapes together to sparse tensors.

        Args:
            batch_size: How many make a batch.
            row_shape: The shape of each row; None or -1: that of the batch's largest element.
            name: Accepted for compatibility.

        Returns:
            A dataset of sparse tensors, with an entry for each element of a row.

        Raises:
            ValueError: elements of another rank.
            InvalidArgumentError: while iterating, an element that is larger than ``row_shape``.

        Example:
            >>> import tfx as tf
            >>> rows = tf.data.Dataset.range(1, 3).map(lambda n: tf.range(n))
            >>> next(iter(rows.sparse_batch(2, [None]))).dense_shape.numpy()
            array([2, 2])
        """
        found: Dataset = sparse_batch(self, batch_size, row_shape)
        return found

    def unbatch(self, name: str | None = None) -> Dataset:
        """Split elements along their first axis.

        Args:
            name: Accepted for compatibility.

        Returns:
            A dataset of the slices.

        Raises:
            ValueError: elements that are scalars.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.from_tensors([1, 2, 3]).unbatch()]
            [1, 2, 3]
        """
        return wrapped(Unbatch(self._node))

    def rebatch(
        self, batch_size: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Make batches of another size of batches.

        Args:
            batch_size: How many rows make a batch; or several such numbers, which take turns.
            drop_remainder: Whether fewer at the end are left out.
            name: Accepted for compatibility.

        Returns:
            A dataset of batches.

        Raises:
            InvalidArgumentError: a size below 1.

        Example:
            >>> import tfx as tf
            >>> dataset = tf.data.Dataset.range(6).batch(2).rebatch([1, 3])
            >>> list(dataset.as_numpy_iterator())
            [array([0]), array([1, 2, 3]), array([4]), array([5])]
        """
        sizes = np.asarray(convert_to_tensor(batch_size)).reshape(-1)
        _refuse_ragged(self._node.structure, "rebatch", "use unbatch() and batch()")
        return wrapped(Rebatch(self._node, [check_size(n) for n in sizes], bool(drop_remainder)))

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Make datasets of consecutive elements.

        Args:
            size: How many elements a window has.
            shift: How far it is to the next one; None: ``size``.
            stride: How far it is to the next element of a window.
            drop_remainder: Whether smaller windows at the end are left out.
            name: Accepted for compatibility.

        Returns:
            A dataset of datasets; where elements have several components, of structures of these.

        Raises:
            InvalidArgumentError: a number below 1.

        Example:
            >>> import tfx as tf
            >>> windows = tf.data.Dataset.range(5).window(3, shift=1, drop_remainder=True)
            >>> [[int(x) for x in window] for window in windows]
            [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        """
        shift = size if shift is None else shift
        wide, far, step = (parameter(x, "window") for x in (size, shift, stride))
        return wrapped(Window(self._node, wide, far, step, flag(drop_remainder)))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Collect elements by key, and make a dataset of each window of one key.

        Args:
            key_func: Gets the element as ``map``'s function does; returns its key, an int64.
            reduce_func: Gets a key and a dataset of elements; returns a dataset.
            window_size: How many elements a window has.
            window_size_func: Gets a key, returns the size; in the place of ``window_size``.
            name: Accepted for compatibility.

        Returns:
            A dataset of the elements of the datasets that ``reduce_func`` makes.

        Raises:
            ValueError: neither or both of the sizes.
            TypeError: ``reduce_func`` returns no dataset.

        Example:
            >>> import tfx as tf
            >>> grouped = tf.data.Dataset.range(6).group_by_window(
            ...     lambda x: x % 2, lambda key, window: window.batch(3), window_size=3
            ... )
            >>> list(grouped.as_numpy_iterator())
            [array([0, 2, 4]), array([1, 3, 5])]
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be "
                f"specified, but not both; got {window_size!r} and {window_size_func!r}."
            )
        size_func = _window_size(window_size) if window_size_func is None else window_size_func
        return wrapped(GroupByWindow(self._node, key_func, reduce_func, size_func))

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Make batches of elements of about the same length.

        Args:
            element_length_func: Gets the element as ``map``'s function does; returns its length.
            bucket_boundaries: Upper ends of the lengths of each bucket but the last.
            bucket_batch_sizes: How many make a batch in each bucket; one more than boundaries.
            padded_shapes: See ``padded_batch``.
            padding_values: See ``padded_batch``.
            pad_to_bucket_boundary: Pad to the end of the bucket less one, not to the longest.
            no_padding: Elements have one shape in each bucket.
            drop_remainder: Whether smaller batches at the end are left out.
            name: Accepted for compatibility.

        Returns:
            A dataset of batches.

        Raises:
            ValueError: other than one more size than boundaries.
            InvalidArgumentError: an element beyond the last boundary with
                ``pad_to_bucket_boundary``.

        Example:
            >>> import tfx as tf
            >>> rows = tf.data.Dataset.range(1, 7).map(lambda n: tf.fill([n], n))
            >>> batches = rows.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [4], [3, 3])
            >>> [batch.shape for batch in batches]
            [TensorShape([3, 3]), TensorShape([3, 6])]
        """
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError(
                "len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1; got "
                f"{len(bucket_batch_sizes)} and {len(bucket_boundaries)}."
            )
        structure = self._node.structure
        _refuse_ragged(structure, "bucket_by_sequence_length", "use group_by_window")
        shapes = None if no_padding else _padded_shapes(padded_shapes, structure)
        values = None if no_padding else _padding_values(padding_values, structure)
        rule = BucketRule(
            tuple(bucket_boundaries), tuple(bucket_batch_sizes), pad_to_bucket_boundary,
            drop_remainder,
        )  # fmt: skip
        return wrapped(Buckets(self._node, element_length_func, rule, shapes, values))


def _refuse_ragged(structure: Structure, method: str, instead: str) -> None:
    if structure.has_ragged:
        raise TypeError(
            f"`{method}` is only supported for datasets that produce tensor elements; these have "
            f"the spec {structure!r}: {instead}."
        )


def _spread(value: Any, structure: Structure, what: str, is_leaf: Callable[[Any], bool]) -> Any:
    """What was given for each component: one for all, or a structure like that of the elements.

    Raises:
        TypeError: another structure.
    """
    if value is None or (is_leaf(value) and what == "padding_values"):
        return [value] * len(structure.specs)
    found: list[Any] = []

    def walk(spec: Any, given: Any) -> None:
        kind = kind_of(spec)
        if kind is None:
            found.append(given)
            return
        if isinstance(given, list):
            given = tuple(given)
        other = kind_of(given)
        if other is None or kind.keys(spec) != other.keys(given):
            raise TypeError(
                f"`{what}` must have the structure of the elements, {structure!r}; got {value!r}."
            )
        for part, each in zip(kind.values(spec), other.values(given), strict=True):
            walk(part, each)

    walk(structure.spec, value)
    return found


def _padded_shapes(value: Any, structure: Structure) -> list[TensorShape]:
    """The shape of each component of a padded batch.

    Raises:
        ValueError: nothing is known of one, or it does not fit.
    """
    found = []
    given = _spread(value, structure, "padded_shapes", lambda _: False)
    for spec, shape in zip(structure.specs, given, strict=True):
        if isinstance(spec, NoneTensorSpec):
            found.append(TensorShape([]))
            continue
        if not isinstance(spec, TensorSpec):
            raise TypeError(
                f"Batching of padded components is not supported for {spec!r}: only for tensors."
            )
        if shape is None and spec.shape.rank is None:
            raise ValueError(
                "You must provide `padded_shapes` argument because component "
                f"{len(found)} has unknown rank."
            )
        made = spec.shape if shape is None else shape_parameter(shape)
        if spec.shape.rank is not None and made.rank != spec.shape.rank:
            raise ValueError(
                f"The padded shape {made} is not compatible with the shape {spec.shape} of the "
                f"corresponding input component {len(found)}."
            )
        for have, want in zip(spec.shape.as_list() if spec.shape.rank else (), made, strict=False):
            if have is not None and want is not None and have > want:
                raise ValueError(
                    f"The padded shape {made} is not compatible with the shape {spec.shape} of the "
                    f"corresponding input component {len(found)}."
                )
        found.append(made)
    return found


def _padding_values(value: Any, structure: Structure) -> list[Any]:
    """What each component is padded with, as tensors.

    Raises:
        TypeError: another dtype.
        ValueError: no scalar.
    """
    found: list[Any] = []
    given = _spread(value, structure, "padding_values", lambda x: kind_of(x) is None)
    for spec, each in zip(structure.specs, given, strict=True):
        if isinstance(spec, NoneTensorSpec):
            found.append(None)
            continue
        filling = ("" if spec.dtype.name == "string" else 0) if each is None else each
        if value is not None and kind_of(value) is None and len(structure.specs) > 1:
            filling = np.asarray(convert_to_tensor(filling)).astype(spec.dtype.as_numpy_dtype)
        made = convert_to_tensor(filling, None if hasattr(filling, "dtype") else spec.dtype)
        if made.dtype is not spec.dtype:
            raise TypeError(
                f"Mismatched type between padding value {filling!r} and component {len(found)}: "
                f"{made.dtype.name} and {spec.dtype.name}."
            )
        if made.shape.rank:
            raise ValueError(f"A padding value must be a scalar; got one of shape {made.shape}.")
        found.append(made)
    return found


def _window_size(size: Any) -> Callable[[Any], Any]:
    return lambda _: convert_to_tensor(size, "int64")
