"""``tfx.compat.v1.train``: training."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.input_pipeline": "queue_runner",
        "tfx.compat.v1.input_pipeline.batches": """
            batch batch_join maybe_batch maybe_batch_join maybe_shuffle_batch
            maybe_shuffle_batch_join shuffle_batch shuffle_batch_join
        """,
        "tfx.compat.v1.input_pipeline.producers": """
            input_producer limit_epochs match_filenames_once range_input_producer
            slice_input_producer string_input_producer
        """,
        "tfx.compat.v1.input_pipeline.queue_runner": """
            QueueRunner add_queue_runner start_queue_runners
        """,
        "tfx.compat.v1.training.learning_rate_decay": """
            cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay
            linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant
            piecewise_constant_decay=piecewise_constant polynomial_decay
        """,
        "tfx.compat.v1.training.global_steps": """
            assert_global_step create_global_step get_global_step get_or_create_global_step
            global_step
        """,
        "tfx.compat.v1.graph.graph_parts": "write_graph",
        "tfx.compat.v1.training.init_from_checkpoint": "init_from_checkpoint",
        "tfx.compat.v1.training.monitored_session": """
            MonitoredSession MonitoredTrainingSession SingularMonitoredSession
        """,
        "tfx.compat.v1.training.optimizers": "Optimizer",
        "tfx.compat.v1.training.scaffold": "ChiefSessionCreator Scaffold SessionCreator",
        "tfx.compat.v1.session.config_pb2": "ClusterDef JobDef ServerDef",
        "tfx.compat.v1.training.looper_thread": "LooperThread",
        "tfx.compat.v1.training.session_manager": "SessionManager",
        "tfx.compat.v1.training.supervisor": "Supervisor basic_train_loop",
        "tfx.compat.v1.training.session_hooks": """
            NanLossDuringTrainingError SessionRunArgs SessionRunContext SessionRunHook
            SessionRunValues
        """,
        "tfx.compat.v1.training.step_hooks": """
            CheckpointSaverHook CheckpointSaverListener StepCounterHook StopAtStepHook
            SummarySaverHook
        """,
        "tfx.compat.v1.training.step_timer": "SecondOrStepTimer",
        "tfx.compat.v1.training.value_hooks": """
            FeedFnHook FinalOpsHook LoggingTensorHook NanTensorHook
        """,
        "tfx.compat.v1.training.saver": "Saver",
        "tfx.compat.v1.ops.argument_orders": "NewCheckpointReader",
        "tfx.compat.v1.training.warm_start": "VocabInfo warm_start",
        "tfx.compat.v1.files.checkpoint_files": """
            checkpoint_exists get_checkpoint_mtimes remove_checkpoint update_checkpoint_state
        """,
        "tfx.compat.v1.files.event_files": "summary_iterator",
        "tfx.compat.v1.training.update_rules": """
            AdadeltaOptimizer AdagradOptimizer AdamOptimizer GradientDescentOptimizer
            MomentumOptimizer RMSPropOptimizer
        """,
        "tfx.compat.v1.training.regularized_rules": """
            FtrlOptimizer ProximalAdagradOptimizer ProximalGradientDescentOptimizer
        """,
    },
    others=("tfx.train",),
)
