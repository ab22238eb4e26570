"""``tfx.compat.v1``: TensorFlow 1's names.

``import tfx.compat.v1 as tf`` and ``tf.disable_eager_execution()`` run TensorFlow 1 programs;
``tfx.compat.v1.wrap_function`` brings their functions into TensorFlow 2 programs. Names that
TensorFlow 1 does not have otherwise are those of ``tfx`` and ``tfx.math``.
"""

from __future__ import annotations

from tfx.compat.name_table import namespace

__getattr__, __dir__ = namespace(
    __name__,
    {
        "tfx.autodiff.register_gradient": "NoGradient=no_gradient NotDifferentiable=no_gradient",
        "tfx.framework.operation": "Operation",
        "tfx.ops.nn.softmax": "log_sigmoid",
        "tfx.compat.v1.variables.assign_functions": """
            assign assign_add assign_sub scatter_add scatter_sub scatter_update scatter_mul
            scatter_div scatter_max scatter_min scatter_nd_add scatter_nd_sub scatter_nd_update
        """,
        "tfx.compat.v1.graph.collections": "GraphKeys",
        "tfx.compat.v1.graph.default_graph": """
            disable_eager_execution enable_eager_execution executing_eagerly_outside_functions
            get_default_graph reset_default_graph set_random_seed
            disable_v2_behavior=disable_eager_execution enable_v2_behavior=enable_eager_execution
        """,
        "tfx.compat.v1.graph.graph_class": "Graph",
        "tfx.compat.v1.ops.grouping": "control_dependencies group no_op tuple",
        "tfx.compat.v1.variables.initializer_classes": """
            constant_initializer=Constant glorot_normal_initializer=GlorotNormal
            glorot_uniform_initializer=GlorotUniform ones_initializer=Ones
            random_normal_initializer=RandomNormal random_uniform_initializer=RandomUniform
            truncated_normal_initializer=TruncatedNormal
            variance_scaling_initializer=VarianceScaling zeros_initializer=Zeros
        """,
        "tfx.compat.v1.variables.initialization": """
            add_to_collection add_to_collections all_variables assert_variables_initialized
            get_collection get_collection_ref global_variables global_variables_initializer
            initialize_all_variables initialize_local_variables initialize_variables
            is_variable_initialized local_variables local_variables_initializer model_variables
            moving_average_variables report_uninitialized_variables tables_initializer
            trainable_variables variables_initializer
        """,
        "tfx.framework.indexed_slices": "IndexedSlicesValue",
        "tfx.ops.array.indexed_slices": "convert_to_tensor_or_indexed_slices",
        "tfx.compat.v1.graph.name_scopes": "name_scope op_scope",
        "tfx.compat.v1.ops.array_ops": """
            arg_max arg_min argmax argmin constant expand_dims multinomial random_normal
            random_shuffle random_uniform squeeze to_bfloat16 to_double to_float to_int32 to_int64
            truncated_normal where
        """,
        "tfx.compat.v1.ops.control_flow": "cond while_loop",
        "tfx.ops.linalg.norms": "global_norm",
        "tfx.ops.array.where": "where_v2=where",
        "tfx.ops.array.ranges": "lin_space=linspace",
        "tfx.core.dimension": """
            Dimension dimension_at_index dimension_value disable_v2_tensorshape
            enable_v2_tensorshape
        """,
        "tfx.core.version": "VERSION __version__=VERSION",
        "tfx.graph.serialization.protos": "GraphDef",
        "tfx.version": "COMPILER_VERSION GIT_VERSION",
        "tfx.ops.linalg.diagonals": "diag=tensor_diag diag_part=tensor_diag_part",
        "tfx.compat.v1.session.config": "ConfigProto GPUOptions",
        "tfx.compat.v1.variables.template": "make_template",
        "tfx.compat.v1.ops.older_names": "Print div py_func",
        "tfx.compat.v1.ops.math_ops": """
            reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod
            reduce_sum
        """,
        "tfx.compat.v1.graph.placeholders": "placeholder placeholder_with_default",
        "tfx.compat.v1.session.session": "InteractiveSession Session get_default_session",
        "tfx.compat.v1.switches": """
            control_flow_v2_enabled disable_control_flow_v2 disable_resource_variables
            disable_tensor_equality enable_control_flow_v2 enable_resource_variables
            enable_tensor_equality resource_variables_enabled
        """,
        "tfx.compat.v1.graph.graph_def": "import_graph_def",
        "tfx.compat.v1.variables.scopes": """
            AUTO_REUSE VariableScope get_local_variable get_variable get_variable_scope
            no_regularizer variable_scope
        """,
        "tfx.compat.v1.variables.variable_v1": "Variable",
        "tfx.compat.v1.wrapped_functions": "wrap_function",
    },
    submodules=(
        "app",
        "debugging",
        "flags",
        "initializers",
        "logging",
        "losses",
        "nn",
        "random",
        "saved_model",
        "summary",
        "train",
    ),
    others=("tfx", "tfx.math", "tfx.debugging"),
)
