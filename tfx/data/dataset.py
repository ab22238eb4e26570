"""``tf.data.Dataset``: a pipeline of elements."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.core.tracebacks import cover
from tfx.data.batch_methods import BatchMethods
from tfx.data.construction import Construction
from tfx.data.extras.older_methods import OlderMethods
from tfx.data.extras.returned_datasets import ReturnedDataset, claim, traced_number
from tfx.data.extras.snapshots import Snapshot
from tfx.data.iterators import (
    Iterator,
    Loop,
    NumpyIterator,
    SpecKey,
    eager_only,
    in_graph,
    number_tensor,
    traced_handle,
    traced_iterator,
)
from tfx.data.leaves import texts
from tfx.data.nodes import (
    INFINITE,
    UNKNOWN,
    HandleNode,
    Node,
    Run,
    open_stage,
    target_of,
    user_leaf,
    wrap_with,
)
from tfx.data.options import Options
from tfx.data.parallel import AUTOTUNE as AUTOTUNE
from tfx.data.records import Records, fixed_records, lines, tfrecords
from tfx.data.reducing import Reduce, Single
from tfx.data.saving import save_elements
from tfx.data.selection import WithOptions
from tfx.data.sources import components
from tfx.data.structure import DatasetSpec, Structure, converted, spec_of
from tfx.data.transformations import Transformations
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor, from_array


@cover
class Dataset(Construction, Transformations, BatchMethods, OlderMethods):
    """A sequence of elements, computed while it is iterated over.

    Made by static methods such as ``from_tensor_slices``; methods such as ``map`` make others of
    it. An element is a tensor or a structure of tensors (tuples, dicts, named tuples, attrs
    classes). Eagerly it is a Python iterable; in a ``tf.function`` a ``for`` statement goes through
    it, and ``reduce`` does. Such a function runs in Python only and cannot be saved.

    Args:
        variant_tensor: Nothing that a program has; datasets are made by the static methods.

    Example:
        >>> import tfx as tf
        >>> dataset = tf.data.Dataset.from_tensor_slices([8, 3, 0, 8, 2, 1])
        >>> dataset = dataset.filter(lambda x: x < 3).map(lambda x: x * 10).batch(2)
        >>> for batch in dataset:
        ...     print(batch.numpy())
        [ 0 20]
        [10]
    """

    # What a traced function takes apart: a number that is a tensor, and what never varies.
    _tfx_fields = ("_handle", "_key")
    # A slot: what a trace keeps of an argument must not keep the elements alive.
    __slots__ = ("__dict__", "__weakref__", "_held", "_number", "_spec_key")

    _held: Node
    _number: Any
    _spec_key: SpecKey

    def __init__(self, variant_tensor: Any = None) -> None:
        if not isinstance(variant_tensor, Node):
            raise TypeError(
                "A tf.data.Dataset is made by one of its static methods, such as "
                f"Dataset.from_tensor_slices; got {variant_tensor!r}."
            )
        self._held = variant_tensor

    @property
    def _node(self) -> Node:  # type: ignore[override]
        try:
            return self._held
        except AttributeError:  # an argument of a function that is traced, or a result of one
            node: Node = HandleNode(self._number, self._spec_key.structure)
            self._held = node.resolved() if isinstance(self._number, EagerTensor) else node
            return self._held

    @property
    def _handle(self) -> Tensor:
        given = getattr(self, "_number", None)
        if given is not None:
            handle: Tensor = given
            return handle
        graph = current().graph
        if graph is None:
            return number_tensor(self._node)
        # The graph must hold it, and give it the values that its tensors have when it runs.
        known = self.__dict__.get("_traced")
        if known is not None and known[0]() is graph:
            return SymbolicTensor(known[1], graph)
        found = traced_number(self._node)
        self.__dict__["_traced"] = weakref.ref(graph), graph.value_of(found)
        return found

    @_handle.setter
    def _handle(self, handle: Tensor) -> None:
        self._number = handle
        if isinstance(handle, EagerTensor):  # the result of a function, which is held from now on
            self._held = target_of(handle)
            claim(handle)

    @property
    def _key(self) -> SpecKey:
        given = getattr(self, "_spec_key", None)
        return SpecKey(self._node.structure) if given is None else given

    @_key.setter
    def _key(self, key: SpecKey) -> None:
        self._spec_key = key

    def _tfx_result(self) -> ReturnedDataset:
        """What stands for it among the results of a traced function."""
        key = self._key

        def make(number: Tensor) -> Dataset:
            made = Dataset.__new__(Dataset)
            made._handle, made._key = number, key
            return made

        return ReturnedDataset(self._handle, DatasetSpec(key.structure.spec), make)

    def _tfx_spec(self) -> DatasetSpec:
        return DatasetSpec(self.element_spec)

    # Facts

    @property
    def element_spec(self) -> Any:
        """The spec of the elements: a structure of ``tf.TensorSpec``.

        Example:
            >>> import tfx as tf
            >>> tf.data.Dataset.from_tensor_slices([1, 2, 3]).element_spec
            TensorSpec(shape=(), dtype=tf.int32, name=None)
        """
        return self._node.structure.spec

    def cardinality(self, name: str | None = None) -> Tensor:
        """How many elements there are, if that is known without going through them.

        Args:
            name: Accepted for compatibility.

        Returns:
            An int64 scalar: the number, ``tf.data.INFINITE_CARDINALITY`` or
            ``tf.data.UNKNOWN_CARDINALITY``.

        Example:
            >>> import tfx as tf
            >>> dataset = tf.data.Dataset.range(42)
            >>> int(dataset.cardinality()), int(dataset.repeat().cardinality())
            (42, -1)
        """
        return convert_to_tensor(np.int64(self._node.cardinality()))

    def __len__(self) -> int:
        """The number of elements.

        Raises:
            TypeError: it has no end, or is not known.
        """
        found = self._node.cardinality()
        if found == INFINITE:
            raise TypeError("The dataset is infinite.")
        if found == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return found

    def __bool__(self) -> bool:
        return True

    def options(self) -> Options:
        """The options that the dataset was given.

        Example:
            >>> import tfx as tf
            >>> tf.data.Dataset.range(1).options().deterministic is None
            True
        """
        return self._node.options()

    def __repr__(self) -> str:
        return f"<{type(self._node).__name__}Dataset element_spec={self.element_spec!r}>"

    # Iterating

    def __iter__(self) -> Iterator:
        if current().graph is not None:
            return traced_iterator(self._node)
        return Iterator(self._node)

    def as_numpy_iterator(self) -> NumpyIterator:
        """Return an iterator over the elements as NumPy arrays.

        Returns:
            The iterator.

        Raises:
            FailedPreconditionError: a function is being traced.

        Example:
            >>> import tfx as tf
            >>> list(tf.data.Dataset.from_tensor_slices({"a": [1, 2]}).as_numpy_iterator())
            [{'a': np.int32(1)}, {'a': np.int32(2)}]
        """
        eager_only("as_numpy_iterator()")
        return NumpyIterator(self._node)

    def _tfx_loop(self) -> Loop | None:
        """What a ``for`` statement of a traced function does with it."""
        if current().graph is None:
            return None
        node = self._node
        return Loop(traced_handle(node), node.structure, owned=True)

    # Results

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """Compute one result of all elements.

        Args:
            initial_state: A structure of tensors.
            reduce_func: Gets the state and an element (a tuple as one argument); returns the next
                state.
            name: Accepted for compatibility.

        Returns:
            The last state.

        Raises:
            TypeError: the function returns a state of another type.

        Example:
            >>> import tfx as tf
            >>> total = tf.data.Dataset.range(5).reduce(
            ...     tf.constant(0, tf.int64), lambda s, x: s + x
            ... )
            >>> int(total)
            10
        """
        state = converted(initial_state)
        node = Reduce(self._node, components(state), Structure(spec_of(state)), reduce_func)
        return self._result("dataset_reduce", node)

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element.

        Args:
            name: Accepted for compatibility.

        Returns:
            The element.

        Raises:
            InvalidArgumentError: there is none, or more than one.

        Example:
            >>> import tfx as tf
            >>> int(tf.data.Dataset.from_tensors(7).get_single_element())
            7
        """
        return self._result("dataset_single_element", Single(self._node))

    @staticmethod
    def _result(kind: str, node: Any) -> Any:
        if current().graph is None:
            return node.structure.pack([user_leaf(x) for x in node.result()])
        return in_graph(kind, node, _result_of, node.structure)

    # Other datasets

    def apply(self, transformation_func: Callable[[Any], Any]) -> Dataset:
        """Call a function with the dataset.

        Args:
            transformation_func: Makes a dataset of it.

        Returns:
            What it returns.

        Raises:
            TypeError: that is no dataset.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.range(5).apply(lambda ds: ds.take(2))]
            [0, 1]
        """
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise TypeError(
                "`transformation_func` must return a `tf.data.Dataset` object; got "
                f"{found!r} of type {type(found).__name__}."
            )
        return found

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Give the whole dataset options; see ``tf.data.Options``.

        Args:
            options: What to add to those that it has.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            TypeError: they are no options.

        Example:
            >>> import tfx as tf
            >>> options = tf.data.Options()
            >>> options.deterministic = False
            >>> tf.data.Dataset.range(3).with_options(options).options()
            Options(deterministic=False)
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options takes tf.data.Options; got {options!r}.")
        return Dataset(WithOptions(self._node, Options().merge(options)))

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Write the elements into a folder, from which ``load`` takes them.

        Args:
            path: The folder.
            compression: Accepted for compatibility; nothing is compressed.
            shard_func: Accepted for compatibility; there is one file.
            checkpoint_args: Accepted for compatibility.

        Raises:
            UnimplementedError: elements other than tensors, ragged and sparse ones too, in tuples
                and dicts.

        Example:
            >>> import os, tempfile
            >>> import tfx as tf
            >>> path = os.path.join(tempfile.mkdtemp(), "saved")
            >>> tf.data.Dataset.range(2).save(path)
            >>> len(tf.data.Dataset.load(path))
            2
        """
        eager_only("Dataset.save")
        stage = open_stage(self._node, Run(self._node.options()))
        elements = []
        try:
            while True:
                elements.append(stage.next())
        except StopIteration:
            save_elements(path, self._node.structure, elements)
        finally:
            stage.close()

    def snapshot(
        self,
        path: Any,
        compression: Any = "AUTO",
        reader_func: Callable[..., Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Keep the elements in a folder: the first iteration writes them, later ones read them.

        An iteration that does not see the end writes nothing. The folder is used whatever pipeline
        wrote it: take another one when the pipeline changes.

        Args:
            path: The folder.
            compression: Accepted for compatibility; nothing is compressed.
            reader_func: Makes the dataset that is read, of a dataset of datasets: one for each
                file, of which there is one.
            shard_func: Accepted for compatibility; there is one file.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            AlreadyExistsError: another iteration writes the same folder now.

        Example:
            >>> import os, tempfile
            >>> import tfx as tf
            >>> path = os.path.join(tempfile.mkdtemp(), "kept")
            >>> numbers = tf.data.Dataset.range(3).snapshot(path)
            >>> [[int(x) for x in numbers] for _ in range(2)]
            [[0, 1, 2], [0, 1, 2]]
        """
        return Dataset(Snapshot(self._node, strings(path), reader_func))

    def __reduce__(self) -> Any:
        raise InvalidArgumentError(
            "A dataset cannot be pickled: it holds functions and files. Make it where it is used."
        )


