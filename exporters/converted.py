"""``save_converted``: a module of another framework's model as a bundle, compared with its source.

Shared by every exporter ``from_*``. The one decision: everything is compared before a file exists,
and what is stored as golden examples are the source's own answers, so that ``tfx verify`` compares
a bundle with the framework that it came from, years later and without it. Where a source gave no
answer, a warning says so: nobody shall believe that something was compared. Where nothing is to be
compared, golden examples are the bundle's own answers, since storing the source's compares them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfx.bundle import limits
from tfx.bundle.examples import MAX_EXAMPLE_BYTES, TOLERANCE
from tfx.exporters.examples import SourceExample, given_examples
from tfx.exporters.native import SaveOptions, save
from tfx.importing.compare_answers import compare_answers
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import SourceAnswer

Examples: TypeAlias = "bool | Mapping[str, Any] | None"


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
        tolerance: How far answers may be away, by the largest element of each; of outputs that
            ``examples`` has, too.
        metadata: Text to keep in the manifest, beside what is known of the source.
        examples: Golden examples as in ``saved_model.SaveOptions``; None: the source's answers,
            without ``verify`` some that are made up.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.

    Raises:
        InvalidArgumentError: an answer differs; the message names the first layer that does.
        AlreadyExistsError: the folder exists and is not a bundle.

    Warns:
        UserWarning: a method has no answer of its source, so it was not compared.
    """
    if verify:
        compare_answers(module, tolerance)
        for method in module.methods.values():
            for call in method.calls:
                if call.graph.unanswered:
                    warn_not_compared(call.label, call.graph.unanswered)
    if examples is None and verify:
        examples = source_examples(module, tolerance) or None
    elif isinstance(examples, Mapping):
        examples = with_tolerance(examples, tolerance)
    options = SaveOptions(
        metadata={**module.metadata, **(metadata or {})},
        max_shard_bytes=max_shard_bytes,
        examples=examples,
    )
    save(module, path, signatures=module.signatures, options=options)


def warn_not_compared(label: str, reason: str) -> None:
    """Warn that a method is saved without a comparison with its source.

    Args:
        label: The method, or the model.
        reason: Why there is no answer to compare with, and what to do.
    """
    warnings.warn(
        f"{label} is saved without being compared with its source: {reason}. With verify=False "
        "(--no-verify) nothing is compared and this is not said.",
        stacklevel=4,
    )


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
                example = SourceExample((pair,), tolerance, answer.is_made_up)
                found.setdefault(signature, []).append(example)
    return found


def with_tolerance(examples: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
    """Golden examples that the user gave, whose outputs may be as far away as a source's.

    Raises:
        InvalidArgumentError: they have another form.
    """
    found: dict[str, Any] = {}
    for item in given_examples(examples):
        own = item if item.source is not None else item._replace(tolerance=tolerance)
        found.setdefault(item.signature, []).append(own)
    return found


def given_inputs(examples: Examples) -> dict[str, list[Mapping[str, Any]]]:
    """The inputs of each call of the option ``examples``, by signature.

    Raises:
        InvalidArgumentError: it has another form.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    if isinstance(examples, Mapping):
        for item in given_examples(examples):
            found.setdefault(item.signature, []).extend(item.calls)
    return found


def with_answers(
    examples: Examples, answers: Mapping[str, Sequence[SourceAnswer]], tolerance: float
) -> Examples:
    """The option ``examples`` with the source's answers where it has inputs alone.

    Args:
        examples: The option.
        answers: Those to ``given_inputs``, in their order.
        tolerance: How far the bundle's may be away.
    """
    if not isinstance(examples, Mapping):
        return examples
    left = {name: iter(items) for name, items in answers.items()}
    found: dict[str, list[Any]] = {}
    for item in given_examples(examples):
        own = [next(left[item.signature], None) for _ in item.calls if item.signature in left]
        is_answered = bool(own) and None not in own and not any(item.expected or ())
        if item.source is not None:
            made: Any = item.source
        elif is_answered:
            pairs = tuple((a.inputs, a.outputs) for a in own if a is not None)
            made = SourceExample(pairs, tolerance)
        else:
            made = item._replace(tolerance=tolerance)
        found.setdefault(item.signature, []).append(made)
    return found
