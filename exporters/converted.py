"""``save_converted``: a module of another framework's model as a bundle, compared with its source.

Shared by every exporter ``from_*``. The one decision: everything is compared before a file exists,
and what is stored as golden examples are the source's own answers, so that ``tfx verify`` compares
a bundle with the framework that it came from, years later and without it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfx.bundle import limits
from tfx.bundle.examples import MAX_EXAMPLE_BYTES, TOLERANCE
from tfx.exporters.examples import SourceExample
from tfx.exporters.native import SaveOptions, save
from tfx.importing.compare_answers import compare_answers
from tfx.importing.converted_module import ConvertedModule


def save_converted(
    module: ConvertedModule,
    path: str | os.PathLike[str],
    *,
    verify: bool = True,
    tolerance: float = TOLERANCE,
    metadata: Mapping[str, str] | None = None,
    examples: bool | Mapping[str, Any] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
) -> None:
    """Save a converted module.

    Args:
        module: What a ``to_module`` made.
        path: The folder to make.
        verify: Whether each method must answer as its source did.
        tolerance: How far answers may be away, by the largest element of each.
        metadata: Text to keep in the manifest, beside what is known of the source.
        examples: Golden examples as in ``saved_model.SaveOptions``; None: the source's answers.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.

    Raises:
        InvalidArgumentError: an answer differs; the message names the first layer that does.
        AlreadyExistsError: the folder exists and is not a bundle.
    """
    if verify:
        compare_answers(module, tolerance)
    if examples is None:
        examples = source_examples(module, tolerance) or None
    options = SaveOptions(
        metadata={**module.metadata, **(metadata or {})},
        max_shard_bytes=max_shard_bytes,
        examples=examples,
    )
    save(module, path, signatures=module.signatures, options=options)


def source_examples(module: ConvertedModule, tolerance: float) -> dict[str, list[SourceExample]]:
    """The source's answers by signature, those that fit into a bundle."""
    found: dict[str, list[SourceExample]] = {}
    left = MAX_EXAMPLE_BYTES
    for signature, method in module.signature_methods.items():
        for answer in module.methods[method].calls[0].graph.answers:
            pair = (dict(answer.inputs), dict(answer.outputs))
            size = sum(np.asarray(a).nbytes for part in pair for a in part.values())
            if size <= left:
                left -= size
                found.setdefault(signature, []).append(SourceExample((pair,), tolerance))
    return found
