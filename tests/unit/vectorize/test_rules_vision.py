"""Batching rules of operators that sample images."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.vectorize.elementwise import Case, check, check_all, fixed, normal, whole

IMAGE = normal(2, 3, 6, 7)
CROP = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}


def rois(rng):
    return np.concatenate([rng.uniform(0, 2, (4, 2)), rng.uniform(3, 6, (4, 2))], 1).astype("f4")


def numbered_rois(rng):
    return np.concatenate([rng.integers(0, 2, (4, 1)), rois(rng)], 1).astype(np.float32)


def grid(rng):
    return rng.uniform(-1, 1, (2, 4, 5, 2)).astype(np.float32)


CASES = [
    *(
        case
        for mode in ("nearest", "linear", "cubic")
        for case in (
            Case("Resize", {"mode": mode}, (IMAGE, None, fixed([1, 1, 1.5, 2], np.float32)), (0,)),
            Case("Resize", {"mode": mode}, (IMAGE, None, None, fixed([2, 3, 9, 4])), (0,)),
            Case("Resize", {"mode": mode, "axes": (2, -1)},
                 (IMAGE, None, None, fixed([9, 4])), (0,)),
        )
    ),
    Case("Resize", CROP, (IMAGE, fixed([0, 0, 0.1, 0.2, 1, 1, 0.8, 0.7], np.float32), None,
                          fixed([2, 3, 9, 4])), (0,)),
    Case("GridSample", {}, (IMAGE, grid), (0, 1)),
    Case("AffineGrid", {}, (normal(2, 2, 3), fixed([2, 3, 4, 5])), (0,)),
    Case("RoiAlign", {"output_height": 2, "output_width": 2, "sampling_ratio": 2},
         (IMAGE, rois, whole(0, 2, 4)), (0, 1, 2)),
    Case("MaxRoiPool", {"pooled_shape": (2, 2)}, (IMAGE, numbered_rois), (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_vision(number):
    check_all(CASES[number])


def test_a_resized_first_axis_takes_a_loop():
    inputs = (normal(2, 3), None, fixed([2, 1], np.float32))
    check(Case("Resize", {}, inputs, (0,), loops=True), (0,), traced=False)
