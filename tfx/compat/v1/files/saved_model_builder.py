"""``SavedModelBuilder`` and ``loader.load``: bundles with signatures of a graph's tensors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfx.compat.v1.files.saved_models import added, part_of_graph, save_signatures
from tfx.compat.v1.graph.default_graph import building
from tfx.core.dtypes import DType
from tfx.core.namespaces import namespace
from tfx.core.shapes import TensorShape
from tfx.framework.context import using
from tfx.saved_model.load import contains_saved_model
from tfx.saved_model.load import load as load_bundle

_PREFIX = "tensorflow/serving"

signature_constants = namespace(
    "tfx.compat.v1.saved_model.signature_constants",
    CLASSIFY_INPUTS="inputs",
    CLASSIFY_METHOD_NAME=f"{_PREFIX}/classify",
    CLASSIFY_OUTPUT_CLASSES="classes",
    CLASSIFY_OUTPUT_SCORES="scores",
    DEFAULT_SERVING_SIGNATURE_DEF_KEY="serving_default",
    PREDICT_INPUTS="inputs",
    PREDICT_METHOD_NAME=f"{_PREFIX}/predict",
    PREDICT_OUTPUTS="outputs",
    REGRESS_INPUTS="inputs",
    REGRESS_METHOD_NAME=f"{_PREFIX}/regress",
    REGRESS_OUTPUTS="outputs",
)
tag_constants = namespace(
    "tfx.compat.v1.saved_model.tag_constants",
    GPU="gpu",
    SERVING="serve",
    TPU="tpu",
    TRAINING="train",
)


@dataclass(frozen=True)
class TensorInfo:
    """What a signature says of a tensor.

    Attributes:
        name: Its name in the graph.
        dtype: Its element type.
        tensor_shape: Its shape.
    """

    name: str
    dtype: DType
    tensor_shape: TensorShape


@dataclass(frozen=True)
class SignatureDef:
    """The inputs and outputs of a part of a graph.

    Attributes:
        inputs: ``TensorInfo`` by the names of the arguments.
        outputs: The same of the results.
        method_name: What kind of signature it is.
    """

    inputs: dict[str, TensorInfo] = field(default_factory=dict)
    outputs: dict[str, TensorInfo] = field(default_factory=dict)
    method_name: str = ""


def build_tensor_info(tensor: Any) -> TensorInfo:
    """What a signature says of a tensor.

    Args:
        tensor: A tensor of a graph.

    Raises:
        RuntimeError: a tensor that belongs to no graph.
    """
    if not hasattr(tensor, "_symbol"):
        raise RuntimeError(
            f"build_tensor_info takes a tensor of a graph; got {tensor!r}. Make it inside `with "
            "tf.compat.v1.Graph().as_default():`."
        )
    return TensorInfo(tensor.name, tensor.dtype, tensor.shape)


def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Any = None, import_scope: str | None = None
) -> Any:
    """The tensor that is meant.

    Args:
        tensor_info: What a signature says.
        graph: The graph; None: the default one.
        import_scope: Prefix of the name.
    """
    name = f"{import_scope}/{tensor_info.name}" if import_scope else tensor_info.name
    return (graph or building()).as_graph_element(name)


def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
    defaults: Any = None,
) -> SignatureDef:
    """A signature.

    Args:
        inputs: ``TensorInfo`` by the names of the arguments.
        outputs: The same of the results.
        method_name: What kind of signature it is.
        defaults: Must be None.

    Raises:
        ValueError: ``defaults``.
    """
    if defaults:
        raise ValueError(f"A signature has no defaults here; got {defaults!r}. Leave them out.")
    return SignatureDef(dict(inputs or {}), dict(outputs or {}), method_name or "")


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """A signature of a prediction.

    Args:
        inputs: Tensors by the names of the arguments.
        outputs: Tensors by the names of the results.

    Raises:
        ValueError: there are none.
    """
    for name, given in (("inputs", inputs), ("outputs", outputs)):
        if not given:
            raise ValueError(f"Prediction `{name}` cannot be None or empty.")
    return SignatureDef(_infos(inputs), _infos(outputs), signature_constants.PREDICT_METHOD_NAME)


def _infos(tensors: Mapping[str, Any]) -> dict[str, TensorInfo]:
    return {name: build_tensor_info(x) for name, x in tensors.items() if x is not None}


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> SignatureDef:
    """A signature of a classification of serialized examples.

    Args:
        examples: A tensor of strings.
        classes: A tensor of strings, or None.
        scores: A tensor of float32, or None.

    Raises:
        ValueError: no examples, or neither classes nor scores.
    """
    if examples is None or (classes is None and scores is None):
        raise ValueError("Classification `examples`, and `classes` or `scores`, cannot be None.")
    outputs = _infos({"classes": classes, "scores": scores})
    return SignatureDef(
        _infos({"inputs": examples}), outputs, signature_constants.CLASSIFY_METHOD_NAME
    )


def regression_signature_def(examples: Any, predictions: Any) -> SignatureDef:
    """A signature of a regression on serialized examples.

    Args:
        examples: A tensor of strings.
        predictions: A tensor of float32.

    Raises:
        ValueError: one of them is None.
    """
    if examples is None or predictions is None:
        raise ValueError("Regression `examples` and `predictions` cannot be None.")
    return SignatureDef(
        _infos({"inputs": examples}),
        _infos({"outputs": predictions}),
        signature_constants.REGRESS_METHOD_NAME,
    )


def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """Whether a signature is one that can be served.

    Args:
        signature_def: The signature.
    """
    methods = {
        getattr(signature_constants, f"{kind}_METHOD_NAME")
        for kind in ("PREDICT", "CLASSIFY", "REGRESS")
    }
    return (
        signature_def is not None
        and bool(signature_def.inputs and signature_def.outputs)
        and signature_def.method_name in methods
    )


class Builder:
    """Saves signatures of a graph, with the values of a session's variables, as a bundle.

    Args:
        export_dir: The folder, which must not exist, or be empty.

    Raises:
        AssertionError: it is not empty.

    Example:
        >>> import tempfile
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        ...     x = tf.placeholder(tf.float32, [None], name="x")
        ...     builder = tf.saved_model.Builder(folder + "/m")
        ...     signature = tf.saved_model.predict_signature_def({"x": x}, {"y": x * 3.0})
        ...     with tf.Session() as session:
        ...         builder.add_meta_graph_and_variables(
        ...             session, ["serve"], {"serving_default": signature}
        ...         )
        ...         saved = builder.save()
        ...     with tf.Graph().as_default(), tf.Session() as session:
        ...         loaded = tf.saved_model.load(session, ["serve"], folder + "/m")
        ...         part = loaded.signature_def["serving_default"]
        ...         session.run(part.outputs["y"].name, {part.inputs["x"].name: [2.0]})
        array([6.], dtype=float32)
    """

    def __init__(self, export_dir: str | os.PathLike[str]) -> None:
        self._export_dir = os.fspath(export_dir)
        self._functions: dict[str, Any] = {}
        self._added = False
        if os.path.isdir(self._export_dir) and os.listdir(self._export_dir):
            raise AssertionError(
                f"Export directory {self._export_dir} already exists, and isn't empty. Please "
                "choose a different export directory, or delete all the contents of the specified "
                "directory."
            )

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Sequence[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Take the signatures of a session's graph, with the values of its variables.

        Args:
            sess: The session.
            tags: Accepted for compatibility.
            signature_def_map: The signatures, by name.
            assets_collection: Accepted for compatibility.
            legacy_init_op: Accepted for compatibility: tables are initialized with the bundle.
            clear_devices: Accepted for compatibility.
            main_op: Accepted for compatibility; see ``legacy_init_op``.
            strip_default_attrs: Accepted for compatibility.
            saver: Accepted for compatibility.

        Raises:
            AssertionError: it was called already.
            ValueError: there are no signatures: a bundle holds nothing but these.
        """
        if self._added:
            raise AssertionError("Variables were added already: a bundle has one graph.")
        if not signature_def_map:
            raise ValueError("A bundle needs signatures: pass signature_def_map.")
        self._added = True
        for name, signature in signature_def_map.items():
            inputs = {key: info.name for key, info in signature.inputs.items()}
            outputs = {key: info.name for key, info in signature.outputs.items()}
            self._functions[name] = part_of_graph(sess, inputs, outputs, name)

    def save(
        self,
        as_text: bool = False,
        experimental_image_format: bool = False,
        experimental_image_writer_options: Any = None,
    ) -> bytes:
        """Write the bundle.

        Args:
            as_text: Accepted for compatibility.
            experimental_image_format: Accepted for compatibility.
            experimental_image_writer_options: Accepted for compatibility.

        Returns:
            The folder.

        Raises:
            AssertionError: nothing was added.
        """
        if not self._added:
            raise AssertionError("Call add_meta_graph_and_variables before save.")
        if os.path.isdir(self._export_dir):
            os.rmdir(self._export_dir)
        save_signatures(self._export_dir, self._functions)
        return os.fsencode(self._export_dir)


