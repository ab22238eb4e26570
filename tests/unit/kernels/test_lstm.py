"""The gradient of ``LSTM`` by our kernels: as operators one by one have it, and differences."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.control_flow.recurrent_reference import run as reference
from tests.unit.kernels.fused_graphs import needs_library
from tfx.graph.passes.pipeline import prepare

pytestmark = needs_library

KERNELS = ("Lstm", "LstmGradient")


def given(time, batch, size, units, rng, *, bias=True, states=True):
    """An operator's inputs in float32."""

    def made(*shape):
        return (0.5 * rng.standard_normal(shape)).astype(np.float32)

    inputs = [made(time, batch, size), made(1, 4 * units, size), made(1, 4 * units, units)]
    inputs.append(made(1, 8 * units) if bias else None)
    inputs += [None, *(made(1, batch, units) if states else None for _ in range(2))]
    while inputs[-1] is None:
        inputs.pop()
    return inputs


def results(inputs, units, rng, **attrs):
    """The results with a weight for each of their numbers, as a tensor of one number."""
    ys = tf.raw.LSTM(*inputs, hidden_size=units, n_outputs=3, **attrs)
    sums = [tf.reduce_sum(y * tf.cast(rng.standard_normal(y.shape), y.dtype)) for y in ys]
    return ys, tf.add_n(sums)


def slopes_of(units, inputs, seed=4, **attrs):
    """Results, and gradients of a weighted sum of them."""
    sources = [x for x in inputs if x is not None]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        ys, total = results(inputs, units, np.random.default_rng(seed), **attrs)
    return [*ys, *tape.gradient(total, sources)]


def step(inputs, units, *, jit_compile=None, **attrs):
    """A function of the inputs that there are, and these as tensors."""

    @tf.function(jit_compile=jit_compile)
    def train(*rest):
        left = iter(rest)
        return slopes_of(units, [None if x is None else next(left) for x in inputs], **attrs)

    return train, [tf.constant(x) for x in inputs if x is not None]


def operators(function, *args):
    """What a run is made of."""
    with tf.profile() as p:
        function(*args)
    return [node.op for node in p.nodes]


SIZES = [(7, 5, 3, 32), (3, 13, 40, 45), (1, 1, 1, 1), (12, 4, 8, 130), (2, 100, 5, 7)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("bias", "states"), [(True, True), (False, True), (True, False)])
def test_one_step_has_the_results_of_the_operators(sizes, bias, states, rng):
    inputs = given(*sizes, rng, bias=bias, states=states)
    train, tensors = step(inputs, sizes[-1])
    plain, _ = step(inputs, sizes[-1], jit_compile=False)
    for got, want in zip(train(*tensors), plain(*tensors), strict=True):
        scale = max(1.0, float(np.abs(want).max()))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * scale)
    found = operators(train, *tensors)
    assert [found.count(op) for op in KERNELS] == [1, 1]
    assert "LSTM" not in found and "Loop" not in found and "Scan" not in found
    assert not {*KERNELS} & {*operators(plain, *tensors)}


def test_gradients_are_those_of_differences(rng):
    units = 40
    inputs = given(6, 3, 5, units, rng)
    train, tensors = step(inputs, units)
    found = train(*tensors)[3:]
    wide = [None if x is None else x.astype(np.float64) for x in inputs]
    weights = np.random.default_rng(4)
    factors = [
        weights.standard_normal(y.shape) for y in reference("LSTM", {"hidden_size": units}, *wide)
    ]

    def total(moved):
        ys = reference("LSTM", {"hidden_size": units}, *moved)
        return float(sum((y * f).sum() for y, f in zip(ys, factors, strict=True)))

    there = [i for i, x in enumerate(wide) if x is not None]
    for i, gradient in zip(there, found, strict=True):
        along = rng.standard_normal(wide[i].shape)
        ends = [
            [x if k != i else x + s * 1e-5 * along for k, x in enumerate(wide)] for s in (1, -1)
        ]
        expected = (total(ends[0]) - total(ends[1])) / 2e-5
        assert float((np.asarray(gradient, np.float64) * along).sum()) == pytest.approx(
            expected, rel=1e-4, abs=1e-4
        )


def test_steps_do_not_depend_on_each_other_nor_on_threads(rng):
    """The way back may be written over the gates, which no other step sees."""
    inputs = given(9, 33, 20, 96, rng)
    train, tensors = step(inputs, 96)
    first = [y.numpy().copy() for y in train(*tensors)]
    for _ in range(3):
        for y, want in zip(train(*tensors), first, strict=True):
            np.testing.assert_array_equal(y, want)


