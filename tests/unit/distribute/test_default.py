"""The default strategy; expected values are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

D = tf.distribute


def test_there_is_one_replica():
    strategy = D.get_strategy()
    assert not D.has_strategy()
    assert strategy.num_replicas_in_sync == 1
    context = D.get_replica_context()
    assert (context.num_replicas_in_sync, context.replica_id_in_sync_group) == (1, 0)
    assert context.strategy is strategy
    with strategy.scope() as entered:
        assert entered is strategy is D.get_strategy()
        assert not D.has_strategy()
        assert not D.in_cross_replica_context()
        assert D.get_replica_context() is not None
    assert strategy.cluster_resolver is None


def test_run_and_merge_call_say_where_they_are():
    strategy = D.get_strategy()

    def merged(given, x, y=0):
        assert given is strategy
        inside = given.run(lambda: D.get_replica_context().replica_id_in_sync_group)
        return D.in_cross_replica_context(), D.get_replica_context(), x, y, inside

    def replica(x, y=2):
        context = D.get_replica_context()
        return x + y, context.merge_call(merged, args=(x,), kwargs={"y": y})

    assert strategy.run(replica, args=(1,), kwargs={"y": 5}) == (6, (True, None, 1, 5, 0))
    assert not D.in_cross_replica_context()
    with pytest.raises(ZeroDivisionError):
        D.get_replica_context().merge_call(lambda s: 1 / 0)
    assert not D.in_cross_replica_context()
    with pytest.raises(ValueError, match="positional args must be a list or tuple"):
        strategy.run(replica, args=1)
    traced = tf.function(lambda x: strategy.run(lambda a: a * 2.0, args=(x,)))
    assert float(traced(tf.constant(3.0))) == 6.0


@pytest.mark.parametrize(
    ("operation", "value", "axis", "expected", "dtype"),
    [
        ("SUM", [1.0, 2.0], None, [1.0, 2.0], tf.float32),
        (D.ReduceOp.SUM, [[1.0, 2.0], [3.0, 4.0]], 1, [3.0, 7.0], tf.float32),
        ("mean", [[1.0, 2.0], [3.0, 4.0]], 0, [2.0, 3.0], tf.float32),
        (D.ReduceOp.MEAN, [[1.0, 2.0], [3.0, 6.0]], [0, -1], 3.0, tf.float32),
        ("MEAN", [1, 2], 0, 1.5, tf.float64),
    ],
)
def test_reduce(operation, value, axis, expected, dtype):
    x = tf.constant(value)
    traced = tf.function(
        lambda a: D.get_strategy().reduce(operation, a, axis=axis),
        input_signature=[tf.TensorSpec(None, x.dtype)],
    )
    for found in (D.get_strategy().reduce(operation, x, axis=axis), traced(x)):
        np.testing.assert_allclose(found, expected)
        assert found.dtype is dtype


def test_reductions_over_replicas_are_what_was_given():
    context = D.get_replica_context()
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = context.all_reduce("SUM", {"x": x * x, "y": [1.0]})
    assert float(tape.gradient(y["x"], x)) == 4.0
    np.testing.assert_array_equal(y["y"][0], 1.0)
    np.testing.assert_array_equal(context.all_gather(tf.ones([2]), axis=0), [1.0, 1.0])
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
    assert context.all_reduce(D.ReduceOp.MEAN, slices) is slices
    for refused in (context.all_reduce, lambda o, v: D.get_strategy().reduce(o, v, axis=None)):
        with pytest.raises(ValueError, match="'FOO' is not a valid ReduceOp"):
            refused("FOO", tf.ones([]))
    assert D.ReduceOp.from_variable_aggregation(tf.VariableAggregation.SUM) is D.ReduceOp.SUM
    with pytest.raises(ValueError, match="Could not convert"):
        D.ReduceOp.from_variable_aggregation(tf.VariableAggregation.NONE)


def test_data_sets_and_values_of_replicas():
    strategy = D.get_strategy()
    data = [1, 2]
    assert strategy.experimental_distribute_dataset(data) is data
    made = strategy.distribute_datasets_from_function(
        lambda context: [context.get_per_replica_batch_size(8), context.num_input_pipelines]
    )
    assert made == [8, 1]
    with pytest.raises(ValueError, match="not divisible"):
        D.InputContext(num_replicas_in_sync=3).get_per_replica_batch_size(8)
    assert strategy.experimental_local_results(5) == strategy.unwrap(5) == (5,)
    number = strategy.experimental_distribute_values_from_function(
        lambda context: context.replica_id_in_sync_group
    )
    assert number == 0
    assert strategy.gather(data, axis=0) is data


def test_what_libraries_ask_of_it():
    extended = D.get_strategy().extended
    v, w = tf.Variable(1.0, name="b"), tf.Variable(2.0, name="a")
    assert extended.variable_created_in_scope(v)
    with extended.colocate_vars_with(v):
        pass
    assert float(extended.update(v, lambda v, x: v.assign_add(x), args=(3.0,))) == 4.0
    assert len(extended.update(v, lambda v: v, group=False)) == 1
    assert extended.update_non_slot(v, lambda x: x, args=(7,)) == 7
    assert extended.call_for_each_replica(lambda x: x, args=(5,)) == 5
    assert extended.non_slot_devices([v, w]) is w
    assert extended.value_container(v) is v
    assert float(extended.read_var(v)) == 4.0
    assert extended.reduce_to("SUM", 1.0, v) == 1.0
    assert extended.batch_reduce_to("MEAN", [(1.0, v), (2.0, w)]) == [1.0, 2.0]
    assert extended.broadcast_to(3.0, [v]) == 3.0
    for name in ("worker_devices", "parameter_devices"):
        with pytest.raises(RuntimeError, match="unsupported by default"):
            getattr(extended, name)


def test_a_scope_of_one_device_is_outside_of_its_replica():
    strategy = D.MirroredStrategy()
    assert (strategy.num_replicas_in_sync, len(strategy.extended.worker_devices)) == (1, 1)
    with strategy.scope():
        assert D.has_strategy()
        assert D.get_strategy() is strategy
        assert D.in_cross_replica_context()
        assert D.get_replica_context() is None
        v = tf.Variable(1.0)
    assert not D.has_strategy()

    @tf.function
    def step(x):
        def replica(x):
            assert D.get_replica_context().strategy is strategy
            v.assign_add(tf.reduce_sum(x))
            return v * 1.0

        return strategy.reduce(D.ReduceOp.SUM, strategy.run(replica, args=(x,)), axis=None)

    data = tf.data.Dataset.range(4).map(lambda n: tf.cast(n, tf.float32)).batch(2)
    losses = [float(step(x)) for x in strategy.experimental_distribute_dataset(data)]
    assert losses == [2.0, 7.0]
    assert not isinstance(data, D.DistributedDataset)


def test_several_devices_are_refused():
    with pytest.raises(ValueError, match="one device at a time"):
        D.MirroredStrategy(["/cpu:0", "/cpu:1"])
    assert D.OneDeviceStrategy("/cpu:0").extended.parameter_devices == ("/cpu:0",)
    with pytest.raises(TypeError, match="dataset itself"):
        D.DistributedDataset()


def test_a_keras_model_is_made_and_trained_in_a_scope():
    keras = tf.keras
    with D.MirroredStrategy(["/cpu:0"]).scope():
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    history = model.fit(np.ones([8, 2]), np.zeros([8, 1]), epochs=2, verbose=0).history["loss"]
    assert history[1] < history[0]


def test_no_strategy_is_another() -> None:
    """Libraries refuse strategies that they do not know by their classes."""
    made = [
        D.OneDeviceStrategy("/cpu:0"),
        D.MirroredStrategy(["/cpu:0"]),
        D.MultiWorkerMirroredStrategy(),
        D.experimental.CentralStorageStrategy(["/cpu:0"]),
    ]
    for strategy in made:
        assert [type(s) for s in made if isinstance(strategy, type(s))] == [type(strategy)]
        assert strategy.run(D.get_strategy) is strategy


def test_the_share_of_a_replica_in_a_regularization_loss() -> None:
    assert float(tf.nn.scale_regularization_loss([1.0, 2.0])) == 3.0
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    shared = strategy.run(lambda: tf.nn.scale_regularization_loss(tf.constant([1.0, 2.0])))
    assert float(shared) == 3.0
    with strategy.scope(), pytest.raises(RuntimeError, match="in cross replica context"):
        tf.nn.scale_regularization_loss(1.0)


def test_functions_of_values_get_a_context() -> None:
    seen = []
    tf.distribute.get_strategy().experimental_distribute_values_from_function(seen.append)
    assert isinstance(seen[0], tf.distribute.experimental.ValueContext)
    assert (seen[0].replica_id_in_sync_group, seen[0].num_replicas_in_sync) == (0, 1)
    shown = str(tf.distribute.experimental.ValueContext(2, 4))
    assert "ValueContext(replica id 2, total replicas in sync: 4)" in shown
