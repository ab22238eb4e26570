"""The methods of ``Dataset`` that choose, order, compute and combine elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfx.core.errors import InvalidArgumentError
from tfx.data.caching import Cache, FileCache, Prefetch
from tfx.data.elementwise import Filter, IgnoreErrors, Map, Scan, TakeWhile, Unique
from tfx.data.interleaving import Interleave
from tfx.data.leaves import is_known
from tfx.data.nodes import Node, wrapped
from tfx.data.parallel import AUTOTUNE
from tfx.data.parameters import node_of, parameter
from tfx.data.resampling import Resample
from tfx.data.selection import Asserted, Concatenate, Counted, Limit, Repeat, Shard
from tfx.data.shuffling import Shuffle
from tfx.data.sources import Range, components
from tfx.data.structure import Structure, converted, spec_of
from tfx.framework.convert import convert_to_tensor

if TYPE_CHECKING:
    from tfx.data.dataset import Dataset

_LARGEST = 2**63 - 1


def _optional(value: Any, what: str) -> Any:
    return None if value is None else parameter(value, what)


class Transformations:
    """What is done with elements one by one."""

    __slots__ = ()

    _node: Node

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Compute a function of each element.

        The function is traced once, with AutoGraph, and run for each element by ONNX Runtime.
        Before ``batch`` a function of elements of known shapes that uses no variables and calls no
        Python runs once for each batch, if all its operations have batching rules; the results may
        differ in the last bits then, and random numbers are others.

        Args:
            map_func: Gets the element, the parts of a tuple as arguments of their own; returns a
                structure of tensors. A list becomes a tensor.
            num_parallel_calls: How many calls at a time, ``tf.data.AUTOTUNE`` as many as there are
                processors; None: one. Functions that draw random numbers or assign variables run
                one at a time, in order.
            deterministic: Whether the order stays with parallel calls; None: as the options say.
            synchronous: Accepted for compatibility.
            use_unbounded_threadpool: Accepted for compatibility.
            name: Accepted for compatibility.

        Returns:
            The dataset of the results.

        Raises:
            ValueError: ``map_func`` cannot be called.
            TypeError: it returns something that is no tensor.

        Example:
            >>> import tfx as tf
            >>> dataset = tf.data.Dataset.range(3).map(lambda x: {"x": x, "square": x * x})
            >>> [int(element["square"]) for element in dataset]
            [0, 1, 4]
        """
        parallel = _optional(num_parallel_calls, "num_parallel_calls")
        if parallel is not None and is_known(parallel) and parallel != AUTOTUNE and parallel < 1:
            raise InvalidArgumentError(
                f"num_parallel_calls must be greater than zero or AUTOTUNE; got {parallel}.",
                op="ParallelMapDatasetV2",
            )
        return wrapped(Map(self._node, map_func, parallel, deterministic))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keep the elements of which a function says yes.

        Args:
            predicate: Gets the element as ``map``'s function does; returns a boolean scalar.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            ValueError: the function returns something else.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.range(6).filter(lambda x: x % 3 == 0)]
            [0, 3]
        """
        return wrapped(Filter(self._node, predicate))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Take the elements up to the first of which a function says no.

        Args:
            predicate: Gets the element as ``map``'s function does; returns a boolean scalar.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            ValueError: the function returns something else.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.range(9).take_while(lambda x: x < 3)]
            [0, 1, 2]
        """
        return wrapped(TakeWhile(self._node, predicate))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Make a dataset of each element, and put their elements one after another.

        Args:
            map_func: Gets the element as ``map``'s function does; returns a dataset.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            TypeError: the function returns no dataset.

        Example:
            >>> import tfx as tf
            >>> repeated = tf.data.Dataset.range(3).flat_map(
            ...     lambda x: tf.data.Dataset.from_tensors(x).repeat(x)
            ... )
            >>> [int(x) for x in repeated]
            [1, 2, 2]
        """
        return wrapped(Interleave(self._node, map_func, 1, 1, None, "flat_map"))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Make a dataset of each element, and take elements from several of them in turns.

        Args:
            map_func: Gets the element as ``map``'s function does; returns a dataset.
            cycle_length: From how many datasets; None: ``num_parallel_calls``, or 4.
            block_length: How many elements come from one before it is the next one's turn; None: 1.
            num_parallel_calls: A number: a thread for each open dataset reads ahead.
            deterministic: Accepted for compatibility: the order always stays.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            TypeError: the function returns no dataset.
            InvalidArgumentError: a length below 1.

        Example:
            >>> import tfx as tf
            >>> mixed = tf.data.Dataset.range(1, 4).interleave(
            ...     lambda x: tf.data.Dataset.from_tensors(x).repeat(3),
            ...     cycle_length=2,
            ...     block_length=2,
            ... )
            >>> [int(x) for x in mixed]
            [1, 1, 2, 2, 1, 2, 3, 3, 3]
        """
        parallel = _optional(num_parallel_calls, "num_parallel_calls")
        if cycle_length is None:
            cycle_length = AUTOTUNE if parallel is None else parallel
        cycle = parameter(cycle_length, "cycle_length")
        block = 1 if block_length is None else parameter(block_length, "block_length")
        return wrapped(Interleave(self._node, map_func, cycle, block, parallel, "interleave"))

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """Compute a function of a state and each element, which gives the next state and a result.

        Args:
            initial_state: A structure of tensors.
            scan_func: Gets the state and the element; returns a pair: the next state, a result.
            name: Accepted for compatibility.

        Returns:
            The dataset of the results.

        Raises:
            TypeError: the function returns no pair, or a state of another type.

        Example:
            >>> import tfx as tf
            >>> sums = tf.data.Dataset.range(5).scan(
            ...     tf.constant(0, tf.int64), lambda s, x: (s + x,) * 2
            ... )
            >>> [int(x) for x in sums]
            [0, 1, 3, 6, 10]
        """
        state = converted(initial_state)
        structure = Structure(spec_of(state))
        return wrapped(Scan(self._node, tuple(components(state)), structure, scan_func))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Take the first elements.

        Args:
            count: How many; -1: all.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.range(9).take(2)]
            [0, 1]
        """
        return wrapped(Limit(self._node, 0, parameter(count, "Dataset.take")))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Leave out the first elements.

        Args:
            count: How many; -1: all.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.range(5).skip(3)]
            [3, 4]
        """
        return wrapped(Limit(self._node, parameter(count, "Dataset.skip"), -1))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Keep every ``num_shards``-th element.

        Args:
            num_shards: Between how many the elements are divided.
            index: Which of them this is, from 0 on.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            InvalidArgumentError: no such shard.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.range(7).shard(3, 1)]
            [1, 4]
        """
        shards = parameter(num_shards, "num_shards")
        return wrapped(Shard(self._node, shards, parameter(index, "index")))

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Go through the elements several times.

        Args:
            count: How often; None or -1: without end.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.range(2).repeat(2)]
            [0, 1, 0, 1]
        """
        times = -1 if count is None else parameter(count, "Dataset.repeat")
        return wrapped(Repeat(self._node, times))

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Put the elements in random order.

        A buffer holds ``buffer_size`` elements; one of them at random goes out for each that comes
        in. A buffer as large as the dataset makes all orders equally likely.

        Args:
            buffer_size: Size of the buffer; ``tf.data.UNKNOWN_CARDINALITY``: all elements.
            seed: Makes the order reproducible; see ``tf.random.set_seed``.
            reshuffle_each_iteration: Whether each iteration, and each epoch of ``repeat``, has
                another order.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            InvalidArgumentError: a buffer without room.

        Example:
            >>> import tfx as tf
            >>> dataset = tf.data.Dataset.range(100).shuffle(100, seed=1)
            >>> first, second = ([int(x) for x in dataset] for _ in range(2))
            >>> sorted(first) == sorted(second) == list(range(100)), first == second
            (True, False)
        """
        size = buffer_size if buffer_size is None else parameter(buffer_size, "buffer_size")
        size = -2 if size is None else size
        renewed = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return wrapped(Shuffle(self._node, size, seed, renewed))

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keep the elements of the first iteration that goes through all of them.

        Args:
            filename: A file to keep them in, which later runs of the program read; empty: memory.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Example:
            >>> import tfx as tf
            >>> dataset = tf.data.Dataset.range(5).map(lambda x: x**2).cache()
            >>> [int(x) for x in dataset], [int(x) for x in dataset]
            ([0, 1, 4, 9, 16], [0, 1, 4, 9, 16])
        """
        if isinstance(filename, str) and not filename:
            return wrapped(Cache(self._node))
        return wrapped(FileCache(self._node, convert_to_tensor(filename)))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Let a thread fetch elements ahead, while the program computes.

        Args:
            buffer_size: How many at most; ``tf.data.AUTOTUNE``: a few.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            InvalidArgumentError: a negative number.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.range(3).prefetch(2)]
            [0, 1, 2]
        """
        size = AUTOTUNE if buffer_size is None else parameter(buffer_size, "buffer_size")
        return wrapped(Prefetch(self._node, size))

    def concatenate(self, dataset: Any, name: str | None = None) -> Dataset:
        """Go on with the elements of another dataset.

        Args:
            dataset: The other one.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            TypeError: its elements are of another type.

        Example:
            >>> import tfx as tf
            >>> a, b = tf.data.Dataset.range(2), tf.data.Dataset.range(8, 10)
            >>> [int(x) for x in a.concatenate(b)]
            [0, 1, 8, 9]
        """
        return wrapped(Concatenate(self._node, node_of(dataset, "Dataset.concatenate")))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Put numbers in front of the elements.

        Args:
            start: The first number.
            name: Accepted for compatibility.

        Returns:
            A dataset of pairs of an int64 and an element.

        Example:
            >>> import tfx as tf
            >>> dataset = tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5)
            >>> list(dataset.as_numpy_iterator())
            [(np.int64(5), b'a'), (np.int64(6), b'b')]
        """
        first = parameter(start, "Dataset.enumerate")
        numbers = Range(first, _LARGEST, 1, convert_to_tensor(0, "int64").dtype)
        return wrapped(Counted(numbers, self._node))

    def unique(self, name: str | None = None) -> Dataset:
        """Keep each value once, where it comes first.

        Args:
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            TypeError: elements that are no single tensors.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()]
            [1, 37, 2]
        """
        if len(self._node.structure.specs) != 1 or not self._node.structure.is_tensors:
            raise TypeError(
                "Dataset.unique() is not supported for elements of more than one component; got "
                f"{self._node.structure!r}."
            )
        return wrapped(Unique(self._node))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Leave out the elements that cannot be had without an error.

        Args:
            log_warning: Whether to log them.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Example:
            >>> import tfx as tf
            >>> inverse = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 4.0]).map(
            ...     lambda x: tf.debugging.check_numerics(1.0 / x, "inf")
            ... )
            >>> [float(x) for x in inverse.ignore_errors()]
            [1.0, 0.25]
        """
        return wrapped(IgnoreErrors(self._node, log_warning))

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Leave out elements at random, so that classes are as frequent as is wanted.

        Args:
            class_func: Gets the element as ``map``'s function does; returns its class, an int32.
            target_dist: How frequent each class is to be.
            initial_dist: How frequent it is; None: what was seen so far.
            seed: Makes the choices reproducible; see ``tf.random.set_seed``.
            name: Accepted for compatibility.

        Returns:
            A dataset of pairs of class and element.

        Example:
            >>> import tfx as tf
            >>> dataset = tf.data.Dataset.from_tensor_slices([0, 1] * 500)
            >>> resampled = dataset.rejection_resample(lambda x: x, [0.0, 1.0], [0.5, 0.5], seed=1)
            >>> {int(kind) for kind, _ in resampled}
            {1}
        """
        return wrapped(Resample(self._node, class_func, target_dist, initial_dist, seed))

    def assert_cardinality(self, expected_cardinality: Any) -> Dataset:
        """State how many elements there are, which is checked while they are taken.

        Args:
            expected_cardinality: The number, or ``tf.data.INFINITE_CARDINALITY``.

        Returns:
            The dataset.

        Raises:
            FailedPreconditionError: when there turn out to be more or less.

        Example:
            >>> import tfx as tf
            >>> dataset = tf.data.Dataset.range(4).filter(lambda x: x < 2)
            >>> len(dataset.assert_cardinality(2))
            2
        """
        return wrapped(Asserted(self._node, parameter(expected_cardinality, "cardinality")))
