"""Keras models of any backend as modules and bundles.

Keras 3 itself runs on tfx, so nothing is converted: the model is made again on tfx, from its own
config and weights, and traced. A process has one backend of Keras; where another one is in use, the
model goes through a ``.keras`` file into a process of its own, and comes back as graphs and
weights. The answers to compare with are those of the backend in use.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle import limits
from tfx.bundle.examples import TOLERANCE
from tfx.core.errors import InvalidArgumentError, MissingFileError, UnimplementedError
from tfx.core.specs import TensorSpec
from tfx.exporters.converted import save_converted
from tfx.exporters.sources.bundle_methods import bundle_methods
from tfx.exporters.sources.keras_layers import keyed, watched
from tfx.exporters.sources.keras_programs import (
    PREFIX,
    input_specs,
    spec_as_json,
    variable_names,
    write_keras_bundle,
)
from tfx.exporters.sources.made_up_inputs import made_up
from tfx.exporters.sources.messages import one_line
from tfx.framework.module import snake_case
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import LayerValue, MethodGraph, SourceAnswer, ports_in
from tfx.importing.open_model import open_model

EXTRA = 'pip install "tfx-onnx[keras]"'
_BACKEND = "tfx"
_ROWS = 3


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    signatures: Mapping[str, str] | None = None,
    inputs: Mapping[str, TensorSpec] | None = None,
    training: bool = False,
    name: str | None = None,
    allow_pickle: bool = False,
    verify: bool = True,
    tolerance: float = TOLERANCE,
    metadata: Mapping[str, str] | None = None,
    examples: bool | Mapping[str, Any] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
) -> ConvertedModule:
    """Save a Keras model as a bundle.

    ``model.export(path, train=True)`` of a compiled model on tfx is the other way: it saves the
    optimizer and ``train_step``, too.

    Args:
        model: As ``to_module`` takes it.
        path: The folder to make. An older bundle there is replaced when everything is written.
        signatures: Methods by signature, see ``to_module``.
        inputs: Specs of inputs, for a model that declares none.
        training: Whether there is a signature that runs as in training (``train``).
        name: Name of the module.
        allow_pickle: Whether a file may have Python code in it (``Lambda`` layers).
        verify: Whether the bundle must answer as the model does; otherwise nothing is written.
        tolerance: How far answers may be away, by the largest element of each.
        metadata: Text to keep in the manifest.
        examples: Golden examples, as in ``saved_model.SaveOptions``; None: the model's own answers.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.

    Returns:
        The module that was saved.

    Raises:
        ImportError: Keras is not installed.
        MissingFileError: there is no such file.
        InvalidArgumentError: the model declares no inputs, or an answer differs; the message names
            the first layer that does.
        UnimplementedError: the model cannot be made again on tfx.
        AlreadyExistsError: the folder exists and is not a bundle.
    """
    module = to_module(
        model,
        signatures=signatures,
        inputs=inputs,
        training=training,
        name=name,
        allow_pickle=allow_pickle,
    )
    save_converted(
        module,
        path,
        verify=verify,
        tolerance=tolerance,
        metadata=metadata,
        examples=examples,
        max_shard_bytes=max_shard_bytes,
    )
    return module


def to_module(
    model: Any,
    *,
    signatures: Mapping[str, str] | None = None,
    inputs: Mapping[str, TensorSpec] | None = None,
    training: bool = False,
    name: str | None = None,
    allow_pickle: bool = False,
) -> ConvertedModule:
    """Make a module of a Keras model.

    Variables have Keras' paths as names (``"sequential/dense/kernel"``) and are trained where the
    model trains them.

    Args:
        model: A model of Keras 3, whatever its backend, or the path of a ``.keras`` file.
        signatures: Methods by signature: ``call``, and ``call_train`` with ``training``. None:
            ``call`` as ``serving_default``, ``call_train`` as ``train``.
        inputs: Specs by name in the order of the model's call, for a model that declares none.
        training: Whether there is a method that runs as in training, with dropout and so on.
        name: Name of the module; None: the model's.
        allow_pickle: Whether a file may have Python code in it (``Lambda`` layers), which runs.

    Returns:
        A ``ConvertedModule``, called with the model's inputs.

    Raises:
        ImportError: Keras is not installed.
        MissingFileError: there is no such file.
        InvalidArgumentError: the model declares no inputs.
        UnimplementedError: the model cannot be made again on tfx.
    """
    keras = _keras()
    is_file = isinstance(model, str | os.PathLike)
    if is_file:
        model = _loaded(keras, model, allow_pickle=allow_pickle)
    if not isinstance(model, keras.Model):
        raise InvalidArgumentError(
            f"model is {model!r:.100} of type {type(model).__name__}, expected a model of Keras 3 "
            "or the path of a .keras file."
        )
    specs = input_specs(model, inputs)
    backend = str(keras.backend.backend())
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "bundle")
        if backend == _BACKEND:
            layers = write_keras_bundle(model, target, specs, training=training)
        else:
            layers = _in_another_process(
                model, target, specs, training=training, safe_mode=is_file and not allow_pickle
            )
        methods, variables = bundle_methods(target, PREFIX)
    methods["call"] = _with_answer(keras, model, specs, methods["call"], layers)
    names = {"serving_default": "call"} | ({"train": "call_train"} if training else {})
    return ConvertedModule(
        methods,
        variables,
        name=name or snake_case(str(model.name)),
        signatures=names if signatures is None else signatures,
        metadata={
            "source": "keras",
            "source_version": str(keras.__version__),
            "source_class": f"{type(model).__module__}.{type(model).__qualname__}",
            "source_backend": backend,
        },
    )


def _keras() -> Any:
    """Keras with the backend in use; tfx where none is yet.

    Raises:
        ImportError: it is not installed.
    """
    if "keras" not in sys.modules:
        os.environ.setdefault("KERAS_BACKEND", _BACKEND)
    try:
        return importlib.import_module("keras")
    except ImportError as e:
        raise ImportError(f"keras is needed for models of Keras: {EXTRA}; {e}") from e


def _loaded(keras: Any, path: str | os.PathLike[str], *, allow_pickle: bool) -> Any:
    if not os.path.isfile(path):
        raise MissingFileError(f"{os.fspath(path)}: there is no such file, expected a .keras file.")
    try:
        return keras.models.load_model(path, compile=False, safe_mode=not allow_pickle)
    except (ValueError, TypeError, KeyError, OSError) as e:
        if not allow_pickle and "safe_mode" in str(e):
            raise InvalidArgumentError(
                f"{os.fspath(path)} has Python code in it (a Lambda layer), which would run: allow "
                f"it with allow_pickle=True if you trust the file ({one_line(e)})."
            ) from e
        raise InvalidArgumentError(
            f"{os.fspath(path)} cannot be read by Keras {keras.__version__}: {one_line(e)}."
        ) from e


def _in_another_process(
    model: Any, target: str, specs: Mapping[str, TensorSpec], *, training: bool, safe_mode: bool
) -> dict[str, str]:
    """Have a process with tfx as the backend write the bundle; gives what it says of layers."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.keras")
        model.save(file)
        job, layers = Path(folder, "job.json"), Path(folder, "layers.json")
        job.write_text(
            json.dumps(
                {
                    "model": file,
                    "bundle": target,
                    "layers": str(layers),
                    "inputs": {n: spec_as_json(s) for n, s in specs.items()},
                    "training": training,
                    "safe_mode": safe_mode,
                    "names": variable_names(model),
                    "modules": sorted(set(_own_modules(model))),
                }
            ),
            encoding="utf-8",
        )
        environment = {**os.environ, "KERAS_BACKEND": _BACKEND}
        environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        done = subprocess.run(
            [sys.executable, "-m", "tfx.exporters.sources.keras_programs", str(job)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
            raise UnimplementedError(
                f"{type(model).__name__} {model.name!r} cannot be made again on tfx: "
                f"{(lines or ['the process ended'])[-1].strip()[:500]}"
            )
        found: dict[str, str] = json.loads(layers.read_text(encoding="utf-8"))
    return found


def _own_modules(model: Any) -> Iterable[str]:
    """Modules of layers that are not Keras' own: importing them registers their classes."""
    for layer in [model, *model._flatten_layers()]:
        module = type(layer).__module__
        if module.split(".")[0] != "keras" and module != "__main__":
            yield module


def _with_answer(
    keras: Any,
    model: Any,
    specs: Mapping[str, TensorSpec],
    graph: MethodGraph,
    layers: Mapping[str, str],
) -> MethodGraph:
    """The graph with what the model itself answers for made up inputs."""
    draws = np.random.default_rng(0)
    given = {}
    for port, spec in zip(ports_in(graph.arguments), specs.values(), strict=True):
        shape = [_ROWS if not isinstance(d, int) else d for d in spec.shape.symbolic or ()]
        given[port.name] = made_up(draws, spec.dtype, shape)
    try:
        result = _called(keras, model, given)
    except Exception as e:  # of any backend
        reason = f"{type(model).__name__} takes none of the inputs that were made up"
        advice = "give specs with sizes that suit it as inputs="
        return replace(graph, unanswered=f"{reason} ({one_line(e)}): {advice}")
    found = [np.asarray(keras.ops.convert_to_numpy(x)) for x in keras.tree.flatten(result)]
    ports = [port.name for port in ports_in(graph.results)]
    answer = SourceAnswer(
        given,
        dict(zip(ports, found, strict=True)),
        layers=lambda: _layers(keras, model, given, graph, layers),
        is_made_up=True,
    )
    return replace(graph, answers=(answer,))


def _called(keras: Any, model: Any, given: Mapping[str, Any]) -> Any:
    tensors = [keras.ops.convert_to_tensor(a) if a.dtype != object else a for a in given.values()]
    structure = getattr(model, "_inputs_struct", None)
    if structure is not None:
        return model(keras.tree.pack_sequence_as(structure, tensors), training=False)
    return model(*tensors)


def _layers(
    keras: Any,
    model: Any,
    given: Mapping[str, Any],
    graph: MethodGraph,
    names: Mapping[str, str],
) -> Iterator[LayerValue]:
    """What the layers give, where the graph still has their values."""
    values = {
        f"{node.name}:{i}": value
        for node in open_model(graph.model).proto.graph.node
        for i, value in enumerate(node.output)
    }
    with watched(model) as seen:
        _called(keras, model, given)
    for key, item in keyed(seen).items():
        value = values.get(names.get(key, ""))
        if value is None:
            continue
        try:
            array = np.asarray(keras.ops.convert_to_numpy(item.tensor))
        except (TypeError, ValueError, RuntimeError):
            continue  # of a loop of the backend: it has no contents
        yield LayerValue(item.layer, value, array)
