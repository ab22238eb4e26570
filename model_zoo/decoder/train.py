"""Train a decoder on the text that ships with Python, and let it write."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.model_zoo import text, trainer
from tfx.model_zoo.decoder.model import Decoder

PROMPT = "The statement "


def main(argv: Sequence[str] | None = None) -> None:
    """Train, judge, write."""
    options = trainer.arguments(argv, "decoder", __doc__, steps=6000, quick_steps=1500)
    known, held_out = text.load()
    size = {"width": 96, "heads": 4, "depth": 3, "context": 64} if options.quick else {}
    model = Decoder(**size, seed=options.seed)
    data = text.batches(known, model.context + 1, batch=32, seed=options.seed)
    training = trainer.Trainer(model, data, options)
    training.run()

    pieces = text.windows(held_out, model.context + 1)[:320]
    losses = [float(model.judge(part)["loss"]) for part in np.array_split(pieces, 10)]
    began = time.perf_counter()
    written = model.generate(text.encode(PROMPT), model.context, 0.7)["tokens"].numpy()
    first = time.perf_counter() - began
    began = time.perf_counter()
    model.generate(text.encode(PROMPT), model.context, 0.7)
    rate = model.context / (time.perf_counter() - began)
    print(f"writes {text.decode(written)!r}: first {first:.2f} s, then {rate:.0f} characters/s")

    def picture(figure: Any) -> None:
        axes = figure.subplots()
        training.plot(axes, "loss")
        axes.axhline(np.mean(losses), linestyle="--", label="held out")
        axes.set_title(repr(text.decode(written)), fontsize=9, family="monospace", parse_math=False)
        axes.legend()

    training.finish(
        {
            "held_out_loss": float(np.mean(losses)),
            "held_out_bits_per_character": float(np.mean(losses) / np.log(2)),
        },
        {"serve": model.serve, "generate": model.generate, "train_step": model.train_step},
        picture,
    )
