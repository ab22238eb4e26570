"""Models of scikit-learn, XGBoost and LightGBM against these themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import tfx as tf
from tfx import loaders
from tfx.exporters import from_sklearn
from tfx.exporters.sources.sklearn_inputs import inputs_of
from tfx.exporters.sources.sklearn_parameters import fitted_parameters

RNG = np.random.default_rng(0)
X, LABELS = load_iris(return_X_y=True)
WORDS = np.array(["red", "green", "blue", "long", "short"])
TEXTS = [" ".join(RNG.choice(WORDS, 4)) for _ in range(40)]
SIDES = RNG.choice(["left", "right"], 40)


def converted() -> Any:
    return pytest.importorskip("skl2onnx")


def test_parameters_have_the_paths_of_their_estimators() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, LABELS)
    found = fitted_parameters(model)
    assert {"standardscaler.mean_", "logisticregression.coef_"} <= set(found)
    np.testing.assert_array_equal(found["logisticregression.coef_"], model[-1].coef_)


def test_columns_are_inputs_of_their_own_dtypes() -> None:
    data = {"age": np.array([1.0, 2.0]), "city": np.array(["a", "b"]), "n": np.array([1, 2])}
    taken = inputs_of(None, data, None)
    assert {n: s.dtype.name for n, s in taken.specs.items()} == {
        "age": "float64", "city": "string", "n": "int64",
    }  # fmt: skip
    assert {tuple(s.shape.symbolic or ()) for s in taken.specs.values()} == {("batch", 1)}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (np.zeros((2, 2, 2)), r"data has the shape \(2, 2, 2\)"),
        (np.zeros((0, 3)), "data has no rows"),
        ({"a": np.array(["x", 1.0], object)}, "beside text"),
        ({"a": np.array(["2020"], "datetime64")}, "which no tensor has"),
    ],
)
def test_tables_that_are_none(data: Any, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        inputs_of(None, data, None)


def test_what_is_not_fitted_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not fitted"):
        from_sklearn.to_module(LogisticRegression())
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected a fitted estimator"):
        from_sklearn.to_module(3)


def test_a_missing_converter_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"tfx-onnx\[sklearn\]"):
        from_sklearn.to_module(LinearRegression().fit(X, LABELS))


def test_columns_without_dtypes_are_asked_for() -> None:
    columns = ColumnTransformer([("one", StandardScaler(), ["a"])])
    columns.transformers_, columns.n_features_in_ = [("one", StandardScaler(), ["a"])], 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="give rows of the training data"):
        inputs_of(columns, None, None)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (LogisticRegression(max_iter=300), ["coef_", "intercept_"]),
        (RidgeClassifier(), ["coef_", "intercept_"]),
        (LinearSVC(), ["coef_", "intercept_"]),
        (
            MLPClassifier((5,), max_iter=30),
            ["coefs_.0", "coefs_.1", "intercepts_.0", "intercepts_.1"],
        ),
        (SVC(probability=False), []),
        (RandomForestClassifier(5, random_state=0), []),
        (HistGradientBoostingClassifier(max_iter=5), []),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_classifiers(tmp_path: Path, model: Any, names: list[str], classes: int) -> None:
    converted()
    model.fit(X, np.minimum(LABELS, classes - 1))
    module = from_sklearn.export(model, tmp_path / "b", data=X)
    assert sorted(v.name.split(":")[0] for v in module.trainable_variables) == names
    assert all(module.weights[n].shape == np.shape(fitted_parameters(model)[n]) for n in names)
    found = tf.saved_model.load(tmp_path / "b").signatures["serving_default"](X=tf.constant(X))
    np.testing.assert_array_equal(found["label"], model.predict(X))
    scores = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    name = "probabilities" if scores == "predict_proba" else "scores"
    expected = getattr(model, scores)(X)
    np.testing.assert_allclose(found[name], expected, rtol=1e-3, atol=1e-4)
    assert loaders.summarize(tmp_path / "b").manifest.metadata["source"] == "scikit-learn"


def test_methods_by_signature() -> None:
    converted()
    model = LogisticRegression(max_iter=300).fit(X, LABELS)
    chosen = {"serving_default": "predict", "probabilities": "predict_proba"}
    module = from_sklearn.to_module(model, signatures=chosen, data=X)
    np.testing.assert_array_equal(module.predict(X), model.predict(X))
    np.testing.assert_allclose(module.predict_proba(X), model.predict_proba(X), atol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected one of predict"):
        from_sklearn.to_module(model, signatures={"a": "transform"}, data=X)


def test_a_linear_model_goes_on_learning() -> None:
    converted()
    y = X @ [1.0, -2.0, 0.5, 3.0] + 1.0
    module = from_sklearn.to_module(LinearRegression().fit(X, y), data=X.astype(np.float32))
    x = tf.constant(X.astype(np.float32))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((module(x) - tf.constant((y + 1).astype(np.float32))) ** 2)
    slopes = tape.gradient(loss, [module.weights["coef_"], module.weights["intercept_"]])
    residual = -np.ones(len(X))
    np.testing.assert_allclose(slopes[0], 2 * residual @ X / len(X), rtol=1e-3)
    np.testing.assert_allclose(slopes[1], 2 * residual.mean(), rtol=1e-3)


def test_texts(tmp_path: Path) -> None:
    converted()
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, SIDES)
    from_sklearn.export(model, tmp_path / "b", data=TEXTS)
    found = tf.saved_model.load(tmp_path / "b").signatures["serving_default"](
        text=tf.constant(["red RED short", "long blue"])
    )
    expected = model.predict_proba(["red RED short", "long blue"])
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    labels = [label.decode() for label in found["label"].numpy().tolist()]
    assert labels == model.predict(["red RED short", "long blue"]).tolist()


def test_columns_of_a_data_frame(tmp_path: Path) -> None:
    converted()
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"age": RNG.normal(size=40), "city": RNG.choice(["a", "b"], 40), "text": TEXTS}
    )
    columns = ColumnTransformer(
        [
            ("number", StandardScaler(), ["age"]),
            ("category", OneHotEncoder(), ["city"]),
            ("words", TfidfVectorizer(), "text"),
        ]
    )
    model = make_pipeline(columns, LogisticRegression()).fit(frame, SIDES)
    module = from_sklearn.export(model, tmp_path / "b", data=frame)
    given = {n: frame[[n]].to_numpy() for n in frame}
    np.testing.assert_allclose(
        module(**given)["probabilities"], model.predict_proba(frame), atol=1e-5
    )
    summary = loaders.summarize(tmp_path / "b")
    assert list(summary.signatures[0].inputs) == ["age", "city", "text"]


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
def test_boosters(tmp_path: Path, package: str) -> None:
    converted()
    module = pytest.importorskip(package)
    pytest.importorskip("onnxmltools")
    quiet = {"verbose": -1} if package == "lightgbm" else {}
    kind = {"xgboost": "XGB", "lightgbm": "LGBM"}[package]
    model = getattr(module, f"{kind}Classifier")(n_estimators=4, **quiet).fit(X, LABELS)
    from_sklearn.export(model, tmp_path / "b", data=X)
    found = tf.saved_model.load(tmp_path / "b").signatures["serving_default"](X=tf.constant(X))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-5)


def test_a_step_that_differs_is_named_and_nothing_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, LABELS)
    real = StandardScaler.transform
    monkeypatch.setattr(StandardScaler, "transform", lambda self, x: real(self, x) + 0.5)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'standardscaler'.*verify=False"):
        from_sklearn.export(model, tmp_path / "b", data=X)
    assert not (tmp_path / "b").exists()
