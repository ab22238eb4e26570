"""Models of JAX as modules and bundles: functions, flax (linen and nnx), equinox.

Stands on jax2onnx. What is ours: parameters as variables under their paths in the tree, several
methods over one set of them, batch statistics as state, structures, names of dimensions, and the
source's own answers to compare with.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfx.bundle import limits
from tfx.bundle.examples import TOLERANCE
from tfx.exporters.converted import save_converted
from tfx.exporters.example_calls import ExampleCall, resolve_calls
from tfx.exporters.sources.jax_graphs import method_graph
from tfx.exporters.sources.jax_models import jax_model, require_jax
from tfx.framework.module import snake_case
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import MethodGraph, SourceVariable


def export(
    model: Any,
    path: str | os.PathLike[str],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    variables: Any = None,
    signatures: Any = None,
    dynamic: Mapping[str, Any] | None = None,
    training: bool = False,
    name: str | None = None,
    verify: bool = True,
    tolerance: float = TOLERANCE,
    metadata: Mapping[str, str] | None = None,
    examples: bool | Mapping[str, Any] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
) -> ConvertedModule:
    """Save a model of JAX as a bundle.

    Args:
        model: As ``to_module`` takes it.
        path: The folder to make. An older bundle there is replaced when everything is written.
        args: Example arguments by position: a tuple, or a single array.
        kwargs: Example arguments by name.
        variables: Parameters, see ``to_module``.
        signatures: Methods by signature, see ``to_module``.
        dynamic: Dimensions whose size calls may choose, with their names.
        training: Whether each signature gets a twin that runs as in training (``train``).
        name: Name of the module.
        verify: Whether every method must answer as JAX does; a difference is an error that names
            the first layer that differs, and nothing is written.
        tolerance: How far answers may be away, by the largest element of each.
        metadata: Text to keep in the manifest.
        examples: Golden examples, as in ``saved_model.SaveOptions``; None: JAX's own answers to
            the example arguments.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.

    Returns:
        The module that was saved.

    Raises:
        ImportError: JAX or jax2onnx is not installed.
        InvalidArgumentError: the example does not fit, the model fixes a dimension, or an answer
            differs.
        UnimplementedError: the model uses what has no ONNX form.
        AlreadyExistsError: the folder exists and is not a bundle.
    """
    module = to_module(
        model,
        args,
        kwargs,
        variables=variables,
        signatures=signatures,
        dynamic=dynamic,
        training=training,
        name=name,
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
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    variables: Any = None,
    signatures: Any = None,
    dynamic: Mapping[str, Any] | None = None,
    training: bool = False,
    name: str | None = None,
) -> ConvertedModule:
    """Make a module of a model of JAX.

    Variables have the paths of the source's tree as names: ``"params/Dense_0/kernel"``. Of a
    linen module those of the collection ``params`` are trained, of an nnx module those that are
    ``nnx.Param``, of others all floating-point ones.

    Args:
        model: A function, jitted or not; a module of flax.linen or flax.nnx; or a callable pytree
            of arrays, such as an equinox module.
        args: Example arguments by position: a tuple, or a single array.
        kwargs: Example arguments by name. What is no array (``train=False``) is fixed.
        variables: What the ``init`` of a linen module returned, or the tree of parameters that a
            function takes as its first argument. None: the model has its own.
        signatures: Methods by signature: ``{"serving_default": "__call__", "encode": "encode"}``,
            where a method takes other arguments ``(method, args)`` or ``(method, args, kwargs)``,
            or an ``ExampleCall``. None: the model's call as ``serving_default``.
        dynamic: Dimensions whose size calls may choose, with their names, by parameter:
            ``{"x": {0: "batch"}}``. A name in two places is one size.
        training: Whether each signature gets a twin that runs as in training: ``train`` beside
            ``serving_default``. Collections other than ``params`` are its state then; an nnx
            module is in the mode of ``train()``, and otherwise in that of ``eval()``.
        name: Name of the module; None: made from the class.

    Returns:
        A ``ConvertedModule``: called as the model is, without parameters.

    Raises:
        ImportError: JAX or jax2onnx is not installed.
        InvalidArgumentError: the example does not fit, the model fixes a dimension, or needs the
            contents of an array in Python.
        UnimplementedError: the model uses what has no ONNX form.
    """
    jax = require_jax()
    source = jax_model(model, variables)
    if not isinstance(args, tuple | list):
        args = (args,)
    default = ExampleCall("__call__", tuple(args), dict(kwargs or {}), dynamic)
    methods: dict[str, list[MethodGraph]] = {}
    named: dict[str, str] = {}
    for signature, calls in resolve_calls(signatures, default, training=training).items():
        first = calls[0]
        method = "call" if first.method == "__call__" else first.method
        method = f"{method}_train" if first.training else method
        if method in methods:
            method = signature
        methods[method] = [method_graph(source, call) for call in calls]
        named[signature] = method
    return ConvertedModule(
        methods,
        {n: SourceVariable(np.asarray(v), n in source.trainable) for n, v in source.values.items()},
        name=name or snake_case(source.label),
        signatures=named,
        metadata={
            "source": "jax",
            "source_version": str(jax.__version__),
            "source_class": f"{source.kind}: {source.label}",
        },
    )
