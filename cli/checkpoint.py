"""``tfx checkpoint``: checkpoints listed, shown, and changed."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from tfx.cli import _output, _values
from tfx.cli._errors import debug_option

_HELP = """List, show, rename and merge checkpoints.

PREFIX is what tfx.train.Checkpoint.save returned, a folder (its latest checkpoint), or a
safetensors file of any program. No file is changed; rename and merge write a new checkpoint.

\b
Examples:
  tfx checkpoint list training
  tfx checkpoint show training/ckpt-12
  tfx checkpoint rename training/ckpt-12 renamed --name model/dense=model/head
  tfx checkpoint merge backbone head=classifier -o both
"""
_OVERWRITE = click.option("--overwrite", is_flag=True, help="Replace a checkpoint that is there.")


@click.group("checkpoint", help=_HELP, short_help="List, show, rename and merge checkpoints.")
def command() -> None:
    """Do what the sub-command does."""


@command.command("list", short_help="The checkpoints of a folder.")
@click.argument("directory", metavar="DIR", type=_values.FILLED)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@debug_option
def list_command(directory: str, *, as_json: bool) -> None:
    """Print the checkpoints of DIR, oldest first."""
    from tfx.train.checkpoint_listing import list_checkpoints

    found = list_checkpoints(directory)
    if as_json:
        click.echo(json.dumps([item.as_json() for item in found], indent=2))
        return
    rows = [
        (
            os.path.basename(item.path),
            "latest" if item.is_latest else "-",
            item.saved or "-",
            str(item.variables),
            _output.size_text(item.nbytes),
        )
        for item in found
    ]
    if rows:
        columns = ("checkpoint", "state", "saved", "variables>", "size>")
        _output.table("Checkpoints", columns, rows)
    click.echo(f"{directory}: {_output.counted(len(rows), 'checkpoint')}")


@command.command("show", short_help="The variables of a checkpoint.")
@click.argument("prefix", metavar="PREFIX", type=_values.FILLED)
@click.option("--verify", is_flag=True, help="Compare the hash of the whole content first.")
@click.option("--values", is_flag=True, help="Show the beginning of each value.")
@click.option("--json", "as_json", is_flag=True, help="Print the variables as JSON.")
@debug_option
def show_command(prefix: str, *, verify: bool, values: bool, as_json: bool) -> None:
    """Print the variables of PREFIX with dtype, shape and size."""
    from tfx.train.checkpoint_listing import describe_checkpoint

    with _output.progress(f"Reading {prefix}"):
        found = describe_checkpoint(prefix, verify=verify, values=values)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
        return
    rows: list[Any] = [
        (v.name, v.type, _output.size_text(v.nbytes), *((v.value,) if values else ()))
        for v in found.variables
    ]
    columns = ("name", "type", "size>", *(("value",) if values else ()))
    if rows:
        _output.table("Variables", columns, rows)
    total = _output.size_text(sum(v.nbytes for v in found.variables))
    checked = ", its hash is right" if verify else ""
    click.echo(f"{found.path}: {_output.counted(len(rows), 'variable')}, {total}{checked}")


@command.command("rename", short_help="Write it with variables under other names.")
@click.argument("source", metavar="PREFIX", type=_values.FILLED)
@click.argument("target", metavar="OUT", type=_values.FILLED)
@click.option(
    "--name",
    "names",
    metavar="OLD=NEW",
    multiple=True,
    required=True,
    help="A path of a variable, or of an object with all below it; repeat it for more.",
)
@_OVERWRITE
@debug_option
def rename_command(source: str, target: str, *, names: tuple[str, ...], overwrite: bool) -> None:
    """Write PREFIX as OUT, with the paths OLD called NEW."""
    from tfx.train.edit_checkpoint import rename_variables

    wanted = "OLD=NEW, such as model/dense=model/head"
    pairs = dict(_values.split_assignment(item, "--name", wanted) for item in names)
    with _output.progress(f"Writing {target}"):
        changed = rename_variables(source, target, pairs, overwrite=overwrite)
    for old, new in changed.items():
        click.echo(f"{old} -> {new}")
    click.echo(f"{target}: {_output.counted(len(changed), 'variable')} renamed")


@command.command("merge", short_help="Write one of several.")
@click.argument("sources", metavar="[NAME=]PREFIX...", nargs=-1, required=True)
@click.option(
    "-o", "--out", metavar="OUT", required=True, type=_values.FILLED, help="The new checkpoint."
)
@click.option(
    "--prefer",
    type=click.Choice(["first", "last"]),
    help="Whose value is taken where several have a variable; without it that is an error.",
)
@_OVERWRITE
@debug_option
def merge_command(sources: tuple[str, ...], *, out: str, prefer: Any, overwrite: bool) -> None:
    """Write the variables of all into OUT; those of NAME=PREFIX go below NAME."""
    from tfx.train.edit_checkpoint import merge_checkpoints

    pairs = [_below(item) for item in sources]
    with _output.progress(f"Writing {out}"):
        given = merge_checkpoints(pairs, out, prefer=prefer, overwrite=overwrite)
    for path, count in given.items():
        click.echo(f"{path}: {_output.counted(count, 'variable')}")
    click.echo(f"{out}: {_output.counted(sum(given.values()), 'variable')}")


def _below(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    return (name, path) if equals and not os.path.exists(text) else ("", text)
