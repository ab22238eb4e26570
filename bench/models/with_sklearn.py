"""Checks one fitted model of scikit-learn, XGBoost or LightGBM against tfx.

Run as ``python -m bench.models.with_sklearn NAME``; prints one line of JSON with what was found.
What these packages lack is said: gradients are compared with central differences of their own
answers where those are smooth, and there is no optimizer's step to compare with.
"""

# mypy: ignore-errors

from __future__ import annotations

import functools
import importlib
from pathlib import Path

import numpy as np

import tfx
from bench.models.checks import (
    deviation,
    differences,
    flat,
    least,
    plain_session,
    report_on,
    temporary,
)
from tfx.exporters import from_sklearn
from tfx.loaders import Bundle

_RNG = np.random.default_rng(0)
_ROWS = _RNG.normal(size=(200, 6)).astype(np.float32)
_WEIGHTS = _RNG.normal(size=(6, 3))
_CLASSES = (_ROWS @ _WEIGHTS).argmax(1)
_TARGETS = np.tanh(_ROWS @ _WEIGHTS[:, 0]) + 0.1 * _ROWS[:, 1]
_TEXTS = ["good red car", "bad old car", "good new house", "bad blue house", "red house"] * 8
_TEXT_CLASSES = [1, 0, 1, 0, 1] * 8


def _of(module: str, name: str, kind: str, smooth: bool = False, **options):
    def make():
        model = getattr(importlib.import_module(module), name)(**options)
        target = {"class": _CLASSES, "value": _TARGETS, "none": None}[kind]
        return (model.fit(_ROWS) if target is None else model.fit(_ROWS, target)), _ROWS, smooth

    return make


def _pipeline(final: str):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    steps = [StandardScaler()]
    steps += [PolynomialFeatures(2)] if final == "polynomial" else []
    return make_pipeline(*steps, LogisticRegression(max_iter=300)).fit(_ROWS, _CLASSES), _ROWS, True


def _texts():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(_TEXTS, _TEXT_CLASSES)
    return model, _TEXTS[:5], False


_LINEAR, _TREES = "sklearn.linear_model", "sklearn.ensemble"
MODELS = {
    "sklearn/linear_regression": _of(_LINEAR, "LinearRegression", "value", True),
    "sklearn/ridge": _of(_LINEAR, "Ridge", "value", True),
    "sklearn/lasso": _of(_LINEAR, "Lasso", "value", True, alpha=0.01),
    "sklearn/logistic_regression": _of(_LINEAR, "LogisticRegression", "class", True),
    "sklearn/mlp_classifier": _of(
        "sklearn.neural_network", "MLPClassifier", "class", True, activation="tanh",
        hidden_layer_sizes=(8, 8), max_iter=50, random_state=0,
    ),
    "sklearn/mlp_regressor": _of(
        "sklearn.neural_network", "MLPRegressor", "value", True, activation="tanh",
        hidden_layer_sizes=(8,), max_iter=50, random_state=0,
    ),
    "sklearn/svc": _of("sklearn.svm", "SVC", "class"),
    "sklearn/svr": _of("sklearn.svm", "SVR", "value"),
    "sklearn/gaussian_nb": _of("sklearn.naive_bayes", "GaussianNB", "class", True),
    "sklearn/k_neighbors": _of("sklearn.neighbors", "KNeighborsClassifier", "class"),
    "sklearn/decision_tree": _of("sklearn.tree", "DecisionTreeClassifier", "class", max_depth=5),
    "sklearn/random_forest": _of(
        _TREES, "RandomForestClassifier", "class", n_estimators=10, random_state=0
    ),
    "sklearn/gradient_boosting": _of(
        _TREES, "GradientBoostingRegressor", "value", n_estimators=10, random_state=0
    ),
    "sklearn/k_means": _of("sklearn.cluster", "KMeans", "none", n_clusters=3, random_state=0),
    "sklearn/pca": _of("sklearn.decomposition", "PCA", "none", True, n_components=3),
    "sklearn/scaler_logistic": functools.partial(_pipeline, "plain"),
    "sklearn/polynomial_logistic": functools.partial(_pipeline, "polynomial"),
    "sklearn/tfidf_logistic": _texts,
    "xgboost/classifier": _of("xgboost", "XGBClassifier", "class", n_estimators=8),
    "xgboost/regressor": _of("xgboost", "XGBRegressor", "value", n_estimators=8),
    "lightgbm/classifier": _of("lightgbm", "LGBMClassifier", "class", n_estimators=8, verbose=-1),
    "lightgbm/regressor": _of("lightgbm", "LGBMRegressor", "value", n_estimators=8, verbose=-1),
}  # fmt: skip
_NO_GRADIENT = "the operator that the converter makes has no gradient, or the input is no number"
_ASKED = {"label": "predict", "probabilities": "predict_proba"}