@dataclass(frozen=True)
class LoadedGraph:
    """What ``load`` added to a graph.

    Attributes:
        signature_def: The signatures, by name.
    """

    signature_def: dict[str, SignatureDef]


def load(
    sess: Any,
    tags: Sequence[str],
    export_dir: str | os.PathLike[str],
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> LoadedGraph:
    """Add the signatures of a bundle to a session's graph; variables have their values at once.

    Args:
        sess: The session.
        tags: Accepted for compatibility.
        export_dir: The folder.
        import_scope: Accepted for compatibility.
        **saver_kwargs: Accepted for compatibility.

    Returns:
        An object whose ``signature_def`` has the names of the tensors.

    Raises:
        NotFoundError: there is no bundle.
    """
    graph = sess.graph
    with using(graph=None, tapes=(), scope=""):
        loaded = load_bundle(os.fspath(export_dir))
    found = {}
    for name, function in loaded.signatures.items():
        inputs, outputs = added(graph, function)
        found[name] = SignatureDef(
            _infos(inputs), _infos(outputs), signature_constants.PREDICT_METHOD_NAME
        )
    graph.owned_objects.append(loaded)
    return LoadedGraph(found)


builder = namespace("tfx.compat.v1.saved_model.builder", SavedModelBuilder=Builder)
loader = namespace(
    "tfx.compat.v1.saved_model.loader",
    load=load,
    maybe_saved_model_directory=contains_saved_model,
)
utils = namespace(
    "tfx.compat.v1.saved_model.utils",
    build_tensor_info=build_tensor_info,
    get_tensor_from_tensor_info=get_tensor_from_tensor_info,
)
signature_def_utils = namespace(
    "tfx.compat.v1.saved_model.signature_def_utils",
    build_signature_def=build_signature_def,
    classification_signature_def=classification_signature_def,
    is_valid_signature=is_valid_signature,
    predict_signature_def=predict_signature_def,
    regression_signature_def=regression_signature_def,
)
