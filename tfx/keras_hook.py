"""How Keras 3 finds its backend here, until its releases look for outside backends themselves.

Keras chooses a backend by a chain of ``if backend() == "tensorflow": ... elif ...`` in a few of its
modules. A finder that stands before Python's own gives each of these chains one more arm when the
module is imported; nothing of Keras is written to or replaced on disk. Must not import Keras, nor
other packages of tfx: it is in place before either is wanted, by ``import tfx``, or from the start
of Python where the environment says ``KERAS_BACKEND=tfx`` (the wheel has a file ``keras_tfx.pth``).
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # What only a process with Keras needs is imported where it is used.
    import ast

NAME: Final = "tfx"
# The first and the last minor version of Keras that the tests have run with.
TESTED: Final = ((3, 15), (3, 15))

# The backend, by name: it imports Keras and tfx, and this module neither.
_BACKEND: Final = "tfx.keras_backend"
# What the arm for tfx does in each module that chooses.
_ARMS: Final = {
    "keras.src.backend": (
        f"from {_BACKEND} import *",
        f"from {_BACKEND}.variable import Variable as BackendVariable",
    ),
    "keras.src.layers.layer": (f"from {_BACKEND}.layer import BackendLayer",),
    "keras.src.models.model": (f"from {_BACKEND}.trainer import Trainer",),
    "keras.src.export.saved_model": (
        f"from {_BACKEND}.export import SavedModelExportArchive as BackendSavedModelExportArchive",
    ),
    "keras.src.optimizers.optimizer": (f"from {_BACKEND}.optimizer import BackendOptimizer",),
}
_CHOICE: Final = "backend() == 'tensorflow'"


class _Loader(SourceFileLoader):
    """Loads a module of Keras, whose chain of backends has an arm for tfx."""

    def get_code(self, fullname: str) -> CodeType | None:
        if fullname not in _ARMS:
            return super().get_code(fullname)
        import ast

        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path), path)
        for place, statement in enumerate(tree.body):
            if isinstance(statement, ast.If) and _CHOICE in ast.unparse(statement.test):
                tree.body[place] = _with_arm(statement, _ARMS[fullname])
                break
        else:
            if fullname == "keras.src.backend" or "keras_tfx" in sys.modules:
                return super().get_code(fullname)  # it looks for outside backends itself
            raise ImportError(
                f"{fullname} does not choose a backend in a way that tfx knows; this version of "
                f"Keras cannot run on tfx (tested: {tested_versions()})."
            )
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        finish = _FINISHES.get(module.__name__)
        if finish is not None:
            finish(module)


def _with_arm(chain: ast.If, arm: Sequence[str]) -> ast.If:
    """The chain of choices with one more in front."""
    import ast

    source = ast.unparse(chain.test).replace("tensorflow", NAME)
    made = ast.parse(f"if {source}:\n    " + "\n    ".join(arm)).body[0]
    assert isinstance(made, ast.If)
    made.orelse = [chain]
    for node in ast.walk(made.test):
        ast.copy_location(node, chain.test)
    for node in made.body:
        ast.copy_location(node, chain)
    return ast.copy_location(made, chain)


class _Finder:
    """Finds the modules of Keras that choose a backend, while the backend is tfx."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("keras.src.") or not (
            fullname in _ARMS or fullname in _FINISHES
        ):
            return None
        # The package is imported before its module `config`, which knows what is configured.
        if fullname != "keras.src.backend" and _configured() != NAME:
            return None
        if fullname == "keras.src.backend":
            _choose()
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return spec
        spec.loader = _Loader(fullname, spec.loader.path)
        return spec


def _configured() -> Any:
    """The backend that Keras is configured with, by its own account; None before it knows."""
    config = sys.modules.get("keras.src.backend.config")
    return None if config is None else config.backend()


