"""What Keras lets a program ask of training: the numbers are TensorFlow's (2.21, Keras 3.15)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

keras: Any = pytest.importorskip("tfx.keras")

_rng = np.random.default_rng(0)
X = _rng.normal(size=(64, 6)).astype("float32")
Y = (X[:, 0] > X[:, 1]).astype("int32")


def fill(model: Any, absolute: bool = False) -> Any:
    """Give a model weights that every backend gives it."""
    rng = np.random.default_rng(5)
    weights = [rng.normal(size=w.shape).astype("float32") * 0.5 for w in model.get_weights()]
    model.set_weights([np.abs(w) for w in weights] if absolute else weights)
    return model


def mlp() -> Any:
    layers = keras.layers
    return fill(
        keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(2)])
    )


def loss() -> Any:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def fit(model: Any, epochs: int = 3, **options: Any) -> dict[str, list[float]]:
    """What each epoch logs."""
    history: dict[str, list[float]] = model.fit(
        X, Y, batch_size=16, epochs=epochs, shuffle=False, verbose=0, **options
    ).history
    return history


OPTIMIZERS: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "accumulated gradients": (
        lambda o: o.Adam(0.01, gradient_accumulation_steps=3),
        [1.04757, 0.98115, 0.9205],
    ),
    "averaged weights": (
        lambda o: o.SGD(0.1, use_ema=True, ema_momentum=0.9),
        [0.89667, 0.63907, 0.55215],
    ),
    "averaged weights put back": (
        lambda o: o.Adam(0.05, use_ema=True, ema_overwrite_frequency=3),
        [0.9036, 0.73617, 0.67433],
    ),
    "clipnorm": (lambda o: o.SGD(0.5, clipnorm=0.1), [0.91207, 0.63807, 0.50891]),
    "clipvalue": (lambda o: o.SGD(0.5, clipvalue=0.01), [1.02907, 0.94004, 0.85509]),
    "global_clipnorm": (lambda o: o.SGD(0.5, global_clipnorm=0.1), [0.97846, 0.79517, 0.66323]),
    "weight decay": (lambda o: o.AdamW(0.01, weight_decay=0.1), [0.99872, 0.82337, 0.68378]),
    "scaled loss": (
        lambda o: o.LossScaleOptimizer(o.Adam(0.01), initial_scale=1024.0, dynamic_growth_steps=2),
        [1.00048, 0.82736, 0.6875],
    ),
    "loss scale factor": (
        lambda o: o.Adam(0.01, loss_scale_factor=8.0),
        [1.00048, 0.82736, 0.6875],
    ),
    "Lion": (lambda o: o.Lion(0.01), [0.99684, 0.81591, 0.66385]),
    "Muon": (lambda o: o.Muon(0.01), [1.03339, 0.95719, 0.8857]),
    "Adafactor": (lambda o: o.Adafactor(0.05), [0.93367, 0.65334, 0.49479]),
    "Lamb": (lambda o: o.Lamb(0.01), [1.03055, 0.92865, 0.83398]),
    "Ftrl": (lambda o: o.Ftrl(0.1), [0.74817, 0.68823, 0.67972]),
    "Nadam": (lambda o: o.Nadam(0.01), [1.00446, 0.87084, 0.75241]),
    "RMSprop": (
        lambda o: o.RMSprop(0.01, centered=True, momentum=0.9),
        [0.81492, 0.45116, 0.2396],
    ),
    "a schedule": (
        lambda o: o.SGD(o.schedules.CosineDecay(0.5, 8)),
        [0.67532, 0.44051, 0.41538],
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str) -> None:
    make, expected = OPTIMIZERS[name]
    model = mlp()
    model.compile(make(keras.optimizers), loss())
    np.testing.assert_allclose(fit(model)["loss"], expected, atol=2e-5)


def test_int_and_complex_have_64_bits() -> None:
    optimizer = keras.optimizers.SGD(0.5)
    weight = keras.Variable([1.0])
    optimizer.apply([tf.constant([1.0])], [weight])
    assert optimizer.iterations.dtype == "int64"
    assert keras.Variable(1, dtype="int").value.dtype is tf.int64
    assert keras.ops.cast([1.5], int).dtype is tf.int64
    assert keras.backend.standardize_dtype(complex) == "complex128"
    assert keras.ops.multiply(tf.constant([1j]), [2.0]).dtype is tf.complex64
    # Numbers of Python stay weak, and counters of 32 bits are read.
    assert keras.ops.add(tf.constant([1]), 2).dtype is tf.int32
    optimizer.load_own_variables({"0": np.int32(7), "1": np.float32(0.25)})
    assert (int(optimizer.iterations), float(optimizer.learning_rate)) == (7, 0.25)


@pytest.mark.parametrize(
    "options", [{}, {"steps_per_execution": 3}, {"run_eagerly": True}, {"jit_compile": False}]
)
def test_however_steps_run_they_are_the_same(options: dict[str, Any]) -> None:
    model = mlp()
    model.compile(keras.optimizers.Adam(0.01), loss(), **options)
    np.testing.assert_allclose(fit(model)["loss"], [1.00048, 0.82736, 0.6875], atol=2e-5)


@pytest.mark.parametrize(
    ("policy", "compute", "tolerance"),
    [
        ("mixed_float16", "float16", 0.005),
        ("mixed_bfloat16", "bfloat16", 0.02),
        ("float64", "float64", 1e-4),
    ],
)
def test_precision(policy: str, compute: str, tolerance: float) -> None:
    keras.config.set_dtype_policy(policy)
    try:
        model = mlp()
        model.compile(keras.optimizers.Adam(0.01), loss())
        found = fit(model, 2)["loss"]
    finally:
        keras.config.set_dtype_policy("float32")
    np.testing.assert_allclose(found, [1.00048, 0.82736], atol=tolerance)
    assert model.layers[0].compute_dtype == compute
    scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (policy == "mixed_float16")


def test_tensorflow_s_names_of_mixed_precision() -> None:
    names: Any = tf.keras.mixed_precision
    assert names.global_policy().name == "float32"
    names.set_global_policy(names.Policy("mixed_float16"))
    try:
        model = mlp()
    finally:
        names.set_global_policy("float32")
    # Too large a scale: the first steps overflow, are skipped, and halve it.
    optimizer = names.LossScaleOptimizer(keras.optimizers.Adam(0.01), initial_scale=2.0**24)
    model.compile(optimizer, loss())
    before = [w.copy() for w in model.get_weights()]
    model.train_on_batch(X[:16], Y[:16])
    for now, then in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(now, then)
    losses = fit(model, 12)["loss"]
    assert float(optimizer.dynamic_scale) < 2.0**24
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.7 * losses[0]
    assert {w.dtype for w in model.weights} == {"float32"}
    assert model.layers[0].compute_dtype == "float16"


def test_lora_trains_its_factors_alone() -> None:
    model = mlp()
    model.layers[0].enable_lora(2)
    model.layers[0].lora_kernel_a.assign(np.full((6, 2), 0.1))
    model.compile(keras.optimizers.Adam(0.05), loss())
    np.testing.assert_allclose(fit(model)["loss"], [0.84326, 0.58834, 0.43138], atol=2e-5)
    assert len(model.trainable_weights) == 5
    assert float(model.predict(X[:2], verbose=0).sum()) == pytest.approx(2.21254, abs=1e-4)


def test_frozen_layers_stay() -> None:
    model = mlp()
    model.layers[0].trainable = False
    model.compile(keras.optimizers.SGD(0.1), loss())
    before = model.layers[0].get_weights()[0].copy()
    np.testing.assert_allclose(fit(model)["loss"], [0.91854, 0.67394, 0.58549], atol=2e-5)
    np.testing.assert_array_equal(model.layers[0].get_weights()[0], before)


def test_moving_statistics() -> None:
    layers = keras.layers
    model = fill(
        keras.Sequential(
            [keras.Input((6,)), layers.Dense(5), layers.BatchNormalization(), layers.Dense(2)]
        ),
        absolute=True,
    )
    model.compile(keras.optimizers.SGD(0.1), loss())
    np.testing.assert_allclose(fit(model)["loss"], [0.68411, 0.62742, 0.59586], atol=2e-5)
    mean, variance = model.layers[1].get_weights()[2:]
    np.testing.assert_allclose(mean, [0.0602, 0.026, 0.8725, 0.109, 0.1899], atol=1e-4)
    np.testing.assert_allclose(variance, [0.5764, 0.7289, 0.4021, 0.6146, 0.2648], atol=1e-4)


def test_weights_of_classes_and_samples() -> None:
    model = mlp()
    model.compile(keras.optimizers.SGD(0.1), loss(), weighted_metrics=["accuracy"])
    found = fit(model, class_weight={0: 0.2, 1: 3.0})
    np.testing.assert_allclose(found["loss"], [1.74492, 0.64445, 0.4816], atol=2e-5)
    np.testing.assert_allclose(found["accuracy"], [0.29061, 0.97473, 0.97112], atol=2e-5)
    found = fit(model, sample_weight=np.linspace(0, 1, 64), validation_split=0.25)
    np.testing.assert_allclose(found["val_loss"], [0.37189, 0.32537, 0.29968], atol=2e-5)


def test_several_outputs() -> None:
    given = keras.Input((6,), name="a")
    outputs = {
        "p": keras.layers.Dense(1, name="p")(given),
        "q": keras.layers.Dense(2, name="q")(given),
    }
    model = fill(keras.Model(given, outputs))
    model.compile(
        keras.optimizers.SGD(0.1),
        {"p": "mse", "q": loss()},
        loss_weights={"p": 0.3, "q": 2.0},
        metrics={"q": ["accuracy"]},
    )
    found = model.fit(
        X,
        {"p": Y.astype("float32")[:, None], "q": Y},
        batch_size=16,
        epochs=2,
        shuffle=False,
        verbose=0,
    ).history
    np.testing.assert_allclose(found["loss"], [1.41499, 0.95119], atol=2e-5)
    np.testing.assert_allclose(found["p_loss"], [1.93239, 0.9586], atol=2e-5)
    np.testing.assert_allclose(found["q_accuracy"], [0.8125, 0.89062], atol=2e-5)


def test_a_recurrent_layer_keeps_its_state_until_it_is_reset() -> None:
    model = fill(
        keras.Sequential(
            [
                keras.Input((3, 2), batch_size=4),
                keras.layers.LSTM(3, stateful=True),
                keras.layers.Dense(1),
            ]
        )
    )
    ones = np.ones((4, 3, 2), "float32")
    first, second = (float(model.predict(ones, verbose=0)[0, 0]) for _ in range(2))
    model.layers[0].reset_state()
    third = float(model.predict(ones, verbose=0)[0, 0])
    np.testing.assert_allclose([first, second, third], [-0.43295, -0.37575, -0.43295], atol=2e-5)
    model.compile("sgd", "mse")
    data = np.ones((8, 3, 2)), np.ones((8, 1))
    found = model.fit(*data, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
    np.testing.assert_allclose(found, [1.82653, 1.6074], atol=2e-5)


def test_masked_steps() -> None:
    model = fill(
        keras.Sequential(
            [
                keras.Input((5,)),
                keras.layers.Embedding(10, 4, mask_zero=True),
                keras.layers.GRU(3),
                keras.layers.Dense(1),
            ]
        )
    )
    words = np.array([[1, 2, 0, 0, 0], [3, 0, 0, 0, 0], [1, 2, 3, 4, 5]])
    found = model.predict(words, verbose=0).ravel()
    np.testing.assert_allclose(found, [-0.65291, -0.62526, -0.59287], atol=2e-5)


QUANTIZED = {
    "int8": [0.298, -0.462, 2.31, -0.033, 3.768, 1.157, 2.166, 0.161],
    "int4": [0.3, -0.458, 2.428, -0.083, 3.826, 1.238, 2.125, 0.173],
}


@pytest.mark.parametrize("mode", QUANTIZED)
@pytest.mark.filterwarnings("ignore:Layer InputLayer")
def test_quantized_weights(mode: str) -> None:
    model = mlp()
    model.quantize(mode)
    found = model.predict(X[:4], verbose=0).ravel()
    np.testing.assert_allclose(found, QUANTIZED[mode], atol=1.5e-3)


@pytest.mark.filterwarnings("ignore:Layer InputLayer")
def test_float8_trains() -> None:
    model = mlp()
    model.quantize("float8")
    model.compile(keras.optimizers.Adam(0.01), loss())
    np.testing.assert_allclose(fit(model)["loss"], [0.98088, 0.82914, 0.68727], atol=1e-3)


@pytest.mark.filterwarnings("ignore:Layer InputLayer")
def test_a_quantized_model_leaves_python_with_products_of_bytes(tmp_path: Any) -> None:
    model = mlp()
    model.quantize("int8")
    expected = model.predict(X, verbose=0)
    model.export(str(tmp_path / "bundle"), verbose=False)
    bundle = tf.saved_model.load(str(tmp_path / "bundle"))
    np.testing.assert_allclose(bundle.serve(X).numpy(), expected, rtol=1e-5, atol=1e-6)
    assert b"MatMulInteger" in (tmp_path / "bundle" / "serve.onnx").read_bytes()


@pytest.mark.parametrize(
    ("subscripts", "left", "right"),
    [
        ("abc,cd->abd", (2, 3, 4), (4, 5)),
        ("abcd,cde->abe", (2, 3, 4, 5), (4, 5, 6)),
        ("ab,bc->ca", (2, 3), (3, 4)),
        ("aecd,abcd->acbe", (2, 3, 2, 4), (2, 5, 2, 4)),
        ("a,a->", (3,), (3,)),
    ],
)
def test_sums_of_products_of_bytes_are_exact(
    subscripts: str, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-128, 128, shape).astype("int8") for shape in (left, right))
    expected = np.einsum(subscripts, x.astype(int), y.astype(int))
    found = keras.ops.einsum(subscripts, x, y)
    assert found.dtype == tf.int32
    np.testing.assert_array_equal(found.numpy(), expected)
