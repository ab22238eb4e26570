"""Fourier transforms against NumPy in float64, their gradients, and what they are saved as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import tfx as tf
from tfx.function.execution.plan import Plan
from tfx.function.execution.stepped_plan import make_plan
from tfx.graph.passes.join_pairs import join_pairs
from tfx.ops.signal import dft
from tfx.testing import assert_close

KINDS = {"float32": ("complex64", 3e-6), "float64": ("complex128", 1e-14)}
# By a matrix, by factors, of two by ONNX's operator, of large primes.
LENGTHS = [1, 2, 3, 7, 100, 128, 131, 255, 512, 514, 600, 997, 1000, 1024, 2018, 4410, 8192]


def _numbers(rng: Any, shape: Any, kind: str) -> Any:
    whole = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return whole.astype(KINDS[kind][0])


def _same(found: Any, expected: Any, kind: str) -> None:
    tolerance = KINDS[kind][1] * max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_transforms(length: int, kind: str, rng: Any) -> None:
    z = _numbers(rng, (3, length), kind)
    wide = z.astype("complex128")
    for name in ("fft", "ifft"):
        found = getattr(tf.signal, name)(tf.constant(z))
        assert found.dtype.name == KINDS[kind][0]
        _same(found, getattr(np.fft, name)(wide), kind)
    spectrum = tf.signal.rfft(tf.constant(z.real))
    assert spectrum.dtype.name == KINDS[kind][0]
    _same(spectrum, np.fft.rfft(wide.real), kind)
    half = wide[:, : length // 2 + 1]
    back = tf.signal.irfft(tf.constant(half, z.dtype), [length])
    assert (back.dtype.name, back.shape) == (kind, (3, length))
    _same(back, np.fft.irfft(half, length), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2, 3, 9, 64, 131, 500, 1024])
def test_lengths_that_only_a_run_tells(length: int, kind: str, rng: Any) -> None:
    z = _numbers(rng, (2, length), kind)
    whole = [tf.TensorSpec([None, None], z.dtype)]
    loose = [tf.TensorSpec(None, z.real.dtype), tf.TensorSpec([1], tf.int32)]
    fft = tf.function(tf.signal.fft, input_signature=whole)
    rfft = tf.function(tf.signal.rfft, input_signature=loose)
    irfft = tf.function(lambda z, n: tf.signal.irfft(z, n))
    _same(fft(z), np.fft.fft(z.astype("complex128")), kind)
    for size in (length, length + 3, max(1, length - 2)):
        n = tf.constant([size], tf.int32)
        _same(rfft(z.real, n), np.fft.rfft(z.real.astype("float64"), size), kind)
        _same(irfft(tf.constant(z), n), np.fft.irfft(z.astype("complex128"), size), kind)
    own = tf.function(tf.signal.irfft, input_signature=whole)
    if length > 1:
        _same(own(z), np.fft.irfft(z.astype("complex128")), kind)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("rank", [None, "known"])
def test_several_axes(count: int, rank: Any, rng: Any) -> None:
    shape = (2, 3, 4, 6)
    z = _numbers(rng, shape, "float64")
    axes = tuple(range(-count, 0))
    spec = None if rank is None else [None] * 4

    def run(name: str, x: Any, *rest: Any) -> Any:
        f = getattr(tf.signal, f"{name}{count}d")
        x = tf.constant(x)
        traced = tf.function(lambda x: f(x, *rest), input_signature=[tf.TensorSpec(spec, x.dtype)])
        _same(traced(x), f(x, *rest).numpy(), "float64")
        return f(x, *rest)

    _same(run("fft", z), np.fft.fftn(z, axes=axes), "float64")
    _same(run("ifft", z), np.fft.ifftn(z, axes=axes), "float64")
    _same(run("rfft", z.real), np.fft.rfftn(z.real, axes=axes), "float64")
    _same(run("irfft", z), np.fft.irfftn(z, axes=axes), "float64")
    sizes = [5, 2, 7][-count:]
    _same(run("rfft", z.real, sizes), np.fft.rfftn(z.real, sizes, axes), "float64")
    _same(run("irfft", z, sizes), np.fft.irfftn(z, sizes, axes), "float64")


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("axes", [None, [1], [-1, 0], [0, 1, 2]])
@pytest.mark.parametrize("sizes", [None, [5, 3, 2]])
def test_chosen_axes(axes: Any, sizes: Any, norm: str | None, rng: Any) -> None:
    z = _numbers(rng, (2, 4, 6), "float64")
    lengths = None if sizes is None else sizes[: len(axes or sizes)]
    # NumPy wants the sizes with the axes, and the sizes of what it is given if there are none.
    places = axes or [0, 1, 2]
    for name, x in (("fft", z), ("ifft", z), ("rfft", z.real), ("irfft", z)):
        expected = getattr(np.fft, f"{name}n")(x, lengths, places, norm)
        found = getattr(tf.signal, f"{name}nd")(tf.constant(x), lengths, axes, norm)
        _same(found, expected, "float64")
    f = tf.function(
        lambda z: tf.signal.fftnd(z, lengths, axes, norm),
        input_signature=[tf.TensorSpec([None] * 3, z.dtype)],
    )
    _same(f(z), np.fft.fftn(z, lengths, places, norm), "float64")


def test_nothing_to_transform() -> None:
    for name in ("fft", "ifft", "fft2d", "fft3d"):
        x = np.zeros((0, 4, 4, 4), "complex64")
        assert getattr(tf.signal, name)(x).shape == x.shape
    assert tf.signal.fft(np.zeros((2, 0), "complex64")).shape == (2, 0)
    assert tf.signal.rfft(np.zeros((0, 5), "f")).shape == (0, 3)
    assert tf.signal.rfft(np.zeros((0, 2048), "f")).shape == (0, 1025)
    assert tf.signal.irfft(np.zeros((0, 3), "complex64")).shape == (0, 4)


def test_dtypes_of_python_numbers() -> None:
    assert tf.signal.fft([1, 2]).dtype is tf.complex64
    assert tf.signal.fft([1.0, 2.0]).dtype is tf.complex64
    assert tf.signal.fft([1j, 2]).dtype is tf.complex128
    assert tf.signal.rfft([1, 2, 3]).dtype is tf.complex64
    assert tf.signal.irfft([1.0, 2.0]).dtype is tf.float32
    assert tf.signal.fft(np.ones(2)).dtype is tf.complex64  # as in TensorFlow
    assert tf.signal.rfft(np.ones(2)).dtype is tf.complex64


Z = tf.constant([1 + 2j, 3, 4j], tf.complex64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tf.signal.fft(tf.ones([4])), tf.errors.InvalidArgumentError, "Tcomplex"),
        (lambda: tf.signal.fft(tf.constant(1j)), tf.errors.InvalidArgumentError, "rank of at lea"),
        (lambda: tf.signal.fft2d(Z), tf.errors.InvalidArgumentError, "rank of at least 2"),
        (lambda: tf.signal.rfft(Z), ValueError, "RFFT requires"),
        (lambda: tf.signal.rfft(tf.constant(1.0)), ValueError, "must have rank at least 1"),
        (lambda: tf.signal.irfft(tf.ones([3])), ValueError, "IRFFT requires"),
        (lambda: tf.signal.rfft([1.0, 2.0], 2), TypeError, "as a list"),
        (lambda: tf.signal.rfft([1.0, 2.0], [2.0]), TypeError, "must be integers"),
        (lambda: tf.signal.rfft([1.0], [2, 3]), tf.errors.InvalidArgumentError, r"shape \[1\]"),
        (lambda: tf.signal.rfft([1.0], [-1]), tf.errors.InvalidArgumentError, "must >= 0"),
        (lambda: tf.signal.rfft([1.0], [0]), tf.errors.InvalidArgumentError, "1 or more"),
        (lambda: tf.signal.irfft(Z[:1]), tf.errors.InvalidArgumentError, "Give fft_length"),
        (lambda: tf.signal.fftnd(tf.ones([3])), ValueError, "FFTND requires"),
        (lambda: tf.signal.fftnd(Z, axes=[1]), tf.errors.InvalidArgumentError, "different axes"),
        (lambda: tf.signal.fftnd(Z, norm="both"), ValueError, "'ortho' or 'forward'"),
    ],
)
def test_what_is_refused(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
    with pytest.raises(error, match=message):
        tf.function(call)()


def _gradient(f: Any, x: Any, seed: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.math.real(f(x) * seed))
    return tape.gradient(total, x)


def _numeric(f: Any, x: Any, seed: Any) -> Any:
    """The gradient by differences: df/dx + i df/dy."""

    def value(at: Any) -> float:
        return float(np.sum(np.real(np.asarray(f(tf.constant(at))) * seed)))

    found = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        for step in (1e-6, 1e-6j) if np.iscomplexobj(x) else (1e-6,):
            d = np.zeros_like(x)
            d[place] = step
            found[place] += (value(x + d) - value(x - d)) / 2e-6 * (step / 1e-6)
    return found


TRANSFORMS = [
    (tf.signal.fft, "z", (2, 5)),
    (tf.signal.ifft, "z", (2, 4)),
    (tf.signal.fft2d, "z", (2, 3, 4)),
    (tf.signal.rfft, "x", (2, 5)),
    (lambda x: tf.signal.rfft(x, [4]), "x", (2, 6)),
    (lambda x: tf.signal.rfft(x, [9]), "x", (2, 6)),
    (tf.signal.irfft, "z", (2, 4)),
    (lambda z: tf.signal.irfft(z, [5]), "z", (2, 4)),
    (lambda z: tf.signal.irfft(z, [11]), "z", (2, 4)),
    (tf.signal.rfft2d, "x", (3, 4)),
    (lambda z: tf.signal.irfft2d(z, [3, 5]), "z", (2, 4)),
    (tf.signal.rfft3d, "x", (2, 3, 4)),
]


@pytest.mark.parametrize(("f", "kind", "shape"), TRANSFORMS)
def test_gradients(f: Any, kind: str, shape: Any, rng: Any) -> None:
    z = _numbers(rng, shape, "float64")
    x = z if kind == "z" else z.real
    y = f(tf.constant(x))
    seed = rng.normal(size=y.shape) + (1j * rng.normal(size=y.shape) if y.dtype.is_complex else 0)
    expected = _numeric(f, x, seed)
    assert_close(_gradient(f, tf.constant(x), seed), expected, rtol=1e-6, atol=1e-7)
    traced = tf.function(lambda x: _gradient(f, x, tf.constant(seed)))
    assert_close(traced(x), expected, rtol=1e-6, atol=1e-7)
    loose = tf.function(traced, input_signature=[tf.TensorSpec([None] * len(shape), x.dtype)])
    assert_close(loose(x), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("length", [514, 600, 997, 1024, 2018, 4410, 8192])
def test_gradients_of_long_transforms(length: int, rng: Any) -> None:
    """A linear function's gradient is its transpose: <F x, y> is <x, F' y>."""
    x, y = rng.normal(size=(2, 2, length))
    z = rng.normal(size=(2, length // 2 + 1)) + 1j * rng.normal(size=(2, length // 2 + 1))
    found = _gradient(tf.signal.rfft, tf.constant(x), tf.constant(z))
    np.testing.assert_allclose(
        np.sum(found * y), np.sum(np.real(np.fft.rfft(y) * z)), rtol=1e-9, atol=1e-9
    )
    back = _gradient(lambda z: tf.signal.irfft(z, [length]), tf.constant(z), tf.constant(x))
    w = rng.normal(size=z.shape) + 1j * rng.normal(size=z.shape)
    np.testing.assert_allclose(
        np.sum(np.real(np.conj(back) * w)),
        np.sum(np.fft.irfft(w, length) * x),
        rtol=1e-9,
        atol=1e-9,
    )


def test_second_derivatives(rng: Any) -> None:
    x = tf.constant(rng.normal(size=6))

    def energy(x: Any) -> Any:
        return tf.reduce_sum(tf.abs(tf.signal.rfft(x)) ** 4)

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = energy(x)
        return tape.gradient(y, x)

    def second(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(slope(x) * tf.range(6.0, dtype=tf.float64))
        return tape.gradient(y, x)

    expected = _numeric(slope, x.numpy(), np.arange(6.0))
    assert_close(second(x), expected, rtol=1e-5)
    assert_close(tf.function(second)(x), expected, rtol=1e-5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.abs(tf.signal.rfft(x))
    rows = [
        _gradient(lambda x: tf.abs(tf.signal.rfft(x)), x, tf.one_hot(i, 4, dtype=x.dtype))
        for i in range(4)
    ]
    assert_close(tape.jacobian(y, x), tf.stack(rows))
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
        y = energy(x)
    assert_close(forward.jvp(y), tf.reduce_sum(slope(x)))


class Layers(tf.Module):
    """A Fourier layer of which the loss is a spectral one, and other uses of transforms."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.real = tf.Variable(rng.normal(size=33).astype("f"))
        self.imag = tf.Variable(rng.normal(size=33).astype("f"))

    @tf.function(input_signature=[tf.TensorSpec([None, 64])])
    def layer(self, x: Any) -> Any:
        return tf.signal.irfft(tf.signal.rfft(x) * tf.complex(self.real, self.imag))

    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None])])
    def convolve(self, x: Any, kernel: Any) -> Any:
        size = [tf.shape(x)[-1] + tf.shape(kernel)[0] - 1]
        return tf.signal.irfft(tf.signal.rfft(x, size) * tf.signal.rfft(kernel, size), size)

    @tf.function(input_signature=[tf.TensorSpec([None, 64]), tf.TensorSpec([None, 64])])
    def train(self, x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            gap = tf.signal.rfft(self.layer(x)) - tf.signal.rfft(y)
            loss = tf.reduce_mean(tf.abs(gap))
        weights = [self.real, self.imag]
        for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(g)
        return loss


def test_bundles_run_with_onnxruntime_alone(tmp_path: Path, rng: Any) -> None:
    m = Layers()
    names = ("layer", "convolve", "train")
    tf.saved_model.save(m, tmp_path / "m", signatures={n: getattr(m, n) for n in names})
    x, y = rng.normal(size=(2, 3, 64)).astype("f")
    for name in names:
        model = onnx.load(tmp_path / "m" / f"{name}.onnx", load_external_data=False)
        assert {o.domain for o in model.opset_import} <= {""} or name == "train"
    run = onnxruntime.InferenceSession(tmp_path / "m" / "layer.onnx").run
    weights = m.real.numpy() + 1j * m.imag.numpy()
    expected = np.fft.irfft(np.fft.rfft(x.astype("d")) * weights)
    assert_close(run(None, {"x": x})[0], expected.astype("f"), atol=1e-5)
    run = onnxruntime.InferenceSession(tmp_path / "m" / "convolve.onnx").run
    found = run(None, {"x": x, "kernel": y[0, :9]})[0]
    assert_close(found[1], np.convolve(x[1], y[0, :9]), atol=1e-5)
    session = onnxruntime.InferenceSession(tmp_path / "m" / "train.onnx")
    feeds = {"x": x, "y": y, "real": m.real.numpy(), "imag": m.imag.numpy()}
    loss, *after = session.run(None, feeds)
    assert_close(m.train(x, y), loss)
    for w, value in zip(
        (m.real, m.imag), sorted(after, key=lambda a: -np.allclose(a, m.real)), strict=True
    ):
        assert_close(w, value)
    losses = [float(m.train(x, y)) for _ in range(20)]
    assert losses[-1] < losses[0]


def test_functions_of_real_numbers_are_one_session() -> None:
    f = tf.function(lambda x: tf.abs(tf.signal.fft(tf.cast(x, tf.complex64)) * 2j))
    concrete = f.get_concrete_function(tf.TensorSpec([8]))
    assert "Host" in {node.op for node in concrete.graph.graph.nodes}
    left = join_pairs(concrete.graph.graph)
    assert "Host" not in {node.op for node in left.nodes}
    assert isinstance(make_plan(concrete.graph.graph), Plan)


def test_matrices_have_exact_quarters() -> None:
    found = tf.signal.fft(tf.constant([1, 1, 1, 1], tf.complex64)).numpy()
    assert found.tolist() == [4, 0, 0, 0]
    assert dft._factor(4410) == 63
    assert dft._factor(997) == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_no_samples_have_no_transform(compiled: bool) -> None:
    """TensorFlow 2.21 gives what is empty, of both kinds."""

    def shape_of(transform: Any, shape: list[int], dtype: Any) -> list[int]:
        given = tf.zeros(shape, dtype)
        found = (tf.function(transform) if compiled else transform)(given)
        return list(found.numpy().shape)

    for shape in ([0], [2, 0]):
        assert shape_of(tf.signal.rfft, shape, tf.float32) == shape
        for inverse in (tf.signal.fft, tf.signal.ifft, tf.signal.irfft):
            assert shape_of(inverse, shape, tf.complex64) == shape
        for cosine in (tf.signal.dct, tf.signal.idct):
            assert shape_of(cosine, shape, tf.float32) == shape
    assert shape_of(tf.signal.rfft2d, [2, 0], tf.float32) == [2, 0]
    assert shape_of(tf.signal.rfft2d, [0, 3], tf.float32) == [0, 2]
    assert shape_of(tf.signal.irfft2d, [2, 0], tf.complex64) == [2, 0]
    assert shape_of(lambda x: tf.signal.rfft(x, [0]), [0, 4], tf.float32) == [0, 0]
