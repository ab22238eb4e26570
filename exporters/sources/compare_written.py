"""An ONNX model's bundle compared with the model itself, before anybody sees the bundle.

For what is written without a module in between (``save_onnx``): the bundle's own files are run, in
each form that they have, with the weights as constants and as variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle.examples import MAX_EXAMPLE_BYTES
from tfx.core.errors import OpError
from tfx.core.specs import TensorSpec
from tfx.exporters.converted import Examples, warn_not_compared, with_answers
from tfx.exporters.examples import SourceExample
from tfx.exporters.sources.messages import one_line
from tfx.exporters.sources.onnx_answers import answers_of, values_inside
from tfx.graph.serialization.models import ForeignModel, parse_model
from tfx.importing.compare_answers import compare_outcome, first_layer
from tfx.importing.method_graphs import SourceAnswer
from tfx.loaders.open_files import Sources
from tfx.loaders.replay_examples import Form, Replayer

_FORMS: tuple[Form, ...] = ("stock", "live")


@dataclass(frozen=True, slots=True)
class WrittenModel:
    """A model and its bundle.

    Attributes:
        model: The model as it was given: path, bytes or ``onnx.ModelProto``.
        loaded: The same, opened.
        folder: The bundle, which nobody else uses yet.
        signature: Its signature.
    """

    model: Any
    loaded: ForeignModel
    folder: Path
    signature: str


def compare_written(
    written: WrittenModel,
    given: Sequence[Mapping[str, Any]],
    specs: Mapping[str, TensorSpec] | None,
    tolerance: float,
) -> tuple[SourceAnswer, ...]:
    """Compare a bundle with its model.

    Args:
        written: Both.
        given: Inputs of calls; none: they are made up.
        specs: Types by name, whose sizes made up inputs have.
        tolerance: Of an output, by its largest element.

    Returns:
        The model's answers.

    Raises:
        InvalidArgumentError: given inputs do not suit the model, or an answer differs.
        OpError: the runtime opens the model, and not the bundle.

    Warns:
        UserWarning: nothing was compared.
    """
    loaded, signature = written.loaded, written.signature
    sources = Sources(written.folder, verify=False)
    try:
        replayer = Replayer(sources)
        unopened = _unopened(replayer, signature)
        if unopened is not None and unopened.__cause__ is None:
            # Refused before the runtime saw it: a file that would never end, say.
            warn_not_compared(loaded.name, f"its bundle is not opened ({one_line(unopened)})")
            return ()
        answers = answers_of(written.model, loaded, given=given, specs=specs)
        if unopened is not None and answers.is_open:
            raise unopened
        if answers.refused:
            warn_not_compared(loaded.name, answers.refused)
        for form in _FORMS:
            if replayer.has_form(signature, form):
                for answer in answers.found:
                    _compare(written, replayer, form, answer, tolerance)
            replayer.forget_plans()
    finally:
        sources.close()
    return answers.found


def _unopened(replayer: Replayer, signature: str) -> OpError | None:
    """Why the bundle cannot be opened; None where it can."""
    try:
        replayer.plan(signature, "stock")
    except OpError as e:
        return e
    replayer.forget_plans()
    return None


def _compare(
    written: WrittenModel, replayer: Replayer, form: Form, answer: SourceAnswer, tolerance: float
) -> None:
    label = written.loaded.name + ("" if form == "stock" else " with its weights as variables")
    (came,) = replayer.run(written.signature, [answer.inputs], form)
    found = {f"output {n!r}": (came[n], np.asarray(a)) for n, a in answer.outputs.items()}
    compare_outcome(label, found, tolerance, lambda: _where(written, replayer, answer, tolerance))


def _where(
    written: WrittenModel, replayer: Replayer, answer: SourceAnswer, tolerance: float
) -> str:
    """What to say of where the difference begins: both are asked for all that is inside."""
    assert answer.layers is not None
    path = written.folder / replayer.signatures[written.signature].file
    try:
        proto = parse_model(path.read_bytes(), str(path))
        found = values_inside(proto, answer.inputs, written.folder)
        layers = [item for item in answer.layers() if item.value in found]
    except OpError as e:
        return f"Where it begins cannot be told: {one_line(e)}."
    return first_layer(layers, found, tolerance)


def examples_of(
    examples: Examples, signature: str, answers: Sequence[SourceAnswer], tolerance: float
) -> Examples:
    """What to store: the model's answers, unless the user wants others or none.

    Args:
        examples: The option.
        signature: The signature.
        answers: The model's answers.
        tolerance: How far the bundle's may be away.
    """
    if isinstance(examples, Mapping):
        return with_answers(examples, {signature: answers}, tolerance)
    if examples is False or not answers:
        return examples
    found: list[SourceExample] = []
    left = MAX_EXAMPLE_BYTES
    for answer in answers:
        pair = (dict(answer.inputs), dict(answer.outputs))
        size = sum(np.asarray(a).nbytes for part in pair for a in part.values())
        if size <= left:
            left -= size
            found.append(SourceExample((pair,), tolerance, answer.is_made_up))
    return {signature: found} if found else False
