"""Makes ``language_models.npz``: small language models of transformers, and what they generate.

Run by hand, with torch and transformers installed; the tests need neither. For each model: the
step that ``text_generation`` exports (``model``), prompts, their mask, the tokens that transformers
generates greedily, how many of them, tokens that end a text, and logits behind the prompts.
"""

# mypy: ignore-errors
# ruff: noqa: TID253

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import transformers

from tfx.exporters import text_generation

SIZES = {
    "vocab_size": 48, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip


def models():
    """The models by name."""
    yield "llama", transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))
    mistral = transformers.MistralConfig(**SIZES, sliding_window=4)
    yield "mistral", transformers.MistralForCausalLM(mistral)
    config = transformers.GPT2Config(
        vocab_size=48, n_embd=16, n_layer=2, n_head=2, n_positions=64, bos_token_id=1,
        eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    yield "gpt2", transformers.GPT2LMHeadModel(config)


def recorded(model):
    """What the tests need of a model."""
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(4 if p.ndim > 1 else 1)  # so that the likeliest token is so by far
    model.eval()
    rng = np.random.default_rng(0)
    tokens = rng.integers(3, 48, (3, 6))
    mask = np.ones_like(tokens)
    tokens[1, :3], mask[1, :3] = 0, 0
    given = {"attention_mask": torch.from_numpy(mask)}
    free = model.generate(torch.from_numpy(tokens), **given, max_new_tokens=12, do_sample=False,
                          eos_token_id=None, pad_token_id=0).numpy()  # fmt: skip
    end = int(free[0, 9])  # a token that really comes
    ended = model.generate(torch.from_numpy(tokens), **given, max_new_tokens=12, do_sample=False,
                           eos_token_id=end, pad_token_id=0).numpy()  # fmt: skip
    generator = text_generation.to_generator(model)
    proto = generator.network.as_onnx(method=text_generation.METHOD)
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    with torch.no_grad():
        positions = torch.from_numpy(np.maximum(mask.cumsum(1) - 1, 0))
        logits = model(torch.from_numpy(tokens), **given, position_ids=positions).logits[:, -1]
    return {
        "model": np.frombuffer(proto.SerializeToString(deterministic=True), np.uint8),
        "tokens": tokens, "mask": mask, "free": free, "end": np.array(end), "ended": ended,
        "logits": logits.numpy(),
    }  # fmt: skip


def main():
    """Write the file."""
    torch.manual_seed(0)
    found = {f"{n}/{k}": v for n, m in models() for k, v in recorded(m).items()}
    np.savez_compressed(Path(sys.argv[1]), **found)


if __name__ == "__main__":
    main()
