"""A model of another framework as a bundle: the options of ``tfx save`` for each exporter.

Each framework has a function that turns what the command line says (types of inputs, open
dimensions, signatures) into what its exporter takes. Where an exporter wants example arguments,
they are made up from the types.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tfx.cli import _values
from tfx.cli._errors import OperationError
from tfx.cli._sources import Source

if TYPE_CHECKING:
    from tfx.core.specs import TensorSpec

# The size that a named or unknown dimension has in made up examples: no other one is likely the
# same by chance.
_SIZE = 3


@dataclass(frozen=True)
class Wishes:
    """What the command line says.

    Attributes:
        out: The folder to make.
        signatures: Methods by signature; None: none were given.
        inputs: Types of inputs by name.
        dynamic: Names of open dimensions by input and axis.
        training: Whether signatures get a twin that runs as in training.
        verify: Whether the bundle must answer as the model does.
        allow_pickle: Whether files may have code in them.
    """

    out: str
    signatures: Mapping[str, str] | None
    inputs: Mapping[str, TensorSpec]
    dynamic: Mapping[str, Mapping[int, str]]
    training: bool
    verify: bool
    allow_pickle: bool

    def refuse(self, reason: str, **given: Any) -> None:
        """Refuse options that mean nothing for a kind of model."""
        for option, value in given.items():
            if value:
                raise click.UsageError(f"--{option} cannot be used here: {reason}")


def parse_dynamic(texts: tuple[str, ...]) -> dict[str, dict[int, str]]:
    """Names of dimensions from ``--dynamic NAME=AXIS:DIM,...``.

    Raises:
        UsageError: It has another form.
    """
    expected = "NAME=AXIS:DIM, such as image=0:batch"
    found: dict[str, dict[int, str]] = {}
    for text in texts:
        name, rest = _values.split_assignment(text, "--dynamic", expected)
        for part in rest.split(","):
            axis, _, dim = part.partition(":")
            dim = dim.strip() or f"{name}_{axis.strip()}"
            if not axis.strip().isdigit() or not dim.isidentifier():
                raise click.UsageError(f"--dynamic {text!r}: expected {expected}")
            found.setdefault(name, {})[int(axis)] = dim
    return found


def save_model(source: Source, wishes: Wishes) -> None:
    """Save a model by the exporter of its framework.

    Raises:
        OperationError: a package is missing, or the model's own code fails.
    """
    assert source.framework is not None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default", UserWarning)
        try:
            _EXPORTERS[source.framework](source, wishes)
        except ImportError as error:
            raise OperationError(str(error).rstrip(".")) from error
        finally:  # also of what failed: a warning may say why
            for item in told:
                if issubclass(item.category, UserWarning):
                    click.echo(f"warning: {item.message}", err=True)


def _common(wishes: Wishes) -> dict[str, Any]:
    return {"signatures": wishes.signatures, "verify": wishes.verify}


def _examples(wishes: Wishes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Made up arguments by name, and the open dimensions of these and of ``--dynamic``."""
    import numpy as np

    from tfx.exporters.sources.made_up_inputs import made_up

    draws = np.random.default_rng(0)
    arrays: dict[str, Any] = {}
    dynamic: dict[str, Any] = {}
    for name, spec in wishes.inputs.items():
        if spec.shape.rank is None:
            raise click.UsageError(
                f"--input {name}: give its sizes, such as {name}=float32[None,8]"
            )
        dims = spec.shape.symbolic or ()
        shape = [d if isinstance(d, int) else _SIZE for d in dims]
        arrays[name] = made_up(draws, spec.dtype, shape)
        named = {i: d or f"{name}_{i}" for i, d in enumerate(dims) if not isinstance(d, int)}
        named |= wishes.dynamic.get(name, {})
        if named:
            dynamic[name] = named
    for name, axes in wishes.dynamic.items():
        dynamic.setdefault(name, dict(axes))
    return arrays, dynamic


