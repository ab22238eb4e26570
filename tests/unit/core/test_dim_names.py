"""Names of derived sizes: equal names are equal sizes, whatever the sizes are."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tfx.core import dim_names
from tfx.core.dim_names import (
    broadcast_dim,
    opaque_dim,
    product_dim,
    quotient_dim,
    slice_dim,
    substitute_dim,
    sum_dim,
    surely_equal,
    window_dim,
)
from tfx.core.dims import format_shape, is_automatic_dim, python_slice

BOUNDS = [0, 1, 2, 3, -1, -2, -3, 2**62, -(2**62)]
SIZES = [0, 1, 2, 3, 5]


def _length(size: int, first: int, last: int, step: int) -> int:
    """ONNX's rule: negative bounds count from the end, and all are then moved into the axis."""
    lowest, highest = (-1, size - 1) if step < 0 else (0, size)
    first, last = (n + size if n < 0 else n for n in (first, last))
    first, last = min(max(first, 0), highest), min(max(last, lowest), highest)
    return max(0, math.ceil((last - first) / step))


@pytest.mark.parametrize("step", [1, -1, 2, -2])
def test_slices_of_known_sizes(step):
    for size, first, last in itertools.product(SIZES, BOUNDS, BOUNDS):
        expected = _length(size, first, last, step)
        assert slice_dim(size, first, last, step) == expected, (size, first, last)
        array = np.arange(size)[python_slice(size, first, last, step)]
        assert array.size == expected


def test_slices_of_one_name_have_one_length():
    lengths: dict[object, list[int]] = {}
    for first, last, step in itertools.product(BOUNDS, BOUNDS, [1, -1, 2, -2]):
        found = [_length(size, first, last, step) for size in SIZES]
        name = slice_dim("n", first, last, step)
        assert lengths.setdefault(name, found) == found, (first, last, step)
        for again in ((1, 2**62), (0, -1), (0, -2), (2, -1)):
            inner = [_length(n, *again, 1) for n in found]
            nested = slice_dim(name, *again, 1)
            assert lengths.setdefault(nested, inner) == inner, (first, last, step, again)
    assert lengths["n"] == SIZES


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (slice_dim("n", 0, -1, 1), slice_dim("n", 1, 2**62, 1)),
        (slice_dim(sum_dim(["n", 1]), 0, -1, 1), "n"),
        (slice_dim(slice_dim("n", 1, 2**62, 1), 0, -2, 1), slice_dim("n", 3, 2**62, 1)),
        (slice_dim("n", 1, "n", 1), slice_dim("n", 1, 2**62, 1)),
        (product_dim([product_dim(["n", 2]), "m"]), product_dim(["m", product_dim([2, "n"])])),
        (quotient_dim([product_dim(["n", "m", 6])], [3, "n"]), product_dim([2, "m"])),
        (sum_dim([sum_dim(["n", 1]), 2]), sum_dim([3, "n"])),
        (broadcast_dim(broadcast_dim("a", "b"), "c"), broadcast_dim("c", broadcast_dim("b", "a"))),
        (broadcast_dim("a", broadcast_dim("a", "b")), broadcast_dim("a", "b")),
        (broadcast_dim(slice_dim(512, 0, "n", 1), "n"), "n"),
        (product_dim(["n", None, 0]), 0),
        (window_dim("n", 3, 1, 2), "n"),
        (window_dim("n", 5, 1, None), "n"),
    ],
    ids=itertools.count(),
)
def test_what_has_one_name(one, other):
    assert one == other
    assert one is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (slice_dim("n", 0, -1, 1), slice_dim("n", 0, -2, 1)),
        (slice_dim("n", -1, 2**62, 1), slice_dim("n", 0, 1, 2)),
        # Of an empty axis one is left, not none.
        (sum_dim([slice_dim("n", 0, -1, 1), 1]), "n"),
        (sum_dim(["n", "m"]), product_dim(["n", "m"])),
        (broadcast_dim("a", "b"), "a"),
        # A table of one row is broadcast.
        (broadcast_dim(slice_dim(1, 0, "n", 1), "n"), slice_dim(1, 0, "n", 1)),
        (window_dim("n", 3, 2, None), window_dim("n", 3, 3, None)),
        (quotient_dim(["n"], ["m"]), "n"),
        (opaque_dim(sum_dim(["n", 1])), sum_dim(["n", 1])),
    ],
    ids=itertools.count(),
)
def test_what_has_different_names(one, other):
    assert one != other