def _result_of(node: Any) -> Any:
    return node.result()


def _as_dataset(node: Node) -> Dataset:
    return Dataset(node)


wrap_with(_as_dataset)


def strings(value: Any) -> Tensor:
    """The names of files: a string tensor, or what is in a dataset of names."""
    if isinstance(value, Dataset):
        return from_array(texts([bytes(x) for x in value.as_numpy_iterator()]))
    found = convert_to_tensor(value if not hasattr(value, "__fspath__") else value.__fspath__())
    if found.dtype.name != "string":
        raise TypeError(
            "The `filenames` argument must contain `tf.string` elements; got "
            f"`{found.dtype!r}` elements."
        )
    return found


class TFRecordDataset(Dataset):
    """The records of TFRecord files.

    Args:
        filenames: Names of files: a tensor, what converts to one, or a dataset of names.
        compression_type: ``"GZIP"``, ``"ZLIB"``, or nothing.
        buffer_size: How many bytes are read at a time.
        num_parallel_reads: Accepted for compatibility.
        name: Accepted for compatibility.

    Raises:
        TypeError: names that are no strings.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
        >>> with tf.io.TFRecordWriter(path) as writer:
        ...     writer.write(b"one")
        >>> [record.numpy() for record in tf.data.TFRecordDataset(path)]
        [b'one']
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(Records(tfrecords, strings(filenames), compression_type, buffer_size or 0))


class TextLineDataset(Dataset):
    r"""The lines of text files, without what ends them.

    Args:
        filenames: Names of files: a tensor, what converts to one, or a dataset of names.
        compression_type: ``"GZIP"``, ``"ZLIB"``, or nothing.
        buffer_size: How many bytes are read at a time.
        num_parallel_reads: Accepted for compatibility.
        name: Accepted for compatibility.

    Raises:
        TypeError: names that are no strings.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "a.txt")
        >>> tf.io.write_file(path, "one\ntwo\n")
        >>> [line.numpy() for line in tf.data.TextLineDataset(path)]
        [b'one', b'two']
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(Records(lines, strings(filenames), compression_type, buffer_size or 0))


