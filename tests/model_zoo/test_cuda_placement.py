"""What a GPU would run of the zoo, as ``placement`` predicts it: everything but shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tfx.model_zoo.char_lstm.model import CharLstm
from tfx.model_zoo.decoder.model import Decoder
from tfx.model_zoo.diffusion.model import Diffusion
from tfx.model_zoo.digits.model import DigitClassifier
from tfx.model_zoo.forces.model import Energy
from tfx.model_zoo.l2hmc.model import Sampler
from tfx.model_zoo.l2hmc.targets import Gaussian, Mixture
from tfx.model_zoo.policy_gradient.model import Policy
from tfx.model_zoo.resnet50.model import ResNet
from tfx.model_zoo.tabular.model import Table
from tfx.model_zoo.vae.model import Autoencoder

MODELS: dict[str, Callable[[], Any]] = {
    "char_lstm": lambda: CharLstm(units=8, width=4),
    "decoder": lambda: Decoder(width=8, heads=2, depth=1, context=8),
    "diffusion": Diffusion,
    "digits": DigitClassifier,
    "forces": Energy,
    "l2hmc mixture": lambda: Sampler(Mixture(), leapfrogs=2),
    "l2hmc": lambda: Sampler(Gaussian(), leapfrogs=2),
    "policy_gradient": lambda: Policy(carts=4, time=5),
    "resnet50": lambda: ResNet(96, 3, 10, depths=(1, 1), width=4),
    "resnet50 small": lambda: ResNet(8, 1, 10, depths=(1, 1), width=4),
    "tabular": lambda: Table(np.eye(4, 5, dtype=np.float32), 3),
    "vae": lambda: Autoencoder(units=8),
}


def functions(model: Any) -> dict[str, Any]:
    """The functions of a model that have an input signature, traced."""
    found = {}
    for name in dir(type(model)) + list(vars(model)):
        function = None if name.startswith("__") else getattr(model, name)
        if getattr(function, "input_signature", None) is not None:
            found[name] = function.get_concrete_function()
    return found


@pytest.mark.parametrize("name", MODELS)
def test_nothing_but_shapes_stays_on_the_cpu(name: str) -> None:
    model = MODELS[name]()
    traced = functions(model)
    assert "train_step" in traced
    for function, concrete in traced.items():
        table = concrete.placement("/GPU:0")
        wrong = [row for row in table.on_host if not row.why.startswith("computes with shapes")]
        assert not wrong, (function, wrong)
