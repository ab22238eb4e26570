"""``tf.test``: assertions that hold and fail as TensorFlow's, sessions, seeds, threads."""

from __future__ import annotations

import sys
import unittest
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfx as tf
import tfx.compat.v1 as tf1


class Point(NamedTuple):
    x: Any
    y: Any


class Case(tf.test.TestCase):
    def runTest(self):
        pass


@pytest.fixture
def case():
    made = Case()
    made.setUp()
    yield made
    made.tearDown()


CLOSE = [
    (tf.constant([1.0, 2.0]), [1.0, 2.0 + 1e-7]),
    ({"a": [1.0, 2.0], "b": tf.Variable(3.0)}, {"a": np.array([1.0, 2.0]), "b": 3.0}),
    (Point(tf.constant(1.0), [2.0]), Point(1.0, [2.0])),
    ([tf.ones([2]), tf.ones([3])], [np.ones(2), np.ones(3)]),
    ([np.nan, np.inf], tf.constant([np.nan, np.inf])),
    (tf.constant([1, 2]), [1, 2]),
    (tf.constant([1.0], tf.bfloat16), [1.0]),
    ([], tf.zeros([0])),
]
APART = [
    ([1.0, 2.0], [1.0, 2.1]),
    ([1.0, 2.0], [[1.0, 2.0]]),
    ({"a": 1.0}, {"b": 1.0}),
    ([np.nan], [1.0]),
    ([tf.ones([2]), tf.ones([3])], [np.ones(2), np.zeros(3)]),
    ([1.0, [2.0, 3.0]], [1.0, [2.0, 4.0]]),
]


@pytest.mark.parametrize(("a", "b"), CLOSE)
def test_close(case, a, b):
    case.assertAllClose(a, b)
    case.assertAllCloseAccordingToType(a, b)
    with pytest.raises(AssertionError, match="close at all elements"):
        case.assertNotAllClose(a, b)


@pytest.mark.parametrize(("a", "b"), APART)
def test_apart(case, a, b):
    with pytest.raises(AssertionError):
        case.assertAllClose(a, b)
    case.assertNotAllClose(a, b)


def test_what_is_apart_is_named(case):
    with pytest.raises(AssertionError, match=r"(?s)a\['w'\].*rtol = 1e-06.*lhs = \[2\.\]"):
        case.assertAllClose({"w": tf.constant([1.0, 2.0])}, {"w": [1.0, 3.0]})
    with pytest.raises(ValueError, match="dict to non-dict"):
        case.assertAllClose({"w": 1.0}, [1.0])


def test_tolerance_by_type(case):
    case.assertAllCloseAccordingToType(tf.constant([1.0], tf.float16), [1.0009])
    case.assertAllCloseAccordingToType(tf.constant([1.0], tf.bfloat16), [1.009])
    with pytest.raises(AssertionError):
        case.assertAllCloseAccordingToType(tf.constant([1.0], tf.float16), [1.005])


def test_equal(case):
    case.assertAllEqual(tf.constant([[1, 2]]), [[1, 2]])
    case.assertAllEqual(tf.constant(["a", "b"]), ["a", b"b"])
    case.assertAllEqual([np.nan, 1.0], tf.constant([np.nan, 1.0]))
    case.assertNotAllEqual([1, 2], [1, 3])
    for wrong in ([[1, 2]], [1, 3], [1]):
        with pytest.raises(AssertionError):
            case.assertAllEqual(tf.constant([1, 2]), wrong)
    with pytest.raises(AssertionError, match="equal at all"):
        case.assertNotAllEqual([1, 2], tf.constant([1, 2]))


