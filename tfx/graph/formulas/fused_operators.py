"""Fused operators of ``com.microsoft`` by operators of the standard, over any builder.

ONNX Runtime's optimizer and exporters for it write these. Importers write one out where the runtime
has no kernel for its types; gradients and batching of those that are kept come from the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.graph.ops import Ops

V = TypeVar("V")


class Given(Generic[V]):
    """Access to the inputs of an operator by number.

    Attributes:
        op: Its name.
        inputs: What it is applied to; None: left out.
    """

    __slots__ = ()

    op: str
    inputs: Sequence[V | None]

    def input(self, number: int) -> V | None:
        """An input, None if it is left out."""
        return self.inputs[number] if number < len(self.inputs) else None

    def required(self, number: int) -> V:
        """An input that must be there.

        Raises:
            InvalidArgumentError: it is not.
        """
        value = self.input(number)
        if value is None:
            raise InvalidArgumentError(f"{self.op} needs its input {number}.")
        return value


@dataclass(frozen=True, slots=True)
class Application(Given[V]):
    """A use of an operator.

    Attributes:
        op: Its name, without the domain.
        inputs: What it is applied to; None: left out.
        attrs: Its attributes.
        ranks: Ranks of the inputs; None where one is unknown or left out.
    """

    op: str
    inputs: Sequence[V | None]
    attrs: Mapping[str, Any]
    ranks: Sequence[int | None]

    def rank(self, number: int) -> int:
        """The rank of an input.

        Raises:
            UnimplementedError: it is unknown.
        """
        rank = self.ranks[number]
        if rank is None:
            raise UnimplementedError(
                f"the rank of input {number} of {self.op} is unknown, and without it the operator "
                "cannot be written with others; give the shapes of the model's inputs with "
                "input_shapes"
            )
        return rank


Fused: TypeAlias = "Callable[[Ops[Any], Application[Any]], Any]"
FORMULAS: dict[str, Fused] = {}
"""By the operator's name in ``com.microsoft``: its results, None for those nobody needs."""


def _fused(*ops: str) -> Callable[[Fused], Fused]:
    def register(formula: Fused) -> Fused:
        FORMULAS.update(dict.fromkeys(ops, formula))
        return formula

    return register


@_fused("Gelu")
def _gelu(f: Ops[V], op: Application[V]) -> V:
    return f.Gelu(op.required(0))


@_fused("BiasGelu", "FastGelu")
def _bias_gelu(f: Ops[V], op: Application[V]) -> V:
    x, bias = op.required(0), op.input(1)
    x = x if bias is None else f.Add(x, bias)
    return f.Gelu(x, approximate="tanh" if op.op == "FastGelu" else "none")


@_fused("BiasSplitGelu")
def _bias_split_gelu(f: Ops[V], op: Application[V]) -> V:
    x = f.Add(op.required(0), op.required(1))
    left, right = f.Split(x, axis=-1, num_outputs=2, outputs=2)
    return f.Mul(left, f.Gelu(right))


@_fused("BiasAdd")
def _bias_add(f: Ops[V], op: Application[V]) -> V:
    return f.Add(f.Add(op.required(0), op.required(1)), op.required(2))


@_fused("QuickGelu")
def _quick_gelu(f: Ops[V], op: Application[V]) -> V:
    x = op.required(0)
    return f.Mul(x, f.Sigmoid(f.Mul(x, f.like(op.attrs.get("alpha", 1.702), x))))


@_fused("FusedMatMul", "TransposeMatMul")
def _fused_matmul(f: Ops[V], op: Application[V]) -> V:
    factors = []
    for i, letter in enumerate("AB"):
        x, rank = op.required(i), op.rank(i)
        axes = list(range(rank))
        if op.attrs.get(f"transBatch{letter}"):
            axes = [*axes[1:-1], 0, axes[-1]]
        if op.attrs.get(f"trans{letter}") and rank > 1:
            axes = [*axes[:-2], axes[-1], axes[-2]]
        factors.append(x if axes == list(range(rank)) else f.Transpose(x, perm=axes))
    product = f.MatMul(*factors)
    alpha = op.attrs.get("alpha", 1.0)
    return product if alpha == 1.0 else f.Mul(product, f.like(alpha, product))


_ACTIVATIONS = frozenset(("Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid", "Elu", "Softplus"))


