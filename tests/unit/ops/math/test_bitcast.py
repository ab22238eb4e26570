"""bitcast, nextafter and the parts of complex numbers against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError
from tfx.ops.math import bitcast
from tfx.testing import assert_close


@pytest.mark.parametrize(
    ("source", "target", "shape"),
    [
        ("float32", "uint32", (2, 4)),
        ("float32", "int64", (2, 2)),
        ("float64", "int8", (2, 4)),
        ("uint8", "float32", (3, 4)),
        ("int32", "complex64", (3, 2)),
        ("complex128", "float64", (3,)),
        ("float16", "int16", ()),
        ("int16", "uint8", ()),
    ],
)
def test_bitcast(source, target, shape, rng):
    x = rng.integers(0, 100, shape).astype(source)
    flat = np.frombuffer(x.tobytes(), target)
    found = tf.bitcast(tf.constant(x), getattr(tf, target))
    assert found.dtype.name == target
    np.testing.assert_array_equal(found.numpy().reshape(-1), flat)
    wide, narrow = np.dtype(source).itemsize, np.dtype(target).itemsize
    expected = (*shape, wide // narrow) if wide > narrow else shape
    assert found.shape == (shape[:-1] if narrow > wide else expected)


_REAL = ["bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64"]
_REAL += ["uint8", "uint16", "uint32", "uint64"]
_NUMBERS = [*_REAL, "complex64", "complex128"]


@pytest.mark.parametrize("source", _NUMBERS)
def test_bitcast_of_all_dtypes_that_tensorflow_has(source, rng):
    kind = tf.as_dtype(source)
    for name in _NUMBERS:
        target = tf.as_dtype(name)
        tail = (target.size // kind.size,) if target.size > kind.size else ()
        raw = rng.integers(0, 256, (3, 2, *tail, kind.size)).astype(np.uint8)
        x = raw.view(kind.as_numpy_dtype)[..., 0]
        expected = np.frombuffer(x.tobytes(), target.as_numpy_dtype)
        expected = expected.reshape(
            3, 2, *((kind.size // target.size,) * (kind.size > target.size))
        )
        compute = tf.function(lambda x, target=target: tf.bitcast(x, target))
        loose = tf.function(compute, input_signature=[tf.TensorSpec(None, kind)])
        for found in (tf.bitcast(x, target), compute(x), loose(x)):
            assert found.dtype == target
            assert found.shape == expected.shape
            assert found.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("source", _REAL)
def test_bitcast_is_made_of_nodes(source):
    for name in _REAL:
        target, kind = tf.as_dtype(name), tf.as_dtype(source)
        tail = (target.size // kind.size,) if target.size > kind.size else ()
        spec = tf.TensorSpec([None, *tail], kind)
        f = tf.function(lambda x, target=target: tf.bitcast(x, target), input_signature=[spec])
        graph = f.get_concrete_function().graph
        assert "Host" not in {op.type for op in graph.get_operations()}


def test_bitcast_of_empty_tensors():
    assert tf.bitcast(np.zeros((0,), "f"), tf.int8).shape == (0, 4)
    assert tf.bitcast(np.zeros((0, 2), "f"), tf.int64).shape == (0,)
    with pytest.raises(InvalidArgumentError, match="Cannot bitcast from"):
        tf.bitcast(np.zeros((2, 0), "f"), tf.int64)


def test_bitcast_in_a_function():
    spec = [tf.TensorSpec([None, None], tf.float32)]
    f = tf.function(lambda x: tf.bitcast(x, tf.uint8), input_signature=spec)
    assert f.get_concrete_function().output_shapes == (None, None, 4)
    assert_close(f([[1.0, 2.0]]), [[[0, 0, 128, 63], [0, 0, 0, 64]]])


@pytest.mark.parametrize("shape", [(3, 3), (), (2, 1), (2, 4)])
def test_bitcast_of_a_last_axis_that_does_not_fit_and_is_not_known(shape):
    f = tf.function(lambda x: tf.bitcast(x, tf.int64), input_signature=[tf.TensorSpec(None)])
    with pytest.raises(InvalidArgumentError):
        f(tf.zeros(shape))


def test_bitcast_is_saved(tmp_path):
    class Bits(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x):
            return {"bytes": tf.bitcast(x, tf.uint8), "next": tf.math.nextafter(x, 9.0)}

    tf.saved_model.save(Bits(), str(tmp_path / "m"))
    model = onnx.load(str(tmp_path / "m" / "serving_default.onnx"))
    assert model.opset_import[0].version == 26
    session = onnxruntime.InferenceSession(str(tmp_path / "m" / "serving_default.onnx"))
    x = np.array([1.0, -2.5], np.float32)
    found = dict(
        zip([o.name for o in session.get_outputs()], session.run(None, {"x": x}), strict=True)
    )
    np.testing.assert_array_equal(found["bytes"], x.view(np.uint8).reshape(2, 4))
    np.testing.assert_array_equal(found["next"], np.nextafter(x, np.float32(9)))


def test_no_gradient_flows_through_bitcast():
    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.bitcast(tf.bitcast(x, tf.int32), tf.float32)
    assert tape.gradient(y, x) is None


def test_bitcast_without_a_kernel(monkeypatch):
    monkeypatch.setattr(bitcast, "cpu_kernels", lambda *_: ())
    assert_close(tf.bitcast(1.0, tf.uint32), 0x3F800000)
    assert_close(tf.math.nextafter(1.0, 2.0), np.nextafter(np.float32(1), np.float32(2)))


def test_bitcast_is_vectorized(rng):
    x = rng.normal(size=(3, 4)).astype(np.float32)
    found = tf.vectorized_map(lambda r: tf.bitcast(r, tf.int16), tf.constant(x))
    np.testing.assert_array_equal(found, x.view(np.int16).reshape(3, 4, 2))
    pairs = tf.vectorized_map(lambda r: tf.bitcast(tf.reshape(r, [2, 2]), tf.int64), tf.constant(x))
    np.testing.assert_array_equal(pairs, x.view(np.int64))


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ([1.0, 2.0, 3.0], tf.int64),
        (1.0, tf.complex128),
        (True, tf.uint8),
        (1, tf.string),
        (1, tf.bool),
        ("a", tf.int8),
    ],
)
def test_bitcast_of_what_does_not_fit(value, target):
    with pytest.raises(InvalidArgumentError, match="Cannot bitcast from"):
        tf.bitcast(value, target)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_nextafter_at_the_edges(dtype):
    kind = tf.as_dtype(dtype).as_numpy_dtype
    info = ml_dtypes.finfo(kind)
    edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
    edges += [float(info.max), -float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    a, b = np.meshgrid(np.array(edges, kind), np.array(edges, kind))
    with np.errstate(all="ignore"):
        expected = np.nextafter(a, b)
    for f in (tf.math.nextafter, tf.function(tf.math.nextafter)):
        found = f(a, b).numpy()
        np.testing.assert_array_equal(found.astype("d"), expected.astype("d"))
        if dtype not in ("float32", "float64"):  # of two equal halves NumPy takes the first
            continue
        here = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[here], np.signbit(expected)[here])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nextafter(dtype):
    a, b = np.array([[1.0], [0.0]], dtype), np.array([2.0, -np.inf, 0.0], dtype)
    np.testing.assert_array_equal(tf.math.nextafter(a, b).numpy(), np.nextafter(a, b))
    np.testing.assert_array_equal(tf.function(tf.math.nextafter)(a, b), np.nextafter(a, b))


def test_nextafter_of_integers():
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by NextAfter"):
        tf.math.nextafter(1, 2)


@pytest.mark.parametrize("name", ["conj", "real", "imag", "angle"])
def test_parts(name):
    f, reference = getattr(tf.math, name), getattr(np, name)
    z = np.array([1 + 2j, -3 - 0.5j, 0], np.complex64)
    assert_close(f(z), reference(z))
    x = np.array([-2.0, 0.0, 3.0], np.float32)
    assert_close(f(x), reference(x).astype(np.float32))
    assert_close(tf.function(f)(x), f(x))
    assert f(x).dtype == tf.float32


@pytest.mark.parametrize(("part", "whole"), [("float32", "complex64"), ("float64", "complex128")])
def test_complex(part, whole):
    a, b = np.array([[1.0], [np.nan]], part), np.array([2.0, np.inf], part)
    found = tf.complex(a, b)
    assert found.dtype.name == whole
    np.testing.assert_array_equal(tf.math.real(found), np.broadcast_to(a, (2, 2)))
    np.testing.assert_array_equal(tf.math.imag(found), np.broadcast_to(b, (2, 2)))
    np.testing.assert_array_equal(tf.function(tf.complex)(a, b), found)
    assert tf.dtypes.complex is tf.complex


@pytest.mark.parametrize("imag", [1, tf.constant(1.0, tf.float64)])
def test_complex_of_other_parts(imag):
    with pytest.raises(TypeError):
        tf.complex(tf.constant(1.0) if tf.is_tensor(imag) else 1, imag)


def test_the_gradient_of_real_numbers_passes_through():
    x = tf.constant([2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.real(x) * tf.math.conj(x)
    assert_close(tape.gradient(y, x), [4.0])


def test_a_shape_that_only_a_run_finds_wrong():
    spec = [tf.TensorSpec(None, tf.uint16)]
    late = tf.function(lambda x: tf.bitcast(x, tf.complex64), input_signature=spec)
    with pytest.raises(InvalidArgumentError, match="bitcast"):
        late(np.uint16(3))
