"""What older programs and guides call: ``tf.keras.backend``, ``tf.losses``, ``tf.optimizers``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

keras: Any = pytest.importorskip("tfx.keras")
K = keras.backend
X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


def linear() -> Any:
    """One layer of ones."""
    return keras.Sequential(
        [keras.layers.Input((3,)), keras.layers.Dense(1, kernel_initializer="ones")]
    )


def trained(optimizer: Any, loss: Any = "mse", **options: Any) -> list[float]:
    """Losses of three steps."""
    model = linear()
    model.compile(optimizer, loss, **options)
    y = np.array([[1.0], [2.0]], np.float32)
    history: list[float] = model.fit(X, y, epochs=3, shuffle=False, verbose=0).history["loss"]
    return history


def test_short_names_of_losses_and_metrics() -> None:
    x = tf.constant(X)
    assert tf.losses.MeanSquaredError is keras.losses.MeanSquaredError
    assert tf.metrics.Mean is keras.metrics.Mean
    np.testing.assert_array_equal(tf.losses.mse(x, x + 2), [4.0, 4.0])
    np.testing.assert_array_equal(keras.losses.mae(x, x - 2), [2.0, 2.0])
    np.testing.assert_array_equal(tf.losses.mean_squared_error(x, x + 2), [4.0, 4.0])
    assert float(tf.losses.MeanSquaredError()(x, x + 2)) == 4.0
    mean = tf.metrics.Mean()
    mean(2.0)
    mean.update_state([4.0, 6.0])
    assert float(mean.result()) == 4.0
    with pytest.raises(AttributeError, match="nope"):
        _ = tf.losses.nope


def test_functions_of_the_backend() -> None:
    x = tf.constant(X)
    assert float(K.mean(x)) == 3.5
    np.testing.assert_array_equal(K.sum(x, axis=-1), [6.0, 15.0])
    np.testing.assert_array_equal(K.clip(x, 2, 4), np.clip(X, 2, 4))
    assert K.int_shape(x) == (2, 3)
    variable = K.variable(np.ones(2))
    K.update_add(variable, np.ones(2))
    K.batch_set_value([(variable, K.get_value(variable) + 1)])
    assert K.eval(variable).tolist() == [3.0, 3.0]
    steps = tf.reshape(tf.range(24.0), [2, 3, 4])
    last, outputs, (state,) = K.rnn(lambda i, s: (i + s[0], [i + s[0]]), steps, [tf.zeros([2, 4])])
    np.testing.assert_array_equal(last, np.sum(steps, 1))
    np.testing.assert_array_equal(outputs, np.cumsum(steps, 1))
    np.testing.assert_array_equal(state, last)


def test_texts_by_the_backend() -> None:
    chances = tf.nn.softmax(tf.reshape(tf.sin(tf.range(20.0)), [1, 5, 4]))
    cost = K.ctc_batch_cost([[1, 2]], chances, [[5]], [[2]])
    expected = tf.nn.ctc_loss([[1, 2]], tf.math.log(chances), [2], [5], False, blank_index=-1)
    np.testing.assert_allclose(cost, expected[:, None], rtol=1e-5)
    (decoded,), _ = K.ctc_decode(chances, [5])
    assert decoded.shape[0] == 1


def test_losses_that_are_written_with_the_backend() -> None:
    def distance(true: Any, predicted: Any) -> Any:
        return K.sqrt(K.mean(K.square(true - predicted)))

    losses = trained("sgd", distance)
    assert losses[0] == pytest.approx(np.sqrt((25 + 169) / 2))
    assert losses[2] < losses[0]


def test_preprocessing_of_older_programs() -> None:
    words = keras.preprocessing.text.Tokenizer(num_words=10, oov_token="?")
    words.fit_on_texts(["the cat sat", "the dog"])
    assert words.texts_to_sequences(["the bird"]) == [[2, 1]]
    pairs, labels = keras.preprocessing.sequence.skipgrams(
        [1, 2, 3], vocabulary_size=4, window_size=1, negative_samples=0, shuffle=False
    )
    assert (pairs, labels) == ([[1, 2], [2, 1], [2, 3], [3, 2]], [1] * 4)
    images = keras.preprocessing.image.ImageDataGenerator(rescale=0.5)
    batches = images.flow(np.ones((4, 2, 2, 1)), np.zeros(4), batch_size=2, shuffle=False)
    assert next(batches)[0].max() == 0.5


def test_a_schedule_that_cannot_be_written_down() -> None:
    class Halving(tf.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step: Any) -> Any:
            return 0.1 * 0.5 ** tf.cast(step, tf.float32)

    made = keras.optimizers.get(tf.optimizers.SGD(Halving(), momentum=0.5))
    assert made.momentum == 0.5
    assert float(made.learning_rate) == pytest.approx(0.1)


def test_keras_takes_optimizers_of_tfx() -> None:
    for name in ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lion", "RMSprop"):
        ours, theirs = getattr(tf.optimizers, name)(0.02), getattr(keras.optimizers, name)(0.02)
        made = keras.optimizers.get(ours)
        assert made.get_config() | {"name": theirs.name} == theirs.get_config()
        assert made.name.rstrip("_0123456789") == theirs.name.rstrip("_0123456789")
        assert keras.optimizers.get(theirs) is theirs
    assert trained(tf.optimizers.SGD(0.01, momentum=0.9)) == trained(
        keras.optimizers.SGD(0.01, momentum=0.9)
    )
    scaled = keras.optimizers.get(
        tf.optimizers.LossScaleOptimizer(tf.optimizers.SGD(0.5), initial_scale=8.0)
    )
    assert type(scaled) is keras.optimizers.LossScaleOptimizer
    assert (scaled.initial_scale, float(scaled.inner_optimizer.learning_rate)) == (8.0, 0.5)


def test_optimizers_that_keras_cannot_take() -> None:
    class Own(tf.optimizers.SGD):
        pass

    with pytest.raises(ValueError, match=r"derive Own from tf\.keras\.optimizers\.Optimizer"):
        linear().compile(Own(), "mse")
    used = tf.optimizers.SGD(0.1)
    v = tf.Variable(1.0)
    used.apply_gradients([(tf.constant(1.0), v)])
    with pytest.raises(ValueError, match=r"has made 1 steps.*give it a new one"):
        linear().compile(used, "mse")
    fixed = tf.optimizers.LossScaleOptimizer(tf.optimizers.SGD(), dynamic=False, initial_scale=2.0)
    with pytest.raises(ValueError, match="by a number that adapts"):
        linear().compile(fixed, "mse")
    with pytest.raises(ValueError, match="Could not interpret"):
        linear().compile(3, "mse")


def test_schedules_of_one_in_optimizers_of_the_other() -> None:
    decay = {"initial_learning_rate": 0.01, "decay_steps": 1, "decay_rate": 0.5}
    ours = tf.optimizers.schedules.ExponentialDecay(**decay)
    theirs = keras.optimizers.schedules.ExponentialDecay(**decay)
    expected = trained(keras.optimizers.SGD(theirs))
    assert trained(keras.optimizers.SGD(ours)) == expected
    assert trained(tf.optimizers.SGD(ours)) == expected
    assert trained(tf.optimizers.SGD(theirs)) == expected

    class Halves(tf.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step: Any) -> Any:
            return 0.01 * 0.5 ** tf.cast(step, tf.float32)

    np.testing.assert_allclose(trained(keras.optimizers.SGD(Halves())), expected, rtol=1e-5)
    v, optimizer = tf.Variable(1.0), tf.optimizers.SGD(theirs)
    step = tf.function(lambda: optimizer.apply_gradients([(tf.constant(100.0), v)]))
    step()
    assert float(v) == pytest.approx(0.0)
    step()
    assert float(v) == pytest.approx(-0.5)
    assert float(optimizer.learning_rate) == pytest.approx(0.0025)
