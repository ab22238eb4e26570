"""Runs training programs of the zoo, whole and interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from tfx.model_zoo import trainer

Main = Callable[[Sequence[str]], None]


def interrupt_and_resume(main: Main, folder: Path, steps: int) -> dict[str, dict[str, float]]:
    """Train twice, once with a Ctrl-C in between, and compare everything that came out.

    Returns:
        The results, by the folder below ``folder / "whole"`` in which they are.
    """
    arguments = ["--quick", "--steps", str(steps), "--out"]
    main([*arguments, str(folder / "whole")])
    one_step, taken = trainer.Trainer.one_step, []

    def stops(self: trainer.Trainer) -> dict[str, float]:
        taken.append(1)
        if len(taken) == steps // 2 + 1:
            raise KeyboardInterrupt
        return one_step(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer.Trainer, "one_step", stops)
        with pytest.raises(KeyboardInterrupt):
            main([*arguments, str(folder / "broken")])
    main([*arguments, str(folder / "broken"), "--resume"])
    found = {}
    for path in sorted((folder / "whole").rglob("results.json")):
        name = path.parent.relative_to(folder / "whole")
        found[str(name)] = json.loads(path.read_text())
        again = json.loads((folder / "broken" / name / "results.json").read_text())
        assert again == found[str(name)]
        whole, broken = (
            tf.train.latest_checkpoint(folder / run / name / "checkpoints")
            for run in ("whole", "broken")
        )
        for key, _ in tf.train.list_variables(whole):
            if key != "save_counter":
                value, same = (tf.train.load_variable(c, key) for c in (whole, broken))
                np.testing.assert_array_equal(value, same, err_msg=key)
    assert found
    return found
