"""The programs in TensorFlow's names, for tfx and for TensorFlow itself: the zoo's own files.

``tfx`` is TensorFlow in its process (``on_tensorflow``), so everything here is imported late.
"""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np

from bench.zoo import programs
from bench.zoo.programs import Maker, Program


def makers(tf: Any) -> dict[str, Maker]:
    """What makes the programs.

    Args:
        tf: ``tfx``, or what stands for it.
    """

    def resnet50(batch: int) -> Program:
        model = _zoo("resnet50").ResNet()
        x, y = map(tf.constant, programs.images(batch, 224, 224, 3, classes=1000))
        return _program(model, [x, y], model.serve, [x])

    def char_lstm(batch: int) -> Program:
        model = _zoo("char_lstm").CharLstm(programs.LSTM_UNITS, programs.LSTM_WIDTH)
        return _writer(tf, model, batch)

    def decoder(batch: int) -> Program:
        sizes = (programs.DECODER_WIDTH, programs.HEADS, programs.DEPTH, programs.TEXT)
        return _writer(tf, _zoo("decoder").Decoder(*sizes), batch)

    def vae(batch: int) -> Program:
        model = _zoo("vae").Autoencoder(programs.VAE_CODE, programs.VAE_UNITS)
        x, code = tf.constant(programs.digits(batch)), tf.constant(programs.codes(batch))
        return _program(model, [x], model.serve, [code])

    return {
        "mlp": lambda batch: _classifier(tf, _Mlp, (784,), batch),
        "convnet": lambda batch: _classifier(tf, _Convnet, (28, 28, 1), batch),
        "resnet50": resnet50,
        "char_lstm": char_lstm,
        "decoder": decoder,
        "vae": vae,
    }


def _zoo(name: str) -> Any:
    return importlib.import_module(f"tfx.model_zoo.{name}.model")


def _writer(tf: Any, model: Any, batch: int) -> Program:
    tokens = programs.texts(batch)
    return _program(model, [tf.constant(tokens)], model.serve, [tf.constant(tokens[:, :-1])])


def _program(model: Any, batch: list[Any], serve: Any, given: list[Any]) -> Program:
    variables = model.trainable_variables
    model.optimizer.build(variables)
    count = sum(int(np.prod(v.shape)) for v in variables)
    return Program(
        lambda: model.train_step(*batch)["loss"],
        lambda: next(iter(serve(*given).values())),
        lambda result: result.numpy(),
        count,
    )


def _classifier(tf: Any, kind: Any, shape: tuple[int, ...], batch: int) -> Program:
    """A network that is trained on labels, in one function a step."""
    network = kind(tf)
    variables, optimizer = network.weights, network.optimizer
    optimizer.build(variables)

    @tf.function
    def train(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = network.logits(x)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    infer = tf.function(network.logits)
    x, y = map(tf.constant, programs.images(batch, *shape))
    count = sum(int(np.prod(v.shape)) for v in variables)
    return Program(lambda: train(x, y), lambda: infer(x), lambda r: r.numpy(), count)


class _Mlp:
    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self.weights: list[Any] = _dense(tf, programs.MLP_WIDTHS)
        self.optimizer = tf.optimizers.Adam(1e-3)

    def logits(self, x: Any) -> Any:
        """``[batch, 784]`` to ``[batch, 10]``."""
        return _layers(self._tf, x, self.weights)


class _Convnet:
    def __init__(self, tf: Any) -> None:
        self._tf = tf
        first, second, units = programs.CONVNET
        dense = _dense(tf, (49 * second, units, 10))
        shapes = [(5, 5, 1, first), (5, 5, first, second)]
        self._filters = [tf.Variable(_weights(s)) for s in shapes]
        self._biases = [tf.Variable(np.zeros(s[-1], np.float32)) for s in shapes]
        self._dense = dense
        self.weights = [*self._filters, *self._biases, *dense]
        self.optimizer = tf.optimizers.SGD(0.01)

    def logits(self, x: Any) -> Any:
        """``[batch, 28, 28, 1]`` to ``[batch, 10]``."""
        tf = self._tf
        for filters, bias in zip(self._filters, self._biases, strict=True):
            x = tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME") + bias)
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        return _layers(tf, tf.reshape(x, [-1, 49 * programs.CONVNET[1]]), self._dense)


def _weights(shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(0)
    return (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[:-1]))).astype(np.float32)


def _dense(tf: Any, widths: tuple[int, ...]) -> list[Any]:
    weights = []
    for before, after in itertools.pairwise(widths):
        weights += [tf.Variable(_weights((before, after))), tf.Variable(tf.zeros([after]))]
    return weights


def _layers(tf: Any, x: Any, weights: list[Any]) -> Any:
    for i in range(0, len(weights), 2):
        x = tf.matmul(x, weights[i]) + weights[i + 1]
        x = tf.nn.relu(x) if i < len(weights) - 2 else x
    return x
