"""``tfx verify``: whether a bundle is whole, and gives here what it gave where it was saved."""

from __future__ import annotations

import json

import click

from tfx import loaders
from tfx.cli import _output, _values
from tfx.cli._errors import OperationError, debug_option
from tfx.cli._limits import timeout_option

_HELP = """Check a bundle in every way, and replay its golden examples.

Compared are the hash of each file, the operator set with the installed ONNX Runtime, what each
signature gives for the examples that were saved with it (in the stock form, and fed with the
variables), and that every open dimension takes two sizes. Variables and results must be finite.
Nothing is changed. The exit code is 1 if anything failed.

\b
Examples:
  tfx verify digits_bundle
  tfx verify digits_bundle --json | jq '.checks[] | select(.status == "failed")'
"""


@click.command("verify", help=_HELP, short_help="Check a bundle and replay its examples.")
@click.argument("directory", metavar="DIR", type=_values.FILLED)
@click.option(
    "--device",
    metavar="NAME",
    default="CPU:0",
    show_default=True,
    help="Where to run, such as CPU:0 or GPU:0.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
@timeout_option(expose_value=True, help="Without it each run of a graph may take 60 s.")
@debug_option
def command(directory: str, *, device: str, as_json: bool, timeout: float | None) -> None:
    """Verify and print."""
    with _output.progress(f"Verifying {directory}"):
        # A limit of the whole command takes the place of that of each run.
        limits: dict[str, None] = {} if timeout is None else {"seconds": None}
        report = loaders.verify(directory, device, **limits)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        rows = [
            (
                check.status,
                check.what,
                check.subject or "-",
                check.detail,
            )
            for check in report.checks
        ]
        _output.table("Checks", ("result", "check", "of", "found"), rows)
    failed = sum(check.status == "failed" for check in report.checks)
    if failed:
        raise OperationError(
            f"{directory}: {failed} of {len(report.checks)} checks failed; do not use it before "
            "you know why, or save it again"
        )
    if not as_json:
        click.echo(f"{directory}: {_output.counted(len(report.checks), 'check')}, none failed")