def _without_activation(op: Application[V]) -> dict[str, Any]:
    return {k: v for k, v in op.attrs.items() if not k.startswith("activation")}


@_fused("FusedGemm")
def _fused_gemm(f: Ops[V], op: Application[V]) -> V:
    return _activated(f, op, f.apply("Gemm", op.inputs, _without_activation(op)))


@_fused("FusedConv")
def _fused_conv(f: Ops[V], op: Application[V]) -> V:
    result = f.apply("Conv", op.inputs[:3], _without_activation(op))
    extra = op.input(3)
    return _activated(f, op, result if extra is None else f.Add(result, extra))


def _activated(f: Ops[V], op: Application[V], x: V) -> V:
    name = op.attrs.get("activation", "")
    if not name:
        return x
    if name == "Clip":
        least, greatest = op.attrs.get("activation_params", (0.0, 0.0))
        return f.Clip(x, f.like(least, x), f.like(greatest, x))
    if name not in _ACTIVATIONS:
        raise UnimplementedError(f"{op.op} with the activation {name!r} is not known")
    numbers = {
        k: op.attrs[f"activation_{k}"] for k in ("alpha", "beta") if f"activation_{k}" in op.attrs
    }
    params = op.attrs.get("activation_params", ())
    numbers |= dict(zip(("alpha", "beta"), params, strict=False))
    return f.apply(name, (x,), {**numbers})


@_fused("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def _skip_layer_normalization(f: Ops[V], op: Application[V]) -> Sequence[V | None]:
    simplified = op.op == "SkipSimplifiedLayerNormalization"
    total = f.Add(op.required(0), op.required(1))
    bias = op.input(3 if simplified else 4)
    if bias is not None:
        total = f.Add(total, bias)
    attrs = {"axis": -1, "epsilon": op.attrs.get("epsilon", 1e-12)}
    if simplified:
        result = f.RMSNormalization(total, op.required(2), **attrs)
    else:
        result = f.LayerNormalization(total, op.required(2), op.input(3), **attrs)
    return [result, None, None, total]


@_fused("SimplifiedLayerNormalization")
def _simplified(f: Ops[V], op: Application[V]) -> V:
    """ONNX Runtime has it in the standard's domain, the standard under another name."""
    attrs = {k: v for k, v in op.attrs.items() if k in ("axis", "epsilon", "stash_type")}
    return f.apply("RMSNormalization", op.inputs, attrs)


@_fused("EmbedLayerNormalization")
def _embed_layer_normalization(f: Ops[V], op: Application[V]) -> Sequence[V | None]:
    """The sum of three embeddings, normalized; the lengths by the mask are whole numbers."""
    segments, mask, positions = (op.input(i) for i in (1, 7, 8))
    ids = op.required(0)
    words = f.Gather(op.required(2), ids)
    if positions is None:
        length = f.Shape(ids, start=1, end=2)
        axis = f.ints([0])
        found = f.Slice(op.required(3), f.ints([0]), length, axis)
    else:
        found = f.Gather(op.required(3), positions)
    total = f.Add(words, found)
    if segments is not None:
        total = f.Add(total, f.Gather(op.required(4), segments))
    epsilon = op.attrs.get("epsilon", 1e-12)
    result = f.LayerNormalization(total, op.required(5), op.required(6), axis=-1, epsilon=epsilon)
    lengths = None
    if mask is not None:
        lengths = f.ReduceSum(mask, f.ints([1]), keepdims=0)
    return [result, lengths, total]


@_fused("Trilu")
def _trilu(f: Ops[V], op: Application[V]) -> V:
    return f.Trilu(op.required(0), op.input(1), upper=op.attrs.get("upper", 1))


@_fused("ExpandDims")
def _expand_dims(f: Ops[V], op: Application[V]) -> V:
    axis = f.Reshape(f.Cast(op.required(1), to=dtypes.int64.onnx), f.ints([1]))
    return f.Unsqueeze(op.required(0), axis)


@_fused("Pad")
def _pad(f: Ops[V], op: Application[V]) -> V:
    pads = f.Reshape(op.required(1), f.ints([-1]))
    return f.Pad(op.required(0), pads, op.input(2), mode=op.attrs.get("mode", "constant"))


@_fused("GatherND")
def _gather_nd(f: Ops[V], op: Application[V]) -> V:
    return f.GatherND(op.required(0), op.required(1))
