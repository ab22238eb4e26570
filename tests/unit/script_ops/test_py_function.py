"""``py_function`` and ``numpy_function``: results, errors, gradients, how often code is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.script_ops import py_function as module

Invalid = tf.errors.InvalidArgumentError
MODES: list[Callable[[Any], Any]] = [lambda f: f, tf.function]
both = pytest.mark.parametrize("mode", MODES, ids=["eager", "graph"])
X = [1.0, 2.0]


def x() -> tf.Tensor:
    return tf.constant(X)


@both
class TestResults:
    def test_one(self, mode: Any) -> None:
        y = mode(lambda x: tf.py_function(lambda a: a + 1, [x], tf.float32))(x())
        assert y.numpy().tolist() == [2.0, 3.0]

    def test_a_list(self, mode: Any) -> None:
        def f(x: tf.Tensor) -> Any:
            one = tf.py_function(lambda a: a + 1, [x], [tf.float32])
            two = tf.py_function(lambda a: (a, tf.size(a)), [x], (tf.float32, tf.int32))
            none = tf.py_function(lambda: None, [], [])
            assert (type(one), type(two), none) == (list, list, [])
            return one + two

        assert [y.numpy().tolist() for y in mode(f)(x())] == [[2.0, 3.0], X, 2]

    def test_python_values_are_converted(self, mode: Any) -> None:
        def f() -> Any:
            return [
                tf.py_function(lambda: 1, [], tf.float32),
                tf.py_function(lambda: np.int64(2), [], tf.float32),
                tf.py_function(lambda: "hé", [], tf.string),
                tf.py_function(lambda: [[1, 2]], [], tf.int64),
                tf.py_function(lambda a, b: tf.cast(a, b.dtype) + b, [1, 2.5], tf.float32),
            ]

        a, b, c, d, e = mode(f)()
        assert (float(a), float(b), c.numpy(), float(e)) == (1.0, 2.0, "hé".encode(), 3.5)
        assert d.numpy().tolist() == [1, 2]

    def test_a_spec_gives_the_shape(self, mode: Any) -> None:
        def f(x: tf.Tensor, n: int) -> tf.Tensor:
            y = tf.py_function(lambda a: a[:2], [x], tf.TensorSpec([n], tf.float32))
            assert y.shape == [n]
            return y

        assert mode(f)(x(), 2).shape == [2]
        with pytest.raises(Invalid, match=r"has shape \(2,\), but expects \(3,\)"):
            mode(f)(x(), 3)

    def test_arrays(self, mode: Any) -> None:
        seen: list[Any] = []

        def body(*arrays: Any) -> Any:
            seen.extend(type(a) for a in arrays)
            arrays[0][:] = 7.0  # the caller's own copy
            return arrays[0], "abc", 1.5

        def f(x: tf.Tensor) -> Any:
            given = [x, 1.0, "s", ["s"]]
            return tf.numpy_function(body, given, [tf.float32, tf.string, tf.float32])

        given = x()
        a, b, c = mode(f)(given)
        assert (a.numpy().tolist(), b.numpy(), float(c)) == ([7.0, 7.0], b"abc", 1.5)
        assert seen == [np.ndarray, np.float32, bytes, np.ndarray]
        assert given.numpy().tolist() == X

    def test_variables(self, mode: Any) -> None:
        v, count = tf.Variable(3.0), tf.Variable(0)

        def body(a: tf.Tensor) -> tf.Tensor:
            assert isinstance(a, tf.Tensor)
            count.assign_add(1)
            return a * v

        f = mode(lambda: tf.py_function(body, [v], tf.float32))
        assert [float(f()), float(f()), int(count)] == [9.0, 9.0, 2]


def raising(error: BaseException) -> Callable[..., Any]:
    def bad(*_: Any) -> Any:
        raise error

    return bad


ERRORS: list[tuple[BaseException, type[BaseException]]] = [
    (ValueError("boom"), Invalid),
    (TypeError("boom"), Invalid),
    (StopIteration("boom"), tf.errors.OutOfRangeError),
    (MemoryError("boom"), tf.errors.ResourceExhaustedError),
    (NotImplementedError("boom"), tf.errors.UnimplementedError),
    (KeyError("boom"), tf.errors.UnknownError),
    (ZeroDivisionError("boom"), tf.errors.UnknownError),
    (tf.errors.NotFoundError(None, None, "boom"), tf.errors.NotFoundError),
    (KeyboardInterrupt("boom"), KeyboardInterrupt),
]


@both
@pytest.mark.parametrize(("error", "kind"), ERRORS, ids=[type(e).__name__ for e, _ in ERRORS])
def test_exceptions(mode: Any, error: BaseException, kind: type[BaseException]) -> None:
    v = tf.Variable(0.0)

    def f(x: tf.Tensor) -> tf.Tensor:
        v.assign_add(0.0 if tf.executing_eagerly() else 1.0)
        return tf.py_function(raising(error), [x], tf.float32)

    with pytest.raises(kind, match="boom") as caught:
        mode(f)(x())
    assert float(v) == 0.0
    if caught.value is not error:
        assert caught.value.__cause__ is error
        assert f"{type(error).__name__}: " in str(caught.value)
        assert "[py_function bad: test_py_function.py:" in str(caught.value)


def test_numpy_functions_get_what_no_tensor_holds_outside_of_graphs() -> None:
    seen: list[Any] = []

    def body(*arrays: Any) -> Any:
        seen.extend(arrays)
        return arrays[0] * 2

    assert float(tf.numpy_function(body, [tf.constant(3.0), None, {"a": 1}], tf.float32)) == 6.0
    assert [a.dtype.kind for a in seen] == ["f", "O", "O"]
    assert seen[1].shape == () and seen[1].item() is None
    assert seen[2].item() == {"a": 1}
    with pytest.raises(TypeError, match="None"):
        tf.function(lambda: tf.numpy_function(body, [1.0, None], tf.float32))()


def test_exceptions_of_numpy_functions() -> None:
    error = KeyError("boom")

    def f() -> tf.Tensor:
        return tf.numpy_function(raising(error), [], tf.float32)

    with pytest.raises(KeyError) as caught:
        f()
    assert caught.value is error
    with pytest.raises(tf.errors.UnknownError, match="KeyError: 'boom'"):
        tf.function(f)()


WRONG: list[tuple[Any, Any, str]] = [
    (lambda: None, tf.float32, "returns 0 values, but expects to see 1 values"),
    (lambda: [1.0, 2.0], tf.float32, "<lambda> returns 2 values, but expects to see 1"),
    (lambda: [1.0], [tf.float32] * 2, "returns 1 values, but expects to see 2"),
    (
        lambda: tf.constant(1),
        tf.float32,
        "0-th value returned by <lambda> is int32, but expects fl",
    ),
    (lambda: (1, 1.5), [tf.int32] * 2, "1-th value returned by <lambda> is float, but expects int"),
]


@both
@pytest.mark.parametrize(("func", "tout", "message"), WRONG, ids=range(len(WRONG)))
def test_wrong_results(mode: Any, func: Any, tout: Any, message: str) -> None:
    for call in (tf.py_function, tf.numpy_function):
        with pytest.raises(Invalid, match=message):
            mode(lambda call=call: call(func, [], tout))()


@both
def test_arrays_are_not_cast(mode: Any) -> None:
    with pytest.raises(Invalid, match="is float64, but expects float32"):
        mode(lambda: tf.numpy_function(lambda: np.zeros(2), [], tf.float32))()


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"Expected func to be callable. Received func=3"):
        tf.py_function(3, [], tf.float32)
    with pytest.raises(TypeError, match="dtype"):
        tf.py_function(lambda: 1, [], {"a": tf.float32})


class Counted:
    """The cube, and how often it was computed."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, a: tf.Tensor) -> tf.Tensor:
        self.calls += 1
        return a * a * a


