"""Each method against TensorFlow's documented behaviour."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfx as tf
from tests.unit.data.reference import Dataset, plain, values
from tfx.summary.records import crc32c, masked

Invalid = tf.errors.InvalidArgumentError


class Pair(NamedTuple):
    x: Any
    y: Any


def growing() -> Any:
    return Dataset.range(1, 6).map(lambda n: tf.fill([n], n))


class Point:
    """What attrs makes of a class with two fields."""

    __attrs_attrs__ = tuple(types.SimpleNamespace(name=n, alias=n) for n in ("x", "y"))

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y


class TestStructures:
    @pytest.mark.parametrize(
        ("given", "first"),
        [
            ([[1, 2], [3, 4]], [1, 2]),
            (([1, 2], {"b": ["p", "q"], "a": [1.0, 2.0]}), (1, {"b": b"p", "a": 1.0})),
            (Pair([1, 2], ([3, 4],)), Pair(1, (3,))),
            (np.array([[True]]), [True]),
        ],
    )
    def test_slices(self, given: Any, first: Any) -> None:
        dataset = Dataset.from_tensor_slices(given)
        element = next(iter(dataset))
        assert (plain(element) == first and type(element) is type(first)) or not isinstance(
            first, tuple
        )
        tf.nest.assert_same_structure(dataset.element_spec, element)

    def test_attrs(self) -> None:
        dataset = Dataset.from_tensor_slices(Point([1, 2], [3.0, 4.0])).map(
            lambda p: Point(p.y, p.x)
        )
        found = next(iter(dataset))
        assert isinstance(found, Point) and float(found.x) == 3.0
        assert dataset.element_spec.y == tf.TensorSpec([], tf.int32)

    def test_none_stays(self) -> None:
        dataset = Dataset.from_tensors((1, None)).repeat(2).batch(2)
        assert dataset.element_spec[1] == tf.data.NoneTensorSpec()
        assert values(dataset.map(lambda x, n: (x, n))) == [([1, 1], None)]

    def test_extension_types(self) -> None:
        class Masked(tf.experimental.ExtensionType):
            v: tf.Tensor
            m: tf.Tensor

        dataset = Dataset.from_tensors(Masked([1, 2], [True, False])).map(
            lambda e: Masked(e.v + 1, e.m)
        )
        found = next(iter(dataset.unbatch().batch(2)))
        assert isinstance(found, Masked) and found.v.numpy().tolist() == [2, 3]

    def test_numpy(self) -> None:
        ((a, b),) = Dataset.from_tensors(([1, 2], "x")).as_numpy_iterator()
        assert type(a) is np.ndarray and not a.flags.writeable and b == b"x"

    def test_arrays_are_copied(self) -> None:
        given = np.arange(3)
        dataset = Dataset.from_tensor_slices(given)
        given[:] = 9
        assert values(dataset) == [0, 1, 2]


SPECS: list[tuple[Callable[[], Any], Any, int]] = [
    (lambda: Dataset.range(10).batch(3), tf.TensorSpec([None], tf.int64), 4),
    (lambda: Dataset.range(10).batch(3, drop_remainder=True), tf.TensorSpec([3], tf.int64), 3),
    (lambda: Dataset.range(10).repeat(), tf.TensorSpec([], tf.int64), -1),
    (lambda: Dataset.range(10).filter(lambda x: x > 1), tf.TensorSpec([], tf.int64), -2),
    (lambda: Dataset.range(10).repeat().take(4), tf.TensorSpec([], tf.int64), 4),
    (lambda: Dataset.range(10).shard(3, 0), tf.TensorSpec([], tf.int64), 4),
    (lambda: Dataset.range(7).batch(3).rebatch(2), tf.TensorSpec([None], tf.int64), -2),
    (lambda: Dataset.range(6).batch(3, True).rebatch(2, True), tf.TensorSpec([2], tf.int64), 3),
    (
        lambda: Dataset.range(9).window(4, 2, drop_remainder=True),
        tf.data.DatasetSpec(tf.TensorSpec([], tf.int64)),
        3,
    ),
    (lambda: growing().padded_batch(2, padded_shapes=[6]), tf.TensorSpec([None, 6], tf.int64), 3),
    (
        lambda: Dataset.zip(Dataset.range(3), Dataset.range(2)),
        (tf.TensorSpec([], tf.int64),) * 2,
        2,
    ),
    (lambda: Dataset.range(3).interleave(Dataset.range), tf.TensorSpec([], tf.int64), -2),
    (
        lambda: Dataset.range(3).map(lambda x: [x, tf.cast(x, tf.float32)]),
        (tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.float32)),
        3,
    ),
]


@pytest.mark.parametrize(("make", "spec", "size"), SPECS, ids=range(len(SPECS)))
def test_specs_and_cardinalities(make: Any, spec: Any, size: int) -> None:
    dataset = make()
    assert dataset.element_spec == spec and int(dataset.cardinality()) == size
    if size >= 0:
        assert len(dataset) == size == len(list(dataset))
    else:
        with pytest.raises(TypeError, match=r"infinite|unknown"):
            len(dataset)


RESULTS: list[tuple[Callable[[], Any], Any]] = [
    (
        lambda: Dataset.range(7).window(3, 1, 2),
        [[0, 2, 4], [1, 3, 5], [2, 4, 6], [3, 5], [4, 6], [5], [6]],
    ),
    (lambda: Dataset.from_tensor_slices({"a": [1, 2, 3]}).window(2), [{"a": [1, 2]}, {"a": [3]}]),
    (
        lambda: Dataset.range(7).interleave(Dataset.range, 3, 2),
        [0, 0, 1, 0, 1, 0, 1, 2, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3, 4, 4, 5],
    ),
    (lambda: Dataset.range(7).batch(3).rebatch([2, 1], True), [[0, 1], [2], [3, 4], [5]]),
    (
        lambda: growing().padded_batch(2, padding_values=np.int64(-1)),
        [[[1, -1], [2, 2]], [[3, 3, 3, -1], [4, 4, 4, 4]], [[5] * 5]],
    ),
    (
        lambda: growing().bucket_by_sequence_length(
            lambda x: tf.size(x), [3, 6], [2, 2, 2], pad_to_bucket_boundary=True
        ),
        [[[1, 0], [2, 2]], [[3, 3, 3, 0, 0], [4, 4, 4, 4, 0]], [[5] * 5]],
    ),
    (
        lambda: Dataset.choose_from_datasets(
            [Dataset.range(2), Dataset.range(8, 12)],
            Dataset.from_tensor_slices(np.array([0, 1, 0, 0, 1])),
            False,
        ),
        [0, 8, 1, 9],
    ),
    (
        lambda: Dataset.choose_from_datasets(
            [Dataset.range(2), Dataset.range(8, 12)],
            Dataset.from_tensor_slices(np.array([0, 1, 0, 0, 1])),
        ),
        [0, 8, 1],
    ),
    (
        lambda: Dataset.range(10).group_by_window(
            lambda x: x % 2,
            lambda k, w: Dataset.zip(Dataset.from_tensors(k), w.batch(9)),
            window_size_func=lambda k: k + 2,
        ),
        [(0, [0, 2]), (1, [1, 3, 5]), (0, [4, 6]), (0, [8]), (1, [7, 9])],
    ),
    (
        lambda: Dataset.from_tensors(Dataset.range(3)).flat_map(lambda d: d.map(lambda x: x + 1)),
        [1, 2, 3],
    ),
    (
        lambda: Dataset.range(4).window(2).map(lambda w: w.reduce(np.int64(0), lambda a, b: a + b)),
        [1, 5],
    ),
    (
        lambda: Dataset.range(3).flat_map(lambda x: Dataset.range(2).map(lambda y: y + 10 * x)),
        [0, 1, 10, 11, 20, 21],
    ),
    (
        lambda: Dataset.range(2).flat_map(
            lambda x: Dataset.range(x + 1).flat_map(
                lambda y: Dataset.from_tensors(x + y).repeat(y + 1)
            )
        ),
        [0, 1, 2, 2],
    ),
    (
        lambda: (
            Dataset.from_tensor_slices([1.0, 0.0, 2.0])
            .map(lambda x: tf.debugging.check_numerics(1 / x, ""))
            .ignore_errors()
        ),
        [1.0, 0.5],
    ),
    (
        lambda: Dataset.range(4).apply(tf.data.experimental.map_and_batch(lambda x: x * x, 3)),
        [[0, 1, 4], [9]],
    ),
    (lambda: Dataset.from_generator(lambda n: iter(range(n)), tf.int32, args=(2,)), [0, 1]),
    (
        lambda: Dataset.from_generator(
            lambda: iter([(1, [2, 3])]), (tf.int32, tf.float32), ([], [None])
        ),
        [(1, [2.0, 3.0])],
    ),
    (  # a tuple in the place of a tensor is one
        lambda: Dataset.from_generator(
            lambda: [((1, 2), {"a": (3,)})],
            output_signature=(tf.TensorSpec([2], tf.int32), {"a": tf.TensorSpec([1])}),
        ),
        [([1, 2], {"a": [3.0]})],
    ),
    (lambda: Dataset.from_generator(lambda: [(0,), (1,)], tf.int64), [[0], [1]]),
]


@pytest.mark.parametrize(("make", "expected"), RESULTS, ids=range(len(RESULTS)))
def test_results(make: Any, expected: list[Any]) -> None:
    assert values(make()) == expected


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: Dataset.from_tensor_slices(5), ValueError, "scalar"),
    (lambda: Dataset.from_tensor_slices(([1], [1, 2])), ValueError, "not compatible"),
    (lambda: Dataset.range(3).map(3), ValueError, "must be a callable; got 3"),
    (lambda: Dataset.range(3).flat_map(lambda x: x), TypeError, "must return a dataset"),
    (lambda: Dataset.range(3).filter(lambda x: x), ValueError, "boolean scalar"),
    (lambda: Dataset.range(3).shuffle(0), Invalid, "buffer_size"),
    (lambda: Dataset.range(3).batch(0), Invalid, "greater than zero; got 0"),
    (lambda: Dataset.range(3).shard(2, 2), Invalid, "index = 2"),
    (lambda: Dataset.range(3).concatenate(Dataset.from_tensors("a")), TypeError, "different types"),
    (lambda: Dataset.zip([Dataset.range(3)]), TypeError, "structure of datasets"),
    (lambda: Dataset.zip(3), TypeError, "got 3"),
    (lambda: Dataset.range(3).unbatch(), ValueError, "scalar"),
    (lambda: Dataset.range(3).scan(0, lambda s, x: s), TypeError, "pair"),
    (lambda: Dataset.range(3).reduce(0, lambda s, x: 1.5), TypeError, "state"),
    (lambda: Dataset.range(2).get_single_element(), Invalid, "more than one"),
    (lambda: Dataset.range(0).get_single_element(), Invalid, "empty"),
    (lambda: Dataset(3), TypeError, "static methods"),
    (lambda: list(growing().batch(2)), Invalid, r"component 0.*\[1\] and element 1 had"),
    (
        lambda: list(growing().padded_batch(2, padded_shapes=[3])),
        tf.errors.DataLossError,
        "smaller size",
    ),
    (
        lambda: list(Dataset.range(4).apply(tf.data.experimental.assert_cardinality(3))),
        tf.errors.FailedPreconditionError,
        "expected to contain 3",
    ),
    (lambda: Dataset.range(3).with_options(3), TypeError, "Options"),
    (lambda: list(Dataset.list_files("/no/such/*")), Invalid, "No files matched"),
]


@pytest.mark.parametrize(("action", "kind", "told"), ERRORS, ids=range(len(ERRORS)))
def test_errors(action: Any, kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        action()


def test_a_generator_that_changes_its_structure() -> None:
    def elements() -> Iterator[Any]:
        yield (1, "a")
        yield {"x": 1}

    spec = (tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.string))
    iterator = iter(Dataset.from_generator(elements, output_signature=spec))
    next(iterator)
    with pytest.raises(Invalid, match=r"\(tf.int32, tf.string\).*element number 1 was \{'x': 1\}"):
        next(iterator)


def test_the_end_of_iterators() -> None:
    iterator = iter(Dataset.range(1))
    assert int(iterator.get_next_as_optional().get_value()) == 0
    assert not iterator.get_next_as_optional().has_value()
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    with pytest.raises(StopIteration):
        next(iterator)


class TestShuffle:
    def test_orders_are_uniform(self) -> None:
        dataset = Dataset.range(4).shuffle(4, seed=0)
        seen = collections.Counter(tuple(values(dataset)) for _ in range(2400))
        assert len(seen) == 24 and max(seen.values()) < 160

    @pytest.mark.parametrize("elements", [False, True])
    def test_a_small_buffer_reaches_no_further(self, elements: bool) -> None:
        dataset = Dataset.range(200)
        dataset = dataset.filter(lambda x: True) if elements else dataset
        order = values(dataset.shuffle(5, seed=1))
        assert sorted(order) == list(range(200)) != order
        assert all(x <= i + 4 for i, x in enumerate(order))

    def test_seeds(self) -> None:
        def orders(**options: Any) -> list[Any]:
            dataset = Dataset.range(20).shuffle(20, **options)
            return [values(dataset), values(dataset)]

        first, second = orders(seed=5)
        assert first != second and [first, second] == orders(seed=5) != orders(seed=6)
        kept = orders(seed=5, reshuffle_each_iteration=False)
        assert kept[0] == kept[1]
        tf.random.set_seed(1)
        one = [orders(), orders()]
        tf.random.set_seed(1)
        assert [orders(), orders()] == one and one[0] != one[1]

    def test_epochs_differ(self) -> None:
        order = values(Dataset.range(20).shuffle(20, seed=1).repeat(2))
        assert sorted(order[:20]) == sorted(order[20:]) and order[:20] != order[20:]


class TestFiles:
    def test_lines(self, tmp_path: Path) -> None:
        for name, text in (("a", "1\r\n2"), ("b", "3\n")):
            (tmp_path / name).write_bytes(text.encode())
        names = Dataset.list_files(str(tmp_path / "*"), shuffle=False)
        assert values(tf.data.TextLineDataset(names)) == [b"1", b"2", b"3"]
        assert values(names.interleave(tf.data.TextLineDataset, 2)) == [b"1", b"3", b"2"]

    @pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
    def test_records(self, kind: str, tmp_path: Path) -> None:
        path = str(tmp_path / "r")
        given = [b"", b"\xff\x00", b"x" * 5000]
        with tf.io.TFRecordWriter(path, kind) as writer:
            for record in given:
                writer.write(record)
        found = list(tf.data.TFRecordDataset(path, kind).as_numpy_iterator())
        assert found == given

    def test_damaged_records(self, tmp_path: Path) -> None:
        path = tmp_path / "r"
        with tf.io.TFRecordWriter(str(path)) as writer:
            writer.write("abc")
        data = path.read_bytes()
        for wrong in (data[:-1], data[:12] + b"x" + data[13:]):
            path.write_bytes(wrong)
            with pytest.raises(tf.errors.DataLossError, match="record at 0"):
                list(tf.data.TFRecordDataset(str(path)))

    @pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
    def test_damaged_compressed_records(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "r"
        with tf.io.TFRecordWriter(str(path), kind) as writer:
            writer.write(b"abc" * 100)
        data = path.read_bytes()
        for wrong in (data[:1], data[:12], data[:-1], b"abc" + data, data[:12] + b"x" + data[13:]):
            path.write_bytes(wrong)
            with pytest.raises(tf.errors.DataLossError, match=str(path)):
                list(tf.data.TFRecordDataset(str(path), kind))

    def test_a_length_that_lies(self, tmp_path: Path) -> None:
        path = tmp_path / "r"
        head = (1 << 62).to_bytes(8, "little")
        path.write_bytes(head + masked(crc32c(head)).to_bytes(4, "little") + b"abc")
        with pytest.raises(tf.errors.DataLossError, match="truncated record at 0"):
            list(tf.data.TFRecordDataset(str(path)))

    def test_fixed_length(self, tmp_path: Path) -> None:
        path = tmp_path / "r"
        path.write_bytes(b"HHaabbF")
        dataset = tf.data.FixedLengthRecordDataset(str(path), 2, 2, 1)
        assert values(dataset) == [b"aa", b"bb"]

    def test_a_file_that_is_not_there(self) -> None:
        with pytest.raises(tf.errors.NotFoundError, match="/no/such"):
            list(tf.data.TextLineDataset("/no/such"))

    def test_a_cache_in_a_file(self, tmp_path: Path) -> None:
        calls: list[int] = []

        def count(x: Any) -> Any:
            calls.append(int(x))
            return x

        def make() -> Any:
            dataset = Dataset.range(3).map(lambda x: (tf.py_function(count, [x], tf.int64), "s"))
            return dataset.cache(str(tmp_path / "cache"))

        assert values(make()) == values(make()) == [(0, b"s"), (1, b"s"), (2, b"s")]
        assert calls == [0, 1, 2]

    def test_save_and_load(self, tmp_path: Path) -> None:
        dataset = Dataset.from_tensor_slices({"a": ["x", "y"], "b": ([1.0, 2.0], [3, 4])}).shuffle(
            1
        )
        dataset.save(str(tmp_path / "d"))
        loaded = Dataset.load(str(tmp_path / "d"))
        assert loaded.element_spec == dataset.element_spec and values(loaded) == values(dataset)
        with pytest.raises(tf.errors.NotFoundError, match="holds no dataset"):
            Dataset.load(str(tmp_path))

    @pytest.mark.parametrize(
        "dataset",
        [
            Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]])),
            Dataset.from_tensors({"a": (tf.ragged.constant([[["x"]], [["y", "z"]]]), 1.0)}),
            Dataset.from_tensor_slices(tf.sparse.from_dense([[1, 0], [0, 2]])),
            Dataset.from_tensor_slices(Pair([1, 2], [3.0, 4.0])),
        ],
        ids=["ragged", "ragged in a tuple", "sparse", "named tuple"],
    )
    def test_save_and_load_structures(self, tmp_path: Path, dataset: Any) -> None:
        dataset.save(str(tmp_path / "d"))
        loaded = Dataset.load(str(tmp_path / "d"))
        assert loaded.element_spec == dataset.element_spec
        assert repr(list(loaded)) == repr(list(dataset))


def test_options_are_merged() -> None:
    first, second = tf.data.Options(), tf.data.Options()
    first.deterministic = False
    second.threading.private_threadpool_size = 3
    found = Dataset.range(1).with_options(first).map(lambda x: x).with_options(second).options()
    assert found.deterministic is False and found.threading.private_threadpool_size == 3
    with pytest.raises(AttributeError, match="no_such"):
        first.no_such = 1


def test_batches_and_caches_of_texts_that_functions_made() -> None:
    words = tf.data.Dataset.from_tensor_slices(["abc", "defg"]).map(
        lambda x: tf.strings.substr(x, 0, 2)
    )
    for dataset in (words.batch(2), words.cache().batch(2), words.padded_batch(2)):
        assert [b.numpy().tolist() for b in dataset] == [[b"ab", b"de"]]


def test_lists_of_arrays_keep_their_dtype() -> None:
    arrays = [np.array([1, 2]), np.array([3, 4])]
    assert Dataset.from_tensor_slices(arrays).element_spec == tf.TensorSpec([2], tf.int64)
    assert Dataset.from_tensors({"a": [arrays]}).element_spec["a"].dtype == tf.int64
    for others in ([1, 2], [np.array(1), 2], [np.array(1), np.array(2.0)]):
        assert Dataset.from_tensors(others).element_spec.dtype == tf.convert_to_tensor(others).dtype


def test_counters_wrap_and_may_stand_still() -> None:
    count = tf.data.Dataset.counter
    assert [int(x) for x in count(254, dtype=tf.uint8).take(4)] == [254, 255, 0, 1]
    assert [int(x) for x in count(2**63 - 1).take(2)] == [2**63 - 1, -(2**63)]
    assert [int(x) for x in count(-1, -2).take(3)] == [-1, -3, -5]
    assert [int(x) for x in count(1, 0).take(2)] == [1, 1]


def test_specs_of_datasets_and_iterators() -> None:
    dataset = tf.data.Dataset.range(3)
    element = tf.TensorSpec([], tf.int64)
    assert tf.data.DatasetSpec.from_value(dataset) == tf.data.DatasetSpec(element)
    assert tf.data.IteratorSpec.from_value(iter(dataset)) == tf.data.IteratorSpec(element)
