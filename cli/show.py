"""``tfx show``: what a bundle offers and consists of."""

from __future__ import annotations

import json

import click

from tfx import loaders
from tfx.cli import _listing, _values
from tfx.cli._errors import debug_option

_HELP = """Show what a bundle offers: signatures, variables, files and requirements.

Nothing of the bundle is run.

\b
Examples:
  tfx show digits_bundle
  tfx show digits_bundle --variables
  tfx show digits_bundle --json | jq '.signatures[].name'
"""


@click.command("show", help=_HELP, short_help="Show what a bundle offers.")
@click.argument("directory", metavar="DIR", type=_values.FILLED)
@click.option("--variables", is_flag=True, help="List every variable.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@debug_option
def command(directory: str, *, variables: bool, as_json: bool) -> None:
    """Print the summary of a bundle."""
    summary = loaders.summarize(directory)
    if as_json:
        click.echo(json.dumps(summary.as_json(), indent=2))
        return
    _listing.header(summary)
    _listing.metadata(summary)
    _listing.signatures(summary.signatures)
    _listing.variables(summary, each=variables)
    _listing.files(summary)
