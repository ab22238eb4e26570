"""Language models as text generators: of transformers, or ONNX files that take and return a cache.

For transformers it stands on ``from_torch``. What is ours: the exported step is one for any number
of tokens behind any number of cached ones, so that one graph serves prompts and single tokens, and
a comparison with what transformers itself generates.
"""

from __future__ import annotations

import importlib
import inspect
import os
import types
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.exporters import from_torch
from tfx.exporters.native import save
from tfx.exporters.torch_programs import in_mode
from tfx.framework.module import snake_case
from tfx.framework.tensor import Tensor
from tfx.importing.model import ImportedModel, import_onnx
from tfx.importing.onnx_generation import generator_of
from tfx.importing.text_generation import CacheSlot, TextGenerator

# The method of the network that is exported.
METHOD = "continue_text"
# Sizes of the example that the step is traced with: no two alike, and none that is 0 or 1.
_BATCH, _NEW, _PAST = 2, 3, 5


def to_generator(
    model: Any,
    *,
    end_tokens: Sequence[int] | None = None,
    pad_token: int | None = None,
    verify: bool = True,
    name: str | None = None,
) -> TextGenerator:
    """Make a text generator of a causal language model.

    Args:
        model: A path, bytes or ``onnx.ModelProto`` of a model, or what ``import_onnx`` returned:
            see ``tfx.importing.onnx_generation``. Or a ``PreTrainedModel`` of transformers with a
            causal head, whose cache is of keys and values: Llama, Mistral, Qwen, GPT-2, GPT-NeoX,
            OPT, Phi, Gemma and so on.
        end_tokens: Tokens that end a text. None: those of the model's ``generation_config``; of an
            ONNX file none.
        pad_token: What follows the end of a text. None: that of the ``generation_config``, else
            the first of ``end_tokens``.
        verify: Whether the tokens that it generates greedily must be those of the model.
        name: Name of the module; None: made from the class.

    Returns:
        A ``TextGenerator``; its weights have torch's names and can be trained.

    Raises:
        ImportError: torch or transformers is not installed.
        InvalidArgumentError: the model is of another kind, generates other tokens, or knows no
            such token as ``pad_token``.
        UnimplementedError: the model's cache is not of keys and values, or its code does what a
            graph cannot.
    """
    if isinstance(model, str | os.PathLike | bytes) or hasattr(model, "opset_import"):
        model = import_onnx(model)
    if isinstance(model, ImportedModel):
        return generator_of(model, end_tokens or (), pad_token or 0, name)
    from_torch.require_torch()
    transformers = _transformers()
    if not isinstance(model, transformers.PreTrainedModel) or not model.can_generate():
        raise InvalidArgumentError(
            f"model is {model!r:.80} of type {type(model).__name__}, expected a language model of "
            "transformers that can generate, such as a LlamaForCausalLM."
        )
    if model.config.is_encoder_decoder:
        raise UnimplementedError(
            f"{type(model).__name__} has an encoder; expected a decoder alone. Export its encoder "
            "and its decoder as methods with from_torch.to_module."
        )
    config = model.generation_config
    ends = _ends(config.eos_token_id) if end_tokens is None else [int(t) for t in end_tokens]
    pad = config.pad_token_id if pad_token is None else pad_token
    pad = (ends[0] if ends else 0) if pad is None else pad
    _check_pad(model, pad)
    arguments, slots = _example(model)
    network = _network(model, arguments, name)
    step = getattr(network, METHOD)

    def forward(
        tokens: Tensor, mask: Tensor, positions: Tensor, cache: list[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor]]:
        logits, behind = step(tokens, mask, positions, cache)
        return logits, behind

    generator = TextGenerator(network, forward, slots, ends, pad, network.name)
    if verify:
        _compare(generator, model, ends, pad)
    return generator


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    signatures: Mapping[str, Any] | None = None,
    **options: Any,
) -> TextGenerator:
    """Save a causal language model of transformers as a bundle with ``generate`` in its graph.

    Args:
        model: As ``to_generator`` takes it.
        path: The folder to make.
        signatures: What is saved; None: ``generate``, ``prefill`` and ``decode``.
        **options: Of ``to_generator``.

    Returns:
        The generator that was saved.
    """
    generator = to_generator(model, **options)
    save(generator, os.fspath(path), dict(signatures or generator.signatures))
    return generator


def _transformers() -> Any:
    try:
        return importlib.import_module("transformers")
    except ImportError as e:
        raise ImportError(
            'transformers is needed for language models: pip install "tfx-onnx[torch]" transformers'
        ) from e


def _check_pad(model: Any, pad: int) -> None:
    """Refuse a token to pad with that the model has no row for: it would be given to it."""
    count = getattr(model.get_input_embeddings(), "num_embeddings", None)
    if count is not None and not 0 <= pad < count:
        raise InvalidArgumentError(
            f"the token to pad with is {pad}, expected one of the {count} that "
            f"{type(model).__name__} knows: give pad_token=, and end_tokens= if these are not the "
            "model's either."
        )


