"""The model: bottleneck blocks of convolutions with batch normalization."""

from __future__ import annotations

from collections.abc import Sequence

import tfx as tf
from tfx.model_zoo.layers import Dense

MOMENTUM = 0.9


class ConvNorm(tf.Module):
    """Convolution without bias, then batch normalization."""

    def __init__(
        self, channels_in: int, channels_out: int, size: int, stride: int, name: str
    ) -> None:
        super().__init__(name)
        shape = [size, size, channels_in, channels_out]
        self._stride = stride
        self.kernel = tf.Variable(tf.initializers.HeNormal()(shape), name="kernel")
        self.scale = tf.Variable(tf.ones([channels_out]), name="scale")
        self.offset = tf.Variable(tf.zeros([channels_out]), name="offset")
        self.mean = tf.Variable(tf.zeros([channels_out]), trainable=False, name="mean")
        self.variance = tf.Variable(tf.ones([channels_out]), trainable=False, name="variance")

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        """``[batch, height, width, channels]``; normalized by the batch while training."""
        x = tf.nn.conv2d(x, self.kernel, strides=self._stride, padding="SAME")
        if training:
            mean, variance = tf.nn.moments(x, [0, 1, 2])
            self.mean.assign(MOMENTUM * self.mean + (1 - MOMENTUM) * mean)
            self.variance.assign(MOMENTUM * self.variance + (1 - MOMENTUM) * variance)
        else:
            mean, variance = self.mean.read_value(), self.variance.read_value()
        return tf.nn.batch_normalization(x, mean, variance, self.offset, self.scale, 1e-5)


class Bottleneck(tf.Module):
    """Convolutions 1x1, 3x3 and 1x1, added to what came in."""

    def __init__(self, channels_in: int, width: int, stride: int, name: str) -> None:
        super().__init__(name)
        self.narrow = ConvNorm(channels_in, width, 1, 1, "narrow")
        self.look = ConvNorm(width, width, 3, stride, "look")
        self.widen = ConvNorm(width, 4 * width, 1, 1, "widen")
        # The block begins as nothing but what came in.
        self.widen.scale.assign(tf.zeros_like(self.widen.scale))
        self.shortcut = None
        if stride != 1 or channels_in != 4 * width:
            self.shortcut = ConvNorm(channels_in, 4 * width, 1, stride, "shortcut")

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        """``[batch, height, width, channels]``."""
        y = tf.nn.relu(self.narrow(x, training))
        y = tf.nn.relu(self.look(y, training))
        y = self.widen(y, training)
        if self.shortcut is not None:
            x = self.shortcut(x, training)
        return tf.nn.relu(x + y)


class ResNet(tf.Module):
    """Images to classes; the defaults are ResNet-50.

    Args:
        side: Height and width of the images.
        channels: Of the images.
        classes: How many there are.
        depths: Blocks of each stage; every stage but the first halves height and width.
        width: Of the first stage, doubled by each other.
        learning_rate: Of gradient descent with momentum 0.9.
    """

    def __init__(
        self,
        side: int = 224,
        channels: int = 3,
        classes: int = 1000,
        depths: Sequence[int] = (3, 4, 6, 3),
        width: int = 64,
        learning_rate: float = 0.1,
    ) -> None:
        super().__init__("resnet")
        # Small images are not made smaller before the first stage.
        self._large = side > 64
        size, stride = (7, 2) if self._large else (3, 1)
        self.stem = ConvNorm(channels, width, size, stride, "stem")
        self.blocks = []
        current = width
        for stage, depth in enumerate(depths):
            for i in range(depth):
                stride = 2 if stage and not i else 1
                name = f"stage{stage}_block{i}"
                self.blocks.append(Bottleneck(current, width << stage, stride, name))
                current = 4 * (width << stage)
        self.logits = Dense(current, classes, "logits")
        self.optimizer = tf.optimizers.SGD(learning_rate, momentum=0.9)
        image = tf.TensorSpec(["batch", side, side, channels], tf.float32, name="image")
        label = tf.TensorSpec(["batch"], tf.int64, name="label")
        self.serve = tf.function(self._serve, input_signature=[image])
        self.train_step = tf.function(self._train_step, input_signature=[image, label])

    def __call__(self, image: tf.Tensor, training: bool) -> tf.Tensor:
        """Logits ``[batch, classes]``."""
        x = tf.nn.relu(self.stem(image, training))
        if self._large:
            x = tf.nn.max_pool2d(x, ksize=3, strides=2, padding="SAME")
        for block in self.blocks:
            x = block(x, training)
        return self.logits(tf.reduce_mean(x, axis=[1, 2]))

    def _serve(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        """Probabilities of the classes."""
        return {"probabilities": tf.nn.softmax(self(image, training=False))}

    def _train_step(self, image: tf.Tensor, label: tf.Tensor) -> dict[str, tf.Tensor]:
        """One step of gradient descent; returns loss and accuracy before it."""
        with tf.GradientTape() as tape:
            logits = self(image, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
            loss = tf.reduce_mean(losses)
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        hits = tf.cast(tf.equal(tf.argmax(logits, axis=-1), label), tf.float32)
        return {"loss": loss, "accuracy": tf.reduce_mean(hits)}
