"""Train a character LSTM on the text that ships with Python, and let it write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.model_zoo import text, trainer
from tfx.model_zoo.char_lstm.model import CharLstm

LENGTH = 64
PROMPT = "The statement "


def main(argv: Sequence[str] | None = None) -> None:
    """Train, judge, write."""
    options = trainer.arguments(argv, "char_lstm", __doc__, steps=6000, quick_steps=1000)
    known, held_out = text.load()
    model = CharLstm(units=192 if options.quick else 512, seed=options.seed)
    data = text.batches(known, LENGTH + 1, batch=32, seed=options.seed)
    training = trainer.Trainer(model, data, options)
    training.run()

    pieces = text.windows(held_out, LENGTH + 1)[:320]
    losses = [float(model.judge(part)["loss"]) for part in np.array_split(pieces, 10)]
    written = text.decode(model.generate(text.encode(PROMPT), 60, 0.5)["tokens"].numpy())
    print(f"writes {written!r}")

    def picture(figure: Any) -> None:
        axes = figure.subplots()
        training.plot(axes, "loss")
        axes.axhline(np.mean(losses), linestyle="--", label="held out")
        axes.set_title(repr(written), fontsize=9, family="monospace", parse_math=False)
        axes.legend()

    training.finish(
        {
            "held_out_loss": float(np.mean(losses)),
            "held_out_bits_per_character": float(np.mean(losses) / np.log(2)),
        },
        {"serve": model.serve, "generate": model.generate, "train_step": model.train_step},
        picture,
    )
