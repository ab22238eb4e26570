"""``save``: an object with its variables and traced functions as a bundle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tfx.bundle import limits
from tfx.bundle.atomic_folder import AtomicDirectory
from tfx.core.errors import InvalidArgumentError
from tfx.exporters.examples import add_examples, given_examples
from tfx.exporters.snapshot import SaveSnapshot
from tfx.exporters.write_files import write_bundle
from tfx.framework.context import current


@dataclass(frozen=True, slots=True)
class SaveOptions:
    """Options of ``save``.

    Attributes:
        namespace_whitelist: Accepted for compatibility: bundles hold standard operators only.
        save_debug_info: Keep with each node the line of the program that made it (the name of the
            file without its folder), for the messages of errors in loaded functions.
        function_aliases: Accepted for compatibility.
        experimental_io_device: Accepted for compatibility.
        experimental_variable_policy: Accepted for compatibility.
        experimental_debug_stripper: Accepted for compatibility: lines of programs are kept only for
            ``save_debug_info``.
        experimental_image_format: Accepted for compatibility.
        experimental_skip_saver: Accepted for compatibility.
        experimental_sharding_callback: Accepted for compatibility; see ``max_shard_bytes``.
        extra_tags: Accepted for compatibility: a bundle is one model.
        experimental_custom_gradients: Save the gradients of ``custom_gradient`` with the functions.
            Without them what is loaded cannot be differentiated there.
        metadata: Text to keep in the manifest.
        max_shard_bytes: Most bytes of variables in one file, unless a single variable is larger.
        examples: Golden examples, which ``tfx verify`` replays: calls of signatures with what the
            bundle gave for them. A dict has them by signature: inputs by name, ``(inputs,
            outputs)`` where the outputs are to be compared now, or a list of examples, in which a
            list is one of several calls in a row (for signatures that update variables). None
            makes small ones up where that costs little, True in any case, False keeps none.
    """

    namespace_whitelist: Any = None
    save_debug_info: bool = False
    function_aliases: Any = None
    experimental_io_device: Any = None
    experimental_variable_policy: Any = None
    experimental_debug_stripper: bool = False
    experimental_custom_gradients: bool = True
    experimental_image_format: bool = False
    experimental_skip_saver: bool = False
    experimental_sharding_callback: Any = None
    extra_tags: Any = None
    metadata: Mapping[str, str] | None = None
    max_shard_bytes: int = limits.MAX_SHARD_BYTES
    examples: bool | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Check the options of our own.

        Raises:
            InvalidArgumentError: ``max_shard_bytes`` is not positive, or ``metadata`` is not text.
        """
        if self.max_shard_bytes <= 0:
            raise InvalidArgumentError(
                f"max_shard_bytes is {self.max_shard_bytes}, expected a positive number of bytes."
            )
        for key, text in (self.metadata or {}).items():
            if not isinstance(key, str) or not isinstance(text, str):
                raise InvalidArgumentError(
                    f"metadata has {key!r}: {text!r}, expected text for both."
                )
        if self.examples is not None and not isinstance(self.examples, bool):
            given_examples(self.examples)


def save(
    obj: Any,
    export_dir: str | os.PathLike[str],
    signatures: Any = None,
    options: SaveOptions | None = None,
) -> None:
    """Save an object as a bundle: a folder of ONNX models over one file of variables.

    What is saved: variables, traced functions with all their traces, nested objects, lists and
    dicts, tensors, assets, and attributes that are plain data. The folder appears at once when
    everything is written; an older bundle there is replaced only then, and programs that have it
    loaded go on with what they loaded.

    Args:
        obj: A ``Module`` or any object whose attributes hold the state, or a ``tf.function``.
        export_dir: The folder.
        signatures: A function, or a dict of functions by name: the named entry points. A function
            needs an ``input_signature`` or exactly one trace; or give
            ``f.get_concrete_function(...)``. None: a loaded object keeps its own; otherwise the
            only function among the object's attributes that has an ``input_signature`` (or is a
            concrete function) and writes no state, if there is one, becomes ``serving_default``.
        options: See ``SaveOptions``.

    Raises:
        ValueError: a signature does not follow from its function, the object has no attributes, or
            saving inside a traced function.
        AlreadyExistsError: the folder exists and is not a bundle.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> class Doubler(tf.Module):
        ...     @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        ...     def __call__(self, x):
        ...         return 2.0 * x
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     tf.saved_model.save(Doubler(), parent + "/doubler")
        ...     sorted(os.listdir(parent + "/doubler"))
        ['bundle.pb', 'examples.safetensors', 'serving_default.onnx']
    """
    if current().graph is not None:
        raise ValueError(
            "saved_model.save cannot be called while a function is traced: call it from eager code."
        )
    options = options or SaveOptions()
    gathered = SaveSnapshot(obj, signatures, custom_gradients=options.experimental_custom_gradients)
    with AtomicDirectory(export_dir) as folder:
        write_bundle(
            folder,
            gathered,
            metadata=options.metadata or {},
            max_shard_bytes=options.max_shard_bytes,
            sources=options.save_debug_info,
        )
        add_examples(folder, options.examples)
