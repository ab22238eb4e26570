"""What the training programs share: arguments, the loop, checkpoints, summaries, results.

The decision: all that a step depends on is in one checkpoint - the model with its optimizer and its
random generator, the position in the data, the number of the step. So a program that was killed
goes on with ``--resume`` and ends with the same numbers, bit for bit.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf

REPORTS = 40


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says.

    Attributes:
        out: Folder of checkpoints, summaries, results, bundle and picture.
        steps: Training steps in all.
        quick: Minutes on two cores, with a smaller model or less data.
        resume: Go on from the last checkpoint in ``out``.
        seed: Decides the initial weights, the order of the data and what is drawn.
    """

    out: Path
    steps: int
    quick: bool = False
    resume: bool = False
    seed: int = 0


def arguments(
    argv: Sequence[str] | None, name: str, about: str | None, *, steps: int, quick_steps: int
) -> Options:
    """Parse the command line of a training program.

    Args:
        argv: Arguments, those of the process by default.
        name: The model's, as in ``python -m tfx.model_zoo.NAME``.
        about: What ``--help`` says.
        steps: How many steps by default.
        quick_steps: How many with ``--quick``.
    """
    parser = argparse.ArgumentParser(f"python -m tfx.model_zoo.{name}", description=about)
    parser.add_argument("--quick", action="store_true", help="train for minutes, not for long")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--steps", type=int, help=f"{steps} by default, {quick_steps} if quick")
    parser.add_argument("--out", type=Path, default=Path("runs", name), help="folder of results")
    parser.add_argument("--seed", type=int, default=0)
    found = parser.parse_args(argv)
    if found.steps is not None and found.steps < 1:
        parser.error(f"--steps must be at least 1, got {found.steps}")
    number = found.steps or (quick_steps if found.quick else steps)
    tf.random.set_seed(found.seed)
    return Options(found.out, number, found.quick, found.resume, found.seed)


