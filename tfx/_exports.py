"""The table of public names, module -> names, for ``tfx/__init__.py`` and its stub.

``tools/gen_api_stub.py`` writes ``tfx/__init__.pyi`` from this table; a test compares them.
"""

from __future__ import annotations

SUBMODULES: tuple[str, ...] = (
    "adapt",
    "audio",
    "autodiff",
    "autograph",
    "bitwise",
    "compat",
    "config",
    "data",
    "debugging",
    "distribute",
    "dtypes",
    "errors",
    "experimental",
    "exporters",
    "feature_column",
    "image",
    "initializers",
    "io",
    "linalg",
    "loaders",
    "lookup",
    "math",
    "mixed_precision",
    "nest",
    "nn",
    "optimizers",
    "profiler",
    "quantization",
    "queue",
    "ragged",
    "random",
    "raw",
    "raw_ops",
    "saved_model",
    "sets",
    "signal",
    "sparse",
    "strings",
    "summary",
    "test",
    "testing",
    "train",
    "types",
    "version",
)

# Namespaces that need an extra: they are there when asked for, and listed nowhere.
OPTIONAL: tuple[str, ...] = ("keras", "losses", "metrics")
# Names that are listed nowhere either, since they begin with underscores; and their modules.
UNLISTED: dict[str, str] = {"__operators__": "tfx.ops.common.python_operators"}

