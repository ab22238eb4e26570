"""``tfx diff``: what is different in two bundles."""

from __future__ import annotations

import json

import click

from tfx.cli import _output, _values
from tfx.cli._errors import debug_option

_HELP = """Say what is different in two bundles.

Compared are signatures, the variables and their values, the operators that graphs consist of,
functions, requirements and metadata. With --exit-code the exit code is 1 if there is a difference,
as with git diff.

\b
Examples:
  tfx diff digits_bundle digits_trained
  tfx diff old new --json | jq '.differences[] | select(.kind == "variable")'
"""
_DIFFERENT = 1


@click.command("diff", help=_HELP, short_help="Compare two bundles.")
@click.argument("first", metavar="A", type=_values.FILLED)
@click.argument("second", metavar="B", type=_values.FILLED)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if they are different.")
@click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON.")
@debug_option
def command(first: str, second: str, *, exit_code: bool, as_json: bool) -> None:
    """Compare and print."""
    from tfx.exporters.compare_bundles import compare

    with _output.progress(f"Comparing {first} and {second}"):
        found = compare(first, second)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        rows = [(d.kind, d.name, d.change, d.detail) for d in found.differences]
        if rows:
            _output.table("Differences", ("of", "name", "change", "detail"), rows)
        equal = _output.counted(found.same_variables, "variable")
        count = _output.counted(len(rows), "difference") if rows else "no difference"
        click.echo(f"{count}; {equal} with equal values")
    if exit_code and not found.is_same:
        click.get_current_context().exit(_DIFFERENT)
