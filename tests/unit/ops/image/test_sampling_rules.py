"""Gradients of ``GridSample``, ``AffineGrid`` and ``DeformConv``; PyTorch's numbers in float64."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.autodiff.backprop  # noqa: F401
from tests.unit.ops.imported import numbers, operator, probes
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import UnimplementedError
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.framework.rules import OpRecord, formula_of
from tfx.testing import check_grads

# mode, padding, align_corners: by the image, by the grid
SAMPLED = {
    ("linear", "zeros", 0): (0.118907660878, -2.09911019831),
    ("linear", "zeros", 1): (-1.83530414864, -1.36501876657),
    ("linear", "border", 0): (-0.984922296014, -1.45477365069),
    ("linear", "border", 1): (-2.05125943758, 1.92438705266),
    ("linear", "reflection", 0): (-1.64832704879, -3.07787539381),
    ("linear", "reflection", 1): (-1.82725849707, -2.18238850985),
    ("nearest", "zeros", 0): (1.19384604051,),
    ("nearest", "zeros", 1): (-4.19165741389,),
    ("nearest", "border", 0): (-0.657695646326,),
    ("nearest", "border", 1): (-3.04481254327,),
    ("nearest", "reflection", 0): (-2.33779645296,),
    ("nearest", "reflection", 1): (-3.93316165487,),
    ("cubic", "zeros", 0): (0.146391447383, -1.9518260477),
    ("cubic", "zeros", 1): (-2.24763926175, -1.04902190421),
    ("cubic", "border", 0): (-1.21407699558, 0.929009082936),
    ("cubic", "border", 1): (-2.3339076769, 2.19032098122),
    ("cubic", "reflection", 0): (-2.46677557195, -3.18060526007),
    ("cubic", "reflection", 1): (-2.2953297531, -2.25531540387),
}
VOLUME = {
    "zeros": (-0.137785488661, -1.72614257374),
    "border": (-1.2468659346, 2.05293444196),
    "reflection": (-1.19266320256, 0.811785848237),
}


def sampling(mode, padding, centers):
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": centers}
    return operator("GridSample", attrs)


@pytest.mark.parametrize("case", SAMPLED, ids=lambda c: "-".join(map(str, c)))
def test_grid_sample_as_torch(case):
    arrays = [numbers(1, 2, 3, 5, 4), numbers(2, 2, 4, 3, 2) * 1.7]
    found = probes(sampling(*case), arrays, range(len(SAMPLED[case])))
    np.testing.assert_allclose(found, SAMPLED[case], rtol=1e-9)


@pytest.mark.parametrize("padding", VOLUME)
def test_grid_sample_of_volumes_as_torch(padding):
    arrays = [numbers(1, 1, 2, 3, 4, 5), numbers(2, 1, 2, 3, 2, 3) * 1.7]
    found = probes(sampling("linear", padding, 0), arrays, (0, 1))
    np.testing.assert_allclose(found, VOLUME[padding], rtol=1e-9)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_second_order_of_grid_sample(mode):
    arrays = [numbers(3, 1, 2, 4, 5), numbers(4, 1, 2, 3, 2)]
    check_grads(sampling(mode, "zeros", 0), arrays, eps=1e-5, rtol=1e-4, atol=1e-5)


def test_nearest_has_no_gradient_by_the_grid():
    x, grid = constant(numbers(1, 1, 1, 4, 4)), constant(numbers(2, 1, 2, 2, 2))
    with GradientTape() as tape:
        tape.watch(grid)
        y = sampling("nearest", "zeros", 0)(x, grid)
    assert tape.gradient(y, grid) is None


def test_points_that_are_not_numbers_do_no_harm():
    grid = np.array([[[[np.nan, np.inf], [0.1, -np.inf]]]])
    (found,) = probes(sampling("linear", "zeros", 0), [numbers(1, 1, 1, 4, 4), grid], (0,))
    assert np.isfinite(found)


@pytest.mark.parametrize(("centers", "expected"), [(0, 2.21859073474), (1, 2.36395689948)])
def test_affine_grid_as_torch(centers, expected):
    f = operator("AffineGrid", {"align_corners": centers}, np.array([2, 1, 4, 5]))
    np.testing.assert_allclose(probes(f, [numbers(3, 2, 2, 3)], (0,)), [expected], rtol=1e-9)


def test_affine_grid_of_volumes():
    f = operator("AffineGrid", {"align_corners": 1}, np.array([2, 1, 2, 3, 4]))
    check_grads(f, [numbers(3, 2, 3, 4)])


DEFORMED = [
    ({}, (2, 4, 5, 4), (3, 4, 2, 2), 1, False, False),
    ({"pads": (1, 0, 1, 2), "strides": (2, 1), "dilations": (1, 2)},
     (1, 4, 5, 6), (4, 4, 3, 2), 2, True, True),
    ({"group": 2, "offset_group": 2}, (2, 4, 4, 4), (6, 2, 2, 2), 2, True, False),
]  # fmt: skip


@pytest.mark.parametrize("case", DEFORMED, ids=["plain", "padded", "groups"])
def test_deform_conv(case):
    attrs, x, w, parts, has_bias, has_mask = case
    attrs = {"kernel_shape": w[2:], **attrs, "offset_group": parts}
    pads = attrs.get("pads", (0, 0, 0, 0))
    strides, dilations = attrs.get("strides", (1, 1)), attrs.get("dilations", (1, 1))
    counts = [
        (x[2 + i] + pads[i] + pads[2 + i] - dilations[i] * (w[2 + i] - 1) - 1) // strides[i] + 1
        for i in (0, 1)
    ]
    taps = w[2] * w[3]
    arrays = [numbers(1, *x), numbers(2, *w), numbers(3, x[0], 2 * parts * taps, *counts)]
    arrays += [numbers(4, w[0])] if has_bias else []
    arrays += [numbers(5, x[0], parts * taps, *counts)] if has_mask else []
    check_grads(lambda *t: apply("DeformConv", t, attrs), arrays, eps=1e-6, rtol=1e-4, atol=1e-5)


def test_shapes_that_are_not_known():
    def slope(x, grid):
        with GradientTape() as tape:
            tape.watch((x, grid))
            y = sampling("cubic", "border", 1)(x, grid)
        return tape.gradient(y, (x, grid))

    arrays = [numbers(1, 2, 3, 5, 4), numbers(2, 2, 4, 3, 2)]
    eager = slope(*(constant(a) for a in arrays))
    for got, want in zip(run_traced(slope, *arrays), eager, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-12)


def test_a_filter_of_unknown_size_is_named():
    op = OpRecord("DeformConv", {}, (constant(numbers(1, 1, 1, 3, 3)), _Unknown(), None), ())
    formula = formula_of("DeformConv")
    assert formula is not None
    with pytest.raises(UnimplementedError, match="static spatial sizes"):
        formula(op)


class _Unknown:
    """A filter of which nothing but the rank is known."""

    class shape:  # noqa: N801
        rank = 4

        @staticmethod
        def as_list():
            return [None] * 4
