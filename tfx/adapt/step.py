"""``train_step``: a function that trains a module, from a loss and an optimizer.

The one decision: the function has an input signature, so that it is a signature of a bundle with
no more ado, and what it trains is asked when it is traced: with an adapter attached, the adapter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfx.adapt.calls import input_specs
from tfx.adapt.losses import NamedLoss, named_loss
from tfx.adapt.targets import Targets, choose, named_variables
from tfx.autodiff.tape import GradientTape
from tfx.core import nest
from tfx.core.errors import InvalidArgumentError
from tfx.core.signatures import show_signature
from tfx.core.specs import TensorSpec
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.module import Module
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.function.tracing.function import Function
from tfx.graph.ir import Value
from tfx.importing.call import identifiers
from tfx.importing.model import ImportedModel
from tfx.optimizers import registry
from tfx.optimizers.optimizer import Optimizer


def train_step(
    module: Module,
    loss: str | Callable[..., Any],
    optimizer: Optimizer | str,
    *,
    targets: Targets = None,
    output: str | None = None,
    call: Callable[..., Any] | None = None,
    inputs: Sequence[TensorSpec] | None = None,
    labels: TensorSpec | Sequence[TensorSpec] | None = None,
    name: str = "train_step",
) -> Function:
    """Make a function that takes inputs and labels, makes one step of training, and tells the loss.

    It is an ordinary ``tfx.function`` with an input signature: call it, or give it to
    ``saved_model.save`` as a signature, and the bundle goes on training wherever ONNX Runtime is.
    Variables that it does not train are constants of that signature.

    Args:
        module: What is trained: a ``Module``, an imported model.
        loss: A function of the prediction and the labels, whose mean is minimized; or a name:
            ``"mse"``, ``"mae"``, ``"sparse_cross_entropy"`` (labels are numbers of classes),
            ``"cross_entropy"`` (labels are probabilities), ``"binary_cross_entropy"``. Cross
            entropies take logits along the last axis; an imported model's output that is a softmax
            or a sigmoid is taken for the probabilities that it is.
        optimizer: An optimizer, or its name. As an attribute of what is saved (``module.optimizer =
            optimizer``) its state has readable names in the bundle.
        targets: Which variables are trained, of those that can be; see ``freeze``. None: the
            module's trainable variables at the time of the first call.
        output: Which of several results the loss is of: a name, or several parts joined with ``_``.
        call: What computes the prediction from the inputs; None: the module.
        inputs: Specs of the inputs; None: those of the imported model, or of the input signature.
        labels: Specs of what else the loss takes, with names; None: for a loss with a name it
            follows from the prediction, ``label``; functions get none.
        name: The function's name.

    Returns:
        A function of the inputs and labels that returns ``{"loss": ...}``, the loss before the
        step.

    Raises:
        InvalidArgumentError: no such loss, output or variable, nothing to train, or specs are
            missing.

    Example:
        >>> import tfx as tf
        >>> class Line(tf.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.w = tf.Variable([[0.0]])
        ...
        ...     def __call__(self, x):
        ...         return x @ self.w
        >>> model = Line()
        >>> step = tf.adapt.train_step(
        ...     model, "mse", tf.optimizers.SGD(0.1), inputs=[tf.TensorSpec(["n", 1], name="x")]
        ... )
        >>> losses = [float(step(x=[[1.0]], label=[[2.0]])["loss"]) for _ in range(3)]
        >>> [round(x, 3) for x in losses]
        [4.0, 2.56, 1.638]
    """
    named_variables(module)  # refuses what is no module
    chosen = registry.get(optimizer)
    if chosen is None:
        raise InvalidArgumentError("optimizer is None, expected an Optimizer or its name.")
    run: Any = module if call is None else call
    specs = input_specs(run, inputs)
    of = named_loss(loss) if isinstance(loss, str) else loss
    if not callable(of):
        raise InvalidArgumentError(f"loss is {loss!r:.100}, expected a function or a name.")
    extra = _label_specs(of, labels, run, specs, output)
    _trained(module, targets)

    def step(*tensors: Any) -> dict[str, Tensor]:
        given, rest = tensors[: len(specs)], tensors[len(specs) :]
        variables = _trained(module, targets)
        with GradientTape() as tape:
            for variable in variables:
                tape.watch(variable)  # chosen by name, also if it is frozen
            prediction = _picked(run(*given), output)
            value = _loss(of, prediction, rest, _made_by(run, output))
            scaled = chosen.scale_loss(value)
        gradients = tape.gradient(scaled, variables)
        if all(g is None for g in gradients):
            raise InvalidArgumentError(
                f"the loss depends on none of the {len(variables)} variables that are trained: "
                f"{', '.join(v.name for v in variables[:5])}."
            )
        chosen.apply_gradients(zip(gradients, variables, strict=True))
        return {"loss": value}

    return _as_function(step, name, [*specs, *extra])


def _as_function(step: Callable[..., Any], name: str, specs: Sequence[TensorSpec]) -> Function:
    names = [spec.name or f"input_{i}" for i, spec in enumerate(specs)]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(
            f"two of the inputs and labels have one name: {', '.join(names)}; give labels= a spec "
            "with another one."
        )
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(n, kind) for n in identifiers(names)]
    show_signature(step, inspect.Signature(parameters))
    step.__name__ = step.__qualname__ = identifiers([name])[0]
    given = [TensorSpec(s.shape, s.dtype, name=n) for s, n in zip(specs, names, strict=True)]
    return Function(step, step.__name__, given, autograph=False)


def _label_specs(
    loss: Any,
    labels: TensorSpec | Sequence[TensorSpec] | None,
    run: Any,
    specs: Sequence[TensorSpec],
    output: str | None,
) -> list[TensorSpec]:
    if isinstance(labels, TensorSpec):
        return [labels]
    if labels is not None:
        found = list(labels)
        if isinstance(loss, NamedLoss) and len(found) != 1:
            raise InvalidArgumentError(
                f"loss {loss.name!r} takes one label, {loss.about}; labels has {len(found)} specs."
            )
        return found
    if not isinstance(loss, NamedLoss):
        return []
    probe = Function(lambda *xs: _picked(run(*xs), output), "prediction", autograph=False)
    result = probe.get_concrete_function(*specs).structured_outputs
    spec = TensorSpec(result.shape, result.dtype, name=output)
    taken = {s.name for s in specs}
    return [loss.label(spec, next(n for n in ("label", "label_", "target") if n not in taken))]


def _picked(results: Any, output: str | None) -> Tensor:
    """The result that a loss is of."""
    flat = {
        "_".join(map(str, path)): leaf
        for path, leaf in nest.flatten_with_path(results, expand_composites=True)
    }
    if output is None and len(flat) == 1:
        return convert_to_tensor(next(iter(flat.values())))
    if output is None and isinstance(results, Mapping):
        raise InvalidArgumentError(
            f"the model has {len(flat)} outputs, {', '.join(flat)}: say with output= which one the "
            "loss is of."
        )
    if output is None:
        raise InvalidArgumentError(
            f"the model returns {len(flat)} tensors: give output=, one of {', '.join(flat)}."
        )
    if output not in flat and not (len(flat) == 1 and "" in flat):
        raise InvalidArgumentError(
            f"output is {output!r}, which the model does not have; it has {', '.join(flat)}."
        )
    return convert_to_tensor(flat.get(output, next(iter(flat.values()))))


def _loss(loss: Any, prediction: Tensor, labels: Sequence[Tensor], made_by: str) -> Tensor:
    if isinstance(loss, NamedLoss):
        return loss(prediction, labels[0], made_by)
    value = convert_to_tensor(loss(prediction, *labels))
    if not value.dtype.is_floating:
        raise InvalidArgumentError(
            f"the loss is {value.dtype.name}{value.shape}, expected floating-point numbers."
        )
    return value if value.shape.rank == 0 else ox.ReduceMean(value, keepdims=0)


def _made_by(run: Any, output: str | None) -> str:
    """The operator that makes an imported model's output."""
    if not isinstance(run, ImportedModel):
        return ""
    outputs = run._plain().outputs
    value = outputs.get(output) if output in outputs else next(iter(outputs.values()))
    node = value.node if isinstance(value, Value) else None
    while node is not None and node.op == "Identity" and node.inputs[0] is not None:
        node = node.inputs[0].node
    if node is None or node.op not in ("Softmax", "Sigmoid"):
        return ""
    rank = None if node.outputs[0].shape is None else len(node.outputs[0].shape)
    last = node.attrs.get("axis", -1) in (-1, None if rank is None else rank - 1)
    return node.op if node.op == "Sigmoid" or last else ""


def _trained(module: Module, targets: Targets) -> list[Variable]:
    """The variables that a step trains."""
    if targets is None:
        found = list(module.trainable_variables)
        if not found:
            raise InvalidArgumentError(
                f"{module.name} has no trainable variables: unfreeze() some, or name targets."
            )
        return found
    able = {n: v for n, v in named_variables(module).items() if v.dtype.is_floating}
    return [able[n] for n in choose(able, targets)]
