"""Complex variables: kept, assigned, computed with, saved and restored."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import tfx as tf
from tfx.loaders import Bundle

KINDS = [tf.complex64, tf.complex128]
VALUE = np.array([[1 + 2j, -3.5j], [0, 1e-3]])


class Waves(tf.Module):
    def __init__(self, kind: Any, scale: complex = 1) -> None:
        super().__init__()
        self.v = tf.Variable(tf.constant(VALUE * scale, kind))
        self.scalar = tf.Variable(2j * scale, dtype=kind)
        self.empty = tf.Variable(np.zeros((0, 3), kind.as_numpy_dtype))
        self.real = tf.Variable([1.0, 2.0])

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def f(self, x: Any) -> Any:
        return x * self.real


def same(a: Any, b: Any) -> bool:
    pairs = zip((a.v, a.scalar, a.empty), (b.v, b.scalar, b.empty), strict=True)
    return all(
        x.dtype == y.dtype and x.shape == y.shape and (x.numpy() == y.numpy()).all()
        for x, y in pairs
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_values(kind: Any) -> None:
    v = tf.Variable(tf.constant(VALUE, kind))
    assert (v.dtype, v.shape.as_list(), v.numpy().dtype) == (kind, [2, 2], kind.as_numpy_dtype)
    before = v.read_value()
    v.assign(VALUE.astype(kind.as_numpy_dtype) * 1j)
    np.testing.assert_array_equal(before.numpy(), VALUE.astype(kind.as_numpy_dtype))
    np.testing.assert_array_equal(v, (VALUE * 1j).astype(kind.as_numpy_dtype))
    with pytest.raises(ValueError, match="Shape mismatch"):
        v.assign(np.zeros(3, kind.as_numpy_dtype))
    assert complex(tf.constant(3 + 4j, kind)) == 3 + 4j
    with pytest.raises(TypeError, match=f"A {kind.name} tensor cannot be converted to float"):
        float(tf.constant(3 + 4j, kind))
    for twin in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        np.testing.assert_array_equal(twin, v)
    assert np.from_dlpack(before).tolist() == before.numpy().tolist()
    assert tf.constant(1j).dtype is tf.complex128  # as in TensorFlow


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_checkpoints(kind: Any, tmp_path: Path) -> None:
    module, other = Waves(kind), Waves(kind, 3)
    path = tf.train.Checkpoint(m=module).write(tmp_path / "c")
    status = tf.train.Checkpoint(m=other).read(path)
    status.assert_consumed()
    assert same(module, other)
    assert tf.train.load_variable(path, "m/v").tolist() == module.v.numpy().tolist()
    if kind is tf.complex64:  # the other one has no name in safetensors
        assert load_file(f"{path}.safetensors")["m/v"].tolist() == module.v.numpy().tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match=kind.name):
        tf.train.Checkpoint(m=Waves(KINDS[kind is KINDS[0]])).read(path)
    late = tf.Module()
    tf.train.Checkpoint(m=late).read(path).expect_partial()
    late.v = tf.Variable(np.zeros((2, 2), kind.as_numpy_dtype))
    np.testing.assert_array_equal(late.v, module.v)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_bundles(kind: Any, tmp_path: Path) -> None:
    module, other = Waves(kind), Waves(kind, 3)
    tf.saved_model.save(module, tmp_path / "m")
    tf.saved_model.save(other, tmp_path / "other")
    back = tf.saved_model.load(tmp_path / "m")
    assert same(back, module)
    assert back.f([1.0, 1.0]).numpy().tolist() == [1.0, 2.0]
    back.reload(tmp_path / "other")
    assert same(back, other)
    back.assign({"v": module.v.numpy()})
    tf.saved_model.save(back, tmp_path / "again")
    with Bundle.open(tmp_path / "again") as bundle:
        np.testing.assert_array_equal(bundle.variables["v"], module.v.numpy())
        bundle.variables["v"] = other.v.numpy()
        bundle.save(tmp_path / "third")
    assert same(tf.saved_model.load(tmp_path / "third"), other)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_operators(kind: Any) -> None:
    x, v = tf.constant([1j, 2], kind), tf.Variable(tf.constant([1j, 2], kind))
    uses = [
        (lambda: x + x, [2j, 4]),
        (lambda: x == x, [True, True]),
        (lambda: x[0], 1j),
        (lambda: tf.identity(x), [1j, 2]),
        (lambda: tf.cast(x, tf.float32), [0, 2]),
        (lambda: v.assign_add(x), [2j, 4]),
        (lambda: tf.function(lambda y: y)(x), [1j, 2]),
        (lambda: tf.function(lambda: v.read_value())(), [2j, 4]),
        (lambda: tf.function(lambda: v.assign(x * v))(), [-2, 8]),
    ]
    for use, expected in uses:
        np.testing.assert_array_equal(use(), expected)
    assert v.numpy().tolist() == [-2, 8]


def test_functions_of_complex_numbers_cannot_be_saved(tmp_path: Path) -> None:
    module = Waves(tf.complex64)
    specs = [tf.TensorSpec([2], tf.complex64)]
    uses = [
        tf.function(lambda z: tf.abs(z), input_signature=specs),
        tf.function(lambda x: tf.complex(x, x), input_signature=[tf.TensorSpec([2])]),
        tf.function(lambda x: x * tf.abs(module.scalar), input_signature=[tf.TensorSpec([2])]),
    ]
    for use in uses:
        with pytest.raises(tf.errors.InvalidArgumentError, match="in variables complex numbers"):
            tf.saved_model.save(module, tmp_path / "m", signatures=use)
