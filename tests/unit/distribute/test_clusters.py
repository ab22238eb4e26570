"""Clusters of one process, and the options of strategies for several."""

from __future__ import annotations

import json

import pytest

import tfx as tf

CLUSTER = {"worker": ["localhost:1", "localhost:2"], "ps": {0: "localhost:3", 2: "localhost:4"}}


def test_cluster_spec():
    spec = tf.train.ClusterSpec(CLUSTER)
    assert spec.jobs == ["worker", "ps"]
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("ps") == [0, 2]
    assert spec.task_address("worker", 1) == "localhost:2"
    assert spec.job_tasks("ps") == ["localhost:3", None, "localhost:4"]
    assert spec.as_dict() == CLUSTER
    assert spec == tf.train.ClusterSpec(spec)
    assert spec != tf.train.ClusterSpec({})
    assert not tf.train.ClusterSpec({})
    turned = tf.train.ClusterSpec({"worker": {1: "localhost:2", 0: "localhost:1"}})
    assert turned.as_dict() == {"worker": CLUSTER["worker"]}
    assert hash(turned) == hash(tf.train.ClusterSpec({"worker": CLUSTER["worker"]}))
    with pytest.raises(ValueError, match="No such job in cluster: 'chief'"):
        spec.num_tasks("chief")
    with pytest.raises(ValueError, match="No task with index 1 in job 'ps'"):
        spec.task_address("ps", 1)
    for wrong in ("worker", ["a:1"], {"worker": "a:1"}):
        with pytest.raises(TypeError, match="must be a"):
            tf.train.ClusterSpec(wrong)
    with pytest.raises(TypeError, match="numbered from 0; got 'x'"):
        tf.train.ClusterSpec({"worker": {"x": "a:1"}})


def test_the_environment_names_a_cluster(monkeypatch):
    config = {"cluster": {"worker": ["localhost:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    assert (resolver.task_type, resolver.task_id) == ("worker", 0)
    assert resolver.master() == "grpc://localhost:1"
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert strategy.num_replicas_in_sync == 1
    assert strategy.cluster_resolver.cluster_spec().as_dict() == config["cluster"]


def test_several_processes_are_refused(monkeypatch):
    config = {"cluster": {"worker": ["localhost:1", "localhost:2"]}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    with pytest.raises(tf.errors.UnimplementedError, match="cluster of 2 processes"):
        tf.distribute.MultiWorkerMirroredStrategy()
    monkeypatch.setenv("TF_CONFIG", '{"task": null}')
    with pytest.raises(ValueError, match="an object as its 'task'"):
        tf.distribute.MultiWorkerMirroredStrategy()
    monkeypatch.setenv("TF_CONFIG", "{")
    with pytest.raises(ValueError, match="TF_CONFIG must be a JSON object"):
        tf.distribute.MultiWorkerMirroredStrategy()


def test_a_cluster_that_the_program_names():
    spec = tf.train.ClusterSpec({"worker": ["localhost:1"]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        spec, master="here", task_type="worker", task_id=0
    )
    assert resolver.master() == "here"
    assert resolver.master("worker", 0) == "localhost:1"
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    assert strategy.cluster_resolver is resolver


@pytest.mark.parametrize(
    "ops",
    [
        tf.distribute.HierarchicalCopyAllReduce(num_packs=2),
        tf.distribute.NcclAllReduce(),
        tf.distribute.ReductionToOneDevice(),
    ],
)
def test_a_program_with_mirrored_variables_trains(ops):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"], cross_device_ops=ops)
    with strategy.scope():
        v = tf.Variable(2.0)
        optimizer = tf.optimizers.SGD(0.1)

    @tf.function
    def step(x):
        def replica(x):
            with tf.GradientTape() as tape:
                loss = (v * x) ** 2.0
            optimizer.apply_gradients([(tape.gradient(loss, v), v)])
            return loss

        losses = strategy.run(replica, args=(x,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    data = strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensors(1.0).repeat(3), options
    )
    losses = [float(step(x)) for x in data]
    assert losses == sorted(losses, reverse=True)
    assert ops.reduce(tf.distribute.ReduceOp.SUM, losses, None) is losses
    assert ops.batch_reduce(tf.distribute.ReduceOp.MEAN, [(1, None), (2, None)]) == [1, 2]
    with pytest.raises(ValueError, match="ReduceOp"):
        ops.reduce("SUM", losses, None)
    assert ops.broadcast(losses, "/cpu:0") is losses
    with pytest.raises(ValueError, match="destinations"):
        ops.broadcast(losses, [])


def test_options_say_what_they_were_given():
    options = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=5, timeout_seconds=1.5)
    assert (options.bytes_per_pack, options.timeout_seconds) == (5, 1.5)
    assert options.implementation is tf.distribute.experimental.CommunicationImplementation.AUTO
    with pytest.raises(ValueError, match="bytes_per_pack"):
        tf.distribute.experimental.CommunicationOptions(bytes_per_pack=-1)
    with pytest.raises(ValueError, match="num_packs"):
        tf.distribute.NcclAllReduce(num_packs=-1)
    strategy = tf.distribute.experimental.CentralStorageStrategy(["/cpu:0"])
    assert strategy.extended.worker_devices == ("/cpu:0",)
