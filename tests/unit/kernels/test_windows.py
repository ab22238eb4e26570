"""Convolutions, pools and their gradients by our kernels: as ONNX Runtime and SciPy have them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library

pytestmark = needs_library
OURS = "ChannelsLast"


def operators(function, *args):
    with tf.profile() as p:
        function(*args)
    return {node.op for node in p.nodes}


def with_gradients(function):
    """Results and gradients with respect to all arguments, the result weighted differently."""

    def run(*args):
        with tf.GradientTape() as tape:
            tape.watch(args)
            y = function(*args)
            sizes = tf.cast(tf.size(y), tf.float32)
            weights = tf.sin(tf.reshape(tf.range(sizes), tf.shape(y)))
            loss = tf.reduce_sum(y * weights)
        return y, *tape.gradient(loss, args)

    return run


def both(function, *arrays, signature=None):
    """Results by our kernels and by ONNX Runtime's, and the operators of the former."""
    args = [tf.constant(a) for a in arrays]
    ours = tf.function(function, input_signature=signature, jit_compile=True)
    theirs = tf.function(function, input_signature=signature, jit_compile=False)
    expected = theirs(*args)
    found = ours(*args)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * np.max(np.abs(b), initial=1.0))
    return operators(ours, *args)


CONVOLUTIONS = [
    # batch, size, channels, filters, kernel, strides, dilations, padding
    (2, (9, 9), 3, 5, (3, 3), (1, 1), (1, 1), "SAME"),
    (2, (9, 8), 3, 5, (3, 3), (2, 2), (1, 1), "SAME"),
    (1, (12, 7), 33, 40, (5, 2), (1, 1), (1, 1), "VALID"),
    (3, (8, 8), 4, 6, (1, 1), (1, 1), (1, 1), "VALID"),
    (3, (8, 9), 4, 6, (1, 1), (2, 2), (1, 1), "SAME"),
    (2, (11, 10), 2, 3, (3, 2), (1, 1), (2, 3), "SAME"),
    (2, (13, 11), 2, 3, (4, 3), (3, 2), (1, 1), "VALID"),
    (1, (1, 40), 1, 70, (1, 7), (1, 1), (1, 1), "SAME"),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolutions(case, rng):
    n, (h, w), c, o, kernel, strides, dilations, padding = case
    x = rng.normal(size=(n, h, w, c)).astype(np.float32)
    f = rng.normal(size=(*kernel, c, o)).astype(np.float32)

    def convolution(x, f):
        return tf.nn.conv2d(x, f, strides, padding, dilations=dilations)

    used = both(with_gradients(convolution), x, f)
    assert f"{OURS}Conv" in used and f"{OURS}ConvFilterGradient" in used
    turned = {"Transpose"} if kernel == (1, 1) else set()  # a filter of one tap, in its gradient
    assert not used & {"Conv", "ConvTranspose", "Transpose", "Gather"} - turned, used


def test_as_scipy_has_it(rng):
    x = rng.normal(size=(1, 20, 15, 1)).astype(np.float32)
    f = rng.normal(size=(4, 3, 1, 1)).astype(np.float32)
    y = tf.function(lambda x, f: tf.nn.conv2d(x, f, 1, "VALID"), jit_compile=True)(x, f)
    expected = scipy.signal.correlate2d(x[0, :, :, 0].astype(float), f[:, :, 0, 0], "valid")
    np.testing.assert_allclose(y[0, :, :, 0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("strides", [1, 2])
def test_transposed_convolutions(strides, rng):
    x = rng.normal(size=(2, 5, 6, 4)).astype(np.float32)
    f = rng.normal(size=(3, 3, 7, 4)).astype(np.float32)
    sizes = [2, 5 * strides, 6 * strides, 7]
    used = both(with_gradients(lambda x, f: tf.nn.conv2d_transpose(x, f, sizes, strides)), x, f)
    assert f"{OURS}ConvInputGradient" in used


@pytest.mark.parametrize("window", [((2, 2), 2, "VALID"), ((3, 3), 2, "SAME"), ((3, 2), 1, "SAME")])
def test_pools(window, rng):
    # Whole numbers, many of which are equal: the first of them has the gradient.
    x = rng.integers(0, 4, size=(3, 9, 8, 5)).astype(np.float32)
    used = both(with_gradients(lambda x: tf.nn.max_pool2d(x, *window)), x)
    assert {f"{OURS}MaxPool", f"{OURS}MaxPoolGradient"} <= used
    assert not used & {"MaxPool", "ScatterElements", "Transpose"}


def test_nan_is_the_largest_of_its_window(rng):
    x = rng.normal(size=(1, 4, 4, 2)).astype(np.float32)
    x[0, 1, 0, 0] = np.nan
    pool = tf.function(
        with_gradients(lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID")), jit_compile=True
    )
    y, dx = pool(x)
    expected = x.reshape(2, 2, 2, 2, 2).max(axis=(1, 3))
    np.testing.assert_array_equal(y[0], expected)
    assert np.count_nonzero(dx) == 8 - 1  # one weight is sin(0)


def network(x, first, second, last):
    h = tf.nn.relu(tf.nn.conv2d(x, first, 1, "SAME"))
    h = tf.nn.max_pool2d(h, 2, 2, "SAME")
    h = tf.nn.relu(tf.nn.conv2d(h, second, 2, "SAME"))
    return tf.reduce_mean(h, [1, 2]) @ last


def parameters(rng, batch=3):
    shapes = (batch, 10, 12, 3), (3, 3, 3, 8), (3, 3, 8, 16), (16, 4)
    return [rng.normal(size=s).astype(np.float32) for s in shapes]


@pytest.mark.parametrize("batch", [0, 1, 5])
@pytest.mark.parametrize("spatial", [(10, 12), (None, None)])
def test_unknown_sizes_and_empty_batches(batch, spatial, rng):
    arrays = parameters(rng, batch)
    specs = [tf.TensorSpec(a.shape) for a in arrays]
    specs[0] = tf.TensorSpec([None, *spatial, 3])
    used = both(with_gradients(network), *arrays, signature=specs)
    assert any(name.startswith(OURS) for name in used)


def test_channels_first_as_well(rng):
    x, first, second, last = parameters(rng)

    def turned(x, *weights):
        return network(tf.transpose(x, [0, 2, 3, 1]), *weights)

    used = both(with_gradients(turned), x.transpose(0, 3, 1, 2), first, second, last)
    assert f"{OURS}Conv" in used and "Conv" not in used


def test_in_loops_branches_and_called_functions(rng):
    x, f = (rng.normal(size=s).astype(np.float32) for s in ((2, 6, 6, 4), (3, 3, 4, 4)))
    inner = tf.function(lambda x, f: tf.nn.conv2d(x, f, 1, "SAME"))

    def loop(x, f):
        for _ in tf.range(3):
            x = x + tf.tanh(inner(x, f))
        return tf.cond(tf.reduce_sum(x) < 1e9, lambda: inner(x, f), lambda: x)

    used = both(with_gradients(loop), x, f)
    assert f"{OURS}Conv" in used


def test_images_that_are_copies_of_others(rng):
    x, f = (rng.normal(size=s).astype(np.float32) for s in ((2, 6, 6, 2), (3, 3, 2, 3)))

    def convolution(x, f):
        return tf.nn.max_pool2d(
            tf.nn.conv2d(tf.identity(x), tf.identity(f), 1, "SAME"), 2, 2, "SAME"
        )

    assert f"{OURS}ConvFilterGradient" in both(with_gradients(convolution), x, f)


def test_gradients_of_gradients(rng):
    x, f = (rng.normal(size=s).astype(np.float32) for s in ((2, 6, 6, 2), (3, 3, 2, 3)))

    def slope(x, f):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.nn.max_pool2d(tf.nn.conv2d(x, f, 1, "SAME") ** 2, 2, 2, "SAME"))
        return tape.gradient(y, x)

    both(with_gradients(slope), x, f)


def test_a_filter_that_never_changes_is_left_to_onnx_runtime(rng):
    x, f, *_ = parameters(rng)
    fixed = tf.constant(f)
    assert "Conv" in operators(tf.function(lambda x: tf.nn.conv2d(x, fixed, 1, "SAME")), x)
    live = tf.Variable(f)
    infer = tf.function(lambda x: tf.nn.conv2d(x, live, 1, "SAME"))
    first = infer(x)
    assert f"{OURS}Conv" in operators(infer, x)
    for _ in range(20):  # until the variable counts as constant
        last = infer(x)
    assert f"{OURS}Conv" not in operators(infer, x)
    np.testing.assert_allclose(first, last, rtol=1e-5, atol=1e-5)


def test_a_transposed_convolution_with_a_constant_filter_is_ours(rng):
    x = rng.normal(size=(2, 5, 6, 4)).astype(np.float32)
    f = tf.constant(rng.normal(size=(3, 3, 7, 4)).astype(np.float32))
    used = both(lambda x: [tf.nn.conv2d_transpose(x, f, [2, 10, 12, 7], 2)], x)
    assert f"{OURS}ConvInputGradient" in used and "ConvTranspose" not in used


def test_groups_other_types_and_more_axes_are_left(rng):
    x = rng.normal(size=(1, 6, 6, 4)).astype(np.float32)
    grouped = rng.normal(size=(3, 3, 2, 4)).astype(np.float32)
    used = both(with_gradients(lambda x, f: tf.nn.conv2d(x, f, 1, "SAME")), x, grouped)
    assert f"{OURS}Conv" not in used
    volume = rng.normal(size=(1, 4, 4, 4, 2)).astype(np.float32)
    filters = rng.normal(size=(2, 2, 2, 2, 3)).astype(np.float32)
    both(with_gradients(lambda x, f: tf.nn.conv3d(x, f, [1] * 5, "SAME")), volume, filters)
    wide = [a.astype(np.float64) for a in (x, rng.normal(size=(3, 3, 4, 2)))]
    both(lambda x, f: (tf.nn.conv2d(x, f, 1, "SAME"),), *wide)


def test_saved_models_have_none_of_it(tmp_path, rng):
    x, *weights = parameters(rng)
    module = tf.Module()
    module.weights = [tf.Variable(w) for w in weights]
    module.serve = tf.function(
        lambda x: with_gradients(network)(x, *module.weights)[1],
        input_signature=[tf.TensorSpec([None, 10, 12, 3])],
    )
    expected = module.serve(x)
    tf.saved_model.save(module, str(tmp_path))
    files = list(tmp_path.rglob("*.onnx"))
    assert files and not any(OURS.encode() in file.read_bytes() for file in files)
    loaded = tf.saved_model.load(str(tmp_path)).serve(x)
    np.testing.assert_allclose(loaded, expected, rtol=1e-4, atol=1e-5)


def test_a_frozen_network_keeps_the_blocks_of_onnx_runtime():
    generator = np.random.default_rng(1)
    filters = [
        tf.Variable(generator.standard_normal((3, 3, *c)).astype(np.float32))
        for c in ((3, 16), (16, 16))
    ]
    scale, mean = (tf.Variable(np.linspace(1, 2, 16, dtype=np.float32)) for _ in range(2))

    def network(x):
        for w in filters:
            x = tf.nn.conv2d(x, w, 1, "SAME")
            x = tf.nn.relu(tf.nn.batch_normalization(x, mean, scale * scale, None, scale, 1e-3))
        x = tf.nn.max_pool2d(x, 2, 2, "SAME")
        return x, tf.reduce_mean(x, [1, 2])

    x = tf.constant(generator.standard_normal((2, 8, 8, 3)).astype(np.float32))
    frozen = tf.function(network, jit_compile=True)
    live = operators(frozen, x)
    expected = frozen(x)
    for _ in range(10):
        found = frozen(x)
    assert any(op.startswith(OURS) for op in live)
    assert not {op for op in operators(frozen, x) if op.startswith((OURS, "Fused"))}
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2), (3, 1)])
def test_the_gradient_of_an_activation_is_taken_behind_the_pool(size, stride, rng):
    """Of the pooled maxima, which are fewer; ties, zeros and windows that overlap included."""

    def network(x, f):
        y = tf.nn.relu(tf.nn.conv2d(x, f, 1, "SAME"))
        return tf.nn.max_pool2d(y, size, stride, "SAME")

    x = rng.integers(-1, 2, size=(3, 12, 11, 4)).astype(np.float32)
    f = rng.integers(-1, 2, size=(3, 3, 4, 8)).astype(np.float32)
    used = both(with_gradients(network), x, f)
    assert f"{OURS}MaxPoolGradient" in used
    with tf.profile() as p:
        tf.function(with_gradients(network))(x, f)
    (pool,) = [n for n in p.nodes if n.op == f"{OURS}MaxPoolGradient"]
    assert not [n for n in p.nodes[p.nodes.index(pool) + 1 :] if "Sign" in (n.name or "")]


