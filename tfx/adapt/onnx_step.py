"""A bundle that trains a model of somebody else's: ``tfx train-step`` as a function."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfx.adapt.attach import lora
from tfx.adapt.losses import named_loss
from tfx.adapt.step import train_step
from tfx.adapt.trainable import freeze, unfreeze
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.exporters.native import save
from tfx.importing.model import import_onnx
from tfx.optimizers import registry


@dataclass(frozen=True, slots=True)
class TrainStepBundle:
    """What ``save_train_step`` made.

    Attributes:
        inputs: The specs of the train step's inputs, labels last.
        trained: Names of the variables that it changes, without the optimizer's.
        numbers: How many numbers these are.
        frozen: How many numbers of the model stay as they are.
    """

    inputs: tuple[TensorSpec, ...]
    trained: tuple[str, ...]
    numbers: int
    frozen: int


def save_train_step(
    model: Any,
    path: str | os.PathLike[str],
    loss: str,
    optimizer: str = "adam",
    *,
    learning_rate: float = 1e-3,
    output: str | None = None,
    label: str = "label",
    train: Sequence[str] = (),
    rank: int | None = None,
    alpha: float | None = None,
    input_shapes: Mapping[str, Any] | None = None,
) -> TrainStepBundle:
    """Make a bundle of an ONNX model: ``serving_default``, and ``train_step``, which trains it.

    Args:
        model: Path, bytes or ``onnx.ModelProto`` of a model.
        path: The bundle to make.
        loss: Name of a loss; see ``train_step``.
        optimizer: Name of an optimizer.
        learning_rate: Its learning rate, a variable of the bundle.
        output: The output that the loss is of, where there are several.
        label: Name of the input for labels.
        train: Names or patterns of the weights that are trained; none: all that can be. With
            ``rank`` those that get adapters; none: all matrices.
        rank: Train adapters of this rank beside the weights, and no weight itself.
        alpha: See ``lora``.
        input_shapes: Shapes for inputs, in place of those that the model declares.

    Returns:
        What was made.

    Raises:
        InvalidArgumentError: a name that the model lacks, or a loss that its output is not for.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> w = tf.constant([[1.0], [2.0]])
        >>> spec = tf.TensorSpec(["n", 2], name="x")
        >>> proto = tf.function(lambda x: x @ w).get_concrete_function(spec).as_onnx()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = tf.adapt.save_train_step(proto, folder + "/line", "mse", "sgd")
        ...     loaded = tf.saved_model.load(folder + "/line")
        >>> [spec.name for spec in made.inputs], made.numbers
        (['x', 'label'], 2)
    """
    imported = import_onnx(model, input_shapes=input_shapes)
    of = named_loss(loss)
    made = registry.deserialize(
        {"class_name": optimizer, "config": {"learning_rate": learning_rate}}
    )
    if rank is not None:
        lora(imported, rank, list(train) or None, alpha=alpha)
    elif train:
        freeze(imported)
        unfreeze(imported, list(train))
    if label in imported.inputs:
        raise InvalidArgumentError(
            f"label {label!r} is an input of the model already; give the labels another name."
        )
    if output is None and len(imported.output_names) > 1:
        raise InvalidArgumentError(
            f"the model has the outputs {', '.join(imported.output_names)}: say which one the loss "
            "is of."
        )
    if output is not None and output not in imported.output_names:
        raise InvalidArgumentError(
            f"output is {output!r}, which the model does not have; it has "
            f"{', '.join(imported.output_names)}."
        )
    spec = imported.outputs[output or imported.output_names[0]]
    if not isinstance(spec, TensorSpec):
        raise InvalidArgumentError(f"output {output!r} is a sequence; expected one tensor.")
    imported.optimizer = made
    step = train_step(imported, loss, made, output=output, labels=of.label(spec, label))
    trained = list(imported.trainable_variables)
    signatures = {**imported.signatures, "train_step": step}
    save(imported, path, signatures=signatures)
    weights = sum(v.shape.num_elements() or 0 for v in imported.weights.values())
    numbers = sum(v.shape.num_elements() or 0 for v in trained)
    names = tuple(v.name.removesuffix(":0") for v in trained)
    inputs = tuple(step.input_signature or ())
    return TrainStepBundle(inputs, names, numbers, weights - (0 if rank else numbers))
