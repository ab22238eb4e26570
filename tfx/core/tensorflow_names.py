"""The public names of TensorFlow 2.21.0, by namespace.

Those of its version 1 are below ``compat.v1``. Written by tools/gen_tensorflow_names.py. A name
that tfx does not have is a mistake, or one of these: see ``namespaces``.
"""

# fmt: off
from __future__ import annotations

NAMES: dict[str, str] = {
    "": """
    AggregationMethod Assert CriticalSection DType DeviceSpec GradientTape Graph IndexedSlices
    IndexedSlicesSpec Module NoneTensorSpec Operation OptionalSpec RaggedTensor RaggedTensorSpec
    RegisterGradient SparseTensor SparseTensorSpec Tensor TensorArray TensorArraySpec TensorShape
    TensorSpec TypeSpec UnconnectedGradients Variable VariableAggregation VariableSynchronization
    abs acos acosh add add_n approx_top_k argmax argmin argsort as_dtype as_string asin asinh
    assert_equal assert_greater assert_less assert_rank atan atan2 atanh audio autodiff autograph
    batch_to_space bfloat16 bitcast bitwise bool boolean_mask broadcast_dynamic_shape
    broadcast_static_shape broadcast_to case cast check_pinned clip_by_global_norm clip_by_norm
    clip_by_value compat complex complex128 complex64 concat cond config constant
    constant_initializer control_dependencies conv conv2d_backprop_filter_v2
    conv2d_backprop_input_v2 convert_to_tensor cos cosh cumsum custom_gradient data debugging
    device distribute divide double dtypes dynamic_partition dynamic_stitch edit_distance eig
    eigvals einsum ensure_shape equal errors executing_eagerly exp expand_dims experimental
    extract_volume_patches eye feature_column fftnd fill fingerprint float16 float32 float64 floor
    foldl foldr function gather gather_nd get_current_name_scope get_logger get_static_value
    grad_pass_through gradients graph_util greater greater_equal group guarantee_const half
    hessians histogram_fixed_width histogram_fixed_width_bins identity identity_n ifftnd image
    import_graph_def init_scope initializers inside_function int16 int32 int64 int8 io irfftnd
    is_symbolic_tensor is_tensor keras less less_equal linalg linspace lite load_library
    load_op_library logical_and logical_not logical_or lookup losses make_ndarray
    make_tensor_proto map_fn math matmul matrix_square_root maximum meshgrid metrics minimum mlir
    multiply name_scope negative nest newaxis nn no_gradient no_op
    nondifferentiable_batch_function norm not_equal numpy_function one_hot ones ones_initializer
    ones_like optimizers pad parallel_stack pow print profiler py_function qint16 qint32 qint8
    quantization queue quint16 quint8 ragged ragged_fill_empty_rows ragged_fill_empty_rows_grad
    random random_index_shuffle random_normal_initializer random_uniform_initializer range rank
    raw_ops realdiv recompute_grad reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean
    reduce_min reduce_prod reduce_sum register_tensor_conversion_function repeat
    required_space_to_batch_paddings reshape resource reverse reverse_sequence rfftnd roll round
    saturate_cast saved_model scalar_mul scan scatter_nd searchsorted sequence_mask sets shape
    shape_n sigmoid sign signal sin sinh size slice sort space_to_batch space_to_batch_nd sparse
    split sqrt square squeeze stack stop_gradient strided_slice string strings subtract summary
    switch_case sysconfig tan tanh tensor_scatter_nd_add tensor_scatter_nd_max
    tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensordot test tile
    timestamp tpu train transpose truediv truncatediv truncatemod tuple type_spec_from_value types
    uint16 uint32 uint64 uint8 unique unique_with_counts unravel_index unstack
    variable_creator_scope variant vectorized_map version where while_loop xla zeros
    zeros_initializer zeros_like
""",
    "audio": """
    decode_wav encode_wav
""",
    "autodiff": """
    ForwardAccumulator GradientTape
""",
    "autograph": """
    experimental set_verbosity to_code to_graph trace
""",
    "autograph.experimental": """
    Feature do_not_convert set_loop_options
""",
    "bitwise": """
    bitwise_and bitwise_or bitwise_xor invert left_shift right_shift
""",
    "compat": """
    as_bytes as_str as_str_any as_text bytes_or_text_types complex_types dimension_at_index
    dimension_value forward_compatibility_horizon forward_compatible integral_types path_to_str
    real_types v1 v2
""",
    "compat.v1": """
    AUTO_REUSE AttrValue COMPILER_VERSION CXX11_ABI_FLAG CXX_VERSION ConditionalAccumulator
    ConditionalAccumulatorBase ConfigProto Dimension Event FIFOQueue FixedLenFeature
    FixedLenSequenceFeature FixedLengthRecordReader GIT_VERSION GPUOptions GRAPH_DEF_VERSION
    GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER GraphDef GraphKeys GraphOptions
    HistogramProto IdentityReader InteractiveSession LMDBReader LogMessage MONOLITHIC_BUILD
    MetaGraphDef NameAttrList NoGradient NodeDef NotDifferentiable OpError OptimizerOptions
    PaddingFIFOQueue Print PriorityQueue QUANTIZED_DTYPES QueueBase RandomShuffleQueue ReaderBase
    RunMetadata RunOptions Session SessionLog SparseConditionalAccumulator SparseFeature
    SparseTensorValue Summary SummaryMetadata TFRecordReader TensorInfo TextLineReader VERSION
    VarLenFeature VariableScope WholeFileReader accumulate_n add_check_numerics_ops
    add_to_collection add_to_collections all_variables angle app arg_max arg_min
    assert_greater_equal assert_integer assert_less_equal assert_near assert_negative
    assert_non_negative assert_non_positive assert_none_equal assert_positive
    assert_proper_iterable assert_rank_at_least assert_rank_in assert_same_float_dtype
    assert_scalar assert_type assert_variables_initialized assign assign_add assign_sub
    batch_gather batch_scatter_update batch_to_space_nd betainc bincount ceil check_numerics
    cholesky cholesky_solve clip_by_average_norm colocate_with confusion_matrix conj container
    control_flow_v2_enabled convert_to_tensor_or_indexed_slices convert_to_tensor_or_sparse_tensor
    count_nonzero count_up_to create_partitioned_variables cross cumprod decode_base64
    decode_compressed decode_csv decode_json_example decode_raw delete_session_tensor
    depth_to_space dequantize deserialize_many_sparse diag diag_part digamma dimension_at_index
    dimension_value disable_control_flow_v2 disable_eager_execution disable_resource_variables
    disable_tensor_equality disable_v2_behavior disable_v2_tensorshape distributions div
    div_no_nan enable_control_flow_v2 enable_eager_execution enable_resource_variables
    enable_tensor_equality enable_v2_behavior enable_v2_tensorshape encode_base64 erf erfc
    executing_eagerly_outside_functions expm1 extract_image_patches fake_quant_with_min_max_args
    fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
    fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
    fake_quant_with_min_max_vars_per_channel_gradient fft fft2d fft3d fixed_size_partitioner flags
    floor_div floordiv floormod get_collection get_collection_ref get_default_graph
    get_default_session get_local_variable get_seed get_session_handle get_session_tensor
    get_variable get_variable_scope gfile global_norm global_variables
    global_variables_initializer glorot_normal_initializer glorot_uniform_initializer ifft ifft2d
    ifft3d igamma igammac imag initialize_all_tables initialize_all_variables
    initialize_local_variables initialize_variables invert_permutation is_finite is_inf is_nan
    is_non_decreasing is_numeric_tensor is_strictly_increasing is_variable_initialized layers
    lbeta lgamma lin_space load_file_system_library local_variables local_variables_initializer
    log log1p log_sigmoid logging logical_xor make_template manip matching_files matrix_band_part
    matrix_determinant matrix_diag matrix_diag_part matrix_inverse matrix_set_diag matrix_solve
    matrix_solve_ls matrix_transpose matrix_triangular_solve min_max_variable_partitioner
    mixed_precision mod model_variables moving_average_variables multinomial no_regularizer
    op_scope orthogonal_initializer parse_example parse_single_example
    parse_single_sequence_example parse_tensor placeholder placeholder_with_default polygamma
    py_func python_io qr quantize quantize_v2 quantized_concat random_crop random_gamma
    random_normal random_poisson random_shuffle random_uniform read_file real reciprocal
    reduce_join regex_replace report_uninitialized_variables reset_default_graph resource_loader
    resource_variables_enabled reverse_v2 rint rsqrt scatter_add scatter_div scatter_max
    scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub
    scatter_update segment_max segment_mean segment_min segment_prod segment_sum self_adjoint_eig
    self_adjoint_eigvals serialize_many_sparse serialize_sparse serialize_tensor set_random_seed
    setdiff1d space_to_depth sparse_add sparse_concat sparse_fill_empty_rows sparse_mask
    sparse_matmul sparse_maximum sparse_merge sparse_minimum sparse_placeholder sparse_reduce_max
    sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse sparse_reorder
    sparse_reset_shape sparse_reshape sparse_retain sparse_segment_mean sparse_segment_sqrt_n
    sparse_segment_sum sparse_slice sparse_softmax sparse_split sparse_tensor_dense_matmul
    sparse_tensor_to_dense sparse_to_dense sparse_to_indicator sparse_transpose spectral
    squared_difference string_join string_split string_strip string_to_hash_bucket
    string_to_hash_bucket_fast string_to_hash_bucket_strong string_to_number substr svd
    tables_initializer tensor_scatter_add tensor_scatter_sub tensor_scatter_update to_bfloat16
    to_complex128 to_complex64 to_double to_float to_int32 to_int64 trace trainable_variables
    truncated_normal truncated_normal_initializer uniform_unit_scaling_initializer
    unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod
    unsorted_segment_sqrt_n unsorted_segment_sum user_ops variable_axis_size_partitioner
    variable_op_scope variable_scope variables_initializer variance_scaling_initializer
    verify_tensor_all_finite where_v2 wrap_function write_file zeta
""",
    "compat.v1.app": """
    flags run
""",
    "compat.v1.data": """
    get_output_classes get_output_shapes get_output_types make_initializable_iterator
    make_one_shot_iterator
""",
    "compat.v1.data.experimental": """
    DatasetStructure OptionalStructure RaggedTensorStructure SparseTensorStructure Structure
    TensorArrayStructure TensorStructure map_and_batch_with_legacy_function
""",
    "compat.v1.debugging": """
    is_finite is_inf is_nan is_non_decreasing is_strictly_increasing
""",
    "compat.v1.distribute": """
    get_loss_reduction
""",
    "compat.v1.distributions": """
    Bernoulli Beta Categorical Dirichlet DirichletMultinomial Distribution Exponential
    FULLY_REPARAMETERIZED Gamma Laplace Multinomial NOT_REPARAMETERIZED Normal RegisterKL
    ReparameterizationType StudentT Uniform kl_divergence
""",
    "compat.v1.dtypes": """
    as_string
""",
    "compat.v1.errors": """
    error_code_from_exception_type exception_type_from_error_code raise_exception_on_not_ok_status
""",
    "compat.v1.experimental": """
    output_all_intermediates
""",
    "compat.v1.feature_column": """
    input_layer linear_model shared_embedding_columns
""",
    "compat.v1.gfile": """
    Copy DeleteRecursively Exists FastGFile GFile Glob IsDirectory ListDirectory MakeDirs MkDir
    Open Remove Rename Stat Walk
""",
    "compat.v1.graph_util": """
    convert_variables_to_constants extract_sub_graph must_run_on_cpu remove_training_nodes
    tensor_shape_from_node_def_name
""",
    "compat.v1.image": """
    extract_image_patches resize_area resize_bicubic resize_bilinear resize_image_with_crop_or_pad
    resize_image_with_pad resize_images resize_nearest_neighbor transpose_image
""",
    "compat.v1.initializers": """
    constant global_variables glorot_normal glorot_uniform he_normal he_uniform identity
    lecun_normal lecun_uniform local_variables ones orthogonal random_normal random_uniform
    tables_initializer truncated_normal uniform_unit_scaling variables variance_scaling zeros
""",
    "compat.v1.io": """
    PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue TFRecordCompressionType
    tf_record_iterator
""",
    "compat.v1.linalg": """
    transpose
""",
    "compat.v1.lite": """
    OpHint TocoConverter constants toco_convert
""",
    "compat.v1.lite.constants": """
    FLOAT FLOAT16 GRAPHVIZ_DOT INT16 INT32 INT64 INT8 QUANTIZED_UINT8 STRING TFLITE
""",
    "compat.v1.lite.experimental": """
    convert_op_hints_to_stubs
""",
    "compat.v1.logging": """
    DEBUG ERROR FATAL INFO TaskLevelStatusMessage WARN debug error fatal flush get_verbosity info
    log log_every_n log_first_n log_if set_verbosity vlog warn warning
""",
    "compat.v1.losses": """
    Reduction absolute_difference add_loss compute_weighted_loss cosine_distance get_losses
    get_regularization_loss get_regularization_losses get_total_loss hinge_loss huber_loss
    log_loss mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy
    softmax_cross_entropy sparse_softmax_cross_entropy
""",
    "compat.v1.manip": """
    batch_to_space_nd gather_nd reshape reverse roll scatter_nd space_to_batch_nd tile
""",
    "compat.v1.metrics": """
    accuracy auc average_precision_at_k false_negatives false_negatives_at_thresholds
    false_positives false_positives_at_thresholds mean mean_absolute_error mean_cosine_distance
    mean_iou mean_per_class_accuracy mean_relative_error mean_squared_error mean_tensor
    percentage_below precision precision_at_k precision_at_thresholds precision_at_top_k recall
    recall_at_k recall_at_thresholds recall_at_top_k root_mean_squared_error
    sensitivity_at_specificity sparse_average_precision_at_k sparse_precision_at_k
    specificity_at_sensitivity true_negatives true_negatives_at_thresholds true_positives
    true_positives_at_thresholds
""",
    "compat.v1.mixed_precision": """
    DynamicLossScale FixedLossScale LossScale MixedPrecisionLossScaleOptimizer
    disable_mixed_precision_graph_rewrite enable_mixed_precision_graph_rewrite experimental
""",
    "compat.v1.mixed_precision.experimental": """
    DynamicLossScale FixedLossScale LossScale
""",
    "compat.v1.nn": """
    avg_pool_v2 bidirectional_dynamic_rnn conv2d_backprop_filter conv2d_backprop_input
    conv3d_backprop_filter conv3d_backprop_filter_v2 ctc_beam_search_decoder_v2 ctc_loss_v2
    depthwise_conv2d_native depthwise_conv2d_native_backprop_filter
    depthwise_conv2d_native_backprop_input dynamic_rnn fused_batch_norm
    log_uniform_candidate_sampler max_pool_v2 quantized_avg_pool quantized_conv2d
    quantized_max_pool quantized_relu_x raw_rnn relu_layer rnn_cell
    softmax_cross_entropy_with_logits_v2 static_bidirectional_rnn static_rnn
    static_state_saving_rnn uniform_candidate_sampler xw_plus_b
""",
    "compat.v1.profiler": """
    AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto ProfileOptionBuilder Profiler advise
    profile write_op_log
""",
    "compat.v1.python_io": """
    TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator
""",
    "compat.v1.ragged": """
    RaggedTensorValue constant_value placeholder
""",
    "compat.v1.random": """
    get_seed multinomial set_random_seed stateless_multinomial
""",
    "compat.v1.resource_loader": """
    get_data_files_path get_path_to_datafile get_root_dir_with_all_resources load_resource
    readahead_file_path
""",
    "compat.v1.saved_model": """
    Builder LEGACY_INIT_OP_KEY MAIN_OP_KEY build_signature_def build_tensor_info builder
    classification_signature_def constants get_tensor_from_tensor_info is_valid_signature load_v2
    loader main_op main_op_with_restore maybe_saved_model_directory predict_signature_def
    regression_signature_def signature_constants signature_def_utils simple_save tag_constants
    utils
""",
    "compat.v1.saved_model.builder": """
    SavedModelBuilder
""",
    "compat.v1.saved_model.constants": """
    ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY
    MAIN_OP_KEY SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION
    VARIABLES_DIRECTORY VARIABLES_FILENAME
""",
    "compat.v1.saved_model.experimental": """
    save
""",
    "compat.v1.saved_model.loader": """
    load maybe_saved_model_directory
""",
    "compat.v1.saved_model.main_op": """
    main_op main_op_with_restore
""",
    "compat.v1.saved_model.signature_constants": """
    CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES
    DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS
    REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS
""",
    "compat.v1.saved_model.signature_def_utils": """
    MethodNameUpdater build_signature_def classification_signature_def is_valid_signature
    predict_signature_def regression_signature_def
""",
    "compat.v1.saved_model.tag_constants": """
    GPU SERVING TPU TRAINING
""",
    "compat.v1.saved_model.utils": """
    build_tensor_info get_tensor_from_tensor_info
""",
    "compat.v1.sets": """
    set_difference set_intersection set_size set_union
""",
    "compat.v1.sparse": """
    SparseConditionalAccumulator matmul merge placeholder reduce_max_sparse reduce_sum_sparse
""",
    "compat.v1.spectral": """
    dct fft fft2d fft3d idct ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d
""",
    "compat.v1.summary": """
    Event FileWriter FileWriterCache SessionLog Summary SummaryDescription TaggedRunMetadata
    all_v2_summary_ops get_summary_description initialize merge merge_all tensor_summary
""",
    "compat.v1.test": """
    StubOutForTesting compute_gradient_error get_temp_dir test_src_dir_path
""",
    "compat.v1.tpu": """
    CrossShardOptimizer PaddingSpec batch_parallel bfloat16_scope core cross_replica_sum
    initialize_system outside_compilation replicate rewrite shard shutdown_system
""",
    "compat.v1.tpu.experimental": """
    embedding_column shared_embedding_columns
""",
    "compat.v1.train": """
    AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer CheckpointSaverHook
    CheckpointSaverListener ChiefSessionCreator FeedFnHook FinalOpsHook FtrlOptimizer
    GlobalStepWaiterHook GradientDescentOptimizer LoggingTensorHook LooperThread MomentumOptimizer
    MonitoredSession MonitoredTrainingSession NanLossDuringTrainingError NanTensorHook
    NewCheckpointReader Optimizer ProfilerHook ProximalAdagradOptimizer
    ProximalGradientDescentOptimizer QueueRunner RMSPropOptimizer Saver SaverDef Scaffold
    SecondOrStepTimer Server SessionCreator SessionManager SessionRunArgs SessionRunContext
    SessionRunHook SessionRunValues SingularMonitoredSession StepCounterHook StopAtStepHook
    SummarySaverHook Supervisor SyncReplicasOptimizer VocabInfo WorkerSessionCreator
    add_queue_runner assert_global_step basic_train_loop batch batch_join checkpoint_exists
    cosine_decay cosine_decay_restarts create_global_step do_quantize_training_on_graphdef
    exponential_decay export_meta_graph generate_checkpoint_state_proto get_checkpoint_mtimes
    get_global_step get_or_create_global_step global_step import_meta_graph init_from_checkpoint
    input_producer inverse_time_decay limit_epochs linear_cosine_decay match_filenames_once
    maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join natural_exp_decay
    noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay polynomial_decay
    queue_runner range_input_producer remove_checkpoint replica_device_setter sdca_fprint
    sdca_optimizer sdca_shrink_l1 shuffle_batch shuffle_batch_join slice_input_producer
    start_queue_runners string_input_producer summary_iterator update_checkpoint_state warm_start
    write_graph
""",
    "compat.v1.train.experimental": """
    DynamicLossScale FixedLossScale LossScale MixedPrecisionLossScaleOptimizer
    disable_mixed_precision_graph_rewrite enable_mixed_precision_graph_rewrite
""",
    "compat.v1.train.queue_runner": """
    QueueRunner add_queue_runner start_queue_runners
""",
    "compat.v1.user_ops": """
    my_fact
""",
    "config": """
    LogicalDevice LogicalDeviceConfiguration PhysicalDevice experimental
    experimental_connect_to_cluster experimental_connect_to_host
    experimental_functions_run_eagerly experimental_run_functions_eagerly functions_run_eagerly
    get_logical_device_configuration get_soft_device_placement get_visible_devices
    list_logical_devices list_physical_devices optimizer run_functions_eagerly
    set_logical_device_configuration set_soft_device_placement set_visible_devices threading
""",
    "config.experimental": """
    ClusterDeviceFilters VirtualDeviceConfiguration disable_mlir_bridge enable_mlir_bridge
    enable_op_determinism enable_tensor_float_32_execution get_device_details get_device_policy
    get_memory_growth get_memory_info get_memory_usage get_synchronous_execution
    get_virtual_device_configuration get_visible_devices list_logical_devices
    list_physical_devices reset_memory_stats set_device_policy set_memory_growth
    set_synchronous_execution set_virtual_device_configuration set_visible_devices
    tensor_float_32_execution_enabled
""",
    "config.optimizer": """
    get_experimental_options get_jit set_experimental_options set_jit
""",
    "config.threading": """
    get_inter_op_parallelism_threads get_intra_op_parallelism_threads
    set_inter_op_parallelism_threads set_intra_op_parallelism_threads
""",
    "data": """
    AUTOTUNE Dataset DatasetSpec FixedLengthRecordDataset INFINITE_CARDINALITY Iterator
    IteratorSpec NumpyIterator Options TFRecordDataset TextLineDataset ThreadingOptions
    UNKNOWN_CARDINALITY experimental
""",
    "data.experimental": """
    AUTOTUNE AutoShardPolicy AutotuneAlgorithm AutotuneOptions Counter CsvDataset
    DatasetInitializer DistributeOptions ExternalStatePolicy INFINITE_CARDINALITY
    OptimizationOptions Optional RandomDataset Reducer SHARD_HINT ServiceOptions SqlDataset
    TFRecordWriter ThreadingOptions UNKNOWN_CARDINALITY assert_cardinality at
    bucket_by_sequence_length cardinality choose_from_datasets copy_to_device
    dense_to_ragged_batch dense_to_sparse_batch distributed_save enable_debug_mode
    enumerate_dataset from_list from_variant get_model_proto get_next_as_optional
    get_single_element get_structure group_by_reducer group_by_window ignore_errors
    index_table_from_dataset load make_batched_features_dataset make_csv_dataset
    make_saveable_from_iterator map_and_batch pad_to_cardinality parallel_interleave
    parse_example_dataset prefetch_to_device rejection_resample sample_from_datasets save scan
    service shuffle_and_repeat snapshot table_from_dataset take_while to_variant unbatch unique
""",
    "data.experimental.service": """
    CrossTrainerCache DispatchServer DispatcherConfig ShardingPolicy WorkerConfig WorkerServer
    distribute from_dataset_id register_dataset
""",
    "debugging": """
    Assert assert_all_finite assert_equal assert_greater assert_greater_equal assert_integer
    assert_less assert_less_equal assert_near assert_negative assert_non_negative
    assert_non_positive assert_none_equal assert_positive assert_proper_iterable assert_rank
    assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_shapes
    assert_type check_numerics disable_check_numerics disable_traceback_filtering
    enable_check_numerics enable_traceback_filtering experimental get_log_device_placement
    is_numeric_tensor is_traceback_filtering_enabled set_log_device_placement
""",
    "debugging.experimental": """
    disable_dump_debug_info enable_dump_debug_info
""",
    "distribute": """
    CrossDeviceOps DistributedDataset DistributedIterator DistributedValues
    HierarchicalCopyAllReduce InputContext InputOptions InputReplicationMode MirroredStrategy
    MultiWorkerMirroredStrategy NcclAllReduce OneDeviceStrategy ParameterServerStrategy ReduceOp
    ReductionToOneDevice ReplicaContext RunOptions Server Strategy StrategyExtended TPUStrategy
    cluster_resolver coordinator experimental experimental_set_strategy get_replica_context
    get_strategy has_strategy in_cross_replica_context
""",
    "distribute.cluster_resolver": """
    ClusterResolver GCEClusterResolver KubernetesClusterResolver KubernetesExecutableLocation
    SimpleClusterResolver SlurmClusterResolver TFConfigClusterResolver TPUClusterResolver
    UnionResolver
""",
    "distribute.coordinator": """
    ClusterCoordinator PerWorkerValue RemoteValue experimental_get_current_worker_index
""",
    "distribute.experimental": """
    CentralStorageStrategy CollectiveCommunication CollectiveHints CommunicationImplementation
    CommunicationOptions MultiWorkerMirroredStrategy ParameterServerStrategy
    PreemptionCheckpointHandler PreemptionWatcher TPUStrategy TerminationConfig ValueContext
    coordinator partitioners rpc
""",
    "distribute.experimental.coordinator": """
    ClusterCoordinator PerWorkerValues RemoteValue
""",
    "distribute.experimental.partitioners": """
    FixedShardsPartitioner MaxSizePartitioner MinSizePartitioner Partitioner
""",
    "distribute.experimental.rpc": """
    Client Server
""",
    "dtypes": """
    DType QUANTIZED_DTYPES as_dtype bfloat16 bool cast complex complex128 complex64 double
    experimental float16 float32 float64 half int16 int32 int64 int8 qint16 qint32 qint8 quint16
    quint8 resource saturate_cast string uint16 uint32 uint64 uint8 variant
""",
    "dtypes.experimental": """
    float4_e2m1fn float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
    int2 int4 uint2 uint4
""",
    "errors": """
    ABORTED ALREADY_EXISTS AbortedError AlreadyExistsError CANCELLED CancelledError DATA_LOSS
    DEADLINE_EXCEEDED DataLossError DeadlineExceededError FAILED_PRECONDITION
    FailedPreconditionError INTERNAL INVALID_ARGUMENT InternalError InvalidArgumentError NOT_FOUND
    NotFoundError OK OUT_OF_RANGE OpError OperatorNotAllowedInGraphError OutOfRangeError
    PERMISSION_DENIED PermissionDeniedError RESOURCE_EXHAUSTED ResourceExhaustedError
    UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN UnauthenticatedError UnavailableError
    UnimplementedError UnknownError
""",
    "experimental": """
    BatchableExtensionType DynamicRaggedShape ExtensionType ExtensionTypeBatchEncoder
    ExtensionTypeSpec Optional RowPartition StructuredTensor async_clear_error async_scope
    dispatch_for_api dispatch_for_binary_elementwise_apis
    dispatch_for_binary_elementwise_assert_apis dispatch_for_unary_elementwise_apis dlpack dtensor
    enable_strict_mode extension_type float4_e2m1fn float8_e4m3b11fnuz float8_e4m3fn
    float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz function_executor_type int2 int4 numpy
    register_filesystem_plugin tensorrt uint2 uint4 unregister_dispatch_for
""",
    "experimental.dlpack": """
    from_dlpack to_dlpack
""",
    "experimental.dtensor": """
    DTensorCheckpoint DTensorDataset DVariable Layout MATCH Mesh UNSHARDED barrier
    call_with_layout check_layout client_id copy_to_mesh create_distributed_mesh create_mesh
    create_tpu_mesh default_mesh device_name enable_save_as_bf16 fetch_layout full_job_name
    get_default_mesh heartbeat_enabled initialize_accelerator_system initialize_multi_client
    initialize_tpu_system is_dtensor job_name jobs local_devices name_based_restore
    name_based_save num_clients num_global_devices num_local_devices pack preferred_device_type
    relayout relayout_like run_on sharded_save shutdown_accelerator_system shutdown_tpu_system
    unpack
""",
    "experimental.extension_type": """
    as_dict
""",
    "experimental.numpy": """
    abs absolute add all allclose amax amin angle any append arange arccos arccosh arcsin arcsinh
    arctan arctan2 arctanh argmax argmin argsort around array array_equal asanyarray asarray
    ascontiguousarray atleast_1d atleast_2d atleast_3d average bitwise_and bitwise_not bitwise_or
    bitwise_xor bool_ broadcast_arrays broadcast_to cbrt ceil clip complex128 complex64 complex_
    compress concatenate conj conjugate copy cos cosh count_nonzero cross cumprod cumsum deg2rad
    diag diag_indices diagflat diagonal diff divide divmod dot dsplit dstack e einsum empty
    empty_like equal exp exp2 expand_dims experimental_enable_numpy_behavior expm1 eye fabs finfo
    fix flatten flip fliplr flipud float16 float32 float64 float_ float_power floor floor_divide
    full full_like gcd geomspace greater greater_equal heaviside hsplit hstack hypot identity
    iinfo imag inexact inf inner int16 int32 int64 int8 int_ isclose iscomplex iscomplexobj
    isfinite isinf isnan isneginf isposinf isreal isrealobj isscalar issubdtype ix_ kron lcm less
    less_equal linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
    logical_or logical_xor logspace matmul max maximum mean meshgrid min minimum mod moveaxis
    multiply nanmean nanprod nansum ndarray ndim negative newaxis nextafter nonzero not_equal
    object_ ones ones_like outer pad pi polyval positive power prod promote_types ptp rad2deg
    random ravel real reciprocal remainder repeat reshape result_type roll rot90 round select
    shape sign signbit sin sinc sinh size sort split sqrt square squeeze stack std string_
    subtract sum swapaxes take take_along_axis tan tanh tensordot tile trace transpose tri tril
    triu true_divide uint16 uint32 uint64 uint8 unicode_ vander var vdot vsplit vstack where zeros
    zeros_like
""",
    "experimental.numpy.random": """
    poisson rand randint randn random seed standard_normal uniform
""",
    "experimental.tensorrt": """
    ConversionParams Converter
""",
    "feature_column": """
    bucketized_column categorical_column_with_hash_bucket categorical_column_with_identity
    categorical_column_with_vocabulary_file categorical_column_with_vocabulary_list crossed_column
    embedding_column indicator_column make_parse_example_spec numeric_column
    sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity
    sequence_categorical_column_with_vocabulary_file
    sequence_categorical_column_with_vocabulary_list sequence_numeric_column shared_embeddings
    weighted_categorical_column
""",
    "graph_util": """
    import_graph_def
""",
    "image": """
    ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality
    adjust_saturation central_crop combined_non_max_suppression convert_image_dtype
    crop_and_resize crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif decode_image
    decode_jpeg decode_jxl decode_png decode_webp draw_bounding_boxes encode_jpeg encode_png
    extract_glimpse extract_jpeg_shape extract_patches flip_left_right flip_up_down
    generate_bounding_box_proposals grayscale_to_rgb hsv_to_rgb image_gradients is_jpeg
    non_max_suppression non_max_suppression_overlaps non_max_suppression_padded
    non_max_suppression_with_scores pad_to_bounding_box per_image_standardization psnr
    random_brightness random_contrast random_crop random_flip_left_right random_flip_up_down
    random_hue random_jpeg_quality random_saturation resize resize_with_crop_or_pad
    resize_with_pad rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90
    sample_distorted_bounding_box sobel_edges ssim ssim_multiscale stateless_random_brightness
    stateless_random_contrast stateless_random_crop stateless_random_flip_left_right
    stateless_random_flip_up_down stateless_random_hue stateless_random_jpeg_quality
    stateless_random_saturation stateless_sample_distorted_bounding_box total_variation transpose
    yiq_to_rgb yuv_to_rgb
""",
    "io": """
    FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature TFRecordOptions
    TFRecordWriter VarLenFeature decode_and_crop_jpeg decode_base64 decode_bmp decode_compressed
    decode_csv decode_gif decode_image decode_jpeg decode_json_example decode_jxl decode_png
    decode_proto decode_raw decode_webp deserialize_many_sparse encode_base64 encode_jpeg
    encode_png encode_proto extract_jpeg_shape gfile is_jpeg match_filenames_once matching_files
    parse_example parse_sequence_example parse_single_example parse_single_sequence_example
    parse_tensor read_file serialize_many_sparse serialize_sparse serialize_tensor write_file
    write_graph
""",
    "io.gfile": """
    GFile copy exists get_registered_schemes glob isdir join listdir makedirs mkdir remove rename
    rmtree stat walk
""",
    "linalg": """
    LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag
    LinearOperatorBlockLowerTriangular LinearOperatorCirculant LinearOperatorCirculant2D
    LinearOperatorCirculant3D LinearOperatorComposition LinearOperatorDiag
    LinearOperatorFullMatrix LinearOperatorHouseholder LinearOperatorIdentity
    LinearOperatorInversion LinearOperatorKronecker LinearOperatorLowRankUpdate
    LinearOperatorLowerTriangular LinearOperatorPermutation LinearOperatorScaledIdentity
    LinearOperatorToeplitz LinearOperatorTridiag LinearOperatorZeros adjoint band_part
    banded_triangular_solve cholesky cholesky_solve cross det diag diag_part eig eigh
    eigh_tridiagonal eigvals eigvalsh einsum experimental expm eye global_norm inv l2_normalize
    logdet logm lstsq lu lu_matrix_inverse lu_reconstruct lu_solve matmul matrix_rank
    matrix_transpose matvec norm normalize pinv qr set_diag slogdet solve sqrtm svd tensor_diag
    tensor_diag_part tensordot trace triangular_solve tridiagonal_matmul tridiagonal_solve
""",
    "linalg.experimental": """
    conjugate_gradient
""",
    "lite": """
    Interpreter OpsSet Optimize RepresentativeDataset TFLiteConverter TargetSpec experimental
""",
    "lite.experimental": """
    Analyzer OpResolverType QuantizationDebugOptions QuantizationDebugger authoring load_delegate
""",
    "lite.experimental.authoring": """
    compatible
""",
    "lookup": """
    KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex
    TextFileInitializer experimental
""",
    "lookup.experimental": """
    DenseHashTable MutableHashTable
""",
    "math": """
    abs accumulate_n acos acosh add add_n angle approx_max_k approx_min_k argmax argmin asin asinh
    atan atan2 atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e betainc bincount ceil
    confusion_matrix conj cos cosh count_nonzero cumprod cumsum cumulative_logsumexp digamma
    divide divide_no_nan equal erf erfc erfcinv erfinv exp expm1 floor floordiv floormod greater
    greater_equal igamma igammac imag in_top_k invert_permutation is_finite is_inf is_nan
    is_non_decreasing is_strictly_increasing l2_normalize lbeta less less_equal lgamma log log1p
    log_sigmoid log_softmax logical_and logical_not logical_or logical_xor maximum minimum mod
    multiply multiply_no_nan ndtri negative nextafter not_equal polygamma polyval pow real
    reciprocal reciprocal_no_nan reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp
    reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance rint round
    rsqrt scalar_mul segment_max segment_mean segment_min segment_prod segment_sum sigmoid sign
    sin sinh sobol_sample softmax softplus softsign special sqrt square squared_difference
    subtract tan tanh top_k truediv unsorted_segment_max unsorted_segment_mean
    unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum xdivy
    xlog1py xlogy zero_fraction zeta
""",
    "math.special": """
    bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1
    bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence
""",
    "mlir": """
    experimental
""",
    "mlir.experimental": """
    convert_function convert_graph_def convert_saved_model convert_saved_model_v1
    run_pass_pipeline tflite_to_tosa_bytecode write_bytecode
""",
    "nest": """
    assert_same_structure flatten is_nested map_structure pack_sequence_as
""",
    "nn": """
    RNNCellDeviceWrapper RNNCellDropoutWrapper RNNCellResidualWrapper all_candidate_sampler
    approx_max_k approx_min_k atrous_conv2d atrous_conv2d_transpose avg_pool avg_pool1d avg_pool2d
    avg_pool3d batch_norm_with_global_normalization batch_normalization bias_add collapse_repeated
    compute_accidental_hits compute_average_loss conv1d conv1d_transpose conv2d conv2d_transpose
    conv3d conv3d_transpose conv_transpose convolution crelu ctc_beam_search_decoder
    ctc_greedy_decoder ctc_loss ctc_unique_labels depth_to_space depthwise_conv2d
    depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input dilation2d dropout elu
    embedding_lookup embedding_lookup_sparse erosion2d experimental
    fixed_unigram_candidate_sampler fractional_avg_pool fractional_max_pool gelu in_top_k
    isotonic_regression l2_loss l2_normalize leaky_relu learned_unigram_candidate_sampler
    local_response_normalization log_poisson_loss log_softmax lrn max_pool max_pool1d max_pool2d
    max_pool3d max_pool_with_argmax moments nce_loss normalize_moments pool relu relu6
    safe_embedding_lookup_sparse sampled_softmax_loss scale_regularization_loss selu
    separable_conv2d sigmoid sigmoid_cross_entropy_with_logits silu softmax
    softmax_cross_entropy_with_logits softplus softsign space_to_batch space_to_depth
    sparse_softmax_cross_entropy_with_logits sufficient_statistics swish tanh top_k
    weighted_cross_entropy_with_logits weighted_moments with_space_to_batch zero_fraction
""",
    "nn.experimental": """
    general_dropout stateless_dropout
""",
    "profiler": """
    experimental
""",
    "profiler.experimental": """
    Profile ProfilerOptions Trace client server start stop
""",
    "profiler.experimental.client": """
    monitor trace
""",
    "profiler.experimental.server": """
    start
""",
    "quantization": """
    dequantize experimental fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient
    fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient
    fake_quant_with_min_max_vars_per_channel fake_quant_with_min_max_vars_per_channel_gradient
    quantize quantize_and_dequantize quantize_and_dequantize_v2 quantized_concat
""",
    "quantization.experimental": """
    QuantizationComponentSpec QuantizationMethod QuantizationOptions
    TfRecordRepresentativeDatasetSaver UnitWiseQuantizationSpec quantize_saved_model
""",
    "queue": """
    FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue
""",
    "ragged": """
    boolean_mask constant cross cross_hashed map_flat_values range row_splits_to_segment_ids
    segment_ids_to_row_splits stack stack_dynamic_partitions
""",
    "random": """
    Algorithm Generator all_candidate_sampler categorical create_rng_state experimental
    fixed_unigram_candidate_sampler fold_in gamma get_global_generator
    learned_unigram_candidate_sampler log_uniform_candidate_sampler normal poisson
    set_global_generator set_seed shuffle split stateless_binomial stateless_categorical
    stateless_gamma stateless_normal stateless_parameterized_truncated_normal stateless_poisson
    stateless_truncated_normal stateless_uniform truncated_normal uniform
    uniform_candidate_sampler
""",
    "random.experimental": """
    Algorithm Generator create_rng_state get_global_generator index_shuffle set_global_generator
    stateless_fold_in stateless_shuffle stateless_split
""",
    "raw_ops": """
    Abort Abs AccumulateNV2 AccumulatorApplyGradient AccumulatorNumAccumulated
    AccumulatorSetGlobalStep AccumulatorTakeGradient Acos Acosh Add AddManySparseToTensorsMap AddN
    AddSparseToTensorsMap AddV2 AdjustContrast AdjustContrastv2 AdjustHue AdjustSaturation All
    AllCandidateSampler AllToAll Angle AnonymousHashTable AnonymousIterator AnonymousIteratorV2
    AnonymousIteratorV3 AnonymousMemoryCache AnonymousMultiDeviceIterator
    AnonymousMultiDeviceIteratorV3 AnonymousMutableDenseHashTable AnonymousMutableHashTable
    AnonymousMutableHashTableOfTensors AnonymousRandomSeedGenerator AnonymousSeedGenerator Any
    ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdam ApplyAddSign
    ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyPowerSign
    ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp ApproxTopK ApproximateEqual
    ArgMax ArgMin AsString Asin Asinh Assert AssertCardinalityDataset AssertNextDataset
    AssertPrevDataset Assign AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp
    AssignVariableOp AssignVariableXlaConcatND Atan Atan2 Atanh AudioSpectrogram AudioSummary
    AudioSummaryV2 AutoShardDataset AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad
    BandedTriangularSolve Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany
    BarrierReadySize BarrierTakeMany Batch BatchCholesky BatchCholeskyGrad BatchDataset
    BatchDatasetV2 BatchFFT BatchFFT2D BatchFFT3D BatchFunction BatchIFFT BatchIFFT2D BatchIFFT3D
    BatchMatMul BatchMatMulV2 BatchMatMulV3 BatchMatrixBandPart BatchMatrixDeterminant
    BatchMatrixDiag BatchMatrixDiagPart BatchMatrixInverse BatchMatrixSetDiag BatchMatrixSolve
    BatchMatrixSolveLs BatchMatrixTriangularSolve BatchNormWithGlobalNormalization
    BatchNormWithGlobalNormalizationGrad BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd
    BatchToSpace BatchToSpaceND BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0
    BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Betainc BiasAdd BiasAddGrad BiasAddV1 Bincount
    Bitcast BitwiseAnd BitwiseOr BitwiseXor BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2
    BoostedTreesAggregateStats BoostedTreesBucketize BoostedTreesCalculateBestFeatureSplit
    BoostedTreesCalculateBestFeatureSplitV2 BoostedTreesCalculateBestGainsPerFeature
    BoostedTreesCenterBias BoostedTreesCreateEnsemble BoostedTreesCreateQuantileStreamResource
    BoostedTreesDeserializeEnsemble BoostedTreesEnsembleResourceHandleOp
    BoostedTreesExampleDebugOutputs BoostedTreesFlushQuantileSummaries
    BoostedTreesGetEnsembleStates BoostedTreesMakeQuantileSummaries BoostedTreesMakeStatsSummary
    BoostedTreesPredict BoostedTreesQuantileStreamResourceAddSummaries
    BoostedTreesQuantileStreamResourceDeserialize BoostedTreesQuantileStreamResourceFlush
    BoostedTreesQuantileStreamResourceGetBucketBoundaries
    BoostedTreesQuantileStreamResourceHandleOp BoostedTreesSerializeEnsemble
    BoostedTreesSparseAggregateStats BoostedTreesSparseCalculateBestFeatureSplit
    BoostedTreesTrainingPredict BoostedTreesUpdateEnsemble BoostedTreesUpdateEnsembleV2
    BroadcastArgs BroadcastGradientArgs BroadcastTo Bucketize BytesProducedStatsDataset
    CSRSparseMatrixComponents CSRSparseMatrixToDense CSRSparseMatrixToSparseTensor CSVDataset
    CSVDatasetV2 CTCBeamSearchDecoder CTCGreedyDecoder CTCLoss CTCLossV2 CacheDataset
    CacheDatasetV2 Case Cast Ceil CheckNumerics CheckNumericsV2 CheckPinned Cholesky CholeskyGrad
    ChooseFastestBranchDataset ChooseFastestDataset ClipByValue CloseSummaryWriter
    CollectiveAllToAllV2 CollectiveAllToAllV3 CollectiveAssignGroupV2 CollectiveBcastRecv
    CollectiveBcastRecvV2 CollectiveBcastSend CollectiveBcastSendV2 CollectiveGather
    CollectiveGatherV2 CollectiveInitializeCommunicator CollectivePermute CollectiveReduce
    CollectiveReduceScatterV2 CollectiveReduceV2 CollectiveReduceV3 CombinedNonMaxSuppression
    Complex ComplexAbs CompositeTensorVariantFromComponents CompositeTensorVariantToComponents
    CompressElement ComputeAccidentalHits ComputeBatchSize Concat ConcatOffset ConcatV2
    ConcatenateDataset ConditionalAccumulator ConfigureDistributedTPU ConfigureTPUEmbedding Conj
    ConjugateTranspose Const ConsumeMutexLock ControlTrigger Conv Conv2D Conv2DBackpropFilter
    Conv2DBackpropFilterV2 Conv2DBackpropInput Conv2DBackpropInputV2 Conv3D Conv3DBackpropFilter
    Conv3DBackpropFilterV2 Conv3DBackpropInput Conv3DBackpropInputV2 ConvertToCooTensor
    ConvertToListOfSparseCoreCooTensors ConvertToSparseCoreCsrWrappedCooTensor Copy CopyHost Cos
    Cosh CountUpTo CreateSummaryDbWriter CreateSummaryFileWriter CropAndResize
    CropAndResizeGradBoxes CropAndResizeGradImage Cross CrossReplicaSum CudnnRNN CudnnRNNBackprop
    CudnnRNNBackpropV2 CudnnRNNBackpropV3 CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2
    CudnnRNNParamsSize CudnnRNNParamsToCanonical CudnnRNNParamsToCanonicalV2 CudnnRNNV2 CudnnRNNV3
    Cumprod Cumsum CumulativeLogsumexp DataFormatDimMap DataFormatVecPermute DataServiceDataset
    DataServiceDatasetV2 DataServiceDatasetV3 DataServiceDatasetV4 DatasetCardinality
    DatasetFingerprint DatasetFromGraph DatasetToGraph DatasetToGraphV2 DatasetToSingleElement
    DatasetToTFRecord Dawsn DebugGradientIdentity DebugGradientRefIdentity DebugIdentity
    DebugIdentityV2 DebugIdentityV3 DebugNanCount DebugNumericSummary DebugNumericSummaryV2
    DecodeAndCropJpeg DecodeBase64 DecodeBmp DecodeCSV DecodeCompressed DecodeGif DecodeImage
    DecodeJSONExample DecodeJpeg DecodeJxl DecodePaddedRaw DecodePng DecodeProtoV2 DecodeRaw
    DecodeWav DecodeWebP DeepCopy DeleteIterator DeleteMemoryCache DeleteMultiDeviceIterator
    DeleteRandomSeedGenerator DeleteSeedGenerator DeleteSessionTensor DenseBincount
    DenseCountSparseOutput DenseToCSRSparseMatrix DenseToDenseSetOperation
    DenseToSparseBatchDataset DenseToSparseSetOperation DepthToSpace DepthwiseConv2dNative
    DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Dequantize
    DeserializeIterator DeserializeManySparse DeserializeSparse DestroyResourceOp
    DestroyTemporaryVariable DeviceIndex Diag DiagPart Digamma Dilation2D Dilation2DBackpropFilter
    Dilation2DBackpropInput DirectedInterleaveDataset DisableCopyOnRead DistributedSave Div
    DivNoNan DrawBoundingBoxes DrawBoundingBoxesV2 DummyIterationCounter DummyMemoryCache
    DummySeedGenerator DynamicEnqueueTPUEmbeddingArbitraryTensorBatch
    DynamicEnqueueTPUEmbeddingRaggedTensorBatch DynamicPartition DynamicStitch EagerPyFunc
    EditDistance Eig Einsum Elu EluGrad Empty EmptyTensorList EmptyTensorMap EncodeBase64
    EncodeJpeg EncodeJpegVariableQuality EncodePng EncodeProto EncodeWav
    EnqueueTPUEmbeddingArbitraryTensorBatch EnqueueTPUEmbeddingIntegerBatch
    EnqueueTPUEmbeddingRaggedTensorBatch EnqueueTPUEmbeddingSparseBatch
    EnqueueTPUEmbeddingSparseTensorBatch EnsureShape Enter Equal Erf Erfc Erfinv EuclideanNorm
    Exit Exp ExpandDims ExperimentalAssertNextDataset ExperimentalAutoShardDataset
    ExperimentalBytesProducedStatsDataset ExperimentalCSVDataset ExperimentalChooseFastestDataset
    ExperimentalDatasetCardinality ExperimentalDatasetToTFRecord
    ExperimentalDenseToSparseBatchDataset ExperimentalDirectedInterleaveDataset
    ExperimentalGroupByReducerDataset ExperimentalGroupByWindowDataset
    ExperimentalIgnoreErrorsDataset ExperimentalIteratorGetDevice ExperimentalLMDBDataset
    ExperimentalLatencyStatsDataset ExperimentalMapAndBatchDataset ExperimentalMapDataset
    ExperimentalMatchingFilesDataset ExperimentalMaxIntraOpParallelismDataset
    ExperimentalNonSerializableDataset ExperimentalParallelInterleaveDataset
    ExperimentalParseExampleDataset ExperimentalPrivateThreadPoolDataset ExperimentalRandomDataset
    ExperimentalRebatchDataset ExperimentalScanDataset ExperimentalSetStatsAggregatorDataset
    ExperimentalSleepDataset ExperimentalSlidingWindowDataset ExperimentalSqlDataset
    ExperimentalStatsAggregatorHandle ExperimentalStatsAggregatorSummary
    ExperimentalTakeWhileDataset ExperimentalThreadPoolDataset ExperimentalThreadPoolHandle
    ExperimentalUnbatchDataset ExperimentalUniqueDataset Expint Expm1 ExtractGlimpse
    ExtractGlimpseV2 ExtractImagePatches ExtractJpegShape ExtractVolumePatches FFT FFT2D FFT3D
    FFTND FIFOQueue FIFOQueueV2 Fact FakeParam FakeQuantWithMinMaxArgs
    FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient
    FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient FakeQueue
    FileSystemSetConfiguration Fill FilterByLastComponentDataset FilterDataset FinalizeDataset
    Fingerprint FixedLengthRecordDataset FixedLengthRecordDatasetV2 FixedLengthRecordReader
    FixedLengthRecordReaderV2 FixedUnigramCandidateSampler FlatMapDataset Floor FloorDiv FloorMod
    FlushSummaryWriter For FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool
    FractionalMaxPoolGrad FresnelCos FresnelSin FusedBatchNorm FusedBatchNormGrad
    FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 FusedPadConv2D
    FusedResizeAndPadConv2D GRUBlockCell GRUBlockCellGrad Gather GatherNd GatherV2
    GenerateBoundingBoxProposals GenerateVocabRemapping GeneratorDataset GetElementAtIndex
    GetMinibatchSplitsWithPhysicalReplica GetMinibatchesInCsrWithPhysicalReplica GetOptions
    GetSessionHandle GetSessionHandleV2 GetSessionTensor GetStatsFromListOfSparseCoreCooTensors
    GlobalIterId GlobalShuffleDataset Greater GreaterEqual GroupByReducerDataset
    GroupByWindowDataset GuaranteeConst HSVToRGB HashTable HashTableV2 HistogramFixedWidth
    HistogramSummary IFFT IFFT2D IFFT3D IFFTND IRFFT IRFFT2D IRFFT3D IRFFTND Identity IdentityN
    IdentityReader IdentityReaderV2 If Igamma IgammaGradA Igammac IgnoreErrorsDataset Imag
    ImageProjectiveTransformV2 ImageProjectiveTransformV3 ImageSummary ImmutableConst ImportEvent
    InTopK InTopKV2 IndexFlatMapDataset InfeedDequeue InfeedDequeueTuple InfeedEnqueue
    InfeedEnqueuePrelinearizedBuffer InfeedEnqueueTuple InitializeTable InitializeTableFromDataset
    InitializeTableFromTextFile InitializeTableFromTextFileV2 InitializeTableV2 InplaceAdd
    InplaceSub InplaceUpdate InterleaveDataset Inv InvGrad Invert InvertPermutation
    IsBoostedTreesEnsembleInitialized IsBoostedTreesQuantileStreamResourceInitialized IsFinite
    IsInf IsNan IsTPUEmbeddingInitialized IsVariableInitialized IsotonicRegression Iterator
    IteratorFromStringHandle IteratorFromStringHandleV2 IteratorGetDevice IteratorGetModelProto
    IteratorGetNext IteratorGetNextAsOptional IteratorGetNextSync IteratorToStringHandle
    IteratorV2 KMC2ChainInitialization KmeansPlusPlusInitialization L2Loss LMDBDataset LMDBReader
    LRN LRNGrad LSTMBlockCell LSTMBlockCellGrad LatencyStatsDataset LeakyRelu LeakyReluGrad
    LearnedUnigramCandidateSampler LeftShift LegacyParallelInterleaveDatasetV2 Less LessEqual
    Lgamma LinSpace ListDataset ListDiff ListSnapshotChunksDataset LoadAndRemapMatrix LoadDataset
    LoadTPUEmbeddingADAMParameters LoadTPUEmbeddingAdadeltaParameters
    LoadTPUEmbeddingAdagradMomentumParameters LoadTPUEmbeddingAdagradParameters
    LoadTPUEmbeddingCenteredRMSPropParameters LoadTPUEmbeddingFTRLParameters
    LoadTPUEmbeddingFrequencyEstimatorParameters LoadTPUEmbeddingMDLAdagradLightParameters
    LoadTPUEmbeddingMomentumParameters LoadTPUEmbeddingProximalAdagradParameters
    LoadTPUEmbeddingProximalYogiParameters LoadTPUEmbeddingRMSPropParameters
    LoadTPUEmbeddingStochasticGradientDescentParameters Log Log1p LogMatrixDeterminant LogSoftmax
    LogUniformCandidateSampler LogicalAnd LogicalNot LogicalOr LookupTableExport
    LookupTableExportV2 LookupTableFind LookupTableFindV2 LookupTableImport LookupTableImportV2
    LookupTableInsert LookupTableInsertV2 LookupTableRemoveV2 LookupTableSize LookupTableSizeV2
    LoopCond LowerBound Lu MakeIterator MapAndBatchDataset MapClear MapDataset MapDefun
    MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey MatMul MatchingFiles
    MatchingFilesDataset MatrixBandPart MatrixDeterminant MatrixDiag MatrixDiagPart
    MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixExponential MatrixInverse
    MatrixLogarithm MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixSolve MatrixSolveLs
    MatrixSquareRoot MatrixTriangularSolve Max MaxIntraOpParallelismDataset MaxPool MaxPool3D
    MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2
    MaxPoolGradGradWithArgmax MaxPoolGradV2 MaxPoolGradWithArgmax MaxPoolV2 MaxPoolWithArgmax
    Maximum Mean Merge MergeSummary MergeV2Checkpoints Mfcc Min Minimum MirrorPad MirrorPadGrad
    Mod ModelDataset Mul MulNoNan MultiDeviceIterator MultiDeviceIteratorFromStringHandle
    MultiDeviceIteratorGetNextFromShard MultiDeviceIteratorInit MultiDeviceIteratorToStringHandle
    Multinomial MutableDenseHashTable MutableDenseHashTableV2 MutableHashTable
    MutableHashTableOfTensors MutableHashTableOfTensorsV2 MutableHashTableV2 MutexLock MutexV2
    NcclAllReduce NcclBroadcast NcclReduce Ndtri NearestNeighbors Neg NextAfter NextIteration NoOp
    NonDeterministicInts NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3
    NonMaxSuppressionV4 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps NonSerializableDataset
    NotEqual NthElement OneHot OneShotIterator OnesLike OptimizeDataset OptimizeDatasetV2
    OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone OptionsDataset
    OrderedMapClear OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage
    OrderedMapUnstage OrderedMapUnstageNoKey OutfeedDequeue OutfeedDequeueTuple
    OutfeedDequeueTupleV2 OutfeedDequeueV2 OutfeedEnqueue OutfeedEnqueueTuple Pack Pad PadV2
    PaddedBatchDataset PaddedBatchDatasetV2 PaddingFIFOQueue PaddingFIFOQueueV2
    ParallelBatchDataset ParallelConcat ParallelDynamicStitch ParallelFilterDataset
    ParallelInterleaveDataset ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3
    ParallelInterleaveDatasetV4 ParallelMapDataset ParallelMapDatasetV2
    ParameterizedTruncatedNormal ParseExample ParseExampleDataset ParseExampleDatasetV2
    ParseExampleV2 ParseSequenceExample ParseSequenceExampleV2 ParseSingleExample
    ParseSingleSequenceExample ParseTensor PartitionedCall Placeholder PlaceholderV2
    PlaceholderWithDefault Polygamma PopulationCount Pow PrefetchDataset Prelinearize
    PrelinearizeTuple PreventGradient Print PrintV2 PriorityQueue PriorityQueueV2
    PrivateThreadPoolDataset Prod PyFunc PyFuncStateless Qr QuantizeAndDequantize
    QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4
    QuantizeAndDequantizeV4Grad QuantizeDownAndShrinkRange QuantizeV2 QuantizedAdd
    QuantizedAvgPool QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConcat
    QuantizedConv2D QuantizedConv2DAndRelu QuantizedConv2DAndReluAndRequantize
    QuantizedConv2DAndRequantize QuantizedConv2DPerChannel QuantizedConv2DWithBias
    QuantizedConv2DWithBiasAndRelu QuantizedConv2DWithBiasAndReluAndRequantize
    QuantizedConv2DWithBiasAndRequantize QuantizedConv2DWithBiasSignedSumAndReluAndRequantize
    QuantizedConv2DWithBiasSumAndRelu QuantizedConv2DWithBiasSumAndReluAndRequantize
    QuantizedDepthwiseConv2D QuantizedDepthwiseConv2DWithBias
    QuantizedDepthwiseConv2DWithBiasAndRelu QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize
    QuantizedInstanceNorm QuantizedMatMul QuantizedMatMulWithBias
    QuantizedMatMulWithBiasAndDequantize QuantizedMatMulWithBiasAndRelu
    QuantizedMatMulWithBiasAndReluAndRequantize QuantizedMatMulWithBiasAndRequantize
    QuantizedMaxPool QuantizedMul QuantizedRelu QuantizedRelu6 QuantizedReluX QuantizedReshape
    QuantizedResizeBilinear QueueClose QueueCloseV2 QueueDequeue QueueDequeueMany
    QueueDequeueManyV2 QueueDequeueUpTo QueueDequeueUpToV2 QueueDequeueV2 QueueEnqueue
    QueueEnqueueMany QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosed QueueIsClosedV2 QueueSize
    QueueSizeV2 RFFT RFFT2D RFFT3D RFFTND RGBToHSV RaggedBincount RaggedCountSparseOutput
    RaggedCross RaggedFillEmptyRows RaggedFillEmptyRowsGrad RaggedGather RaggedRange
    RaggedTensorFromVariant RaggedTensorToSparse RaggedTensorToTensor RaggedTensorToVariant
    RaggedTensorToVariantGradient RandomCrop RandomDataset RandomDatasetV2 RandomGamma
    RandomGammaGrad RandomIndexShuffle RandomPoisson RandomPoissonV2 RandomShuffle
    RandomShuffleQueue RandomShuffleQueueV2 RandomStandardNormal RandomUniform RandomUniformInt
    Range RangeDataset Rank ReadFile ReadVariableOp ReadVariableXlaSplitND
    ReaderNumRecordsProduced ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompleted
    ReaderNumWorkUnitsCompletedV2 ReaderRead ReaderReadUpTo ReaderReadUpToV2 ReaderReadV2
    ReaderReset ReaderResetV2 ReaderRestoreState ReaderRestoreStateV2 ReaderSerializeState
    ReaderSerializeStateV2 Real RealDiv RebatchDataset RebatchDatasetV2 Reciprocal ReciprocalGrad
    RecordInput Recv RecvTPUEmbeddingActivations ReduceDataset ReduceJoin RefEnter RefExit
    RefIdentity RefMerge RefNextIteration RefSelect RefSwitch RegexFullMatch RegexReplace
    RegisterDataset RegisterDatasetV2 Relu Relu6 Relu6Grad ReluGrad RemoteCall RepeatDataset
    RequantizationRange RequantizationRangePerChannel Requantize RequantizePerChannel Reshape
    ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad
    ResizeNearestNeighbor ResizeNearestNeighborGrad ResourceAccumulatorApplyGradient
    ResourceAccumulatorNumAccumulated ResourceAccumulatorSetGlobalStep
    ResourceAccumulatorTakeGradient ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad
    ResourceApplyAdagradDA ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdamWithAmsgrad
    ResourceApplyAddSign ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2
    ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum
    ResourceApplyPowerSign ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent
    ResourceApplyRMSProp ResourceConditionalAccumulator ResourceCountUpTo ResourceGather
    ResourceGatherNd ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin
    ResourceScatterMul ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin
    ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate
    ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA
    ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl
    ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum
    ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent
    ResourceSparseApplyRMSProp ResourceStridedSliceAssign Restore RestoreSlice RestoreV2
    RetrieveTPUEmbeddingADAMParameters RetrieveTPUEmbeddingAdadeltaParameters
    RetrieveTPUEmbeddingAdagradMomentumParameters RetrieveTPUEmbeddingAdagradParameters
    RetrieveTPUEmbeddingCenteredRMSPropParameters RetrieveTPUEmbeddingFTRLParameters
    RetrieveTPUEmbeddingFrequencyEstimatorParameters RetrieveTPUEmbeddingMDLAdagradLightParameters
    RetrieveTPUEmbeddingMomentumParameters RetrieveTPUEmbeddingProximalAdagradParameters
    RetrieveTPUEmbeddingProximalYogiParameters RetrieveTPUEmbeddingRMSPropParameters
    RetrieveTPUEmbeddingStochasticGradientDescentParameters Reverse ReverseSequence ReverseV2
    RewriteDataset RightShift Rint RngReadAndSkip RngSkip Roll Round Rsqrt RsqrtGrad
    SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 SamplingDataset Save SaveDataset
    SaveDatasetV2 SaveSlices SaveV2 ScalarSummary ScaleAndTranslate ScaleAndTranslateGrad
    ScanDataset ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNd ScatterNdAdd
    ScatterNdMax ScatterNdMin ScatterNdNonAliasingAdd ScatterNdSub ScatterNdUpdate ScatterSub
    ScatterUpdate SdcaFprint SdcaOptimizer SdcaOptimizerV2 SdcaShrinkL1 SegmentMax SegmentMaxV2
    SegmentMean SegmentMin SegmentMinV2 SegmentProd SegmentProdV2 SegmentSum SegmentSumV2 Select
    SelectV2 SelfAdjointEig SelfAdjointEigV2 Selu SeluGrad Send SendTPUEmbeddingGradients
    SerializeIterator SerializeManySparse SerializeSparse SerializeTensor SetSize
    SetStatsAggregatorDataset Shape ShapeN ShardDataset ShardedFilename ShardedFilespec
    ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 ShuffleDataset ShuffleDatasetV2
    ShuffleDatasetV3 ShutdownDistributedTPU Sigmoid SigmoidGrad Sign Sin Sinh Size SkipDataset
    SleepDataset Slice SlidingWindowDataset Snapshot SnapshotChunkDataset SnapshotDataset
    SnapshotDatasetReader SnapshotDatasetV2 SnapshotNestedDatasetReader SobolSample Softmax
    SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad Softsign SoftsignGrad
    SortListOfSparseCoreCooTensors SpaceToBatch SpaceToBatchND SpaceToDepth
    SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient SparseAdd SparseAddGrad
    SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA SparseApplyAdagradV2
    SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum
    SparseApplyProximalAdagrad SparseApplyProximalGradientDescent SparseApplyRMSProp
    SparseBincount SparseConcat SparseConditionalAccumulator SparseCountSparseOutput SparseCross
    SparseCrossHashed SparseCrossV2 SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul
    SparseFillEmptyRows SparseFillEmptyRowsGrad SparseMatMul SparseMatrixAdd SparseMatrixMatMul
    SparseMatrixMul SparseMatrixNNZ SparseMatrixOrderingAMD SparseMatrixSoftmax
    SparseMatrixSoftmaxGrad SparseMatrixSparseCholesky SparseMatrixSparseMatMul
    SparseMatrixTranspose SparseMatrixZeros SparseReduceMax SparseReduceMaxSparse SparseReduceSum
    SparseReduceSumSparse SparseReorder SparseReshape SparseSegmentMean SparseSegmentMeanGrad
    SparseSegmentMeanGradV2 SparseSegmentMeanWithNumSegments SparseSegmentSqrtN
    SparseSegmentSqrtNGrad SparseSegmentSqrtNGradV2 SparseSegmentSqrtNWithNumSegments
    SparseSegmentSum SparseSegmentSumGrad SparseSegmentSumGradV2 SparseSegmentSumWithNumSegments
    SparseSlice SparseSliceGrad SparseSoftmax SparseSoftmaxCrossEntropyWithLogits
    SparseSparseMaximum SparseSparseMinimum SparseSplit SparseTensorDenseAdd
    SparseTensorDenseMatMul SparseTensorSliceDataset SparseTensorToCSRSparseMatrix SparseToDense
    SparseToSparseSetOperation Spence Split SplitV SqlDataset Sqrt SqrtGrad Square
    SquaredDifference Squeeze Stack StackClose StackCloseV2 StackPop StackPopV2 StackPush
    StackPushV2 StackV2 Stage StageClear StagePeek StageSize StatefulPartitionedCall
    StatefulRandomBinomial StatefulStandardNormal StatefulStandardNormalV2 StatefulTruncatedNormal
    StatefulUniform StatefulUniformFullInt StatefulUniformInt StatelessCase StatelessIf
    StatelessMultinomial StatelessParameterizedTruncatedNormal StatelessRandomBinomial
    StatelessRandomGammaV2 StatelessRandomGammaV3 StatelessRandomGetAlg
    StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomNormal
    StatelessRandomNormalV2 StatelessRandomPoisson StatelessRandomUniform
    StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2 StatelessRandomUniformInt
    StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessSampleDistortedBoundingBox
    StatelessShuffle StatelessTruncatedNormal StatelessTruncatedNormalV2 StatelessWhile
    StaticRegexFullMatch StaticRegexReplace StatsAggregatorHandle StatsAggregatorHandleV2
    StatsAggregatorSetSummaryWriter StatsAggregatorSummary StopGradient
    StoreMinibatchStatisticsInFdo StridedSlice StridedSliceAssign StridedSliceGrad StringFormat
    StringJoin StringLength StringLower StringNGrams StringSplit StringSplitV2 StringStrip
    StringToHashBucket StringToHashBucketFast StringToHashBucketStrong StringToNumber StringUpper
    Sub Substr Sum SummaryWriter Svd Switch SymbolicGradient SyncDevice TFRecordDataset
    TFRecordDatasetV2 TFRecordReader TFRecordReaderV2 TPUAnnotateTensorsWithDynamicShape
    TPUCompilationResult TPUCopyWithDynamicShape TPUDummyInput TPUEmbeddingActivations
    TPUOrdinalSelector TPUPartitionedCall TPUPartitionedInput TPUPartitionedInputV2
    TPUPartitionedOutput TPUPartitionedOutputV2 TPUReplicateMetadata TPUReplicatedInput
    TPUReplicatedOutput TakeDataset TakeManySparseFromTensorsMap TakeWhileDataset Tan Tanh
    TanhGrad TemporaryVariable TensorArray TensorArrayClose TensorArrayCloseV2 TensorArrayCloseV3
    TensorArrayConcat TensorArrayConcatV2 TensorArrayConcatV3 TensorArrayGather
    TensorArrayGatherV2 TensorArrayGatherV3 TensorArrayGrad TensorArrayGradV2 TensorArrayGradV3
    TensorArrayGradWithShape TensorArrayPack TensorArrayRead TensorArrayReadV2 TensorArrayReadV3
    TensorArrayScatter TensorArrayScatterV2 TensorArrayScatterV3 TensorArraySize TensorArraySizeV2
    TensorArraySizeV3 TensorArraySplit TensorArraySplitV2 TensorArraySplitV3 TensorArrayUnpack
    TensorArrayV2 TensorArrayV3 TensorArrayWrite TensorArrayWriteV2 TensorArrayWriteV3
    TensorDataset TensorListConcat TensorListConcatLists TensorListConcatV2 TensorListElementShape
    TensorListFromTensor TensorListGather TensorListGetItem TensorListLength TensorListPopBack
    TensorListPushBack TensorListPushBackBatch TensorListReserve TensorListResize
    TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem
    TensorListSplit TensorListStack TensorMapErase TensorMapHasKey TensorMapInsert TensorMapLookup
    TensorMapSize TensorMapStackKeys TensorScatterAdd TensorScatterMax TensorScatterMin
    TensorScatterSub TensorScatterUpdate TensorSliceDataset TensorStridedSliceUpdate TensorSummary
    TensorSummaryV2 TextLineDataset TextLineReader TextLineReaderV2 ThreadPoolDataset
    ThreadPoolHandle ThreadUnsafeUnigramCandidateSampler Tile TileGrad Timestamp ToBool TopK
    TopKV2 Transpose TridiagonalMatMul TridiagonalSolve TruncateDiv TruncateMod TruncatedNormal
    Unbatch UnbatchDataset UnbatchGrad UncompressElement UnicodeDecode UnicodeDecodeWithOffsets
    UnicodeEncode UnicodeScript UnicodeTranscode UniformCandidateSampler UniformDequantize
    UniformQuantize UniformQuantizedAdd UniformQuantizedClipByValue UniformQuantizedConvolution
    UniformQuantizedConvolutionHybrid UniformQuantizedDot UniformQuantizedDotHybrid
    UniformRequantize Unique UniqueDataset UniqueV2 UniqueWithCounts UniqueWithCountsV2 Unpack
    UnravelIndex UnsortedSegmentJoin UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd
    UnsortedSegmentSum Unstage UnwrapDatasetVariant UpperBound VarHandleOp VarIsInitializedOp
    Variable VariableShape VariableV2 WeightedFlatMapDataset Where While WholeFileReader
    WholeFileReaderV2 WindowDataset WindowOp WorkerHeartbeat WrapDatasetVariant WriteAudioSummary
    WriteFile WriteGraphSummary WriteHistogramSummary WriteImageSummary WriteRawProtoSummary
    WriteScalarSummary WriteSummary Xdivy XlaConcatND XlaSparseCoreAdagrad
    XlaSparseCoreAdagradMomentum XlaSparseCoreAdam XlaSparseCoreFtrl XlaSparseCoreSgd
    XlaSparseDenseMatmul XlaSparseDenseMatmulCustomCombinerOnTcGradWithAdagradAndCsrInput
    XlaSparseDenseMatmulCustomCombinerOnTcGradWithAdagradMomentumAndCsrInput
    XlaSparseDenseMatmulCustomCombinerOnTcGradWithAdamAndCsrInput
    XlaSparseDenseMatmulCustomCombinerOnTcGradWithCsrInput
    XlaSparseDenseMatmulCustomCombinerOnTcGradWithFtrlAndCsrInput
    XlaSparseDenseMatmulCustomCombinerOnTcGradWithSgdAndCsrInput
    XlaSparseDenseMatmulCustomCombinerOnTcWithCsrInput
    XlaSparseDenseMatmulGradWithAdagradAndCsrInput
    XlaSparseDenseMatmulGradWithAdagradAndStaticBufferSize
    XlaSparseDenseMatmulGradWithAdagradMomentumAndCsrInput
    XlaSparseDenseMatmulGradWithAdagradMomentumAndStaticBufferSize
    XlaSparseDenseMatmulGradWithAdamAndCsrInput
    XlaSparseDenseMatmulGradWithAdamAndStaticBufferSize XlaSparseDenseMatmulGradWithCsrInput
    XlaSparseDenseMatmulGradWithFtrlAndCsrInput
    XlaSparseDenseMatmulGradWithFtrlAndStaticBufferSize XlaSparseDenseMatmulGradWithSgdAndCsrInput
    XlaSparseDenseMatmulGradWithSgdAndStaticBufferSize XlaSparseDenseMatmulWithCsrInput
    XlaSparseDenseMatmulWithStaticBufferSize XlaSplitND Xlog1py Xlogy ZerosLike Zeta ZipDataset
""",
    "saved_model": """
    ASSETS_DIRECTORY ASSETS_KEY Asset CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES
    CLASSIFY_OUTPUT_SCORES DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB
    DEFAULT_SERVING_SIGNATURE_DEF_KEY GPU LoadOptions PREDICT_INPUTS PREDICT_METHOD_NAME
    PREDICT_OUTPUTS REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS SAVED_MODEL_FILENAME_PB
    SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION SERVING SaveOptions TPU TRAINING
    VARIABLES_DIRECTORY VARIABLES_FILENAME contains_saved_model experimental load save
""",
    "saved_model.experimental": """
    Fingerprint TrackableResource VariablePolicy read_fingerprint
""",
    "sets": """
    difference intersection size union
""",
    "signal": """
    dct fft fft2d fft3d fftnd fftshift frame hamming_window hann_window idct ifft ifft2d ifft3d
    ifftnd ifftshift inverse_mdct inverse_stft inverse_stft_window_fn irfft irfft2d irfft3d
    irfftnd kaiser_bessel_derived_window kaiser_window linear_to_mel_weight_matrix mdct
    mfccs_from_log_mel_spectrograms overlap_and_add rfft rfft2d rfft3d rfftnd stft vorbis_window
""",
    "sparse": """
    SparseTensor add bincount concat cross cross_hashed expand_dims eye fill_empty_rows from_dense
    map_values mask maximum minimum reduce_max reduce_sum reorder reset_shape reshape retain
    sampled_addmm segment_mean segment_sqrt_n segment_sum slice softmax sparse_dense_matmul split
    to_dense to_indicator transpose
""",
    "strings": """
    as_string bytes_split format join length lower ngrams reduce_join regex_full_match
    regex_replace split strip substr to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong
    to_number unicode_decode unicode_decode_with_offsets unicode_encode unicode_script
    unicode_split unicode_split_with_offsets unicode_transcode unsorted_segment_join upper
""",
    "summary": """
    SummaryWriter audio create_file_writer create_noop_writer experimental flush graph histogram
    image record_if scalar should_record_summaries text trace_export trace_off trace_on write
""",
    "summary.experimental": """
    get_step set_step summary_scope write_raw_pb
""",
    "sysconfig": """
    CXX11_ABI_FLAG CXX_VERSION MONOLITHIC_BUILD get_build_info get_compile_flags get_include
    get_lib get_link_flags
""",
    "test": """
    Benchmark TestCase assert_equal_graph_def benchmark_config compute_gradient
    create_local_cluster disable_with_predicate experimental gpu_device_name is_built_with_cuda
    is_built_with_gpu_support is_built_with_rocm is_built_with_xla is_cpu_target_available
    is_gpu_available main with_eager_op_as_function
""",
    "test.experimental": """
    sync_devices
""",
    "tpu": """
    XLAOptions experimental
""",
    "tpu.experimental": """
    DeviceAssignment DeviceOrderMode HardwareFeature TPUSystemMetadata Topology embedding
    initialize_tpu_system shutdown_tpu_system
""",
    "tpu.experimental.embedding": """
    Adagrad AdagradMomentum Adam CustomCombiner CustomOptimizer FTRL FeatureConfig
    QuantizationConfig RowIdInitializer SGD SparseCoreEmbeddingConfig TPUEmbedding
    TPUEmbeddingForServing TPUEmbeddingV0 TPUEmbeddingV2 TableConfig serving_embedding_lookup
""",
    "train": """
    BytesList Checkpoint CheckpointManager CheckpointOptions CheckpointView ClusterDef ClusterSpec
    Coordinator Example ExponentialMovingAverage Feature FeatureList FeatureLists Features
    FloatList Int64List JobDef SequenceExample ServerDef TrackableView checkpoints_iterator
    experimental get_checkpoint_state latest_checkpoint list_variables load_checkpoint
    load_variable
""",
    "train.experimental": """
    MaxShardSizePolicy PythonState ShardByTaskPolicy ShardableTensor ShardingCallback
""",
    "types": """
    experimental
""",
    "types.experimental": """
    AtomicFunction Callable ConcreteFunction FunctionType GenericFunction PolymorphicFunction
    SupportsTracingProtocol TensorLike TraceType distributed
""",
    "types.experimental.distributed": """
    Mirrored PerReplica
""",
    "version": """
    COMPILER_VERSION GIT_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER
    GRAPH_DEF_VERSION_MIN_PRODUCER VERSION
""",
    "xla": """
    experimental
""",
    "xla.experimental": """
    compile jit_scope
""",
}

