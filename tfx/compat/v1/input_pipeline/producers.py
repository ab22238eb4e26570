"""Input producers: queues that hold the rows of a tensor, epoch after epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.compat.v1.files.summaries import scalar
from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import is_building
from tfx.compat.v1.graph.name_scopes import name_scope
from tfx.compat.v1.input_pipeline.queue_runner import QueueRunner, add_queue_runner
from tfx.compat.v1.ops.grouping import control_dependencies
from tfx.compat.v1.variables.assign_functions import count_up_to
from tfx.compat.v1.variables.variable_v1 import Variable
from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.gather import gather
from tfx.ops.array.ranges import range as numbers_up_to
from tfx.ops.array.shape import shape
from tfx.ops.io.files import matching_files
from tfx.ops.math.cast import cast, identity
from tfx.ops.random.random import shuffle as shuffled
from tfx.script_ops.queues import FIFOQueue, QueueBase


def require_graph(error: type[Exception] = RuntimeError) -> None:
    """Refuse queues where no graph is built."""
    if not is_building():
        raise error(
            "Input pipelines based on Queues are not supported when eager execution is enabled: "
            "use tf.data to get data into your model."
        )


def _local(initial: Tensor, name: str, **options: Any) -> Any:
    """A local variable."""
    make: Any = Variable
    where = [GraphKeys.LOCAL_VARIABLES]
    return make(initial, trainable=False, collections=where, name=name, **options)


def match_filenames_once(pattern: Any, name: str | None = None) -> Any:
    """A local variable of the names of files that match patterns, found when it is initialized.

    Args:
        pattern: A pattern or several, see ``tf.io.matching_files``.
        name: Its name.
    """
    with name_scope(name, "matching_filenames", [pattern]):
        return _local(matching_files(pattern), "matching_filenames", validate_shape=False)


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """A tensor that can be computed ``num_epochs`` times, and then is an ``OutOfRangeError``.

    A local variable ``epochs`` counts: initialize the local variables.

    Args:
        tensor: The tensor.
        num_epochs: How often; None: without end.
        name: Prefix of the names.

    Raises:
        ValueError: ``num_epochs`` is not positive.
    """
    given = convert_to_tensor(tensor)
    if num_epochs is None:
        return given
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [given]):
        epochs = _local(convert_to_tensor(0, dtypes.int64), "epochs")
        with control_dependencies([count_up_to(epochs, num_epochs)]):
            return identity(given)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue that a thread fills with the rows of a tensor; see ``start_queue_runners``.

    Args:
        input_tensor: The rows, of one dtype and shape.
        element_shape: The shape of a row; None: that of the tensor.
        num_epochs: How often to go through the rows until the queue is closed, counted by a local
            variable; None: without end.
        shuffle: Whether the rows of each epoch are in random order.
        seed: For that order to be the same each time.
        capacity: How many rows the queue holds.
        shared_name: Accepted for compatibility.
        summary_name: Name of the summary of how full the queue is.
        name: Prefix of the names.
        cancel_op: Closes the queue when a coordinator stops; None: made of the queue.

    Raises:
        RuntimeError: no graph is built here.
        ValueError: the shape of a row is not known, or ``num_epochs`` is not positive.
    """
    require_graph()
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        row_shape = rows.shape.with_rank_at_least(1)[1:].merge_with(element_shape)
        if not row_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            rows = shuffled(rows, seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype], [row_shape], name="input_producer")
        added = queue.enqueue_many([rows])
        add_queue_runner(QueueRunner(queue, [added], cancel_op=cancel_op))
        summary = summary_name or f"fraction_of_{capacity}_full"
        scalar(summary, cast(queue.size(), dtypes.float32) * (1.0 / capacity))
        return queue


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue that a thread fills with strings, such as the names of files for a reader.

    Args:
        string_tensor: A vector of strings.
        num_epochs: See ``input_producer``.
        shuffle: See ``input_producer``.
        seed: See ``input_producer``.
        capacity: See ``input_producer``.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.
        cancel_op: See ``input_producer``.

    Raises:
        RuntimeError: no graph is built here.
        ValueError: no strings.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     names = tf.train.string_input_producer(["a", "b"], num_epochs=1, shuffle=False)
        ...     name = names.dequeue()
        ...     session.run(tf.local_variables_initializer())
        ...     coordinator = tf.train.Coordinator()
        ...     threads = tf.train.start_queue_runners(session, coordinator)
        ...     found = [session.run(name), session.run(name)]
        ...     coordinator.request_stop()
        ...     coordinator.join(threads)
        >>> found
        [b'a', b'b']
    """
    require_graph()
    if not isinstance(string_tensor, Tensor) and not len(string_tensor):
        raise ValueError("string_input_producer requires a non-null input tensor")
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtypes.string)
        return input_producer(
            strings,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            summary_name=f"fraction_of_{capacity}_full",
            name=scope,
            cancel_op=cancel_op,
        )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue that a thread fills with the integers from 0 to ``limit - 1``.

    Args:
        limit: An int32 scalar.
        num_epochs: See ``input_producer``.
        shuffle: See ``input_producer``.
        seed: See ``input_producer``.
        capacity: See ``input_producer``.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.
    """
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            numbers_up_to(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """The next row of each of several tensors that have as many.

    Args:
        tensor_list: The tensors.
        num_epochs: See ``input_producer``.
        shuffle: See ``input_producer``.
        seed: See ``input_producer``.
        capacity: See ``input_producer``.
        shared_name: Accepted for compatibility.
        name: Prefix of the names.

    Returns:
        A row of each tensor.

    Raises:
        ValueError: no tensors.
    """
    require_graph()
    if not tensor_list:
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(x) for x in tensor_list]
        count = shape(tensors[0])[0]
        queue = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(x, index) for x in tensors]
