"""``batch``, ``shuffle_batch`` and their kin: the functions of ``tf.compat.v1.train``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.compat.v1.input_pipeline.batching import Batching


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of examples, which threads put into a queue; see ``start_queue_runners``.

    Args:
        tensors: A list or dict of tensors, sparse ones among them: an example, or with
            ``enqueue_many`` several.
        batch_size: How many examples a batch has; a number or a scalar.
        num_threads: How many threads enqueue; with several the order is not that of the source.
        capacity: How many examples the queue holds.
        enqueue_many: Whether the first axis of the tensors counts examples, in place of one example
            each.
        shapes: The shapes of an example; None: those of the tensors.
        dynamic_pad: Whether examples of different sizes are padded with zeros, or empty strings.
        allow_smaller_final_batch: Whether the last batch may be smaller, in place of being left
            out.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.

    Returns:
        A list or dict like ``tensors`` with a new first axis; a tensor for a list of one.

    Raises:
        ValueError: shapes that are not known or do not fit, no tensors, or no graph.
        TypeError: dtypes that differ between sources.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     numbers = tf.train.range_input_producer(6, num_epochs=1, shuffle=False)
        ...     two = tf.train.batch([numbers.dequeue()], batch_size=2)
        ...     session.run(tf.local_variables_initializer())
        ...     coordinator = tf.train.Coordinator()
        ...     threads = tf.train.start_queue_runners(session, coordinator)
        ...     found = [session.run(two).tolist() for _ in range(3)]
        ...     coordinator.request_stop()
        ...     coordinator.join(threads)
        >>> found
        [[0, 1], [2, 3], [4, 5]]
    """
    settings = Batching(
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
        "batch",
        padded=dynamic_pad,
    )
    return settings.run([tensors], num_threads)


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of those examples that are to be kept; see ``batch``.

    Args:
        tensors: A list or dict of tensors, sparse ones among them: an example, or with
            ``enqueue_many`` several.
        keep_input: Which examples to take: a scalar of bools, or with ``enqueue_many`` a vector.
        batch_size: How many examples a batch has; a number or a scalar.
        num_threads: How many threads enqueue; with several the order is not that of the source.
        capacity: How many examples the queue holds.
        enqueue_many: Whether the first axis of the tensors counts examples, in place of one example
            each.
        shapes: The shapes of an example; None: those of the tensors.
        dynamic_pad: Whether examples of different sizes are padded with zeros, or empty strings.
        allow_smaller_final_batch: Whether the last batch may be smaller, in place of being left
            out.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.

    Returns:
        A list or dict like ``tensors`` with a new first axis; a tensor for a list of one.

    Raises:
        ValueError: shapes that are not known or do not fit, no tensors, or no graph.
        TypeError: dtypes that differ between sources.
    """
    settings = Batching(
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
        "batch",
        keep=keep_input,
        padded=dynamic_pad,
    )
    return settings.run([tensors], num_threads)


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the examples of several sources; see ``batch``.

    Args:
        tensors_list: Such lists or dicts; a thread enqueues from each of them.
        batch_size: How many examples a batch has; a number or a scalar.
        capacity: How many examples the queue holds.
        enqueue_many: Whether the first axis of the tensors counts examples, in place of one example
            each.
        shapes: The shapes of an example; None: those of the tensors.
        dynamic_pad: Whether examples of different sizes are padded with zeros, or empty strings.
        allow_smaller_final_batch: Whether the last batch may be smaller, in place of being left
            out.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.

    Returns:
        A list or dict like the first of ``tensors_list`` with a new first axis; a tensor for a
            list of one.

    Raises:
        ValueError: shapes that are not known or do not fit, no tensors, or no graph.
        TypeError: dtypes that differ between sources.
    """
    settings = Batching(
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
        "batch_join",
        padded=dynamic_pad,
    )
    return settings.run(tensors_list)


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of those examples of several sources that are to be kept; see ``batch``.

    Args:
        tensors_list: Such lists or dicts; a thread enqueues from each of them.
        keep_input: Which examples to take: a scalar of bools, or with ``enqueue_many`` a vector.
        batch_size: How many examples a batch has; a number or a scalar.
        capacity: How many examples the queue holds.
        enqueue_many: Whether the first axis of the tensors counts examples, in place of one example
            each.
        shapes: The shapes of an example; None: those of the tensors.
        dynamic_pad: Whether examples of different sizes are padded with zeros, or empty strings.
        allow_smaller_final_batch: Whether the last batch may be smaller, in place of being left
            out.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.

    Returns:
        A list or dict like the first of ``tensors_list`` with a new first axis; a tensor for a
            list of one.

    Raises:
        ValueError: shapes that are not known or do not fit, no tensors, or no graph.
        TypeError: dtypes that differ between sources.
    """
    settings = Batching(
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
        "batch_join",
        keep=keep_input,
        padded=dynamic_pad,
    )
    return settings.run(tensors_list)


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of examples in random order; see ``batch``.

    Args:
        tensors: A list or dict of tensors, sparse ones among them: an example, or with
            ``enqueue_many`` several.
        batch_size: How many examples a batch has; a number or a scalar.
        capacity: How many examples the queue holds.
        min_after_dequeue: How many examples must be left in the queue, until its end: the more, the
            better mixed.
        num_threads: How many threads enqueue; with several the order is not that of the source.
        seed: For the order to be the same each time.
        enqueue_many: Whether the first axis of the tensors counts examples, in place of one example
            each.
        shapes: The shapes of an example; None: those of the tensors.
        allow_smaller_final_batch: Whether the last batch may be smaller, in place of being left
            out.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.

    Returns:
        A list or dict like ``tensors`` with a new first axis; a tensor for a list of one.

    Raises:
        ValueError: shapes that are not known or do not fit, no tensors, no graph, or a capacity
            that is too small.
        TypeError: dtypes that differ between sources.
    """
    settings = Batching(
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
        "shuffle_batch",
        left=min_after_dequeue,
        seed=seed,
    )
    return settings.run([tensors], num_threads)


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of those examples that are to be kept, in random order; see ``batch``.

    Args:
        tensors: A list or dict of tensors, sparse ones among them: an example, or with
            ``enqueue_many`` several.
        batch_size: How many examples a batch has; a number or a scalar.
        capacity: How many examples the queue holds.
        min_after_dequeue: How many examples must be left in the queue, until its end: the more, the
            better mixed.
        keep_input: Which examples to take: a scalar of bools, or with ``enqueue_many`` a vector.
        num_threads: How many threads enqueue; with several the order is not that of the source.
        seed: For the order to be the same each time.
        enqueue_many: Whether the first axis of the tensors counts examples, in place of one example
            each.
        shapes: The shapes of an example; None: those of the tensors.
        allow_smaller_final_batch: Whether the last batch may be smaller, in place of being left
            out.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.

    Returns:
        A list or dict like ``tensors`` with a new first axis; a tensor for a list of one.

    Raises:
        ValueError: shapes that are not known or do not fit, no tensors, no graph, or a capacity
            that is too small.
        TypeError: dtypes that differ between sources.
    """
    settings = Batching(
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
        "shuffle_batch",
        keep=keep_input,
        left=min_after_dequeue,
        seed=seed,
    )
    return settings.run([tensors], num_threads)


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the examples of several sources in random order; see ``batch``.

    Args:
        tensors_list: Such lists or dicts; a thread enqueues from each of them.
        batch_size: How many examples a batch has; a number or a scalar.
        capacity: How many examples the queue holds.
        min_after_dequeue: How many examples must be left in the queue, until its end: the more, the
            better mixed.
        seed: For the order to be the same each time.
        enqueue_many: Whether the first axis of the tensors counts examples, in place of one example
            each.
        shapes: The shapes of an example; None: those of the tensors.
        allow_smaller_final_batch: Whether the last batch may be smaller, in place of being left
            out.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.

    Returns:
        A list or dict like the first of ``tensors_list`` with a new first axis; a tensor for a
            list of one.

    Raises:
        ValueError: shapes that are not known or do not fit, no tensors, no graph, or a capacity
            that is too small.
        TypeError: dtypes that differ between sources.
    """
    settings = Batching(
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
        "shuffle_batch_join",
        left=min_after_dequeue,
        seed=seed,
    )
    return settings.run(tensors_list)


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of the examples of several sources that are kept, in random order; see ``batch``.

    Args:
        tensors_list: Such lists or dicts; a thread enqueues from each of them.
        batch_size: How many examples a batch has; a number or a scalar.
        capacity: How many examples the queue holds.
        min_after_dequeue: How many examples must be left in the queue, until its end: the more, the
            better mixed.
        keep_input: Which examples to take: a scalar of bools, or with ``enqueue_many`` a vector.
        seed: For the order to be the same each time.
        enqueue_many: Whether the first axis of the tensors counts examples, in place of one example
            each.
        shapes: The shapes of an example; None: those of the tensors.
        allow_smaller_final_batch: Whether the last batch may be smaller, in place of being left
            out.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.

    Returns:
        A list or dict like the first of ``tensors_list`` with a new first axis; a tensor for a
            list of one.

    Raises:
        ValueError: shapes that are not known or do not fit, no tensors, no graph, or a capacity
            that is too small.
        TypeError: dtypes that differ between sources.
    """
    settings = Batching(
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
        "shuffle_batch_join",
        keep=keep_input,
        left=min_after_dequeue,
        seed=seed,
    )
    return settings.run(tensors_list)