def _ends(given: Any) -> list[int]:
    if given is None:
        return []
    return [int(t) for t in (given if isinstance(given, list | tuple) else [given])]


def _example(model: Any) -> tuple[tuple[Any, ...], list[CacheSlot]]:
    """Arguments to trace the step with, and what the cache consists of."""
    import torch

    generator = torch.Generator().manual_seed(0)

    def tokens(length: int) -> Any:
        return torch.randint(0, model.config.vocab_size, (_BATCH, length), generator=generator)

    # Without a configuration a cache keeps all tokens, also where a model looks at the last ones
    # only: what it may look at, it masks.
    empty = _transformers().DynamicCache()
    with torch.no_grad(), _inference(model):
        result = model(input_ids=tokens(_PAST), past_key_values=empty, use_cache=True)
    cache = result.past_key_values
    layers = getattr(cache, "layers", None)
    if not layers or not all(hasattr(layer, "keys") for layer in layers):
        raise UnimplementedError(
            f"the cache of {type(model).__name__} is a {type(cache).__name__}, expected one of "
            "keys and values for each layer."
        )
    past = [t for layer in layers for t in (layer.keys, layer.values)]
    slots = []
    for number, tensor in enumerate(past):
        sizes = tuple(tensor.shape)
        if len(sizes) != 4 or sizes[0] != _BATCH or sizes[2] != _PAST:
            raise UnimplementedError(
                f"the cache of {type(model).__name__} has a tensor of shape {sizes} behind {_PAST} "
                f"tokens of {_BATCH} texts, expected [texts, heads, tokens, size]."
            )
        kind = "value" if number % 2 else "key"
        slots.append(CacheSlot(f"layers.{number // 2}.{kind}", (None, sizes[1], None, sizes[3])))
    mask = torch.ones(_BATCH, _PAST + _NEW, dtype=torch.int64)
    positions = torch.arange(_PAST, _PAST + _NEW)[None].repeat(_BATCH, 1)
    return (tokens(_NEW), mask, positions, past), slots


def _inference(model: Any) -> AbstractContextManager[None]:
    """The model as in inference."""
    return in_mode(model, training=False)


def _network(model: Any, arguments: tuple[Any, ...], name: str | None) -> Any:
    """The model as a module whose method takes and returns a cache."""
    dynamic_cache = _transformers().DynamicCache
    takes = set(inspect.signature(model.forward).parameters)
    fixed: dict[str, Any] = {"use_cache": True}
    if "logits_to_keep" in takes:
        fixed["logits_to_keep"] = 1

    def continue_text(
        self: Any, input_ids: Any, attention_mask: Any, position_ids: Any, past: Any
    ) -> Any:
        cache = dynamic_cache(list(zip(past[0::2], past[1::2], strict=True)))
        given = {"position_ids": position_ids} if "position_ids" in takes else {}
        result = self(
            input_ids=input_ids,
            attention_mask=attention_mask,
            past_key_values=cache,
            **given,
            **fixed,
        )
        layers = result.past_key_values.layers
        return result.logits, [t for layer in layers for t in (layer.keys, layer.values)]

    tokens = {0: "batch", 1: "new"}
    dynamic = {
        "input_ids": tokens,
        "attention_mask": {0: "batch", 1: "all"},
        "position_ids": tokens,
        "past": [{0: "batch", 2: "past"} for _ in arguments[3]],
    }
    setattr(model, METHOD, types.MethodType(continue_text, model))
    try:
        return from_torch.to_module(
            model,
            signatures={METHOD: (METHOD, arguments)},
            dynamic=dynamic,
            name=name or snake_case(type(model).__name__),
        )
    finally:
        delattr(model, METHOD)


def _compare(generator: TextGenerator, model: Any, ends: list[int], pad: int) -> None:
    """Let both continue texts, of which one is shorter."""
    import torch

    rng = np.random.default_rng(0)
    tokens = rng.integers(0, model.config.vocab_size, (2, 4))
    mask = np.ones_like(tokens)
    tokens[1, :2], mask[1, :2] = pad, 0
    count = 8
    with torch.no_grad(), _inference(model):
        wanted = model.generate(
            torch.from_numpy(tokens),
            attention_mask=torch.from_numpy(mask),
            max_new_tokens=count,
            do_sample=False,
            eos_token_id=ends or None,
            pad_token_id=pad,
        ).numpy()
    found = generator.generate(tokens, mask, count)["tokens"].numpy()
    if not np.array_equal(found, wanted):
        raise InvalidArgumentError(
            f"{generator.name} generates other tokens than the model: {found.tolist()} instead of "
            f"{wanted.tolist()}. Give verify=False if its likeliest tokens are equally likely."
        )