# Namespaces of version 1, which have the names of others besides their own.
SAME_IN_V2: dict[str, str] = {
    "compat.v1": "",
    "compat.v1.audio": "audio",
    "compat.v1.autograph": "autograph",
    "compat.v1.autograph.experimental": "autograph.experimental",
    "compat.v1.bitwise": "bitwise",
    "compat.v1.config": "config",
    "compat.v1.config.experimental": "config.experimental",
    "compat.v1.config.optimizer": "config.optimizer",
    "compat.v1.config.threading": "config.threading",
    "compat.v1.data": "data",
    "compat.v1.data.experimental": "data.experimental",
    "compat.v1.data.experimental.service": "data.experimental.service",
    "compat.v1.debugging": "debugging",
    "compat.v1.debugging.experimental": "debugging.experimental",
    "compat.v1.distribute": "distribute",
    "compat.v1.distribute.cluster_resolver": "distribute.cluster_resolver",
    "compat.v1.distribute.experimental": "distribute.experimental",
    "compat.v1.dtypes": "dtypes",
    "compat.v1.dtypes.experimental": "dtypes.experimental",
    "compat.v1.errors": "errors",
    "compat.v1.experimental": "experimental",
    "compat.v1.experimental.extension_type": "experimental.extension_type",
    "compat.v1.feature_column": "feature_column",
    "compat.v1.graph_util": "graph_util",
    "compat.v1.image": "image",
    "compat.v1.io": "io",
    "compat.v1.io.gfile": "io.gfile",
    "compat.v1.linalg": "linalg",
    "compat.v1.linalg.experimental": "linalg.experimental",
    "compat.v1.lite": "lite",
    "compat.v1.lite.experimental": "lite.experimental",
    "compat.v1.lite.experimental.authoring": "lite.experimental.authoring",
    "compat.v1.lookup": "lookup",
    "compat.v1.lookup.experimental": "lookup.experimental",
    "compat.v1.math": "math",
    "compat.v1.math.special": "math.special",
    "compat.v1.mlir": "mlir",
    "compat.v1.mlir.experimental": "mlir.experimental",
    "compat.v1.nest": "nest",
    "compat.v1.nn": "nn",
    "compat.v1.nn.experimental": "nn.experimental",
    "compat.v1.profiler": "profiler",
    "compat.v1.quantization": "quantization",
    "compat.v1.quantization.experimental": "quantization.experimental",
    "compat.v1.queue": "queue",
    "compat.v1.ragged": "ragged",
    "compat.v1.random": "random",
    "compat.v1.random.experimental": "random.experimental",
    "compat.v1.raw_ops": "raw_ops",
    "compat.v1.saved_model": "saved_model",
    "compat.v1.saved_model.experimental": "saved_model.experimental",
    "compat.v1.sets": "sets",
    "compat.v1.signal": "signal",
    "compat.v1.sparse": "sparse",
    "compat.v1.strings": "strings",
    "compat.v1.summary": "summary",
    "compat.v1.sysconfig": "sysconfig",
    "compat.v1.test": "test",
    "compat.v1.test.experimental": "test.experimental",
    "compat.v1.tpu": "tpu",
    "compat.v1.tpu.experimental": "tpu.experimental",
    "compat.v1.tpu.experimental.embedding": "tpu.experimental.embedding",
    "compat.v1.train": "train",
    "compat.v1.train.experimental": "train.experimental",
    "compat.v1.types": "types",
    "compat.v1.types.experimental": "types.experimental",
    "compat.v1.version": "version",
    "compat.v1.xla": "xla",
    "compat.v1.xla.experimental": "xla.experimental",
}
