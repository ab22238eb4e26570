"""A scikit-learn model as an ONNX graph, by skl2onnx and the converters of onnxmltools.

What is ours: inputs that are the columns of the training data, outputs by plain names and of the
shapes that the model's methods give, and corrections where the converters and the installed onnx
do not agree.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.core.specs import TensorSpec
from tfx.exporters.sources.messages import one_line
from tfx.exporters.sources.sklearn_inputs import SklearnInputs, known_words, parts_of, takes_columns
from tfx.graph.serialization.model_ports import (
    cast_output,
    flatten_output,
    rename_ports,
    replace_input,
    set_attribute,
)

Array: TypeAlias = "np.ndarray[Any, Any]"

EXTRA = "pip install 'tfx-onnx[sklearn]'"
_MATRIX = "X"
# What skl2onnx writes in one operator, and we want as products with their coefficients as weights.
_WRITTEN_OUT = frozenset(("LinearClassifier", "LinearRegressor"))
# Converters give each class its score, mostly that of the second one last; of these the first.
_FIRST_COLUMN = frozenset(("NuSVC", "SVC"))
# The opset that all converters know.
_OPSET = {"": 21, "ai.onnx.ml": 3}


@dataclass(frozen=True)
class Answer:
    """An output and the method of the model that gives the same."""

    name: str
    method: str


def answers_of(model: Any) -> list[Answer]:
    """The outputs of a model's graph, in the order in which converters have them."""
    if hasattr(model, "classes_") or getattr(model, "_estimator_type", "") == "classifier":
        scores = [
            Answer("probabilities", "predict_proba"),
            Answer("scores", "decision_function"),
        ]
        known = [a for a in scores if _has(model, a.method)]
        return [Answer("label", "predict"), *known[:1]]
    if _has(model, "predict"):
        extra = [Answer("scores", m) for m in ("decision_function", "transform") if _has(model, m)]
        first = "label" if extra or _has(model, "fit_predict") else "prediction"
        return [Answer(first, "predict"), *extra[:1]]
    if _has(model, "transform"):
        return [Answer("transformed", "transform")]
    raise InvalidArgumentError(
        f"{type(model).__name__} has neither predict nor transform, expected a fitted estimator "
        "or pipeline of scikit-learn."
    )


def _has(model: Any, method: str) -> bool:
    try:
        return callable(getattr(model, method, None))
    except Exception:  # a property of a part that is not fitted for it
        return False


def source_answers(model: Any, rows: Any) -> dict[str, Array]:
    """What a model's own methods give for rows."""
    found = {}
    for answer in answers_of(model):
        result = getattr(model, answer.method)(rows)
        if hasattr(result, "toarray"):
            result = result.toarray()
        array = np.asarray(result)
        found[answer.name] = array.astype(object) if array.dtype.kind in "US" else array
    return found


@dataclass(frozen=True)
class SklearnGraph:
    """A model's graph.

    Attributes:
        proto: An ``onnx.ModelProto`` with the inputs and the outputs by their names.
        given: The graph's value that each part takes, by ``id`` of the part.
        made: The graph's value that each part gives, likewise.
    """

    proto: Any
    given: Mapping[int, str]
    made: Mapping[int, str]