@pytest.mark.parametrize(
    "dim",
    [
        sum_dim(["n", None]),
        product_dim(["n", None]),
        slice_dim(None, 0, 1, 1),
        slice_dim("n", None, 1, 1),
        slice_dim("n", 0, 1, 0),
        broadcast_dim("n", None),
        quotient_dim([7], [2]),
        quotient_dim(["n"], [0]),
        quotient_dim(["n", None], ["n"]),
        window_dim(None, 3, 1, 2),
        window_dim("n", 3, 2, 2),
        sum_dim(["1", 2]),
        product_dim(["a*a", "a"]),
    ],
    ids=itertools.count(),
)
def test_unknown_sizes_stay_unknown(dim):
    assert dim is None


def test_what_is_known_to_have_been_broadcast_from_its_own_size():
    assert surely_equal("n", "n")
    assert surely_equal(slice_dim(512, 0, "n", 1), "n")
    assert not surely_equal(slice_dim(1, 0, "n", 1), "n")
    assert not surely_equal("n", broadcast_dim("n", "m"))
    assert not surely_equal(None, None)


@pytest.mark.parametrize(
    ("dim", "size"),
    [
        ("n", 6),
        (4, 4),
        (None, None),
        ("elsewhere", None),
        (sum_dim(["n", 1, "m"]), 10),
        (product_dim(["n", 2, "m"]), 36),
        (slice_dim("n", 0, -2, 1), 4),
        (slice_dim("n", 1, 2**62, 2), 3),
        (slice_dim(512, 0, "n", 1), 6),
        (broadcast_dim("one", "n"), 6),
        (broadcast_dim("elsewhere", "one"), None),
        (window_dim("n", 3, 2, None), 3),
        (slice_dim(product_dim(["n", "m"]), 3, 2**62, 1), 15),
        (opaque_dim(sum_dim(["n", 1])), None),
    ],
    ids=itertools.count(),
)
def test_sizes_of_a_call(dim, size):
    assert substitute_dim(dim, {"n": 6, "m": 3, "one": 1}) == size
    named = substitute_dim(dim, {"n": "x", "m": "y", "one": "z"})
    assert substitute_dim(named, {"x": 6, "y": 3, "z": 1}) == size


def test_nobody_sees_a_derived_name():
    for dim in (sum_dim(["n", 1]), opaque_dim(sum_dim(["n", 1]))):
        assert is_automatic_dim(dim)
        assert format_shape((dim, "n", 2)) == "[None, n, 2]"
    assert opaque_dim("n") == "n"
    assert opaque_dim(opaque_dim(sum_dim(["n", 1]))) == opaque_dim(sum_dim(["n", 1]))


def test_names_do_not_grow_without_end(monkeypatch):
    """Loops that Python unrolls: the same sum again and again, or another slice of a slice."""
    dim = "n"
    for _ in range(1000):
        dim = sum_dim([dim, 1])
    assert dim == sum_dim(["n", 1000])
    for _ in range(1000):
        dim = slice_dim(dim, 0, 2**62, 3)
        assert dim is None or len(dim) <= 200
    assert dim is None
    monkeypatch.setattr(dim_names, "_PARTS_LIMIT", 10)
    monkeypatch.setattr(dim_names, "_parts", {})
    for i in range(100):
        sum_dim([f"x{i}", 1])
    assert len(dim_names._parts) == 10
    assert sum_dim(["x0", 1]) == "(1+x0)." and sum_dim(["x99", 1]) is None


def test_names_whose_parts_are_forgotten_are_names_like_others(monkeypatch):
    both = product_dim(["n", "m"])
    monkeypatch.setattr(dim_names, "_parts", {})
    assert quotient_dim([both], ["n"]) is None
    assert quotient_dim([both, 2], [both]) == 2
    assert product_dim(["n", "m"]) == both
