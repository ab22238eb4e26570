"""``tfx gradient``: an ONNX model that computes gradients of another one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from tfx.cli import _output, _values
from tfx.cli._errors import OperationError, debug_option
from tfx.cli._limits import timeout_option
from tfx.cli._shapes import shape_of
from tfx.core.errors import OpError

if TYPE_CHECKING:
    from collections.abc import Iterator

_HELP = """Write an ONNX model that computes gradients of MODEL, an ONNX file.

The new model has the inputs of MODEL and an input y_grad for each --output y that is not a scalar:
the gradient that arrives there. For each --input x it has the output x_grad. Any ONNX Runtime runs
it.

Without --output all floating-point outputs are differentiated; without --input, by all
floating-point inputs. Both take names of values inside of the model too, --input also weights.

\b
Examples:
  tfx gradient classifier.onnx -o saliency.onnx --output logits --input image
  tfx gradient loss.onnx -o grads.onnx --input fc.weight --input fc.bias --weights-as-inputs
  tfx gradient net.onnx -o net_grad.onnx --shape image=1,3,224,224 --ones
"""


@click.command("gradient", help=_HELP, short_help="Write a model that computes gradients.")
@click.argument("model", metavar="MODEL", type=_values.FILLED)
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    required=True,
    type=_values.FILLED,
    help="The file to make; it appears whole or not at all.",
)
@click.option("--output", "outputs", metavar="NAME", multiple=True, help="What is differentiated.")
@click.option(
    "--input", "inputs", metavar="NAME", multiple=True, help="What it is differentiated by."
)
@click.option(
    "--seeds/--ones",
    default=None,
    help="The arriving gradients are inputs, or ones; by default ones for scalars alone.",
)
@click.option("--gradients-only", is_flag=True, help="Leave the outputs of MODEL out.")
@click.option(
    "--weights-as-inputs",
    is_flag=True,
    help="Make the floating-point weights inputs, for training.",
)
@click.option("--zeros", is_flag=True, help="Where nothing depends on an input, give zeros.")
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
    """Make the model and say what it takes and gives."""
    from tfx.autodiff.tape import UnconnectedGradients
    from tfx.importing.gradient import export_gradient

    if os.path.abspath(out) == os.path.abspath(model):
        raise click.UsageError("--out is MODEL itself; give another file")
    shapes = dict(shape_of(text) for text in options["shapes"])
    kind = UnconnectedGradients.ZERO if options["zeros"] else UnconnectedGradients.NONE
    with _output.progress(f"Differentiating {model}"):
        try:
            made = export_gradient(
                model,
                options["outputs"] or None,
                options["inputs"] or None,
                seeds=options["seeds"],
                keep_outputs=not options["gradients_only"],
                weights_as_inputs=options["weights_as_inputs"],
                unconnected_gradients=kind,
                input_shapes=shapes,
                path=out,
            )
        except ValueError as error:
            if isinstance(error, OpError):
                raise
            raise OperationError(str(error)) from error
    click.echo(f"{out}: {', '.join(_described(made))}")


def _described(model: Any) -> Iterator[str]:
    yield f"inputs {' '.join(i.name for i in model.graph.input) or 'none'}"
    yield f"outputs {' '.join(o.name for o in model.graph.output)}"
    yield _output.counted(len(model.graph.node), "node")
    yield f"opset {next(i.version for i in model.opset_import if not i.domain)}"