_TABLE = {
    "tfx.core.dtypes": """
        DType as_dtype bfloat16 bool complex128 complex64 double float16 float32 float64
        float8_e4m3fn float8_e5m2 half int16 int32 int4 int64 int8 qint16 qint32 qint8 quint16
        quint8 resource string uint16 uint32 uint4 uint64 uint8 variant
    """,
    "tfx.core.log": "get_logger",
    "tfx.core.shapes": "TensorShape",
    "tfx.core.specs": "TensorSpec TypeSpec",
    "tfx.runtime.device_spec": "DeviceSpec",
    "tfx.framework.context": """
        executing_eagerly get_current_name_scope init_scope inside_function name_scope
    """,
    "tfx.framework.convert": "constant convert_to_tensor register_tensor_conversion_function",
    "tfx.framework.critical_section": "CriticalSection",
    "tfx.framework.variable_creators": "variable_creator_scope",
    "tfx.framework.device": "device",
    "tfx.framework.composite.indexed_slices": "IndexedSlices",
    "tfx.framework.composite.indexed_slices_spec": "IndexedSlicesSpec",
    "tfx.framework.module": "Module",
    "tfx.framework.operation": "Operation",
    "tfx.framework.control_dependencies": "control_dependencies group no_op tuple",
    "tfx.framework.tensor": "Tensor is_symbolic_tensor is_tensor",
    "tfx.framework.composite.optional": "OptionalSpec",
    "tfx.framework.composite.type_specs": "type_spec_from_value",
    "tfx.framework.variable": "Variable VariableAggregation VariableSynchronization",
    "tfx.ragged_ops.ragged_tensor": "RaggedTensor",
    "tfx.ragged_ops.ragged_tensor_spec": "RaggedTensorSpec",
    "tfx.sparse_ops.edit_distance": "edit_distance",
    "tfx.sparse_ops.sparse_tensor": "SparseTensor",
    "tfx.sparse_ops.sparse_tensor_spec": "SparseTensorSpec",
    "tfx.autodiff.register_gradient": "RegisterGradient no_gradient",
    "tfx.autodiff.tape": "GradientTape UnconnectedGradients",
    "tfx.control_flow.cond": "cond",
    "tfx.control_flow.case": "case switch_case",
    "tfx.control_flow.while_loop": "while_loop",
    "tfx.control_flow.map_fn": "foldl foldr map_fn scan",
    "tfx.control_flow.tensor_array": "TensorArray TensorArraySpec",
    "tfx.function.gradients.custom_gradient": "custom_gradient grad_pass_through recompute_grad",
    "tfx.function.tracing.function_from_graph": "function_from_graph",
    "tfx.function.tracing.defun": "defun",
    "tfx.function.gradients.symbolic_gradients": "AggregationMethod gradients",
    "tfx.function.tracing.input_signature": "PYTHON_VALUE TRACE_ON_NEW_VALUE",
    "tfx.function.tracing.function": "function",
    "tfx.script_ops.py_function": "numpy_function py_function",
    "tfx.ops.debugging.timestamp": "timestamp",
    "tfx.function.inspection.profile": "profile",
    "tfx.function.inspection.run_metadata": "RunMetadata",
    "tfx.runtime.run_options": "CancellationManager RunOptions",
    "tfx.function.inspection.tap": "tap",
    "tfx.linalg_ops.general_eigen": "eig eigvals",
    "tfx.linalg_ops.matrix_square_root": "matrix_square_root",
    "tfx.data.structure": "NoneTensorSpec",
    "tfx.ops.random.index_shuffle": "random_index_shuffle",
    "tfx.importing.gradient": "export_gradient",
    "tfx.importing.model": "import_onnx",
    "tfx.initializers.top_level": """
        constant_initializer ones_initializer random_normal_initializer
        random_uniform_initializer zeros_initializer
    """,
    "tfx.ops.math.derived_arithmetic": "realdiv scalar_mul truncatediv truncatemod",
    "tfx.ops.math.arithmetic": "add add_n divide maximum minimum multiply pow subtract truediv",
    "tfx.ops.debugging.assertions": "Assert assert_equal assert_greater assert_less",
    "tfx.ops.array.space_to_batch": (
        "batch_to_space required_space_to_batch_paddings space_to_batch space_to_batch_nd"
    ),
    "tfx.ops.nn.morphology": "extract_volume_patches",
    "tfx.lookup_ops.hash_buckets": "fingerprint",
    "tfx.summary.tensor_messages": "make_ndarray make_tensor_proto",
    "tfx.ops.common.broadcast_shapes": "broadcast_dynamic_shape broadcast_static_shape",
    "tfx.ops.math.cast": "cast guarantee_const identity identity_n saturate_cast stop_gradient",
    "tfx.ops.math.clip": "clip_by_value",
    "tfx.ops.math.comparison": """
        equal greater greater_equal less less_equal logical_and logical_not logical_or
        logical_xor not_equal
    """,
    "tfx.ops.array.unique": "unique unique_with_counts",
    "tfx.ops.array.creation": "eye fill ones ones_like zeros zeros_like",
    "tfx.ops.math.cumulative": "cumsum",
    "tfx.ops.linalg.einsum": "einsum tensordot",
    "tfx.ops.math.elementwise": "abs exp floor negative round sign sqrt square",
    "tfx.ops.math.argmax": "argmax argmin",
    "tfx.ops.array.gather": "gather gather_nd",
    "tfx.ops.array.concat": "concat parallel_stack split stack unstack",
    "tfx.ops.array.transpose": "reverse reverse_sequence roll transpose",
    "tfx.ops.linalg.matmul": "matmul",
    "tfx.ops.nn.softmax": "sigmoid",
    "tfx.ops.array.where": "boolean_mask where",
    "tfx.ops.array.shape": "ensure_shape rank shape shape_n size",
    "tfx.linalg_ops.norms": "norm",
    "tfx.ops.linalg.norms": "clip_by_global_norm clip_by_norm",
    "tfx.ops.array.ravel_index": "unravel_index",
    "tfx.ops.array.one_hot": "one_hot",
    "tfx.ops.array.pad": "pad",
    "tfx.ops.array.ranges": "linspace range",
    "tfx.ops.array.partition": """
        dynamic_partition dynamic_stitch histogram_fixed_width histogram_fixed_width_bins
    """,
    "tfx.ops.debugging.print": "print",
    "tfx.ops.math.reduction": """
        reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod
        reduce_sum
    """,
    "tfx.ops.math.bitcast": "bitcast",
    "tfx.ops.math.complex_parts": "complex",
    "tfx.ops.array.tile": "meshgrid repeat sequence_mask tile",
    "tfx.ops.array.scatter": """
        scatter_nd tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min
        tensor_scatter_nd_sub tensor_scatter_nd_update
    """,
    "tfx.ops.array.reshape": "broadcast_to expand_dims reshape squeeze",
    "tfx.ops.array.slice": "slice strided_slice",
    "tfx.ops.array.sort": "argsort searchsorted sort",
    "tfx.ops.debugging.static_assertions": "assert_rank",
    "tfx.ops.array.static_value": "get_static_value",
    "tfx.ops.strings.python_strings": "as_string",
    "tfx.ops.signal.fourier": "fftnd ifftnd irfftnd rfftnd",
    "tfx.compat.v1.graph.graph_class": "Graph",
    "tfx.vectorize.hessian": "hessians",
    "tfx.vectorize.vectorized_map": "vectorized_map",
    "tfx.ops.math.trigonometry": """
        acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh
    """,
}

NAMES: dict[str, str] = {name: module for module, names in _TABLE.items() for name in names.split()}
