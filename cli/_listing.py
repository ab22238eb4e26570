"""A bundle's summary on the screen.

Owns which facts are shown, and in which words. Must not read bundles. The one decision: what a
signature takes is written as ``--input`` takes it back, ``NAME DTYPE[SHAPE]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tfx.cli import _output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfx.loaders import BundleSummary, SignatureInfo


def header(summary: BundleSummary) -> None:
    """Print the line on top: what it is, who wrote it, what it needs."""
    manifest = summary.manifest
    needs = [f"opset {manifest.requirements.opset}"]
    needs += [
        f"{name} {version}" for name, version in sorted(manifest.requirements.domains.items())
    ]
    needs += manifest.requirements.features
    click.echo(
        f"{summary.path}: bundle format {manifest.format_version}, "
        f"by {manifest.producer} {manifest.producer_version}, needs {', '.join(needs)}\n"
    )


def metadata(summary: BundleSummary) -> None:
    """Print the text that the writer kept: the framework that a model comes from, say."""
    rows = [(key, text) for key, text in sorted(summary.manifest.metadata.items())]
    if rows:
        _output.table("Metadata", ("key", "text"), rows)


def signatures(infos: Iterable[SignatureInfo]) -> None:
    """Print what can be called."""
    from tfx.loaders.messages import describe

    rows = [
        (
            info.name,
            [f"{name} {describe(item)}" for name, item in info.inputs.items()] or "-",
            [f"{name} {describe(item)}" for name, item in info.outputs.items()] or "-",
            _output.counted(len(info.updates), "variable") if info.updates else "-",
        )
        for info in infos
    ]
    if rows:
        _output.table("Signatures", ("name", "inputs", "outputs", "updates"), rows)
    else:
        click.echo("No signatures: load it with tfx.saved_model.load to call its functions.\n")


def variables(summary: BundleSummary, *, each: bool) -> None:
    """Print how many variables there are, and with ``each`` a row for each."""
    from tfx.loaders.messages import describe_type

    items = summary.variables
    trainable = sum(item.trainable for item in items)
    total = _output.size_text(sum(item.nbytes for item in items))
    click.echo(f"{_output.counted(len(items), 'variable')} ({trainable} trainable), {total}\n")
    if each and items:
        rows = [
            (
                item.name,
                describe_type(item.dtype, item.shape),
                "yes" if item.trainable else "no",
                _output.size_text(item.nbytes),
            )
            for item in items
        ]
        _output.table("Variables", ("name", "type", "trainable", "size>"), rows)


def files(summary: BundleSummary) -> None:
    """Print the files and their sizes."""
    rows = [("bundle.pb", _output.size_text(summary.manifest_size))]
    rows += [(item.path, _output.size_text(item.size)) for item in summary.files]
    rows.append(("total", _output.size_text(summary.nbytes)))
    _output.table("Files", ("path", "size>"), rows)
