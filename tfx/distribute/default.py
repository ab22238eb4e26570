"""The strategy that there is where nobody made another one: one replica, which is this process.

All of it works, since distributing to one replica is calling it. What takes several devices apart
from one another (``extended.worker_devices``) is refused, as TensorFlow's default refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from enum import Enum
from typing import Any, NamedTuple, NoReturn

from tfx.core import nest
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.control_dependencies import group
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.gather import gather
from tfx.ops.array.shape import shape, size
from tfx.ops.math.arithmetic import floormod, truediv
from tfx.ops.math.cast import cast
from tfx.ops.math.reduction import reduce_prod, reduce_sum

# Whether the code is between the replicas: inside of ``merge_call``.
_crossing: ContextVar[bool] = ContextVar("tfx_cross_replica", default=False)
# The strategy whose scope the code is in; None: the default one.
_around: ContextVar[Strategy | None] = ContextVar("tfx_strategy", default=None)


class ReduceOp(Enum):
    """The reductions of values of several replicas to one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """The reduction that a variable's aggregation stands for.

        Raises:
            ValueError: it stands for none.
        """
        try:
            return ReduceOp[aggregation.name]
        except KeyError:
            raise ValueError(
                f"Could not convert from {aggregation!r} to ReduceOp: expected "
                "VariableAggregation.SUM or VariableAggregation.MEAN."
            ) from None


class RunOptions(NamedTuple):
    """Options of ``Strategy.run``; accepted for compatibility, one replica needs none."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


class InputContext:
    """The arguments of a function that makes a data set for one input pipeline.

    Args:
        num_input_pipelines: How many there are.
        input_pipeline_id: Which one this is.
        num_replicas_in_sync: How many replicas share a batch.
    """

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The part of a batch that one replica gets.

        Raises:
            ValueError: the batch cannot be divided evenly.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by "
                f"`num_replicas_in_sync` {self.num_replicas_in_sync}; expected a multiple of it."
            )
        return global_batch_size // self.num_replicas_in_sync

    def __repr__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, "
            f"total: {self.num_input_pipelines})"
        )


class ValueContext:
    """The arguments of a function that makes the value of one replica.

    Args:
        replica_id_in_sync_group: Which replica it is for.
        num_replicas_in_sync: How many there are.

    Example:
        >>> import tfx as tf
        >>> context = tf.distribute.experimental.ValueContext(2, num_replicas_in_sync=4)
        >>> context.replica_id_in_sync_group, context.num_replicas_in_sync
        (2, 4)
    """

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1) -> None:
        self._replica_id = replica_id_in_sync_group
        self._count = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self._count

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of the replica."""
        return self._replica_id

    def __str__(self) -> str:
        return (
            f"tf.distribute.experimental.ValueContext(replica id {self._replica_id}, "
            f"total replicas in sync: {self._count})"
        )


class ReplicaContext:
    """The context in which a replica's code runs; from ``get_replica_context``.

    Args:
        strategy: The strategy.
    """

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    @property
    def strategy(self) -> Strategy:
        """The strategy of the replica."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas: 1."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of this replica: 0."""
        return 0

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of this replica: wherever scopes say."""
        return ("",)

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The values of all replicas reduced to one, in each of them: the value itself.

        Args:
            reduce_op: A ``ReduceOp`` or its name.
            value: A tensor, ``IndexedSlices``, or a structure of them.
            options: Accepted for compatibility.

        Raises:
            ValueError: the reduction is not known.

        Example:
            >>> import tfx as tf
            >>> context = tf.distribute.get_replica_context()
            >>> float(context.all_reduce("SUM", tf.constant(2.0)))
            2.0
        """
        _reduction(reduce_op)
        return nest.map_structure(_value, value)

    def all_gather(self, value: Any, axis: Any, options: Any = None) -> Any:
        """The values of all replicas side by side, in each of them: the value itself.

        Args:
            value: A tensor, or a structure of them.
            axis: The axis that they are joined along.
            options: Accepted for compatibility.
        """
        return nest.map_structure(_value, value)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call a function once for all replicas.

        Args:
            merge_fn: Called as ``merge_fn(strategy, *args, **kwargs)``; inside there is no replica
                context.
            args: Its arguments.
            kwargs: The same by name.

        Returns:
            What it returned.
        """
        with _cross_replica(True):
            return merge_fn(self._strategy, *args, **(kwargs or {}))


class Strategy:
    """A distribution of computation to one replica, which is this process."""

    def __init__(self) -> None:
        self.extended = StrategyExtended(self)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas: 1."""
        return 1

    @property
    def cluster_resolver(self) -> None:
        """The resolver of a cluster's machines, which is None."""
        return None

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A block in which this is the strategy, which it is everywhere."""
        yield self

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        options: RunOptions | None = None,
    ) -> Any:
        """Call a function on each replica.

        Args:
            fn: The function.
            args: Its arguments.
            kwargs: The same by name.
            options: Accepted for compatibility.

        Returns:
            What it returned.

        Example:
            >>> import tfx as tf
            >>> strategy = tf.distribute.get_strategy()
            >>> float(strategy.run(lambda x: x + 1.0, args=(tf.constant(1.0),)))
            2.0
        """
        if not isinstance(args, list | tuple):
            raise ValueError(
                f"positional args must be a list or tuple, got {type(args)}: expected "
                "strategy.run(fn, args=(x,))."
            )
        with _cross_replica(False):
            return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op: Any, value: Any, axis: Any) -> Any:
        """The values of all replicas reduced to one, and along an axis.

        Args:
            reduce_op: A ``ReduceOp`` or its name.
            value: What ``run`` returned.
            axis: An axis (or several) of each value to reduce along too; None: none.

        Returns:
            A tensor; without an axis the value itself.

        Raises:
            ValueError: the reduction is not known.

        Example:
            >>> import tfx as tf
            >>> strategy = tf.distribute.get_strategy()
            >>> float(strategy.reduce("MEAN", tf.constant([1.0, 2.0]), axis=0))
            1.5
        """
        operation = _reduction(reduce_op)
        if axis is None:
            return value
        tensor = convert_to_tensor(value)
        total = reduce_sum(tensor, axis=axis)
        if operation is ReduceOp.SUM:
            return total
        sizes = shape(tensor)
        axes = floormod(convert_to_tensor(axis), size(sizes))
        count = reduce_prod(gather(sizes, axes))
        return truediv(total, cast(count, total.dtype))

    def gather(self, value: Any, axis: int) -> Any:
        """The values of all replicas side by side: the value itself.

        Args:
            value: What ``run`` returned.
            axis: The axis that they are joined along.
        """
        return value

    def group(self, value: Any, name: str | None = None) -> Any:
        """One operation that runs when all parts of a value have.

        Args:
            value: What ``run`` returned.
            name: Name of the operation.
        """
        return group(value, name=name)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas in this process, as a tuple."""
        return (value,)

    unwrap = experimental_local_results

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """The data set of this process: all of it.

        Args:
            dataset: Anything that can be iterated.
            options: Accepted for compatibility.
        """
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any = None
    ) -> Any:
        """The data set that a function makes for this process.

        Args:
            dataset_fn: Gets an ``InputContext``.
            options: Accepted for compatibility.
        """
        return dataset_fn(InputContext())

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        """The values that a function makes for each replica.

        Args:
            value_fn: Gets a ``ValueContext``.
        """
        return value_fn(ValueContext(num_replicas_in_sync=self.num_replicas_in_sync))