def own(model, name, rows):
    """The source's answer that an output is."""
    if name in _ASKED:
        return np.asarray(getattr(model, _ASKED[name])(rows))
    if name == "scores":
        ask = getattr(model, "decision_function", None) or model.transform
        return np.asarray(ask(rows))
    return np.asarray(model.predict(rows) if hasattr(model, "predict") else model.transform(rows))


def compared(results, wanted):
    """How far outputs are apart; labels must be the same."""
    worst = 0.0
    for name, exact in wanted.items():
        found = np.asarray(results[name]).reshape(exact.shape)
        if found.dtype.kind != "f":
            worst = max(worst, 0.0 if np.array_equal(found, exact) else float("inf"))
        else:
            worst = max(worst, deviation([found], [exact.astype(np.float32)], [exact]))
    return worst


def check(name):
    model, rows, smooth = MODELS[name]()
    found = {}
    imported = from_sklearn.to_module(model, data=rows)
    given = np.asarray(rows[:5]) if isinstance(rows, list) else rows
    (port,) = [imported.methods[next(iter(imported.methods))].calls[0]][0].input_names
    results = imported(tfx.constant(given))
    results = results if isinstance(results, dict) else {"output": results}
    wanted = {n: own(model, n, rows if isinstance(rows, list) else given) for n in results}
    found["answers"] = compared({n: t.numpy() for n, t in results.items()}, wanted)
    found["nodes"] = len(imported.as_onnx().graph.node)
    yield found
    floats = [n for n, t in results.items() if t.dtype.is_floating]
    if smooth:
        x = tfx.constant(given[:8])
        weights = {n: _RNG.normal(size=wanted[n][:8].shape).astype(np.float32) for n in floats}
        with tfx.GradientTape() as tape:
            tape.watch(x)
            out = imported(x)
            out = out if isinstance(out, dict) else {"output": out}
            loss = tfx.add_n(
                [tfx.reduce_sum(tfx.reshape(out[n], weights[n].shape) * weights[n]) for n in floats]
            )
        gradient = tape.gradient(loss, x).numpy()

        def total(values):
            return sum((own(model, n, values) * weights[n]).sum() for n in floats)

        exact = differences(total, given[:8].astype(np.float64))
        found["gradient"] = deviation([gradient], [exact.astype(np.float32)], [exact])
    else:
        found["gradient_reason"] = _NO_GRADIENT
    found["step_reason"] = "fitted by solvers of its own, not by gradient steps"
    yield found
    with temporary() as folder:
        tfx.saved_model.save(imported, folder, signatures=imported.signatures)
        loaded = tfx.saved_model.load(folder).signatures["serving_default"]
        again = loaded(**{port: tfx.constant(given)})
        names = list(Bundle.open(folder).signatures["serving_default"].outputs)
        values = {n: t.numpy() for n, t in zip(results, flat(again), strict=True)}
        found["reloaded"] = compared(values, wanted)
        session = plain_session(Path(folder) / "serving_default.onnx")
        plain = dict(zip(names, session.run(names, {port: given}), strict=True))
        found["plain"] = compared(dict(zip(results, plain.values(), strict=True)), wanted)
    found["ms"] = least({"ours": lambda: imported(tfx.constant(given))})["ours"]
    yield found


if __name__ == "__main__":
    report_on(check)
