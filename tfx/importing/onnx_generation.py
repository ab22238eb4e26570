"""A text generator of an ONNX model that takes and returns its cache: what exporters write.

The inputs that are not tokens, mask or positions are the cache, and the outputs behind the first
one are the cache behind, in the same order. That is how models on hubs have it
(``past_key_values.0.key`` and ``present.0.key``), whatever their names are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.framework.tensor import Tensor
from tfx.importing.model import ImportedModel
from tfx.importing.text_generation import CacheSlot, TextGenerator
from tfx.ops.math.cast import cast

_TOKENS, _MASK, _POSITIONS = "input_ids", "attention_mask", "position_ids"
_PLACE = re.compile(r"\D*(\d+)\W*(key|value)\w*", re.IGNORECASE)


def generator_of(
    model: ImportedModel,
    end_tokens: Sequence[int] = (),
    pad_token: int = 0,
    name: str | None = None,
) -> TextGenerator:
    """Make a text generator of an imported model.

    Args:
        model: A model with the inputs ``input_ids`` and, if it has them, ``attention_mask`` and
            ``position_ids``; its other inputs are the cache. Its first output are the logits, the
            others the cache behind, in the order of the inputs.
        end_tokens: Tokens that end a text.
        pad_token: What follows the end of a text beside longer ones.
        name: Name of the module; None: the model's.

    Raises:
        InvalidArgumentError: the model has no input ``input_ids``, or its other inputs and its
            outputs are no cache.
    """
    specs = model.inputs
    if _TOKENS not in specs:
        raise InvalidArgumentError(
            f"{model.name} has the inputs {', '.join(specs)}, expected one that is called "
            f"{_TOKENS!r}."
        )
    before = [n for n in specs if n not in (_TOKENS, _MASK, _POSITIONS)]
    logits, *behind = model.output_names
    if len(before) != len(behind):
        raise InvalidArgumentError(
            f"{model.name} has {len(before)} inputs for a cache ({_few(before)}) and "
            f"{len(behind)} outputs behind {logits!r} ({_few(behind)}); expected as many."
        )
    slots = [_slot(n, specs[n], i) for i, n in enumerate(before)]

    def forward(
        tokens: Tensor, mask: Tensor, positions: Tensor, cache: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        known = {_TOKENS: tokens, _MASK: mask, _POSITIONS: positions}
        given = {n: cast(t, specs[n].dtype) for n, t in known.items() if n in specs}
        results = model(**given, **dict(zip(before, cache, strict=True)))
        found = results if isinstance(results, dict) else {logits: results}
        return found[logits], [found[n] for n in behind]

    return TextGenerator(model, forward, slots, end_tokens, pad_token, name or model.name)


def _slot(name: str, spec: Any, number: int) -> CacheSlot:
    sizes = spec.shape.symbolic if isinstance(spec, TensorSpec) else None
    shape = tuple(d if isinstance(d, int) else None for d in sizes or ())
    if shape.count(None) != 2:
        raise InvalidArgumentError(
            f"the input {name!r} is {spec}, which cannot be a part of the cache: expected two "
            "sizes that calls choose, of the batch and of the texts. input_shapes of import_onnx "
            "says what the model does not."
        )
    place = _PLACE.fullmatch(name)
    label = f"layers.{int(place[1])}.{place[2].lower()}" if place else f"slots.{number}"
    return CacheSlot(label, shape, spec.dtype)


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown}, ..." if len(names) > 3 else shown or "none"