@pytest.mark.parametrize(("taps", "ours"), [(5, True), (3, False)])
def test_a_frozen_network_of_wide_windows_stays_ours(taps, ours, rng):
    filters = [rng.normal(size=(taps, taps, *c)).astype(np.float32) for c in ((3, 16), (16, 32))]

    def network(x):
        for w in filters:
            x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME")), 2, 2, "SAME")
        return (x,)

    x = rng.normal(size=(2, 16, 16, 3)).astype(np.float32)
    used = both(network, x)
    assert (f"{OURS}Conv" in used) == (f"{OURS}MaxPool" in used) == ours


@pytest.mark.parametrize("batch", ["known", "unknown"])
@pytest.mark.parametrize(
    ("size", "channels", "kernel", "strides", "dilations", "padding"),
    [
        ((9, 8), 5, (3, 3), 1, 1, "SAME"),
        ((9, 8), 33, (3, 3), 2, 1, "SAME"),
        ((10, 7), 16, (5, 2), 1, 1, "VALID"),
        ((12, 12), 3, (3, 3), 2, 1, "VALID"),
        ((11, 10), 4, (3, 2), 1, (2, 3), "SAME"),
        ((13, 12), 7, (2, 4), 3, 1, "SAME"),
        ((5, 5), 1, (3, 3), 1, 1, "SAME"),
        ((1, 9), 8, (1, 3), 1, 1, "SAME"),
    ],
)
def test_depthwise_convolutions(size, channels, kernel, strides, dilations, padding, batch, rng):
    def function(x, w):
        given = [1, strides, strides, 1]
        return tf.nn.depthwise_conv2d(x, w, given, padding, dilations=np.broadcast_to(dilations, 2))

    x = rng.normal(size=(3, *size, channels)).astype(np.float32)
    w = rng.normal(size=(*kernel, channels, 1)).astype(np.float32)
    first = None if batch == "unknown" else 3
    specs = [tf.TensorSpec([first, *size, channels]), tf.TensorSpec(w.shape)]
    found = both(with_gradients(function), x, w, signature=specs)
    if channels > 1:  # else it is a convolution like any other
        assert {
            f"{OURS}Depthwise{name}" for name in ("", "InputGradient", "FilterGradient")
        } <= found
    empty = tf.function(
        with_gradients(function), input_signature=[tf.TensorSpec([None, *size, channels]), specs[1]]
    )
    y, dx, dw = empty(x[:0], w)
    assert y.shape[0] == dx.shape[0] == 0
    np.testing.assert_array_equal(dw, np.zeros_like(w))


