"""Matrices whose size, and tensors whose rank, only a run tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.testing import assert_close

SHAPES = [(3, 3), (5, 3), (3, 5), (2, 4, 3), (2, 1, 3, 4)]


def _open(function: Callable[..., Any], *arrays: Any, rank: bool = False) -> Any:
    """A function traced for tensors of unknown sizes, or of an unknown rank."""
    shapes = [None if rank else [None] * a.ndim for a in arrays]
    specs = [tf.TensorSpec(s, a.dtype) for s, a in zip(shapes, arrays, strict=True)]
    return tf.function(function, input_signature=specs)


def _with_gradients(function: Callable[..., Any], *arrays: Any) -> Any:
    tensors = [tf.constant(a) for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        found = function(*tensors)
        loss = tf.add_n([tf.reduce_sum(tf.sin(y)) for y in tf.nest.flatten(found)])
    return found, tape.gradient(loss, tensors)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_svd_of_unknown_sizes(shape: Any, full: bool, rng: Any) -> None:
    a = rng.standard_normal(shape)
    s, u, v = _open(lambda x: tf.linalg.svd(x, full_matrices=full), a)(a)
    assert_close(s, np.linalg.svd(a, compute_uv=False))
    size = shape[-1] if full else min(shape[-2:])
    k = s.shape[-1]
    assert v.shape[-1] == size and u.shape[-1] == (shape[-2] if full else size)
    for x in (u.numpy(), v.numpy()):
        assert_close(
            np.swapaxes(x, -1, -2) @ x,
            np.broadcast_to(np.eye(x.shape[-1]), x.shape[:-2] + (x.shape[-1],) * 2),
        )
    assert_close(
        (u.numpy()[..., :k] * s.numpy()[..., None, :]) @ np.swapaxes(v.numpy()[..., :k], -1, -2), a
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_singular_values_of_unknown_sizes(shape: Any, rng: Any) -> None:
    a = rng.standard_normal(shape)

    def values(x: Any) -> Any:
        return tf.linalg.svd(x, compute_uv=False)

    def filtered(x: Any) -> Any:
        s, u, v = tf.linalg.svd(x)
        return tf.matmul(u * s[..., None, :] ** 2, v, transpose_b=True)

    for function in (values, filtered):
        assert_close(_with_gradients(_open(function, a), a), _with_gradients(function, a))


def test_singular_matrices_of_unknown_size_have_orthonormal_vectors() -> None:
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    for x in (a, a.T):
        s, u, v = _open(tf.linalg.svd, x)(x)
        assert_close(s, [np.sqrt(70.0), 0.0])
        for each in (u.numpy(), v.numpy()):
            assert_close(each.T @ each, np.eye(2))


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_least_squares_and_inverses_of_unknown_sizes(shape: Any, fast: bool, rng: Any) -> None:
    a, b = rng.standard_normal(shape), rng.standard_normal((*shape[:-1], 2))

    def solved(x: Any, y: Any) -> Any:
        return tf.linalg.lstsq(x, y, fast=fast)

    assert_close(_with_gradients(_open(solved, a, b), a, b), _with_gradients(solved, a, b))
    assert_close(_open(tf.linalg.pinv, a)(a), np.linalg.pinv(a))
    assert_close(_open(tf.linalg.matrix_rank, a)(a), np.linalg.matrix_rank(a))


OF_ANY_RANK: dict[str, Callable[..., Any]] = {
    "cholesky": tf.linalg.cholesky,
    "cholesky_solve": lambda a: tf.linalg.cholesky_solve(tf.linalg.cholesky(a), a[..., :1]),
    "triangular_solve": lambda a: tf.linalg.triangular_solve(a, a, adjoint=True),
    "solve": lambda a: tf.linalg.solve(a, a[..., :1]),
    "inv": tf.linalg.inv,
    "det": tf.linalg.det,
    "logdet": tf.linalg.logdet,
    "slogdet": lambda a: tf.linalg.slogdet(a).log_abs_determinant,
    "eigvalsh": tf.linalg.eigvalsh,
    "svd": lambda a: tf.linalg.svd(a, compute_uv=False),
    "qr": lambda a: tf.abs(tf.linalg.qr(a).r),
    "lu": lambda a: tf.linalg.lu(a).lu,
    "expm": lambda a: tf.linalg.expm(a * 0.1),
    "sqrtm": tf.linalg.sqrtm,
    "pinv": tf.linalg.pinv,
    "lstsq": lambda a: tf.linalg.lstsq(a, a[..., :1]),
    "diag": lambda a: tf.linalg.diag(a, k=1),
    "diag_part": lambda a: tf.linalg.diag_part(a, k=(-1, 1)),
    "set_diag": lambda a: tf.linalg.set_diag(a, a[..., 0]),
    "band_part": lambda a: tf.linalg.band_part(a, 0, 1),
    "trace": tf.linalg.trace,
    "cross": lambda a: tf.linalg.cross(a, a * a),
    "tensordot": lambda a: tf.tensordot(a, a, [[-1], [-2]]),
    "tensordot of a number": lambda a: tf.tensordot(a, tf.ones([3, 2], a.dtype), 1),
    "segment_sum": lambda a: tf.math.segment_sum(a, [0, 2]),
    "unsorted_segment_max": lambda a: tf.math.unsorted_segment_max(a, [1, 0], 3),
    "unsorted_segment_mean": lambda a: tf.math.unsorted_segment_mean(a, [1, 1], 3),
}


@pytest.mark.parametrize("shape", [(2, 3, 3), (2, 1, 3, 3)])
@pytest.mark.parametrize("name", OF_ANY_RANK)
def test_operations_of_unknown_rank(name: str, shape: Any, rng: Any) -> None:
    a = rng.standard_normal(shape)
    a = a @ np.swapaxes(a, -1, -2) + 3.0 * np.eye(3)
    function = OF_ANY_RANK[name]
    assert_close(_with_gradients(_open(function, a, rank=True), a), _with_gradients(function, a))


def test_batches_of_unknown_rank_broadcast(rng: Any) -> None:
    a, b = np.tril(rng.standard_normal((3, 3))) + 3 * np.eye(3), rng.standard_normal((2, 4, 3, 1))
    expected = np.linalg.solve(np.broadcast_to(a, (2, 4, 3, 3)), b)
    assert_close(_open(tf.linalg.triangular_solve, a, b, rank=True)(a, b), expected)


def test_a_rank_that_another_argument_tells() -> None:
    def run(x: Any) -> Any:
        found = tf.tile(x, [2, 1]), tf.pad(x, [[1, 1], [0, 0]], mode="REFLECT")
        return (*found, tf.transpose(x, [1, 0]), tf.reduce_sum(x))

    x = np.arange(6.0).reshape(3, 2)
    traced = _open(run, x, rank=True)
    assert_close(_with_gradients(traced, x), _with_gradients(run, x))
    shapes = [y.shape.rank for y in traced.get_concrete_function().structured_outputs]
    assert shapes == [2, 2, 2, 0]


def test_images_of_unknown_rank() -> None:
    def run(x: Any) -> Any:
        return tf.image.flip_left_right(x), tf.image.flip_up_down(x), tf.image.rot90(x)

    image = np.arange(12.0).reshape(2, 3, 2)
    for x in (image, np.stack([image, image + 1.0])):
        assert_close(_open(run, x, rank=True)(x), run(x))
    padded = _open(lambda x: tf.image.resize_with_crop_or_pad(x, 4, 4), image, rank=True)
    assert_close(padded(image), tf.image.resize_with_crop_or_pad(image, 4, 4))
    assert padded.get_concrete_function().structured_outputs.shape.as_list() == [4, 4, None]


@pytest.mark.parametrize("solve", [tf.linalg.solve, tf.linalg.triangular_solve])
def test_rows_that_do_not_agree_are_refused_in_a_run(solve: Any) -> None:
    late = tf.function(solve, input_signature=[tf.TensorSpec([None, None])] * 2)
    assert late([[2.0]], [[4.0]]).numpy().tolist() == [[2]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        late(tf.eye(2), tf.ones([3, 1]))
