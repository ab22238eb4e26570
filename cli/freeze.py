"""``tfx freeze``: self-contained ONNX models of the signatures of a bundle."""

from __future__ import annotations

import json

import click

from tfx.cli import _output, _values
from tfx.cli._errors import debug_option
from tfx.cli._limits import timeout_option

_HELP = """Write an ONNX model for each signature of BUNDLE, with its weights in it.

Any ONNX Runtime runs the files, without the bundle. Weights of more than 2 GiB are in a second file
beside the model. A variable that a signature writes is an input with the saved value as its
default, and an output.

\b
Examples:
  tfx freeze digits_bundle -o frozen
  tfx freeze digits_bundle -o frozen --signature serving_default
"""


@click.command("freeze", help=_HELP, short_help="Write self-contained .onnx files.")
@click.argument("bundle", metavar="BUNDLE", type=_values.FILLED)
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    required=True,
    type=_values.FILLED,
    help="The folder to write to; files of the same names are replaced.",
)
@click.option(
    "--signature",
    "signatures",
    metavar="NAME",
    multiple=True,
    help="Only this; repeat it for more.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
@timeout_option()
@debug_option
def command(bundle: str, *, out: str, signatures: tuple[str, ...], as_json: bool) -> None:
    """Freeze, and say what was written."""
    from tfx.exporters.freeze_bundle import freeze

    with _output.progress(f"Freezing {bundle}"):
        made = freeze(bundle, out, signatures or None)
    if as_json:
        table = {name: [str(path) for path in paths] for name, paths in made.items()}
        click.echo(json.dumps(table, indent=2))
        return
    for name, paths in made.items():
        for path in paths:
            click.echo(f"{name} -> {path} ({_output.size_text(path.stat().st_size)})")
    if not made:
        click.echo(f"{bundle} has no signatures, so there is nothing to freeze", err=True)
