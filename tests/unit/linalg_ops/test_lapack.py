"""Decompositions by LAPACK: eagerly and in plans, with the results of the loops that are saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.function.execution.stepped_plan import HostStep, SteppedPlan
from tfx.linalg_ops import jacobi_rotations, lu, qr, solve, triangular
from tfx.ops.common.traced_once import Composite

SIZE = 11


@pytest.fixture
def a(rng: np.random.Generator) -> Any:
    return rng.standard_normal((2, SIZE, SIZE))


def _symmetric(a: Any) -> Any:
    return a @ np.swapaxes(a, 1, 2) + np.eye(SIZE)


def _up_to_signs(found: Any) -> list[Any]:
    return [np.abs(x.numpy()) for x in found]


@pytest.mark.parametrize(
    ("composite", "make", "options"),
    [
        (jacobi_rotations.symmetric, lambda a: [_symmetric(a)], {}),
        (jacobi_rotations.singular, lambda a: [a[:, :, :7]], {}),
        (qr._reflection, lambda a: [a[:, :, :7]], {"full": True}),
        (qr._reflection, lambda a: [a[:, :7]], {"full": False}),
        (triangular._factoring, lambda a: [_symmetric(a)], {}),
        (triangular._substitution, lambda a: [_symmetric(a), a], {"lower": True}),
        (triangular._substitution, lambda a: [_symmetric(a), a], {"lower": False}),
        (solve._eliminated, lambda a: [a, a[:, :, :3]], {}),
        (lu._elimination, lambda a: [a], {}),
    ],
)
@pytest.mark.parametrize("repeats", [1, 4], ids=["small", "blocks"])
def test_a_routine_gives_what_the_loop_gives(
    a: Any,
    composite: Composite,
    make: Callable[[Any], list[Any]],
    options: dict[str, Any],
    repeats: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = np.concatenate([np.roll(a, i, axis=1) * (1 + i) for i in range(repeats)], axis=1)
    a = np.concatenate([a + i * np.eye(len(a[0]), SIZE) for i in range(repeats)], axis=2)
    size = a.shape[1]
    a = a + np.arange(size) / size * np.eye(size)
    monkeypatch.setitem(globals(), "SIZE", size)
    given = [tf.constant(x) for x in make(a)]
    routine = composite._routine
    assert routine is not None
    assert routine(*[x.numpy() for x in given], **options) is not None
    by_routine = _up_to_signs(composite(*given, **options))
    monkeypatch.setattr(composite, "_routine", None)
    by_loop = _up_to_signs(composite(*given, **options))
    for found, expected in zip(by_routine, by_loop, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def _host_steps(function: Any) -> list[str]:
    plan = function.concrete_functions[0]._program.plan
    steps = plan.steps if isinstance(plan, SteppedPlan) else []
    return [s.call.kind for s in steps if isinstance(s, HostStep)]


@pytest.mark.parametrize("shape", [(SIZE, SIZE), (None, None)], ids=["known", "open"])
def test_a_plan_has_a_step_for_it(a: Any, shape: Any) -> None:
    inner = tf.function(lambda x: tf.linalg.eigvalsh(x) * 2.0)
    outer = tf.function(
        lambda x: tf.reduce_sum(tf.sqrt(inner(x))),
        input_signature=[tf.TensorSpec(shape, tf.float64)],
        jit_compile=False,  # our kernels have a routine for small ones
    )
    m = _symmetric(a)[0]
    expected = np.sqrt(2.0 * np.linalg.eigvalsh(m)).sum()
    np.testing.assert_allclose(outer(m), expected, rtol=1e-12)
    assert _host_steps(outer) == ["eigh"]


def test_small_matrices_and_those_in_loops_stay_in_the_graph(a: Any) -> None:
    m = _symmetric(a)
    small = tf.function(lambda x: tf.linalg.cholesky(x))
    np.testing.assert_allclose(small(m[0, :3, :3]), np.linalg.cholesky(m[0, :3, :3]))
    assert _host_steps(small) == []
    looped = tf.function(lambda x: tf.map_fn(tf.linalg.cholesky, x))
    np.testing.assert_allclose(looped(m), np.linalg.cholesky(m), rtol=1e-9)
    assert _host_steps(looped) == []


def test_gradients_of_functions_are_those_of_eager_code(a: Any) -> None:
    m = tf.constant(_symmetric(a))

    def loss(x: tf.Tensor) -> tf.Tensor:
        e, v = tf.linalg.eigh(x)
        lower = tf.linalg.cholesky(x)
        return (
            tf.reduce_sum(e[:, ::2] * v[:, 0, ::2] ** 2) + tf.linalg.logdet(x)[0] + lower[1, 4, 2]
        )

    def slope(f: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(m)
            y = f(m)
        return tape.gradient(y, m)

    np.testing.assert_allclose(slope(tf.function(loss)), slope(loss), rtol=1e-8, atol=1e-12)


def test_what_is_saved_has_the_loop(a: Any, tmp_path: Path) -> None:
    module = tf.Module()
    spec = tf.TensorSpec([None, SIZE, SIZE], tf.float64, name="x")
    module.f = tf.function(lambda x: {"e": tf.linalg.eigvalsh(x)}, input_signature=[spec])
    tf.saved_model.save(module, tmp_path / "m")
    found = tf.saved_model.load(tmp_path / "m").f(_symmetric(a))["e"]
    np.testing.assert_allclose(found, np.linalg.eigvalsh(_symmetric(a)), rtol=1e-12)


def test_a_matrix_without_factor_does_not_spoil_its_batch(a: Any) -> None:
    m = _symmetric(a)
    m[1] = -m[1]
    found = tf.function(tf.linalg.cholesky)(m).numpy()
    np.testing.assert_allclose(found[0], np.linalg.cholesky(m[0]))
    assert np.isnan(found[1]).any()


def test_no_convergence_is_left_to_the_loop(a: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    m = _symmetric(a)
    expected = np.linalg.eigvalsh(m)
    monkeypatch.setattr(np.linalg, "eigh", fail)
    np.testing.assert_allclose(tf.linalg.eigvalsh(m), expected, rtol=1e-12)


def test_no_elements() -> None:
    assert tf.linalg.eigh(tf.zeros([0, 3, 3])).v.shape == [0, 3, 3]
    assert tf.linalg.solve(tf.zeros([2, 3, 3]) + tf.eye(3), tf.zeros([2, 3, 0])).shape == [2, 3, 0]
    assert tf.linalg.qr(tf.zeros([0, 2])).q.shape == [0, 0]


@pytest.mark.parametrize("kind", [tf.float16, tf.bfloat16])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "function"])
def test_systems_of_half_precision_are_solved_in_float32(a: Any, kind: Any, compiled: bool) -> None:
    m = tf.cast(_symmetric(a), kind)
    inverse = tf.function(tf.linalg.inv) if compiled else tf.linalg.inv
    solve = tf.function(tf.linalg.solve) if compiled else tf.linalg.solve
    for found in (inverse(m), solve(m, tf.eye(SIZE, batch_shape=[2], dtype=kind))):
        assert found.dtype == kind
        exact = np.linalg.inv(tf.cast(m, tf.float64).numpy())
        unit = 2.0 ** (-11 if kind is tf.float16 else -8)
        np.testing.assert_allclose(
            tf.cast(found, tf.float64).numpy(), exact, atol=unit * np.abs(exact).max()
        )
