"""Functions of elements, and datasets in functions: tracing, state, errors, threads."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.data.reference import Dataset, values

INT64 = tf.int64


def zero() -> Any:
    return tf.constant(0, INT64)


class TestFunctionsOfElements:
    def test_they_are_traced_once(self) -> None:
        traces = []

        def f(x: Any) -> Any:
            traces.append(x)
            if x > 2:
                return x * 10
            return -x

        assert values(Dataset.range(5).map(f)) == [0, -1, -2, 30, 40]
        assert len(traces) == 1 and tf.is_symbolic_tensor(traces[0])

    def test_variables_are_read_when_run(self) -> None:
        v = tf.Variable(1.0)
        dataset = Dataset.range(2).map(lambda x: v + 1.0)
        v.assign(5.0)
        assert values(dataset) == [6.0, 6.0] == values(dataset.batch(2))[0]

    @pytest.mark.parametrize("batch", [0, 4])
    def test_random_numbers_are_new_for_each_element(self, batch: int) -> None:
        dataset = Dataset.range(8).map(lambda x: tf.random.uniform([]), num_parallel_calls=2)
        if batch:
            dataset = dataset.batch(batch).unbatch()
        assert len(set(values(dataset))) == 8
        tf.random.set_seed(None)
        fresh = dataset.map(lambda x: x + tf.random.uniform([]))
        assert len({*values(fresh), *values(fresh)}) == 16

    def test_seeds_begin_again_with_each_iteration(self) -> None:
        for dataset in (Dataset.range(4), Dataset.range(4).cache()):
            drawn = dataset.map(lambda x: tf.random.uniform([], seed=3))
            assert values(drawn) == values(drawn) and len(set(values(drawn))) == 4

    def test_whole_batches_equal_single_elements(self, rng: np.random.Generator) -> None:
        x = rng.normal(size=(20, 4, 3)).astype(np.float32)

        def f(a: Any, i: Any) -> Any:
            flipped = a[::-1] if i > 3 else a
            return tf.nn.softmax(flipped @ tf.ones([3, 2])), tf.reduce_max(a, 0), i + 1

        dataset = Dataset.from_tensor_slices((x, np.arange(20))).shuffle(20, seed=1).map(f)
        options = tf.data.Options()
        options.experimental_optimization.map_vectorization = False
        one = Dataset.from_tensor_slices((x, np.arange(20))).shuffle(20, seed=1).map(f)
        for a, b in zip(dataset.batch(6), one.batch(6).with_options(options), strict=True):
            for left, right in zip(a, b, strict=True):
                np.testing.assert_allclose(left, right, rtol=1e-6)

    def test_effects(self, capsys: pytest.CaptureFixture[str]) -> None:
        seen: list[int] = []

        def f(x: Any) -> Any:
            tf.print("element", x)
            return tf.py_function(lambda a: seen.append(int(a)) or a, [x], INT64)

        list(Dataset.range(3).map(f).batch(2))
        assert seen == [0, 1, 2] and capsys.readouterr().err.count("element") == 3

    @pytest.mark.parametrize("parallel", [None, 2])
    def test_an_error_is_raised_once(self, parallel: int | None) -> None:
        def f(x: Any) -> Any:
            return tf.py_function(lambda a: 6 // int(a - 1), [x], INT64)

        iterator = iter(Dataset.range(4).map(f, num_parallel_calls=parallel).prefetch(2))
        found: list[Any] = []
        for _ in range(4):
            try:
                found.append(int(next(iterator)))
            except tf.errors.UnknownError as e:
                found.append("error")
                assert "ZeroDivisionError" in str(e)
        assert found == [-6, "error", 6, 3] and next(iterator, None) is None

    def test_tapes_do_not_see_them(self) -> None:
        v = tf.Variable(3.0)
        with tf.GradientTape() as tape:
            (y,) = Dataset.from_tensors(2.0).map(lambda x: x * v)
            z = y * v
        assert float(tape.gradient(z, v)) == 6.0

    def test_debug_mode(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tfx.data.functions._debugging", True)
        seen: list[int] = []

        def f(x: Any) -> Any:
            if tf.executing_eagerly():
                seen.append(int(x))
            return x

        assert values(Dataset.range(2).map(f)) == seen == [0, 1]


class TestInFunctions:
    def test_a_for_statement(self) -> None:
        dataset = Dataset.zip(Dataset.range(5), Dataset.range(10, 15))

        @tf.function
        def total(limit: Any) -> Any:
            found = zero()
            for x, y in dataset:
                if x == limit:
                    break
                if x == 1:
                    continue
                found += y
            return found

        assert [int(total(zero() + n)) for n in (0, 3, 9)] == [0, 22, 49]

    def test_shapes_may_change_in_a_for_statement(self) -> None:
        @tf.function
        def gathered(dataset: Dataset) -> Any:
            kept = {"all": tf.zeros([0], INT64)}, tf.constant(0, INT64)
            for x in dataset:
                if tf.reduce_sum(x) > 30:
                    break
                kept = {"all": tf.concat([kept[0]["all"], x], 0)}, kept[1] + tf.reduce_sum(x)
            return kept

        steps = Dataset.range(4).map(tf.range)
        found, total = gathered(steps)
        assert found["all"].numpy().tolist() == [0, 0, 1, 0, 1, 2]
        assert total.numpy() == 4
        structure = gathered.get_concrete_function(steps).structured_outputs
        assert structure[0]["all"].shape.as_list() == [None]
        assert structure[1].shape == []

        @tf.function
        def total_of_any(dataset: Dataset) -> tf.Tensor:
            total = tf.constant(0)
            for x, y in dataset:  # whose shapes are not known
                total += y - x
            return total

        pairs = Dataset.from_generator(lambda: [(1, 4)] * 3, (tf.int32, tf.int32))
        assert total_of_any(pairs).numpy() == 9

        @tf.function
        def in_ranges(n: tf.Tensor) -> tf.Tensor:
            found = tf.zeros([0])
            for _ in tf.range(n):
                found = tf.concat([found, [1.0]], 0)
            return found

        with pytest.raises(ValueError, match="set_loop_options"):
            in_ranges(tf.constant(3))

    def test_one_trace_serves_datasets_and_iterators(self) -> None:
        @tf.function
        def total(items: Any) -> Any:
            found = zero()
            for x in items:
                found += x
                if found > 5:
                    break
            return found

        assert int(total(Dataset.range(9))) == int(total(Dataset.range(9))) == 6
        assert int(total(Dataset.range(0))) == 0
        assert total.experimental_get_tracing_count() == 1
        iterator = iter(Dataset.range(100))
        assert int(total(iterator)) == 6 and int(next(iterator)) == 4  # a break leaves the next one
        assert int(total(iter(Dataset.range(3)))) == 3
        assert total.experimental_get_tracing_count() == 2

    def test_next(self) -> None:
        @tf.function
        def step(iterator: Any) -> Any:
            found = zero()
            for _ in tf.range(3):
                found += next(iterator)
            return found

        iterator = iter(Dataset.range(8))
        assert [int(step(iterator)), int(next(iterator)), int(step(iterator))] == [3, 3, 15]
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            step(iterator)

    def test_optional(self) -> None:
        @tf.function
        def total(iterator: Any) -> Any:
            found = zero()
            optional = iterator.get_next_as_optional()
            while optional.has_value():
                found += optional.get_value()
                break
            return found

        assert int(total(iter(Dataset.range(1, 3)))) == 1

    def test_datasets_made_of_tensors(self) -> None:
        @tf.function
        def total(n: Any) -> Any:
            numbers = Dataset.range(n).map(lambda x: x + n).filter(lambda x: x != 4)
            found = zero()
            for i, x in enumerate(numbers):
                found += i * x
            return found, numbers.reduce(zero(), lambda a, b: a + b)

        assert [int(x) for x in total(tf.constant(3, INT64))] == [5, 8]
        assert [int(x) for x in total(tf.constant(2, INT64))] == [3, 5]

    def test_a_traced_iterator_begins_each_time(self) -> None:
        dataset = Dataset.range(5)

        @tf.function
        def two() -> Any:
            iterator = iter(dataset)
            return next(iterator) * 10 + next(iterator)

        assert int(two()) == int(two()) == 1

    def test_a_loop_of_python_is_refused(self) -> None:
        @tf.function(autograph=False)
        def total() -> Any:
            return sum(x for x in Dataset.range(3))

        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=r"Dataset\.reduce"):
            total()

    def test_arguments_are_not_kept_alive(self) -> None:
        import weakref

        @tf.function
        def first(iterator: Any) -> Any:
            return next(iterator)

        dataset = Dataset.range(3)
        iterator = iter(dataset)
        first(iterator)
        stages, node = weakref.ref(iterator._live), weakref.ref(dataset._node)
        del iterator, dataset
        gc.collect()
        assert stages() is None and node() is None


def slow(x: Any) -> Any:
    def wait(a: Any) -> Any:
        time.sleep(0.003)
        return a

    return tf.py_function(wait, [x], INT64)


def _threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("tfx-data")]


class TestThreads:
    @pytest.mark.parametrize("deterministic", [True, False])
    def test_calls_overlap(self, deterministic: bool) -> None:
        busy, most = 0, 0
        lock = threading.Lock()

        def work(a: Any) -> Any:
            nonlocal busy, most
            with lock:
                busy += 1
                most = max(most, busy)
            time.sleep(0.002)
            with lock:
                busy -= 1
            return a

        dataset = Dataset.range(24).map(
            lambda x: tf.py_function(work, [x], INT64),
            num_parallel_calls=4,
            deterministic=deterministic,
        )
        found = values(dataset)
        assert sorted(found) == list(range(24)) and 2 <= most <= 4
        assert found == list(range(24)) or not deterministic

    def test_no_thread_is_left(self) -> None:
        dataset = Dataset.range(100).map(slow, num_parallel_calls=3).prefetch(2)
        iterators = [iter(dataset) for _ in range(3)]
        for iterator in iterators:
            values(next(iterator) for _ in range(4))
        assert _threads()
        del iterator
        iterators.clear()
        list(dataset.take(5).interleave(Dataset.range, 2, num_parallel_calls=2))
        gc.collect()
        end = time.monotonic() + 5
        while _threads() and time.monotonic() < end:
            time.sleep(0.01)
        assert not _threads()

    def test_prefetching_goes_ahead(self) -> None:
        made: list[int] = []

        def elements() -> Iterator[int]:
            for i in range(9):
                made.append(i)
                yield i

        spec = tf.TensorSpec([], INT64)
        iterator = iter(Dataset.from_generator(elements, output_signature=spec).prefetch(3))
        assert not made
        next(iterator)
        end = time.monotonic() + 5
        while len(made) < 4 and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(0.02)
        assert made == [0, 1, 2, 3]

    @pytest.mark.parametrize("ahead", [0, 2])
    def test_interrupts(self, ahead: int) -> None:
        stop = threading.Event()

        def endless() -> Iterator[int]:
            while not stop.wait(0.001):
                pass
            yield 0

        spec = tf.TensorSpec([], INT64)
        iterator = iter(Dataset.from_generator(endless, output_signature=spec).prefetch(ahead))
        timer = threading.Timer(
            0.1, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]
        )
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
        stop.set()
        timer.join()


def test_input_signatures_of_iterators_and_datasets() -> None:
    @tf.function(input_signature=[tf.data.IteratorSpec(tf.TensorSpec([], tf.int32))])
    def squared(iterator: Any) -> Any:
        x = iterator.get_next()
        return x * x

    iterator = iter(tf.data.Dataset.from_tensor_slices([2, 3]))
    assert [int(squared(iterator)), int(squared(iterator))] == [4, 9]
    with pytest.raises(TypeError, match=r"int32.* by the input signature, got .*int64"):
        squared(iter(tf.data.Dataset.range(3)))

    @tf.function(input_signature=[tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))])
    def total(dataset: Any) -> Any:
        return dataset.reduce(tf.constant(0, tf.int64), lambda so_far, x: so_far + x)

    assert int(total(tf.data.Dataset.range(4))) == 6
    assert int(total(tf.data.Dataset.range(9).filter(lambda x: x > 3))) == 30
    assert int(total.get_concrete_function()(tf.data.Dataset.range(3))) == 3
    assert total.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match="input signature"):
        total(tf.data.Dataset.range(4).batch(2))