def test_limits(case):
    x = tf.constant([1.0, 2.0])
    case.assertAllGreater(x, 0.5)
    case.assertAllGreaterEqual(x, 1.0)
    case.assertAllLess(x, 2.5)
    case.assertAllLessEqual(x, 2.0)
    case.assertAllInRange(x, 1.0, 2.0)
    case.assertAllInSet(tf.constant([1, 2, 1]), [1, 2, 3])
    for check in (
        lambda: case.assertAllGreater(x, 1.0),
        lambda: case.assertAllLess(x, 2.0),
        lambda: case.assertAllGreaterEqual(x, 1.5),
        lambda: case.assertAllLessEqual(x, 1.5),
        lambda: case.assertAllInRange(x, 1.0, 2.0, open_upper_bound=True),
        lambda: case.assertAllInRange(x, 1.0, 2.0, open_lower_bound=True),
        lambda: case.assertAllInRange([np.nan], 0.0, 1.0),
        lambda: case.assertAllInSet([4], [1, 2]),
    ):
        with pytest.raises(AssertionError):
            check()


def test_facts_about_tensors(case):
    case.assertShapeEqual(np.zeros([2, 3]), tf.zeros([2, 3]))
    case.assertDTypeEqual(tf.zeros([1], tf.int32), tf.int32)
    case.assertDeviceEqual("/device:CPU:0", "/cpu:0")
    case.assertDeviceEqual("", None)
    case.assertArrayNear([1.0, 2.0], [1.0, 2.05], 0.1)
    case.assertNDArrayNear(np.ones(3), tf.ones([3]), 1e-6)
    case.assertStartsWith("tensor", "ten")
    for check in (
        lambda: case.assertShapeEqual(np.zeros([2, 3]), tf.zeros([3])),
        lambda: case.assertDTypeEqual(tf.zeros([1], tf.int32), tf.int64),
        lambda: case.assertNear(1.0, 2.0, 0.5),
        lambda: case.assertStartsWith("tensor", "x"),
    ):
        with pytest.raises(AssertionError):
            check()


def test_near_numbers_may_be_arrays_of_one(case):
    case.assertNear(np.array([1.0]), 1.25, 0.5)
    with pytest.raises(AssertionError, match=r"\[1\.\] != 2\.0 \+/- 0\.5"):
        case.assertNear(np.array([1.0]), 2.0, 0.5)


def test_errors(case):
    with case.assertRaisesOpError("Cannot|cannot|incompatible|must"):
        tf.ones([2]) + tf.ones([3])
    with case.assertRaisesIncompatibleShapesError():
        tf.ones([2]) + tf.ones([3])
    with case.assertRaisesWithPredicateMatch(ValueError, lambda e: "here" in str(e)):
        raise ValueError("here")
    there = case.assertRaisesWithPredicateMatch(ValueError, "there")
    with pytest.raises(AssertionError, match="does not match"), there:
        raise ValueError("here")
    with pytest.raises(AssertionError, match="not raised"), case.assertRaisesOpError("x"):
        pass


def test_values(case):
    found = case.evaluate({"a": tf.constant(1.0), "b": [tf.Variable(2.0), lambda: tf.constant(3)]})
    assert found == {"a": 1.0, "b": [2.0, 3]}
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3]))
    several = case.evaluate(lambda: (tf.constant([1]), {"v": tf.Variable([2.0])}))
    assert (several[0].tolist(), several[1]["v"].tolist()) == ([1], [2.0])
    assert case.evaluate(slices).indices.tolist() == [3]


def test_sessions_of_graphs(case):
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [2])
        v = tf1.get_variable("v", initializer=2.0)
        y = x * v
        with case.cached_session() as session:
            session.run(v.initializer)
            case.assertAllClose(session.run(y, {x: [1.0, 2.0]}), [2.0, 4.0])
        with case.cached_session():  # the values of variables are still there
            case.assertAllClose(v * 2.0, 4.0)
            case.assertEqual(case.evaluate(v), 2.0)
        with case.session() as other, pytest.raises(tf.errors.FailedPreconditionError):
            other.run(v)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="different"):
        tf.constant(1.0)
        with case.cached_session():
            pass