def install() -> None:
    """Make ``import keras`` find tfx where the configuration names it; once."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def import_keras() -> ModuleType:
    """Import Keras with the backend tfx.

    Returns:
        The package ``keras``.

    Raises:
        ImportError: Keras is not installed, or runs on another backend in this process.
    """
    install()
    if "keras.src.backend.config" not in sys.modules:
        os.environ["KERAS_BACKEND"] = NAME
    try:
        keras = importlib.import_module("keras")
    except ModuleNotFoundError as e:
        if e.name != "keras":
            raise
        raise ImportError(
            "tfx.keras needs Keras 3, which is not installed: pip install 'tfx-onnx[keras]'."
        ) from None
    if _configured() != NAME:
        raise ImportError(
            f"Keras was imported with the backend {_configured()!r}. Import tfx.keras before "
            f"keras, or set KERAS_BACKEND={NAME} in the environment."
        )
    return keras


def face_for_tensorflow() -> ModuleType:
    """Import Keras with the backend tfx, as what TensorFlow calls ``tf.keras``.

    That is a package of its own in Keras: the same objects, with names that older programs use
    besides. It lacks a few names of ``keras``, which are added.

    Raises:
        ImportError: as of ``import_keras``.
    """
    keras = import_keras()
    face = importlib.import_module("keras._tf_keras.keras")
    for module, own in ((face, keras), (face.losses, keras.losses), (face.metrics, keras.metrics)):
        for name, value in vars(own).items():
            if not name.startswith("_"):
                vars(module).setdefault(name, value)
    return face


def _check_version(version: str) -> None:
    """Warn about a version of Keras that nobody has tried."""
    import re
    import warnings

    minor = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if not TESTED[0] <= minor <= TESTED[1]:
        warnings.warn(
            f"Keras {version} is another version than those that tfx was tested with "
            f"({tested_versions()}); should something fail, install one of them.",
            stacklevel=2,
        )


def tested_versions() -> str:
    """The range of versions of Keras that were tested, for messages."""
    low, high = (".".join(map(str, v)) for v in TESTED)
    return low if low == high else f"{low} to {high}"


def _choose() -> None:
    """Choose tfx where nobody chose another backend, and what Keras takes then is not there."""
    if os.environ.get("KERAS_BACKEND") or _has_tensorflow():
        return
    if _written_down() in (None, "tensorflow"):
        os.environ["KERAS_BACKEND"] = NAME


def _written_down() -> Any:
    """The backend in Keras' file of settings, if it has one that can be read."""
    import json

    folder = os.environ.get("KERAS_HOME") or os.path.expanduser("~/.keras")
    try:
        with open(os.path.join(folder, "keras.json"), encoding="utf-8") as file:
            return json.load(file).get("backend")
    except (OSError, ValueError, AttributeError):
        return None


def _has_tensorflow() -> bool:
    """True where TensorFlow can be imported, and its name does not stand for tfx."""
    from importlib.util import find_spec

    if "tensorflow" in sys.modules:
        return sys.modules["tensorflow"] is not sys.modules["tfx"]
    return find_spec("tensorflow") is not None


def _finish_backend(module: ModuleType) -> None:
    """Warn about a version of Keras that nobody has tried; name tfx's functions as TensorFlow's."""
    if _configured() == NAME:
        _check_version(importlib.import_module("keras.src.version").__version__)
        # Some layers name the one backend that has text.
        module.__dict__["tensorflow"] = importlib.import_module(_BACKEND)


def _let_models_export(module: ModuleType) -> None:
    """Give ``keras.Model.export`` the formats of tfx."""
    importlib.import_module(f"{_BACKEND}.export").install(module.Model)


def _stand_in_for_tensorflow(module: ModuleType) -> None:
    """Let layers and data sets that Keras wrote with TensorFlow's names find them in tfx."""
    module.__dict__["tensorflow"] = module.LazyModule(f"{_BACKEND}.text", pip_name="tfx-onnx")
    module.__dict__["gfile"] = module.LazyModule("tfx.io.gfile", pip_name="tfx-onnx")


def _serve_older_programs(module: ModuleType) -> None:
    """Let the functions of ``tf.keras.backend``, which Keras wrote with TensorFlow, run on tfx."""
    module.__dict__["tf"] = type(module.tf)(f"{_BACKEND}.legacy", pip_name="tfx-onnx")


class _AsTensorFlow:
    """The backend for modules of Keras that serve one backend, which they know by its name."""

    def __init__(self, backend: ModuleType) -> None:
        self._backend = backend

    def backend(self) -> str:
        return "tensorflow"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


def _serve_as_tensorflow(module: ModuleType) -> None:
    """Let a module do for tfx what it does for TensorFlow alone."""
    module.__dict__["backend"] = _AsTensorFlow(module.backend)


