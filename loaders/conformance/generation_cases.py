"""Conformance cases of language models that transformers made: they write in every loader.

What is expected is what transformers generates; where tokens are drawn, and of logits, what the
generator itself gives in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from case import Case

import tfx as tf

# Made by tools/gen_language_models.py.
_RECORDS = Path(__file__).parents[2] / "tests" / "unit" / "importing" / "language_models.npz"


def _write(case: Case, name: str) -> None:
    """Generate greedily and by drawing, and go on token by token with the cache as state."""
    with np.load(_RECORDS) as loaded:
        record = {k.partition("/")[2]: loaded[k] for k in loaded.files if k.startswith(f"{name}/")}
    generator = tf.exporters.text_generation.to_generator(
        record["model"].tobytes(), end_tokens=[int(record["end"])]
    )
    case.tolerate(1e-4, 1e-4)
    case.save(generator, generator.signatures)
    prompt = {"input_ids": record["tokens"], "attention_mask": record["mask"]}
    settings = {
        "max_new_tokens": np.array(12, np.int32),
        "temperature": np.array(0, np.float32),
        "top_k": np.array(0, np.int32),
        "seed": np.array(0, np.int64),
    }
    case.call("generate", {**prompt, **settings}, {"tokens": record["ended"]})
    # Nearly cold: a token that is drawn is the likeliest one by far.
    drawn = {"temperature": np.array(0.01, np.float32), "top_k": np.array(5, np.int32)}
    options: dict[str, Any] = {"temperature": 0.01, "top_k": 5}
    expected = generator.generate(*prompt.values(), 12, **options)
    case.call("generate", {**prompt, **settings, **drawn}, expected)
    case.call("prefill", prompt, generator.prefill(*prompt.values()))
    for place in range(3):
        tokens = record["free"][:, record["tokens"].shape[1] + place]
        case.call("decode", {"tokens": tokens}, generator.decode(tokens))


def generation_llama(case: Case) -> None:
    """A Llama-style model of transformers, with rotary positions and grouped heads."""
    _write(case, "llama")


def generation_gpt2(case: Case) -> None:
    """A GPT-2 of transformers."""
    _write(case, "gpt2")


CASES: dict[str, Callable[[Case], None]] = {
    "generation_gpt2": generation_gpt2,
    "generation_llama": generation_llama,
}