def test_each_test_begins_with_an_empty_default_graph():
    tf1.disable_eager_execution()
    try:
        for _ in range(2):
            case = Case()
            case.setUp()
            drawn = tf1.random_uniform([3])
            tf1.get_variable("v", initializer=2.0)
            with case.cached_session():
                case.evaluate(tf1.global_variables_initializer())
                numbers = case.evaluate(drawn)
            case.tearDown()
    finally:
        tf1.enable_eager_execution()
        tf1.reset_default_graph()
    with tf.Graph().as_default() as around:
        case.setUp()
        case.assertIs(tf1.get_default_graph(), around)
        again = tf1.random_uniform([3])
        case.assertAllEqual(case.evaluate(again), numbers)  # the seed is the graph's
        case.tearDown()


def test_sessions_in_eager_execution_give_values(case):
    v = tf.Variable(2.0)
    for session_of in (case.session, case.cached_session):
        with session_of() as session:
            assert session.run({"a": v * 2, "b": [v]}) == {"a": 4.0, "b": [2.0]}
            assert session.run(tf1.global_variables_initializer()) is None
            with pytest.raises(RuntimeError, match=r"feed_dict is not supported.*1 values"):
                session.run(v, {"x": 1.0})
            with pytest.raises(AttributeError, match="evaluate"):
                session.list_devices()


def test_the_same_seeds():
    drawn = []
    for _ in range(2):
        case = Case()
        case.setUp()
        drawn.append((np.random.rand(), float(tf.random.uniform([]))))
        case.tearDown()
    assert drawn[0] == drawn[1]


def test_folders_streams_and_threads(case, capfd):
    folder = case.get_temp_dir()
    assert folder == case.get_temp_dir()
    with capfd.disabled(), case.captureWritesToStream(sys.stderr) as printed:
        tf.print("told", output_stream=sys.stderr)
    assert "told" in printed.contents()
    done = []
    thread = case.checkedThread(target=lambda: done.append(1))
    thread.start()
    thread.join()
    assert done == [1]
    failing = case.checkedThread(target=lambda: 1 // 0)
    failing.start()
    with pytest.raises(AssertionError, match="division"):
        failing.join()


def test_it_runs_in_a_runner():
    class Sums(tf.test.TestCase):
        def test_right(self):
            self.assertAllClose(tf.reduce_sum([1.0, 2.0]), 3.0)

        def test_wrong(self):
            self.assertAllClose(tf.reduce_sum([1.0, 2.0]), 4.0)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Sums).run(result)
    assert result.testsRun == 3
    assert [str(t).split()[0] for t, _ in result.skipped] == ["test_session"]
    assert [str(t).split()[0] for t, _ in result.failures] == ["test_wrong"]
    assert not result.errors


def test_gradients_as_jacobians():
    weights = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    exact, near = tf.test.compute_gradient(lambda x, w: tf.tanh(w @ x), [[[0.1], [0.2]], weights])
    assert [a.shape for a in exact] == [(2, 2), (2, 4)]
    for a, b in zip(exact, near, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3)
    with pytest.raises(ValueError, match="list or tuple"):
        tf.test.compute_gradient(tf.square, tf.constant(1.0))


def test_gradients_of_tensorflow_1():
    with tf.Graph().as_default(), tf1.Session():
        x = tf1.placeholder(tf.float64, [3])
        y = x * x
        start = np.array([1.0, 2.0, 3.0])
        exact, near = tf1.test.compute_gradient(x, [3], y, [3], start)
        np.testing.assert_allclose(exact, np.diag(2 * start))
        assert tf1.test.compute_gradient_error(x, [3], y, [3], start) < 1e-6
        np.testing.assert_allclose(near, exact, atol=1e-6)


def test_facts_about_the_machine():
    assert tf.test.is_gpu_available() == bool(tf.config.list_physical_devices("GPU"))
    assert tf.test.gpu_device_name() in ("", "/device:GPU:0")
    processors = ("x86_64", "aarch64", "riscv64")
    assert sum(map(tf.test.is_cpu_target_available, processors)) == 1
    assert tf.test.is_cpu_target_available("AMD64") == tf.test.is_cpu_target_available("x86_64")
    assert not tf.test.is_built_with_rocm()
    assert tf1.test.TestCase is tf.test.TestCase
    assert tf1.test.mock.Mock()
