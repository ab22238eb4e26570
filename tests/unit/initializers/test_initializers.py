"""Initializers: spread and bounds, seeds, fixed values, configuration, names."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.ops.random.generator import set_seed

init = tf.initializers
SCALED = {
    # name: (numerator, what divides it, whether the distribution is uniform)
    "GlorotUniform": (2.0, "sum", True),
    "GlorotNormal": (2.0, "sum", False),
    "HeUniform": (2.0, "in", True),
    "HeNormal": (2.0, "in", False),
    "LecunUniform": (1.0, "in", True),
    "LecunNormal": (1.0, "in", False),
}
SHAPES = {(200, 100): (200, 100), (3, 3, 40, 60): (360, 540), (5000,): (5000, 5000)}


def variance(x: np.ndarray) -> float:
    return float(np.mean(np.square(x.astype(np.float64))))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", SCALED)
def test_variance_follows_from_the_layer(name: str, shape: tuple[int, ...]) -> None:
    numerator, by, uniform = SCALED[name]
    inputs, outputs = SHAPES[shape]
    expected = numerator / (inputs + outputs if by == "sum" else inputs)
    x = getattr(init, name)(seed=3)(shape).numpy()
    assert x.shape == shape
    assert x.dtype == np.float32
    assert variance(x) == pytest.approx(expected, rel=0.08)
    assert abs(x.mean()) < 4 * math.sqrt(expected / x.size)
    # A normal distribution is cut at two of its standard deviations before the cut.
    limit = math.sqrt(3 * expected) if uniform else 2 * math.sqrt(expected) / 0.879625
    assert 0.97 * limit < np.abs(x).max() <= limit * (1 + 1e-6)


def test_variance_scaling() -> None:
    x = init.VarianceScaling(3.0, "fan_out", "untruncated_normal", seed=1)([100, 300]).numpy()
    assert variance(x) == pytest.approx(3 / 300, rel=0.05)
    assert np.abs(x).max() > 3 * 0.1  # has tails
    assert init.VarianceScaling(distribution="normal").distribution == "truncated_normal"
    assert init.VarianceScaling(seed=1)([]).shape == []
    # No inputs count as one.
    assert init.VarianceScaling(seed=1)([0, 3]).shape == [0, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": 0.0}, "`scale` must be positive float. Received: scale=0.0"),
        ({"mode": "in"}, "Invalid `mode` argument: 'in'. Please use one of fan_in"),
        ({"distribution": "cauchy"}, "Invalid `distribution` argument: 'cauchy'"),
        ({"seed": 1.5}, "`seed` should be an integer or None. Received: seed=1.5"),
    ],
)
def test_variance_scaling_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        init.VarianceScaling(**arguments)


def test_plain_distributions() -> None:
    normal = init.RandomNormal(mean=2.0, stddev=0.5, seed=1)([20000]).numpy()
    assert normal.mean() == pytest.approx(2.0, abs=0.02)
    assert normal.std() == pytest.approx(0.5, rel=0.03)
    assert np.abs(normal - 2.0).max() > 1.5
    cut = init.TruncatedNormal(mean=2.0, stddev=0.5, seed=1)([20000]).numpy()
    assert np.abs(cut - 2.0).max() <= 1.0
    assert cut.std() == pytest.approx(0.5 * 0.87962566, rel=0.03)
    uniform = init.RandomUniform(1.0, 3.0, seed=1)([20000]).numpy()
    assert 1.0 <= uniform.min() < 1.01 < 2.99 < uniform.max() < 3.0
    assert uniform.mean() == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
@pytest.mark.parametrize("name", ["RandomNormal", "RandomUniform", "HeNormal", "Orthogonal"])
def test_dtypes(name: str, dtype: Any) -> None:
    x = getattr(init, name)(seed=1)([4, 3], dtype=dtype)
    assert x.dtype is dtype
    assert np.isfinite(x.numpy().astype(np.float64)).all()


def test_seeds() -> None:
    seeded = init.RandomNormal(seed=5)
    first = seeded([3]).numpy()
    np.testing.assert_array_equal(first, seeded([3]).numpy())
    np.testing.assert_array_equal(first, init.RandomNormal(seed=np.int64(5))([3]).numpy())
    assert not np.array_equal(first, init.RandomNormal(seed=6)([3]).numpy())


@pytest.mark.parametrize("name", ["RandomUniform", "GlorotNormal", "Orthogonal"])
def test_without_a_seed(name: str) -> None:
    drawn = []
    for _ in range(2):
        set_seed(1)
        free = getattr(init, name)()
        drawn.append([free([3, 3]).numpy(), free([3, 3]).numpy()])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0][0], drawn[0][1])


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 3, 4)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    x = init.Orthogonal(gain=2.0, seed=1)(shape, tf.float64).numpy()
    assert x.shape == shape
    matrix = x.reshape(-1, shape[-1]) / 2.0
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(matrix.shape[1]), atol=1e-14)


def test_orthogonal_prefers_no_sign() -> None:
    # QR alone gives a first column whose first element is always of one sign.
    signs = {float(np.sign(init.Orthogonal(seed=i)([2, 2]).numpy()[0, 0])) for i in range(20)}
    assert signs == {-1.0, 1.0}


def test_fixed_values() -> None:
    np.testing.assert_array_equal(init.Zeros()([2, 3]).numpy(), np.zeros((2, 3), np.float32))
    np.testing.assert_array_equal(init.Ones()((2,), tf.bool).numpy(), [True, True])
    np.testing.assert_array_equal(init.Ones()(3, tf.int8).numpy(), np.ones(3, np.int8))
    assert init.Constant(2.5)(tf.TensorShape([])).numpy() == 2.5
    np.testing.assert_array_equal(init.Constant([1, 2, 3, 4])([2, 2]).numpy(), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(init.Identity(3.0)([3, 2]).numpy(), 3 * np.eye(3, 2))
    assert init.Identity()([2, 2], tf.int32).dtype is tf.int32


def test_errors_of_shapes_and_dtypes() -> None:
    with pytest.raises(ValueError, match=r"can only be used for 2D matrices\. Received: shape"):
        init.Identity()([2])
    with pytest.raises(ValueError, match=r"at least two-dimensional. Received: shape=\[4\]"):
        init.Orthogonal()([4])
    with pytest.raises(ValueError, match="Expected float dtype, got int32"):
        init.RandomNormal()([4], tf.int32)
    with pytest.raises(ValueError, match="fully defined shape"):
        init.Zeros()([None, 2])
    with pytest.raises(TypeError, match="must override `__call__"):
        init.Initializer()([2])


def test_initial_values_of_variables() -> None:
    made: list[tf.Variable] = []

    @tf.function
    def build() -> tf.Tensor:
        if not made:
            made.append(tf.Variable(lambda: init.HeUniform(seed=1)([3, 2])))
            made.append(tf.Variable(init.Orthogonal(seed=1)([2, 2])))
        return made[0].value()

    expected = init.HeUniform(seed=1)([3, 2]).numpy()
    np.testing.assert_array_equal(build().numpy(), expected)
    np.testing.assert_array_equal(made[1].numpy(), init.Orthogonal(seed=1)([2, 2]).numpy())


CLASSES = [
    "Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Identity",
    "LecunNormal", "LecunUniform", "Ones", "Orthogonal", "RandomNormal", "RandomUniform",
    "TruncatedNormal", "VarianceScaling", "Zeros",
]  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_names_and_configuration(name: str) -> None:
    cls = getattr(init, name)
    snake = "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
    assert getattr(init, snake) is cls
    for identifier in (name, snake, cls):
        assert type(init.get(identifier)) is cls
    made = cls(seed=4) if "seed" in cls().get_config() else cls()
    copied = init.deserialize(json.loads(json.dumps(init.serialize(made))))
    assert type(copied) is cls
    assert copied.get_config() == made.get_config() == made.clone().get_config()
    np.testing.assert_array_equal(copied([2, 2]).numpy(), made([2, 2]).numpy())


def test_get() -> None:
    made = init.Constant(3)
    assert init.get(made) is made
    assert init.get(None) is None
    assert init.get(max) is max
    assert repr(init.get({"class_name": "Constant", "config": {"value": 3}})) == "Constant(value=3)"
    with pytest.raises(ValueError, match=r"'glorot'; did you mean 'glorot_\w+'\?"):
        init.get("glorot")
    with pytest.raises(ValueError, match="Could not interpret initializer identifier: 3"):
        init.get(3)
