"""TensorSpec: a value with TensorFlow's text, compatibility and subtyping."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from tfx.core import dtypes
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec, TypeSpec


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (TensorSpec(None), "TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)"),
        (TensorSpec([]), "TensorSpec(shape=(), dtype=tf.float32, name=None)"),
        (TensorSpec([3], "int32"), "TensorSpec(shape=(3,), dtype=tf.int32, name=None)"),
        (TensorSpec([None, 8]), "TensorSpec(shape=(None, 8), dtype=tf.float32, name=None)"),
        (TensorSpec(["n", 8], name="x"), "TensorSpec(shape=(n, 8), dtype=tf.float32, name='x')"),
        (TensorSpec(("x.d0",)), "TensorSpec(shape=(None,), dtype=tf.float32, name=None)"),
    ],
)
def test_text(spec: TensorSpec, text: str) -> None:
    assert repr(spec) == str(spec) == text


def test_attributes() -> None:
    spec = TensorSpec([2, None], np.int64, name="ids")
    assert spec.shape == TensorShape([2, None])
    assert spec.dtype is dtypes.int64
    assert spec.name == "ids"
    assert isinstance(spec, TypeSpec)


@pytest.mark.parametrize("attribute", ["shape", "dtype", "name"])
def test_is_frozen(attribute: str) -> None:
    with pytest.raises(AttributeError):
        setattr(TensorSpec([1]), attribute, None)


@pytest.mark.parametrize(
    ("args", "match"),
    [
        (([1], "float33"), "float33"),
        (([1.5],), r"1\.5"),
        (("batch",), "list of dimensions"),
        (([1], "int32", 7), "name 7 of type int"),
    ],
)
def test_bad_arguments(args: tuple[Any, ...], match: str) -> None:
    with pytest.raises(TypeError, match=match):
        TensorSpec(*args)


def test_equality_and_hash() -> None:
    a, b = TensorSpec([None, 8], name="x"), TensorSpec(TensorShape([None, 8]), "float", "x")
    assert a == b
    assert hash(a) == hash(b)
    different = [
        TensorSpec([None, 8]),
        TensorSpec([None, 9], name="x"),
        TensorSpec(["n", 8], name="x"),
        TensorSpec([None, 8], "int32", name="x"),
    ]
    assert all(a != other for other in different)
    assert len({a, b, *different}) == 5
    assert a != "x"
    # Names made by the tracer are no difference that anybody can see.
    assert TensorSpec(["x.d0", 8]) == TensorSpec([None, 8])
    assert hash(TensorSpec(["x.d0", 8])) == hash(TensorSpec([None, 8]))


def test_copies_are_equal() -> None:
    spec = TensorSpec(["n", "x.d0"], "int8", "ids")
    for other in (copy.copy(spec), copy.deepcopy(spec), pickle.loads(pickle.dumps(spec))):
        assert other == spec
        assert other.shape.symbolic == ("n", "x.d0")


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (np.zeros((3, 8), np.float32), True),
        (np.zeros((3, 8), np.float64), False),
        (np.zeros((3, 9), np.float32), False),
        (np.zeros(8, np.float32), False),
        (TensorSpec(None), True),
        (TensorSpec([5, None]), True),
        (TensorSpec([5, None], "int32"), False),
        (3.0, False),
        ("text", False),
    ],
)
def test_compatibility(other: Any, expected: bool) -> None:
    assert TensorSpec(["batch", 8]).is_compatible_with(other) is expected


def test_from_tensor_and_spec() -> None:
    array = np.zeros((2, 3), np.uint8)
    assert TensorSpec.from_tensor(array) == TensorSpec([2, 3], "uint8")
    assert TensorSpec.from_tensor(array, "image").name == "image"
    named = TensorSpec([1], name="a")
    assert TensorSpec.from_spec(named) == named
    assert TensorSpec.from_spec(named, name="b").name == "b"


def test_subtyping() -> None:
    general = TensorSpec([None, 8])
    assert TensorSpec([3, 8]).is_subtype_of(general)
    assert general.is_subtype_of(general)
    assert not general.is_subtype_of(TensorSpec([3, 8]))
    assert not TensorSpec([3, 8], "int32").is_subtype_of(general)
    assert not TensorSpec([3, 8], name="x").is_subtype_of(general)
    assert TensorSpec([3, 8]).is_subtype_of(TensorSpec([None, 8], name="x"))
    assert not general.is_subtype_of("spec")


def test_common_supertype() -> None:
    a, b = TensorSpec([2, 8], name="x"), TensorSpec([3, 8], name="x")
    assert a.most_specific_common_supertype([b]) == TensorSpec([None, 8], name="x")
    assert a.most_specific_compatible_type(b) == TensorSpec([None, 8], name="x")
    assert a.most_specific_common_supertype([TensorSpec([2, 8])]) == TensorSpec([2, 8])
    assert a.most_specific_common_supertype([TensorSpec([2, 8], "int8")]) is None
    assert a.most_specific_common_supertype(["other"]) is None
    assert a.most_specific_common_supertype([]) == a
    with pytest.raises(ValueError, match="no spec covers both"):
        a.most_specific_compatible_type(TensorSpec([2, 8], "int8"))
