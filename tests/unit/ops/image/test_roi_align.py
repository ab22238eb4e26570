"""Gradients of ``RoiAlign`` and ``MaxRoiPool``, by differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tfx.autodiff.backprop  # noqa: F401
from tests.unit.ops.imported import numbers, operator, probes
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.testing import check_grads

ROIS = np.array(
    [
        [0.31, 0.23, 6.17, 5.29],
        [1.37, 2.21, 8.13, 6.97],
        [-2.11, -3.07, 4.23, 3.19],
        [3.03, 3.05, 3.27, 3.13],
    ]
)
BATCH = np.array([0, 1, 1, 0])
CASES = list(itertools.product(("avg",), ("half_pixel", "output_half_pixel"), (0, 2), (1.0, 0.5)))
CASES += [("max", "half_pixel", 1, 1.0), ("max", "output_half_pixel", 2, 0.5)]


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c)))
def test_roi_align(case):
    mode, coordinates, ratio, scale = case
    attrs = {
        "mode": mode, "coordinate_transformation_mode": coordinates, "sampling_ratio": ratio,
        "spatial_scale": scale, "output_height": 2, "output_width": 3,
    }  # fmt: skip
    f = operator("RoiAlign", attrs, BATCH)
    check_grads(f, [numbers(1, 2, 2, 7, 9), ROIS], eps=1e-6, rtol=1e-4, atol=1e-5)


def pooled(x, rois, scale):
    attrs = {"pooled_shape": (2, 3), "spatial_scale": scale}
    return apply("MaxRoiPool", (x, rois), attrs)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_max_roi_pool(scale):
    """A permutation has no ties; every cell's gradient goes to its maximum."""
    x = np.random.default_rng(0).permutation(2 * 3 * 7 * 9).reshape(2, 3, 7, 9).astype(np.float32)
    rois = np.array(
        [[0, 0, 0, 6, 5], [1, 1.3, 2.2, 8.1, 6.9], [0, 3, 3, 3.2, 3.1], [1, 5, 4, 14, 12]],
        np.float32,
    )
    with GradientTape() as tape:
        image = constant(x)
        tape.watch(image)
        y = pooled(image, constant(rois), scale)
    seed = numbers(5, *y.shape).astype(np.float32)
    found = tape.gradient(y, image, output_gradients=constant(seed)).numpy()
    expected = np.zeros_like(x)
    for index in np.ndindex(*y.shape):
        value = y.numpy()[index]
        place = np.argwhere(x == value)
        if value == 0 and not _covers(rois[index[0]], scale, index, place[0]):
            continue  # an empty cell
        expected[tuple(place[0])] += seed[index]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def _covers(roi, scale, index, place):
    return place[0] == int(roi[0]) and place[1] == index[1] and (roi[1:] * scale < 7).all()


def test_second_order_of_max_roi_pool():
    rois = np.array([[0, 0, 0, 6, 5], [1, 1, 2, 8, 6]], np.float64)

    def f(x):
        y = pooled(x, constant(rois), 1.0)
        return y * y

    x = np.random.default_rng(1).permutation(2 * 2 * 7 * 9).reshape(2, 2, 7, 9) / 64.0
    check_grads(f, [x], eps=1e-3, rtol=1e-2, atol=1e-2)


def test_shapes_that_are_not_known():
    attrs = {"output_height": 2, "output_width": 2}

    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = operator("RoiAlign", attrs, ROIS, BATCH)(x)
        return tape.gradient(y, x)

    x = numbers(1, 2, 2, 7, 9)
    np.testing.assert_allclose(run_traced(slope, x), slope(constant(x)).numpy(), rtol=1e-12)
    assert probes(operator("RoiAlign", attrs, ROIS, BATCH), [x], (0,))
