"""The activations of recurrent operators and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.control_flow.recurrent_reference import activations
from tfx.control_flow.recurrent_activations import Activation, activations_of
from tfx.framework.convert import constant

NAMES = (
    "Affine", "Relu", "LeakyRelu", "ThresholdedRelu", "Tanh", "ScaledTanh", "Sigmoid",
    "HardSigmoid", "Elu", "Softsign", "Softplus",
)  # fmt: skip
X = np.array([-3.3, -1.7, -0.9, -0.31, 0.23, 0.77, 1.3, 4.1])


@pytest.mark.parametrize("clip", [0.0, 1.1])
@pytest.mark.parametrize("name", NAMES)
def test_value_and_derivative(name, clip):
    attrs = {"activations": [name], "activation_alpha": [0.3], "activation_beta": [0.4]}
    (theirs,) = activations(attrs, [], 1)

    def f(x):
        return theirs(np.clip(x, -clip, clip) if clip else x)

    (ours,) = activations_of({**attrs, "clip": clip}, ())
    value, slope = ours.both(constant(X))
    step = 1e-6
    np.testing.assert_allclose(value.numpy(), f(X), atol=1e-7)
    np.testing.assert_allclose(ours.value(constant(X)).numpy(), f(X), atol=1e-7)
    expected = (f(X + step) - f(X - step)) / (2 * step)
    np.testing.assert_allclose(slope.numpy(), expected, atol=1e-6)


def test_numbers_go_to_those_that_take_them():
    attrs = {
        "activations": [b"Sigmoid", "HardSigmoid", "tanh", "Elu"],
        "activation_alpha": [0.3, 0.9],
        "activation_beta": [0.6],
    }
    assert activations_of(attrs, ()) == [
        Activation("Sigmoid"),
        Activation("HardSigmoid", 0.3, 0.6),
        Activation("Tanh"),
        Activation("Elu", 0.9),
    ]


def test_defaults():
    assert activations_of({"clip": 2.0}, ("Tanh",)) == [Activation("Tanh", clip=2.0)]
    assert activations_of({"activations": ["LeakyRelu"]}, ()) == [Activation("LeakyRelu", 0.01)]
