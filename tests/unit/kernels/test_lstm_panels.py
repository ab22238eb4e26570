"""``LSTM`` with weights that never change, by our kernel: as ONNX Runtime has it."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.control_flow.recurrent_reference import run as reference
from tests.unit.kernels.fused_graphs import needs_library
from tests.unit.kernels.test_lstm import given, operators
from tfx.kernels.library import usable_library

pytestmark = needs_library


@pytest.fixture(autouse=True)
def _has_panels():
    library = usable_library(True)
    if library is None or not library.product_width:
        pytest.skip("the kernels have no panels for this processor")


def layer(inputs, units, *, results=3, jit_compile=None, **attrs):
    """A function of the input and the states that there are; the weights are constants."""
    x, w, r, b, lengths, h, c = (*inputs, *[None] * 7)[:7]

    def run(x, *states):
        left = iter(states)
        h_now, c_now = (None if v is None else next(left) for v in (h, c))
        return tf.raw.LSTM(
            x, w, r, b, lengths, h_now, c_now, hidden_size=units, n_outputs=results, **attrs
        )

    given_now = [tf.constant(v) for v in (x, h, c) if v is not None]
    return tf.function(run, jit_compile=jit_compile), given_now


def check(function, plain, *args, taken=True):
    """The results are those of the function without kernels, of which ours has the operator."""
    for got, want in zip(
        tf.nest.flatten(function(*args)), tf.nest.flatten(plain(*args)), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    found = operators(function, *args)
    assert (found.count("Lstm"), found.count("LSTM")) == ((1, 0) if taken else (0, 1))


SIZES = [(7, 5, 3, 32), (3, 13, 40, 45), (2, 2, 1, 1), (12, 4, 8, 130), (2, 100, 5, 7)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("bias", "states"), [(True, True), (False, True), (True, False)])
def test_results_are_those_of_the_runtime(sizes, bias, states, rng):
    inputs = given(*sizes, rng, bias=bias, states=states)
    function, args = layer(inputs, sizes[-1])
    check(function, layer(inputs, sizes[-1], jit_compile=False)[0], *args)


def test_only_the_states_are_asked_for(rng):
    inputs = given(4, 3, 5, 9, rng)
    function, args = layer(inputs, 9, results=1)
    check(function, layer(inputs, 9, results=1, jit_compile=False)[0], *args)


def test_variables_that_a_function_only_reads(rng):
    """They are constants once the function is frozen, and no more after an assignment."""
    x, w, r, b = given(6, 4, 3, 17, rng, states=False)
    kernel, recurrent, bias = (tf.Variable(v) for v in (w, r, b))

    @tf.function
    def function(x):
        return tf.raw.LSTM(x, kernel, recurrent, bias, hidden_size=17, n_outputs=3)

    for _ in range(12):
        first = function(x)
    assert "Lstm" in operators(function, x)
    for variable in (kernel, recurrent, bias):
        variable.assign(variable * 0.5)
    plain = layer([x, 0.5 * w, 0.5 * r, 0.5 * b], 17, jit_compile=False)[0]
    for got, want, before in zip(function(x), plain(x), first, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        assert np.abs(got - before).max() > 1e-3


def characters(rng, *, count=11, width=6, units=20, turned=True, jit_compile=None):
    """States of texts whose characters are rows of a table."""
    _, w, r, b = given(1, 1, width, units, rng, states=False)
    table = tf.constant(rng.standard_normal((count, width)).astype(np.float32))

    def run(tokens):
        x = tf.gather(table, tokens)
        if turned:
            x = tf.transpose(x, [1, 0, 2])
        return tf.raw.LSTM(x, w, r, b, hidden_size=units, n_outputs=3)

    return tf.function(run, jit_compile=jit_compile)


@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_inputs_out_of_a_table(turned, dtype):
    tokens = np.random.default_rng(1).integers(0, 11, (5, 9)).astype(dtype)
    function, plain = (
        characters(np.random.default_rng(0), turned=turned, jit_compile=jit)
        for jit in (None, False)
    )
    check(function, plain, tokens)
    found = operators(function, tokens)
    assert "Gather" not in found and "Product" not in found


def test_texts_of_any_number_and_length_out_of_a_table():
    function, plain = (
        tf.function(
            characters(np.random.default_rng(0), jit_compile=jit).python_function,
            [tf.TensorSpec([None, None], tf.int64)],
            jit_compile=jit,
        )
        for jit in (None, False)
    )
    for texts, length in ((5, 9), (1, 3), (12, 1)):
        tokens = np.random.default_rng(1).integers(0, 11, (texts, length))
        check(function, plain, tokens)
        assert "Gather" not in operators(function, tokens)[:2]


def test_one_text_out_of_a_table(rng):
    tokens = np.array([[3, 1, 4, 1, 5, 9, 2, 6]])
    function, plain = (
        characters(np.random.default_rng(0), jit_compile=jit) for jit in (None, False)
    )
    check(function, plain, tokens)


@pytest.mark.parametrize("token", [11, -12])
def test_a_row_that_the_table_has_not(token):
    """The error is that of the lookup."""
    function = characters(np.random.default_rng(0))
    tokens = np.zeros((3, 4), np.int64)
    function(tokens)
    tokens[2, 1] = token
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"index {token} is not in \[0, 11\)"):
        function(tokens)
    tokens[2, 1] = 3
    function(tokens)


def test_a_large_table_stays_one(rng):
    """What comes from its rows takes more memory than the table."""
    function = characters(rng, count=30_000, units=40)
    found = operators(function, np.zeros((3, 4), np.int64))
    assert "Gather" in found and "Lstm" in found


@pytest.mark.parametrize("attrs", [{"direction": "reverse"}, {"clip": 1.0}, {"input_forget": 1}])
def test_others_stay_with_the_runtime(attrs, rng):
    inputs = given(4, 3, 5, 9, rng)
    function, args = layer(inputs, 9, **attrs)
    check(function, layer(inputs, 9, jit_compile=False, **attrs)[0], *args, taken=False)


def test_one_sequence_stays_with_the_runtime(rng):
    inputs = given(4, 1, 5, 9, rng)
    function, args = layer(inputs, 9)
    check(function, layer(inputs, 9, jit_compile=False)[0], *args, taken=False)


@pytest.mark.parametrize(
    ("place", "shape", "hidden"),
    [(3, (1, 7), 9), (3, (1, 36), 9), (1, (1, 32, 5), 9), (3, (1, 72), 8)],
)
def test_weights_that_do_not_fit_are_refused_as_without_the_kernels(place, shape, hidden, rng):
    inputs = given(4, 3, 5, 9, rng, states=False)
    inputs[place] = np.zeros(shape, np.float32)
    errors = []
    for jit in (None, False):
        with pytest.raises((tf.errors.OpError, ValueError)) as raised:
            function, args = layer(inputs, hidden, jit_compile=jit)
            function(*args)
        errors.append(raised.value)
    assert type(errors[0]) is type(errors[1]) and str(errors[0]) == str(errors[1])


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 3e38])
def test_numbers_beyond_float32_and_what_is_no_number(number, rng):
    """Without a warning; ONNX Runtime's activations make numbers of what is none."""
    _, w, r, b = given(1, 1, 6, 20, rng, states=False)
    table = rng.standard_normal((11, 6)).astype(np.float32)
    table[3], b[0, 5] = number, number
    tokens = np.array([[1, 3], [2, 5], [3, 3]])
    found = tf.function(
        lambda t: tf.raw.LSTM(tf.gather(table, t), w, r, b, hidden_size=20, n_outputs=3)
    )(tokens)
    wide = [v.astype(np.float64) for v in (table[tokens], w, r, b)]
    with np.errstate(all="ignore"):
        expected = reference("LSTM", {"hidden_size": 20}, *wide)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_lengths_stay_with_the_runtime(rng):
    inputs = given(4, 3, 5, 9, rng)
    inputs[4] = np.array([4, 2, 3], np.int32)
    function, args = layer(inputs, 9)
    check(function, layer(inputs, 9, jit_compile=False)[0], *args, taken=False)