TILED = [
    # batch, size, channels, filters, taps, padding; blocks that are not full, tiles over the border
    (3, (30, 27), 32, 40, 3, "SAME"),
    (16, (14, 14), 24, 64, 5, "SAME"),
    (2, (61, 18), 64, 48, 3, "VALID"),
    (70, (9, 12), 48, 32, 5, "VALID"),
]


def float64_convolution(x, f, dy, padding):
    """The result, and the gradients of images and filters."""
    x, f, dy = (a.astype(np.float64) for a in (x, f, dy))
    taps = f.shape[0]
    margin = taps // 2 if padding == "SAME" else 0
    pads = [(0, 0), (margin, margin), (margin, margin), (0, 0)]
    seen = np.lib.stride_tricks.sliding_window_view(np.pad(x, pads), (taps, taps), axis=(1, 2))
    pads = [(0, 0), *[(taps - 1 - margin,) * 2] * 2, (0, 0)]
    behind = np.lib.stride_tricks.sliding_window_view(np.pad(dy, pads), (taps, taps), axis=(1, 2))
    return (
        np.einsum("nijcyx,yxco->nijo", seen, f, optimize=True),
        np.einsum("nijoyx,yxco->nijc", behind, f[::-1, ::-1], optimize=True),
        np.einsum("nijcyx,nijo->yxco", seen, dy, optimize=True),
    )


