"""``tfx convert``: a bundle or an ONNX file in another form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from tfx.cli import _output, _values
from tfx.cli._errors import debug_option
from tfx.cli._limits import timeout_option

_HELP = """Write SOURCE again as OUT: at another opset, with narrower numbers, or as one file.

SOURCE is a bundle's folder, an archive of one, or an .onnx file. The name of OUT says what is made:

\b
  NAME.onnx         one self-contained model of one signature
  NAME.tfx, .zip    an archive of the bundle, which every command opens as it is
  anything else     a bundle's folder

\b
  --opset N         another version of the ONNX operators; everything else is kept
  --dtype float16   compute in float16
  --dtype bfloat16  store weights in bfloat16, compute in float32
  --dtype int8      8-bit weights in matrix products and convolutions
  --calibrate WITH  with int8: 8-bit activations too (QDQ), their ranges measured with
                    the arrays of an .npz file, or the bundle's own: --calibrate examples

Inputs and outputs keep their types. A bundle of another dtype is for inference: it has the
signatures that update no variables. How far results are off is measured with the golden examples.

\b
Examples:
  tfx convert digits_bundle digits_17 --opset 17
  tfx convert digits_bundle digits_small --dtype float16
  tfx convert digits_bundle digits.onnx --signature serving_default
  tfx convert digits_bundle digits.tfx
  tfx convert model.onnx model_int8.onnx --dtype int8 --calibrate images.npz
"""


@click.command("convert", help=_HELP, short_help="Change opset, number type or form.")
@click.argument("source", metavar="SOURCE", type=_values.FILLED)
@click.argument("out", metavar="OUT", type=_values.FILLED)
@click.option("--opset", metavar="N", type=click.IntRange(7, 99), help="Version of the operators.")
@click.option(
    "--dtype", type=click.Choice(["float16", "bfloat16", "int8"]), help="Type of the weights."
)
@click.option(
    "--calibrate",
    metavar="FILE|examples",
    type=_values.FILLED,
    help="Inputs that ranges of int8 activations are measured with.",
)
@click.option("--signature", metavar="NAME", help="The signature of NAME.onnx.")
@click.option("--json", "as_json", is_flag=True, help="Print sizes and accuracy as JSON.")
@timeout_option()
@debug_option
def command(
    source: str,
    out: str,
    *,
    opset: int | None,
    dtype: Any,
    calibrate: str | None,
    signature: str | None,
    as_json: bool,
) -> None:
    """Convert, and say how far results are off."""
    from tfx.exporters.convert_model import convert

    if calibrate is not None and dtype != "int8":
        raise click.UsageError("--calibrate is for --dtype int8; add it")
    is_file = any(Path(x).suffix in (".onnx", ".tfx", ".zip") for x in (source, out))
    if opset is None and dtype is None and not is_file:
        raise click.UsageError("nothing to do; give --opset N, --dtype TYPE, or both")
    given = True if calibrate == "examples" else calibrate
    with _output.progress(f"Converting {source}"):
        made = convert(source, out, opset=opset, dtype=dtype, calibrate=given, signature=signature)
    if as_json:
        click.echo(json.dumps(made.as_json(), indent=2))
        return
    rows = [
        (
            item.name,
            "yes" if item.is_converted else "no",
            "-" if item.difference is None else f"{item.difference:.3g}",
            "-" if item.relative is None else f"{item.relative:.3g}",
            item.detail,
        )
        for item in made.signatures
    ]
    columns = ("signature", "converted", "difference>", "relative>", "measured with")
    _output.table("Signatures", columns, rows)
    before, after = _output.size_text(made.before), _output.size_text(made.after)
    click.echo(f"{out}: {before} -> {after}")
