"""The model: blocks of attention and dense layers, for whole texts and for one character more."""

from __future__ import annotations

import numpy as np

import tfx as tf
from tfx.model_zoo.language import BEGINNING, LanguageModel
from tfx.model_zoo.layers import Dense
from tfx.model_zoo.text import VOCABULARY


class Norm(tf.Module):
    """Vectors of length one on average, times a gain for each entry."""

    def __init__(self, width: int, name: str) -> None:
        super().__init__(name)
        self.gain = tf.Variable(tf.ones([width]), name="gain")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """``[..., width]`` to the same."""
        square = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
        return x * tf.math.rsqrt(square + 1e-6) * self.gain


class Block(tf.Module):
    """Attention to what came before, then two dense layers; both are added to what came in.

    Args:
        width: Of a character's vector.
        heads: Of the attention.
        context: How many characters the cache holds.
        name: The module's.
    """

    def __init__(self, width: int, heads: int, context: int, name: str) -> None:
        super().__init__(name)
        self._heads, self._size = heads, width // heads
        self.norms = [Norm(width, "norm0"), Norm(width, "norm1")]
        self.project = Dense(width, 3 * width, "project")
        self.merge = Dense(width, width, "merge")
        self.widen = Dense(width, 4 * width, "widen")
        self.narrow = Dense(4 * width, width, "narrow")
        cache = tf.zeros([1, heads, context, self._size])
        self.keys = tf.Variable(cache, trainable=False, name="keys")
        self.values = tf.Variable(cache, trainable=False, name="values")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Whole texts: ``[batch, time, width]`` to the same."""
        query, keys, values = self._heads_of(x)
        time = tf.range(tf.shape(x)[1])
        return self._finish(x, query, keys, values, time[None, :] <= time[:, None])

    def step(self, x: tf.Tensor, position: tf.Tensor) -> tf.Tensor:
        """One character more, ``[1, 1, width]``, whose key and value go into the cache."""
        query, key, value = self._heads_of(x)
        time = tf.range(self.keys.shape[2])
        here = tf.equal(time, position)[:, None]
        self.keys.assign(tf.where(here, key, self.keys))
        self.values.assign(tf.where(here, value, self.values))
        return self._finish(
            x, query, self.keys.read_value(), self.values.read_value(), (time <= position)[None, :]
        )

    def _heads_of(self, x: tf.Tensor) -> list[tf.Tensor]:
        """Query, key and value: ``[batch, heads, time, size]`` each."""
        parts = tf.reshape(
            self.project(self.norms[0](x)), [-1, tf.shape(x)[1], 3, self._heads, self._size]
        )
        return tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]), num=3)

    def _finish(
        self, x: tf.Tensor, query: tf.Tensor, keys: tf.Tensor, values: tf.Tensor, seen: tf.Tensor
    ) -> tf.Tensor:
        scores = tf.matmul(query, keys, transpose_b=True) / np.float32(np.sqrt(self._size))
        weights = tf.nn.softmax(tf.where(seen, scores, -1e9))
        found = tf.transpose(tf.matmul(weights, values), [0, 2, 1, 3])
        x = x + self.merge(tf.reshape(found, tf.shape(x)))
        return x + self.narrow(tf.nn.gelu(self.widen(self.norms[1](x))))


class Decoder(LanguageModel):
    """Characters to the next one.

    Args:
        width: Of a character's vector.
        heads: Of the attention.
        depth: Blocks.
        context: The longest text.
        learning_rate: AdamW's.
        seed: Of what is drawn while generating.
    """

    def __init__(
        self,
        width: int = 192,
        heads: int = 6,
        depth: int = 6,
        context: int = 128,
        learning_rate: float = 2e-3,
        seed: int = 0,
    ) -> None:
        super().__init__("decoder", seed)
        self.context = context
        small = tf.initializers.RandomNormal(stddev=0.02)
        self.characters = tf.Variable(small([VOCABULARY, width]), name="characters")
        self.places = tf.Variable(small([context, width]), name="places")
        self.blocks = [Block(width, heads, context, f"block{i}") for i in range(depth)]
        self.norm = Norm(width, "norm")
        self.logits = Dense(width, VOCABULARY, "logits")
        self.optimizer = tf.optimizers.AdamW(learning_rate, weight_decay=0.01)

    def __call__(self, tokens: tf.Tensor) -> tf.Tensor:
        """``[batch, time]`` to logits of each next character."""
        x = tf.gather(self.characters, tokens) + self.places[: tf.shape(tokens)[1]]
        for block in self.blocks:
            x = block(x)
        return self.logits(self.norm(x))

    def next_logits(self, token: tf.Tensor, position: tf.Tensor) -> tf.Tensor:
        """``[characters]`` behind one more token, what came before being in the cache."""
        x = tf.gather(self.characters, token) + tf.gather(self.places, position)
        x = x[None, None, :]
        for block in self.blocks:
            x = block.step(x, position)
        return self.logits(self.norm(x))[0, 0]

    @tf.function(input_signature=BEGINNING)
    def generate(
        self, prompt: tf.Tensor, length: tf.Tensor, temperature: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Continue a text to ``length`` characters in all, at most the context's."""
        length = tf.minimum(length, self.context)
        known = tf.minimum(tf.shape(prompt)[0], length)
        text = tf.TensorArray(tf.int64, size=length, element_shape=[])
        token = prompt[0]
        for position in tf.range(length):
            if position < known:
                token = prompt[position]
            text = text.write(position, token)
            token = self.draw(self.next_logits(token, position), temperature)
        return {"tokens": text.stack()}
