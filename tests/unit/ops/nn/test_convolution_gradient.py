"""Gradients of ONNX's own convolution operators, with the attributes that imported models use."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import UnimplementedError
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.ops.math.reduction import reduce_sum
from tfx.ops.nn.convolution import conv2d
from tfx.testing import assert_close, check_grads

# operator, input shape, filter shape, bias or None, attributes
CASES = [
    ("Conv", (2, 3, 6, 7), (4, 3, 3, 2), (4,), {}),
    ("Conv", (2, 3, 6, 7), (4, 3, 3, 2), None, {"auto_pad": "VALID", "strides": (2, 2)}),
    ("Conv", (1, 2, 6, 7), (4, 2, 3, 2), (4,), {"auto_pad": "SAME_LOWER", "strides": (2, 1)}),
    ("Conv", (1, 2, 6, 7), (4, 2, 3, 3), None, {"auto_pad": "SAME_UPPER", "strides": (2, 2)}),
    ("Conv", (1, 4, 6, 7), (6, 2, 3, 3), (6,), {"group": 2, "pads": (1, 0, 2, 1)}),
    ("Conv", (1, 4, 6, 7), (4, 1, 3, 3), None, {"group": 4, "dilations": (2, 1)}),
    ("ConvTranspose", (2, 3, 4, 5), (3, 2, 3, 2), (2,), {}),
    ("ConvTranspose", (1, 3, 4, 5), (3, 2, 3, 3), None,
     {"strides": (2, 3), "pads": (1, 0, 1, 2), "output_padding": (1, 2)}),
    ("ConvTranspose", (1, 4, 3, 3), (4, 3, 2, 2), (6,), {"group": 2, "dilations": (2, 1)}),
]  # fmt: skip


def of(case):
    """Exporters write the kernel's shape down; float64 needs it before any shape is known."""
    op, x, w, bias, attrs = case
    return op, x, w, bias, {"kernel_shape": w[2:], **attrs}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients(case, rng):
    op, x, w, bias, attrs = of(case)
    inputs = [rng.standard_normal(s) for s in (x, w, bias) if s is not None]
    check_grads(lambda *args: apply(op, args, attrs), inputs)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_float64_is_not_float32(case, rng):
    """What is computed from slices agrees with the kernel of float32, with nine more digits."""
    op, x, w, bias, attrs = of(case)
    inputs = [rng.standard_normal(s).astype(np.float32) for s in (x, w, bias) if s is not None]
    single = apply(op, [constant(i) for i in inputs], attrs)
    double = apply(op, [constant(i.astype(np.float64)) for i in inputs], attrs)
    assert_close(double.numpy().astype(np.float32), single, rtol=1e-4, atol=1e-5)
    scaled = apply(
        op, [constant(i.astype(np.float64) * (1 + 1e-10 * (k == 0))) for k, i in enumerate(inputs)],
        attrs,
    )  # fmt: skip
    assert (scaled.numpy() != double.numpy()).any()


@pytest.mark.parametrize(
    "attrs", [{"auto_pad": "SAME_UPPER", "strides": (2, 2)}, {"output_shape": (5, 6)}]
)
def test_transposed_with_automatic_padding(attrs, rng):
    """float32 only: the kernel decides on the padding."""
    x = rng.standard_normal((1, 2, 4, 5)).astype(np.float32)
    w = rng.standard_normal((2, 3, 3, 3)).astype(np.float32)

    def f(x, w):
        return apply("ConvTranspose", (x, w), {"kernel_shape": (3, 3), **attrs})

    check_grads(f, [x, w], eps=0.5, rtol=1e-3, atol=1e-3)

    def gradient(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = f(x, constant(w))
        return tape.gradient(y, x)

    with pytest.raises(UnimplementedError, match="needs static sizes"):
        run_traced(gradient, x)


def test_no_images(rng):
    x = constant(np.ones((0, 4, 4, 2), np.float32))
    w = constant(rng.standard_normal((3, 3, 2, 5)).astype(np.float32))
    with GradientTape() as tape:
        tape.watch([x, w])
        y = reduce_sum(conv2d(x, w, 2, "SAME"))
    dx, dw = tape.gradient(y, [x, w])
    assert dx.shape == [0, 4, 4, 2]
    assert_close(dw, np.zeros((3, 3, 2, 5)))


def test_groups_need_static_channels(rng):
    x, w = rng.standard_normal((1, 4, 5, 5)), rng.standard_normal((4, 2, 3, 3))

    def gradient(x, w):
        w.set_shape([None, None, 3, 3])
        with GradientTape() as tape:
            tape.watch(w)
            y = apply("Conv", (x, w), {"group": 2})
        return tape.gradient(y, w)

    with pytest.raises(UnimplementedError, match="static channel counts"):
        run_traced(gradient, x, w)

    def of_unknown_kernel(x, w):
        with GradientTape() as tape:
            tape.watch(w)
            y = apply("Conv", (x, w), {"group": 2})
        return tape.gradient(y, w)

    with pytest.raises(UnimplementedError, match="must be static"):
        run_traced(of_unknown_kernel, x, w)
