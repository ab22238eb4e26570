"""What a scikit-learn model takes: its inputs by name and dtype, and rows to try it with."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.exporters.sources.made_up_inputs import made_up

Array: TypeAlias = "np.ndarray[Any, Any]"

BATCH = "batch"
"""The name of the open dimension: the number of rows."""

_ROWS = 16
_MATRIX = "X"


@dataclass(frozen=True)
class SklearnInputs:
    """The inputs of a model.

    Attributes:
        specs: Of each input, in order: a matrix of all features, or a column each.
        rows: Values by name to try the model with.
        frame: Whether the columns are those of a data frame.
        text: Whether the one input is a vector of texts.
        given: Whether the rows are the user's.
    """

    specs: Mapping[str, TensorSpec]
    rows: Mapping[str, Array]
    frame: bool
    text: bool = False
    given: bool = False

    def as_source(self, rows: Mapping[str, Array] | None = None) -> Any:
        """The rows as the model takes them: a matrix, a vector of texts, or a data frame."""
        rows = self.rows if rows is None else rows
        if not self.frame:
            (only,) = rows.values()
            return only
        pandas = import_pandas("a model that takes columns by name")
        return pandas.DataFrame(
            {
                n: list(a.reshape(-1)) if a.dtype.kind == "O" else a.reshape(-1)
                for n, a in rows.items()
            }
        )


def import_pandas(user: str) -> Any:
    """Pandas.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module("pandas")
    except ImportError as e:
        raise ImportError(
            f"{user} needs pandas: pip install pandas, or pip install 'tfx-onnx[sklearn]'"
        ) from e


def inputs_of(model: Any, data: Any, inputs: Any) -> SklearnInputs:
    """The inputs of a model.

    Args:
        model: The fitted model.
        data: Rows of the training data (a data frame, a matrix, a list of texts); None: none.
        inputs: Specs by name, or a list of specs with names; None: they follow from the others.

    Raises:
        InvalidArgumentError: they follow from nothing that is given, or ``data`` is no table.
    """
    specs = None if inputs is None else _as_specs(inputs)
    if data is not None:
        return _from_data(data, specs)
    if specs is not None:
        return _from_specs(model, specs)
    if takes_columns(model):
        names = ", ".join(map(str, getattr(model, "feature_names_in_", ()))) or "by name"
        raise InvalidArgumentError(
            f"{type(model).__name__} takes columns ({names}), and a fitted model does not know "
            "their dtypes: give rows of the training data with data=, or a spec for each column "
            'with inputs={"age": tf.TensorSpec([None, 1], tf.float32)}.'
        )
    if takes_text(model):
        return _from_specs(model, {"text": TensorSpec([None], dtypes.string, name="text")})
    count = getattr(model, "n_features_in_", None)
    if count is None:
        raise InvalidArgumentError(
            f"{type(model).__name__} does not say how many features it takes: give rows of the "
            "training data with data=."
        )
    return _from_specs(model, {_MATRIX: TensorSpec([None, int(count)], dtypes.float32)})


def takes_columns(model: Any) -> bool:
    """True if a part of a model chooses columns of a data frame by name."""
    for part in _parts_of(model):
        for item in getattr(part, "transformers_", ()):
            chosen = item[2] if isinstance(item, tuple) and len(item) == 3 else ()
            names = [chosen] if isinstance(chosen, str) else chosen
            if isinstance(names, Iterable) and any(isinstance(n, str) for n in names):
                return True
    return False


def takes_text(model: Any) -> bool:
    """True if the first part of a model makes vectors of texts."""
    first = model.steps[0][1] if getattr(model, "steps", None) else model
    return hasattr(first, "build_analyzer")


def _parts_of(model: Any) -> Iterator[Any]:
    """A model and its parts that are applied to its own input."""
    yield model
    if getattr(model, "steps", None):
        yield from _parts_of(model.steps[0][1])
    for name in ("estimator", "estimator_", "best_estimator_"):
        if hasattr(model, name):
            yield from _parts_of(getattr(model, name))
    for _, part, *_ in getattr(model, "transformer_list", ()):
        yield from _parts_of(part)


def _as_specs(inputs: Any) -> dict[str, TensorSpec]:
    pairs = inputs.items() if isinstance(inputs, Mapping) else [(s.name, s) for s in inputs]
    found = {}
    for name, spec in pairs:
        if not isinstance(spec, TensorSpec) or not isinstance(name, str):
            raise InvalidArgumentError(
                f"inputs has {name!r}: {spec!r:.100}, expected a tf.TensorSpec by its name."
            )
        if spec.shape.rank not in (1, 2):
            raise InvalidArgumentError(
                f"input {name!r} has the shape {spec.shape}, expected [batch, features], a column "
                "[batch, 1], or texts [batch]."
            )
        found[name] = spec
    if not found:
        raise InvalidArgumentError("inputs is empty, expected a tf.TensorSpec for each input.")
    return {n: _spec(n, s.dtype, *s.shape.as_list()[1:]) for n, s in found.items()}


