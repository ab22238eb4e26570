"""Models of others in the form that our graphs have: one opset, no functions but ours.

onnx's own tools do the work: the inliner for local functions (which may have attributes, overloads
and opsets of their own) and the version converter for old opsets. Variables are made inputs first,
so neither ever sees, copies or folds a weight.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx
import onnx.inliner
import onnx.version_converter

from tfx.core.errors import BundleError
from tfx.graph import schema
from tfx.graph.ir import RawShape
from tfx.graph.serialization import protos
from tfx.graph.serialization.serialize import FUNCTION_DOMAIN, GRADIENT_DOMAIN

_STANDARD = ("", "ai.onnx")
_OURS = (FUNCTION_DOMAIN, GRADIENT_DOMAIN)


def standard_model(model: onnx.ModelProto, as_inputs: Mapping[str, RawShape]) -> onnx.ModelProto:
    """The model with an opset between ``BASE_OPSET`` and ``MAX_OPSET`` and no foreign functions.

    Args:
        model: Any model; it is not changed.
        as_inputs: Initializers that may be made inputs, with their shapes.

    Raises:
        BundleError: its opset is too new, or onnx cannot convert it.
    """
    opset = standard_opset(model)
    foreign = [(f.domain, f.name) for f in model.functions if f.domain not in _OURS]
    if opset > schema.MAX_OPSET:
        raise BundleError(
            f"it needs opset {opset} of ONNX, expected at most {schema.MAX_OPSET}; upgrade tfx-onnx"
        )
    if not foreign and opset >= schema.BASE_OPSET:
        return model
    changed = _with_inputs(model, as_inputs)
    if foreign:
        changed = _inlined(changed)
    if opset < schema.BASE_OPSET:
        changed = _converted(changed, opset)
    return changed


def standard_opset(model: onnx.ModelProto) -> int:
    """The version of the standard domain that a model imports."""
    return next((i.version for i in model.opset_import if i.domain in _STANDARD), 1)


def _with_inputs(model: onnx.ModelProto, as_inputs: Mapping[str, RawShape]) -> onnx.ModelProto:
    """A copy in which initializers are declared as inputs only."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    kept = [t for t in graph.initializer if t.name not in as_inputs]
    moved = {t.name: t.data_type for t in graph.initializer if t.name in as_inputs}
    inputs = [i for i in graph.input if i.name not in moved]
    del graph.initializer[:], graph.input[:]
    graph.initializer.extend(kept)
    graph.input.extend(inputs)
    for name, dtype in moved.items():
        graph.input.append(
            onnx.ValueInfoProto(name=name, type=protos.type_proto(dtype, as_inputs[name]))
        )
    return changed


def _inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return onnx.inliner.inline_local_functions(model)
    except Exception as e:  # of classes of their own too
        raise BundleError(
            f"onnx cannot put its local functions in the place of their calls ({e}); save it again"
        ) from e


def _converted(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    # The converter takes initializers that are no inputs only from IR version 4 on.
    model.ir_version = max(model.ir_version, 4)
    try:
        converted: onnx.ModelProto = onnx.version_converter.convert_version(
            model, schema.BASE_OPSET
        )
    except Exception as e:  # of classes of their own too
        raise BundleError(
            f"onnx cannot convert it from opset {opset} to {schema.BASE_OPSET} ({e}); it can be "
            "run by tfx.loaders.Bundle and by ONNX Runtime, but not be traced or differentiated"
        ) from e
    converted.ir_version = max(converted.ir_version, schema.IR_VERSION)
    return converted