def _call_with_tensors(module: ModuleType) -> None:
    """Give a function that prepares texts tensors, as with TensorFlow; arrays if it wants those.

    And let the layer give ragged and sparse tensors.
    """
    layer: Any = module.TextVectorization
    begin, with_arrays = layer.__init__, layer._apply_standardize_with_np_arrays

    def begin_ragged(
        self: Any, *args: Any, ragged: bool = False, sparse: bool = False, **options: Any
    ) -> None:
        begin(self, *args, **options)
        for name, wanted, fits in (
            ("ragged", ragged, self._output_mode == "int"),
            ("sparse", sparse, self._output_mode != "int"),
        ):
            if wanted and not fits:
                only = "not `'int'`" if name == "ragged" else "`'int'`"
                raise ValueError(
                    f"`{name}` must not be true if `output_mode` is {only}. Received: "
                    f"{name}={wanted} and output_mode={self._output_mode}"
                )
        self._ragged, self._lookup_layer.sparse = ragged, sparse

    def apply(self: Any, texts: Any) -> Any:
        given = module.tf_utils.ensure_tensor(texts, dtype="string")
        try:
            return self._standardize(given)
        except (AttributeError, TypeError):
            if not sys.modules["tfx"].executing_eagerly():
                raise
        return with_arrays(self, texts)

    named: Any = functools.wraps(begin)(begin_ragged)
    named.__signature__ = importlib.import_module("inspect").signature(begin)  # Keras keeps names
    layer.__init__ = named
    layer._apply_standardize_with_np_arrays = apply


def _write_summaries(module: ModuleType) -> None:
    """Let the callback ``TensorBoard`` write its event files by ``tfx.summary``."""
    ours = importlib.import_module(f"{_BACKEND}.tensorboard")
    _serve_as_tensorflow(module)
    module.__dict__["keras_model_summary"] = ours.write_model
    callback: Any = module.TensorBoard
    callback.summary = property(lambda self: sys.modules["tfx"].summary)
    callback._write_keras_model_train_graph = ours.write_train_graph


def _write_onnx(module: ModuleType) -> None:
    """Let ``keras.src.export.onnx`` write the graphs of tfx, without a converter."""
    module.__dict__["export_onnx"] = importlib.import_module(f"{_BACKEND}.export").export_onnx


def _load_bundles(module: ModuleType) -> None:
    """Let ``keras.models.load_model`` take the folders that ``model.export`` writes."""
    original = module.load_model

    @functools.wraps(original)
    def load_model(filepath: Any, *args: Any, **options: Any) -> Any:
        tfx: Any = sys.modules["tfx"]
        if os.path.isdir(filepath) and tfx.saved_model.contains_saved_model(filepath):
            ours = importlib.import_module(f"{_BACKEND}.bundle_model")
            return ours.load_model(filepath, *args, **options)
        return original(filepath, *args, **options)

    module.__dict__["load_model"] = load_model


def _know_datasets(module: ModuleType) -> None:
    """Let Keras' tools for data sets take those of tfx."""

    def called_later(name: str) -> Any:
        def call(dataset: Any) -> Any:
            return getattr(importlib.import_module(f"{_BACKEND}.dataset_adapter"), name)(dataset)

        return call

    for name in ("is_tf_dataset", "is_batched", "get_batch_size"):
        module.__dict__[name] = called_later(name)


def _take_datasets(module: ModuleType) -> None:
    """Let Keras' choice of a reader of data know the datasets of tfx."""
    is_other = module.is_tf_dataset
    other: Any = module.TFDatasetAdapter

    def is_ours(x: Any) -> bool:
        tfx: Any = sys.modules["tfx"]
        return "tfx.data" in sys.modules and isinstance(x, tfx.data.Dataset)

    def adapter(x: Any, class_weight: Any = None, distribution: Any = None) -> Any:
        if not is_ours(x):
            return other(x, class_weight=class_weight, distribution=distribution)
        ours = importlib.import_module(f"{_BACKEND}.dataset_adapter").DatasetAdapter
        return ours(x, class_weight)

    module.__dict__["is_tf_dataset"] = lambda x: is_ours(x) or is_other(x)
    module.__dict__["TFDatasetAdapter"] = adapter


def _know_composite_tensors(module: ModuleType) -> None:
    """Let Keras' tools for arrays take ragged and sparse tensors, known by TensorFlow's classes."""
    is_ragged = importlib.import_module("tfx.framework.composite.ragged").is_ragged
    is_sparse = importlib.import_module("tfx.framework.composite.sparse").is_sparse

    def also(name: str, *kinds: Any) -> None:
        original = getattr(module, name)
        module.__dict__[name] = lambda x: any(kind(x) for kind in kinds) or original(x)

    also("is_tensorflow_tensor", is_ragged, is_sparse)
    also("is_tensorflow_ragged", is_ragged)
    also("is_tensorflow_sparse", is_sparse)