def test_two_gradients_of_one_layer(rng):
    """Both use what it kept: neither writes over it before the other has read it."""
    units = 34
    inputs = given(5, 4, 6, units, rng)

    def both(*rest):
        everything = [*rest[:4], None, *rest[4:]]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(rest)
            y, h, _ = tf.raw.LSTM(*everything, hidden_size=units, n_outputs=3)
            first, second = tf.reduce_sum(y * y), tf.reduce_sum(tf.exp(h))
        return [*tape.gradient(first, rest), *tape.gradient(second, rest)]

    tensors = [tf.constant(x) for x in inputs if x is not None]
    together = tf.function(both)
    plain = tf.function(both, jit_compile=False)(*tensors)
    for got, want in zip(together(*tensors), plain, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)
    found = operators(together, *tensors)
    assert [found.count(op) for op in KERNELS] == [1, 2]


def test_a_tape_around_a_function(rng):
    """The backward graph has no forward computation: gates come from the states, all at once."""
    units = 33
    inputs = given(6, 4, 3, units, rng)
    tensors = [tf.constant(x) for x in inputs if x is not None]

    @tf.function
    def layer(*rest):
        return tf.raw.LSTM(*rest[:4], None, *rest[4:], hidden_size=units, n_outputs=3)

    def gradients():
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            y, h, c = layer(*tensors)
            total = tf.reduce_sum(y * y) + tf.reduce_sum(h) - tf.reduce_sum(c * c)
        return tape.gradient(total, tensors)

    found = operators(gradients)
    assert found.count("LSTM") == 1 and [found.count(op) for op in KERNELS] == [1, 1]
    got = gradients()
    tf.config.optimizer.set_jit(False)
    try:
        layer = tf.function(layer.python_function)
        assert not {*KERNELS} & {*operators(gradients)}
        want = gradients()
    finally:
        tf.config.optimizer.set_jit("autoclustering")
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-5)


def open_sizes(units, **options):
    """Gradients by everything, of any number of steps and sequences."""

    def train(x, w, r, b, h, c):
        with tf.GradientTape() as tape:
            tape.watch([x, w, r, b, h, c])
            ys = tf.raw.LSTM(x, w, r, b, None, h, c, hidden_size=units, n_outputs=3)
            total = tf.add_n([tf.reduce_sum(y * y) for y in ys])
        return tape.gradient(total, [x, w, r, b, h, c])

    shapes = [[None, None, 3], [1, 4 * units, 3], [1, 4 * units, units], [1, 8 * units]]
    shapes += [[1, None, units]] * 2
    return tf.function(train, [tf.TensorSpec(s) for s in shapes], **options)


def test_sizes_that_only_a_run_tells(rng):
    together, plain = open_sizes(6), open_sizes(6, jit_compile=False)
    for time, batch in ((5, 2), (1, 7), (9, 1)):
        tensors = [tf.constant(x) for x in given(time, batch, 3, 6, rng) if x is not None]
        assert {*KERNELS} <= {*operators(together, *tensors)}
        for got, want in zip(together(*tensors), plain(*tensors), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("time", "batch"), [(0, 3), (4, 0)])
def test_nothing_is_refused_as_without_the_kernels(time, batch, rng):
    tensors = [tf.constant(x) for x in given(time, batch, 3, 6, rng) if x is not None]
    messages = []
    for options in ({}, {"jit_compile": False}):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            open_sizes(6, **options)(*tensors)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "no sequences, no steps or no features" in messages[0]


