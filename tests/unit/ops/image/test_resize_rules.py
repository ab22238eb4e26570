"""The gradient of ``Resize``: the transposed matrix of every mode; PyTorch's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.autodiff.backprop  # noqa: F401
from tests.unit.ops.imported import linear_slopes, numbers, operator, probes
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.ops.math.reduction import reduce_sum

COORDINATES = (
    "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric",
)  # fmt: skip
SCALES = ([1, 1, 2, 3], [1, 1, 0.6, 0.8], [1, 1, 1.7, 0.5])
CASES = [
    ((1, 2, 4, 5), None, scales, None, {"mode": mode, "coordinate_transformation_mode": c})
    for mode in ("nearest", "linear", "cubic")
    for c in COORDINATES
    for scales in SCALES
]
CASES += [
    ((1, 1, 4, 5), None, None, [1, 1, 7, 4], {"mode": "linear"}),
    ((1, 1, 4, 5), None, None, [3, 9], {"mode": "cubic", "axes": (2, 3)}),
    ((1, 1, 4, 5), None, [2.0, 0.5], None, {"mode": "linear", "axes": (3, 2)}),
    ((4, 5), None, [1.5, 2], None, {"mode": "linear"}),
    ((2, 3, 3), None, [2, 3, 1.5], None, {"mode": "nearest"}),
    ((1, 4, 5, 2), None, [1, 1.5, 2, 1], None, {"mode": "linear"}),
    ((1, 1, 3, 2, 4), None, [1, 1, 2, 0.5, 2], None, {"mode": "linear"}),
    ((1, 1, 6, 7), None, [1, 1, 0.6, 0.6], None, {"mode": "linear", "antialias": 1}),
    ((1, 1, 6, 7), None, None, [1, 1, 4, 9], {"mode": "cubic", "antialias": 1}),
    ((1, 1, 6, 7), None, [1, 1, 0.6, 1.6], None,
     {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5}),
]  # fmt: skip
CASES += [
    ((1, 2, 4, 5), None, [1, 1, 1.5, 2], None, {"mode": "nearest", "nearest_mode": rounding})
    for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
]
CASES += [
    ((1, 1, 4, 5), None, None, sizes,
     {"mode": mode, "axes": (2, 3), "keep_aspect_ratio_policy": policy})
    for mode in ("nearest", "linear")
    for policy in ("not_larger", "not_smaller")
    for sizes in ([7, 4], [12, 15])
]  # fmt: skip
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 10.0}
CASES += [
    ((1, 1, 5, 6), [0, 0, 0.2, 0.1, 1, 1, 0.7, 0.9], [1, 1, 1.5, 0.8], None,
     {"mode": "linear", **CROP}),
    ((1, 1, 5, 6), [0, 0, -0.2, 0.4, 1, 1, 0.7, 1.2], None, [1, 1, 6, 7],
     {"mode": "cubic", **CROP}),
    ((1, 1, 5, 6), [0.4, 0.6, 0.6, 1.7], None, [3, 3],
     {"mode": "nearest", "axes": (2, 3), **CROP}),
]  # fmt: skip


def inputs_of(case):
    shape, roi, scales, sizes, _ = case
    x = numbers(1, *shape).astype(np.float32)
    given = [
        None if roi is None else np.array(roi, np.float32),
        None if scales is None else np.array(scales, np.float32),
        None if sizes is None else np.array(sizes, np.int64),
    ]
    while given[-1] is None:
        given.pop()
    return x, given


def slope(x, seed, given, attrs):
    others = [None if g is None else constant(g) for g in given]
    with GradientTape() as tape:
        tape.watch(x)
        y = apply("Resize", (x, *others), attrs)
        total = reduce_sum(y * seed)
    return tape.gradient(total, x)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_the_transposed_matrix(case):
    x, given = inputs_of(case)
    matrix = linear_slopes("Resize", case[4], [x, *given])
    shape = apply("Resize", (constant(x), *(g if g is None else constant(g) for g in given)),
                  case[4]).shape  # fmt: skip
    seed = numbers(2, *shape).astype(np.float32)
    found = slope(constant(x), constant(seed), given, case[4])
    expected = (matrix @ seed.reshape(-1)).reshape(x.shape)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)


# mode, align_corners, antialias, size
TORCH = {
    ("linear", False, 0, (9, 11)): -0.899676799256,
    ("linear", False, 0, (3, 4)): -1.31367542279,
    ("linear", True, 0, (9, 11)): -1.05454147301,
    ("linear", True, 0, (3, 4)): -4.40055303346,
    ("cubic", False, 0, (9, 11)): -0.75740350445,
    ("cubic", False, 0, (3, 4)): -1.39385694529,
    ("cubic", True, 0, (9, 11)): -1.01916579188,
    ("cubic", True, 0, (3, 4)): -4.60087643951,
    ("linear", False, 1, (9, 11)): -0.899676799256,
    ("linear", False, 1, (3, 4)): -0.910586183842,
    ("cubic", False, 1, (9, 11)): -0.660204095234,
    ("cubic", False, 1, (3, 4)): -1.08499286543,
    ("nearest", False, 0, (9, 11)): 10.1639877022,
    ("nearest", False, 0, (3, 4)): -0.0235559632619,
}


@pytest.mark.parametrize("case", TORCH, ids=range(len(TORCH)))
def test_as_torch(case):
    mode, centers, antialias, size = case
    attrs = {"mode": mode, "antialias": antialias, "axes": (2, 3)}
    attrs |= {"exclude_outside": 1} if antialias else {}
    if mode == "nearest":
        attrs |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    elif centers:
        attrs["coordinate_transformation_mode"] = "align_corners"
    if antialias and mode == "cubic":
        attrs["cubic_coeff_a"] = -0.5
    f = operator("Resize", attrs, None, None, np.array(size))
    found = probes(f, [numbers(1, 2, 3, 6, 7).astype(np.float32)], (0,))
    np.testing.assert_allclose(found, [TORCH[case]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("number", [0, 1, 2, 45, 46, 47, 52, 55, 62])
def test_shapes_that_are_not_known(number):
    case = CASES[number]
    x, given = inputs_of(case)
    y = apply("Resize", (constant(x), *(g if g is None else constant(g) for g in given)), case[4])
    seed = numbers(2, *y.shape).astype(np.float32)
    eager = slope(constant(x), constant(seed), given, case[4])
    got = run_traced(lambda a, b: slope(a, b, given, case[4]), x, seed)
    np.testing.assert_allclose(got, eager.numpy(), rtol=1e-5, atol=1e-6)


def test_second_order_is_what_becomes_of_the_direction():
    x, given = inputs_of(CASES[20])
    attrs = CASES[20][4]
    y = apply("Resize", (constant(x), None, constant(given[1])), attrs)
    seed = constant(numbers(2, *y.shape).astype(np.float32))
    with GradientTape() as tape:
        tape.watch(seed)
        found = slope(constant(x), seed, given, attrs)
    again = tape.gradient(found, seed, output_gradients=constant(x))
    np.testing.assert_allclose(again.numpy(), y.numpy(), rtol=1e-5, atol=1e-5)
