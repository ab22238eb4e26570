"""``tfx train-step``: an ONNX file as a bundle that goes on learning."""

from __future__ import annotations

from typing import Any

import click

from tfx.cli import _output, _values
from tfx.cli._errors import OperationError, debug_option
from tfx.cli._limits import timeout_option
from tfx.cli._shapes import shape_of
from tfx.core.errors import OpError

_LOSSES = ("mse", "mae", "sparse-cross-entropy", "cross-entropy", "binary-cross-entropy")
_HELP = """Make a bundle of MODEL, an ONNX file: it answers, and it trains.

The bundle has the signatures serving_default, which is MODEL, and train_step, which takes MODEL's
inputs and a label, makes one step of the optimizer and gives the loss. Any loader runs it: in
Python, in Node, in a browser.

\b
Losses, and the label that they take:
  mse, mae              numbers like the output
  sparse-cross-entropy  the number of the class; the output has logits, or a softmax
  cross-entropy         the probability of each class
  binary-cross-entropy  a probability for each number; the output has logits, or a sigmoid

\b
Examples:
  tfx train-step net.onnx --loss sparse-cross-entropy --lr 1e-3 -o net_bundle
  tfx train-step net.onnx --loss mse --output y --train 'head.*' -o net_bundle
  tfx train-step bert.onnx --loss mse --lora 8 --train query --train value -o bert_bundle
"""


@click.command("train-step", help=_HELP, short_help="Make a bundle that trains an ONNX file.")
@click.argument("model", metavar="MODEL", type=_values.FILLED)
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    required=True,
    type=_values.FILLED,
    help="The bundle to make; it appears whole or not at all.",
)
@click.option("--loss", required=True, type=click.Choice(_LOSSES), help="What is minimized.")
@click.option("--optimizer", metavar="NAME", default="adam", show_default=True, help="The method.")
@click.option(
    "--lr",
    "learning_rate",
    metavar="NUMBER",
    type=click.FloatRange(min=0, min_open=True),
    default=1e-3,
    show_default=True,
    help="Learning rate.",
)
@click.option("--output", metavar="NAME", help="The output that the loss is of.")
@click.option(
    "--label", metavar="NAME", default="label", show_default=True, help="Name of the label's input."
)
@click.option(
    "--train",
    metavar="NAME",
    multiple=True,
    help="A weight to train: a name, a pattern, the end of a layer's name. All by default.",
)
@click.option(
    "--lora",
    "rank",
    metavar="RANK",
    type=click.IntRange(min=1),
    help="Train adapters of this rank beside these weights, which stay.",
)
@click.option(
    "--alpha",
    metavar="NUMBER",
    type=click.FloatRange(min=0, min_open=True),
    help="Adapters are scaled by it over RANK; RANK by default.",
)
@click.option(
    "--shape",
    "shapes",
    metavar="NAME=SIZES",
    multiple=True,
    help="Shape of an input: sizes with commas, names or ? for any.",
)
@timeout_option()
@debug_option
def command(model: str, *, out: str, **options: Any) -> None:
    """Make the bundle and say what it takes and trains."""
    from tfx.adapt.onnx_step import save_train_step

    if options["alpha"] is not None and options["rank"] is None:
        raise click.UsageError("--alpha is for adapters; give --lora RANK too")
    shapes = dict(shape_of(text) for text in options.pop("shapes"))
    with _output.progress(f"Making a train step of {model}"):
        try:
            made = save_train_step(model, out, input_shapes=shapes, **options)
        except ValueError as error:
            if isinstance(error, OpError):
                raise
            raise OperationError(str(error)) from error
    inputs = ", ".join(f"{s.name} {s.dtype.name}{s.shape}" for s in made.inputs)
    click.echo(f"{out}: train_step({inputs})")
    what = f"{_output.counted(len(made.trained), 'variable')}, {made.numbers:,} numbers"
    click.echo(f"trains {what}; {made.frozen:,} numbers of the model stay as they are")
