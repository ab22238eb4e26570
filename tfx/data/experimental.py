"""``tf.data.experimental``: older names of transformations, and what stands beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.core.dtypes import DTypeLike, int64
from tfx.core.namespaces import complete as _complete
from tfx.data.csv_files.csv_dataset import CsvDataset as CsvDataset
from tfx.data.csv_files.features_dataset import (
    make_batched_features_dataset as make_batched_features_dataset,
)
from tfx.data.csv_files.make_csv_dataset import make_csv_dataset as make_csv_dataset
from tfx.data.dataset import Dataset
from tfx.data.extras.group_reducing import Reducer as Reducer
from tfx.data.extras.group_reducing import group_by_reducer as group_by_reducer
from tfx.data.extras.older_functions import Counter as Counter
from tfx.data.extras.older_functions import RandomDataset as RandomDataset
from tfx.data.extras.older_functions import TFRecordWriter as TFRecordWriter
from tfx.data.extras.older_functions import at as at
from tfx.data.extras.older_functions import cardinality as cardinality
from tfx.data.extras.older_functions import from_list as from_list
from tfx.data.extras.older_functions import get_next_as_optional as get_next_as_optional
from tfx.data.extras.older_functions import get_single_element as get_single_element
from tfx.data.extras.older_functions import get_structure as get_structure
from tfx.data.extras.older_functions import load as load
from tfx.data.extras.older_functions import save as save
from tfx.data.extras.older_transformations import copy_to_device as copy_to_device
from tfx.data.extras.older_transformations import pad_to_cardinality as pad_to_cardinality
from tfx.data.extras.older_transformations import parse_example_dataset as parse_example_dataset
from tfx.data.extras.older_transformations import snapshot as snapshot
from tfx.data.extras.sparse_batches import dense_to_sparse_batch as dense_to_sparse_batch
from tfx.data.extras.sql import SqlDataset as SqlDataset
from tfx.data.extras.tables import DatasetInitializer as DatasetInitializer
from tfx.data.extras.tables import index_table_from_dataset as index_table_from_dataset
from tfx.data.extras.tables import table_from_dataset as table_from_dataset
from tfx.data.functions import enable_debug_mode as enable_debug_mode
from tfx.data.nodes import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from tfx.data.nodes import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from tfx.data.options import AutoShardPolicy as AutoShardPolicy
from tfx.data.options import AutotuneAlgorithm as AutotuneAlgorithm
from tfx.data.options import AutotuneOptions as AutotuneOptions
from tfx.data.options import DistributeOptions as DistributeOptions
from tfx.data.options import ExternalStatePolicy as ExternalStatePolicy
from tfx.data.options import OptimizationOptions as OptimizationOptions
from tfx.data.options import ServiceOptions as ServiceOptions
from tfx.data.options import ThreadingOptions as ThreadingOptions
from tfx.data.parallel import AUTOTUNE as AUTOTUNE
from tfx.framework.composite.optional import Optional as Optional

SHARD_HINT = -1
Transformation = Callable[[Dataset], Dataset]


def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """State how many elements there are; see ``Dataset.assert_cardinality``.

    Args:
        expected_cardinality: The number, or ``INFINITE_CARDINALITY``.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> dataset = tf.data.Dataset.range(2).apply(tf.data.experimental.assert_cardinality(2))
        >>> len(dataset)
        2
    """
    return lambda dataset: dataset.assert_cardinality(expected_cardinality)


def enumerate_dataset(start: Any = 0) -> Transformation:
    """Put numbers in front of elements; see ``Dataset.enumerate``.

    Args:
        start: The first number.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> numbered = tf.data.Dataset.range(5, 6).apply(tf.data.experimental.enumerate_dataset())
        >>> [(int(i), int(x)) for i, x in numbered]
        [(0, 5)]
    """
    return lambda dataset: dataset.enumerate(start)


def ignore_errors(log_warning: bool = False) -> Transformation:
    """Leave out elements with errors; see ``Dataset.ignore_errors``.

    Args:
        log_warning: Whether to log them.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> dataset = tf.data.Dataset.range(2).apply(tf.data.experimental.ignore_errors())
        >>> [int(x) for x in dataset]
        [0, 1]
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


def unbatch() -> Transformation:
    """Split elements along their first axis; see ``Dataset.unbatch``.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> dataset = tf.data.Dataset.from_tensors([1, 2]).apply(tf.data.experimental.unbatch())
        >>> [int(x) for x in dataset]
        [1, 2]
    """
    return lambda dataset: dataset.unbatch()


