"""Train a network on scikit-learn's table of breast cancer, beside scikit-learn's own methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfx as tf
from tfx.model_zoo import trainer
from tfx.model_zoo.tabular.model import Table

BATCH = 32


def others(seed: int) -> dict[str, Any]:
    """What scikit-learn has for such a table, by name."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    mlp = MLPClassifier((64, 64), max_iter=500, random_state=seed)
    return {
        "logistic_regression": make_pipeline(StandardScaler(), LogisticRegression()),
        "mlp": make_pipeline(StandardScaler(), mlp),
        "random_forest": RandomForestClassifier(random_state=seed),
        "gradient_boosting": HistGradientBoostingClassifier(random_state=seed),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Train, and judge beside the others."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    options = trainer.arguments(argv, "tabular", __doc__, steps=4000, quick_steps=1000)
    table = load_breast_cancer()
    parts = train_test_split(
        table.data.astype(np.float32),
        table.target.astype(np.int64),
        test_size=0.3,
        stratify=table.target,
        random_state=options.seed,
    )
    rows, held_out, labels, truth = parts
    trainer.check_labels("labels", labels, classes=2)
    model = Table(rows, classes=2, seed=options.seed)
    data = tf.data.Dataset.from_tensor_slices((rows, labels))
    data = data.shuffle(len(rows), seed=options.seed).repeat().batch(BATCH)
    training = trainer.Trainer(model, data, options)
    training.run()

    found = model.serve(held_out)["probabilities"].numpy()
    results = {"tfx": float(np.mean(found.argmax(1) == truth))}
    for name, other in others(options.seed).items():
        results[name] = float(other.fit(rows, labels).score(held_out, truth))

    def picture(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        training.plot(left, "loss")
        right.barh(list(results), list(results.values()))
        right.set_xlim(0.9, 1.0)
        right.set_title("held-out accuracy")

    training.finish(results, {"serve": model.serve, "train_step": model.train_step}, picture)
