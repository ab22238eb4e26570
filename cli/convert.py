"""``tfx convert``: a bundle at another opset, or with narrower numbers."""

from __future__ import annotations

import json
from typing import Any

import click

from tfx.cli import _output, _values
from tfx.cli._errors import debug_option
from tfx.cli._limits import timeout_option

_HELP = """Write BUNDLE again as OUT, at another opset or with narrower numbers.

\b
  --opset N         another version of the ONNX operators; everything else is kept
  --dtype float16   compute in float16
  --dtype bfloat16  store weights in bfloat16, compute in float32
  --dtype int8      8-bit weights in matrix products and convolutions

Inputs and outputs keep their types. A bundle of another dtype is for inference: it has the
signatures that update no variables. How far results are off is measured with the golden examples.

\b
Examples:
  tfx convert digits_bundle digits_17 --opset 17
  tfx convert digits_bundle digits_small --dtype float16
"""


@click.command("convert", help=_HELP, short_help="Change opset or number type.")
@click.argument("bundle", metavar="BUNDLE", type=_values.FILLED)
@click.argument("out", metavar="OUT", type=_values.FILLED)
@click.option("--opset", metavar="N", type=click.IntRange(7, 99), help="Version of the operators.")
@click.option(
    "--dtype", type=click.Choice(["float16", "bfloat16", "int8"]), help="Type of the weights."
)
@click.option("--json", "as_json", is_flag=True, help="Print sizes and accuracy as JSON.")
@timeout_option()
@debug_option
def command(bundle: str, out: str, *, opset: int | None, dtype: Any, as_json: bool) -> None:
    """Convert, and say how far results are off."""
    if opset is None and dtype is None:
        raise click.UsageError("nothing to do; give --opset N, --dtype TYPE, or both")
    from tfx.exporters.convert_bundle import convert

    with _output.progress(f"Converting {bundle}"):
        made = convert(bundle, out, opset=opset, dtype=dtype)
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
