"""Checks one of Keras' applications against tfx: ``python -m bench.models.with_keras NAME``.

Prints one line of JSON with what was found. Runs in the environment that has Keras and TensorFlow:
the model is made, run and trained on TensorFlow. ``from_keras`` has it made again on tfx, in a
process of its own, from its ``.keras`` file.
"""

# mypy: ignore-errors

from __future__ import annotations

import os
import time
from pathlib import Path
from urllib.parse import quote

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

import tfx
from bench.models.checks import (
    Checked,
    deviation,
    flat,
    least,
    plain_session,
    report_on,
    temporary,
)
from tfx.exporters import from_keras
from tfx.loaders import Bundle

_CLASSES = 10
_BATCH = 2
_RATE = 1e-3
# How many drawings of the inputs are tried, as of torch's networks, and for the same reason.
_TRIES = 4
# The smallest sides that the models take, or such that convolutions still see some pixels.
MODELS = {
    "mobilenet": ("MobileNet", 64),
    "mobilenet_v2": ("MobileNetV2", 64),
    "mobilenet_v3_small": ("MobileNetV3Small", 64),
    "mobilenet_v3_large": ("MobileNetV3Large", 64),
    "efficientnet_b0": ("EfficientNetB0", 64),
    "efficientnet_v2_b0": ("EfficientNetV2B0", 64),
    "resnet50": ("ResNet50", 64),
    "resnet50_v2": ("ResNet50V2", 64),
    "densenet121": ("DenseNet121", 64),
    "inception_v3": ("InceptionV3", 96),
    "xception": ("Xception", 72),
    "nasnet_mobile": ("NASNetMobile", 64),
    "vgg16": ("VGG16", 32),
    "convnext_tiny": ("ConvNeXtTiny", 64),
}


def made(name, number_type):
    """The model in a floating-point type, with random weights."""
    kind, side = MODELS[name]
    keras.utils.clear_session()
    keras.config.set_floatx(number_type)
    return getattr(keras.applications, kind)(
        weights=None, input_shape=(side, side, 3), classes=_CLASSES
    )


def randomized(model):
    """Values for all weights: no two parameters alike, and statistics that matter.

    ``Normalization`` keeps its own: it computes with what it made of them when it was built.
    """
    rng = np.random.default_rng(1)
    found = []
    for variable in model.weights:
        value = keras.ops.convert_to_numpy(variable)
        if variable.path.endswith("moving_variance"):
            value = value * (0.5 + rng.random(value.shape))
        elif value.ndim == 1 and (variable.trainable or variable.path.endswith("moving_mean")):
            value = value + 0.1 * rng.standard_normal(value.shape)
        found.append(np.asarray(value, variable.dtype))
    return found


class Reference:
    """What the source computes in one precision.

    Args:
        name: The model.
        number_type: ``"float32"`` or ``"float64"``.
        values: Of all variables; None: drawn.

    Attributes:
        model: The model.
        values: Of all variables.
        names: Of the variables that are trained.
    """

    def __init__(self, name, number_type, values=None):
        self.model = made(name, number_type)
        self.values = randomized(self.model) if values is None else values
        self.names = [v.path for v in self.model.trainable_variables]
        self._number_type = number_type

    def run(self, x, weights):
        """Its answer, gradients of the weighted sum of it, and the changes by a step of SGD."""
        model = self.model
        model.set_weights(self.values)
        variables = model.trainable_variables
        x, weights = (tf.constant(a, self._number_type) for a in (x, weights))
        with tf.GradientTape() as tape:
            answer = model(x, training=False)
            loss = tf.reduce_sum(answer * weights)
        gradients = tape.gradient(loss, [v.value for v in variables])
        optimizer = keras.optimizers.SGD(_RATE, momentum=0.9)
        before = [v.numpy() for v in variables]
        optimizer.apply(gradients, variables)
        changes = [v.numpy() - b for v, b in zip(variables, before, strict=True)]
        return answer.numpy(), [tf.convert_to_tensor(g).numpy() for g in gradients], changes