@pytest.mark.parametrize("case", TILED, ids=str)
def test_tiles_of_convolutions_are_off_by_two_millionths(case, rng):
    n, (h, w), c, o, taps, padding = case
    x = np.maximum(rng.normal(size=(n, h, w, c)), 0).astype(np.float32)
    f = rng.normal(size=(taps, taps, c, o)).astype(np.float32)
    less = 0 if padding == "SAME" else taps - 1
    dy = rng.normal(size=(n, h - less, w - less, o)).astype(np.float32)

    @tf.function(input_signature=[tf.TensorSpec([None, *a.shape[1:]]) for a in (x, f, dy)])
    def run(x, f, dy):
        f = tf.ensure_shape(f, [taps, taps, c, o])
        with tf.GradientTape() as tape:
            tape.watch([x, f])
            y = tf.nn.conv2d(x, f, 1, padding)
        return y, *tape.gradient(y, [x, f], output_gradients=dy)

    found = run(x, f, dy)
    used = operators(run, x, f, dy)
    assert {f"{OURS}Conv", f"{OURS}ConvInputGradient", f"{OURS}ConvFilterGradient"} <= used
    for ours, exact in zip(found, float64_convolution(x, f, dy, padding), strict=True):
        error = np.sqrt(np.mean((ours - exact) ** 2) / np.mean(exact**2))
        assert error < 2e-6


