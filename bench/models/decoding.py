"""``python -m bench.models.decoding``: ``generate`` in one graph, and the same tokens by a loop.

The loop is what a program writes that has the exported step alone: a plain ONNX Runtime session
that is run once for each token, with the cache handed from call to call. Both take turns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tfx
from bench.models.checks import least, plain_session, temporary
from bench.peers.environments import ROOT

_RECORDS = ROOT / "tests" / "unit" / "importing" / "language_models.npz"
_TOKENS = 40


def main() -> None:
    """Print microseconds a token of both, and their ratio."""
    with np.load(_RECORDS) as loaded:
        for name in ("llama", "gpt2"):
            times = _measure(loaded[f"{name}/model"].tobytes(), loaded[f"{name}/tokens"][:1])
            ours, loop = times["ours"], times["loop"]
            print(f"{name}: {ours:.0f} us a token, by a loop {loop:.0f}: {ours / loop:.2f}")


def _measure(model: bytes, prompt: Any) -> dict[str, float]:
    """Microseconds a token of both."""
    generator = tfx.exporters.text_generation.to_generator(model)
    with temporary() as folder:
        tfx.saved_model.save(generator, folder, signatures=generator.signatures)
        inside = plain_session(f"{folder}/generate.onnx")
        path = Path(folder) / "step.onnx"
        path.write_bytes(model)
        step = plain_session(path)
    assert _inside(inside, prompt) == _by_hand(step, prompt)
    calls = {"ours": lambda: _inside(inside, prompt), "loop": lambda: _by_hand(step, prompt)}
    return {n: ms * 1e3 / _TOKENS for n, ms in least(calls, 3.0).items()}


def _inside(session: Any, prompt: Any) -> list[int]:
    inputs = {
        "input_ids": prompt,
        "attention_mask": np.ones_like(prompt),
        "max_new_tokens": np.array(_TOKENS, np.int32),
        "temperature": np.array(0, np.float32),
        "top_k": np.array(0, np.int32),
        "seed": np.array(0, np.int64),
    }
    found: list[int] = session.run(["tokens"], inputs)[0][0, prompt.shape[1] :].tolist()
    return found


def _by_hand(session: Any, prompt: Any) -> list[int]:
    slots = session.get_inputs()[3:]
    sizes = [d if isinstance(d, int) else 0 for s in slots[:1] for d in s.shape]
    cache = [np.zeros([1, sizes[1], 0, sizes[3]], np.float32) for _ in slots]
    names = [i.name for i in session.get_inputs()]
    tokens, texts = prompt, []
    length = prompt.shape[1]
    positions = np.arange(length)[None]
    for _ in range(_TOKENS):
        mask = np.ones([1, length], np.int64)
        feeds = dict(zip(names, [tokens, mask, positions, *cache], strict=True))
        logits, *cache = session.run(None, feeds)
        tokens = logits[:, -1].argmax(-1)[:, None]
        texts.append(int(tokens[0, 0]))
        positions = np.array([[length]])
        length += 1
    return texts


if __name__ == "__main__":
    main()