def unique() -> Transformation:
    """Keep each value once; see ``Dataset.unique``.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> dataset = tf.data.Dataset.from_tensor_slices([1, 1]).apply(
        ...     tf.data.experimental.unique()
        ... )
        >>> [int(x) for x in dataset]
        [1]
    """
    return lambda dataset: dataset.unique()


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Take elements up to the first of which a function says no; see ``Dataset.take_while``.

    Args:
        predicate: Returns a boolean scalar.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> few = tf.data.experimental.take_while(lambda x: x < 2)
        >>> [int(x) for x in tf.data.Dataset.range(5).apply(few)]
        [0, 1]
    """
    return lambda dataset: dataset.take_while(predicate)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """Compute a function of a state and each element; see ``Dataset.scan``.

    Args:
        initial_state: A structure of tensors.
        scan_func: Returns the next state and a result.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> sums = tf.data.experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s))
        >>> [int(x) for x in tf.data.Dataset.range(4).apply(sums)]
        [0, 0, 1, 3]
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """Shuffle and repeat; see ``Dataset.shuffle`` and ``Dataset.repeat``.

    Args:
        buffer_size: Size of the buffer.
        count: How often the elements are gone through.
        seed: Makes the order reproducible.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> twice = tf.data.experimental.shuffle_and_repeat(3, count=2)
        >>> sorted(int(x) for x in tf.data.Dataset.range(3).apply(twice))
        [0, 0, 1, 1, 2, 2]
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    """Fetch elements ahead; see ``Dataset.prefetch``.

    Args:
        device: Accepted for compatibility: elements are in the host's memory.
        buffer_size: How many elements at most.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> ahead = tf.data.experimental.prefetch_to_device("/cpu:0")
        >>> [int(x) for x in tf.data.Dataset.range(2).apply(ahead)]
        [0, 1]
    """
    return lambda dataset: dataset.prefetch(buffer_size)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """Compute a function and make batches; see ``Dataset.map`` and ``Dataset.batch``.

    Args:
        map_func: The function.
        batch_size: How many make a batch.
        num_parallel_batches: Accepted for compatibility.
        drop_remainder: Whether fewer at the end are left out.
        num_parallel_calls: How many calls at a time.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> squares = tf.data.experimental.map_and_batch(lambda x: x * x, 2)
        >>> list(tf.data.Dataset.range(4).apply(squares).as_numpy_iterator())
        [array([0, 1]), array([4, 9])]
    """
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(
        batch_size, drop_remainder
    )


def dense_to_ragged_batch(
    batch_size: Any, drop_remainder: bool = False, row_splits_dtype: DTypeLike = int64
) -> Transformation:
    """Put elements of different sizes together; see ``Dataset.ragged_batch``.

    Args:
        batch_size: How many make a batch.
        drop_remainder: Whether fewer at the end are left out.
        row_splits_dtype: int32 or int64.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """Mix the elements of datasets; see ``Dataset.interleave``.

    Args:
        map_func: Returns a dataset.
        cycle_length: From how many datasets elements come in turns.
        block_length: How many from one.
        sloppy: Accepted for compatibility.
        buffer_output_elements: Accepted for compatibility.
        prefetch_input_elements: Accepted for compatibility.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> mix = tf.data.experimental.parallel_interleave(
        ...     lambda x: tf.data.Dataset.from_tensors(x).repeat(2), cycle_length=2
        ... )
        >>> [int(x) for x in tf.data.Dataset.range(2).apply(mix)]
        [0, 1, 0, 1]
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Any = None,
) -> Transformation:
    """Collect elements by key; see ``Dataset.group_by_window``.

    Args:
        key_func: Gives the key of an element.
        reduce_func: Makes a dataset of a key and a window.
        window_size: How many elements a window has.
        window_size_func: Gives that for a key.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> pairs = tf.data.experimental.group_by_window(
        ...     lambda x: x % 2, lambda k, w: w.batch(2), 2
        ... )
        >>> list(tf.data.Dataset.range(4).apply(pairs).as_numpy_iterator())
        [array([0, 2]), array([1, 3])]
    """
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Make batches by length; see ``Dataset.bucket_by_sequence_length``.

    Args:
        element_length_func: Gives the length of an element.
        bucket_boundaries: Upper ends of the lengths of each bucket but the last.
        bucket_batch_sizes: How many make a batch in each.
        padded_shapes: See ``Dataset.padded_batch``.
        padding_values: See ``Dataset.padded_batch``.
        pad_to_bucket_boundary: Pad to the end of the bucket less one.
        no_padding: Elements have one shape in each bucket.
        drop_remainder: Whether smaller batches at the end are left out.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> rows = tf.data.Dataset.range(1, 3).map(lambda n: tf.fill([n], n))
        >>> by_length = tf.data.experimental.bucket_by_sequence_length(
        ...     lambda x: tf.shape(x)[0], [2], [1, 1]
        ... )
        >>> [batch.shape for batch in rows.apply(by_length)]
        [TensorShape([1, 1]), TensorShape([1, 2])]
    """
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Transformation:
    """Make classes as frequent as wanted; see ``Dataset.rejection_resample``.

    Args:
        class_func: Gives the class of an element.
        target_dist: How frequent each class is to be.
        initial_dist: How frequent it is.
        seed: Makes the choices reproducible.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> ones = tf.data.experimental.rejection_resample(lambda x: x, [0.0, 1.0], [0.5, 0.5])
        >>> {int(kind) for kind, _ in tf.data.Dataset.from_tensor_slices([0, 1] * 50).apply(ones)}
        {1}
    """
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


def choose_from_datasets(
    datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Take elements in the order of numbers; see ``Dataset.choose_from_datasets``.

    Args:
        datasets: The datasets.
        choice_dataset: Whose turn it is.
        stop_on_empty_dataset: Whether it ends when the chosen dataset has.

    Returns:
        The dataset.

    Example:
        >>> import tfx as tf
        >>> parts = [tf.data.Dataset.from_tensors(x) for x in (5, 6)]
        >>> chosen = tf.data.experimental.choose_from_datasets(
        ...     parts, tf.data.Dataset.range(1, -1, -1)
        ... )
        >>> [int(x) for x in chosen]
        [6, 5]
    """
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def sample_from_datasets(
    datasets: Sequence[Any],
    weights: Any = None,
    seed: Any = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """Take elements at random; see ``Dataset.sample_from_datasets``.

    Args:
        datasets: The datasets.
        weights: How often each is taken from.
        seed: Makes the choices reproducible.
        stop_on_empty_dataset: Whether it ends with the first dataset that does.

    Returns:
        The dataset.

    Example:
        >>> import tfx as tf
        >>> parts = [tf.data.Dataset.range(2), tf.data.Dataset.range(5, 7)]
        >>> sorted(int(x) for x in tf.data.experimental.sample_from_datasets(parts))
        [0, 1, 5, 6]
    """
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


_complete(__name__)