class StrategyExtended:
    """The interface for libraries that are written for strategies; ``strategy.extended``.

    Args:
        strategy: The strategy.
    """

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self.experimental_between_graph = False
        self.experimental_require_static_shapes = False
        self.experimental_should_init = True
        self.should_checkpoint = True
        self.should_save_summary = True

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call a function on each replica; see ``Strategy.run``."""
        return self._strategy.run(fn, args, kwargs)

    def variable_created_in_scope(self, v: Any) -> bool:
        """True if a variable was made in the scope of this strategy; all were."""
        return True

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[None]:
        """A block whose variables are where another one is."""
        return nullcontext()

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Change a variable on each replica.

        Args:
            var: The variable.
            fn: Called as ``fn(var, *args, **kwargs)``.
            args: Its arguments.
            kwargs: The same by name.
            group: Whether one value is returned; False: a tuple, with one for each replica.
        """
        made = fn(var, *args, **(kwargs or {}))
        return made if group else (made,)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Call a function on each replica's devices; see ``update``."""
        made = fn(*args, **(kwargs or {}))
        return made if group else (made,)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any = None) -> Any:
        """The values of all replicas reduced to one: the value itself."""
        _reduction(reduce_op)
        return value

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Sequence[Any], options: Any = None
    ) -> list[Any]:
        """``reduce_to`` of each value of pairs of values and destinations."""
        _reduction(reduce_op)
        return [value for value, _ in value_destination_pairs]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """A tensor on all devices: the tensor itself."""
        return tensor

    def read_var(self, v: Any) -> Tensor:
        """The value of a variable."""
        return convert_to_tensor(v)

    def value_container(self, value: Any) -> Any:
        """The distributed value that a value is a part of: the value itself."""
        return value

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Return the place of variables that belong to no other variable."""
        return min(var_list, key=lambda v: v.name)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of a strategy that has some; refused by the default one."""
        return self._refuse("worker_devices")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of a strategy that has some; refused by the default one."""
        return self._refuse("parameter_devices")

    def _refuse(self, name: str) -> NoReturn:
        raise RuntimeError(
            f"{name}() method unsupported by default tf.distribute.Strategy: operations run where "
            "tfx.device says."
        )


_default = Strategy()


def has_strategy() -> bool:
    """True in the scope of another strategy than the default one.

    Example:
        >>> import tfx as tf
        >>> tf.distribute.has_strategy()
        False
    """
    return _around.get() is not None


def get_strategy() -> Strategy:
    """The strategy of the scope around; without one the default strategy.

    Example:
        >>> import tfx as tf
        >>> tf.distribute.get_strategy().num_replicas_in_sync
        1
    """
    return _around.get() or _default


def in_cross_replica_context() -> bool:
    """True if the code runs once for all replicas: in ``merge_call``, in a scope outside ``run``.

    Example:
        >>> import tfx as tf
        >>> tf.distribute.in_cross_replica_context()
        False
    """
    return _crossing.get()


def get_replica_context() -> ReplicaContext | None:
    """The context of the replica that runs; None where ``in_cross_replica_context()`` is true.

    Example:
        >>> import tfx as tf
        >>> tf.distribute.get_replica_context().replica_id_in_sync_group
        0
    """
    return None if _crossing.get() else ReplicaContext(get_strategy())


@contextmanager
def entered(strategy: Strategy) -> Iterator[None]:
    """A block in which a strategy is the one of ``get_strategy``, outside of its replicas."""
    token = _around.set(strategy)
    try:
        with _cross_replica(True):
            yield
    finally:
        _around.reset(token)


@contextmanager
def _cross_replica(crossing: bool) -> Iterator[None]:
    token = _crossing.set(crossing)
    try:
        yield
    finally:
        _crossing.reset(token)


def _reduction(given: Any) -> ReduceOp:
    """A reduction by its name.

    Raises:
        ValueError: there is none of that name.
    """
    return ReduceOp(given.upper()) if isinstance(given, str) else ReduceOp(given)


def _value(value: Any) -> Any:
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value)
