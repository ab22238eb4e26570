"""``keras.export``: bundles of Keras models, which also train where tfx and Python are not.

``model.export(path)`` writes a bundle with the signature ``serve``; with ``train=True`` it has
``train_step``, too, with the optimizer, the metrics and the state of random layers inside.
"""

from __future__ import annotations

import functools
import importlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.utils import io_utils

import tfx as tf
from tfx.keras_backend.bundle_model import ARCHIVE, write_archive
from tfx.keras_backend.core import compute_output_spec
from tfx.lookup_ops.static_tables import StaticTable

# The formats of `model.export` that are written here; the others are Keras' own.
BUNDLES = ("tfx", "tf_saved_model")


class SavedModelExportArchive:
    """Collects functions of layers and models, and writes them as the signatures of a bundle."""

    def __init__(self) -> None:
        self._root = tf.Module(name="archive")
        self._endpoints: dict[str, Any] = {}
        self._tracked: list[Any] = []
        self._name = ""

    @property
    def variables(self) -> list[Any]:
        """The variables of what is tracked."""
        return [v for resource in self._tracked for v in getattr(resource, "variables", ())]

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of ``variables`` that are trainable."""
        return [v for v in self.variables if v.trainable]

    @property
    def non_trainable_variables(self) -> list[Any]:
        """Those of ``variables`` that are not trainable."""
        return [v for v in self.variables if not v.trainable]

    def track(self, resource: Any) -> None:
        """Keep a layer, a model, a module or a table of tfx, with its variables, in the archive.

        Raises:
            ValueError: a layer that is not built, or something without variables.
        """
        if getattr(resource, "built", True) is False:
            raise ValueError(
                "The layer provided has not yet been built. It must be built before export."
            )
        kinds = (tf.Module, StaticTable)
        if not hasattr(resource, "_trackable_children") and not isinstance(resource, kinds):
            raise ValueError(
                "Invalid resource type. Expected a Keras `Layer` or `Model` or a tfx `Module`. "
                f"Received object {resource} of type '{type(resource)}'."
            )
        self._tracked.append(resource)
        name = str(getattr(resource, "name", "resource"))
        if name in vars(self._root):
            name = f"{name}_{len(self._tracked)}"
        setattr(self._root, name, resource)
        self._name = name

    def add_model(self, model: Any, folder: str) -> None:
        """Track a model, and keep what makes it again when ``load_model`` gets the bundle.

        Args:
            model: The model.
            folder: For a file that must be there until the bundle is written.
        """
        self.track(model)
        archive = write_archive(model, self._name, folder)
        if archive is not None:
            setattr(self._root, ARCHIVE, tf.saved_model.Asset(archive))

    def add_endpoint(
        self, name: str, fn: Callable[..., Any], input_signature: Any = None, **kwargs: Any
    ) -> Any:
        """Add a function as a signature.

        Args:
            name: Name of the signature.
            fn: A function; a ``tf.function`` that was called needs no ``input_signature``.
            input_signature: A structure of specs for each argument.
            kwargs: None; other backends have some.

        Returns:
            The ``tf.function`` that was added.

        Raises:
            ValueError: the name is taken, an unknown option, or no shapes and dtypes are known.
        """
        if name in self._endpoints:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        if kwargs:
            raise ValueError(
                f"{sorted(kwargs)} are only supported with the jax backend. Current backend: tfx"
            )
        made: Any
        if input_signature is not None:
            signature = tree.map_structure(tensor_spec, input_signature)
            made = tf.function(fn, input_signature=signature)
        elif hasattr(fn, "get_concrete_function"):
            made = fn
            if made.input_signature is None and not made.experimental_get_tracing_count():
                raise ValueError(
                    f"The function {fn} was never called. To specify the expected shape and dtype "
                    "of the function's arguments, you must either provide a function that has been "
                    "called at least once, or pass an `input_signature` argument."
                )
        else:
            raise ValueError(
                "If the `fn` argument provided is not a `tf.function`, you must provide an "
                "`input_signature` argument to specify the shape and dtype of the function "
                "arguments."
            )
        self._endpoints[name] = made
        return made

    def track_and_add_endpoint(
        self, name: str, resource: Any, input_signature: Any, **kwargs: Any
    ) -> Any:
        """Track a layer or model, and add its call as a signature."""
        self.track(resource)
        return self.add_endpoint(name, resource.__call__, input_signature, **kwargs)

    def add_variable_collection(self, name: str, variables: Any) -> None:
        """Keep variables under a name, as a list that the loaded bundle has.

        Raises:
            ValueError: something else than variables.
        """
        if not isinstance(variables, list | tuple | set):
            raise ValueError(
                "Expected `variables` to be a list/tuple/set. "
                f"Received instead object of type '{type(variables)}'."
            )
        if not all(isinstance(v, KerasVariable | tf.Variable) for v in variables):
            raise ValueError(
                "Expected all elements in `variables` to be `tf.Variable` instances. Found instead "
                f"the following types: {sorted({type(v).__name__ for v in variables})}"
            )
        kept = [v.__tf_variable__() if isinstance(v, KerasVariable) else v for v in variables]
        setattr(self._root, name, kept)

    def write_out(self, filepath: Any, options: Any = None, verbose: bool = True) -> None:
        """Write the bundle.

        Args:
            filepath: The folder to write.
            options: ``tf.saved_model.SaveOptions``.
            verbose: Print what the bundle has.

        Raises:
            ValueError: no signature was added.
        """
        if not self._endpoints:
            raise ValueError("No endpoints have been set yet. Call add_endpoint().")
        for name, function in self._endpoints.items():
            setattr(self._root, name, function)
        tf.saved_model.save(
            self._root, str(filepath), signatures=_with_default(self._endpoints), options=options
        )
        if verbose:
            io_utils.print_msg(
                f"Saved artifact at '{filepath}'. The following endpoints are available: "
                f"{', '.join(self._endpoints)}"
            )


def _with_default(endpoints: dict[str, Any]) -> dict[str, Any]:
    """The signatures, the first of which has the name that servers look for, too."""
    first = next(iter(endpoints.values()))
    return {**endpoints, "serving_default": endpoints.get("serving_default", first)}


def serving_signatures(model: Any) -> dict[str, Any]:
    """The forward pass of a model that is built, as a signature."""
    specs = tree.map_structure(tensor_spec, _input_signature(model))
    return _with_default({"serve": tf.function(_forward_pass(model), input_signature=specs)})


def tensor_spec(spec: Any) -> Any:
    """A ``tf.TensorSpec`` of an ``InputSpec``, a ``KerasTensor``, a tensor or a spec.

    A ``tf.SparseTensorSpec`` stays what it is; of anything else that is sparse the signature takes
    the dense tensor, as with TensorFlow's backend.
    """
    if isinstance(spec, tf.TensorSpec | tf.SparseTensorSpec):
        return spec
    if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
        raise TypeError(f"Unsupported x={spec} of type ({type(spec)})")
    if spec.shape is None or spec.dtype is None:
        raise ValueError(f"The `shape` and `dtype` must be provided. Received: x={spec}")
    shape = tuple(spec.shape)
    return tf.TensorSpec(shape, standardize_dtype(spec.dtype), name=getattr(spec, "name", None))


def export_model(
    original: Callable[..., Any],
    model: Any,
    filepath: Any,
    format: str,
    *,
    verbose: bool | None = None,
    input_signature: Any = None,
    train: Any = False,
    **kwargs: Any,
) -> Any:
    """``Model.export`` with the formats of tfx.

    Args:
        original: Keras' own method, for other formats.
        model: The model.
        filepath: The folder, or the ``.onnx`` file, to write.
        format: ``"tfx"`` or ``"tf_saved_model"``: a bundle; ``"onnx"``: one file of the forward
            pass with its weights; others are Keras'.
        verbose: Print what was written.
        input_signature: The specs of the inputs; None: those that the model was built with.
        train: True: write ``train_step`` into the bundle, too; specs ``(x, y)`` or
            ``(x, y, sample_weight)`` say what it takes.
        kwargs: Options of the format.
    """
    if format not in (*BUNDLES, "onnx"):
        return original(
            model,
            filepath,
            format=format,
            verbose=verbose,
            input_signature=input_signature,
            **kwargs,
        )
    signature = input_signature if input_signature is not None else _input_signature(model)
    if format == "onnx":
        return _write_onnx(model, filepath, signature, verbose, **kwargs)
    if kwargs:
        raise ValueError(f"Unknown options of format {format!r}: {sorted(kwargs)}.")
    with tempfile.TemporaryDirectory() as folder:
        bundle = _bundle(model, signature, train, folder)
        bundle.write_out(filepath, verbose=verbose is None or verbose)
    return None


def _input_signature(model: Any) -> Any:
    # That module imports the models, which import this one.
    return importlib.import_module("keras.src.export.export_utils").get_input_signature(model)


def _bundle(model: Any, signature: Any, train: Any, folder: str) -> SavedModelExportArchive:
    archive = SavedModelExportArchive()
    archive.add_model(model, folder)
    archive.add_endpoint("serve", _forward_pass(model), signature)
    if train is not False:
        if not model.compiled:
            raise ValueError("Call model.compile(...) before model.export(..., train=True).")
        archive.add_endpoint("train_step", *_train_step(model, signature, train))
    return archive


def _forward_pass(model: Any) -> Callable[..., Any]:
    """The call of a model as it is used after training."""

    def serve(*inputs: Any) -> Any:
        if model._call_has_training_arg:
            return model(*inputs, training=False)
        return model(*inputs)

    return serve


def _train_step(model: Any, signature: Any, train: Any) -> tuple[Callable[..., Any], Any]:
    """The step of ``fit``, and the specs of its arguments.

    They are those given, those of the last ``fit``, or what the inputs and the losses suggest.
    """
    specs = train
    if train is True:
        used = getattr(model.train_function, "specs", None)
        specs = used or _suggested(model, signature)
    specs = [spec for spec in specs if spec is not None]

    def train_step(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        data = (x, y) if sample_weight is None else (x, y, sample_weight)
        return model.train_step(data)

    return train_step, specs


def _suggested(model: Any, signature: Any) -> tuple[Any, Any]:
    x = tree.map_structure(tensor_spec, signature[0] if len(signature) == 1 else tuple(signature))
    inputs = tree.map_structure(lambda s: KerasTensor(tuple(s.shape), s.dtype.name), x)
    outputs = compute_output_spec(_forward_pass(model), inputs)
    kinds = str(model._compile_config.config.get("loss"))
    sparse = "sparse_categorical" in kinds or "SparseCategorical" in kinds

    def target(output: Any) -> Any:
        if sparse:
            return tf.TensorSpec(tuple(output.shape[:-1]), tf.int32)
        return tf.TensorSpec(tuple(output.shape), output.dtype)

    return x, tree.map_structure(target, outputs)


def _write_onnx(
    model: Any,
    filepath: Any,
    signature: Any,
    verbose: bool | None,
    opset_version: int | None = None,
    **options: Any,
) -> None:
    if options:
        raise ValueError(
            "format='onnx' has the option opset_version alone with the tfx backend; got "
            f"{sorted(options)}."
        )
    target = Path(filepath)
    with tempfile.TemporaryDirectory() as folder:
        bundle = f"{folder}/bundle"
        _bundle(model, signature, False, folder).write_out(bundle, verbose=False)
        if opset_version is not None:
            tf.exporters.convert(bundle, f"{folder}/converted", opset=opset_version)
            bundle = f"{folder}/converted"
        (files,) = tf.exporters.freeze(bundle, folder, ["serve"]).values()
        for file in files:  # weights beyond what a model holds are in a file beside it
            name = target.name if file.suffix == ".onnx" else file.name
            shutil.move(file, target.with_name(name))
    if verbose is None or verbose:
        io_utils.print_msg(f"Saved artifact at '{filepath}'.")


def export_onnx(
    model: Any,
    filepath: Any,
    verbose: bool | None = None,
    input_signature: Any = None,
    opset_version: int | None = None,
    **kwargs: Any,
) -> None:
    """Keras' function of that name: one file of the forward pass with its weights.

    Args:
        model: A model that was called.
        filepath: The file to write.
        verbose: Print what was written.
        input_signature: The specs of the inputs; None: those that the model was built with.
        opset_version: Version of the standard operators; None: the lowest that has them all.
        kwargs: None.

    Raises:
        ValueError: the model was never called, or an unknown option.
    """
    if input_signature is None:
        input_signature = _input_signature(model)
        if not input_signature or not model._called:
            raise ValueError("The model provided has never called. ")
    _write_onnx(model, filepath, input_signature, verbose, opset_version, **kwargs)


def install(model_class: Any) -> None:
    """Give ``keras.Model.export`` the formats of tfx."""
    original = model_class.export

    @functools.wraps(original)
    def export(self: Any, filepath: Any, format: str = "tfx", **kwargs: Any) -> Any:
        return export_model(original, self, filepath, format, **kwargs)

    model_class.export = export
