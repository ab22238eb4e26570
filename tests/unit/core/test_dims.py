"""Raw shapes: visibility of names, and broadcasting against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfx.core.dims import (
    RawShape,
    broadcast_static_shape,
    format_shape,
    is_automatic_dim,
    merge_dims,
    visible_shape,
)
from tfx.core.errors import InvalidArgumentError

SIZES = st.lists(st.sampled_from([0, 1, 2, 3]), max_size=4).map(tuple)


def test_names_with_a_dot_are_automatic() -> None:
    assert is_automatic_dim("image.d0")
    assert not any(is_automatic_dim(dim) for dim in ("batch", 3, None))


@pytest.mark.parametrize(
    ("raw", "shown", "text"),
    [
        (None, None, "<unknown>"),
        ((), (), "[]"),
        ((3,), (3,), "[3]"),
        (("batch", 8), ("batch", 8), "[batch, 8]"),
        (("image.d0", 8, None), (None, 8, None), "[None, 8, None]"),
    ],
)
def test_visible_shape(raw: RawShape, shown: RawShape, text: str) -> None:
    assert visible_shape(raw) == shown
    assert format_shape(raw) == text


@given(SIZES, SIZES)
def test_broadcast_of_known_sizes_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(InvalidArgumentError) as caught:
            broadcast_static_shape(a, b)
        assert format_shape(a) in str(caught.value)
        assert format_shape(b) in str(caught.value)
    else:
        assert broadcast_static_shape(a, b) == expected


@given(st.data())
def test_broadcast_with_unknown_sizes_never_contradicts_numpy(data: st.DataObject) -> None:
    """Whatever sizes the names turn out to have, the static answer covers the real one."""
    dims = st.sampled_from([0, 1, 2, 3, None, "n", "m", "x.d0"])
    shapes = st.lists(dims, max_size=3).map(tuple)
    a, b = data.draw(shapes), data.draw(shapes)
    sizes = {name: data.draw(st.sampled_from([0, 1, 2, 3])) for name in ("n", "m", "x.d0")}

    def concrete(raw: tuple[int | str | None, ...]) -> tuple[int, ...]:
        return tuple(
            data.draw(st.sampled_from([0, 1, 2, 3]))
            if dim is None
            else sizes[dim]
            if isinstance(dim, str)
            else dim
            for dim in raw
        )

    try:
        real = np.broadcast_shapes(concrete(a), concrete(b))
    except ValueError:
        return
    static = broadcast_static_shape(a, b)
    assert static is not None
    assert len(static) == len(real)
    for dim, size in zip(static, real, strict=True):
        assert dim is None or (sizes[dim] if isinstance(dim, str) else dim) == size


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (None, (1, 2), None),
        ((1, 2), None, None),
        (("n", 1), (8,), ("n", 8)),
        (("n",), ("n",), ("n",)),
        (("n",), ("m",), (None,)),
        (("n",), (None,), (None,)),
        (("n",), (1,), ("n",)),
        (("n",), (4,), (4,)),
        ((None,), (0,), (0,)),
    ],
)
def test_broadcast_of_names(a: RawShape, b: RawShape, expected: RawShape) -> None:
    assert broadcast_static_shape(a, b) == expected
    assert broadcast_static_shape(b, a) == expected


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        (None, None, None),
        (None, 3, 3),
        (None, "n", "n"),
        ("n", 3, 3),
        ("n", "x.d0", "n"),
        ("x.d0", None, "x.d0"),
        (3, 3, 3),
    ],
)
def test_merge_keeps_the_more_telling(
    a: int | str | None, b: int | str | None, merged: int | str | None
) -> None:
    assert merge_dims(a, b) == merged
    assert merge_dims(b, a) == merged
