"""``tfx.experimental.numpy`` against NumPy itself: values, shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
import tfx.experimental.numpy as tnp

RNG = np.random.default_rng(0)
REALS = RNG.uniform(-2, 2, (3, 4))
PARTS = RNG.uniform(-0.9, 0.9, (2, 3))
ABOVE = RNG.uniform(1.1, 3, (2, 3))
COUNTS = RNG.integers(-9, 9, (3, 4))


def agree(found: Any, expected: Any, *, dtype: bool = True) -> None:
    """Compare a tensor, or a sequence of them, with what NumPy gives."""
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            agree(a, b, dtype=dtype)
        return
    want = np.asarray(expected)
    have = np.asarray(found)
    assert have.shape == want.shape
    if dtype:
        assert have.dtype == want.dtype
    np.testing.assert_allclose(have, want, rtol=1e-10, atol=1e-12)


UNARY = {
    "sin cos tan arctan sinh cosh tanh arcsinh exp exp2 expm1 deg2rad rad2deg floor ceil fix "
    "sinc cbrt square abs negative positive sign isnan isinf isfinite isposinf isneginf "
    "signbit logical_not isreal iscomplex conj real angle ravel": REALS,
    "arcsin arccos arctanh": PARTS,
    "log log2 log10 log1p sqrt arccosh reciprocal": ABOVE,
    "abs negative square sign exp sqrt bitwise_not cumsum": np.abs(COUNTS) + 1,
}


@pytest.mark.parametrize(
    ("name", "x"), [(n, x) for names, x in UNARY.items() for n in names.split()]
)
def test_unary(name: str, x: Any) -> None:
    agree(getattr(tnp, name)(x), getattr(np, name)(x))


BINARY = (
    "add subtract multiply true_divide floor_divide mod remainder maximum minimum arctan2 hypot "
    "equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor "
    "heaviside logaddexp logaddexp2 isclose float_power"
)


@pytest.mark.parametrize("name", BINARY.split())
def test_binary(name: str) -> None:
    a, b = ABOVE, RNG.uniform(0.5, 2, 3)
    agree(getattr(tnp, name)(a, b), getattr(np, name)(a, b))
    small, other = np.int32([7, -7, 3]), np.float32([2, 2, -2])
    if name != "float_power":
        agree(getattr(tnp, name)(small, other), getattr(np, name)(small, other))


@pytest.mark.parametrize("name", ["gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor"])
def test_integers(name: str) -> None:
    a, b = np.array([12, 0, 7, 18]), np.array([[18], [5], [21]])
    agree(getattr(tnp, name)(a, b), getattr(np, name)(a, b))


REDUCTIONS = "sum prod mean var std max min amax amin ptp all any argmax argmin count_nonzero"


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", REDUCTIONS.split())
def test_reductions(name: str, axis: int | None) -> None:
    for x in (REALS, COUNTS, COUNTS > 0):
        if x.dtype == bool and name == "ptp":
            continue
        agree(
            getattr(tnp, name)(x, axis), getattr(np, name)(x, axis), dtype=name != "count_nonzero"
        )


def test_more_reductions() -> None:
    agree(tnp.sum(np.int8([100, 100])), np.sum(np.int8([100, 100])))
    agree(tnp.sum(REALS, 0, keepdims=True), np.sum(REALS, 0, keepdims=True))
    agree(tnp.var(REALS, 1, ddof=1), np.var(REALS, 1, ddof=1))
    gaps = np.where(REALS > 1, np.nan, REALS)
    for name in ("nansum", "nanprod", "nanmean"):
        agree(getattr(tnp, name)(gaps, 0), getattr(np, name)(gaps, 0))
    agree(tnp.average(REALS, 1, [1, 2, 3, 4]), np.average(REALS, 1, [1, 2, 3, 4]))
    agree(tnp.average(REALS, 0, returned=True), np.average(REALS, 0, returned=True))
    for axis in (None, 0, 1):
        for name in ("cumsum", "cumprod", "sort", "argsort"):
            agree(getattr(tnp, name)(REALS, axis), getattr(np, name)(REALS, axis))
    assert bool(tnp.allclose(REALS, REALS + 1e-12))
    assert not bool(tnp.array_equal(REALS, REALS + 1e-12))
    assert not bool(tnp.array_equal([1, 2], [1]))


MAKING: dict[str, tuple[Any, ...]] = {
    "zeros": ([2, 3],),
    "ones": ([2],),
    "full": ((2, 2), 7),
    "eye": (3, 4, 1),
    "identity": (2,),
    "arange": (1, 9, 2),
    "linspace": (0, 1, 5),
    "logspace": (0, 2, 3),
    "geomspace": (1, 100, 3),
    "tri": (3, 4, -1),
    "vander": ([1, 2, 3],),
    "diag": ([1.0, 2.0], 1),
    "diagflat": ([[1, 2], [3, 4]],),
    "ones_like": (COUNTS,),
    "zeros_like": (REALS,),
    "full_like": (REALS, 3),
    "array": ([[1, 2.5]],),
}


@pytest.mark.parametrize("name", MAKING)
def test_making(name: str) -> None:
    agree(getattr(tnp, name)(*MAKING[name]), getattr(np, name)(*MAKING[name]))


CUBE = RNG.normal(size=(2, 3, 4))
MOVING: dict[str, tuple[Any, ...]] = {
    "reshape": (CUBE, [4, -1]),
    "transpose": (CUBE, [1, 0, 2]),
    "swapaxes": (CUBE, 0, 2),
    "moveaxis": (CUBE, 0, -1),
    "expand_dims": (CUBE, 1),
    "squeeze": (CUBE[:1],),
    "broadcast_to": (CUBE[:, :1], (2, 3, 4)),
    "concatenate": ([CUBE, CUBE[:, :1]], 1),
    "append": (CUBE, [1.0]),
    "stack": ([CUBE, CUBE], 1),
    "vstack": ([[1, 2], [3.5, 4]],),
    "hstack": ([[[1], [2]], [[3], [4]]],),
    "dstack": ([[1, 2], [3, 4]],),
    "split": (CUBE, [1, 2], 1),
    "vsplit": (CUBE, 2),
    "hsplit": (CUBE, 3),
    "dsplit": (CUBE, 2),
    "flip": (CUBE,),
    "flipud": (CUBE,),
    "fliplr": (CUBE,),
    "roll": (CUBE, 5),
    "rot90": (CUBE, 1),
    "repeat": (CUBE, 2),
    "tile": (CUBE, (2, 1, 1, 3)),
    "pad": ([[1, 2], [3, 4]], [[1, 0], [0, 2]]),
    "take": (CUBE, [0, 2], 1),
    "take_along_axis": (CUBE, np.argsort(CUBE, 1), 1),
    "compress": ([True, False, True], CUBE, 1),
    "where": (CUBE > 0, CUBE, 0),
    "nonzero": (COUNTS,),
    "diff": (CUBE, 2, 1),
    "diagonal": (CUBE, 1),
    "trace": (CUBE, 0, 1, 2),
    "triu": (CUBE, 1),
    "tril": (CUBE, -1),
    "clip": (CUBE, -0.5, None),
    "around": (CUBE, 1),
    "matmul": (CUBE, CUBE.transpose(0, 2, 1)),
    "dot": (CUBE, CUBE.transpose(0, 2, 1)),
    "inner": (CUBE, CUBE),
    "vdot": (CUBE, CUBE),
    "outer": ([1, 2], [3, 4.5]),
    "kron": ([[1, 2], [3, 4]], [[0, 5]]),
    "tensordot": (CUBE, CUBE, [[0, 1], [0, 1]]),
    "cross": ([[1, 2, 3]], [[4, 5, 6.5]]),
    "polyval": ([1, 2, 3], 2.0),
    "select": ([[True, False, False], [True, True, False]], [[1, 2, 3], [4, 5, 6]], 9),
    "meshgrid": ([1, 2], [3, 4, 5]),
    "divmod": ([7, -7], 3),
    "size": (CUBE,),
    "ndim": (CUBE,),
    "shape": (CUBE,),
}


@pytest.mark.parametrize("name", MOVING)
def test_moving_and_products(name: str) -> None:
    args = MOVING[name]
    expected = getattr(np, name)(*args)
    agree(getattr(tnp, name)(*args), expected)


def test_vectors_in_products() -> None:
    a, m = np.arange(3.0), CUBE[0]
    agree(tnp.matmul(a, m), a @ m)
    agree(tnp.matmul(m, np.arange(4.0)), m @ np.arange(4.0))
    agree(tnp.matmul(a, a), a @ a)
    agree(tnp.einsum("ij,ij->j", m, m), np.einsum("ij,ij->j", m, m))
    agree(tnp.reshape(m, -1, order="F"), m.reshape(-1, order="F"))


def test_promotion() -> None:
    assert tnp.result_type(tnp.float32, 1.0) == tf.float32
    assert tnp.promote_types(tnp.int32, tnp.float32) == tf.float64
    assert (tnp.ones([2], tnp.float32) + 1).dtype == tf.float32
    assert tnp.add(tnp.ones([2], tnp.int32), 1.5).dtype == tf.float64
    assert tnp.array([tf.constant(1), 2.5]).dtype == tf.float64
    assert tnp.isscalar(1) and tnp.isscalar(tf.constant(1)) and not tnp.isscalar([1])
    assert tnp.isrealobj(REALS) and not tnp.iscomplexobj(REALS)
    assert tnp.ndarray is tf.Tensor


def test_random_numbers() -> None:
    tnp.random.seed(1)
    assert tnp.random.randn(3, 2).dtype == tf.float64
    found = tnp.random.randint(2, 5, [1000]).numpy()
    assert set(found) == {2, 3, 4}
    assert found.dtype == np.int64
    values = tnp.random.uniform(-1, 1, 1000).numpy()
    assert -1 <= values.min() < -0.9 < 0.9 < values.max() < 1
    assert abs(tnp.random.poisson(4.0, 2000).numpy().mean() - 4) < 0.3
    assert tnp.random.rand(2).shape == [2]
    assert tnp.random.random([2]).shape == [2]
    assert tnp.random.standard_normal().shape == []


def test_tapes_and_functions_see_them() -> None:
    x = tf.Variable([0.5, 1.5])

    @tf.function
    def loss(x: Any) -> Any:
        return tnp.sum(tnp.sin(tnp.matmul(x, tnp.array([1, 2]))) ** 2)

    with tf.GradientTape() as tape:
        y = loss(x)
    expected = 2 * np.sin(3.5) * np.cos(3.5) * np.array([1, 2])
    np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-5)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="a_min and a_max"):
        tnp.clip(REALS, None, None)
    with pytest.raises(ValueError, match="both"):
        tnp.where(REALS, 1)
    with pytest.raises(ValueError, match="order"):
        tnp.reshape(REALS, [-1], order="K")
    with pytest.raises(ValueError, match="mode"):
        tnp.pad(REALS, 1, "wrap")
    with pytest.raises(ValueError, match="scalars"):
        tnp.matmul(1, 2)


def test_what_real_numbers_have_no_part_of() -> None:
    x = np.array([np.inf, -1.0, np.nan])
    agree(tnp.imag(x), np.imag(x))
    assert not np.signbit(tnp.imag(x).numpy()).any()
    z = np.array([1 + 2j, -3j])
    for name in ("real", "imag", "conj"):
        agree(getattr(tnp, name)(z), getattr(np, name)(z))


@pytest.mark.parametrize(
    "name", ["less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "add"]
)
def test_order_of_truth(name: str) -> None:
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    agree(getattr(tnp, name)(a, b), getattr(np, name)(a, b))
    agree(tnp.bitwise_not(a), np.bitwise_not(a))


def test_limits_of_what_can_be_computed() -> None:
    x = np.array([-np.inf, np.inf, 1e308])
    agree(tnp.logaddexp(x, x), np.logaddexp(x, x))
    large = np.int32([2**20 * 3]), np.int32([2**20])
    agree(tnp.lcm(*large), np.lcm(*large))


def test_facts_of_dtypes() -> None:
    assert tnp.finfo(tnp.float32).eps == np.finfo(np.float32).eps
    assert tnp.iinfo(tnp.int8).min == -128
    assert tnp.finfo(tnp.array([1.0])).bits == 64
    assert tnp.issubdtype(tnp.float32, np.floating)
    assert not tnp.issubdtype(tnp.int32, tnp.inexact)


@pytest.mark.parametrize("kind", [int, float, bool, "int32", np.float32])
def test_dtypes_that_python_names(kind: Any) -> None:
    ones = [[1.0, 1.0], [1.0, 1.0]]
    for name, args in {
        "zeros": ([2],), "ones": ([2],), "empty": ([0],), "full": ([2], 1), "array": (ones,),
        "asarray": (ones,), "eye": (2,), "identity": (2,), "tri": (2,), "arange": (0, 2),
        "zeros_like": (ones,), "ones_like": (ones,), "full_like": (ones, 1), "trace": (ones,),
        "linspace": (0, 1, 2), "logspace": (0, 1, 2), "cumsum": (ones,),
    }.items():  # fmt: skip
        if kind is bool and name in ("cumsum", "trace"):
            continue
        found = getattr(tnp, name)(*args, dtype=kind)
        assert found.dtype == np.dtype(kind), name
        if name != "empty":
            agree(found, getattr(np, name)(*args, dtype=kind))


def test_complex_numbers() -> None:
    z = np.array([1 + 0j, 1j, -2 - 2j])
    agree(tnp.angle(z), np.angle(z))
    agree(tnp.angle(z, deg=True), np.angle(z, deg=True))
    agree(tnp.iscomplex(z), np.iscomplex(z))
    agree(tnp.isreal(z), np.isreal(z))
    assert not tnp.isrealobj(z)


def test_the_next_number() -> None:
    agree(tnp.nextafter([1.0, 2.0], 0), np.nextafter([1.0, 2.0], 0))


@pytest.mark.parametrize(
    "name",
    ["sinh", "arcsinh", "exp", "log", "sqrt", "tanh", "reciprocal", "deg2rad", "true_divide"],
)
def test_imaginary_parts_stay(name: str) -> None:
    z = np.array([1 + 2j, -0.5j, 3 - 1j])
    others = (np.array([2, 3, 4]),) if name == "true_divide" else ()
    expected = z * (np.pi / 180) if name == "deg2rad" else getattr(np, name)(z, *others)
    np.testing.assert_allclose(getattr(tnp, name)(z, *others), expected, rtol=1e-12)


def test_complex_products_and_what_is_close() -> None:
    z = np.array([1 + 2j, -0.5j])
    np.testing.assert_allclose(tnp.vdot(z, [1, 2]), np.vdot(z, [1, 2]))
    assert tnp.isclose(z, z + np.array([0, 1j])).numpy().tolist() == [True, False]
    assert tnp.nansum(z).numpy() == z.sum()


def test_arguments_of_numpys_names():
    assert tnp.imag(val=[1 + 2j]).numpy().tolist() == [2]
    assert tnp.real(val=[2.0 + 1j]).numpy().tolist() == [2]
    assert tnp.flatten([[1, 2], [3, 4]], "F").numpy().tolist() == [1, 3, 2, 4]
    assert tnp.flatten([[1, 2], [3, 4]], "C").numpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="Overriding the shape"):
        tnp.full_like([1], 2, shape=[3])
    with pytest.raises(ValueError, match="order must be"):
        tnp.flatten([1], "X")