def _slice_with_tfx(module: ModuleType) -> None:
    """Let slices of ragged and sparse tensors be made by tfx, not by TensorFlow's backend."""

    def called_later(place: str, name: str) -> Any:
        def call(x: Any, *args: Any) -> Any:
            return getattr(importlib.import_module(place), name)(x, *args)

        return call

    for name in ("cast", "convert_to_numpy"):
        setattr(module.TensorflowSliceable, name, staticmethod(called_later(_BACKEND, name)))
    by_rows = called_later(f"{_BACKEND}.dataset_adapter", "by_rows")
    module.__dict__["to_tensorflow_sparse_wrapper"] = by_rows


def _let_backends_switch(module: ModuleType) -> None:
    """Let ``DynamicBackend`` switch to tfx, which is what Keras calls TensorFlow in a graph."""
    tfx: Any = sys.modules["tfx"]

    def in_another_graph() -> bool:
        other: Any = sys.modules.get("tensorflow", tfx)
        return other is not tfx and not other.executing_eagerly()

    module.__dict__["in_tf_graph"] = lambda: not tfx.executing_eagerly() or in_another_graph()
    dynamic: Any = module.DynamicBackend
    set_backend, get = dynamic.set_backend, dynamic.__getattr__

    def set_any(self: Any, backend: str) -> None:
        if backend == NAME or (backend == "tensorflow" and not in_another_graph()):
            self._backend = NAME
        else:
            set_backend(self, backend)

    def get_any(self: Any, name: str) -> Any:
        if self._backend == NAME:
            return getattr(importlib.import_module(_BACKEND), name)
        return get(self, name)

    dynamic.set_backend, dynamic.__getattr__ = set_any, get_any


def _keep_64_bits(module: ModuleType) -> None:
    """Let float64 and int64 stay what they are, as they do with TensorFlow's backend.

    And ``int`` and ``complex`` mean what they mean there: an optimizer counts its steps in int64.
    """
    module.BIT64_TO_BIT32_DTYPE.update(int64="int64", float64="float64")
    module.PYTHON_DTYPES_MAP.update({int: "int64", "int": "int64", complex: "complex128"})


def _given(name: str, value: Any) -> Any:
    """What Keras makes of an optimizer or a schedule, which may be one of tfx."""
    if "tfx.optimizers" not in sys.modules:
        return value
    return getattr(importlib.import_module(f"{_BACKEND}.given_optimizers"), name)(value)


def _take_optimizers(module: ModuleType) -> None:
    """Let ``keras.optimizers.get``, and so ``model.compile``, take optimizers of tfx."""
    original = module.get

    @functools.wraps(original)
    def get(identifier: Any) -> Any:
        return original(_given("keras_optimizer", identifier))

    module.__dict__["get"] = get


def _take_schedules(module: ModuleType) -> None:
    """Let Keras' optimizers take learning rates that are schedules of tfx."""
    base: Any = module.BaseOptimizer
    begin, rate = base.__init__, base.learning_rate

    @functools.wraps(begin)
    def init(self: Any, learning_rate: Any, *args: Any, **options: Any) -> None:
        begin(self, _given("keras_schedule", learning_rate), *args, **options)

    def set_rate(self: Any, learning_rate: Any) -> None:
        rate.fset(self, _given("keras_schedule", learning_rate))

    base.__init__, base.learning_rate = init, rate.setter(set_rate)


# What is left to do when a module was executed.
_FINISHES: Final = {
    "keras.src.backend": _finish_backend,
    "keras.src.backend.common.dtypes": _keep_64_bits,
    "keras.src.models.model": _let_models_export,
    "keras.src.layers.preprocessing.text_vectorization": _call_with_tensors,
    "keras.src.legacy.backend": _serve_older_programs,
    "keras.src.optimizers": _take_optimizers,
    "keras.src.optimizers.base_optimizer": _take_schedules,
    "keras.src.callbacks.tensorboard": _write_summaries,
    "keras.src.export.tfsm_layer": _serve_as_tensorflow,
    "keras.src.layers.preprocessing.hashed_crossing": _serve_as_tensorflow,
    "keras.src.layers.preprocessing.integer_lookup": _serve_as_tensorflow,
    "keras.src.layers.preprocessing.string_lookup": _serve_as_tensorflow,
    "keras.src.export.onnx": _write_onnx,
    "keras.src.saving.saving_api": _load_bundles,
    "keras.src.utils.dataset_utils": _know_datasets,
    "keras.src.utils.module_utils": _stand_in_for_tensorflow,
    "keras.src.trainers.data_adapters": _take_datasets,
    "keras.src.trainers.data_adapters.array_slicing": _slice_with_tfx,
    "keras.src.trainers.data_adapters.data_adapter_utils": _know_composite_tensors,
    "keras.src.utils.backend_utils": _let_backends_switch,
}