def convert(
    model: Any, inputs: SklearnInputs, answers: Mapping[str, Array], dtype: DType
) -> SklearnGraph:
    """The graph of a model.

    Args:
        model: The fitted model.
        inputs: What it takes.
        answers: What its methods give for the rows of ``inputs``: names and shapes.
        dtype: What it computes in.

    Returns:
        The graph, which computes what ``answers`` has.

    Raises:
        ImportError: skl2onnx is not installed.
        UnimplementedError: there is no converter for a part of the model.
    """
    skl2onnx = _import("skl2onnx", "a scikit-learn model")
    _register_boosters(model)
    separate = takes_columns(model)
    types = _types(inputs, dtype, separate=separate)
    proto, topology = _converted(skl2onnx, model, types)
    _put_inputs(proto, inputs, types, separate=separate)
    outputs = [o.name for o in proto.graph.output]
    names = dict(zip(outputs, answers, strict=False))
    if len(names) < len(answers):
        raise UnimplementedError(
            f"{type(model).__name__}: its converter gives {', '.join(outputs)}, expected outputs "
            f"for {', '.join(answers)}; export the parts one by one."
        )
    rename_ports(proto, names)
    del proto.graph.output[len(names) :]
    for name, array in answers.items():
        port = next(o for o in proto.graph.output if o.name == name)
        if array.ndim == 1 and len(port.type.tensor_type.shape.dim) == 2:
            flatten_output(proto, name, column=_score_column(model) if name == "scores" else None)
        if dtype is dtypes.float64 and array.dtype.kind == "f":
            cast_output(proto, name)  # trees give float32
    if all(word.isascii() for word in known_words(model)):
        # ONNX Runtime refuses a model whose locale the machine lacks, and skl2onnx always writes
        # en_US. Its tokens are of letters of ASCII anyhow.
        set_attribute(proto, "StringNormalizer", "locale", "C")
    operators = topology.scopes[0].operators.values()
    given = {id(o.raw_operator): o.inputs[0].full_name for o in operators if o.inputs}
    made = {id(o.raw_operator): o.outputs[0].full_name for o in operators if o.outputs}
    return SklearnGraph(proto, given, made)


def _score_column(model: Any) -> int:
    """The column of two classes' scores that is the model's decision function."""
    while getattr(model, "steps", None) or hasattr(model, "best_estimator_"):
        model = model.best_estimator_ if hasattr(model, "best_estimator_") else model.steps[-1][1]
    return 0 if type(model).__name__ in _FIRST_COLUMN else -1


