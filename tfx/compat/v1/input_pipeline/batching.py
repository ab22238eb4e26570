"""Batches of single examples: ``batch``, ``shuffle_batch`` and their kin, around a queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tfx.compat.v1.files.summaries import scalar
from tfx.compat.v1.graph.name_scopes import name_scope
from tfx.compat.v1.input_pipeline.producers import require_graph
from tfx.compat.v1.input_pipeline.queue_runner import QueueRunner, add_queue_runner
from tfx.compat.v1.ops.control_flow import cond
from tfx.compat.v1.ops.grouping import control_dependencies
from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.where import boolean_mask
from tfx.ops.math.arithmetic import maximum
from tfx.ops.math.cast import cast
from tfx.script_ops.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from tfx.sparse_ops.serialized import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from tfx.sparse_ops.sparse_tensor import SparseTensor


class Sparse(NamedTuple):
    """What is known of a sparse component, which a queue holds as three strings."""

    dtype: DType
    rank: int | None


class Component(NamedTuple):
    """A component of an example: the tensor to enqueue, and what it was made of."""

    tensor: Tensor
    sparse: Sparse | None


class Batching(NamedTuple):
    """How examples are put together.

    Attributes:
        batch_size: How many examples a batch has.
        capacity: How many examples the queue holds.
        enqueue_many: Whether the tensors hold several examples.
        shapes: The shapes of an example; None: those of the tensors.
        smaller: Whether the last batch may be smaller.
        name: Prefix of the names.
        kind: The prefix where ``name`` is None.
        keep: Which examples to take: booleans.
        padded: Whether examples of different sizes are padded.
        left: How many examples must be left in the queue for the order to be random; None: examples
            are not shuffled.
        seed: Of the random order.
    """

    batch_size: Any
    capacity: int
    enqueue_many: bool
    shapes: Any
    smaller: bool
    name: str | None
    kind: str
    keep: Any = True
    padded: bool = False
    left: int | None = None
    seed: int | None = None

    def run(self, sources: Sequence[Any], threads: int = 1) -> Any:
        """The next batch.

        Args:
            sources: Lists of tensors, or dicts of them, each of which threads enqueue.
            threads: How many threads each source has.
        """
        require_graph(ValueError)
        lists = _lists_of(sources, self.kind)
        self._check_order()
        with name_scope(self.name, self.kind, [*lists, self.keep]):
            keep = self._checked_keep()
            found = [[self._component(x) for x in source] for source in lists]
            sparse = _common_sparse(found)
            kinds = _common_dtypes(found)
            queue = self._queue(kinds, self._shapes(found))
            added = [self._added(queue, [c.tensor for c in source], keep) for source in found]
            add_queue_runner(QueueRunner(queue, added * threads if len(added) == 1 else added))
            self._summarize(queue)
            take = queue.dequeue_up_to if self.smaller else queue.dequeue_many
            taken = take(self.batch_size)
            parts = list(taken) if isinstance(taken, list) else [taken]
            given = [
                part if about is None else deserialize_many_sparse(part, about.dtype, about.rank)
                for part, about in zip(parts, sparse, strict=True)
            ]
            return _like(sources[0], given)

    def _check_order(self) -> None:
        if self.left is not None and self.capacity <= self.left:
            raise ValueError(
                f"capacity {self.capacity} must be bigger than min_after_dequeue {self.left}."
            )

    def _checked_keep(self) -> Any:
        """Which examples to take; None: all."""
        if self.keep is True:
            return None
        keep = convert_to_tensor(self.keep, dtypes.bool)
        if keep.shape.rank is None:
            raise ValueError("`keep_input` dimensions must be known at graph construction.")
        if not self.enqueue_many and keep.shape.rank == 1:
            raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
        if keep.shape.rank > 1:
            raise ValueError("`keep_input` must be 0 or 1 dimensions.")
        return keep

    def _component(self, value: Any) -> Component:
        if not isinstance(value, SparseTensor):
            return Component(convert_to_tensor(value), None)
        store = serialize_many_sparse if self.enqueue_many else serialize_sparse
        rank = value.shape.rank
        within = None if rank is None else rank - 1 if self.enqueue_many else rank
        return Component(store(value), Sparse(value.dtype, within))

    def _shapes(self, found: Sequence[Sequence[Component]]) -> list[TensorShape]:
        components = list(zip(*found, strict=True))
        if self.shapes is None:
            return [self._common_shape([c.tensor for c in column]) for column in components]
        return [
            TensorShape([3]) if column[0].sparse is not None else TensorShape(shape)
            for shape, column in zip(self.shapes, components, strict=True)
        ]

    def _common_shape(self, tensors: Sequence[Tensor]) -> TensorShape:
        """The shape of the first of tensors, which those of the others must fit."""
        for x in tensors:
            if x.shape.rank is None:
                raise ValueError(f"Cannot infer Tensor's rank: {x}")
        shapes = [x.shape for x in tensors]
        if self.enqueue_many:
            shapes = [s.with_rank_at_least(1)[1:] for s in shapes]
        for other in shapes[1:]:
            shapes[0].merge_with(other)
        return shapes[0]

    def _queue(self, kinds: Sequence[DType], shapes: Sequence[TensorShape]) -> QueueBase:
        if self.left is not None:
            name = "random_shuffle_queue"
            return RandomShuffleQueue(
                self.capacity, self.left, kinds, shapes, seed=self.seed, name=name
            )
        kind = PaddingFIFOQueue if self.padded else FIFOQueue
        return kind(self.capacity, kinds, shapes)

    def _added(self, queue: QueueBase, tensors: Sequence[Tensor], keep: Any) -> Any:
        add: Callable[..., Any] = queue.enqueue_many if self.enqueue_many else queue.enqueue
        if keep is None:
            return add(tensors)
        if keep.shape.rank == 1:
            return add([boolean_mask(x, keep) for x in tensors])

        def added() -> Tensor:
            with control_dependencies([add(tensors)]):
                return convert_to_tensor(True)

        return cond(keep, added, lambda: convert_to_tensor(False))

    def _summarize(self, queue: QueueBase) -> None:
        size = cast(queue.size(), dtypes.float32)
        if self.left is None:
            scalar(f"fraction_of_{self.capacity}_full", size * (1.0 / self.capacity))
            return
        beyond = maximum(size - float(self.left), 0.0)
        name = f"fraction_over_{self.left}_of_{self.capacity - self.left}_full"
        scalar(name, beyond * (1.0 / (self.capacity - self.left)))


def _lists_of(sources: Sequence[Any], kind: str) -> list[list[Any]]:
    """The tensors of each source; those of a dict in the order of its keys."""
    if not sources:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(sources[0], Mapping):
        keys = set(sources[0])
        if any(set(source) != keys for source in sources):
            raise ValueError("All dictionaries in tensors_list must have the same keys")
        lists = [[source[key] for key in sorted(source)] for source in sources]
    else:
        lists = [list(source) for source in sources]
    if not lists[0]:
        raise ValueError(f"Expected at least one tensor in {kind}().")
    return lists


def _common_sparse(found: Sequence[Sequence[Component]]) -> list[Sparse | None]:
    """What is known of the sparse components, of which every source must have the same."""
    first, *others = [[c.sparse for c in source] for source in found]
    for other in others:
        if other != first:
            raise ValueError(f"Inconsistent SparseTensors list: {first} vs. {other}")
    return first


def _common_dtypes(found: Sequence[Sequence[Component]]) -> list[DType]:
    first, *others = [[c.tensor.dtype for c in source] for source in found]
    for other in others:
        if other != first:
            names = [", ".join(d.name for d in kinds) for kinds in (first, other)]
            raise TypeError(f"Expected types to be consistent: {names[0]} vs. {names[1]}.")
    return first


def _like(source: Any, parts: Sequence[Any]) -> Any:
    """A batch in the structure of a source: a list of one tensor is the tensor."""
    if isinstance(source, Mapping):
        return dict(zip(sorted(source), parts, strict=True))
    return parts[0] if len(parts) == 1 else list(parts)