@pytest.mark.parametrize("taps", [3, 5])
def test_what_is_not_finite_stays_in_its_windows(taps, rng):
    x = rng.normal(size=(2, 24, 24, 32)).astype(np.float32)
    f = rng.normal(size=(taps, taps, 32, 32)).astype(np.float32)
    x[0, 10, 7, 3], x[1, 0, 23, 0] = np.inf, np.nan
    ours, plain = (
        tf.function(lambda x, f: tf.nn.relu(tf.nn.conv2d(x, f, 1, "SAME")), jit_compile=fused)
        for fused in (True, False)
    )
    np.testing.assert_allclose(ours(x, f), plain(x, f), rtol=1e-4, atol=1e-4)
    assert np.isnan(ours(x, f)).any()


@pytest.mark.parametrize("size, channels, filters", [(8, 256, 16), (48, 3, 16)])
def test_long_sums_are_as_accurate_as_those_of_others(size, channels, filters, rng):
    """Rounding that is many times that of others turns maxima of pools, and so gradients."""
    x = rng.uniform(0, 1, size=(2, size, size, channels)).astype(np.float32)
    f = rng.uniform(0, 1, size=(3, 3, channels, filters)).astype(np.float32)
    dy = rng.uniform(0, 1, size=(2, size - 2, size - 2, filters)).astype(np.float32)

    @tf.function(jit_compile=True)
    def run(x, f, dy):
        with tf.GradientTape() as tape:
            tape.watch([x, f])
            y = tf.nn.conv2d(x, f, 1, "VALID")
        return y, *tape.gradient(y, [x, f], output_gradients=dy)

    found = run(x, f, dy)
    used = operators(run, x, f, dy)
    assert {f"{OURS}Conv", f"{OURS}ConvInputGradient", f"{OURS}ConvFilterGradient"} <= used
    expected = float64_convolution(x, f, dy, "VALID")
    for ours, exact in zip(found, expected, strict=True):
        assert np.max(np.abs(np.asarray(ours) / exact - 1)) < 8e-7


