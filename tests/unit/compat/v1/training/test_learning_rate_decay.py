"""Learning rates of TensorFlow 1; the numbers are those of TensorFlow 2.21's sessions."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1
STEPS = (0, 3, 5, 10, 12, 25)
CASES = [
    ("exponential_decay", (10, 0.9), {},
     (0.5, 0.48444307, 0.47434163, 0.45, 0.44061676, 0.3842167)),
    ("exponential_decay", (10, 0.9, True), {}, (0.5, 0.5, 0.5, 0.45, 0.45, 0.40499997)),
    ("polynomial_decay", (10, 0.01, 2.0), {}, (0.5, 0.2501, 0.1325, 0.01, 0.01, 0.01)),
    ("polynomial_decay", (10, 0.01, 2.0), {"cycle": True},
     (0.5, 0.2501, 0.1325, 0.01, 0.0884, 0.02361111)),
    ("natural_exp_decay", (10, 0.9), {},
     (0.5, 0.38168976, 0.31881407, 0.20328483, 0.16979775, 0.05269961)),
    ("natural_exp_decay", (10, 0.9, True), {},
     (0.5, 0.5, 0.5, 0.20328483, 0.20328483, 0.08264945)),
    ("inverse_time_decay", (10, 0.9), {},
     (0.5, 0.39370078, 0.34482756, 0.2631579, 0.24038462, 0.15384615)),
    ("inverse_time_decay", (10, 0.9, True), {},
     (0.5, 0.5, 0.5, 0.2631579, 0.2631579, 0.17857143)),
    ("cosine_decay", (10, 0.1), {}, (0.5, 0.40725169, 0.275, 0.05, 0.05, 0.05)),
    ("cosine_decay_restarts", (10, 2.0, 0.9, 0.1), {},
     (0.5, 0.40725169, 0.275, 0.455, 0.44508892, 0.10931088)),
    ("linear_cosine_decay", (10, 0.5, 0.1, 0.01), {},
     (0.555, 0.32255706, 0.155, 0.005, 0.005, 0.005)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "options", "expected"), CASES)
def test_values(name, arguments, options, expected):
    decay = getattr(v1.train, name)
    with v1.Graph().as_default():
        step = v1.placeholder(tf.int64, [])
        rate = decay(0.5, step, *arguments, **options)
        assert rate.dtype is tf.float32
        with v1.Session() as session:
            found = [session.run(rate, {step: n}) for n in STEPS]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    counter = tf.Variable(0, dtype=tf.int64)
    later = decay(0.5, counter, *arguments, **options)
    for number, value in zip(STEPS, expected, strict=True):
        counter.assign(number)
        np.testing.assert_allclose(later(), value, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match=f"global_step is required for {name}"):
        decay(0.5, None, *arguments)


def test_restarts_of_equal_length():
    rate = v1.train.cosine_decay_restarts(1.0, 12, 10, t_mul=1.0)
    np.testing.assert_allclose(rate(), 0.5 * (1 + np.cos(np.pi * 0.2)), rtol=1e-6)


def test_noise():
    fixed = v1.train.linear_cosine_decay(1.0, 3, 10)()
    noisy = v1.train.noisy_linear_cosine_decay(1.0, 3, 10, initial_variance=0.0)()
    np.testing.assert_allclose(noisy, fixed, rtol=1e-6)
    found = np.array([v1.train.noisy_linear_cosine_decay(1.0, 3, 10)() for _ in range(200)])
    wave = 0.5 * (1 + np.cos(np.pi * 0.3))
    np.testing.assert_allclose(found.std(), wave * (1 / 4**0.55) ** 0.5, rtol=0.3)


def test_pieces():
    boundaries, values = [5, 15], [1.0, 0.5, 0.1]
    with v1.Graph().as_default(), v1.Session() as session:
        step = v1.placeholder(tf.int64, [])
        rate = v1.train.piecewise_constant(step, boundaries, values)
        found = [session.run(rate, {step: n}) for n in STEPS]
    np.testing.assert_allclose(found, [1.0, 1.0, 1.0, 0.5, 0.5, 0.1])
    step = tf.Variable(16)
    assert float(v1.train.piecewise_constant_decay(step, boundaries, values)()) == np.float32(0.1)
    assert v1.train.piecewise_constant(3, [5], [1, 2])().dtype is tf.int32
    with pytest.raises(ValueError, match="1 less than the length of values"):
        v1.train.piecewise_constant(step, boundaries, [1.0])


def test_optimizers_take_them():
    with v1.Graph().as_default():
        v = v1.get_variable("v", initializer=1.0)
        step = v1.train.get_or_create_global_step()
        rate = v1.train.exponential_decay(0.5, step, 1, 0.5)
        train = v1.train.GradientDescentOptimizer(rate).minimize(v * 1.0, global_step=step)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for _ in range(3):
                session.run(train)
            assert session.run(v) == 1.0 - 0.5 - 0.25 - 0.125
