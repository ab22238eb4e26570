"""Operations on complex numbers against NumPy: results, gradients and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.testing import assert_close

_RNG = np.random.default_rng(3)
A = _RNG.normal(size=(2, 4)) + 1j * _RNG.normal(size=(2, 4))
B = _RNG.normal(size=(2, 4)) + 1j * _RNG.normal(size=(2, 4))
PLACES = np.array([[0, 3, 1, 1], [2, 2, 0, 1]])

# The operation, and NumPy's; of A alone, or of A and B.
OPERATIONS: dict[str, tuple[Any, Any]] = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "broadcast": (lambda a, b: a[0] * b + b[:, :1], lambda a, b: a[0] * b + b[:, :1]),
    "sub": (lambda a, b: a - b, lambda a, b: a - b),
    "mul": (lambda a, b: a * b, lambda a, b: a * b),
    "div": (lambda a, b: a / b, lambda a, b: a / b),
    "neg": (lambda a, b: -a, lambda a, b: -a),
    "number": (lambda a, b: 2 * a + (1 - 2j), lambda a, b: 2 * a + (1 - 2j)),
    "power": (lambda a, b: a**b, lambda a, b: a**b),
    "square": (lambda a, b: tf.square(a), lambda a, b: a * a),
    "reciprocal": (lambda a, b: tf.math.reciprocal(a), lambda a, b: 1 / a),
    "reciprocal_no_nan": (lambda a, b: tf.math.reciprocal_no_nan(a), lambda a, b: 1 / a),
    "multiply_no_nan": (lambda a, b: tf.math.multiply_no_nan(a, b), lambda a, b: a * b),
    "xdivy": (lambda a, b: tf.math.xdivy(a, b), lambda a, b: a / b),
    "xlogy": (lambda a, b: tf.math.xlogy(a, b), lambda a, b: a * np.log(b)),
    "xlog1py": (lambda a, b: tf.math.xlog1py(a, b), lambda a, b: a * np.log(1 + b)),
    "variance": (lambda a, b: tf.math.reduce_variance(a, 1), lambda a, b: a.var(1)),
    "std": (lambda a, b: tf.math.reduce_std(a, 0, True), lambda a, b: a.std(0, keepdims=True)),
    "euclidean_norm": (
        lambda a, b: tf.math.reduce_euclidean_norm(a, 1),
        lambda a, b: np.linalg.norm(a, axis=1) + 0j,
    ),
    "rsqrt": (lambda a, b: tf.math.rsqrt(a), lambda a, b: 1 / np.sqrt(a)),
    "abs": (lambda a, b: tf.abs(a), lambda a, b: np.abs(a)),
    "angle": (lambda a, b: tf.math.angle(a), lambda a, b: np.angle(a)),
    "conj": (lambda a, b: tf.math.conj(a), lambda a, b: np.conj(a)),
    "real": (lambda a, b: tf.math.real(a), lambda a, b: np.real(a)),
    "imag": (lambda a, b: tf.math.imag(a), lambda a, b: np.imag(a)),
    "sign": (lambda a, b: tf.sign(a), lambda a, b: a / np.abs(a)),
    "exp": (lambda a, b: tf.exp(a), lambda a, b: np.exp(a)),
    "expm1": (lambda a, b: tf.math.expm1(a), lambda a, b: np.expm1(a)),
    "log": (lambda a, b: tf.math.log(a), lambda a, b: np.log(a)),
    "log1p": (lambda a, b: tf.math.log1p(a), lambda a, b: np.log1p(a)),
    "sqrt": (lambda a, b: tf.sqrt(a), lambda a, b: np.sqrt(a)),
    "sin": (lambda a, b: tf.sin(a), lambda a, b: np.sin(a)),
    "cos": (lambda a, b: tf.cos(a), lambda a, b: np.cos(a)),
    "tan": (lambda a, b: tf.tan(a), lambda a, b: np.tan(a)),
    "sinh": (lambda a, b: tf.sinh(a), lambda a, b: np.sinh(a)),
    "cosh": (lambda a, b: tf.cosh(a), lambda a, b: np.cosh(a)),
    "tanh": (lambda a, b: tf.tanh(a), lambda a, b: np.tanh(a)),
    "asin": (lambda a, b: tf.asin(a), lambda a, b: np.arcsin(a)),
    "acos": (lambda a, b: tf.acos(a), lambda a, b: np.arccos(a)),
    "atan": (lambda a, b: tf.atan(a), lambda a, b: np.arctan(a)),
    "asinh": (lambda a, b: tf.asinh(a), lambda a, b: np.arcsinh(a)),
    "acosh": (lambda a, b: tf.acosh(a), lambda a, b: np.arccosh(a)),
    "atanh": (lambda a, b: tf.atanh(a), lambda a, b: np.arctanh(a)),
    "sigmoid": (lambda a, b: tf.sigmoid(a), lambda a, b: 1 / (1 + np.exp(-a))),
    "difference": (
        lambda a, b: tf.math.squared_difference(a, b),
        lambda a, b: (np.abs(a - b) ** 2).astype(a.dtype),
    ),
    "norm": (lambda a, b: tf.norm(a), lambda a, b: a.dtype.type(np.linalg.norm(a))),
    "norm1": (lambda a, b: tf.norm(a, 1, 1), lambda a, b: np.abs(a).sum(1)),
    "sum": (lambda a, b: tf.reduce_sum(a, -1), lambda a, b: a.sum(-1)),
    "total": (lambda a, b: tf.reduce_sum(a), lambda a, b: a.sum()),
    "mean": (lambda a, b: tf.reduce_mean(a, 0, True), lambda a, b: a.mean(0, keepdims=True)),
    "cumsum": (lambda a, b: tf.cumsum(a, 1), lambda a, b: a.cumsum(1)),
    "add_n": (lambda a, b: tf.add_n([a, b, a]), lambda a, b: a + b + a),
    "matmul": (lambda a, b: tf.matmul(a, b, transpose_b=True), lambda a, b: a @ b.T),
    "adjoint": (lambda a, b: tf.matmul(a, b, adjoint_a=True), lambda a, b: a.conj().T @ b),
    "matvec": (lambda a, b: tf.linalg.matvec(a, b[0]), lambda a, b: a @ b[0]),
    "einsum": (
        lambda a, b: tf.einsum("ij,kj->ik", a, b),
        lambda a, b: np.einsum("ij,kj->ik", a, b),
    ),
    "einsum3": (
        lambda a, b: tf.raw.Einsum(a, b, a, equation="ij,kj,kl->il"),
        lambda a, b: np.einsum("ij,kj,kl->il", a, b, a),
    ),
    "tensordot": (lambda a, b: tf.tensordot(a, b, [[0], [0]]), lambda a, b: a.T @ b),
    "transpose": (lambda a, b: tf.transpose(a, conjugate=True), lambda a, b: a.conj().T),
    "trace": (lambda a, b: tf.linalg.trace(a[:, :2]), lambda a, b: np.trace(a[:, :2])),
    "diag": (lambda a, b: tf.linalg.diag(a[0]), lambda a, b: np.diag(a[0])),
    "reshape": (lambda a, b: tf.reshape(a, [-1, 2]), lambda a, b: a.reshape(-1, 2)),
    "slice": (lambda a, b: a[..., 3:0:-2], lambda a, b: a[..., 3:0:-2]),
    "index": (lambda a, b: a[1, tf.newaxis], lambda a, b: a[1, None]),
    "squeeze": (lambda a, b: tf.squeeze(a[:, :1], -1), lambda a, b: a[:, 0]),
    "gather": (lambda a, b: tf.gather(a, [3, 0], axis=-1), lambda a, b: a[:, [3, 0]]),
    "gather_nd": (lambda a, b: tf.gather_nd(a, [[1, 2], [0, 0]]), lambda a, b: a[[1, 0], [2, 0]]),
    "along": (
        lambda a, b: tf.gather(a, PLACES, batch_dims=1),
        lambda a, b: np.take_along_axis(a, PLACES, 1),
    ),
    "mask": (
        lambda a, b: tf.boolean_mask(a, [True, False, True, True], axis=1),
        lambda a, b: a[:, [0, 2, 3]],
    ),
    "concat": (lambda a, b: tf.concat([a, b], -1), lambda a, b: np.concatenate([a, b], -1)),
    "stack": (lambda a, b: tf.stack([a, b], -1), lambda a, b: np.stack([a, b], -1)),
    "split": (lambda a, b: tf.split(a, [1, 3], -1)[1], lambda a, b: a[:, 1:]),
    "unstack": (lambda a, b: tf.unstack(a, 4, 1)[2], lambda a, b: a[:, 2]),
    "tile": (lambda a, b: tf.tile(a, [2, 1]), lambda a, b: np.tile(a, [2, 1])),
    "repeat": (lambda a, b: tf.repeat(a, 2, 1), lambda a, b: np.repeat(a, 2, 1)),
    "roll": (lambda a, b: tf.roll(a, 1, 1), lambda a, b: np.roll(a, 1, 1)),
    "reverse": (lambda a, b: tf.reverse(a, [1]), lambda a, b: a[:, ::-1]),
    "fftshift": (lambda a, b: tf.signal.fftshift(a, 1), lambda a, b: np.fft.fftshift(a, 1)),
    "pad": (lambda a, b: tf.pad(a, [[0, 1], [2, 0]]), lambda a, b: np.pad(a, [[0, 1], [2, 0]])),
    "filled": (
        lambda a, b: tf.pad(a, [[0, 1], [2, 0]], constant_values=1 - 2j),
        lambda a, b: np.pad(a, [[0, 1], [2, 0]], constant_values=1 - 2j),
    ),
    "mirrored": (
        lambda a, b: tf.pad(a, [[0, 0], [1, 2]], "REFLECT"),
        lambda a, b: np.pad(a, [[0, 0], [1, 2]], "reflect"),
    ),
    "where": (
        lambda a, b: tf.where(tf.math.real(a) > 0, a, b),
        lambda a, b: np.where(a.real > 0, a, b),
    ),
    "broadcast_to": (
        lambda a, b: tf.broadcast_to(a, [3, 2, 4]),
        lambda a, b: np.broadcast_to(a, [3, 2, 4]),
    ),
    "scatter": (
        lambda a, b: tf.tensor_scatter_nd_add(a, [[1], [0], [1]], tf.stack([b[0], b[1], b[0]])),
        lambda a, b: np.stack([a[0] + b[1], a[1] + 2 * b[0]]),
    ),
    "segments": (
        lambda a, b: tf.math.unsorted_segment_sum(tf.transpose(a), [1, 0, 1, 1], 2),
        lambda a, b: np.stack([a[:, 1], a[:, 0] + a[:, 2] + a[:, 3]]),
    ),
    "triangle": (lambda a, b: tf.linalg.band_part(a, 0, -1), lambda a, b: np.triu(a)),
    "cast": (lambda a, b: tf.cast(a, tf.float64), lambda a, b: a.real),
    "from_real": (
        lambda a, b: tf.cast(tf.abs(a), tf.complex128),
        lambda a, b: np.abs(a).astype("complex128"),
    ),
}


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name: str, kind: str) -> None:
    f, reference = OPERATIONS[name]
    a, b = A.astype(kind), B.astype(kind)
    expected = reference(a, b)
    found = f(tf.constant(a), tf.constant(b))
    fixed = name in ("cast", "from_real")
    assert fixed or found.dtype.name == expected.dtype.name
    close = {"rtol": 1e-4, "atol": 1e-5} if kind == "complex64" else {}
    assert_close(found, expected, **close)
    traced = tf.function(f)
    assert_close(traced(a, b), expected, **close)
    spec = tf.TensorSpec([None, None], kind)
    assert_close(tf.function(f, input_signature=[spec, spec])(a, b), expected, **close)


def _seed(shape: Any) -> Any:
    return np.random.default_rng(1).normal(size=shape) + 1j * np.random.default_rng(2).normal(
        size=shape
    )


def _gradients(f: Any, a: Any, b: Any, seed: Any) -> Any:
    """Of the real part of the sum of the results times some numbers."""
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = f(a, b)
        total = tf.reduce_sum(tf.math.real(y * seed))
    return tape.gradient(total, [a, b], unconnected_gradients="zero")


def _differences(reference: Any, a: Any, b: Any) -> Any:
    def total(a: Any, b: Any) -> float:
        y = np.asarray(reference(a, b))
        seed = _seed(y.shape) if np.iscomplexobj(y) else _seed(y.shape).real
        return float(np.sum(np.real(y * seed)))

    found = np.zeros_like(a), np.zeros_like(b)
    for i, given in enumerate((a, b)):
        for place in np.ndindex(*given.shape):
            for unit in (1, 1j):
                d = [np.zeros_like(a), np.zeros_like(b)]
                d[i][place] = 1e-6 * unit
                slope = (total(a + d[0], b + d[1]) - total(a - d[0], b - d[1])) / 2e-6
                found[i][place] += slope * unit
    return found


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients(name: str) -> None:
    f, reference = OPERATIONS[name]
    expected = _differences(reference, A, B)
    y = reference(A, B)
    seed = _seed(np.shape(y)) if np.iscomplexobj(y) else _seed(np.shape(y)).real
    found = _gradients(f, tf.constant(A), tf.constant(B), seed)
    for dy, given in zip(found, expected, strict=True):
        assert_close(dy, given, rtol=1e-5, atol=1e-6)
    traced = tf.function(lambda a, b: _gradients(f, a, b, seed))(A, B)
    for dy, given in zip(traced, found, strict=True):
        assert_close(dy, given)


def test_second_derivatives() -> None:
    def slope(z: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(z)
            y = tf.reduce_sum(tf.abs(tf.exp(z)) ** 2 * tf.math.angle(z * z))
        return tape.gradient(y, z)

    def second(z: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(z)
            y = tf.reduce_sum(tf.math.real(slope(z) * (1 - 2j)))
        return tape.gradient(y, z)

    z = tf.constant(A[0])
    expected = np.zeros(4, complex)
    for place in range(4):
        for unit in (1, 1j):
            d = np.zeros(4, complex)
            d[place] = 1e-6 * unit
            ends = [np.sum(np.real(slope(tf.constant(A[0] + s * d)) * (1 - 2j))) for s in (1, -1)]
            expected[place] += (ends[0] - ends[1]) / 2e-6 * unit
    assert_close(second(z), expected, rtol=1e-5, atol=1e-5)
    assert_close(tf.function(second)(z), expected, rtol=1e-5, atol=1e-5)


def test_edges() -> None:
    """Zeros, infinities and numbers whose squares are too large or too small."""
    large = np.array([3e30 + 4e30j, 3e-30 - 4e-30j, 0, complex(np.inf, 1)], "complex64")
    assert_close(tf.abs(tf.constant(large)), [5e30, 5e-30, 0.0, np.inf], atol=0)
    assert_close(tf.constant(large[:2]) / tf.constant(large[:2]), [1, 1], atol=1e-6)
    assert tf.abs(tf.constant(complex(np.nan, 0))).numpy() != tf.constant(0.0).numpy()
    z = tf.constant([0j, 3 + 4j], tf.complex64)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = tf.abs(z)
    assert_close(tape.gradient(y, z), [0, 0.6 + 0.8j])
    assert_close(tf.sign(z), [0, 0.6 + 0.8j])
    assert_close(tf.sqrt(tf.constant([-4 + 0j, 0, -2j])), [2j, 0, 1 - 1j])
    quotient = (tf.constant(1 + 1j) / 0).numpy()  # as in TensorFlow
    assert np.isinf(quotient.real) and np.isinf(quotient.imag)
    powers = tf.pow(tf.constant([0j, 0j]), tf.constant([2 + 0j, 1j])).numpy()
    assert powers[0] == 0
    assert np.isnan(powers[1])


@pytest.mark.parametrize("name", ["asin", "acos", "atan", "asinh", "acosh", "atanh", "sqrt", "log"])
def test_inverse_functions_far_away_and_on_axes(name: str) -> None:
    """Also on branch cuts along the real axis, where an imaginary part of 0 counts as positive."""
    known = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
    known |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    far = [
        1e-9 + 2e-9j,
        1e5 - 3e5j,
        -2e4 + 1j,
        -3e4 - 1e-3j,
        0.5,
        0.25j,
        -0.5 - 0.5j,
        1 + 1e-7j,
        3,
        -3,
    ]
    z = np.array(far)
    expected = getattr(np, known.get(name, name))(z)
    found = getattr(tf.math, name)(tf.constant(z)).numpy()
    np.testing.assert_allclose(found.real, expected.real, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.imag, expected.imag, rtol=1e-9, atol=1e-15)


def test_comparisons_and_conversions() -> None:
    a, b = tf.constant([1 + 1j, 2, 2j]), tf.constant([1 + 1j, 2j, 2j])
    assert (a == b).numpy().tolist() == [True, False, True]
    assert (a != b).numpy().tolist() == [False, True, False]
    assert tf.cast(a, tf.int32).numpy().tolist() == [1, 2, 0]
    assert tf.cast(a, tf.bool).numpy().tolist() == [True, True, False]  # as in TensorFlow
    assert tf.cast([True, False], tf.complex64).numpy().tolist() == [1, 0]
    assert tf.cast(a, tf.complex64).dtype is tf.complex64
    assert tf.zeros_like(a).numpy().tolist() == [0, 0, 0]
    assert tf.shape(a).numpy().tolist() == [3]
    assert int(tf.size(a)) == 3


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("maximum", tf.errors.InvalidArgumentError),
        ("less", tf.errors.InvalidArgumentError),
        ("floormod", tf.errors.InvalidArgumentError),
    ],
)
def test_what_means_nothing(name: str, error: Any) -> None:
    z = tf.constant([1j])
    f = getattr(tf.math, name)
    with pytest.raises(error, match="means nothing for complex numbers"):
        f(z, z)
    with pytest.raises(error, match="means nothing for complex numbers"):
        tf.function(f)(z, z)


def test_what_has_no_formula() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"tfx.math.real.*test_complex_numbers"):
        tf.math.cumprod(tf.constant([1j]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not allowed by Floor"):
        tf.floor(tf.constant([1j]))


def test_batches_and_forward_mode() -> None:
    z = tf.constant(A)
    found = tf.vectorized_map(lambda row: tf.signal.fft(row * row[0]), z)
    assert_close(found, np.fft.fft(A * A[:, :1]))
    with tf.autodiff.ForwardAccumulator(z, tf.constant(B)) as forward:
        y = z * tf.exp(z)
    assert_close(forward.jvp(y), (1 + A) * np.exp(A) * B)


def test_a_gradient_by_an_intermediate_value() -> None:
    @tf.function
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = tf.complex(x, 2 * x)
            y = tf.reduce_sum(tf.abs(z) ** 2)
        return tape.gradient(y, [x, z])

    x = tf.constant([1.0, -2.0])
    for given in (f, f.python_function):
        dx, dz = given(x)
        assert_close(dx, 10 * x.numpy())
        assert_close(dz, 2 * (x.numpy() + 2j * x.numpy()))


def test_variables_and_optimizers() -> None:
    target = np.array([1 + 2j, -1j], "complex64")
    v = tf.Variable(tf.zeros([2], tf.complex64))

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.abs(v - target) ** 2)
        v.assign_sub(0.25 * tape.gradient(loss, v))
        return loss

    losses = [float(step()) for _ in range(20)]
    assert losses[-1] < 1e-6 < losses[0]
    assert_close(v, target, atol=1e-3)


@pytest.mark.parametrize("shape", [None, [None], [1]])
def test_an_argument_that_nothing_uses(shape):
    @tf.function(input_signature=[tf.TensorSpec(shape, tf.complex64)], autograph=False)
    def f(z):
        return tf.rank(z), tf.constant(2.0)

    rank, constant = f(tf.constant([1j], tf.complex64))
    assert (int(rank), float(constant)) == (1, 2.0)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (tf.sqrt, lambda z: 0.5 / np.sqrt(z)),
        (tf.math.rsqrt, lambda z: -0.5 / np.sqrt(z) ** 3),
        (tf.acos, lambda z: -1 / np.sqrt(1 - z) / np.sqrt(1 + z)),
        (tf.asin, lambda z: 1 / np.sqrt(1 - z) / np.sqrt(1 + z)),
        (tf.acosh, lambda z: 1 / np.sqrt(z - 1) / np.sqrt(z + 1)),
    ],
)
def test_slopes_where_a_part_of_a_root_is_zero(function: Any, slope: Any) -> None:
    # Roots of z, 1 - z and 1 + z have a part of 0 here: an absolute value would have no slope.
    z = np.array([1j, -1j, 2j, 1 + 2j, -1 + 2j, 1 - 2j, 0.5, 3 + 1j])
    with tf.GradientTape() as tape:
        x = tf.constant(z)
        tape.watch(x)
        y = tf.math.real(function(x)) + 3 * tf.math.imag(function(x))
    # Of Re(y) + 3 Im(y): the upstream gradient is 1 + 3i.
    assert tape.gradient(y, x).numpy() == pytest.approx((1 + 3j) * np.conj(slope(z)), rel=1e-12)


def test_slope_of_the_root_of_negative_numbers() -> None:
    x = tf.constant([-4 + 0j, -9 + 0j])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sqrt(x)
    assert tape.gradient(y, x).numpy() == pytest.approx(np.array([0.25j, 1j / 6]))
