"""``tfx load``: call a signature of a bundle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tfx import loaders
from tfx.cli import _listing, _output, _values
from tfx.cli._errors import OperationError, debug_option
from tfx.cli._limits import timeout_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfx.loaders import Bundle, SignatureInfo

_HELP = """Call a signature of a bundle, or without inputs show what it offers.

An input is a file (NAME=@FILE) that ends in .npy, .npz (one array, or @FILE.npz:KEY), .json or
.csv (numbers, with or without a row of names; @FILE.csv:KEY is one column), or
it is JSON itself: numbers, lists, true, false, "text" in double quotes. Arrays of .npy and .npz
files must have the dtype that the signature takes; JSON takes it. NAME=@- reads JSON from a pipe.

\b
Examples:
  tfx load digits_bundle
  tfx load digits_bundle --input image=@samples.npy
  tfx load digits_bundle --input image=@data.npz:test --output logits.npy
  tfx load model_bundle --signature scale --input x='[1, 2, 3]' --input factor=2.5 --json
  tfx load digits_bundle --signature train_step --input image=@x.npy --input label=@y.npy \\
      --save digits_trained
"""
_INPUT_FORM = "NAME=@FILE or NAME=JSON, such as image=@samples.npy or factor=2.5"


def _complete_signature(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    # While an option has no value yet, click leaves the arguments unassigned.
    directory = ctx.params.get("directory") or next(iter(ctx.args), "")
    try:
        summary = loaders.summarize(directory)
    except Exception:  # a shell that completes must stay silent
        return []
    return [item.name for item in summary.signatures if item.name.startswith(incomplete)]


@click.command("load", help=_HELP, short_help="Call a signature of a bundle.")
@click.argument("directory", metavar="DIR", type=_values.FILLED)
@click.option(
    "--signature",
    metavar="NAME",
    shell_complete=_complete_signature,
    help="What to call; by default serving_default, or the only one.",
)
@click.option("--input", "inputs", metavar="NAME=VALUE", multiple=True, help="An input, see above.")
@click.option(
    "--output",
    metavar="FILE",
    type=_values.FILLED,
    help="Write the outputs to a .npz, .npy, .json or .csv file.",
)
@click.option(
    "--save",
    metavar="DIR",
    type=_values.FILLED,
    help="Save the bundle with the variables that the call has updated.",
)
@click.option(
    "--device",
    metavar="NAME",
    default="CPU:0",
    show_default=True,
    help="Where to run, such as CPU:0 or GPU:0.",
)
@click.option("--verify", is_flag=True, help="Compare the hashes of all files first.")
@click.option("--json", "as_json", is_flag=True, help="Print the outputs as JSON.")
@timeout_option()
@debug_option
def command(
    directory: str,
    *,
    signature: str | None,
    inputs: tuple[str, ...],
    output: str | None,
    save: str | None,
    device: str,
    verify: bool,
    as_json: bool,
) -> None:
    """Open, call, print."""
    given = dict(_values.split_assignment(item, "--input", _INPUT_FORM) for item in inputs)
    if len(given) != len(inputs):
        raise click.UsageError("an --input is given twice; name each input once")
    with _output.progress(f"Opening {directory}"):
        bundle = loaders.Bundle.open(directory, device, verify or None)
    with bundle:
        info = _choose(bundle, signature, is_call=bool(given or output or save))
        if info is None or (info.inputs and not given and not output and not save):
            _offer(directory, info, as_json=as_json)
            return
        _values.check_output(output, list(info.outputs))
        arguments = {name: _read(name, text, info) for name, text in given.items()}
        with _output.progress(f"Calling {info.name}"):
            results = bundle.call(info.name, arguments)
        if save is not None:
            with _output.progress(f"Saving {save}"):
                bundle.save(save)
    _show(results, info, output, as_json=as_json)
    if info.updates and save is None:
        click.echo(
            f"{info.name} updated {_output.counted(len(info.updates), 'variable')}, and the bundle "
            "keeps its old values; add --save DIR to write a bundle with the new ones",
            err=True,
        )


def _choose(bundle: Bundle, name: str | None, *, is_call: bool) -> SignatureInfo | None:
    """The signature to call; None to show them all."""
    from tfx.loaders.signature import DEFAULT_SIGNATURE, find_signature

    signatures = bundle.signatures
    if name is not None:
        return find_signature(signatures, name, str(bundle.path))
    if not is_call:
        return None
    if DEFAULT_SIGNATURE in signatures:
        return signatures[DEFAULT_SIGNATURE]
    if len(signatures) == 1:
        return next(iter(signatures.values()))
    if not signatures:
        raise OperationError(
            f"{bundle.path} has no signatures, so there is nothing to call; save it again with "
            "--signature NAME=METHOD"
        )
    names = ", ".join(signatures)
    raise click.UsageError(f"{bundle.path} has the signatures {names}; choose with --signature")


def _offer(directory: str, info: SignatureInfo | None, *, as_json: bool) -> None:
    """Show what there is to call; without inputs there is nothing else to do."""
    summary = loaders.summarize(directory)
    if as_json:
        click.echo(json.dumps(summary.as_json(), indent=2))
        return
    infos = summary.signatures if info is None else (info,)
    _listing.header(summary)
    _listing.signatures(infos)
    if infos:
        first = infos[0]
        inputs = [word for name in first.inputs for word in ("--input", f"{name}=@{name}.npy")]
        words = ["tfx", "load", directory, "--signature", first.name, *inputs]
        click.echo(f"Call one with: {' '.join(map(_values.quoted, words))}")


def _read(name: str, text: str, info: SignatureInfo) -> Any:
    wanted = info.inputs.get(name)
    is_float = wanted is not None and "float" in wanted.dtype
    rank = None if wanted is None or wanted.shape is None else len(wanted.shape)
    return _values.read_value(name, text, is_float=is_float, rank=rank)


def _show(
    results: Mapping[str, Any], info: SignatureInfo, output: str | None, *, as_json: bool
) -> None:
    if output is not None:
        _values.write_output(output, results)
    if as_json:
        tensors = {name: _values.to_json(array) for name, array in results.items()}
        click.echo(json.dumps({"signature": info.name, "outputs": tensors}))
        return
    from tfx.loaders.messages import describe_array

    for name, array in results.items():
        if output is None:
            click.echo(f"{name} {describe_array(array)}\n{array!s}")
        else:
            click.echo(f"{name} {describe_array(array)} -> {output}")