class Drawing:
    """Inputs, and what the source computes of them in float32 and in float64.

    Args:
        low: The source in float32.
        exact: The source in float64.
        seed: Of the inputs.
    """

    def __init__(self, low, exact, seed):
        rng = np.random.default_rng(seed)
        shape = (_BATCH, *low.model.input_shape[1:])
        kinds = keras.layers.Rescaling, keras.layers.Normalization
        scaled = any(isinstance(layer, kinds) for layer in low.model.layers)
        pixels = rng.uniform(0, 255, shape) if scaled else rng.uniform(-1, 1, shape)
        self.x = pixels.astype(np.float32)
        self.weights = rng.standard_normal((_BATCH, _CLASSES)).astype(np.float32)
        self.low = low.run(self.x, self.weights)
        self.exact = exact.run(self.x, self.weights)


def check(entry):
    """What was found so far, again and again."""
    name = entry.partition("/")[2]
    keras.utils.set_random_seed(0)
    low = Reference(name, "float32")
    exact = Reference(name, "float64", low.values)
    keras.config.set_floatx("float32")
    found = {"parameters": low.model.count_params()}
    yield found
    first = Drawing(low, exact, 0)
    low.model.set_weights(low.values)
    start = time.perf_counter()
    imported = from_keras.to_module(low.model)
    found["to_module_s"] = time.perf_counter() - start
    found["nodes"] = len(imported.as_onnx().graph.node)
    yield found
    checked = Checked(imported)
    found["answers"] = deviation(checked.answers([first.x]), [first.low[0]], [first.exact[0]])
    yield found
    drawings = [first]
    for turn in range(_TRIES):
        if turn == len(drawings):
            drawings.append(Drawing(low, exact, turn))
        _compare_gradients(found, checked, drawings[turn], low.names)
        if found["gradient"] <= 1:
            break
    yield found
    with temporary() as folder:
        variables = [imported.weights[n] for n in low.names]
        start = time.perf_counter()
        checked.save(Path(folder), [first.x], [first.weights.shape], variables)
        found["save_s"] = time.perf_counter() - start
        for turn in range(_TRIES):
            if turn == len(drawings):
                drawings.append(Drawing(low, exact, turn))
            _compare_step(found, folder, drawings[turn], low)
            if found["step"] <= 1:
                break
        yield found
        serve = tfx.saved_model.load(folder).signatures["serving_default"]
        (port,) = Bundle.open(folder).signatures["serving_default"].inputs
        again = flat(serve(**{port: tfx.constant(first.x)}))[0].numpy()
        found["reloaded"] = deviation([np.asarray(again)], [first.low[0]], [first.exact[0]])
        session = plain_session(Path(folder) / "serving_default.onnx")
        plain = session.run(None, {port: first.x})
        found["plain"] = deviation(plain, [first.low[0]], [first.exact[0]])
    x = tfx.constant(first.x)
    found["ms"] = least({"ours": lambda: flat(imported(x))[0].numpy()})["ours"]
    yield found


def _floor(drawing):
    """What a gradient that is zero but for rounding may differ."""
    return 1e-6 * max(np.abs(g).max(initial=0.0) for g in drawing.exact[1])


def _compare_gradients(found, checked, drawing, names):
    """Gradients of all parameters; the worst one is named."""
    variables = [checked.module.weights[n] for n in names]
    start = time.perf_counter()
    gradients = checked.gradients([drawing.x], [drawing.weights], variables)
    found["gradient_s"] = time.perf_counter() - start
    each = zip(names, gradients, drawing.low[1], drawing.exact[1], strict=True)
    worst = {n: deviation([g], [s], [e], floor=_floor(drawing)) for n, g, s, e in each}
    found["worst_gradient"] = max(worst, key=worst.get)
    found["gradient"] = worst[found["worst_gradient"]]
    found["gradient_tries"] = found.get("gradient_tries", 0) + 1


def _compare_step(found, folder, drawing, source):
    """A step of the saved signature, in the loader that knows no tfx."""
    bundle = Bundle.open(folder)
    ports = bundle.signatures["train_step"].inputs
    bundle.call("train_step", dict(zip(ports, [drawing.x, drawing.weights], strict=True)))
    paths = [v.path for v in source.model.weights]
    before = dict(zip(paths, source.values, strict=True))
    worst = {}
    for n, s, e in zip(source.names, drawing.low[2], drawing.exact[2], strict=True):
        change = np.asarray(bundle.variables[f"weights/{quote(n, safe='')}"]) - before[n]
        worst[n] = deviation([change], [s], [e], floor=_floor(drawing) * _RATE)
    found["worst_step"] = max(worst, key=worst.get)
    found["step"] = worst[found["worst_step"]]
    found["step_tries"] = found.get("step_tries", 0) + 1


if __name__ == "__main__":
    report_on(check)