@pytest.mark.parametrize(("time", "batch"), [(0, 3), (4, 0)])
def test_nothing_is_refused_as_without_the_kernels(time, batch, rng):
    x, w, r, b = given(4, 3, 5, 9, rng, states=False)
    spec = tf.TensorSpec([None, None, 5])
    functions = [
        tf.function(
            lambda x: tf.raw.LSTM(x, w, r, b, hidden_size=9, n_outputs=3), [spec], jit_compile=jit
        )
        for jit in (None, False)
    ]
    errors = []
    for function in functions:
        check(functions[0], functions[1], x)
        with pytest.raises(tf.errors.OpError) as raised:
            function(np.zeros((time, batch, 5), np.float32))
        errors.append(raised.value)
    assert type(errors[0]) is type(errors[1]) and str(errors[0]) == str(errors[1])


def test_results_do_not_depend_on_threads(rng):
    """Rows of many sequences go through all steps by themselves, in as many parts as threads."""
    inputs = given(5, 40, 6, 33, rng)
    function, args = layer(inputs, 33)
    first = [y.numpy().copy() for y in function(*args)]
    halves = [
        layer(
            [v if i in (1, 2, 3) or v is None else v[..., s, :] for i, v in enumerate(inputs)], 33
        )
        for s in (slice(0, 7), slice(7, 40))
    ]
    for y, *parts in zip(first, *[f(*a) for f, a in halves], strict=True):
        np.testing.assert_array_equal(y, np.concatenate(parts, axis=-2))
