"""The manifest to and from its protobuf message: one pair of functions for each record.

Owns the order and presence of fields. Must not judge what it carries (``check`` does). The one
decision: no protobuf object leaves this module, so that readers hold plain immutable records and
nobody else needs to know how presence or enums work in protobuf.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar, cast, get_args

from tfx.bundle import bundle_pb2 as pb
from tfx.bundle import records as r
from tfx.bundle import strict_json
from tfx.bundle.codec_examples import example_from_proto, example_to_proto
from tfx.bundle.codec_values import (
    dtype_name,
    dtype_number,
    shape_from_proto,
    shape_to_proto,
    spec_from_proto,
    spec_to_proto,
    value_from_proto,
    value_to_proto,
)
from tfx.core.dims import is_static
from tfx.core.errors import BundleError

_T = TypeVar("_T")

# In the order of their numbers in the format.
_NODE_KINDS: tuple[r.NodeKind, ...] = get_args(r.NodeKind)
_PARAMETER_KINDS: tuple[r.ParameterKind, ...] = get_args(r.ParameterKind)


def to_proto(manifest: r.Manifest) -> pb.Manifest:
    """Encode a manifest that ``check_manifest`` has passed."""
    requirements = manifest.requirements
    return pb.Manifest(
        format_version=manifest.format_version,
        producer=manifest.producer,
        producer_version=manifest.producer_version,
        requirements=pb.Requirements(
            opset=requirements.opset,
            ir_version=requirements.ir_version,
            domains=dict(requirements.domains),
            features=requirements.features,
        ),
        files=[
            pb.File(path=f.path, size=f.size, sha256=f.sha256, crc32=f.crc32)
            for f in manifest.files
        ],
        variables=[_variable_to_proto(v) for v in manifest.variables],
        constants=[_constant_to_proto(c) for c in manifest.constants],
        assets=[pb.Asset(file=a.file) for a in manifest.assets],
        tables=[_table_to_proto(t) for t in manifest.tables],
        objects=[_object_to_proto(o, f"object {i}") for i, o in enumerate(manifest.objects)],
        functions=[_function_to_proto(f) for f in manifest.functions],
        concrete_functions=[_concrete_to_proto(c) for c in manifest.concrete_functions],
        signatures=[_signature_to_proto(s) for s in manifest.signatures],
        metadata=dict(manifest.metadata),
        examples=[example_to_proto(e) for e in manifest.examples],
    )


def from_proto(proto: pb.Manifest, source: str) -> r.Manifest:
    """Decode a manifest; what it says is not checked yet."""
    requirements = proto.requirements
    at = f"{source}: "
    return r.Manifest(
        producer=proto.producer,
        producer_version=proto.producer_version,
        requirements=r.Requirements(
            requirements.opset,
            requirements.ir_version,
            dict(requirements.domains),
            tuple(requirements.features),
        ),
        files=tuple(r.FileEntry(f.path, f.size, f.sha256, tuple(f.crc32)) for f in proto.files),
        variables=tuple(_variable_from_proto(v, at) for v in proto.variables),
        constants=tuple(_constant_from_proto(c, at) for c in proto.constants),
        assets=tuple(r.AssetEntry(a.file) for a in proto.assets),
        tables=tuple(_table_from_proto(t) for t in proto.tables),
        objects=tuple(
            _object_from_proto(o, f"{at}object {i}") for i, o in enumerate(proto.objects)
        ),
        functions=tuple(_function_from_proto(f, at) for f in proto.functions),
        concrete_functions=tuple(_concrete_from_proto(c, at) for c in proto.concrete_functions),
        signatures=tuple(_signature_from_proto(s) for s in proto.signatures),
        metadata=dict(proto.metadata),
        format_version=proto.format_version,
        examples=tuple(example_from_proto(e, at) for e in proto.examples),
    )


def _storage_to_proto(storage: r.Storage) -> pb.Storage:
    return pb.Storage(file=storage.file, key=storage.key)


def _storage_from_proto(proto: pb.Storage) -> r.Storage:
    return r.Storage(proto.file, proto.key)


def _variable_to_proto(variable: r.VariableEntry) -> pb.Variable:
    where = f"variable {variable.name!r}"
    return pb.Variable(
        name=variable.name,
        dtype=dtype_number(variable.dtype, where),
        shape=shape_to_proto(variable.shape, where),
        trainable=variable.trainable,
        storage=_storage_to_proto(variable.storage),
        synchronization=variable.synchronization,
        aggregation=variable.aggregation,
        device=variable.device,
    )


def _variable_from_proto(proto: pb.Variable, at: str) -> r.VariableEntry:
    where = f"{at}variable {proto.name!r}"
    return r.VariableEntry(
        proto.name,
        dtype_name(proto.dtype, where),
        shape_from_proto(proto.shape, where),
        _storage_from_proto(proto.storage),
        proto.trainable,
        proto.synchronization,
        proto.aggregation,
        proto.device,
    )


def _constant_to_proto(constant: r.ConstantEntry) -> pb.Constant:
    where = f"constant {constant.name!r}"
    proto = pb.Constant(
        name=constant.name,
        dtype=dtype_number(constant.dtype, where),
        shape=shape_to_proto(constant.shape, where),
    )
    if constant.inline is not None:
        proto.inline = constant.inline
    elif constant.storage is not None:
        proto.storage.CopyFrom(_storage_to_proto(constant.storage))
    return proto


def _constant_from_proto(proto: pb.Constant, at: str) -> r.ConstantEntry:
    where = f"{at}constant {proto.name!r}"
    shape = shape_from_proto(proto.shape, where)
    if not is_static(shape):
        raise BundleError(f"{where}: shape is {shape!r}, expected a fully defined one")
    data = proto.WhichOneof("data")
    return r.ConstantEntry(
        proto.name,
        dtype_name(proto.dtype, where),
        shape,
        proto.inline if data == "inline" else None,
        _storage_from_proto(proto.storage) if data == "storage" else None,
    )


def _table_to_proto(table: r.TableEntry) -> pb.Table:
    return pb.Table(
        name=table.name,
        keys=table.keys,
        values=table.values,
        default_value=table.default_value,
        oov_buckets=table.oov_buckets,
        is_mutable=table.is_mutable,
    )


def _table_from_proto(proto: pb.Table) -> r.TableEntry:
    return r.TableEntry(
        proto.name,
        proto.keys,
        proto.values,
        proto.default_value if proto.HasField("default_value") else None,
        proto.oov_buckets,
        proto.is_mutable,
    )


def _object_to_proto(node: r.ObjectNode, where: str) -> pb.Object:
    proto = pb.Object(
        kind=cast("pb.Object.Kind", _NODE_KINDS.index(node.kind) + 1),
        target=node.target,
        field_names=node.field_names,
        class_name=node.class_name,
        metadata_json=metadata_json(node.metadata, where) if node.metadata else "",
    )
    for child in node.children:
        edge = proto.children.add(name=child.name, object=child.node)
        if child.key is not None:
            edge.key.CopyFrom(value_to_proto(child.key, where))
    if node.kind == "value":
        proto.value.CopyFrom(value_to_proto(node.value, where))
    return proto


def _object_from_proto(proto: pb.Object, where: str) -> r.ObjectNode:
    return r.ObjectNode(
        kind=_kind(_NODE_KINDS, proto.kind - 1, where),
        children=tuple(_child_from_proto(child, where) for child in proto.children),
        target=proto.target if proto.HasField("target") else None,
        value=value_from_proto(proto.value, where) if proto.HasField("value") else None,
        field_names=tuple(proto.field_names),
        class_name=proto.class_name,
        metadata=_parse_metadata(proto.metadata_json, where) if proto.metadata_json else {},
    )


def _child_from_proto(proto: pb.Child, where: str) -> r.Child:
    if not proto.HasField("key"):
        return r.Child(proto.name, proto.object)
    key = value_from_proto(proto.key, where)
    if not isinstance(key, (bool, int, float, bytes)):
        raise BundleError(
            f"{where}: child {proto.name!r} has a key of type {type(key).__name__}, expected "
            "bool, int, float or bytes"
        )
    return r.Child(proto.name, proto.object, key)


def metadata_json(metadata: Any, where: str) -> str:
    """Return metadata as JSON text, the same for equal metadata."""
    try:
        return json.dumps(
            metadata, sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise BundleError(
            f"{where}: metadata {metadata!r:.200} is not what JSON can hold ({error}); use dicts "
            "with string keys, lists, strings, finite numbers, booleans and None"
        ) from error


def _parse_metadata(text: str, where: str) -> dict[str, Any]:
    try:
        metadata = strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where}: metadata is not JSON ({error}): {text[:80]!r}") from error
    if not isinstance(metadata, dict):
        raise BundleError(
            f"{where}: metadata is a JSON {type(metadata).__name__}, expected an object"
        )
    return metadata


def _function_to_proto(function: r.FunctionEntry) -> pb.Function:
    where = f"function {function.name!r}"
    proto = pb.Function(
        name=function.name, concrete_functions=function.concrete_functions, doc=function.doc
    )
    for parameter in function.parameters:
        item = proto.parameters.add(
            name=parameter.name,
            kind=cast("pb.Parameter.Kind", _PARAMETER_KINDS.index(parameter.kind)),
        )
        if parameter.has_default:
            item.default.CopyFrom(value_to_proto(parameter.default, where))
    if function.input_signature is not None:
        proto.input_signature.CopyFrom(value_to_proto(function.input_signature, where))
    return proto


def _function_from_proto(proto: pb.Function, at: str) -> r.FunctionEntry:
    where = f"{at}function {proto.name!r}"
    signature = None
    if proto.HasField("input_signature"):
        signature = _tuple(proto.input_signature, where, "input_signature")
    return r.FunctionEntry(
        proto.name,
        tuple(_parameter_from_proto(parameter, where) for parameter in proto.parameters),
        tuple(proto.concrete_functions),
        signature,
        proto.doc,
    )


def _parameter_from_proto(proto: pb.Parameter, where: str) -> r.Parameter:
    kind = _kind(_PARAMETER_KINDS, proto.kind, where)
    if not proto.HasField("default"):
        return r.Parameter(proto.name, kind)
    return r.Parameter(proto.name, kind, True, value_from_proto(proto.default, where))


def _concrete_to_proto(concrete: r.ConcreteFunctionEntry) -> pb.ConcreteFunction:
    where = f"concrete function {concrete.name!r}"
    proto = pb.ConcreteFunction(
        name=concrete.name,
        arguments=value_to_proto(concrete.arguments, where),
        result=value_to_proto(concrete.result, where),
        argument_leaves=[spec_to_proto(spec, where) for spec in concrete.argument_leaves],
        result_leaves=[spec_to_proto(spec, where) for spec in concrete.result_leaves],
        graph=_graph_to_proto(concrete.graph, where),
    )
    if concrete.live_graph is not None:
        proto.live_graph.CopyFrom(_graph_to_proto(concrete.live_graph, where))
    if concrete.gradient_graph is not None:
        proto.gradient_graph.CopyFrom(_graph_to_proto(concrete.gradient_graph, where))
    return proto


def _concrete_from_proto(proto: pb.ConcreteFunction, at: str) -> r.ConcreteFunctionEntry:
    where = f"{at}concrete function {proto.name!r}"
    if not proto.HasField("graph"):
        raise BundleError(f"{where}: no graph, expected one; save the bundle again")
    return r.ConcreteFunctionEntry(
        proto.name,
        _tuple(proto.arguments, where, "arguments"),
        value_from_proto(proto.result, where),
        tuple(spec_from_proto(spec, where) for spec in proto.argument_leaves),
        tuple(spec_from_proto(spec, where) for spec in proto.result_leaves),
        _graph_from_proto(proto.graph, where),
        _graph_from_proto(proto.live_graph, where) if proto.HasField("live_graph") else None,
        _graph_from_proto(proto.gradient_graph, where)
        if proto.HasField("gradient_graph")
        else None,
    )


def _graph_to_proto(graph: r.GraphEntry, where: str) -> pb.Graph:
    proto = pb.Graph(file=graph.file)
    for item in graph.inputs:
        proto.inputs.add(
            name=item.name,
            dtype=dtype_number(item.dtype, where),
            shape=shape_to_proto(item.shape, where),
            **_binding(item.source, item.index),
        )
    for out in graph.outputs:
        proto.outputs.add(
            name=out.name,
            dtype=dtype_number(out.dtype, where),
            shape=shape_to_proto(out.shape, where),
            **_binding(out.target, out.index),
        )
    for frozen in graph.frozen_variables:
        proto.frozen_variables.add(name=frozen.name, variable=frozen.variable)
    return proto


def _binding(kind: str, index: int) -> Any:
    """Return the field of a oneof as keywords; the stub cannot type a chosen name."""
    return {kind: index}


def _graph_from_proto(proto: pb.Graph, where: str) -> r.GraphEntry:
    at = f"{where}, graph {proto.file!r}"
    return r.GraphEntry(
        proto.file,
        tuple(_input_from_proto(item, at) for item in proto.inputs),
        tuple(_output_from_proto(item, at) for item in proto.outputs),
        tuple(r.FrozenVariable(f.name, f.variable) for f in proto.frozen_variables),
    )


def _input_from_proto(proto: pb.GraphInput, at: str) -> r.GraphInput:
    where = f"{at}, input {proto.name!r}"
    source = proto.WhichOneof("source")
    if source is None:
        raise BundleError(
            f"{where}: no known source, expected an argument, a variable or a constant"
        )
    return r.GraphInput(
        proto.name,
        dtype_name(proto.dtype, where),
        shape_from_proto(proto.shape, where),
        source,
        getattr(proto, source),
    )


def _output_from_proto(proto: pb.GraphOutput, at: str) -> r.GraphOutput:
    where = f"{at}, output {proto.name!r}"
    target = proto.WhichOneof("target")
    if target is None:
        raise BundleError(f"{where}: no known target, expected a result or a variable")
    return r.GraphOutput(
        proto.name,
        dtype_name(proto.dtype, where),
        shape_from_proto(proto.shape, where),
        target,
        getattr(proto, target),
    )


def _signature_to_proto(signature: r.Signature) -> pb.Signature:
    return pb.Signature(
        name=signature.name,
        concrete_function=signature.concrete_function,
        inputs=[pb.SignatureTensor(name=t.name, leaf=t.leaf) for t in signature.inputs],
        outputs=[pb.SignatureTensor(name=t.name, leaf=t.leaf) for t in signature.outputs],
    )


def _signature_from_proto(proto: pb.Signature) -> r.Signature:
    return r.Signature(
        proto.name,
        proto.concrete_function,
        tuple(r.SignatureTensor(t.name, t.leaf) for t in proto.inputs),
        tuple(r.SignatureTensor(t.name, t.leaf) for t in proto.outputs),
    )


def _kind(kinds: tuple[_T, ...], index: int, where: str) -> _T:
    if not 0 <= index < len(kinds):
        known = ", ".join(str(kind) for kind in kinds)
        raise BundleError(
            f"{where}: its kind has a number that is not known here, expected one of {known}; the "
            "bundle is damaged or from a newer version: upgrade tfx-onnx"
        )
    return kinds[index]


def _tuple(proto: pb.Value, where: str, what: str) -> tuple[Any, ...]:
    value = value_from_proto(proto, where)
    if not isinstance(value, tuple):
        raise BundleError(f"{where}: {what} is a {type(value).__name__}, expected a tuple")
    return value
