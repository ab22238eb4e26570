"""The model: an LSTM over characters, which ONNX has as one operator."""

from __future__ import annotations

import tfx as tf
from tfx.model_zoo.language import BEGINNING, LanguageModel
from tfx.model_zoo.layers import Dense
from tfx.model_zoo.text import VOCABULARY


class Lstm(tf.Module):
    """A layer of memory cells: the operator ``LSTM`` of ONNX."""

    def __init__(self, units_in: int, units: int, name: str) -> None:
        super().__init__(name)
        self.units = units
        glorot, orthogonal = tf.initializers.GlorotUniform(), tf.initializers.Orthogonal()
        self.kernel = tf.Variable(glorot([1, 4 * units, units_in]), name="kernel")
        self.recurrent = tf.Variable(orthogonal([1, 4 * units, units]), name="recurrent")
        self.bias = tf.Variable(tf.zeros([1, 8 * units]), name="bias")

    def __call__(
        self, x: tf.Tensor, state: tuple[tf.Tensor, tf.Tensor]
    ) -> tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]]:
        """``[time, batch, units_in]`` to ``[time, batch, units]``, and the state behind it."""
        parameters = (self.kernel, self.recurrent, self.bias)
        y, hidden, cell = tf.raw.LSTM(
            x, *parameters, None, *state, hidden_size=self.units, n_outputs=3
        )
        return tf.squeeze(y, axis=1), (hidden, cell)

    def zero_state(self, batch: tf.Tensor | int) -> tuple[tf.Tensor, tf.Tensor]:
        """What a text begins with."""
        return tf.zeros([1, batch, self.units]), tf.zeros([1, batch, self.units])


class CharLstm(LanguageModel):
    """Characters to the next one.

    Args:
        units: Cells.
        width: Of a character's vector.
        learning_rate: Adam's.
        seed: Of what is drawn while generating.
    """

    def __init__(
        self, units: int = 512, width: int = 64, learning_rate: float = 3e-3, seed: int = 0
    ) -> None:
        super().__init__("char_lstm", seed)
        self.characters = tf.Variable(tf.random.normal([VOCABULARY, width]), name="characters")
        self.lstm = Lstm(width, units, "lstm")
        self.logits = Dense(units, VOCABULARY, "logits")
        self.optimizer = tf.optimizers.Adam(learning_rate)

    def __call__(self, tokens: tf.Tensor) -> tf.Tensor:
        """``[batch, time]`` to logits of each next character."""
        x = tf.transpose(tf.gather(self.characters, tokens), [1, 0, 2])
        y, _ = self.lstm(x, self.lstm.zero_state(tf.shape(tokens)[0]))
        return tf.transpose(self.logits(y), [1, 0, 2])

    @tf.function(input_signature=BEGINNING)
    def generate(
        self, prompt: tf.Tensor, length: tf.Tensor, temperature: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Continue a text by ``length`` characters."""
        x = tf.gather(self.characters, prompt)[:, None, :]
        y, state = self.lstm(x, self.lstm.zero_state(1))
        text = tf.TensorArray(tf.int64, size=length, element_shape=[])
        for i in tf.range(length):
            token = self.draw(self.logits(y[-1])[0], temperature)
            text = text.write(i, token)
            y, state = self.lstm(tf.gather(self.characters, token)[None, None, :], state)
        return {"tokens": tf.concat([prompt, text.stack()], axis=0)}
