"""Types of what operators of other domains than ONNX's own give: the runtime's own inference.

onnx knows nothing of ``com.microsoft``. ONNX Runtime infers types and shapes when it opens a model,
so a model of the one node is opened and asked, in about 0.3 ms; ``infer`` remembers the answers.
Where the runtime has no rule for a shape, there is one here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import onnx

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.graph import ir, schema
from tfx.graph.ir import RawShape, Value
from tfx.graph.serialization import protos
from tfx.graph.shape_code import contents
from tfx.runtime.other_domains import types_of_results

_TYPE = re.compile(r"^tensor\((\w+)\)$")
# Contents longer than this never decide a shape.
_DATA_LIMIT = 64


def is_kept(domain: str, op: str) -> bool:
    """True if the installed ONNX Runtime has a kernel for an operator of another domain.

    Operators that give no tensors (maps) cannot be in our graphs.
    """
    if (domain, op) in _NO_TENSORS:
        return False
    try:
        operator = schema.operator(schema.key_of(domain, op))
    except LookupError:
        return False
    kinds = {kind for kind, _, _ in operator.attributes.values()}
    return (
        onnx.AttributeProto.GRAPH not in kinds
    )  # searches over decoders are programs of their own


_NO_TENSORS = frozenset(
    ("ai.onnx.ml", op) for op in ("CastMap", "DictVectorizer", "ZipMap")
)  # maps in or out


def infer_other(
    op: schema.Operator, inputs: Sequence[Value | None], attrs: ir.Attributes, count: int
) -> list[tuple[int, RawShape]]:
    """Types of a node's outputs.

    Args:
        op: An operator of another domain.
        inputs: The values it is applied to.
        attrs: Its attributes.
        count: How many outputs are wanted.

    Raises:
        InvalidArgumentError: the runtime refuses the combination, with its reason.
    """
    found = types_of_results(_one_node(op, inputs, attrs, count), op.name)
    types: list[tuple[int, RawShape]] = []
    for i, (kind, dims) in enumerate(found):
        match = _TYPE.match(kind)
        if match is None:
            raise InvalidArgumentError(
                f"its output {i} is of the type {kind}, expected a tensor", op=op.name
            )
        name = _NAMES.get(match[1], match[1])
        # The runtime says the same of a scalar and of what it knows nothing of.
        types.append((dtypes.as_dtype(name).onnx, tuple(dims) or None))
    rule = _SHAPES.get(op.name)
    if rule is not None:
        shapes = rule(inputs, attrs)
        types = [
            (code, shape if known is None else known)
            for (code, shape), known in zip(types, [*shapes, *[None] * count], strict=False)
        ]
    return types


_NAMES = {"float": "float32", "double": "float64"}


def _one_node(
    op: schema.Operator, inputs: Sequence[Value | None], attrs: ir.Attributes, count: int
) -> bytes:
    domain, kind = schema.split_key(op.name)
    graph = onnx.GraphProto(name="node")
    node = graph.node.add(op_type=kind, domain=domain, name=kind)
    for i, value in enumerate(inputs):
        if value is None:
            node.input.append("")
            continue
        name = f"i{i}"
        node.input.append(name)
        data = contents(value) if value.const is None or value.const.size <= _DATA_LIMIT else None
        if data is not None and data.dtype.kind in "iub":
            graph.initializer.append(protos.tensor_proto(data, value.dtype, name))
        else:
            graph.input.add(name=name, type=protos.type_proto(value.dtype, value.shape))
    for name, given in attrs.items():
        node.attribute.append(protos.attribute_proto(name, given, op.attributes[name][0]))
    for i in range(count):
        node.output.append(f"o{i}")
        graph.output.add(name=f"o{i}")
    imports = [
        onnx.helper.make_opsetid("", schema.BASE_OPSET),
        onnx.helper.make_opsetid(domain, op.version),
    ]
    model = onnx.ModelProto(ir_version=schema.IR_VERSION, graph=graph, opset_import=imports)
    return model.SerializeToString()


Shapes = Callable[[Sequence["Value | None"], ir.Attributes], Sequence[RawShape]]


def _as_first(inputs: Sequence[Value | None], attrs: ir.Attributes) -> Sequence[RawShape]:
    return [inputs[0].shape if inputs[0] is not None else None]


def _rows(inputs: Sequence[Value | None]) -> ir.RawDim:
    """The number of rows; a vector is one row."""
    shape = inputs[0].shape if inputs[0] is not None else None
    return None if shape is None else 1 if len(shape) == 1 else shape[0]


def _targets(attribute: str) -> Shapes:
    def shapes(inputs: Sequence[Value | None], attrs: ir.Attributes) -> Sequence[RawShape]:
        return [(_rows(inputs), int(attrs.get(attribute, 1)))]

    return shapes


def _one_each(inputs: Sequence[Value | None], attrs: ir.Attributes) -> Sequence[RawShape]:
    return [(_rows(inputs), 1)]


def _classes(inputs: Sequence[Value | None], attrs: ir.Attributes) -> Sequence[RawShape]:
    names = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")
    count = max(len(attrs.get(name, ())) for name in names)
    return [(_rows(inputs),), (_rows(inputs), max(count, 2) if count else None)]


def _votes(inputs: Sequence[Value | None], attrs: ir.Attributes) -> Sequence[RawShape]:
    """Probabilities have a column for each class, decision values one for each pair."""
    label, scores = _classes(inputs, attrs)
    return [label, scores if attrs.get("prob_a") else (_rows(inputs), None)]


_SHAPES: dict[str, Shapes] = {
    "ai.onnx.ml::Imputer": _as_first,
    "ai.onnx.ml::Normalizer": _as_first,
    "ai.onnx.ml::Scaler": _as_first,
    "ai.onnx.ml::LabelEncoder": _as_first,
    "ai.onnx.ml::SVMClassifier": _votes,
    "ai.onnx.ml::SVMRegressor": _one_each,
    "ai.onnx.ml::TreeEnsembleClassifier": _classes,
    "ai.onnx.ml::TreeEnsembleRegressor": _targets("n_targets"),
    "ai.onnx.ml::TreeEnsemble": _targets("n_targets"),
}