def _spec(name: str, dtype: DType, *others: int | None) -> TensorSpec:
    return TensorSpec([BATCH, *others], dtype, name=name)


def _from_data(data: Any, specs: Mapping[str, TensorSpec] | None) -> SklearnInputs:
    columns = _columns(data)
    frame = columns is not None
    arrays = {n: _array(n, a).reshape(-1, 1) for n, a in columns} if columns is not None else {}
    if columns is None:
        array = _array("data", data)
        if array.ndim not in (1, 2) or (array.ndim == 1 and array.dtype.kind != "O"):
            raise InvalidArgumentError(
                f"data has the shape {array.shape}, expected [rows, features], a data frame, or a "
                "list of texts."
            )
        names = list(specs) if specs else ["text" if array.ndim == 1 else _MATRIX]
        arrays = {names[0]: array}
    if not arrays or not len(next(iter(arrays.values()))):
        raise InvalidArgumentError("data has no rows, expected some of the training data.")
    found = {n: _spec(n, _dtype_of(n, a), *a.shape[1:]) for n, a in arrays.items()}
    if specs is not None:
        lacking = [n for n in specs if n not in found]
        if lacking:
            raise InvalidArgumentError(
                f"inputs has {lacking[0]!r}, which is no column of data; it has {', '.join(found)}."
            )
        found.update(specs)
    rows = {
        n: a if (d := found[n].dtype) is dtypes.string else a.astype(d.as_numpy_dtype)
        for n, a in arrays.items()
    }
    is_text = not frame and next(iter(arrays.values())).ndim == 1
    return SklearnInputs(found, rows, frame, is_text, given=True)


def _columns(data: Any) -> list[tuple[str, Any]] | None:
    """The columns of a data frame, or of a dict of arrays; None for others."""
    if isinstance(data, Mapping):
        return [(str(n), a) for n, a in data.items()]
    if not hasattr(data, "columns") or not hasattr(data, "dtypes"):
        return None
    names = [str(n) for n in data.columns]
    if len(set(names)) < len(names):
        raise InvalidArgumentError("data has two columns of one name, expected different ones.")
    return [(str(n), data[n].to_numpy()) for n in data.columns]


def _array(name: str, values: Any) -> Array:
    if hasattr(values, "toarray"):
        raise InvalidArgumentError(
            "data is sparse, and ONNX Runtime takes dense tensors: give data.toarray()."
        )
    array = np.asarray(values)
    if array.dtype.kind in "US":
        array = array.astype(object)
    if array.dtype.kind == "O" and not all(isinstance(v, str) for v in array.reshape(-1)):
        wrong = next(v for v in array.reshape(-1) if not isinstance(v, str))
        raise InvalidArgumentError(
            f"column {name!r} has {wrong!r:.50} of type {type(wrong).__name__} beside text, and a "
            "tensor is of one dtype: fill such cells with text, or leave these rows out of data."
        )
    return array


def _dtype_of(name: str, array: Array) -> DType:
    if array.dtype.kind == "O":
        return dtypes.string
    try:
        return dtypes.as_dtype(array.dtype)
    except TypeError as e:
        raise InvalidArgumentError(
            f"column {name!r} is of dtype {array.dtype}, which no tensor has; convert it to "
            "numbers or text."
        ) from e


def _from_specs(model: Any, specs: Mapping[str, TensorSpec]) -> SklearnInputs:
    text = len(specs) == 1 and next(iter(specs.values())).shape.rank == 1
    frame = not text and (len(specs) > 1 or takes_columns(model))
    words = known_words(model) or ["a", "b"]
    draws = np.random.default_rng(0)
    rows: dict[str, Array] = {}
    for name, spec in specs.items():
        rest = [1 if d is None else int(d) for d in spec.shape.as_list()[1:]]
        rows[name] = made_up(draws, spec.dtype, (_ROWS, *rest), words)
    full = {n: _spec(n, s.dtype, *s.shape.as_list()[1:]) for n, s in specs.items()}
    return SklearnInputs(full, rows, frame, text)


def parts_of(model: Any) -> Iterator[Any]:
    """A model and the estimators inside of it, each once."""
    waiting: list[Any] = [model]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
        elif hasattr(part, "get_params") and not isinstance(part, type):
            yield part
            waiting += vars(part).values()


def known_words(model: Any) -> list[str]:
    """Texts that a model knows: categories and vocabularies of its parts."""
    found: list[str] = []
    for part in parts_of(model):
        vocabulary = getattr(part, "vocabulary_", {})
        found += [w for w in sorted(map(str, vocabulary)) if w]
        for values in getattr(part, "categories_", ()):
            found += [v for v in values if isinstance(v, str)]
    return found
