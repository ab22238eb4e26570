"""The static methods of ``Dataset``: where elements come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.gfile import glob
from tfx.core.specs import TensorSpec
from tfx.data.batching import Unbatch
from tfx.data.interleaving import Choose, Sample
from tfx.data.leaves import is_known, texts
from tfx.data.nodes import INFINITE, Node, wrapped
from tfx.data.parameters import node_of, parameter
from tfx.data.saving import load_node
from tfx.data.selection import Zip
from tfx.data.shuffling import Shuffle
from tfx.data.sources import (
    Generated,
    RandomNumbers,
    Range,
    Tensors,
    TensorSlices,
    components,
    sliced,
)
from tfx.data.structure import Structure, converted, kind_of, map_leaves, spec_of, with_shapes
from tfx.framework.composite.extension_parts import without_first
from tfx.framework.convert import convert_to_tensor

if TYPE_CHECKING:
    from tfx.data.dataset import Dataset

_LARGEST = np.iinfo(np.int64).max


class Construction:
    """Where elements come from."""

    __slots__ = ()

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Make a dataset of a single element.

        Args:
            tensors: A tensor, what converts to one, None, a dataset, or a structure of these.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            TypeError: something does not convert to a tensor.

        Example:
            >>> import tfx as tf
            >>> list(tf.data.Dataset.from_tensors([1, 2]).as_numpy_iterator())
            [array([1, 2], dtype=int32)]
        """
        value = converted(tensors)
        return wrapped(Tensors(components(value), Structure(spec_of(value))))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Make a dataset of the slices of tensors along their first axis.

        The tensors are copied; slices are read from them by position, a whole batch at once where
        one is made.

        Args:
            tensors: A tensor, what converts to one, or a structure of these, all of one length.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            ValueError: a scalar, nothing at all, or different lengths.

        Example:
            >>> import tfx as tf
            >>> dataset = tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"]))
            >>> list(dataset.as_numpy_iterator())
            [(np.int32(1), b'a'), (np.int32(2), b'b')]
        """
        value = converted(tensors)
        whole = Structure(spec_of(value))
        parts = components(value)
        if whole.has_ragged:
            return wrapped(Unbatch(Tensors(parts, whole)))
        structure = Structure(with_shapes(without_first, map_leaves(sliced, whole.spec)))
        if not parts:
            raise ValueError(
                f"Dataset.from_tensor_slices takes at least one tensor; got {tensors!r}."
            )
        lengths = [x.shape[0] for x in parts if x.shape.rank]
        different = sorted({n for n in lengths if n is not None})
        if len(different) > 1:
            raise ValueError(
                f"Dimensions {different[0]} and {different[1]} are not compatible: the tensors "
                "that Dataset.from_tensor_slices takes have one length; theirs are "
                f"{lengths}."
            )
        return wrapped(TensorSlices(parts, structure))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Make a dataset of what a Python generator yields.

        Args:
            generator: Called for each iteration; returns something that can be iterated over.
            output_types: The dtypes of the components; the older way of saying what is yielded.
            output_shapes: Their shapes; None: nothing is known of them.
            args: Tensors that the generator is called with, as arrays.
            output_signature: A structure of ``tf.TensorSpec``: what is yielded.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            TypeError: ``generator`` cannot be called; or neither or both of ``output_signature``
                and ``output_types`` are given.

        Example:
            >>> import tfx as tf
            >>> def count(stop):
            ...     for i in range(stop):
            ...         yield i, "even" if i % 2 == 0 else "odd"
            >>> spec = (tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.string))
            >>> dataset = tf.data.Dataset.from_generator(count, args=[2], output_signature=spec)
            >>> list(dataset.as_numpy_iterator())
            [(np.int32(0), b'even'), (np.int32(1), b'odd')]
        """
        if not callable(generator):
            raise TypeError(f"`generator` must be a Python callable; got {generator!r}.")
        if output_signature is not None and (output_types is not None or output_shapes is not None):
            raise TypeError(
                "The `output_signature` argument can not be used together with `output_types` or "
                f"`output_shapes`; got {output_types!r} and {output_shapes!r}."
            )
        if output_signature is None:
            if output_types is None:
                raise TypeError(
                    "Either `output_signature` or `output_types` must be specified: what the "
                    "generator yields."
                )
            output_signature = _signature(output_types, output_shapes)
        given = [convert_to_tensor(x) for x in (() if args is None else args)]
        return wrapped(Generated(generator, given, Structure(_no_lists(output_signature))))

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Dataset:
        """Make a dataset of numbers with equal steps between them.

        Args:
            *args: ``stop``; ``start, stop``; or ``start, stop, step``, as Python's ``range``.
            **kwargs: ``output_type``: the dtype, int64 unless given; ``name``.

        Returns:
            The dataset.

        Raises:
            ValueError: no or more than three numbers.
            InvalidArgumentError: a step of 0.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.range(5, 0, -2)]
            [5, 3, 1]
        """
        output_type = dtypes.as_dtype(kwargs.pop("output_type", dtypes.int64))
        kwargs.pop("name", None)
        if kwargs:
            raise TypeError(f"Dataset.range got unexpected arguments {sorted(kwargs)}.")
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Dataset.range takes one to three numbers; got {args!r}.")
        numbers = [parameter(x, "Dataset.range") for x in args]
        start, stop, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
        if is_known(step) and step == 0:
            raise InvalidArgumentError("The step of Dataset.range must not be 0.")
        return wrapped(Range(start, stop, step, output_type))

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: DTypeLike = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """Make a dataset that counts without end; beyond the largest number of the dtype it wraps.

        Args:
            start: The first number.
            step: What is added each time.
            dtype: Of the numbers.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Example:
            >>> import tfx as tf
            >>> [int(x) for x in tf.data.Dataset.counter(10, 5).take(3)]
            [10, 15, 20]
        """
        begin, by = parameter(start, "counter"), parameter(step, "counter")
        return wrapped(Endless(begin, by, dtypes.as_dtype(dtype)))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Put the elements of datasets side by side, up to the end of the shortest.

        Args:
            *args: Datasets, or a structure of datasets.
            datasets: The older way of giving the structure.
            name: Accepted for compatibility.

        Returns:
            A dataset of such structures of elements.

        Raises:
            TypeError: something is no dataset.

        Example:
            >>> import tfx as tf
            >>> a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(5, 9)
            >>> [(int(x), int(y)) for x, y in tf.data.Dataset.zip(a, b)]
            [(0, 5), (1, 6), (2, 7)]
        """
        if not args and datasets is None:
            raise TypeError("Dataset.zip takes datasets, or a structure of datasets; got none.")
        if args and datasets is not None:
            raise TypeError("Dataset.zip takes datasets, or `datasets`; got both.")
        whole = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(whole, list):
            raise TypeError(
                f"Dataset.zip takes a structure of datasets, such as a tuple; got {whole!r}."
            )
        found: list[Node] = []

        def part(dataset: Any) -> Any:
            found.append(node_of(dataset, "Dataset.zip"))
            return found[-1].structure.spec

        return wrapped(Zip(found, Structure(map_leaves(part, whole))))

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Any],
        choice_dataset: Any,
        stop_on_empty_dataset: bool = True,
    ) -> Dataset:
        """Take elements from datasets in the order of the numbers of another one.

        Args:
            datasets: The datasets, at least one.
            choice_dataset: A dataset of int64 scalars: whose turn it is.
            stop_on_empty_dataset: Whether it ends when the chosen dataset has; False: go on with
                the others.

        Returns:
            The dataset.

        Raises:
            TypeError: elements of different types, or choices that are no int64 scalars.
            ValueError: there is no dataset.

        Example:
            >>> import tfx as tf
            >>> parts = [tf.data.Dataset.from_tensors(x).repeat() for x in ("a", "b")]
            >>> choice = tf.data.Dataset.range(2).repeat(2)
            >>> chosen = tf.data.Dataset.choose_from_datasets(parts, choice)
            >>> [x.numpy() for x in chosen]
            [b'a', b'b', b'a', b'b']
        """
        choice = node_of(choice_dataset, "choice_dataset")
        if choice.structure.spec != TensorSpec([], dtypes.int64):
            raise TypeError(
                "`choice_dataset` should have int64 scalars as elements; it has "
                f"{choice.structure!r}."
            )
        nodes = [node_of(d, "Dataset.choose_from_datasets") for d in datasets]
        if not nodes:
            raise ValueError("Invalid `datasets`: it should not be empty.")
        return wrapped(Choose(nodes, choice, stop_on_empty_dataset))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Any],
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Take elements from datasets at random.

        Args:
            datasets: The datasets, at least one.
            weights: How often each is taken from, or a dataset of such vectors; None: equally.
            seed: Makes the choices reproducible; see ``tf.random.set_seed``.
            stop_on_empty_dataset: Whether it ends with the first dataset that does.
            rerandomize_each_iteration: Whether each iteration chooses otherwise.

        Returns:
            The dataset.

        Raises:
            TypeError: elements of different types.
            ValueError: no dataset, or another number of weights.

        Example:
            >>> import tfx as tf
            >>> parts = [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)]
            >>> mixed = tf.data.Dataset.sample_from_datasets(parts, [0.5, 0.5], seed=1)
            >>> sorted(int(x) for x in mixed)
            [0, 1, 2, 10, 11, 12]
        """
        nodes = [node_of(d, "Dataset.sample_from_datasets") for d in datasets]
        if not nodes:
            raise ValueError("Invalid `datasets`: it should not be empty.")
        if hasattr(weights, "_node"):
            given = weights._node
        else:
            given = convert_to_tensor(
                [1.0 / len(nodes)] * len(nodes) if weights is None else weights
            )
            if given.shape.rank != 1 or given.shape[0] not in (None, len(nodes)):
                raise ValueError(
                    "`weights` should have the shape [len(datasets)]: expected "
                    f"[{len(nodes)}], got {given.shape}."
                )
        renewed = bool(rerandomize_each_iteration)
        return wrapped(Sample(nodes, given, seed, stop_on_empty_dataset, renewed))

    @staticmethod
    def random(
        seed: Any = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Make a dataset of random int64 from 0 up to 2**32, without end.

        Args:
            seed: Makes them reproducible; see ``tf.random.set_seed``.
            rerandomize_each_iteration: Whether each iteration has others.
            name: Accepted for compatibility.

        Returns:
            The dataset.

        Example:
            >>> import tfx as tf
            >>> first, second = (list(tf.data.Dataset.random(seed=4).take(3)) for _ in range(2))
            >>> first == second
            True
        """
        return wrapped(RandomNumbers(seed, bool(rerandomize_each_iteration)))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: Any = None, name: str | None = None
    ) -> Dataset:
        """Make a dataset of the names of files.

        Args:
            file_pattern: A pattern such as ``"/data/*.txt"``, or several.
            shuffle: Whether they come in random order, another one each time; None: yes.
            seed: Makes the order reproducible; see ``tf.random.set_seed``.
            name: Accepted for compatibility.

        Returns:
            A dataset of strings.

        Raises:
            InvalidArgumentError: no file matches.

        Example:
            >>> import os, tempfile
            >>> import tfx as tf
            >>> folder = tempfile.mkdtemp()
            >>> for name in ("b.txt", "a.txt"):
            ...     open(os.path.join(folder, name), "w").close()
            >>> names = tf.data.Dataset.list_files(folder + "/*.txt", shuffle=False)
            >>> [os.path.basename(x.numpy()) for x in names]
            [b'a.txt', b'b.txt']
        """
        patterns = np.asarray(convert_to_tensor(file_pattern)).reshape(-1)
        names = sorted({n for p in patterns for n in glob(bytes(p).decode())})
        if not names:
            raise InvalidArgumentError(f"No files matched pattern: {patterns.tolist()!r}.")
        files = texts([n.encode() for n in names])
        node: Node = TensorSlices([files], Structure(TensorSpec([], dtypes.string)))
        if shuffle is None or shuffle:
            node = Shuffle(node, len(names), seed, True)
        return wrapped(node)

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[[Any], Any] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """Load what ``save`` wrote.

        Args:
            path: The folder.
            element_spec: What its elements look like; None: as they were saved.
            compression: Accepted for compatibility.
            reader_func: Gets a dataset of datasets, one for each file, and makes the result.
            wait: Accepted for compatibility.

        Returns:
            The dataset.

        Raises:
            NotFoundError: there is no such dataset.
            DataLossError: it is damaged.

        Example:
            >>> import os, tempfile
            >>> import tfx as tf
            >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
            >>> tf.data.Dataset.range(3).save(path)
            >>> [int(x) for x in tf.data.Dataset.load(path)]
            [0, 1, 2]
        """
        loaded = wrapped(load_node(path, element_spec))
        if reader_func is None:
            return loaded
        result: Dataset = reader_func(Construction.from_tensors(loaded))
        return result


class Endless(Range):
    """A range that counts as one without end."""

    def __init__(self, start: Any, step: Any, dtype: DType) -> None:
        super().__init__(start, _LARGEST, step, dtype)

    def _size(self) -> int:
        return _LARGEST

    def cardinality(self) -> int:
        """See ``Node``."""
        return INFINITE


def _signature(types: Any, shapes: Any) -> Any:
    """The specs that the older arguments of ``from_generator`` stand for."""
    if isinstance(types, list):
        types = tuple(types)
    if kind_of(types) is None:
        return TensorSpec(shapes, types)
    if shapes is None:
        return map_leaves(lambda t: TensorSpec(None, t), types)
    kind = kind_of(types)
    assert kind is not None
    parts = list(kind.values(types))
    if isinstance(shapes, list | tuple):
        given = list(shapes)
    else:
        other = kind_of(shapes)
        given = list(other.values(shapes)) if other is not None else []
    if len(parts) != len(given):
        raise TypeError(f"output_shapes {shapes!r} do not fit output_types {types!r}.")
    return kind.build(types, [_signature(t, s) for t, s in zip(parts, given, strict=True)])


def _no_lists(spec: Any) -> Any:
    """A signature in which lists mean tuples."""
    return tuple(_no_lists(x) for x in spec) if isinstance(spec, list) else spec