def test_in_a_loop(rng):
    """Layers on each other with one set of weights: the kernels stand in the body."""
    units = 5
    inputs = given(4, 3, units, units, rng)
    tensors = [tf.constant(x) for x in inputs if x is not None]

    def train(x, w, r, b, h, c):
        with tf.GradientTape() as tape:
            tape.watch([x, w, r, b])
            y = x
            for _ in tf.range(3):
                y = tf.squeeze(
                    tf.raw.LSTM(y, w, r, b, None, h, c, hidden_size=units, n_outputs=3)[0], 1
                )
            total = tf.reduce_sum(y * y)
        return tape.gradient(total, [x, w, r, b])

    found, plain = tf.function(train)(*tensors), tf.function(train, jit_compile=False)(*tensors)
    for got, want in zip(found, plain, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(
    "attrs",
    [
        {"direction": "reverse"},
        {"clip": 0.5},
        {"input_forget": 1},
        {"activations": ["Sigmoid", "Tanh", "Relu"]},
    ],
)
def test_others_stay_with_the_runtime(attrs, rng):
    inputs = given(3, 2, 4, 5, rng)
    train, tensors = step(inputs, 5, **attrs)
    found = operators(train, *tensors)
    assert "LSTM" in found and not {*KERNELS} & {*found}


def test_activations_that_are_named_are_the_usual_ones(rng):
    inputs = given(3, 2, 4, 5, rng)
    train, tensors = step(inputs, 5, activations=["sigmoid", "TANH", "Tanh"])
    assert {*KERNELS} <= {*operators(train, *tensors)}


def test_what_is_saved_has_operators_of_the_standard(tmp_path, rng):
    module = tf.Module()
    units = 6
    x, w, r, b, h, c = (v for v in given(3, 2, 4, units, rng) if v is not None)
    module.weights = [tf.Variable(v) for v in (w, r, b)]

    @tf.function(input_signature=[tf.TensorSpec(x.shape)])
    def train(x):
        with tf.GradientTape() as tape:
            y = tf.raw.LSTM(x, *module.weights, None, h, c, hidden_size=units, n_outputs=3)[0]
            total = tf.reduce_sum(y * y)
        for variable, gradient in zip(
            module.weights, tape.gradient(total, module.weights), strict=True
        ):
            variable.assign_sub(0.01 * gradient)
        return {"total": total}

    module.train = train
    tf.saved_model.save(module, str(tmp_path / "bundle"), signatures={"train": train})
    model = onnx.load(str(tmp_path / "bundle" / "train.onnx"), load_external_data=False)
    domains = {node.domain for node in model.graph.node}
    assert domains <= {"", "ai.onnx"} and not model.functions
    assert "LSTM" in {node.op_type for node in model.graph.node}
    totals = [float(train(x)["total"]) for _ in range(3)]
    loaded = tf.saved_model.load(str(tmp_path / "bundle"))
    again = [float(loaded.signatures["train"](x=tf.constant(x))["total"]) for _ in range(3)]
    np.testing.assert_allclose(again, totals, rtol=1e-5)


def test_second_derivatives(rng):
    """The way back is differentiated as the operators that it stands for."""
    units = 3
    inputs = given(3, 2, 2, units, rng)
    tensors = [tf.constant(x) for x in inputs if x is not None]

    def second(x, *rest):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.raw.LSTM(x, *rest[:3], None, *rest[3:], hidden_size=units, n_outputs=3)[0]
                total = tf.reduce_sum(y * y)
            slope = inner.gradient(total, x)
            length = tf.reduce_sum(slope * slope)
        return length, outer.gradient(length, x)

    length = tf.function(lambda *v: second(*v)[0])
    gradient = tf.function(lambda *v: second(*v)[1])(*tensors).numpy()
    along = rng.standard_normal(tensors[0].shape).astype(np.float32)
    ends = [float(length(tensors[0] + s * 1e-2 * along, *tensors[1:])) for s in (1, -1)]
    assert float((gradient * along).sum()) == pytest.approx((ends[0] - ends[1]) / 2e-2, rel=2e-2)


def test_half_precision_has_no_kernels(rng):
    """Products are in half precision then, which the operators one by one are brought to."""
    inputs = given(4, 2, 3, 5, rng)
    train, tensors = step(inputs, 5)
    graph = train.get_concrete_function(*tensors).graph.graph
    for half, expected in ((None, 1), (10, 0)):
        ready = prepare(graph, runs_here=True, own_kernels=True, half=half)
        assert [sum(n.op == op for n in ready.nodes) for op in KERNELS] == [expected] * 2
        assert not [n for n in ready.nodes if n.op == "Call"]


def test_a_part_that_is_recomputed(rng):
    """Its gradient is a graph that is put into the function's, with the call in it."""
    units = 5
    inputs = given(4, 3, 2, units, rng)
    tensors = [tf.constant(x) for x in inputs if x is not None]

    def train(*rest):
        again = tf.recompute_grad(
            lambda *v: tf.raw.LSTM(*v[:3], v[3], None, *v[4:], hidden_size=units, n_outputs=3)[0]
        )
        with tf.GradientTape() as tape:
            tape.watch(rest)
            total = tf.reduce_sum(again(*rest) ** 2)
        return tape.gradient(total, rest)

    together = tf.function(train)
    for got, want in zip(
        together(*tensors), tf.function(train, jit_compile=False)(*tensors), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)
    assert "LstmGradient" in operators(together, *tensors)


def test_summaries_name_the_operator(rng):
    inputs = given(3, 2, 4, 5, rng)
    train, tensors = step(inputs, 5)
    text = str(train.get_concrete_function(*tensors).graph.summary())
    assert "lstm_gradient" in text or "LstmGradient" in text