def test_depthwise_convolutions_of_many_images_are_accurate(rng):
    x = (1.0 + rng.normal(size=(16, 40, 40, 6))).astype(np.float32)
    w = rng.normal(size=(3, 3, 6, 1)).astype(np.float32)

    @tf.function(input_signature=[tf.TensorSpec([None, 40, 40, 6]), tf.TensorSpec(w.shape)])
    def slope(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.reduce_sum(tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID"))
        return tape.gradient(y, w)

    wide = x.astype(np.float64)
    sums = [[wide[:, i : i + 38, j : j + 38].sum((0, 1, 2)) for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(slope(x, w)[..., 0], sums, rtol=1e-6)


@pytest.mark.parametrize("depthwise", [False, True])
def test_zeros_around_images_are_a_part_of_the_window(depthwise, rng):
    """Those that a program adds by itself, even twice; others are not."""

    def function(x, w, fill=0.0):
        x = tf.pad(x, [[0, 0], [0, 1], [2, 0], [0, 0]], constant_values=fill)
        x = tf.pad(x, [[0, 0], [1, 1], [0, 3], [0, 0]])
        if depthwise:
            return tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "VALID")
        return tf.nn.conv2d(x, w, 2, "VALID")

    x = rng.normal(size=(2, 8, 9, 4)).astype(np.float32)
    w = rng.normal(size=(3, 3, 4, 1 if depthwise else 5)).astype(np.float32)
    assert "Pad" not in both(lambda *args: [function(*args)], x, w)
    both(with_gradients(function), x, w)
    assert "Pad" in both(lambda *args: [function(*args, 1.5)], x, w)


def test_several_filters_for_a_channel_stay_with_onnx_runtime(rng):
    def function(x, w):
        return tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME")

    x = rng.normal(size=(2, 6, 6, 3)).astype(np.float32)
    found = both(with_gradients(function), x, rng.normal(size=(3, 3, 3, 2)).astype(np.float32))
    assert not {op for op in found if op.startswith(f"{OURS}Depthwise")}


def layer(x, w, b):
    return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), b))


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (layer, set()),
        (lambda x, w, b: tf.nn.conv2d(x, w, 1, "SAME") + tf.reshape(b, [1, 1, 6]), set()),
        (lambda x, w, b: tf.nn.relu(tf.nn.conv2d(x, w, 2, "VALID")) * b, {"Mul"}),
        (lambda x, w, b: tf.nn.conv2d(x, w, 1, "SAME") + x[..., :1] * b, None),
        (lambda x, w, b: tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME") + b) + b, {"Add"}),
        (
            lambda x, w, b: tf.nn.conv2d(layer(x, w, b), w[:, :, :1] * tf.ones([6, 1]), 1, "SAME"),
            None,
        ),
    ],
    ids=["bias and relu", "bias", "relu", "of an image", "then a sum", "twice"],
)
def test_what_stands_behind_a_convolution(function, left, rng):
    """Is a part of it where it may be."""
    x, w, b = (rng.normal(size=s).astype(np.float32) for s in ((2, 9, 8, 3), (3, 3, 3, 6), (6,)))
    specs = [tf.TensorSpec([None, *x.shape[1:]]), tf.TensorSpec(w.shape), tf.TensorSpec(b.shape)]
    both(lambda *args: [function(*args)], x, w, b, signature=specs)
    found = both(with_gradients(function), x, w, b, signature=specs)
    assert f"{OURS}Conv" in found
    forward = both(lambda *args: [function(*args)], x, w, b, signature=specs)
    if left is not None:
        assert forward & {"Add", "Relu", "Mul", "Fused"} == left


def test_what_is_used_before_a_bias_stays_what_it_was(rng):
    def function(x, w, b):
        y = tf.nn.conv2d(x, w, 1, "SAME")
        z = y + b
        return y, z, tf.nn.relu(z)

    both(
        function, *(rng.normal(size=s).astype(np.float32) for s in ((1, 5, 5, 2), (3, 3, 2, 4), 4))
    )


def test_nan_behind_a_convolution_stays():
    x = np.zeros((1, 4, 4, 1), np.float32)
    x[0, 0, 0, 0], x[0, 3, 3, 0] = np.nan, -np.inf
    function = tf.function(layer, jit_compile=True)
    found = function(x, np.ones((1, 1, 1, 3), np.float32), np.float32([-1, 0, 2])).numpy()
    assert np.isnan(found[0, 0, 0]).all() and (found[0, 3, 3] == 0).all()
    np.testing.assert_array_equal(found[0, 1, 1], [0, 0, 2])
