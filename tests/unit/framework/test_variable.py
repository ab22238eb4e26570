"""Variables: TensorFlow's rules for values and shapes; what was read is never altered."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import threading
import weakref

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError
from tfx.framework.composite.indexed_slices import IndexedSlices


def test_facts():
    v = tf.Variable([[1.0, 2.0]], name="w")
    assert (v.name, v.dtype, v.shape, v.ndim, v.trainable) == ("w:0", "float32", [1, 2], 2, True)
    assert v.get_shape() == v.shape
    assert v.handle is v
    assert v.device.endswith("CPU:0")
    assert v.constraint is None
    assert repr(v) == (
        "<tf.Variable 'w:0' shape=(1, 2) dtype=float32, numpy=array([[1., 2.]], dtype=float32)>"
    )
    assert repr(tf.Variable(1.0)) == "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>"


@pytest.mark.parametrize(
    ("arguments", "dtype", "value"),
    [
        ({"initial_value": 1}, "int32", 1),
        ({"initial_value": 1, "dtype": tf.float32}, "float32", 1),
        ({"initial_value": np.array([1.0]), "dtype": tf.float32}, "float32", [1]),
        ({"initial_value": lambda: 2.0}, "float32", 2),
        ({"initial_value": lambda: 2, "dtype": "float64"}, "float64", 2),
        ({"initial_value": tf.constant(3)}, "int32", 3),
        ({"initial_value": "s"}, "string", b"s"),
        ({"initial_value": []}, "float32", []),
        ({"initial_value": True}, "bool", True),
    ],
)
def test_initial_values(arguments, dtype, value):
    v = tf.Variable(**arguments)
    assert v.dtype == dtype
    np.testing.assert_array_equal(v.numpy(), value)


def test_a_variable_from_a_variable_is_another():
    a = tf.Variable(1.0)
    b = tf.Variable(a)
    a.assign(5.0)
    assert b.numpy() == 1.0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "initial_value"),
        ({"initial_value": None}, ValueError, "came without an initial_value"),
        ({"initial_value": tf.constant(1), "dtype": tf.float32}, ValueError, "cannot start from"),
        ({"initial_value": [1, 2], "shape": [3]}, ValueError, r"\(2,\).*not compatible.*\(3,\)"),
        ({"initial_value": object()}, ValueError, "unsupported type"),
    ],
)
def test_bad_initial_values(arguments, error, message):
    with pytest.raises(error, match=message):
        tf.Variable(**arguments)


def test_names():
    with tf.name_scope("model"):
        assert tf.Variable(1.0, name="w").name == "model/w:0"
    assert tf.Variable(1.0, name="w").name == tf.Variable(1.0, name="w").name


def test_assignment():
    v = tf.Variable([1.0, 2.0])
    assert v.assign([3, 4]) is v
    np.testing.assert_array_equal(v, [3.0, 4.0])
    v.assign_add([1.0, 1.0]).assign_sub([2.0, 2.0])
    np.testing.assert_array_equal(v, [2.0, 3.0])
    v.assign(np.array([1.5, 2.5]))
    assert v.dtype == "float32"
    v.assign(tf.Variable([5.0, 6.0]))
    np.testing.assert_array_equal(v.read_value(), [5.0, 6.0])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda v: v.assign([1.0]),
            ValueError,
            r"'w:0'.*\(2,\), and the assigned value shape \(1,\)",
        ),
        (lambda v: v.assign(1.0), ValueError, "Shape mismatch"),
        (lambda v: v.assign(tf.constant([1, 2])), TypeError, r"'w:0'.*float32.*int32"),
        (lambda v: v.assign([1j, 1j]), TypeError, "Cannot convert"),
        (lambda v: v.assign_add(1.0), InvalidArgumentError, r"'w:0' of shape \(2,\).*\(\).*equal"),
        (lambda v: v.assign_sub([[1.0, 1.0]]), InvalidArgumentError, "must be equal"),
        (lambda v: v.assign_add(tf.constant([1, 2])), TypeError, "float32"),
        (lambda v: v.scatter_add([1]), TypeError, "not IndexedSlices"),
    ],
)
@pytest.mark.parametrize("traced", [False, True])
def test_bad_changes_change_nothing(change, error, message, traced):
    v = tf.Variable([1.0, 2.0], name="w")
    run = tf.function(lambda: change(v)) if traced else lambda: change(v)
    with pytest.raises(error, match=message):
        run()
    np.testing.assert_array_equal(v, [1.0, 2.0])


def test_bad_types_change_nothing():
    for v, delta in ((tf.Variable("a"), "b"), (tf.Variable(True), True)):
        with pytest.raises(InvalidArgumentError, match="Add cannot be applied"):
            v.assign_add(delta)


def test_free_shapes():
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    assert v.shape.rank is None
    v.assign([[1.0]])
    assert v.value().shape == [1, 1]
    rows = tf.Variable([1.0, 2.0], shape=[None])
    rows.assign([1.0, 2.0, 3.0])
    assert rows.shape == [None]
    with pytest.raises(ValueError, match="Shape mismatch"):
        rows.assign([[1.0]])
    rows.set_shape([3])
    assert rows.shape == [3]


def test_values_that_were_read_stay():
    v = tf.Variable([1.0, 2.0])
    before, view = v.value(), np.asarray(v)
    v.assign_add([1.0, 1.0])
    tf.function(lambda: v.assign_add([1.0, 1.0]))()
    np.testing.assert_array_equal(before, [1.0, 2.0])
    np.testing.assert_array_equal(view, [1.0, 2.0])
    array = v.numpy()
    array[:] = 0
    np.testing.assert_array_equal(v, [3.0, 4.0])


ROWS = np.arange(8.0, dtype=np.float32).reshape(4, 2)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("method", "reference"),
    [
        ("scatter_update", lambda old, new: new),
        ("scatter_add", np.add),
        ("scatter_sub", np.subtract),
        ("scatter_mul", np.multiply),
        ("scatter_div", np.divide),
        ("scatter_max", np.maximum),
        ("scatter_min", np.minimum),
    ],
)
@pytest.mark.parametrize("values", [[[2.0, 4.0], [8.0, 1.0]], 4.0], ids=["rows", "number"])
def test_scatter_rows(method, reference, values, traced):
    v = tf.Variable(ROWS)
    values = np.array(values, np.float32)
    delta = IndexedSlices(tf.constant(values), tf.constant([3, 1]))

    def run():
        assert getattr(v, method)(delta) is v

    (tf.function(run) if traced else run)()
    expected = ROWS.copy()
    expected[[3, 1]] = reference(expected[[3, 1]], values)
    np.testing.assert_allclose(v, expected)


def test_scatter_division_of_whole_numbers():
    v = tf.Variable([[7], [-7], [9]])
    v.scatter_div(IndexedSlices(tf.constant([[2], [2], [4]]), tf.constant([0, 1, 0])))
    assert v.numpy().tolist() == [[0], [-3], [9]]


def test_scatter_repeated_rows_add_up():
    v = tf.Variable(ROWS)
    v.scatter_add(IndexedSlices(tf.ones([3, 2]), tf.constant([0, 0, 2], tf.int64)))
    np.testing.assert_array_equal(v, np.add(ROWS, [[2], [0], [1], [0]]))


def test_scatter_positions():
    v = tf.Variable([1.0, 2.0, 3.0])
    v.scatter_nd_update([[0], [2]], [10.0, 30.0])
    v.scatter_nd_add([[1]], [5.0])
    v.scatter_nd_sub([[1]], [1.0])
    v.scatter_nd_max([[0], [1]], [12.0, 5.0])
    v.scatter_nd_min([[0], [2]], [10.0, 31.0])
    np.testing.assert_array_equal(v, [10.0, 6.0, 30.0])
    with pytest.raises(InvalidArgumentError):
        v.scatter_nd_update([[7]], [1.0])
    np.testing.assert_array_equal(v, [10.0, 6.0, 30.0])


def test_python_protocols():
    v = tf.Variable([1, 2])
    assert len(v) == 2
    assert [int(x) for x in v] == [1, 2]
    assert int(v[0]) == 1
    assert np.sum(v) == 3
    assert int(tf.Variable(3)) == operator.index(tf.Variable(3)) == 3
    assert float(tf.Variable(1.5)) == 1.5
    assert bool(tf.Variable(True))
    np.testing.assert_array_equal(np.from_dlpack(v), [1, 2])
    with pytest.raises(TypeError, match=r"unhashable\. Instead, use variable\.ref\(\)"):
        hash(v)
    assert v.ref() == v.ref()
    assert v.ref().deref() is v
    np.testing.assert_array_equal(v + v, [2, 4])
    np.testing.assert_array_equal([1, 1] - v, [0, -1])


def test_copies_have_a_value_of_their_own():
    v = tf.Variable([1.0], name="w", trainable=False, shape=[None], constraint=abs)
    for twin in (copy.deepcopy(v), copy.deepcopy([v, v])[1]):
        assert (twin.name, twin.trainable, twin.constraint) == ("w:0", False, abs)
        assert twin.shape == [None]
        twin.assign([5.0, 6.0])
        np.testing.assert_array_equal(v, [1.0])
    first, second = copy.deepcopy([v, v])
    assert first is second


def test_pickles():
    v = tf.Variable([1.0, 2.0], name="a/w", trainable=False, shape=[None])
    w = pickle.loads(pickle.dumps(v))
    assert (w.name, w.trainable, w.shape.as_list()) == ("a/w:0", False, [None])
    np.testing.assert_array_equal(w, v)


def test_concurrent_changes_are_all_counted():
    v, w = tf.Variable(0), tf.Variable(0)
    step = tf.function(lambda: w.assign_add(v * 0 + 1))
    step()

    def work():
        for _ in range(200):
            v.assign_add(1)
            step()
            w.assign_sub(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy() == 800
    assert w.numpy() == 1


def test_variables_are_freed():
    v = tf.Variable(np.zeros(10))
    reference = weakref.ref(v)
    function = tf.function(lambda: holder[0] + 1.0)
    holder = [v]
    function()
    holder.clear()
    del v
    gc.collect()
    assert reference() is None


def test_names_that_libraries_use():
    v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="v")
    assert v._shared_name == w._shared_name == "v"
    assert v._unique_id.startswith("v_")
    assert v._unique_id != w._unique_id


def test_what_libraries_of_tensorflow_1_ask_for():
    """What TensorFlow 2.21 answers in eager mode."""
    v = tf.Variable([1.0, 2.0], name="w")
    assert v.initializer is None
    assert v._initializer_op is None
    v.load([3.0, 4.0])
    np.testing.assert_array_equal(v, [3.0, 4.0])
    assert bool(v.is_initialized())
    assert v.experimental_ref() == v.ref()
    assert (v._handle_name, v._in_graph_mode) == ("w:0", False)
    assert v._get_save_slice_info() is None
    v._set_save_slice_info("place")
    assert v._save_slice_info == "place"
    assert tf.Variable(1.0)._save_slice_info is None
    with pytest.raises(RuntimeError, match="not kept"):
        _ = v.initial_value
    with pytest.raises(RuntimeError, match="needs a session"):
        v.eval()
    assert not hasattr(v, "graph")
    with pytest.raises(AttributeError, match=r"Tensor\.op is undefined when eager execution"):
        _ = v.op
    assert tf.compat.v1.report_uninitialized_variables().numpy().tolist() == []
    assert tf.compat.v1.assert_variables_initialized() is None
    with tf.compat.v1.Graph().as_default():
        assert tf.compat.v1.Variable(1.0)._in_graph_mode


def test_batch_scatter_update():
    rows = IndexedSlices(tf.constant([[9.0, 8.0], [7.0, 6.0]]), tf.constant([[0, 2], [1, 0]]))
    v = tf.Variable([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert v.batch_scatter_update(rows).numpy().tolist() == [[9.0, 1.0, 8.0], [6.0, 7.0, 5.0]]
    slices = IndexedSlices(tf.constant([[[1.0, 1.0]], [[2.0, 2.0]]]), tf.constant([[1], [0]]))
    v = tf.Variable(np.zeros((2, 2, 2), np.float32))
    v.batch_scatter_update(slices)
    assert v.numpy().tolist() == [[[0.0, 0.0], [1.0, 1.0]], [[2.0, 2.0], [0.0, 0.0]]]
    with pytest.raises(TypeError, match="not IndexedSlices"):
        v.batch_scatter_update([1.0])


@pytest.mark.parametrize("indices", [[0.0, 1.0], ["0", "1"], [True, False], [0j, 1j]])
@pytest.mark.parametrize("method", ["scatter_update", "scatter_add", "batch_scatter_update"])
def test_places_that_are_no_integers(method, indices):
    v = tf.Variable(np.zeros([3, 2], np.float32))
    rows = np.ones([2, 2], np.float32)
    for error in (InvalidArgumentError, TypeError):  # TensorFlow's, eagerly and in graphs
        with pytest.raises(error, match="not in the list of allowed values"):
            getattr(v, method)(IndexedSlices(tf.constant(rows), tf.constant(indices)))
        with pytest.raises(error, match="not in the list of allowed values"):
            v.scatter_nd_update(np.array(indices)[:, None], rows)
    assert not v.numpy().any()


def test_assignments_that_are_not_to_be_read_return_nothing_or_the_operation():
    v = tf.Variable([1.0, 2.0])
    changes = ("assign", "assign_add", "assign_sub")
    for change in changes:
        assert getattr(v, change)([3.0, 4.0], read_value=False) is None
    np.testing.assert_array_equal(v, [3.0, 4.0])

    @tf.function
    def change_all(x):
        made = [getattr(v, change)(x, read_value=False) for change in changes]
        assert all(isinstance(op, tf.Operation) and op.type == "AssignVariableOp" for op in made)
        with tf.control_dependencies(made):
            return v + 1.0

    np.testing.assert_array_equal(change_all(tf.constant([5.0, 6.0])), [6.0, 7.0])


def test_counters_stop_at_their_limit() -> None:
    v = tf.Variable(1)
    assert [int(v.count_up_to(3)), int(v.count_up_to(3))] == [1, 2]
    with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 3"):
        v.count_up_to(3)
    assert v.numpy() == 3
    step = tf.function(lambda: v.count_up_to(5))
    assert (int(step()), v.numpy()) == (3, 4)
    with pytest.raises(TypeError, match="int32 or int64"):
        tf.Variable(1.0).count_up_to(3)


def test_variables_that_are_synchronized_when_read_are_not_trained_by_default():
    modes = tf.VariableSynchronization
    assert not tf.Variable(0.0, synchronization=modes.ON_READ).trainable
    assert tf.Variable(0.0, trainable=True, synchronization=modes.ON_READ).trainable
    assert tf.Variable(0.0, synchronization=modes.ON_WRITE).trainable
    assert tf.Variable(0.0, synchronization=None).synchronization is modes.AUTO


@pytest.mark.parametrize("name", ["synchronization", "aggregation"])
def test_modes_that_there_are_not(name):
    with pytest.raises(ValueError, match=f"Invalid variable {name} mode: 'mean' for variable v:0"):
        tf.Variable(0.0, name="v", **{name: "mean"})