class FixedLengthRecordDataset(Dataset):
    """The records of files of records of one length.

    Args:
        filenames: Names of files: a tensor, what converts to one, or a dataset of names.
        record_bytes: The length of a record.
        header_bytes: How many bytes at the beginning of a file are left out.
        footer_bytes: How many at the end.
        buffer_size: How many bytes are read at a time.
        compression_type: ``"GZIP"``, ``"ZLIB"``, or nothing.
        num_parallel_reads: Accepted for compatibility.
        name: Accepted for compatibility.

    Raises:
        TypeError: names that are no strings.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "a.bin")
        >>> tf.io.write_file(path, "aabb")
        >>> [record.numpy() for record in tf.data.FixedLengthRecordDataset(path, 2)]
        [b'aa', b'bb']
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        numbers = (record_bytes, header_bytes or 0, footer_bytes or 0)
        super().__init__(
            Records(fixed_records, strings(filenames), compression_type, buffer_size or 0, numbers)
        )


def _argument_of(spec: DatasetSpec) -> Dataset:
    """What an input signature has in the place of a dataset."""
    made = object.__new__(Dataset)
    made._number, made._spec_key = (
        TensorSpec([], dtypes.int64),
        SpecKey(Structure(spec.element_spec)),
    )
    return made


DatasetSpec._tfx_argument = _argument_of
