"""Settings of sessions: messages that programs fill, encoded as TensorFlow encodes them."""

from __future__ import annotations

import tfx.compat.v1 as tf


def test_programs_fill_settings_of_any_depth() -> None:
    options = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
    config = tf.ConfigProto(
        allow_soft_placement=True,
        device_count={"GPU": 0},
        gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.5),
        graph_options=tf.GraphOptions(optimizer_options=options),
    )
    config.gpu_options.allow_growth = True
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.experimental.enable_mlir_bridge = False
    config.session_inter_op_thread_pool.add(num_threads=2)
    copy = tf.ConfigProto()
    copy.CopyFrom(config)
    assert copy == config
    with tf.Graph().as_default(), tf.Session(config=copy) as session:
        assert session.run(tf.constant(1)) == 1


def test_the_encoding_is_that_of_tensorflow() -> None:
    config = tf.ConfigProto(log_device_placement=True, operation_timeout_in_ms=5)
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.device_count["GPU"] = 1
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    # What TensorFlow 2.21 makes of the same settings.
    expected = "0a070a034750551001320909000000000000e03f4001520d1a0b18ffffffffffffffffff015805"
    assert config.SerializeToString(deterministic=True).hex() == expected
    assert tf.ConfigProto.FromString(bytes.fromhex(expected)) == config


def test_clusters_are_messages() -> None:
    job = tf.train.JobDef(name="worker", tasks={0: "a:1", 1: "b:1"})
    server = tf.train.ServerDef(cluster=tf.train.ClusterDef(job=[job]), job_name="worker")
    assert dict(server.cluster.job[0].tasks) == {0: "a:1", 1: "b:1"}
