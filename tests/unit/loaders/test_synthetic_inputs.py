"""Inputs that are made up."""

from __future__ import annotations

import numpy as np

from tfx.bundle.python_values import TensorInfo
from tfx.loaders.signature import SignatureInfo
from tfx.loaders.synthetic_inputs import candidates, is_open, open_sizes


def info(**inputs: tuple[str, object]) -> SignatureInfo:
    specs = {n: TensorInfo(dtype, shape, n) for n, (dtype, shape) in inputs.items()}  # type: ignore[arg-type]
    return SignatureInfo("f", specs, {})


def test_they_are_the_same_each_time() -> None:
    item = info(x=("float32", (None, 3)), n=("int64", ("batch",)), s=("string", (2,)))
    first, again = (list(candidates(item, 0, 1 << 20)) for _ in range(2))
    assert len(first) > 10
    for one, other in zip(first, again, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def test_dtypes_shapes_and_ranges() -> None:
    dtypes = ("float32", "bfloat16", "uint8", "int64", "bool", "string", "complex64", "float64")
    item = info(**{name: (name, (None, 4)) for name in dtypes})
    for inputs in candidates(item, 0, 1 << 22):
        assert {array.shape[1] for array in inputs.values()} == {4}
        assert len({array.shape[0] for array in inputs.values()}) == 1
        assert (np.abs(inputs["float32"]) <= 1).all()
        assert set(np.unique(inputs["int64"])) <= {0, 1}
        assert all(type(text) is str for text in inputs["string"].reshape(-1))
    assert all(str(inputs[name].dtype) == name for name in dtypes if name != "string")


def test_the_second_set_has_other_sizes() -> None:
    item = info(x=("float32", (None, "width", 3)))
    assert is_open(item)
    sizes = [next(candidates(item, number, 1 << 20)) for number in (0, 1)]
    one, two = (open_sizes(item, inputs) for inputs in sizes)
    assert {place[:2] for place in one} == {("x", 0), ("x", 1)}
    assert not one & two


def test_closed_shapes_and_bounds() -> None:
    closed = info(x=("float32", (5,)))
    assert not is_open(closed)
    assert len(list(candidates(closed, 0, 1 << 20))) == 3
    assert list(candidates(closed, 0, 19)) == []
    (shape,) = {i["x"].shape for i in candidates(info(x=("float32", None)), 0, 30)} - {
        (1, 1),
        (2, 2),
    }
    assert shape == (2, 3)
