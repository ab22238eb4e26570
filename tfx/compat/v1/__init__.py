"""``tfx.compat.v1``: TensorFlow 1's names.

``import tfx.compat.v1 as tf`` and ``tf.disable_eager_execution()`` run TensorFlow 1 programs;
``tfx.compat.v1.wrap_function`` brings their functions into TensorFlow 2 programs. Names that
TensorFlow 1 does not have otherwise are those of ``tfx`` and ``tfx.math``.
"""

from __future__ import annotations

from typing import Any

from tfx.core.lazy_namespaces import fetch, lazy_namespace

_known, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.autodiff.register_gradient": "NoGradient=no_gradient NotDifferentiable=no_gradient",
        "tfx.framework.operation": "Operation",
        "tfx.ops.nn.softmax": "log_sigmoid",
        "tfx.compat.v1.variables.assign_functions": """
            assign assign_add assign_sub count_up_to scatter_add scatter_sub scatter_update
            scatter_mul scatter_div scatter_max scatter_min scatter_nd_add scatter_nd_sub
            scatter_nd_update
        """,
        "tfx.compat.v1.graph.collections": "GraphKeys",
        "tfx.compat.v1.input_pipeline.readers": """
            FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader
            WholeFileReader
        """,
        "tfx.compat.v1.graph.default_graph": """
            disable_eager_execution enable_eager_execution executing_eagerly_outside_functions
            get_default_graph reset_default_graph set_random_seed disable_v2_behavior
            enable_v2_behavior
        """,
        "tfx.compat.v1.graph.graph_class": "Graph",
        "tfx.compat.v1.ops.grouping": "control_dependencies group no_op tuple",
        "tfx.compat.v1.variables.initializer_classes": """
            constant_initializer=Constant glorot_normal_initializer=GlorotNormal
            glorot_uniform_initializer=GlorotUniform ones_initializer=Ones
            orthogonal_initializer=Orthogonal uniform_unit_scaling_initializer=UniformUnitScaling
            random_normal_initializer=RandomNormal random_uniform_initializer=RandomUniform
            truncated_normal_initializer=TruncatedNormal
            variance_scaling_initializer=VarianceScaling zeros_initializer=Zeros
        """,
        "tfx.compat.v1.variables.initialization": """
            add_to_collection add_to_collections all_variables assert_variables_initialized
            get_collection get_collection_ref global_variables global_variables_initializer
            initialize_all_tables=tables_initializer initialize_all_variables
            initialize_local_variables initialize_variables
            is_variable_initialized local_variables local_variables_initializer model_variables
            moving_average_variables report_uninitialized_variables tables_initializer
            trainable_variables variables_initializer
        """,
        "tfx.framework.composite.indexed_slices": "IndexedSlicesValue",
        "tfx.sparse_ops.sparse_tensor": "SparseTensorValue",
        "tfx.summary.event_pb2": """
            Event HistogramProto LogMessage SessionLog Summary SummaryMetadata=Metadata
        """,
        "tfx.ops.array.indexed_slices": "convert_to_tensor_or_indexed_slices",
        "tfx.compat.v1.graph.name_scopes": "name_scope op_scope",
        "tfx.compat.v1.ops.array_ops": """
            arg_max arg_min argmax argmin constant expand_dims multinomial random_normal
            random_shuffle random_uniform squeeze to_bfloat16 to_complex128 to_complex64 to_double
            to_float to_int32 to_int64 truncated_normal where
        """,
        "tfx.compat.v1.ops.control_flow": "cond while_loop",
        "tfx.compat.v1.ops.argument_orders": """
            assert_equal assert_none_equal assert_less assert_less_equal assert_greater
            assert_greater_equal assert_positive assert_negative assert_non_positive
            assert_non_negative assert_near assert_rank assert_rank_at_least assert_rank_in
            assert_scalar batch_to_space boolean_mask confusion_matrix convert_to_tensor
            count_nonzero decode_csv decode_raw depth_to_space extract_image_patches gather
            gather_nd gradients hessians norm ones_like pad parse_example parse_single_example
            parse_single_sequence_example quantize_v2 random_poisson reduce_join reverse_sequence
            serialize_many_sparse serialize_sparse shape size space_to_batch space_to_depth
            sparse_add sparse_concat sparse_reduce_max sparse_reduce_sum sparse_segment_mean
            sparse_segment_sqrt_n sparse_segment_sum string_to_hash_bucket string_to_number
            substr transpose verify_tensor_all_finite zeros_like
        """,
        "tfx.core.errors": "OpError",
        "tfx.linalg_ops.lu": "matrix_determinant=det",
        "tfx.linalg_ops.qr": "matrix_solve_ls=lstsq qr",
        "tfx.linalg_ops.matrix_square_root": "matrix_square_root=sqrtm",
        "tfx.linalg_ops.eigen": "self_adjoint_eig=eigh self_adjoint_eigvals=eigvalsh svd",
        "tfx.linalg_ops.triangular": """
            cholesky cholesky_solve matrix_triangular_solve=triangular_solve
        """,
        "tfx.linalg_ops.solve": "matrix_inverse=inv matrix_solve=solve",
        "tfx.ops.linalg.diagonals": """
            cross diag=tensor_diag diag_part=tensor_diag_part matrix_band_part=band_part
            matrix_diag=diag matrix_diag_part=diag_part matrix_set_diag=set_diag trace
        """,
        "tfx.ops.linalg.matmul": "matrix_transpose",
        "tfx.ops.array.space_to_batch": """
            batch_to_space_nd=batch_to_space space_to_batch_nd=space_to_batch
        """,
        "tfx.ops.math.arithmetic": "floor_div=floordiv",
        "tfx.ops.math.error_functions": "div_no_nan=divide_no_nan",
        "tfx.ops.array.transpose": "reverse_v2=reverse",
        "tfx.ops.array.scatter": """
            tensor_scatter_add=tensor_scatter_nd_add tensor_scatter_sub=tensor_scatter_nd_sub
            tensor_scatter_update=tensor_scatter_nd_update
        """,
        "tfx.ops.image.geometry": "random_crop",
        "tfx.ops.random.random": "random_gamma=gamma",
        "tfx.ops.io.files": "decode_base64 encode_base64 matching_files read_file write_file",
        "tfx.ops.io.tensor_proto": "parse_tensor serialize_tensor",
        "tfx.ops.strings.strings": "string_join=join",
        "tfx.ops.strings.python_strings": "regex_replace string_strip=strip",
        "tfx.lookup_ops.hash_buckets": """
            string_to_hash_bucket_fast=to_hash_bucket_fast
            string_to_hash_bucket_strong=to_hash_bucket_strong
        """,
        "tfx.ops.linalg.norms": "clip_by_average_norm global_norm",
        "tfx.ops.array.where": "where_v2=where",
        "tfx.ops.array.ranges": "lin_space=linspace",
        "tfx.core.dimension": "Dimension dimension_at_index dimension_value",
        "tfx.compat.v1.graph.old_shapes": "disable_v2_tensorshape enable_v2_tensorshape",
        "tfx.core.version": "VERSION __version__=VERSION",
        "tfx.graph.serialization.protos": "GraphDef",
        "tfx.version": "COMPILER_VERSION GIT_VERSION",
        "tfx.compat.v1.session.config_pb2": """
            ConfigProto GPUOptions GraphOptions OptimizerOptions
        """,
        "tfx.compat.v1.variables.template": "make_template",
        "tfx.compat.v1.ops.older_names": "Print div py_func sparse_to_dense",
        "tfx.compat.v1.ops.few_uses": """
            batch_gather colocate_with container device
            convert_to_tensor_or_sparse_tensor setdiff1d
        """,
        "tfx.compat.v1.ops.sparse_functions": """
            sparse_matmul sparse_merge sparse_placeholder sparse_reduce_max_sparse
            sparse_reduce_sum_sparse sparse_split string_split
        """,
        "tfx.nn_ops.quantization": "dequantize quantize",
        "tfx.nn_ops.fake_quantization": """
            fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient
            fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient
            fake_quant_with_min_max_vars_per_channel
            fake_quant_with_min_max_vars_per_channel_gradient
        """,
        "tfx.ops.signal.fourier": """
            fft fft2d fft3d fftnd ifft ifft2d ifft3d ifftnd irfftnd rfftnd
        """,
        "tfx.parsing.decode_compressed": "decode_compressed",
        "tfx.parsing.decode_json_example": "decode_json_example",
        "tfx.parsing.features": """
            FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature
        """,
        "tfx.script_ops.queues": """
            FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue
        """,
        "tfx.sparse_ops.arrangement": """
            sparse_mask=mask sparse_reorder=reorder sparse_reset_shape=reset_shape
            sparse_reshape=reshape sparse_retain=retain sparse_slice=slice
            sparse_transpose=transpose
        """,
        "tfx.sparse_ops.conversion": """
            sparse_tensor_to_dense=to_dense sparse_to_indicator=to_indicator
        """,
        "tfx.sparse_ops.elementwise": """
            sparse_maximum=maximum sparse_minimum=minimum sparse_softmax=softmax
        """,
        "tfx.sparse_ops.matmul": "sparse_tensor_dense_matmul=sparse_dense_matmul",
        "tfx.sparse_ops.rows": "sparse_fill_empty_rows=fill_empty_rows",
        "tfx.sparse_ops.serialized": "deserialize_many_sparse",
        "tfx.compat.v1.ops.math_ops": """
            reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod
            reduce_sum
        """,
        "tfx.compat.v1.graph.placeholders": "placeholder placeholder_with_default",
        "tfx.compat.v1.graph.default_session": "get_default_session",
        "tfx.compat.v1.session.session": "InteractiveSession Session",
        "tfx.compat.v1.graph.switches": """
            control_flow_v2_enabled disable_control_flow_v2 disable_resource_variables
            disable_tensor_equality enable_control_flow_v2 enable_resource_variables
            enable_tensor_equality resource_variables_enabled
        """,
        "tfx.compat.v1.graph.import_graph_def": "import_graph_def",
        "tfx.compat.v1.variables.scopes": """
            AUTO_REUSE VariableScope get_local_variable get_variable get_variable_scope
            no_regularizer variable_op_scope variable_scope
        """,
        "tfx.compat.v1.variables.create_partitioned": "create_partitioned_variables",
        "tfx.compat.v1.variables.partitioned": "PartitionedVariable",
        "tfx.compat.v1.variables.partitioners": """
            fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner
        """,
        "tfx.compat.v1.variables.variable_v1": "Variable",
        "tfx.compat.v1.graph.wrapped_functions": "wrap_function",
    },
    submodules=(
        "app",
        "data",
        "debugging",
        "feature_column",
        "flags",
        "gfile",
        "graph_util",
        "image",
        "initializers",
        "io",
        "layers",
        "linalg",
        "logging",
        "losses",
        "manip",
        "math",
        "metrics",
        "nn",
        "python_io",
        "random",
        "resource_loader",
        "saved_model",
        "sets",
        "sparse",
        "spectral",
        "strings",
        "summary",
        "test",
        "train",
    ),
    adapt="tfx.compat.v1.graph.effects",
    others=("tfx", "tfx.math", "tfx.debugging"),
)


def __getattr__(name: str) -> Any:
    # Not listed, as they are not in ``tfx``: Keras may not be installed.
    return fetch("tfx", name) if name in ("keras", "__operators__") else _known(name)