def _save_torch(source: Source, wishes: Wishes) -> None:
    from tfx.exporters import from_torch

    arrays, dynamic = _examples(wishes)
    is_program = isinstance(source.model, str) or hasattr(source.model, "graph_signature")
    if not arrays and not is_program:
        raise click.UsageError(_ask(source.model))
    kwargs = None
    if arrays:
        from_torch.require_torch()
        torch = importlib.import_module("torch")
        kwargs = {n: torch.from_numpy(a) for n, a in arrays.items()}
    from_torch.export(
        source.model,
        wishes.out,
        kwargs=kwargs,
        dynamic=dynamic or None,
        training=wishes.training,
        allow_pickle=wishes.allow_pickle,
        **_common(wishes),
    )


def _save_jax(source: Source, wishes: Wishes) -> None:
    from tfx.exporters import from_jax

    arrays, dynamic = _examples(wishes)
    if not arrays:
        raise click.UsageError(_ask(source.model))
    from_jax.export(
        source.model,
        wishes.out,
        kwargs=arrays,
        variables=source.variables,
        dynamic=dynamic or None,
        training=wishes.training,
        **_common(wishes),
    )


def _ask(model: Any) -> str:
    name = getattr(model, "__name__", type(model).__name__)
    return (
        f"{name} does not say what it takes: give each argument's type, such as --input "
        "'x=float32[batch,8]' (a name is a size that calls choose)"
    )


def _save_tensorflow(source: Source, wishes: Wishes) -> None:
    from tfx.exporters import from_tensorflow

    wishes.refuse("tf2onnx converts inference alone", training=wishes.training)
    specs: dict[str, Any] = {}
    dynamic: dict[str, Any] = {n: dict(a) for n, a in wishes.dynamic.items()}
    if wishes.inputs:
        tf = from_tensorflow.require_tensorflow()
        for name, spec in wishes.inputs.items():
            dims = spec.shape.symbolic
            sizes = None if dims is None else [d if isinstance(d, int) else None for d in dims]
            specs[name] = tf.TensorSpec(sizes, spec.dtype.name, name=name)
            named = {i: d for i, d in enumerate(dims or ()) if isinstance(d, str)}
            if named:
                dynamic.setdefault(name, {}).update(named)
    from_tensorflow.export(
        source.model, wishes.out, kwargs=specs, dynamic=dynamic or None, **_common(wishes)
    )


def _save_keras(source: Source, wishes: Wishes) -> None:
    from tfx.exporters import from_keras

    wishes.refuse("the batch of a Keras model is open", dynamic=wishes.dynamic)
    from_keras.export(
        source.model,
        wishes.out,
        inputs=dict(wishes.inputs) or None,
        training=wishes.training,
        allow_pickle=wishes.allow_pickle,
        **_common(wishes),
    )


def _save_sklearn(source: Source, wishes: Wishes) -> None:
    from tfx.exporters import from_sklearn

    wishes.refuse(
        "a model of scikit-learn has one graph, whose rows are open",
        training=wishes.training,
        dynamic=wishes.dynamic,
    )
    from_sklearn.export(
        source.model, wishes.out, inputs=dict(wishes.inputs) or None, **_common(wishes)
    )


def _save_onnx(source: Source, wishes: Wishes) -> None:
    from tfx.exporters import save_onnx

    wishes.refuse(
        "an ONNX model has its own inputs",
        dynamic=wishes.dynamic,
        training=wishes.training,
    )
    names = list(wishes.signatures or {"serving_default": "serving_default"})
    if len(names) > 1 or any(k != m for k, m in (wishes.signatures or {}).items()):
        raise click.UsageError("an ONNX model has one signature: --signature NAME gives it a name")
    save_onnx(
        source.model,
        wishes.out,
        signature=names[0],
        inputs=dict(wishes.inputs) or None,
        verify=wishes.verify,
    )


def _save_safetensors(source: Source, wishes: Wishes) -> None:
    from tfx.exporters import from_safetensors

    wishes.refuse(
        "a file of weights has no functions",
        input=wishes.inputs,
        dynamic=wishes.dynamic,
        training=wishes.training,
        signature=wishes.signatures,
    )
    from_safetensors.export(source.model, wishes.out)


_EXPORTERS: Mapping[str, Callable[[Source, Wishes], None]] = {
    "jax": _save_jax,
    "keras": _save_keras,
    "onnx": _save_onnx,
    "safetensors": _save_safetensors,
    "sklearn": _save_sklearn,
    "tensorflow": _save_tensorflow,
    "torch": _save_torch,
}