def _import(module: str, user: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError(f"exporting {user} needs {module}: {EXTRA}") from e


def _types(
    inputs: SklearnInputs, dtype: DType, *, separate: bool
) -> list[tuple[str, Any, TensorSpec | None]]:
    """The types that the converter is told: of each column, or of one matrix."""
    kinds = importlib.import_module("skl2onnx.common.data_types")

    def kind(spec: TensorSpec, width: int | None) -> Any:
        shape = [None, width]
        if spec.dtype is dtypes.string:
            return kinds.StringTensorType(shape)
        if spec.dtype.is_floating:
            double = dtype is dtypes.float64
            return (kinds.DoubleTensorType if double else kinds.FloatTensorType)(shape)
        return kinds.Int64TensorType(shape)

    specs = inputs.specs
    if separate or len(specs) == 1:
        return [(n, kind(s, _width(s)), s) for n, s in specs.items()]
    texts = {s.dtype is dtypes.string for s in specs.values()}
    if len(texts) == 2:
        raise InvalidArgumentError(
            "the columns are numbers and text, and no part of the model chooses among them: use a "
            "ColumnTransformer."
        )
    widths = [_width(s) for s in specs.values()]
    whole = None if None in widths else sum(w for w in widths if w is not None)
    floating = [s for s in specs.values() if s.dtype.is_floating]
    spec = floating[0] if floating else next(iter(specs.values()))
    return [(_MATRIX, kind(spec, whole), None)]


def _width(spec: TensorSpec) -> int | None:
    dims = spec.shape.as_list()
    return int(dims[1]) if len(dims) > 1 and dims[1] is not None else (1 if len(dims) < 2 else None)


def _converted(skl2onnx: Any, model: Any, types: Sequence[Any]) -> Any:
    initial = [(name, kind) for name, kind, _ in types]
    fixed = _with_plain_numbers(model)
    linear = importlib.import_module("sklearn.linear_model")
    margins = (
        importlib.import_module("sklearn.svm").LinearSVC,
        linear.RidgeClassifier,
        linear.RidgeClassifierCV,
    )
    plain = {kind: {"raw_scores": True} for kind in margins}
    first: Exception | None = None
    for options in ({**plain, id(model): {"zipmap": False}}, plain):
        try:
            return skl2onnx.convert_sklearn(
                model,
                initial_types=initial,
                options=options,
                target_opset=dict(_OPSET),
                black_op=set(_WRITTEN_OUT),
                custom_conversion_functions=fixed or None,
                intermediate=True,
            )
        except Exception as e:
            if options is not plain and "zipmap" in str(e):
                continue  # not a model of probabilities
            first = first or e
            break
    assert first is not None
    raise UnimplementedError(
        f"{type(model).__name__} has no ONNX form: {one_line(first)}; the estimators that do "
        "are listed by skl2onnx.supported_converters()."
    ) from first


def _with_plain_numbers(model: Any) -> dict[type, Any]:
    """Converters of histogram boosting whose attributes are plain numbers.

    skl2onnx gives NumPy's, and booleans, which protobuf refuses since onnx 1.20.
    """
    ensemble = importlib.import_module("sklearn.ensemble")
    registry = importlib.import_module("skl2onnx.common._registration")
    names = importlib.import_module("skl2onnx._supported_operators").sklearn_operator_name_map
    kinds = (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor)
    found = {}
    for kind in kinds:
        if kind in names:
            found[kind] = _plain(registry.get_converter(names[kind]))
    return found


def _plain(converter: Callable[..., Any]) -> Callable[..., Any]:
    def convert(scope: Any, operator: Any, container: Any) -> Any:
        return converter(scope, operator, _PlainContainer(container))

    return convert


class _PlainContainer:
    """A converter's container that makes plain numbers of attributes."""

    def __init__(self, container: Any) -> None:
        self._container = container

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    def add_node(self, *args: Any, **attributes: Any) -> Any:
        """Add a node; see skl2onnx."""
        plain = {key: _plain_value(value) for key, value in attributes.items()}
        return self._container.add_node(*args, **plain)


def _plain_value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [int(v) if isinstance(v, bool | np.bool_ | np.integer) else v for v in value]
    return value


def _put_inputs(proto: Any, inputs: SklearnInputs, types: Sequence[Any], *, separate: bool) -> None:
    """Let the graph take the inputs as they are declared."""
    present = {port.name for port in proto.graph.input}
    if not separate and len(inputs.specs) > 1:
        columns = {n: (s.dtype, s.shape.symbolic) for n, s in inputs.specs.items()}
        replace_input(proto, _MATRIX, columns)
        return
    for name, _, spec in types:
        if name in present:
            replace_input(proto, name, {name: (spec.dtype, spec.shape.symbolic)})


def _register_boosters(model: Any) -> None:
    """Tell skl2onnx about estimators of XGBoost and LightGBM, where the model has some."""
    packages = {type(part).__module__.split(".")[0] for part in parts_of(model)}
    for package in sorted(packages & {"xgboost", "lightgbm"}):
        _import("onnxmltools", f"a model of {package}")
        _REGISTER[package]()


_CLASSIFIER_OPTIONS = {"nocl": [True, False], "zipmap": [True, False, "columns"]}


def _register_xgboost() -> None:
    xgboost = importlib.import_module("xgboost")
    home = "onnxmltools.convert.xgboost.operator_converters.XGBoost"
    converter = importlib.import_module(home).convert_xgboost
    for name in ("XGBClassifier", "XGBRFClassifier"):
        _register(getattr(xgboost, name), f"XGBoost{name}", converter, is_classifier=True)
    for name in ("XGBRegressor", "XGBRFRegressor"):
        _register(getattr(xgboost, name), f"XGBoost{name}", converter, is_classifier=False)


def _register_lightgbm() -> None:
    lightgbm = importlib.import_module("lightgbm")
    home = "onnxmltools.convert.lightgbm.operator_converters.LightGbm"
    converter = importlib.import_module(home).convert_lightgbm
    _register(lightgbm.LGBMClassifier, "LightGbmLGBMClassifier", converter, is_classifier=True)
    _register(
        lightgbm.LGBMRegressor,
        "LightGbmLGBMRegressor",
        converter,
        is_classifier=False,
        options={"split": None},
    )


_REGISTER: Mapping[str, Callable[[], None]] = {
    "xgboost": _register_xgboost,
    "lightgbm": _register_lightgbm,
}


def _register(
    kind: type, alias: str, converter: Any, *, is_classifier: bool, options: Any = None
) -> None:
    skl2onnx = importlib.import_module("skl2onnx")
    shapes = importlib.import_module("skl2onnx.common.shape_calculator")
    shape = (
        shapes.calculate_linear_classifier_output_shapes
        if is_classifier
        else shapes.calculate_linear_regressor_output_shapes
    )
    skl2onnx.update_registered_converter(
        kind, alias, shape, converter, options=_CLASSIFIER_OPTIONS if is_classifier else options
    )