def slope(f: Any, x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


class TestGradients:
    def test_every_way_calls_python_once(self) -> None:
        cube = Counted()

        def f(x: tf.Tensor) -> tf.Tensor:
            return tf.py_function(cube, [x], tf.float32) * 2.0

        traced = tf.function(f)
        nested = tf.function(lambda x: traced(x) + 1.0)
        ways = [
            lambda: slope(f, x()),
            lambda: slope(traced, x()),
            lambda: slope(nested, x()),
            tf.function(lambda: slope(f, x())),
            tf.function(lambda: slope(nested, x())),
        ]
        for way in ways:
            for _ in range(2):
                before = cube.calls
                assert way().numpy().tolist() == [6.0, 24.0]
                assert cube.calls == before + 1

    @both
    def test_second_order(self, mode: Any) -> None:
        f = mode(lambda x: tf.py_function(lambda a: a * a * a, [x], tf.float32))
        g = mode(lambda x: slope(f, x))
        assert slope(g, x()).numpy().tolist() == [6.0, 12.0]

    @both
    def test_several_inputs_and_outputs(self, mode: Any) -> None:
        v, outer = tf.Variable(3.0), tf.Variable(2.0)

        def f(x: tf.Tensor, n: tf.Tensor) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                a, b, c = tf.py_function(
                    lambda x, v, n: (x * v, n, x * outer),
                    [x, v, n],
                    [tf.float32, tf.int32, "float32"],
                )
                y = tf.reduce_sum(a) + tf.reduce_sum(c) * 10.0
            return [*tape.gradient(y, [x, v, outer], unconnected_gradients="zero"), b]

        dx, dv, douter, n = mode(f)(x(), tf.constant(4))
        assert (dx.numpy().tolist(), float(dv), float(douter), int(n)) == (
            [23.0, 23.0],
            3.0,
            0.0,
            4,
        )

    @both
    def test_what_a_result_does_not_depend_on(self, mode: Any) -> None:
        f = mode(lambda x: tf.py_function(lambda a: [a, tf.ones(2)], [x], ["float32"] * 2)[1])
        assert slope(f, x()).numpy().tolist() == [0.0, 0.0]
        same = mode(lambda x: tf.py_function(lambda a: a, [x], tf.float32) * 2.0)
        assert slope(same, x()).numpy().tolist() == [2.0, 2.0]

    @both
    def test_arrays_have_none(self, mode: Any) -> None:
        f = mode(lambda x: tf.numpy_function(lambda a: a * 2, [x], tf.float32))
        assert slope(f, x()) is None

    def test_a_tape_that_is_gone_is_made_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_KEPT", 1)
        cube = Counted()
        traced = tf.function(lambda x: tf.py_function(cube, [x], tf.float32))
        given = x()
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(given)
            first, second = traced(given), traced(given + 1.0)
        assert tape.gradient(second, given).numpy().tolist() == [12.0, 27.0]
        assert cube.calls == 2
        assert tape.gradient(first, given).numpy().tolist() == [3.0, 12.0]
        assert tape.gradient(second, given).numpy().tolist() == [12.0, 27.0]
        assert cube.calls == 4


def test_shapes_beyond_the_call() -> None:
    """The rank is unknown while tracing, so what follows must not rely on it."""

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        y = tf.py_function(lambda a: a[None], [x], tf.float32)
        assert y.shape.rank is None
        y.set_shape([1, 2])
        return tf.matmul(y, y, transpose_b=True)

    assert f(x()).numpy().tolist() == [[5.0]]


def test_unused_numpy_functions_without_state() -> None:
    seen: list[int] = []

    def note(number: int) -> Any:
        return lambda: seen.append(number) or 1.0

    @tf.function
    def f() -> None:
        tf.numpy_function(note(1), [], tf.float32)
        tf.numpy_function(note(2), [], tf.float32, stateful=False)

    f()
    f()
    assert seen == [1, 1]


def test_functions_inside() -> None:
    double = tf.function(lambda x: x * 2.0)
    f = tf.function(lambda x: tf.py_function(lambda a: double(a) + 1.0, [x], tf.float32))
    assert f(x()).numpy().tolist() == [3.0, 5.0]


def test_decorators() -> None:
    @tf.py_function(Tout=tf.float32)
    def log_or_square(x: tf.Tensor, m: Any = 2.0) -> tf.Tensor:
        return x**2 if float(x) <= float(m) else tf.math.log(x)

    @tf.numpy_function(Tout=tf.float32)
    def sinh(x: Any) -> Any:
        return np.sinh(x)

    value = tf.constant(1.5)
    with tf.GradientTape() as tape:
        tape.watch(value)
        y = log_or_square(value)
    assert float(y) == 2.25
    assert float(tape.gradient(y, value)) == 3.0
    assert log_or_square.__name__ == "log_or_square"
    np.testing.assert_allclose(log_or_square(value, m=1.0), np.log(1.5), rtol=1e-6)
    np.testing.assert_allclose(tf.function(lambda x: sinh(x))(value), np.sinh(1.5), rtol=1e-6)


def test_ragged_and_sparse_tensors() -> None:
    ragged = tf.ragged.constant([[3.0, 1.0], [], [5.0]])
    sparse = tf.SparseTensor([[0, 1]], [2.0], [1, 2])
    spec = tf.RaggedTensorSpec([None, None], tf.float32)

    def longer(rows: Any, factor: Any) -> Any:
        assert isinstance(rows, tf.RaggedTensor)
        assert isinstance(rows.flat_values.numpy(), np.ndarray)
        return tf.concat([rows, rows * factor], 1)

    def both(rows: Any, cells: Any) -> Any:
        assert isinstance(cells, tf.SparseTensor)
        return [tf.reduce_sum(rows, 1), tf.sparse.map_values(tf.square, cells), rows.nrows()]

    kinds = [tf.float32, tf.SparseTensorSpec([None, 2], tf.float32), tf.int64]
    for run in (lambda f: f, tf.function):
        found = run(lambda x: tf.py_function(longer, [x, 2.0], spec))(ragged)
        assert found.to_list() == [[3.0, 1.0, 6.0, 2.0], [], [5.0, 10.0]]
        sums, cells, count = run(lambda x, y: tf.py_function(both, [x, y], kinds))(ragged, sparse)
        assert sums.numpy().tolist() == [4.0, 0.0, 5.0]
        assert tf.sparse.to_dense(cells).numpy().tolist() == [[0.0, 4.0]]
        assert int(count) == 3
    values = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        rows = tf.RaggedTensor.from_row_splits(values, [0, 2, 3])
        y = tf.reduce_sum(tf.py_function(lambda r: r * r, [rows], spec))
    assert tape.gradient(y, values).numpy().tolist() == [2.0, 4.0, 6.0]
