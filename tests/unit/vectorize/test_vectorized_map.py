"""``vectorized_map``: the function of each element, stacked; structures, captures, restrictions."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import errors


def test_structures_go_in_and_out() -> None:
    elems = {"a": tf.constant([[1.0, 2.0], [3.0, 4.0]]), "b": (tf.constant([10, 20]),)}
    found = tf.vectorized_map(lambda e: (e["a"] * 2.0, {"n": e["b"][0] + 1, "none": None}), elems)
    np.testing.assert_array_equal(found[0], [[2, 4], [6, 8]])
    np.testing.assert_array_equal(found[1]["n"], [11, 21])
    assert found[1]["none"] is None
    assert found[1]["n"].dtype is tf.int32


def test_results_that_do_not_depend_on_the_element_are_repeated() -> None:
    v = tf.Variable([1.0, 2.0])
    found = tf.vectorized_map(lambda x: (3.0, tf.constant([1, 2]), v, 2 * v), tf.zeros([3]))
    np.testing.assert_array_equal(found[0], [3, 3, 3])
    np.testing.assert_array_equal(found[1], [[1, 2]] * 3)
    np.testing.assert_array_equal(found[2], [[1, 2]] * 3)
    np.testing.assert_array_equal(found[3], [[2, 4]] * 3)


def test_a_single_element_is_used_for_all() -> None:
    one, three = tf.constant([[10.0]]), tf.constant([[1.0], [2.0], [3.0]])
    found = tf.vectorized_map(lambda e: e[0] + e[1], (one, three))
    np.testing.assert_array_equal(found, [[11], [12], [13]])
    np.testing.assert_array_equal(tf.vectorized_map(lambda e: e[0], (one, three)), [[10]] * 3)
    traced = tf.function(
        lambda a, b: tf.vectorized_map(lambda e: e[0] * e[1], (a, b)),
        input_signature=[tf.TensorSpec([None, 1]), tf.TensorSpec([None, 1])],
    )
    np.testing.assert_array_equal(traced(one, three), [[10], [20], [30]])
    np.testing.assert_array_equal(traced(three, one), [[10], [20], [30]])
    with pytest.raises(errors.InvalidArgumentError):
        traced(three, three[:2])


def test_no_elements() -> None:
    def f(x: Any) -> Any:
        return tf.cond(
            x[0] > 0, lambda: tf.matmul(x[None], tf.ones([3, 2])), lambda: tf.ones([1, 2])
        )

    assert tf.vectorized_map(f, tf.zeros([0, 3])).shape == (0, 1, 2)
    assert tf.vectorized_map(lambda x: tf.linalg.matvec(tf.eye(3), x), tf.zeros([0, 3])).shape == (
        0,
        3,
    )


@pytest.mark.parametrize(
    ("elems", "error"),
    [
        ([], ValueError),
        (None, ValueError),
        (tf.constant(1.0), ValueError),
        ([1.0, 2.0], ValueError),
        ((tf.zeros([2]), tf.zeros([3])), errors.InvalidArgumentError),
    ],
    ids=["nothing", "none", "scalar", "numbers", "lengths"],
)
def test_elems_that_have_no_elements_are_refused(elems: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        tf.vectorized_map(lambda x: x, elems)


def test_fn_must_be_callable_and_return_tensors() -> None:
    with pytest.raises(TypeError, match="callable"):
        tf.vectorized_map(3, tf.zeros([2]))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stack"):
        tf.vectorized_map(lambda x: tf.TensorArray(tf.float32, 1), tf.zeros([2]))


def test_a_missing_rule_is_a_loop_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Any) -> Any:
        return tf.unique(x)[1] + tf.unique(x + 1.0)[1] + tf.cast(x, tf.int32)

    x = tf.constant([[1.0, 2.0, 1.0], [5.0, 5.0, 4.0]])
    with caplog.at_level(logging.WARNING, "tfx"):
        found = tf.vectorized_map(f, x)
    np.testing.assert_array_equal(found, [[1, 4, 1], [5, 5, 6]])
    told = [r.getMessage() for r in caplog.records if "while_loop" in r.getMessage()]
    assert len(told) == 1
    assert "Unique" in told[0]
    assert "test_vectorized_map.py" in told[0]
    caplog.clear()
    tf.vectorized_map(f, x, warn=False)
    assert not caplog.records
    with pytest.raises(
        ValueError, match=r"No pfor vectorization defined for Unique.*test_vectorized_map"
    ):
        tf.vectorized_map(f, x, fallback_to_while_loop=False)
    np.testing.assert_array_equal(
        tf.function(lambda x: tf.vectorized_map(f, x, warn=False))(x), [[1, 4, 1], [5, 5, 6]]
    )


def test_operations_between_loops_are_not_in_them() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.vectorized_map(
            lambda r: tf.sin(tf.cast(tf.unique(r)[1], tf.float32)), x, warn=False
        )

    graph = f.get_concrete_function(tf.zeros([4, 3])).graph
    assert [op.type for op in graph.get_operations()].count("Sin") == 1


def test_random_numbers_differ_between_elements() -> None:
    def draws(x: Any) -> Any:
        return {
            "uniform": tf.random.uniform([5]),
            "normal": tf.random.normal([5], mean=x),
            "seeded": tf.random.uniform([5], seed=3),
            "integers": tf.random.uniform([5], 0, 1000000, tf.int32),
            "bounds": tf.random.uniform([5], tf.cast(x, tf.int32), 1000000, tf.int32),
            "shuffled": tf.random.shuffle(tf.range(40)),
            "dropout": tf.nn.dropout(tf.ones([40]), 0.5),
            "generator": generator.normal([5]),
        }

    generator = tf.random.Generator.from_seed(7)
    x = tf.zeros([3])
    tf.random.set_seed(None)
    for run in (tf.vectorized_map, tf.function(tf.vectorized_map)):
        first, second = run(draws, x), run(draws, x)
        if run is tf.vectorized_map:  # a function of its own each time, which begins anew
            assert np.array_equal(first.pop("seeded"), second["seeded"])
        for name, y in first.items():
            rows = {tuple(row) for z in (y, second[name]) for row in z.numpy().tolist()}
            assert len(rows) == 6, name
    assert np.array_equal(np.sort(first["shuffled"].numpy(), 1), [list(range(40))] * 3)


def test_stateless_numbers_are_those_of_their_seed() -> None:
    seeds = tf.constant([[1, 2], [3, 4], [1, 2]])
    found = tf.vectorized_map(lambda s: tf.random.stateless_normal([2], s), seeds, warn=False)
    alone = [tf.random.stateless_normal([2], s).numpy() for s in tf.unstack(seeds)]
    np.testing.assert_allclose(found.numpy(), np.stack(alone), rtol=1e-6)
    same = tf.vectorized_map(lambda x: tf.random.stateless_uniform([2], [1, 2]), tf.zeros([3]))
    assert np.array_equal(same[0], same[1])


def test_variables_may_be_assigned_what_is_the_same_for_all() -> None:
    v = tf.Variable(1.0)

    def f(x: Any) -> Any:
        v.assign(v + 2.0)
        return x * v

    np.testing.assert_array_equal(tf.vectorized_map(f, tf.constant([1.0, 2.0])), [3, 6])
    assert float(v) == 3.0
    np.testing.assert_array_equal(
        tf.function(lambda x: tf.vectorized_map(f, x))(tf.constant([1.0, 2.0])), [5, 10]
    )
    assert float(v) == 5.0


def test_variables_cannot_be_assigned_what_differs() -> None:
    v = tf.Variable(1.0)
    x = tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match="differs between the elements"):
        tf.vectorized_map(lambda r: v.assign_add(r), x)

    def in_branch(r: Any) -> Any:
        return tf.cond(r > 1.0, lambda: v.assign(5.0) * 1.0, lambda: r)

    with pytest.raises(ValueError, match="only some elements"):
        tf.vectorized_map(in_branch, x)
    assert float(v) == 1.0
    with pytest.raises(ValueError, match="created on the first call"):
        tf.vectorized_map(lambda r: tf.Variable(2.0) * r, x)


def test_python_in_the_function_sees_one_element_after_another(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    import sys

    def f(x: Any) -> Any:
        tf.print(x, output_stream=sys.stdout)
        tf.debugging.assert_less(x, 9.0)
        return tf.py_function(lambda a: a * 2, [x], tf.float32)

    np.testing.assert_array_equal(tf.vectorized_map(f, tf.constant([1.0, 2.0])), [2, 4])
    assert capsys.readouterr().out.split() == ["1", "2"]
    assert "py_function" in caplog.text
    with pytest.raises(errors.InvalidArgumentError, match="assert"):
        tf.vectorized_map(f, tf.constant([1.0, 10.0]), warn=False)


def test_in_converted_code_python_branches_work() -> None:
    @tf.function
    def f(x: Any) -> Any:
        def one(r: Any) -> Any:
            if r > 0:
                y = tf.sqrt(r)
            else:
                y = -r
                y += 0.0
            while y > 1.0:
                y /= 2.0
            return y

        return tf.vectorized_map(one, x)

    np.testing.assert_allclose(f(tf.constant([4.0, -3.0, 0.25])), [1.0, 0.75, 0.5])
    with pytest.raises(errors.OperatorNotAllowedInGraphError):
        tf.vectorized_map(lambda r: r if r > 0 else -r, tf.constant([1.0, -1.0]))


def test_a_saved_function_holds_the_vectorized_graph(tmp_path: Any) -> None:
    module = tf.Module()
    module.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    module.f = tf.function(
        lambda x: tf.vectorized_map(lambda r: tf.linalg.matvec(module.w, r), x),
        input_signature=[tf.TensorSpec([None, 2])],
    )
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.f)
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.f(tf.eye(2)), [[1, 3], [2, 4]])


def test_ranks_may_be_known_at_run_time_only() -> None:
    unknown = tf.TensorSpec(None)

    @tf.function(input_signature=[unknown, unknown])
    def add(a: Any, b: Any) -> Any:
        return tf.where(a > b, a, b) + a

    a = tf.constant([[1.0, 5.0], [2.0, 3.0]])
    b = tf.reshape(tf.range(8.0), [2, 2, 2])
    run = lambda e: add(e[0], e[1])  # noqa: E731
    alone = np.stack([run((a[i], b[i])).numpy() for i in range(2)])
    np.testing.assert_array_equal(tf.vectorized_map(run, (a, b)), alone)
    np.testing.assert_array_equal(
        tf.vectorized_map(run, (a[:1], b)), [run((a[0], b[i])).numpy() for i in range(2)]
    )


def test_slices_of_given_size_need_no_loop() -> None:
    x = tf.reshape(tf.range(24.0), [4, 6])
    at = tf.constant([0, 3, 1, 4])
    run = tf.function(
        lambda x, at: tf.vectorized_map(
            lambda e: tf.slice(e[0], [e[1]], [2]), (x, at), fallback_to_while_loop=False
        )
    )
    np.testing.assert_array_equal(run(x, at), [[0, 1], [9, 10], [13, 14], [22, 23]])
    shared = tf.vectorized_map(
        lambda i: tf.slice(x, [i, 1], [1, 2]), at % 3, fallback_to_while_loop=False
    )
    np.testing.assert_array_equal(shared[:, 0], [[1, 2], [1, 2], [7, 8], [7, 8]])