class Trainer:
    """Calls ``model.train_step`` again and again, and can go on where it was killed.

    Args:
        model: With a ``train_step`` that has an input signature and returns a dict with ``loss``.
            Generators of random numbers are attributes of it, and so is ``optimizer``, which
            trains its ``trainable_variables``.
        data: A dataset of what ``train_step`` takes, without end; None if it takes nothing.
        options: The command line.

    Raises:
        ValueError: if the data is not what ``train_step`` takes.
        FileExistsError: if the folder has checkpoints, and ``--resume`` was not given.
    """

    def __init__(self, model: Any, data: tf.data.Dataset | None, options: Options) -> None:
        if data is not None:
            check_elements(data, model.train_step)
        # The slots are made now, so that the first checkpoint has all that later ones have.
        model.optimizer.build(model.trainable_variables)
        self.model = model
        self.options = options
        self.data = None if data is None else iter(data)
        self.step = tf.Variable(0, dtype=tf.int64, name="step")
        self.checkpoint = tf.train.Checkpoint(model=model, step=self.step)
        if self.data is not None:
            self.checkpoint.data = self.data
        folder = options.out / "checkpoints"
        self.manager = tf.train.CheckpointManager(self.checkpoint, str(folder), max_to_keep=3)
        self.history: list[dict[str, float]] = []
        last = self.manager.latest_checkpoint
        if last and not options.resume:
            raise FileExistsError(
                f"{folder} has checkpoints of an earlier run: give --resume to go on from {last}, "
                "or another --out to begin anew"
            )
        if last:
            self.checkpoint.restore(last).assert_consumed()
            lines = self._history_file.read_text(encoding="utf-8").splitlines()
            rows = [json.loads(line) for line in lines]
            self.history = [row for row in rows if row["step"] <= int(self.step)]
            print(f"goes on from {last}, step {int(self.step)}")

    @property
    def _history_file(self) -> Path:
        return self.options.out / "history.jsonl"

    def run(self) -> None:
        """Train until the number of steps is reached; says now and then how it goes.

        A step that a ``LossScaleOptimizer`` skipped is no error, while its scale can still fall.

        Raises:
            FloatingPointError: if the loss or a variable is not finite; names the step, the first
                node with such a value, and the last good checkpoint.
        """
        steps, every = self.options.steps, max(1, self.options.steps // REPORTS)
        if self.manager.latest_checkpoint is None:
            self.manager.save()
        writer = tf.summary.create_file_writer(str(self.options.out / "summaries"))
        with writer.as_default():
            seen: list[dict[str, float]] = []
            since = time.perf_counter()
            while (done := int(self.step)) < steps:
                made = self._steps_made()
                results = self.one_step()
                done += 1
                if math.isfinite(results["loss"]):
                    seen.append(results)
                elif not self._was_skipped(made):
                    self._explain(f"the loss of step {done} is {results['loss']}")
                if done % every == 0 or done == steps:
                    rate = len(seen) / (time.perf_counter() - since)
                    # Where all were skipped there is nothing to report, but the state to keep.
                    self._report(done, seen or [results], rate)
                    seen, since = [], time.perf_counter()
        writer.close()

    def one_step(self) -> dict[str, float]:
        """Take a batch and train on it; returns the step's results as numbers."""
        batch = () if self.data is None else next(self.data)
        results = self.model.train_step(*(batch if isinstance(batch, tuple) else (batch,)))
        self.step.assign_add(1)
        return {name: float(value) for name, value in results.items()}

    def _steps_made(self) -> int | None:
        """How many steps the optimizer has made; None: it does not skip any."""
        optimizer = self.model.optimizer
        if isinstance(optimizer, tf.mixed_precision.LossScaleOptimizer) and optimizer.dynamic:
            return int(optimizer.iterations)
        return None

    def _was_skipped(self, made: int | None) -> bool:
        """Whether the last step was skipped, and a smaller scale of the loss may help the next."""
        return made == self._steps_made() is not None and float(self.model.optimizer.loss_scale) > 1

    def _report(self, done: int, seen: list[dict[str, float]], rate: float) -> None:
        """Print, write summaries and a checkpoint: the means since the last report."""
        for variable in self.model.trainable_variables:
            if not np.isfinite(variable.numpy()).all():
                self._explain(f"after step {done} variable {variable.name} is not finite")
        means = {name: float(np.mean([row[name] for row in seen])) for name in seen[0]}
        self.history.append({"step": done, **means})
        values = "  ".join(f"{name} {value:.5g}" for name, value in means.items())
        print(f"step {done}/{self.options.steps}  {values}  {rate:.1f} steps/s", flush=True)
        for name, value in means.items():
            tf.summary.scalar(name, value, step=done)
        tf.summary.scalar("steps_per_second", rate, step=done)
        # Before the checkpoint: whoever resumes from it finds its line.
        text = "".join(json.dumps(row) + "\n" for row in self.history)
        self._history_file.write_text(text, encoding="utf-8")
        self.manager.save()

    def _explain(self, what: str) -> None:
        """Repeat the steps since the last checkpoint, and the one that failed with checks.

        Only that one: gradients of a scaled loss may overflow in others, which are skipped.
        """
        last, failed = self.manager.latest_checkpoint, int(self.step)
        first = "not seen again when the steps were repeated"
        wrong = self._repeat(last, failed)
        self._repeat(last, wrong - 1)
        tf.debugging.enable_check_numerics()
        try:
            self.one_step()
        except tf.errors.InvalidArgumentError as error:
            first = f"in step {int(self.step) + 1}: {error.message}"
        finally:
            tf.debugging.disable_check_numerics()
        raise FloatingPointError(
            f"{what}. The first value that is not finite, {first}\n"
            f"The last good checkpoint is {last}: lower the learning rate or mend the data, and go "
            "on from it with --resume"
        )

    def _repeat(self, last: str | None, steps: int) -> int:
        """Go on from a checkpoint up to a step; returns the first that is wrong, or the last."""
        self.checkpoint.restore(last).assert_consumed()
        while int(self.step) < steps:
            made = self._steps_made()
            loss = self.one_step()["loss"]
            good = all(np.isfinite(v.numpy()).all() for v in self.model.trainable_variables)
            if not good or not (math.isfinite(loss) or self._was_skipped(made)):
                break
        return int(self.step)

    def finish(
        self,
        results: Mapping[str, float],
        signatures: Mapping[str, Any],
        picture: Callable[[Any], None] | None = None,
        saved: Any = None,
    ) -> None:
        """Write ``results.json``, the bundle and the picture, and print the results.

        Args:
            results: Final numbers by name.
            signatures: Functions of the model by the names under which the bundle offers them.
            picture: Draws into a figure of matplotlib; left out where that is not installed.
            saved: What the bundle has; None: the model that was trained.
        """
        out = self.options.out
        out.mkdir(parents=True, exist_ok=True)
        for name, value in results.items():
            print(f"{name}: {value:.6g}")
        text = json.dumps(dict(results), indent=2) + "\n"
        (out / "results.json").write_text(text, encoding="utf-8")
        root = self.model if saved is None else saved
        tf.saved_model.save(root, out / "bundle", signatures=dict(signatures))
        print(f"bundle: {out / 'bundle'}")
        if picture is not None:
            _draw(out / "picture.png", picture)

    def plot(self, axes: Any, *names: str) -> None:
        """Draw curves of what the steps returned, by ``names``, into axes of matplotlib."""
        for name in names:
            axes.plot([row["step"] for row in self.history], [r[name] for r in self.history])
        axes.set_xlabel("step")
        axes.set_ylabel(", ".join(names))


def _draw(path: Path, picture: Callable[[Any], None]) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: `pip install matplotlib`")
        return
    figure = Figure(figsize=(9, 3.2), layout="constrained", dpi=80)
    FigureCanvasAgg(figure)
    picture(figure)
    figure.savefig(path, pil_kwargs={"optimize": True})
    print(f"picture: {path}")


def check_elements(data: tf.data.Dataset, train_step: Any) -> None:
    """Compare a dataset's elements with the input signature of a train step.

    Raises:
        ValueError: with the name of the argument that does not fit.
    """
    elements, signature = data.element_spec, train_step.input_signature
    elements = elements if isinstance(elements, tuple) else (elements,)
    if len(elements) != len(signature):
        names = ", ".join(str(spec.name) for spec in signature)
        raise ValueError(f"the data has {len(elements)} parts, train_step takes ({names})")
    for given, wanted in zip(elements, signature, strict=True):
        if given.dtype != wanted.dtype or not wanted.shape.is_compatible_with(given.shape):
            raise ValueError(
                f"{wanted.name!r} of the data is {given.dtype.name}{given.shape}, train_step takes "
                f"{wanted.dtype.name}{wanted.shape}: convert or reshape it"
            )


def check_labels(name: str, labels: Any, classes: int) -> None:
    """Refuse class numbers that are not in ``[0, classes)``.

    Args:
        name: Of the argument, for the message.
        labels: Integers.
        classes: How many classes there are.

    Raises:
        ValueError: with the first label that is out of range, and its place.

    Example:
        >>> from tfx.model_zoo.trainer import check_labels
        >>> check_labels("labels", [0, 3, 9], classes=10)
    """
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got {labels.dtype}")
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if wrong.size:
        raise ValueError(
            f"{name} must be in [0, {classes}), but number {wrong[0]} is "
            f"{labels.flat[wrong[0]]} ({wrong.size} of {labels.size} are out of range)"
        )
