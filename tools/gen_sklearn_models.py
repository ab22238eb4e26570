"""Record what skl2onnx makes of scikit-learn's models, for tests without skl2onnx.

Writes small models with their answers into ``tests/unit/exporters/recorded_sklearn``. Needs the
extra ``sklearn``.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "tests" / "unit" / "exporters" / "recorded_sklearn"


def models() -> dict[str, tuple[Any, Any]]:
    """Fitted models by name, each with the rows that it was fitted on."""
    sk = {
        name: importlib.import_module(f"sklearn.{name}")
        for name in ("datasets", "ensemble", "linear_model", "pipeline", "preprocessing")
    }
    text = importlib.import_module("sklearn.feature_extraction.text")
    x, y = sk["datasets"].load_iris(return_X_y=True)
    x = x.astype(np.float32)
    draws = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "long"])
    texts = [" ".join(draws.choice(words, 3)) for _ in range(12)]
    sides = ["left" if "red" in t else "right" for t in texts]
    join = sk["pipeline"].make_pipeline
    scaled = join(sk["preprocessing"].StandardScaler(), sk["linear_model"].LogisticRegression())
    forest = sk["ensemble"].RandomForestClassifier(3, max_depth=3, random_state=0)
    counted = join(text.TfidfVectorizer(), sk["linear_model"].LogisticRegression())
    return {
        "forest": (forest.fit(x, y), x[::10]),
        "pipeline": (scaled.fit(x, y), x[::10]),
        "texts": (counted.fit(texts, sides), texts),
    }


def main() -> None:
    """Write the files."""
    sources = importlib.import_module("tfx.exporters.sources.sklearn_conversion")
    inputs = importlib.import_module("tfx.exporters.sources.sklearn_inputs")
    dtypes = importlib.import_module("tfx.core.dtypes")
    FOLDER.mkdir(exist_ok=True)
    for name, (model, rows) in models().items():
        taken = inputs.inputs_of(model, rows, None)
        answers = sources.source_answers(model, taken.as_source())
        graph = sources.convert(model, taken, answers, dtypes.float32)
        graph.proto.graph.name = name  # a random one otherwise
        (FOLDER / f"{name}.onnx").write_bytes(graph.proto.SerializeToString(deterministic=True))
        arrays = {**taken.rows, **answers}
        plain = {n: a.astype(str) if a.dtype == object else a for n, a in arrays.items()}
        np.savez(FOLDER / f"{name}.npz", **plain)


if __name__ == "__main__":
    main()
