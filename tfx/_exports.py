"""Where the public names are: module -> names, for ``tfx/__init__.py`` and its stub.

``tools/gen_api_stub.py`` writes ``tfx/__init__.pyi`` from this table; a test compares them.
"""

from __future__ import annotations

SUBMODULES = """
autodiff compat config debugging dtypes errors initializers linalg math nest nn optimizers random raw
saved_model testing train types exporters loaders
""".split()

_TABLE = {
    "tfx.core.dtypes": """
        DType as_dtype bfloat16 bool complex128 complex64 double float16 float32 float64
        float8_e4m3fn float8_e5m2 half int16 int32 int4 int64 int8 string uint16 uint32 uint4
        uint64 uint8
    """,
    "tfx.core.shapes": "TensorShape",
    "tfx.core.specs": "TensorSpec TypeSpec",
    "tfx.framework.context": "executing_eagerly init_scope inside_function name_scope",
    "tfx.framework.convert": "constant convert_to_tensor register_tensor_conversion_function",
    "tfx.framework.device": "device",
    "tfx.framework.indexed_slices": "IndexedSlices",
    "tfx.framework.module": "Module",
    "tfx.framework.tensor": "Tensor is_tensor",
    "tfx.framework.type_specs": "type_spec_from_value",
    "tfx.framework.variable": "Variable VariableAggregation VariableSynchronization",
    "tfx.autodiff.tape": "GradientTape UnconnectedGradients",
    "tfx.function.polymorphic": "function",
    "tfx.ops.arithmetic": "add add_n divide maximum minimum multiply pow subtract truediv",
}

NAMES: dict[str, str] = {
    name: module for module, names in _TABLE.items() for name in names.split()
}
